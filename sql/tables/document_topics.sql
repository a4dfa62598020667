-- Which topic each document is in, as of the last run; gone with the text it was placed by.
CREATE TABLE sift.document_topics (
    tenant_id   integer NOT NULL,
    document_id bigint NOT NULL,
    topic       integer NOT NULL,
    strength    double precision NOT NULL,
    distance    double precision,
    x           double precision NOT NULL,
    y           double precision NOT NULL,
    CONSTRAINT document_topics_pkey PRIMARY KEY (tenant_id, document_id),
    CONSTRAINT document_topics_document_id_fkey FOREIGN KEY (tenant_id, document_id)
        REFERENCES sift.documents (tenant_id, document_id),
    CONSTRAINT document_topics_topic_fkey FOREIGN KEY (tenant_id, topic) REFERENCES sift.topics (tenant_id, topic),
    CONSTRAINT document_topics_distance_check CHECK ((distance IS NULL) = (topic = -1))
);
-- Does not begin with tenant_id, for the reason given in documents.
CREATE INDEX document_topics_topic_idx ON sift.document_topics (topic, tenant_id);
COMMENT ON TABLE sift.document_topics IS 'The topic of each document that the last run placed.';
COMMENT ON COLUMN sift.document_topics.topic IS 'Its topic; -1 where it is an outlier.';
COMMENT ON COLUMN sift.document_topics.strength IS 'How firmly it belongs to its topic, from 0 to 1, as HDBSCAN has it; 0 of an outlier.';
COMMENT ON COLUMN sift.document_topics.distance IS 'Cosine distance of its vector to the mean of its topic''s vectors; NULL of an outlier.';
COMMENT ON COLUMN sift.document_topics.x IS 'Where it lies in the picture; only distances to near neighbours mean something.';
COMMENT ON COLUMN sift.document_topics.y IS 'Likewise.';
REVOKE ALL ON TABLE sift.document_topics FROM PUBLIC;
ALTER TABLE sift.document_topics ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.document_topics ALTER COLUMN tenant_id SET STATISTICS 0;
