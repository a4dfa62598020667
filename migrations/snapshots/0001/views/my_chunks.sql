-- The chunks a person's database role may see (see my_documents).
CREATE VIEW sift.my_chunks AS
SELECT r.tenant, r.key, r.title, r.chunk_id, r.ordinal, r.kind, r.section, r.page, r.char_start, r.char_end, r.body
FROM sift._caller AS c
CROSS JOIN LATERAL sift._my_chunks(c.role_id, c.proof) AS r;
COMMENT ON VIEW sift.my_chunks IS 'The chunks that the current database role may see, with the key and title of their document.';
COMMENT ON COLUMN sift.my_chunks.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.my_chunks.key IS 'Key of the document.';
COMMENT ON COLUMN sift.my_chunks.title IS 'Title of the document; NULL where there is none.';
COMMENT ON COLUMN sift.my_chunks.chunk_id IS 'Number of the chunk.';
COMMENT ON COLUMN sift.my_chunks.ordinal IS 'Place in the document, from 0.';
COMMENT ON COLUMN sift.my_chunks.kind IS 'text, abstract, title, section_header, table, figure, reference or claim.';
COMMENT ON COLUMN sift.my_chunks.section IS 'Headings above it, the outermost first.';
COMMENT ON COLUMN sift.my_chunks.page IS 'Page it begins on.';
COMMENT ON COLUMN sift.my_chunks.char_start IS 'First character in the document''s text, from 0.';
COMMENT ON COLUMN sift.my_chunks.char_end IS 'One past the last character.';
COMMENT ON COLUMN sift.my_chunks.body IS 'The text.';
REVOKE ALL ON TABLE sift.my_chunks FROM PUBLIC;
GRANT SELECT ON TABLE sift.my_chunks TO sift_reader;
