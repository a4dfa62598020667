-- Every document of every tenant, whoever may see it, for those who run the store. A plain view, whose conditions reach the tables: so it is not for
-- readers, who have sift.my_documents.
CREATE VIEW sift.all_documents AS
SELECT t.name AS tenant, d.document_id, d.key, d.title, d.version, d.source_uri, d.source_version, d.language, d.license, d.classification, d.metadata,
       d.length, d.parser, d.chunker, d.observed_at, d.valid_from, d.valid_to, d.retain_until, d.current_from, d.updated_at, d.run_id,
       a.principals AS visible_to, a.denied AS denied_to
FROM sift.documents AS d
JOIN sift.tenants AS t ON t.tenant_id OPERATOR(pg_catalog.=) d.tenant_id
JOIN sift.access_lists AS a ON a.tenant_id OPERATOR(pg_catalog.=) d.tenant_id AND a.access_list_id OPERATOR(pg_catalog.=) d.access_list_id;
COMMENT ON VIEW sift.all_documents IS 'Every document, whoever may see it, with its access list; for writers.';
COMMENT ON COLUMN sift.all_documents.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.all_documents.document_id IS 'Number of the document.';
COMMENT ON COLUMN sift.all_documents.key IS 'Stable name of the source.';
COMMENT ON COLUMN sift.all_documents.title IS 'Title; NULL where there is none.';
COMMENT ON COLUMN sift.all_documents.version IS 'Counts from 1, one up with every replacement.';
COMMENT ON COLUMN sift.all_documents.source_uri IS 'Address of the source.';
COMMENT ON COLUMN sift.all_documents.source_version IS 'Version of the source, as its keeper calls it.';
COMMENT ON COLUMN sift.all_documents.language IS 'Language, as a tag such as en or zh.';
COMMENT ON COLUMN sift.all_documents.license IS 'License.';
COMMENT ON COLUMN sift.all_documents.classification IS 'How confidential it is, in the user''s own words.';
COMMENT ON COLUMN sift.all_documents.metadata IS 'What else is known, as JSON.';
COMMENT ON COLUMN sift.all_documents.length IS 'Characters of the text that was chunked.';
COMMENT ON COLUMN sift.all_documents.parser IS 'Parser and its version.';
COMMENT ON COLUMN sift.all_documents.chunker IS 'Chunker and its parameters.';
COMMENT ON COLUMN sift.all_documents.observed_at IS 'When the source was observed.';
COMMENT ON COLUMN sift.all_documents.valid_from IS 'Since when it holds.';
COMMENT ON COLUMN sift.all_documents.valid_to IS 'Until when it holds.';
COMMENT ON COLUMN sift.all_documents.retain_until IS 'Until when it is to be kept.';
COMMENT ON COLUMN sift.all_documents.current_from IS 'Since when this version is current.';
COMMENT ON COLUMN sift.all_documents.updated_at IS 'Since when everything but the access list is as it is.';
COMMENT ON COLUMN sift.all_documents.run_id IS 'The run that stored it.';
COMMENT ON COLUMN sift.all_documents.visible_to IS 'Principals who may see it.';
COMMENT ON COLUMN sift.all_documents.denied_to IS 'Principals who may not, whatever else they are.';
REVOKE ALL ON TABLE sift.all_documents FROM PUBLIC;
GRANT SELECT ON TABLE sift.all_documents TO sift_owner, sift_writer;
