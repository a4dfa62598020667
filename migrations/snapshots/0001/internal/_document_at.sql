-- What sift.document_at does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._document_at(
    caller     oid,
    proof      bytea,
    tenant     text,
    key        text,
    at         timestamptz,
    principals text[]
)
RETURNS TABLE (
    title          text,
    version        integer,
    text           text,
    metadata       jsonb,
    source_uri     text,
    source_version text,
    content_hash   text,
    current_from   timestamptz,
    current_to     timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_at        timestamptz := coalesce(at, 'infinity'::timestamptz);
    v_since     timestamptz := (SELECT t.history_since FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id);
BEGIN
    IF v_at < v_since THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the tenant %s has a complete history since %s only, so what a document was before is not known', to_json(tenant),
                             to_char(v_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
            HINT = 'Before that no history was kept for a while; give a later time.';
    END IF;
    RETURN QUERY
    SELECT h.title, h.version, sift._text_at(v_tenant_id, h.document_id, h.version), coalesce(h.metadata, '{}'::jsonb), h.source_uri,
           h.source_version, encode(h.content_hash, 'hex'), h.current_from, h.current_to
    FROM (
        SELECT v.* FROM sift.document_versions AS v
        WHERE v.tenant_id = v_tenant_id AND v.key = _document_at.key AND v.current_from <= v_at
          AND (v.current_to IS NULL OR v.current_to > v_at)
        ORDER BY v.document_id DESC, v.version DESC, v.revision DESC
        LIMIT 1
    ) AS h
    WHERE (sift._list_today(v_tenant_id, h.document_id, h.key, v_lists) = ANY (v_lists)) IS TRUE;
END
$$;
COMMENT ON FUNCTION sift._document_at(oid, bytea, text, text, timestamptz, text[]) IS 'The body of sift.document_at, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._document_at(oid, bytea, text, text, timestamptz, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._document_at(oid, bytea, text, text, timestamptz, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
