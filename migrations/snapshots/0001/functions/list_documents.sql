-- The documents the caller may see, in the order of keys, a page at a time.
CREATE OR REPLACE FUNCTION sift.list_documents(
    tenant     text,
    principals text[] DEFAULT NULL,
    key_prefix text DEFAULT NULL,
    k          integer DEFAULT 100,
    after      text DEFAULT NULL
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
    metadata       jsonb,
    observed_at    timestamptz,
    updated_at     timestamptz,
    visible_to     text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals);
    v_trusted   boolean := sift._is_trusted();
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, but is %s', coalesce(k::text, 'NULL'));
    END IF;
    RETURN QUERY
    SELECT d.key, d.title, d.version, n.chunks, d.length, d.source_uri, d.source_version, d.language, d.license, d.metadata,
           d.observed_at, d.updated_at, CASE WHEN v_trusted THEN a.principals END
    FROM (
        SELECT e.* FROM sift.documents AS e
        WHERE e.tenant_id = v_tenant_id AND e.access_list_id = ANY (v_lists)
          AND (list_documents.key_prefix IS NULL OR starts_with(e.key, list_documents.key_prefix))
          AND (list_documents.after IS NULL OR e.key COLLATE "C" > list_documents.after)
        ORDER BY e.key COLLATE "C"
        LIMIT list_documents.k
    ) AS d
    CROSS JOIN LATERAL (
        SELECT count(*)::integer AS chunks FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = d.document_id) AS n
    JOIN sift.access_lists AS a ON a.tenant_id = v_tenant_id AND a.access_list_id = d.access_list_id
    ORDER BY d.key COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.list_documents(text, text[], text, integer, text) IS
    'Documents the caller may see, by key in C order; the next page begins after the last key of this one. Who else may see a document is told to applications and writers only.';
REVOKE ALL ON FUNCTION sift.list_documents(text, text[], text, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_documents(text, text[], text, integer, text) TO sift_owner, sift_writer, sift_app, sift_reader;
