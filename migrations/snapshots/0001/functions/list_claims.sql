-- The claims of a document, with the chunks that support them.
CREATE OR REPLACE FUNCTION sift.list_claims(
    tenant     text,
    key        text,
    principals text[] DEFAULT NULL
)
RETURNS TABLE (
    chunk_id         bigint,
    ordinal          integer,
    body             text,
    source_level     text,
    evidence_span    text,
    effect           jsonb,
    sources          jsonb
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.chunk_id, r.ordinal, r.body, r.source_level, r.evidence_span, r.effect, r.sources
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._list_claims(c.role_id, c.proof, list_claims.tenant, list_claims.key, list_claims.principals) AS r;
END
$$;
COMMENT ON FUNCTION sift.list_claims(text, text, text[]) IS
    'The claims of a document that the principals may see, in its order. sources is an array of objects with the chunk_id, ordinal, kind, section, page, char_start, char_end and body of each chunk that supports the claim; source_level is abstract, fulltext or mixed. A claim that was stored without sources has NULL there. No rows where there is no such document, or none that may be seen.';
REVOKE ALL ON FUNCTION sift.list_claims(text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_claims(text, text, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
