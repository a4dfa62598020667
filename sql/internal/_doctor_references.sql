-- The doctor on what belongs together: nothing may exist that its document does not reach, and the copies of an access list beside
-- chunks and vectors are the document's own.
CREATE OR REPLACE FUNCTION sift._doctor_references(tenant_id integer, tenant text, chunk_ids bigint[], complete boolean)
RETURNS TABLE (check_name text, severity text, object text, finding text, remedy text, safe_fix boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_listed    CONSTANT integer := 20;
    v_looked_at CONSTANT integer := 20000;  -- rows of a table whose references a constraint keeps, where not all are looked at
    v_tenant_id integer := tenant_id;
    v_remedy    text := format('SELECT * FROM sift.repair(%L)', tenant);
BEGIN
    RETURN QUERY
    WITH sampled AS MATERIALIZED (
        SELECT c.chunk_id, c.document_id, c.access_list_id
        FROM unnest(chunk_ids) AS i (id)
        CROSS JOIN LATERAL (SELECT s.chunk_id, s.document_id, s.access_list_id FROM sift.chunks AS s
                            WHERE s.tenant_id = v_tenant_id AND s.chunk_id = i.id OFFSET 0) AS c
    ),
    beside AS (
        SELECT s.chunk_id, s.document_id, s.access_list_id, d.document_id AS found, d.access_list_id AS of_document
        FROM sampled AS s
        LEFT JOIN LATERAL (SELECT t.document_id, t.access_list_id FROM sift.documents AS t
                           WHERE t.tenant_id = v_tenant_id AND t.document_id = s.document_id OFFSET 0) AS d ON true
    )
    SELECT 'orphans'::text, 'error'::text, format('chunk %s', b.chunk_id),
           format('the chunk belongs to document %s, which does not exist', b.document_id), v_remedy, true
    FROM beside AS b
    WHERE b.found IS NULL
    UNION ALL
    SELECT 'access_copies', 'error', format('chunk %s', b.chunk_id),
           format('the chunk is under access list %s, its document %s under %s', b.access_list_id, b.document_id, b.of_document), v_remedy, true
    FROM beside AS b
    WHERE b.found IS NOT NULL AND b.access_list_id <> b.of_document
    UNION ALL
    SELECT 'access_copies', 'error', format('chunk %s', b.chunk_id),
           format('the vector of the chunk for model %s is under access list %s, the chunk under %s', e.model_id, e.access_list_id, b.access_list_id),
           v_remedy, true
    FROM beside AS b
    CROSS JOIN LATERAL (SELECT x.model_id, x.access_list_id FROM sift.chunk_embeddings AS x
                        WHERE x.tenant_id = v_tenant_id AND x.chunk_id = b.chunk_id OFFSET 0) AS e
    WHERE b.found IS NOT NULL AND e.access_list_id <> b.access_list_id
    LIMIT v_listed;

    RETURN QUERY
    SELECT 'orphans'::text, 'error'::text, format('document %s', to_json(x.key)),
           format('the document is under access list %s, which does not exist', x.access_list_id), v_remedy, true
    FROM (SELECT d.key, d.access_list_id FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id
          LIMIT CASE WHEN complete THEN NULL ELSE v_looked_at END) AS x
    WHERE NOT EXISTS (SELECT FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id AND a.access_list_id = x.access_list_id)
    LIMIT v_listed;

    RETURN QUERY
    SELECT 'orphans'::text, 'error'::text, 'default access list'::text,
           format('the default of the tenant is access list %s, which does not exist', t.default_access_list_id),
           v_remedy, true
    FROM sift.tenants AS t
    WHERE t.tenant_id = v_tenant_id AND t.default_access_list_id <> 0
      AND NOT EXISTS (SELECT FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id AND a.access_list_id = t.default_access_list_id);

    RETURN QUERY
    SELECT 'orphans'::text, 'error'::text, x.place || format(', chunk %s', min(x.chunk_id)),
           format('%s rows of %s belong to chunks that do not exist, the first to chunk %s', count(*), x.place, min(x.chunk_id)), v_remedy, true
    FROM (SELECT 'unpacked_chunks'::text AS place, u.chunk_id FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id
          UNION ALL
          (SELECT 'chunk_embeddings', e.chunk_id FROM sift.chunk_embeddings AS e WHERE e.tenant_id = v_tenant_id
           LIMIT CASE WHEN complete THEN NULL ELSE v_looked_at END)
          UNION ALL
          (SELECT 'chunk_token_embeddings', v.chunk_id FROM sift.chunk_token_embeddings AS v WHERE v.tenant_id = v_tenant_id
           LIMIT CASE WHEN complete THEN NULL ELSE v_looked_at END)
          UNION ALL
          (SELECT 'chunk_entities', n.chunk_id FROM sift.chunk_entities AS n WHERE n.tenant_id = v_tenant_id
           LIMIT CASE WHEN complete THEN NULL ELSE v_looked_at END)) AS x
    LEFT JOIN LATERAL (SELECT true AS found FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = x.chunk_id OFFSET 0) AS c ON true
    WHERE c.found IS NULL
    GROUP BY x.place
    ORDER BY x.place;

    -- Rows of postings of which unpacked_chunks does not know are found by searches and removed by nobody.
    RETURN QUERY
    SELECT 'orphans'::text, 'error'::text, format('chunk_terms, chunk %s', min(w.chunk_id)),
           format('%s rows of chunk_terms belong to chunks that unpacked_chunks does not list, the first to chunk %s', count(*), min(w.chunk_id)),
           v_remedy, true
    FROM (SELECT t.chunk_id FROM sift.chunk_terms AS t WHERE t.tenant_id = v_tenant_id) AS w
    WHERE w.chunk_id NOT IN (SELECT u.chunk_id FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id)
    HAVING count(*) > 0;

    RETURN QUERY
    WITH RECURSIVE blocks AS (
        (SELECT b.block_no FROM sift.posting_blocks AS b WHERE b.tenant_id = v_tenant_id ORDER BY b.block_no LIMIT 1)
        UNION ALL
        SELECT n.block_no
        FROM blocks AS p
        CROSS JOIN LATERAL (SELECT b.block_no FROM sift.posting_blocks AS b
                            WHERE b.tenant_id = v_tenant_id AND b.block_no > p.block_no ORDER BY b.block_no LIMIT 1) AS n
    )
    SELECT 'orphans'::text, 'error'::text, format('block %s', b.block_no),
           'posting_blocks holds postings of a block that packed_chunks does not list'::text, v_remedy, true
    FROM blocks AS b
    WHERE NOT EXISTS (SELECT FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id AND k.block_no = b.block_no)
    LIMIT v_listed;
END
$$;
COMMENT ON FUNCTION sift._doctor_references(integer, text, bigint[], boolean) IS 'The doctor on rows without what they belong to, and on copies of access lists.';
REVOKE ALL ON FUNCTION sift._doctor_references(integer, text, bigint[], boolean) FROM PUBLIC;
