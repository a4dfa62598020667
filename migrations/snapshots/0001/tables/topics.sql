-- The topics of the last run. What a topic is about is not stored: its terms are computed of the documents that whoever asks may see
-- (sift._topic_terms), so that they tell of no others, and of none that was deleted since.
CREATE TABLE sift.topics (
    tenant_id integer NOT NULL,
    topic     integer NOT NULL,
    documents integer NOT NULL,
    CONSTRAINT topics_pkey PRIMARY KEY (tenant_id, topic),
    CONSTRAINT topics_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.topic_runs (tenant_id),
    CONSTRAINT topics_topic_check CHECK (topic >= -1)
);
COMMENT ON TABLE sift.topics IS 'The topics of the last run, and how many documents each had; -1 holds the outliers, which are in no topic.';
COMMENT ON COLUMN sift.topics.topic IS 'From 0 by falling number of documents, of equal ones by the smallest document_id; -1 for the outliers.';
COMMENT ON COLUMN sift.topics.documents IS 'Documents when the run was stored.';
REVOKE ALL ON TABLE sift.topics FROM PUBLIC;
ALTER TABLE sift.topics ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.topics ALTER COLUMN tenant_id SET STATISTICS 0;
