-- The documents a person's database role may see, for BI tools that want a table. The role counts that the query runs as, and the
-- principals it is mapped to with sift.map_role; whoever is not mapped sees no rows.
CREATE VIEW sift.my_documents WITH (security_barrier = true) AS
SELECT t.name AS tenant, d.key, d.title, d.version, d.source_uri, d.source_version, d.language, d.license, d.metadata, d.length,
       d.observed_at, d.valid_from, d.valid_to, d.updated_at
FROM sift.documents AS d
JOIN sift.tenants AS t ON t.tenant_id = d.tenant_id
JOIN sift._my_access_lists AS l ON l.tenant_id = d.tenant_id AND l.access_list_id = d.access_list_id;
COMMENT ON VIEW sift.my_documents IS 'The documents that the current database role may see, by the principals it is mapped to.';
REVOKE ALL ON TABLE sift.my_documents FROM PUBLIC;
GRANT SELECT ON TABLE sift.my_documents TO sift_reader;
