-- Whether a chunk that the caller may see holds a term; with upto, one of no greater number. Postings of chunks that are gone may lie in their block still.
CREATE OR REPLACE FUNCTION sift._is_visible_term(tenant_id integer, term text, lists bigint[], upto bigint DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_term      text COLLATE "C" := term;
    v_lists     bigint[] := lists;
    v_upto      bigint := coalesce(upto, 9223372036854775807);
BEGIN
    RETURN EXISTS (
            SELECT FROM (SELECT w.chunk_id FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant_id AND w.term = v_term AND w.chunk_id <= v_upto OFFSET 0) AS p
            CROSS JOIN LATERAL (SELECT x.access_list_id FROM sift.chunks AS x
                                WHERE x.tenant_id = v_tenant_id AND x.chunk_id = p.chunk_id OFFSET 0) AS c
            WHERE c.access_list_id = ANY (v_lists))
        OR EXISTS (
            SELECT FROM (SELECT unnest(r.postings) >> 23 AS chunk_id
                         FROM (SELECT d.block_no FROM sift.packed_chunks AS d WHERE d.tenant_id = v_tenant_id OFFSET 0) AS n
                         CROSS JOIN LATERAL (SELECT o.postings FROM sift.posting_blocks AS o
                                             WHERE o.tenant_id = v_tenant_id AND o.block_no = n.block_no AND o.term = v_term OFFSET 0) AS r) AS p
            CROSS JOIN LATERAL (SELECT x.access_list_id FROM sift.chunks AS x
                                WHERE x.tenant_id = v_tenant_id AND x.chunk_id = p.chunk_id OFFSET 0) AS c
            WHERE p.chunk_id <= v_upto AND c.access_list_id = ANY (v_lists));
END
$$;
COMMENT ON FUNCTION sift._is_visible_term(integer, text, bigint[], bigint) IS 'Whether a visible chunk holds a term.';
REVOKE ALL ON FUNCTION sift._is_visible_term(integer, text, bigint[], bigint) FROM PUBLIC;
