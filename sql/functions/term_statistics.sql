-- What BM25 knows of terms in a tenant's corpus. Statistics speak of documents that not everybody may see, so readers may not ask.
CREATE OR REPLACE FUNCTION sift.term_statistics(tenant text, terms text[])
RETURNS TABLE (term text, df bigint, chunks bigint, total_length bigint, k1 double precision, b double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_tenant    record;
    v_chunks    bigint;
    v_length    bigint;
BEGIN
    SELECT t.k1, t.b INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    SELECT coalesce(sum(s.chunks), 0)::bigint, coalesce(sum(s.total_length), 0)::bigint INTO v_chunks, v_length
    FROM sift.corpus_totals AS s
    WHERE s.tenant_id = v_tenant_id;
    RETURN QUERY
    SELECT q.term, f.df, v_chunks, v_length, v_tenant.k1, v_tenant.b
    FROM (SELECT u.term, min(u.position) AS position
          FROM unnest(term_statistics.terms) WITH ORDINALITY AS u (term, position)
          WHERE u.term <> ''
          GROUP BY u.term) AS q
    CROSS JOIN LATERAL (
        SELECT sift._document_frequency(v_tenant_id, q.term) AS df OFFSET 0) AS f
    ORDER BY q.position;
END
$$;
COMMENT ON FUNCTION sift.term_statistics(text, text[]) IS
    'For each distinct (analyzed) term: the number of chunks that hold it, 0 included; beside it the number of chunks with any term, their total length, and the tenant''s k1 and b.';
REVOKE ALL ON FUNCTION sift.term_statistics(text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.term_statistics(text, text[]) TO sift_owner, sift_writer, sift_app;
