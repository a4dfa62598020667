-- Gives documents other keys. They keep their numbers, chunks, vectors and history, which says when they were moved; nothing is indexed again.
--
-- A document whose access list is what the prefix of its old key, or the tenant, gives gets what the new key's prefix gives; one with a list
-- of its own keeps it. What counts is the list, not how it came about: one that was given explicitly and is the same as the old prefix's
-- follows the new prefix, too. Set the access again where that is not meant.
--
--   source_uris  new addresses, one per key; NULL leaves them
--   moved        false where there is no document of the old key, or one of the new key already
CREATE OR REPLACE FUNCTION sift.move_documents(
    tenant      text,
    from_keys   text[],
    to_keys     text[],
    source_uris text[] DEFAULT NULL,
    run_id      bigint DEFAULT NULL
)
RETURNS TABLE (from_key text, to_key text, document_id bigint, moved boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_run_id    bigint := run_id;
    v_by        text := sift._recorded_role();
    v_now       timestamptz := now();
    v_at        timestamptz;
    v_lists     jsonb;
    v_moves     jsonb := '{}'::jsonb;
    v_pair      record;
    v_version   record;
BEGIN
    IF cardinality(from_keys) IS DISTINCT FROM cardinality(to_keys)
       OR (source_uris IS NOT NULL AND cardinality(source_uris) <> cardinality(from_keys)) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'the arrays are of different length',
            HINT = 'Pass as many new keys as old ones, and as many source_uris, or none.';
    END IF;
    IF (SELECT count(DISTINCT k.key) < count(*)
        FROM (SELECT unnest(from_keys) UNION ALL SELECT unnest(to_keys)) AS k (key)) THEN  -- a NULL is not counted as distinct
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a key is NULL or occurs twice',
            HINT = 'Each key once, as an old or as a new one; move in several calls where one takes the place of another.';
    END IF;
    IF EXISTS (SELECT FROM unnest(to_keys) AS k (key) WHERE k.key = '' OR octet_length(k.key) > 2000) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012', MESSAGE = 'a key has 1 to 2000 bytes', HINT = 'It is the stable name of the source.';
    END IF;
    PERFORM sift._check_run(v_tenant_id, v_run_id);
    v_lists := sift._document_lists(v_tenant_id, (
        SELECT coalesce(jsonb_agg(jsonb_build_object('key', k.key)), '[]'::jsonb) FROM unnest(from_keys || to_keys) AS k (key)));

    PERFORM FROM sift.documents AS d
    WHERE d.tenant_id = v_tenant_id AND d.key = ANY (from_keys || to_keys)
    ORDER BY d.key COLLATE "C"
    FOR UPDATE;
    FOR v_pair IN
        SELECT p.from_key, p.to_key, p.uri, d.document_id, d.updated_at, d.access_list_id
        FROM unnest(from_keys, to_keys, source_uris) AS p (from_key, to_key, uri)
        CROSS JOIN LATERAL (SELECT e.* FROM sift.documents AS e WHERE e.tenant_id = v_tenant_id AND e.key = p.from_key OFFSET 0) AS d
        WHERE NOT EXISTS (SELECT FROM sift.documents AS n WHERE n.tenant_id = v_tenant_id AND n.key = p.to_key)
        ORDER BY p.from_key COLLATE "C"
    LOOP
        -- A deletion of the new key may have begun later and been committed first.
        SELECT greatest(v_now, v_pair.updated_at, max(h.current_to)) INTO v_at
        FROM sift.document_versions AS h
        WHERE h.tenant_id = v_tenant_id AND h.key = v_pair.to_key;
        SELECT h.* INTO v_version
        FROM sift.document_versions AS h
        WHERE h.tenant_id = v_tenant_id AND h.document_id = v_pair.document_id AND h.current_to IS NULL
        ORDER BY h.version DESC, h.revision DESC
        LIMIT 1;
        UPDATE sift.documents AS d
        SET key = v_pair.to_key, source_uri = coalesce(v_pair.uri, d.source_uri), run_id = v_run_id, updated_at = v_at
        WHERE d.tenant_id = v_tenant_id AND d.document_id = v_pair.document_id;
        UPDATE sift.document_versions AS h SET current_to = v_at
        WHERE h.tenant_id = v_tenant_id AND h.document_id = v_pair.document_id AND h.current_to IS NULL;
        IF (SELECT a.principals = b.principals AND a.denied = b.denied
            FROM sift.access_lists AS a, sift.access_lists AS b
            WHERE a.tenant_id = v_tenant_id AND a.access_list_id = v_pair.access_list_id
              AND b.tenant_id = v_tenant_id AND b.access_list_id = (v_lists ->> v_pair.from_key)::bigint) THEN
            PERFORM sift._move_access(v_tenant_id, v_pair.document_id, (v_lists ->> v_pair.to_key)::bigint);
        END IF;
        INSERT INTO sift.document_versions AS h (
            tenant_id, document_id, version, revision, access_list_id, current_from, run_id, length, key, event, title, source_uri,
            source_version, metadata, content_hash, parser, chunker, analyzer_fingerprint, models, language, license, classification,
            observed_at, valid_from, valid_to, retain_until, changed_by)
        SELECT v_tenant_id, d.document_id, d.version, coalesce(v_version.revision, 0) + 1, d.access_list_id, v_at, v_run_id, d.length, d.key,
               'moved', d.title, d.source_uri, d.source_version, d.metadata, d.content_hash, d.parser, d.chunker,
               v_version.analyzer_fingerprint, v_version.models, d.language, d.license, d.classification, d.observed_at, d.valid_from,
               d.valid_to, d.retain_until, v_by
        FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND d.document_id = v_pair.document_id;
        UPDATE sift.sync_items AS i SET key = v_pair.to_key WHERE i.tenant_id = v_tenant_id AND i.key = v_pair.from_key
          AND NOT EXISTS (SELECT FROM sift.sync_items AS o WHERE o.tenant_id = v_tenant_id AND o.key = v_pair.to_key);
        UPDATE sift.judgments AS j SET key = v_pair.to_key WHERE j.tenant_id = v_tenant_id AND j.document_id = v_pair.document_id;
        v_moves := v_moves || jsonb_build_object(v_pair.from_key, v_pair.document_id);
    END LOOP;
    DELETE FROM sift.dead_letters AS l
    WHERE l.tenant_id = v_tenant_id AND l.key IN (SELECT jsonb_object_keys(v_moves)) AND (v_run_id IS NULL OR l.run_id IS DISTINCT FROM v_run_id);
    RETURN QUERY
    SELECT p.from_key, p.to_key, (v_moves ->> p.from_key)::bigint, v_moves ? p.from_key
    FROM unnest(from_keys, to_keys) WITH ORDINALITY AS p (from_key, to_key, position)
    ORDER BY p.position;
EXCEPTION
    WHEN unique_violation THEN
        RAISE EXCEPTION USING ERRCODE = 'PS011', MESSAGE = 'a document was stored under one of the new keys meanwhile',
            HINT = 'Move again: documents whose new key is taken are left alone.';
END
$$;
COMMENT ON FUNCTION sift.move_documents(text, text[], text[], text[], bigint) IS
    'Gives documents other keys, and addresses; numbers, chunks, vectors and history stay, and nothing is indexed again. Says of each whether it was moved: not where the old key has no document or the new one has.';
REVOKE ALL ON FUNCTION sift.move_documents(text, text[], text[], text[], bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.move_documents(text, text[], text[], text[], bigint) TO sift_owner, sift_writer;
