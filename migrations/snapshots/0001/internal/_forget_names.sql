-- Takes the names of purged documents, keys and addresses, out of the records of a tenant: reports and parameters of ingests, dead letters,
-- synchronized items, cached, recorded and judged queries, rules of access. What is told of other documents stays, with hashes in the place of the names.
--
-- A rule for exactly such a key goes only where nobody's access changes by it: what comes under it would get the same list without it.
-- The caller has locked list 0 (sift._change_access) where there is such a rule.
CREATE OR REPLACE FUNCTION sift._forget_names(tenant_id integer, keys text[], source_uris text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_keys      text[];
    v_uris      text[];
    v_names     text[];
    v_written   text[];  -- as they stand in JSON
BEGIN
    -- Neither a key nor an address that another document has now.
    v_keys := ARRAY(SELECT DISTINCT k.key FROM unnest(keys) AS k (key)
                    WHERE NOT EXISTS (SELECT FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.key = k.key));
    v_uris := ARRAY(SELECT DISTINCT u.uri FROM unnest(source_uris) AS u (uri)
                    WHERE u.uri <> ALL (ARRAY(SELECT d.source_uri FROM sift.documents AS d
                                              WHERE d.tenant_id = v_tenant_id AND d.source_uri = ANY (source_uris))));
    v_names := ARRAY(SELECT n.name FROM unnest(v_keys || v_uris) AS n (name)
                     GROUP BY n.name ORDER BY octet_length(n.name) DESC, n.name COLLATE "C");
    IF cardinality(v_names) = 0 THEN
        RETURN;
    END IF;
    v_written := ARRAY(SELECT substr(w.json, 2, length(w.json) - 2) FROM (SELECT to_json(n.name)::text AS json FROM unnest(v_names) AS n (name)) AS w);

    DELETE FROM sift.dead_letters AS l
    WHERE l.tenant_id = v_tenant_id
      AND (l.key = ANY (v_keys)
           OR (l.key IS NULL AND sift._hashed_members(jsonb_build_array(l.source_uri, l.reason, l.origin), v_names)
                                 <> jsonb_build_array(l.source_uri, l.reason, l.origin)));
    -- Of other sources; one whose own key ends in the name needs its path to be read again.
    UPDATE sift.dead_letters AS l
    SET source_uri = sift._hashed_names(l.source_uri, v_names), reason = sift._hashed_names(l.reason, v_names),
        origin = sift._hashed_members(l.origin, v_names)
    WHERE l.tenant_id = v_tenant_id AND l.key = sift._hashed_names(l.key, v_names)
      AND sift._hashed_members(jsonb_build_array(l.source_uri, l.reason, l.origin), v_names)
          <> jsonb_build_array(l.source_uri, l.reason, l.origin);

    DELETE FROM sift.sync_items AS i WHERE i.tenant_id = v_tenant_id AND i.key = ANY (v_keys);
    DELETE FROM sift.query_embeddings AS q WHERE q.tenant_id = v_tenant_id AND q.query = ANY (v_keys);

    PERFORM sift._forget_hits(v_tenant_id, '{}'::bigint[], v_keys);
    -- A query that names one is another query without the name: its judgments go.
    DELETE FROM sift.judgments AS j
    WHERE j.tenant_id = v_tenant_id AND (j.key = ANY (v_keys) OR sift._forgetful_query(j.query, v_names) <> j.query);
    UPDATE sift.judgments AS j
    SET note = sift._forgetful_query(j.note, v_names)
    WHERE j.tenant_id = v_tenant_id AND sift._forgetful_query(j.note, v_names) <> j.note;
    -- A key that is a word, as pump, stands in queries that do not mean it: it goes where it is all of the query.
    UPDATE sift.query_log AS q
    SET query = w.query, settings = w.settings,
        query_embedding = CASE WHEN w.query IS DISTINCT FROM q.query THEN NULL ELSE q.query_embedding END
    FROM (SELECT l.query_id, sift._forgetful_query(l.query, v_names) AS query,
                 CASE WHEN l.settings -> 'filter' IS NULL THEN l.settings
                      ELSE jsonb_set(l.settings, '{filter}', sift._hashed_members(l.settings -> 'filter', v_names)) END AS settings
          FROM sift.query_log AS l
          WHERE l.tenant_id = v_tenant_id
            AND EXISTS (SELECT FROM unnest(v_names, v_written) AS n (name, written)
                        WHERE strpos(l.query, n.name) > 0 OR strpos((l.settings -> 'filter')::text, n.written) > 0)
          OFFSET 0) AS w
    WHERE q.tenant_id = v_tenant_id AND q.query_id = w.query_id AND (w.query IS DISTINCT FROM q.query OR w.settings <> q.settings);

    UPDATE sift.ingest_runs AS r
    SET summary = jsonb_set(r.summary, '{failures}', (
        SELECT coalesce(jsonb_agg(f.value ORDER BY f.position), '[]'::jsonb)
        FROM jsonb_array_elements(r.summary -> 'failures') WITH ORDINALITY AS f (value, position)
        WHERE (f.value ->> 'key' = ANY (v_keys) OR f.value ->> 'source_uri' = ANY (v_uris)) IS NOT TRUE))
    WHERE r.tenant_id = v_tenant_id AND jsonb_typeof(r.summary -> 'failures') = 'array'
      AND EXISTS (SELECT FROM jsonb_array_elements(r.summary -> 'failures') AS f (value)
                  WHERE f.value ->> 'key' = ANY (v_keys) OR f.value ->> 'source_uri' = ANY (v_uris));
    UPDATE sift.ingest_runs AS r
    SET source = sift._hashed_names(r.source, v_names), parameters = sift._hashed_members(r.parameters, v_names),
        summary = sift._hashed_members(r.summary, v_names)
    FROM (SELECT s.run_id, jsonb_build_array(s.source, s.parameters, s.summary)::text AS written
          FROM sift.ingest_runs AS s WHERE s.tenant_id = v_tenant_id OFFSET 0) AS w
    WHERE r.tenant_id = v_tenant_id AND r.run_id = w.run_id
      AND EXISTS (SELECT FROM unnest(v_written) AS n (name) WHERE strpos(w.written, n.name) > 0)
      AND sift._hashed_members(jsonb_build_array(r.source, r.parameters, r.summary), v_names)
          <> jsonb_build_array(r.source, r.parameters, r.summary);

    DELETE FROM sift.access_rules AS r
    USING sift.access_lists AS a
    WHERE r.tenant_id = v_tenant_id AND a.tenant_id = v_tenant_id AND r.key_prefix = ANY (v_keys) AND a.access_list_id = r.access_list_id
      AND EXISTS (
          SELECT FROM sift.tenants AS t
          JOIN sift.access_lists AS b ON b.access_list_id = coalesce(
              (SELECT o.access_list_id FROM sift.access_rules AS o
               WHERE o.tenant_id = v_tenant_id AND o.key_prefix <> r.key_prefix AND starts_with(r.key_prefix, o.key_prefix)
               ORDER BY octet_length(o.key_prefix) DESC
               LIMIT 1), t.default_access_list_id)
          WHERE t.tenant_id = v_tenant_id AND b.tenant_id = v_tenant_id AND b.principals = a.principals AND b.denied = a.denied);
END
$$;
COMMENT ON FUNCTION sift._forget_names(integer, text[], text[]) IS
    'Takes keys and addresses of purged documents out of reports, dead letters, synchronized items, cached and recorded queries, and rules of access.';
REVOKE ALL ON FUNCTION sift._forget_names(integer, text[], text[]) FROM PUBLIC;
