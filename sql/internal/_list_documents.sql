-- What sift.list_documents does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._list_documents(
    caller     oid,
    proof      bytea,
    tenant     text,
    principals text[],
    key_prefix text,
    k          integer,
    after      text
)
RETURNS TABLE (
    key            text,
    title          text,
    version        integer,
    chunks         integer,
    length         integer,
    source_uri     text,
    source_version text,
    language       text,
    license        text,
    classification text,
    metadata       jsonb,
    observed_at    timestamptz,
    retain_until   timestamptz,
    updated_at     timestamptz,
    visible_to     text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_trusted   boolean := sift._is_trusted(caller);
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, but is %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of documents wanted at most; 100 is the default.';
    END IF;
    RETURN QUERY
    SELECT d.key, d.title, d.version, n.chunks, d.length, d.source_uri, d.source_version, d.language, d.license, d.classification,
           d.metadata, d.observed_at, d.retain_until, d.updated_at, CASE WHEN v_trusted THEN a.principals END
    FROM (
        SELECT e.* FROM sift.documents AS e
        WHERE e.tenant_id = v_tenant_id AND e.access_list_id = ANY (v_lists)
          AND (_list_documents.key_prefix IS NULL OR starts_with(e.key, _list_documents.key_prefix))
          AND (_list_documents.after IS NULL OR e.key COLLATE "C" > _list_documents.after)
        ORDER BY e.key COLLATE "C"
        LIMIT _list_documents.k
    ) AS d
    CROSS JOIN LATERAL (
        SELECT count(*)::integer AS chunks FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = d.document_id) AS n
    JOIN sift.access_lists AS a ON a.tenant_id = v_tenant_id AND a.access_list_id = d.access_list_id
    ORDER BY d.key COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift._list_documents(oid, bytea, text, text[], text, integer, text) IS 'The body of sift.list_documents, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._list_documents(oid, bytea, text, text[], text, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._list_documents(oid, bytea, text, text[], text, integer, text) TO sift_owner, sift_writer, sift_app, sift_reader;
