-- The documents a person's database role may see, for BI tools that want a table. The role counts that the query runs as, and the
-- principals it is mapped to with sift.map_role; whoever is not mapped sees no rows. All of them are read whatever the condition: to find
-- some there is sift.search, and sift.list_documents.
CREATE VIEW sift.my_documents AS
SELECT r.tenant, r.key, r.title, r.version, r.source_uri, r.source_version, r.language, r.license, r.metadata, r.length, r.observed_at,
       r.valid_from, r.valid_to, r.updated_at
FROM sift._caller AS c
CROSS JOIN LATERAL sift._my_documents(c.role_id, c.proof) AS r;
COMMENT ON VIEW sift.my_documents IS 'The documents that the current database role may see, by the principals it is mapped to.';
COMMENT ON COLUMN sift.my_documents.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.my_documents.key IS 'Stable name of the source.';
COMMENT ON COLUMN sift.my_documents.title IS 'Title; NULL where there is none.';
COMMENT ON COLUMN sift.my_documents.version IS 'Counts from 1, one up with every replacement.';
COMMENT ON COLUMN sift.my_documents.source_uri IS 'Address of the source.';
COMMENT ON COLUMN sift.my_documents.source_version IS 'Version of the source, as its keeper calls it.';
COMMENT ON COLUMN sift.my_documents.language IS 'Language, as a tag such as en or zh.';
COMMENT ON COLUMN sift.my_documents.license IS 'License.';
COMMENT ON COLUMN sift.my_documents.metadata IS 'What else is known, as JSON.';
COMMENT ON COLUMN sift.my_documents.length IS 'Characters of the text that was chunked.';
COMMENT ON COLUMN sift.my_documents.observed_at IS 'When the source was observed.';
COMMENT ON COLUMN sift.my_documents.valid_from IS 'Since when it holds.';
COMMENT ON COLUMN sift.my_documents.valid_to IS 'Until when it holds.';
COMMENT ON COLUMN sift.my_documents.updated_at IS 'Since when everything in this row is as it is.';
REVOKE ALL ON TABLE sift.my_documents FROM PUBLIC;
GRANT SELECT ON TABLE sift.my_documents TO sift_reader;
