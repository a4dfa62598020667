-- Every posting: which term is in which chunk, and how often. Packed postings are taken apart (see posting_blocks); those of chunks that are gone
-- are left out. Ask for one term, or for the terms of few chunks in all_chunks: all of them are as many as the corpus has words.
CREATE VIEW sift.all_postings AS
SELECT t.name AS tenant, p.term, p.chunk_id, p.tf, c.document_id
FROM (
    SELECT w.tenant_id, w.term, w.chunk_id, w.tf FROM sift.chunk_terms AS w
    UNION ALL
    SELECT b.tenant_id, b.term, u.posting OPERATOR(pg_catalog.>>) 23, (u.posting OPERATOR(pg_catalog.&) 255)::integer
    FROM sift.posting_blocks AS b
    CROSS JOIN LATERAL pg_catalog.unnest(b.postings) AS u (posting)
) AS p
JOIN sift.tenants AS t ON t.tenant_id OPERATOR(pg_catalog.=) p.tenant_id
JOIN sift.chunks AS c ON c.tenant_id OPERATOR(pg_catalog.=) p.tenant_id AND c.chunk_id OPERATOR(pg_catalog.=) p.chunk_id;
COMMENT ON VIEW sift.all_postings IS 'Which term is in which chunk, and how often; for writers. Ask for one term of one tenant.';
COMMENT ON COLUMN sift.all_postings.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.all_postings.term IS 'The term, as the analyzer made it.';
COMMENT ON COLUMN sift.all_postings.chunk_id IS 'The chunk that holds it.';
COMMENT ON COLUMN sift.all_postings.tf IS 'How often it occurs there.';
COMMENT ON COLUMN sift.all_postings.document_id IS 'Document of the chunk.';
REVOKE ALL ON TABLE sift.all_postings FROM PUBLIC;
GRANT SELECT ON TABLE sift.all_postings TO sift_owner, sift_writer;
