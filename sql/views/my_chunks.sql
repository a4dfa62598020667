-- The chunks a person's database role may see (see my_documents).
CREATE VIEW sift.my_chunks WITH (security_barrier = true) AS
SELECT t.name AS tenant, d.key, d.title, c.chunk_id, c.ordinal, c.kind, pg_catalog.array_to_string(c.section_path, ' > ') AS section,
       c.page, c.char_start, c.char_end, c.body
FROM sift.chunks AS c
JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
JOIN sift.tenants AS t ON t.tenant_id = c.tenant_id
JOIN sift._my_access_lists AS l ON l.tenant_id = c.tenant_id AND l.access_list_id = c.access_list_id;
COMMENT ON VIEW sift.my_chunks IS 'The chunks that the current database role may see, with the key and title of their document.';
REVOKE ALL ON TABLE sift.my_chunks FROM PUBLIC;
GRANT SELECT ON TABLE sift.my_chunks TO sift_reader;
