-- The topic of every document that the last run placed.
CREATE VIEW sift.all_document_topics AS
SELECT t.name AS tenant, m.document_id, d.key, d.title, m.topic, m.strength, m.distance, m.x, m.y, d.observed_at
FROM sift.document_topics AS m
JOIN sift.tenants AS t ON t.tenant_id OPERATOR(pg_catalog.=) m.tenant_id
JOIN sift.documents AS d ON d.tenant_id OPERATOR(pg_catalog.=) m.tenant_id AND d.document_id OPERATOR(pg_catalog.=) m.document_id;
COMMENT ON VIEW sift.all_document_topics IS 'The topic of every document that the last run placed; for writers.';
COMMENT ON COLUMN sift.all_document_topics.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.all_document_topics.document_id IS 'Number of the document.';
COMMENT ON COLUMN sift.all_document_topics.key IS 'Its key.';
COMMENT ON COLUMN sift.all_document_topics.title IS 'Its title.';
COMMENT ON COLUMN sift.all_document_topics.topic IS 'Number of its topic; -1 where it is an outlier.';
COMMENT ON COLUMN sift.all_document_topics.strength IS 'How firmly it belongs there, from 0 to 1.';
COMMENT ON COLUMN sift.all_document_topics.distance IS 'Cosine distance to the topic''s centre; NULL of an outlier.';
COMMENT ON COLUMN sift.all_document_topics.x IS 'Where it lies in the picture.';
COMMENT ON COLUMN sift.all_document_topics.y IS 'Likewise.';
COMMENT ON COLUMN sift.all_document_topics.observed_at IS 'When the source was observed.';
REVOKE ALL ON TABLE sift.all_document_topics FROM PUBLIC;
GRANT SELECT ON TABLE sift.all_document_topics TO sift_owner, sift_writer;
