-- Records what the corpus is made of: counts, digests, models, settings, and the list of documents with their hashes.
--
--   name             left out: the time, in UTC
--   parent           the manifest it follows; left out: the latest; '': none
--   package_version  version of the client
--
-- The same corpus gives the same digests, after dump and restore too (sift._manifest_summary says how they are made).
CREATE OR REPLACE FUNCTION sift.create_manifest(tenant text, name text DEFAULT NULL, parent text DEFAULT NULL, package_version text DEFAULT NULL)
RETURNS TABLE (manifest_name text, parent_name text, created_by text, created_at timestamptz, summary jsonb)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id   integer := sift._tenant_id(tenant);
    v_now         timestamptz := clock_timestamp();
    v_name        text := coalesce(name, to_char(v_now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'));
    v_parent      text := parent;
    v_by          text := sift._recorded_role();
    v_parent_id   bigint;
    v_manifest_id bigint;
    v_summary     jsonb;
    v_count       bigint;
BEGIN
    IF v_name = '' OR v_name = 'now' OR octet_length(v_name) > 200 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('%s cannot be the name of a manifest', to_json(left(v_name, 200))),
            HINT = 'A name has 1 to 200 bytes and is not now, which stands for the corpus as it is.';
    END IF;
    IF v_parent = 'now' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'the parent of a manifest is a manifest', HINT = 'sift.list_manifests lists them.';
    ELSIF v_parent IS NULL THEN
        SELECT m.manifest_id, m.name INTO v_parent_id, v_parent
        FROM sift.manifests AS m WHERE m.tenant_id = v_tenant_id
        ORDER BY m.manifest_id DESC
        LIMIT 1;
    ELSIF v_parent <> '' THEN
        v_parent_id := sift._manifest_id(v_tenant_id, v_parent);
    END IF;
    INSERT INTO sift.manifests AS m (tenant_id, parent_id, name, summary, created_by, created_at)
    VALUES (v_tenant_id, v_parent_id, v_name, '{}'::jsonb, v_by, v_now)
    ON CONFLICT ON CONSTRAINT manifests_name_key DO NOTHING
    RETURNING m.manifest_id INTO v_manifest_id;
    IF v_manifest_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS011', MESSAGE = format('there is a manifest %s already', to_json(v_name)),
            HINT = 'Give it another name, or drop the old one with sift.drop_manifest.';
    END IF;
    -- Both in one statement, whose snapshot the functions share, so that the list is what the digests are of.
    WITH listed AS (
        INSERT INTO sift.manifest_documents AS l (tenant_id, manifest_id, document_id, version, key, content_hash, access_hash)
        SELECT v_tenant_id, v_manifest_id, r.document_id, r.version, r.key, r.content_hash, r.access_hash
        FROM sift._manifest_rows(v_tenant_id, NULL) AS r
        ORDER BY r.key COLLATE "C"
        RETURNING 1
    )
    SELECT sift._manifest_summary(v_tenant_id), (SELECT count(*) FROM listed) INTO v_summary, v_count;
    IF v_count <> (v_summary #>> '{counts,documents}')::bigint THEN
        RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'documents were stored or deleted while the manifest was made',
            HINT = 'Make it again.';
    END IF;
    v_summary := v_summary || jsonb_build_object('package', package_version);
    UPDATE sift.manifests AS m SET summary = v_summary WHERE m.tenant_id = v_tenant_id AND m.manifest_id = v_manifest_id;
    RETURN QUERY SELECT v_name, nullif(v_parent, ''), v_by, v_now, v_summary;
END
$$;
COMMENT ON FUNCTION sift.create_manifest(text, text, text, text) IS
    'Records what the corpus is made of: counts, digests of documents, texts and access lists, models, settings, the manifest it follows, and each document with its version and hashes.';
REVOKE ALL ON FUNCTION sift.create_manifest(text, text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.create_manifest(text, text, text, text) TO sift_owner, sift_writer;
