-- The topics of the documents a person's database role may see (see my_documents): one row per document. What each topic is about tells
-- sift.list_topics.
CREATE VIEW sift.my_topics AS
SELECT r.tenant, r.topic, r.key, r.title, r.observed_at
FROM sift._caller AS c
CROSS JOIN LATERAL sift._my_topics(c.role_id, c.proof) AS r;
COMMENT ON VIEW sift.my_topics IS 'The documents that the current database role may see and the last run of topics placed, with their topic.';
COMMENT ON COLUMN sift.my_topics.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.my_topics.topic IS 'Number of the topic; -1 where the document is an outlier.';
COMMENT ON COLUMN sift.my_topics.key IS 'Key of the document.';
COMMENT ON COLUMN sift.my_topics.title IS 'Its title.';
COMMENT ON COLUMN sift.my_topics.observed_at IS 'When the source was observed.';
REVOKE ALL ON TABLE sift.my_topics FROM PUBLIC;
GRANT SELECT ON TABLE sift.my_topics TO sift_reader;
