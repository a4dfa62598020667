-- What sift.list_claims does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._list_claims(
    caller     oid,
    proof      bytea,
    tenant     text,
    key        text,
    principals text[]
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
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_ids       bigint[];
    v_claims    jsonb[];
BEGIN
    SELECT array_agg(c.chunk_id ORDER BY c.ordinal) INTO v_ids
    FROM sift.documents AS d
    CROSS JOIN LATERAL (
        SELECT x.chunk_id, x.ordinal FROM sift.chunks AS x
        WHERE x.tenant_id = v_tenant_id AND x.document_id = d.document_id AND x.kind = 'claim' AND x.access_list_id = ANY (v_lists) OFFSET 0) AS c
    WHERE d.tenant_id = v_tenant_id AND d.key = _list_claims.key;
    IF v_ids IS NULL THEN
        RETURN;
    END IF;
    v_claims := sift._claims_of(v_tenant_id, v_ids, false);
    RETURN QUERY
    SELECT i.id, c.ordinal, c.body, i.claim ->> 'source_level', i.claim ->> 'evidence_span', nullif(i.claim -> 'effect', 'null'::jsonb), i.claim -> 'sources'
    FROM unnest(v_ids, v_claims) WITH ORDINALITY AS i (id, claim, n)
    CROSS JOIN LATERAL (
        SELECT x.ordinal, x.body FROM sift.chunks AS x WHERE x.tenant_id = v_tenant_id AND x.chunk_id = i.id OFFSET 0) AS c
    ORDER BY i.n;
END
$$;
COMMENT ON FUNCTION sift._list_claims(oid, bytea, text, text, text[]) IS 'The body of sift.list_claims, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._list_claims(oid, bytea, text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._list_claims(oid, bytea, text, text, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
