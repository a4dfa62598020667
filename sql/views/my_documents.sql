-- The documents a person's database role may see, for BI tools that want a table. The role counts that the query runs as, and the
-- principals it is mapped to with sift.map_role; whoever is not mapped sees no rows. All of them are read whatever the condition: to find
-- some there is sift.search, and sift.list_documents.
CREATE VIEW sift.my_documents AS
SELECT r.tenant, r.key, r.title, r.version, r.source_uri, r.source_version, r.language, r.license, r.metadata, r.length, r.observed_at,
       r.valid_from, r.valid_to, r.updated_at
FROM sift._caller AS c
CROSS JOIN LATERAL sift._my_documents(c.role_id, c.proof) AS r;
COMMENT ON VIEW sift.my_documents IS 'The documents that the current database role may see, by the principals it is mapped to.';
REVOKE ALL ON TABLE sift.my_documents FROM PUBLIC;
GRANT SELECT ON TABLE sift.my_documents TO sift_reader;
