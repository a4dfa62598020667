-- What is shown beside the claims among some chunks: NULL for any other, else
--
--   {"source_level", "evidence_span", "effect", "sources": [{"chunk_id", "ordinal", "kind", "section", "page", "char_start", "char_end", "body"}]}
--
-- Sources belong to the document of the claim and are as visible as it is. history: the chunks may be those of versions that were superseded.
CREATE OR REPLACE FUNCTION sift._claims_of(tenant_id integer, chunk_ids bigint[], history boolean) RETURNS jsonb[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_claims    jsonb[];
BEGIN
    SELECT array_agg(CASE WHEN c.claim IS NOT NULL THEN c.claim - 'supports' || jsonb_build_object('sources', s.sources) END ORDER BY i.n) INTO v_claims
    FROM unnest(chunk_ids) WITH ORDINALITY AS i (id, n)
    LEFT JOIN LATERAL (
        SELECT x.document_id, NULL::integer AS version, x.claim FROM sift.chunks AS x
        WHERE x.tenant_id = v_tenant_id AND x.chunk_id = i.id AND x.claim IS NOT NULL
        UNION ALL
        SELECT x.document_id, x.version, x.claim FROM sift.chunk_history AS x
        WHERE history AND x.tenant_id = v_tenant_id AND x.chunk_id = i.id AND x.claim IS NOT NULL
        OFFSET 0) AS c ON true
    LEFT JOIN LATERAL (
        SELECT jsonb_agg(jsonb_build_object('chunk_id', f.chunk_id, 'ordinal', f.ordinal, 'kind', f.kind, 'section', array_to_string(f.section_path, ' > '),
                                            'page', f.page, 'char_start', f.char_start, 'char_end', f.char_end, 'body', f.body) ORDER BY f.ordinal) AS sources
        FROM jsonb_array_elements(c.claim -> 'supports') AS o (ordinal)
        CROSS JOIN LATERAL (
            SELECT x.chunk_id, x.ordinal, x.kind, x.section_path, x.page, x.char_start, x.char_end, x.body FROM sift.chunks AS x
            WHERE c.version IS NULL AND x.tenant_id = v_tenant_id AND x.document_id = c.document_id AND x.ordinal = o.ordinal::integer
            UNION ALL
            SELECT x.chunk_id, x.ordinal, x.kind, x.section_path, x.page, x.char_start, x.char_end, x.body FROM sift.chunk_history AS x
            WHERE c.version IS NOT NULL AND x.tenant_id = v_tenant_id AND x.document_id = c.document_id AND x.version = c.version
              AND x.ordinal = o.ordinal::integer
            OFFSET 0) AS f
        WHERE c.claim IS NOT NULL
    ) AS s ON true;
    RETURN v_claims;
END
$$;
COMMENT ON FUNCTION sift._claims_of(integer, bigint[], boolean) IS 'Level, quotation, effect and sources of the claims among some chunks, in their order; NULL for the others.';
REVOKE ALL ON FUNCTION sift._claims_of(integer, bigint[], boolean) FROM PUBLIC;
