-- The tokens of a document in their order, without those of its title and of the prefixes of chunks: the same text under two titles is the same text.
CREATE OR REPLACE FUNCTION sift._document_tokens(tenant_id integer, document_id bigint) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id   integer := tenant_id;
    v_document_id bigint := document_id;
    v_tokens      text[];
BEGIN
    SELECT string_to_array(string_agg(t.tokens, ' ' ORDER BY c.ordinal), ' ') INTO v_tokens
    FROM sift.chunks AS c
    CROSS JOIN LATERAL (SELECT CASE WHEN c.title_tokens + c.prefix_tokens = 0 THEN coalesce(c.unranked_tokens, c.tokens)
                                    ELSE array_to_string((string_to_array(coalesce(c.unranked_tokens, c.tokens), ' '))[c.title_tokens + c.prefix_tokens + 1:], ' ') END AS tokens
                        OFFSET 0) AS t
    WHERE c.tenant_id = v_tenant_id AND c.document_id = v_document_id AND t.tokens <> '';
    RETURN coalesce(v_tokens, '{}'::text[]);
END
$$;
COMMENT ON FUNCTION sift._document_tokens(integer, bigint) IS 'Tokens of all chunks of a document in their order, without those of its title and of prefixes.';
REVOKE ALL ON FUNCTION sift._document_tokens(integer, bigint) FROM PUBLIC;
