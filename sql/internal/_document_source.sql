-- What sift.document_source does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._document_source(
    caller     oid,
    proof      bytea,
    tenant     text,
    key        text,
    at         timestamptz,
    principals text[]
)
RETURNS TABLE (version integer, media_type text, compression text, length bigint, content bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_at        timestamptz := coalesce(at, 'infinity'::timestamptz);
BEGIN
    RETURN QUERY
    SELECT s.version, s.media_type, s.compression, s.length, s.content
    FROM (
        SELECT v.document_id, v.version, v.key FROM sift.document_versions AS v
        WHERE v.tenant_id = v_tenant_id AND v.key = _document_source.key AND v.current_from <= v_at
          AND (v.current_to IS NULL OR v.current_to > v_at)
        ORDER BY v.document_id DESC, v.version DESC, v.revision DESC
        LIMIT 1
    ) AS h
    CROSS JOIN LATERAL (
        SELECT o.* FROM sift.document_sources AS o
        WHERE o.tenant_id = v_tenant_id AND o.document_id = h.document_id AND o.version = h.version OFFSET 0) AS s
    WHERE (sift._list_today(v_tenant_id, h.document_id, h.key, v_lists) = ANY (v_lists)) IS TRUE
      -- A record says who may see its document, which readers are not told.
      AND (s.media_type <> 'application/json' OR sift._is_trusted(caller));
END
$$;
COMMENT ON FUNCTION sift._document_source(oid, bytea, text, text, timestamptz, text[]) IS 'The body of sift.document_source, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._document_source(oid, bytea, text, text, timestamptz, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._document_source(oid, bytea, text, text, timestamptz, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
