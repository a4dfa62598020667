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
    classification text,
    metadata       jsonb,
    observed_at    timestamptz,
    retain_until   timestamptz,
    updated_at     timestamptz,
    visible_to     text[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.key, r.title, r.version, r.chunks, r.length, r.source_uri, r.source_version, r.language, r.license, r.classification,
           r.metadata, r.observed_at, r.retain_until, r.updated_at, r.visible_to
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._list_documents(c.role_id, c.proof, list_documents.tenant, list_documents.principals, list_documents.key_prefix, list_documents.k, list_documents.after) AS r;
END
$$;
COMMENT ON FUNCTION sift.list_documents(text, text[], text, integer, text) IS
    'Documents the caller may see, by key in C order; the next page begins after the last key of this one. Who else may see a document is told to applications and writers only.';
REVOKE ALL ON FUNCTION sift.list_documents(text, text[], text, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_documents(text, text[], text, integer, text) TO sift_owner, sift_writer, sift_app, sift_reader;
