-- The number of chunks of a tenant that hold a term: what packed blocks count of it and what came since, losses included. 0 for an unknown one.
CREATE OR REPLACE FUNCTION sift._document_frequency(tenant_id integer, term text) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_term      text COLLATE "C" := term;
BEGIN
    RETURN (
        SELECT coalesce(sum(s.df), 0)::bigint
        FROM (SELECT r.df::bigint AS df
              FROM sift.packed_chunks AS d
              CROSS JOIN LATERAL (SELECT o.df FROM sift.posting_blocks AS o
                                  WHERE o.tenant_id = v_tenant_id AND o.block_no = d.block_no AND o.term = v_term OFFSET 0) AS r
              WHERE d.tenant_id = v_tenant_id
              UNION ALL
              SELECT w.df FROM sift.term_stats AS w WHERE w.tenant_id = v_tenant_id AND w.term = v_term) AS s);
END
$$;
COMMENT ON FUNCTION sift._document_frequency(integer, text) IS 'The number of chunks of a tenant that hold a term.';
REVOKE ALL ON FUNCTION sift._document_frequency(integer, text) FROM PUBLIC;
