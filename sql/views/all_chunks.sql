-- Every chunk of every tenant, whoever may see it, for those who run the store (see all_documents).
CREATE VIEW sift.all_chunks AS
SELECT t.name AS tenant, c.chunk_id, c.document_id, d.key, c.ordinal, c.kind, c.section_path AS section, c.page, c.char_start, c.char_end,
       c.doc_length AS tokens, c.unranked_tokens IS NULL AS ranked, c.body
FROM sift.chunks AS c
JOIN sift.tenants AS t ON t.tenant_id OPERATOR(pg_catalog.=) c.tenant_id
JOIN sift.documents AS d ON d.tenant_id OPERATOR(pg_catalog.=) c.tenant_id AND d.document_id OPERATOR(pg_catalog.=) c.document_id;
COMMENT ON VIEW sift.all_chunks IS 'Every chunk, whoever may see it; for writers.';
COMMENT ON COLUMN sift.all_chunks.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.all_chunks.chunk_id IS 'Number of the chunk.';
COMMENT ON COLUMN sift.all_chunks.document_id IS 'Number of its document.';
COMMENT ON COLUMN sift.all_chunks.key IS 'Key of its document.';
COMMENT ON COLUMN sift.all_chunks.ordinal IS 'Place in the document, from 0.';
COMMENT ON COLUMN sift.all_chunks.kind IS 'text, abstract, title, section_header, table, figure, reference or claim.';
COMMENT ON COLUMN sift.all_chunks.section IS 'Headings above it, the outermost first.';
COMMENT ON COLUMN sift.all_chunks.page IS 'Page it begins on.';
COMMENT ON COLUMN sift.all_chunks.char_start IS 'First character in the document''s text, from 0.';
COMMENT ON COLUMN sift.all_chunks.char_end IS 'One past the last character.';
COMMENT ON COLUMN sift.all_chunks.tokens IS 'Number of tokens that are ranked.';
COMMENT ON COLUMN sift.all_chunks.ranked IS 'Whether searches by words rank it by itself.';
COMMENT ON COLUMN sift.all_chunks.body IS 'The text.';
REVOKE ALL ON TABLE sift.all_chunks FROM PUBLIC;
GRANT SELECT ON TABLE sift.all_chunks TO sift_owner, sift_writer;
