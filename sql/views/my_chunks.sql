-- The chunks a person's database role may see (see my_documents).
CREATE VIEW sift.my_chunks AS
SELECT r.tenant, r.key, r.title, r.chunk_id, r.ordinal, r.kind, r.section, r.page, r.char_start, r.char_end, r.body
FROM sift._caller AS c
CROSS JOIN LATERAL sift._my_chunks(c.role_id, c.proof) AS r;
COMMENT ON VIEW sift.my_chunks IS 'The chunks that the current database role may see, with the key and title of their document.';
REVOKE ALL ON TABLE sift.my_chunks FROM PUBLIC;
GRANT SELECT ON TABLE sift.my_chunks TO sift_reader;
