-- What changed between two manifests, or between one and the corpus as it is (now).
--
--   SELECT * FROM sift.compare_manifests('acme', '2024-05', 'now');
--
--   kind    change    name     before, after
--   document added    key      after: version and hashes
--            removed  key      before: likewise
--            changed  key      another content hash
--            access   key      the same content under another access list
--            moved    new key  before: the old key; the document is the same, or, where it was made anew, has the one content of its hash
--   setting  changed  name     the values; counts and digests are not settings
CREATE OR REPLACE FUNCTION sift.compare_manifests(tenant text, a text, b text DEFAULT 'now')
RETURNS TABLE (kind text, change text, name text, before jsonb, after jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_a         bigint := sift._manifest_id(v_tenant_id, a);
    v_b         bigint := sift._manifest_id(v_tenant_id, b);
BEGIN
    RETURN QUERY
    WITH summaries AS (
        SELECT CASE WHEN v_a IS NULL THEN sift._manifest_summary(v_tenant_id)
                    ELSE (SELECT m.summary FROM sift.manifests AS m WHERE m.tenant_id = v_tenant_id AND m.manifest_id = v_a) END AS one,
               CASE WHEN v_b IS NULL THEN sift._manifest_summary(v_tenant_id)
                    ELSE (SELECT m.summary FROM sift.manifests AS m WHERE m.tenant_id = v_tenant_id AND m.manifest_id = v_b) END AS two
    ),
    one AS (SELECT x.key, x.value FROM summaries AS s CROSS JOIN LATERAL (
                SELECT e.key, e.value FROM jsonb_each(s.one -> 'settings') AS e (key, value)
                UNION ALL SELECT 'schema', s.one -> 'schema' UNION ALL SELECT 'model ' || m.key, m.value FROM jsonb_each(s.one -> 'models') AS m (key, value)
            ) AS x (key, value)),
    two AS (SELECT x.key, x.value FROM summaries AS s CROSS JOIN LATERAL (
                SELECT e.key, e.value FROM jsonb_each(s.two -> 'settings') AS e (key, value)
                UNION ALL SELECT 'schema', s.two -> 'schema' UNION ALL SELECT 'model ' || m.key, m.value FROM jsonb_each(s.two -> 'models') AS m (key, value)
            ) AS x (key, value))
    SELECT 'setting'::text, 'changed'::text, coalesce(o.key, t.key), o.value, t.value
    FROM one AS o
    FULL JOIN two AS t ON t.key = o.key
    WHERE o.value IS DISTINCT FROM t.value
    ORDER BY coalesce(o.key, t.key) COLLATE "C";

    RETURN QUERY
    WITH pairs AS MATERIALIZED (
        SELECT x.key AS old_key, x.document_id AS old_id, x.version AS old_version, x.content_hash AS old_hash, x.access_hash AS old_access,
               y.key AS new_key, y.document_id AS new_id, y.version AS new_version, y.content_hash AS new_hash, y.access_hash AS new_access
        FROM sift._manifest_rows(v_tenant_id, v_a) AS x
        FULL JOIN sift._manifest_rows(v_tenant_id, v_b) AS y ON y.key = x.key
        WHERE x.key IS NULL OR y.key IS NULL OR x.content_hash IS DISTINCT FROM y.content_hash OR x.access_hash IS DISTINCT FROM y.access_hash
    ),
    gone AS (SELECT p.*, count(*) OVER (PARTITION BY p.old_hash) AS alike FROM pairs AS p WHERE p.new_key IS NULL),
    come AS (SELECT p.*, count(*) OVER (PARTITION BY p.new_hash) AS alike FROM pairs AS p WHERE p.old_key IS NULL),
    same AS MATERIALIZED (
        SELECT g.old_key, c.new_key FROM gone AS g JOIN come AS c ON c.new_id = g.old_id
    ),
    moved AS MATERIALIZED (
        SELECT s.old_key, s.new_key FROM same AS s
        UNION ALL
        SELECT g.old_key, c.new_key FROM gone AS g JOIN come AS c ON c.new_hash = g.old_hash
        WHERE g.alike = 1 AND c.alike = 1
          AND NOT EXISTS (SELECT FROM same AS s WHERE s.old_key = g.old_key OR s.new_key = c.new_key)
    )
    SELECT 'document'::text, r.change, r.name, r.before, r.after
    FROM (
        SELECT CASE WHEN p.old_key IS NULL THEN 'added' WHEN p.new_key IS NULL THEN 'removed'
                    WHEN p.old_hash IS DISTINCT FROM p.new_hash THEN 'changed' ELSE 'access' END AS change,
               coalesce(p.new_key, p.old_key) AS name,
               CASE WHEN p.old_key IS NOT NULL THEN jsonb_build_object(
                   'version', p.old_version, 'content_hash', encode(p.old_hash, 'hex'), 'access_hash', encode(p.old_access, 'hex')) END AS before,
               CASE WHEN p.new_key IS NOT NULL THEN jsonb_build_object(
                   'version', p.new_version, 'content_hash', encode(p.new_hash, 'hex'), 'access_hash', encode(p.new_access, 'hex')) END AS after
        FROM pairs AS p
        WHERE NOT EXISTS (SELECT FROM moved AS m WHERE m.old_key = p.old_key OR m.new_key = p.new_key)
        UNION ALL
        SELECT 'moved', m.new_key,
               jsonb_build_object('key', m.old_key, 'version', g.old_version, 'content_hash', encode(g.old_hash, 'hex'), 'access_hash', encode(g.old_access, 'hex')),
               jsonb_build_object('key', m.new_key, 'version', c.new_version, 'content_hash', encode(c.new_hash, 'hex'), 'access_hash', encode(c.new_access, 'hex'))
        FROM moved AS m
        JOIN gone AS g ON g.old_key = m.old_key
        JOIN come AS c ON c.new_key = m.new_key
    ) AS r
    ORDER BY r.change, r.name COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.compare_manifests(text, text, text) IS
    'What changed between two manifests, or one and now: documents added, removed, changed, moved, under other access; settings and models that differ.';
REVOKE ALL ON FUNCTION sift.compare_manifests(text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.compare_manifests(text, text, text) TO sift_owner, sift_writer;
