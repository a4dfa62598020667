-- The topics of the last run of each tenant, over all documents. Terms and numbers are computed when they are read (sift.list_topics).
CREATE VIEW sift.all_topics AS
SELECT t.name AS tenant, l.topic, l.documents, l.share, l.terms, l.keys AS nearest_keys, r.run, r.model, r.made_at
FROM sift.topic_runs AS r
JOIN sift.tenants AS t ON t.tenant_id OPERATOR(pg_catalog.=) r.tenant_id
CROSS JOIN LATERAL sift.list_topics(t.name, '{sift:writer}'::text[]) AS l;
COMMENT ON VIEW sift.all_topics IS 'Topics of the last run over all documents, with their terms; for writers.';
COMMENT ON COLUMN sift.all_topics.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.all_topics.topic IS 'Number of the topic, the largest first; -1 for the outliers.';
COMMENT ON COLUMN sift.all_topics.documents IS 'Documents it holds now.';
COMMENT ON COLUMN sift.all_topics.share IS 'Share of the documents that have a place.';
COMMENT ON COLUMN sift.all_topics.terms IS 'Terms of greatest class-based tf-idf, best first.';
COMMENT ON COLUMN sift.all_topics.nearest_keys IS 'Keys of the documents nearest to its centre.';
COMMENT ON COLUMN sift.all_topics.run IS 'Number of the run.';
COMMENT ON COLUMN sift.all_topics.model IS 'Embedding model whose vectors were clustered.';
COMMENT ON COLUMN sift.all_topics.made_at IS 'When the run was stored.';
REVOKE ALL ON TABLE sift.all_topics FROM PUBLIC;
GRANT SELECT ON TABLE sift.all_topics TO sift_owner, sift_writer;
