-- Every term with its document frequency, as BM25 knows it. Reads the statistics, not the postings; all terms of a tenant are still as many as
-- its vocabulary has.
CREATE VIEW sift.all_terms AS
SELECT t.name AS tenant, f.term, f.df, n.chunks,
       pg_catalog.ln(1::double precision OPERATOR(pg_catalog.+) (
           (n.chunks::double precision OPERATOR(pg_catalog.-) f.df::double precision OPERATOR(pg_catalog.+) 0.5::double precision)
           OPERATOR(pg_catalog./) (f.df::double precision OPERATOR(pg_catalog.+) 0.5::double precision))) AS idf
FROM (
    SELECT s.tenant_id, s.term, pg_catalog.sum(s.df)::bigint AS df
    FROM (SELECT x.tenant_id, x.term, x.df FROM sift.term_stats AS x
          UNION ALL
          SELECT b.tenant_id, b.term, b.df::bigint FROM sift.posting_blocks AS b) AS s
    GROUP BY s.tenant_id, s.term
) AS f
JOIN sift.tenants AS t ON t.tenant_id OPERATOR(pg_catalog.=) f.tenant_id
CROSS JOIN LATERAL (SELECT pg_catalog.sum(c.chunks)::bigint AS chunks FROM sift.corpus_totals AS c
                    WHERE c.tenant_id OPERATOR(pg_catalog.=) f.tenant_id) AS n
WHERE f.df OPERATOR(pg_catalog.>) 0;
COMMENT ON VIEW sift.all_terms IS 'In how many chunks each term is, as BM25 counts; for writers.';
COMMENT ON COLUMN sift.all_terms.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.all_terms.term IS 'The term, as the analyzer made it.';
COMMENT ON COLUMN sift.all_terms.df IS 'Number of chunks that hold it.';
COMMENT ON COLUMN sift.all_terms.chunks IS 'Number of chunks with any term.';
COMMENT ON COLUMN sift.all_terms.idf IS 'ln(1 + (chunks - df + 0.5) / (df + 0.5)), as BM25 weights it.';
REVOKE ALL ON TABLE sift.all_terms FROM PUBLIC;
GRANT SELECT ON TABLE sift.all_terms TO sift_owner, sift_writer;
