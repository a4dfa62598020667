-- The tokens of a document in their order, without those of its title: the same text under two titles is the same text.
CREATE OR REPLACE FUNCTION sift._document_tokens(tenant_id integer, document_id bigint) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id   integer := tenant_id;
    v_document_id bigint := document_id;
    v_tokens      text[];
    v_title       text[];
BEGIN
    SELECT string_to_array(string_agg(c.tokens, ' ' ORDER BY c.ordinal), ' ') INTO v_tokens
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.document_id = v_document_id AND c.tokens <> '';
    IF v_tokens IS NULL THEN
        RETURN '{}'::text[];
    END IF;
    SELECT sift.tokenize(d.title, t.analyzer) INTO v_title
    FROM sift.documents AS d, sift.tenants AS t
    WHERE d.tenant_id = v_tenant_id AND d.document_id = v_document_id AND t.tenant_id = v_tenant_id
      AND t.index_title = 'first' AND d.title <> '';
    IF cardinality(v_title) > 0 AND v_tokens[1:cardinality(v_title)] = v_title THEN
        v_tokens := v_tokens[cardinality(v_title) + 1:];
    END IF;
    RETURN v_tokens;
END
$$;
COMMENT ON FUNCTION sift._document_tokens(integer, bigint) IS 'Tokens of all chunks of a document in their order, without those of its title.';
REVOKE ALL ON FUNCTION sift._document_tokens(integer, bigint) FROM PUBLIC;
