-- The chunks a person's database role may see (see my_documents).
CREATE VIEW sift.my_chunks WITH (security_barrier = true) AS
SELECT t.name AS tenant, d.key, d.title, c.chunk_id, c.ordinal, c.kind, pg_catalog.array_to_string(c.section_path, ' > ') AS section,
       c.page, c.char_start, c.char_end, c.body
FROM sift.chunks AS c
JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
JOIN sift.tenants AS t ON t.tenant_id = c.tenant_id
WHERE EXISTS (
    SELECT FROM sift.access_lists AS a
    JOIN sift.role_principals AS m ON m.tenant_id = a.tenant_id AND m.principal = ANY (a.principals)
    JOIN pg_catalog.pg_roles AS r ON r.rolname = m.role_name
    WHERE a.tenant_id = c.tenant_id AND a.access_list_id = c.access_list_id
      AND pg_catalog.pg_has_role(current_user, r.oid, 'USAGE'));
COMMENT ON VIEW sift.my_chunks IS 'The chunks that the current database role may see, with the key and title of their document.';
REVOKE ALL ON TABLE sift.my_chunks FROM PUBLIC;
GRANT SELECT ON TABLE sift.my_chunks TO sift_reader;
