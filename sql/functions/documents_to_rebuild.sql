-- Current documents with the bytes they were made of, in the order of keys, whoever may see them: for those who make anew what is derived.
--
--   key and all that follows up to content_hash are what is stored now; media_type, compression, length and content are NULL where no source
--   of this version was kept. A page ends after k documents, or as soon as its sources have 32 MB. total_bytes, on the first page alone, is the
--   length of all sources from there.
CREATE OR REPLACE FUNCTION sift.documents_to_rebuild(tenant text, keys text[] DEFAULT NULL, k integer DEFAULT 100, after text DEFAULT NULL)
RETURNS TABLE (
    key            text,
    version        integer,
    title          text,
    source_uri     text,
    source_version text,
    metadata       jsonb,
    language       text,
    license        text,
    classification text,
    observed_at    timestamptz,
    valid_from     timestamptz,
    valid_to       timestamptz,
    retain_until   timestamptz,
    parser         text,
    chunker        text,
    content_hash   text,
    media_type     text,
    compression    text,
    length         bigint,
    content        bytea,
    total_bytes    bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_bytes     CONSTANT bigint := 33554432;
    v_tenant_id integer := sift._tenant_id(tenant);
    v_keys      text[] := documents_to_rebuild.keys;
    v_after     text := documents_to_rebuild.after;
    v_k         integer := documents_to_rebuild.k;
    v_total     bigint;
BEGIN
    IF v_k IS NULL OR v_k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, not %s', coalesce(v_k::text, 'NULL')),
            HINT = 'k is the number of documents wanted.';
    END IF;
    IF v_after IS NULL THEN
        SELECT coalesce(sum(s.length), 0)::bigint INTO v_total
        FROM sift.documents AS d
        JOIN sift.document_sources AS s ON s.document_id = d.document_id AND s.version = d.version
        WHERE d.tenant_id = v_tenant_id AND s.tenant_id = v_tenant_id AND (v_keys IS NULL OR d.key = ANY (v_keys));
    END IF;
    RETURN QUERY
    SELECT p.key, p.version, p.title, p.source_uri, p.source_version, p.metadata, p.language, p.license, p.classification, p.observed_at,
           p.valid_from, p.valid_to, p.retain_until, p.parser, p.chunker, encode(p.content_hash, 'hex'), o.media_type, o.compression, o.length,
           o.content, v_total
    FROM (
        SELECT n.*, sum(coalesce(z.length, 0)) OVER (ORDER BY n.key COLLATE "C") - coalesce(z.length, 0) AS before
        FROM (
            SELECT d.* FROM sift.documents AS d
            WHERE d.tenant_id = v_tenant_id AND (v_keys IS NULL OR d.key = ANY (v_keys))
              AND (v_after IS NULL OR d.key COLLATE "C" > v_after COLLATE "C")
            ORDER BY d.key COLLATE "C"
            LIMIT v_k
        ) AS n
        LEFT JOIN LATERAL (
            SELECT s.length FROM sift.document_sources AS s
            WHERE s.tenant_id = v_tenant_id AND s.document_id = n.document_id AND s.version = n.version OFFSET 0) AS z ON true
    ) AS p
    LEFT JOIN LATERAL (
        SELECT s.media_type, s.compression, s.length, s.content FROM sift.document_sources AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = p.document_id AND s.version = p.version OFFSET 0) AS o ON true
    WHERE p.before < v_bytes
    ORDER BY p.key COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.documents_to_rebuild(text, text[], integer, text) IS
    'The next k documents after a key, of all or of those named, with what is known of them and the bytes they were made of, where these were kept; for Store.rebuild. A page ends early where its sources are large.';
REVOKE ALL ON FUNCTION sift.documents_to_rebuild(text, text[], integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.documents_to_rebuild(text, text[], integer, text) TO sift_owner, sift_writer;
