-- Keeps the bytes that documents were made of, beside their current versions: called in the transaction that stores the documents.
--
--   keys, media_types, contents, lengths  of the same length; lengths are those before compression
--   compression                           none, or zlib: contents are stored as they come
CREATE OR REPLACE FUNCTION sift.put_sources(
    tenant      text,
    keys        text[],
    media_types text[],
    contents    bytea[],
    lengths     bigint[],
    compression text DEFAULT 'zlib'
) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_stored    integer;
BEGIN
    IF compression IS NULL OR compression NOT IN ('none', 'zlib') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('compression must be none or zlib, not %s', coalesce(to_json(left(compression, 100))::text, 'NULL')),
            HINT = 'none: the contents as they are; zlib: each compressed by the caller.';
    END IF;
    IF cardinality(keys) IS DISTINCT FROM cardinality(contents) OR cardinality(keys) IS DISTINCT FROM cardinality(media_types)
       OR cardinality(keys) IS DISTINCT FROM cardinality(lengths) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('there are %s keys, %s media types, %s contents and %s lengths', coalesce(cardinality(keys), 0),
                             coalesce(cardinality(media_types), 0), coalesce(cardinality(contents), 0), coalesce(cardinality(lengths), 0)),
            HINT = 'Pass one of each for every document.';
    END IF;
    INSERT INTO sift.document_sources AS s (tenant_id, document_id, version, media_type, compression, length, content)
    SELECT v_tenant_id, d.document_id, d.version, n.media_type, put_sources.compression, n.length, n.content
    FROM (SELECT DISTINCT ON (u.key) u.* FROM unnest(keys, media_types, contents, lengths) AS u (key, media_type, content, length) ORDER BY u.key) AS n
    CROSS JOIN LATERAL (
        SELECT e.document_id, e.version FROM sift.documents AS e WHERE e.tenant_id = v_tenant_id AND e.key = n.key FOR UPDATE OF e) AS d
    ON CONFLICT ON CONSTRAINT document_sources_pkey DO UPDATE
    SET media_type = excluded.media_type, compression = excluded.compression, length = excluded.length, content = excluded.content;
    GET DIAGNOSTICS v_stored = ROW_COUNT;
    RETURN v_stored;
END
$$;
COMMENT ON FUNCTION sift.put_sources(text, text[], text[], bytea[], bigint[], text) IS
    'Keeps the bytes that the current versions of documents were made of, and returns how many there are such documents; a purge removes them.';
REVOKE ALL ON FUNCTION sift.put_sources(text, text[], text[], bytea[], bigint[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_sources(text, text[], text[], bytea[], bigint[], text) TO sift_owner, sift_writer;
