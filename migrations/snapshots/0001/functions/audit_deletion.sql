-- Looks for what may be left of a deleted document, in every table, and says how much of it was found where. A proof of deletion is a result
-- in which found is 0 in every row of the kind 'search', after a purge also in those of the kind 'history'.
--
--   SELECT * FROM sift.audit_deletion('acme', 'personnel/1042.md');
--
--   kind  search    what a search, or a statistic, could still draw from
--         history   what is kept on purpose until a purge: superseded versions, sources, records that name the key
--         record    the tombstone itself, and settings that name the key and that a purge leaves to people, with what to do
--         copy      the same text under other keys: nobody asked for these to be deleted, but who wants the text gone should know
--
-- The document's chunks are known by their numbers, which the tombstone keeps. Tables are found in the catalog by their columns
-- chunk_id, document_id and key, so that none is forgotten; packed postings are looked up by binary search in every array. It reads all
-- postings of the tenant.
CREATE OR REPLACE FUNCTION sift.audit_deletion(tenant text, key text)
RETURNS TABLE (place text, kind text, found bigint, note text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_key       text := key;
    v_keys      text[] := ARRAY[key, sift._key_hash(key)];
    v_ids       bigint[];
    v_chunk_ids bigint[];
    v_hashes    bytea[];
    v_written   text := (SELECT substr(w.json, 2, length(w.json) - 2) FROM (SELECT to_json(audit_deletion.key)::text AS json) AS w);
    v_texts     bytea[];
    v_terms     text[];
    v_table     record;
    v_purged    boolean;
    v_count     bigint;  -- not found: that is a variable of plpgsql's own
BEGIN
    SELECT coalesce(array_agg(DISTINCT u.id), '{}'::bigint[]) INTO v_ids
    FROM (SELECT h.document_id AS id FROM sift.document_versions AS h WHERE h.tenant_id = v_tenant_id AND h.key = ANY (v_keys)
          UNION ALL
          SELECT d.document_id FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.key = v_key) AS u;
    v_chunk_ids := ARRAY(
        SELECT unnest(h.chunk_ids) FROM sift.document_versions AS h WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids)
        UNION
        SELECT c.chunk_id FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = ANY (v_ids)
        UNION
        SELECT h.chunk_id FROM sift.chunk_history AS h WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids)
        ORDER BY 1);
    v_texts := ARRAY(
        SELECT unnest(h.text_hashes) FROM sift.document_versions AS h WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids)
        UNION
        SELECT c.text_hash FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = ANY (v_ids));
    v_hashes := ARRAY(
        SELECT DISTINCT h.content_hash FROM sift.document_versions AS h
        WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids) AND h.content_hash IS NOT NULL);

    FOR v_table IN
        SELECT r.relname AS name,
               concat_ws(' OR ', CASE WHEN bool_or(a.attname = 'chunk_id') THEN 'x.chunk_id = ANY ($2)' END,
                                 CASE WHEN bool_or(a.attname = 'document_id') THEN 'x.document_id = ANY ($3)' END,
                                 CASE WHEN bool_or(a.attname = 'key') THEN 'x.key = $4' END) AS condition
        FROM pg_catalog.pg_class AS r
        JOIN pg_catalog.pg_attribute AS a ON a.attrelid = r.oid AND NOT a.attisdropped
        WHERE r.relnamespace = 'sift'::regnamespace AND r.relkind IN ('r', 'p') AND NOT r.relispartition
          AND r.relname <> 'document_versions'
        GROUP BY r.relname
        HAVING bool_or(a.attname = 'tenant_id') AND bool_or(a.attname IN ('chunk_id', 'document_id', 'key'))
        ORDER BY r.relname COLLATE "C"
    LOOP
        place := v_table.name;
        kind := CASE WHEN v_table.name IN ('chunk_history', 'vector_history', 'document_sources', 'dead_letters', 'sync_items',
                                                    'manifest_documents', 'judgments') THEN 'history' ELSE 'search' END;
        note := NULL;
        IF v_table.name = 'dead_letters' THEN
            -- Those of other sources may tell of it; one whose own key ends in it is a source of its own.
            v_table.condition := v_table.condition || ' OR (x.key IS NULL OR x.key = sift._hashed_names(x.key, ARRAY[$4]))'
                ' AND sift._hashed_members(jsonb_build_array(x.source_uri, x.reason, x.origin), ARRAY[$4])'
                ' <> jsonb_build_array(x.source_uri, x.reason, x.origin)';
        ELSIF v_table.name = 'judgments' THEN
            v_table.condition := v_table.condition || ' OR cardinality($3) > 0 AND (sift._forgetful_query(x.query, ARRAY[$4]) <> x.query'
                ' OR sift._forgetful_query(x.note, ARRAY[$4]) <> x.note)';
        END IF;
        EXECUTE format('SELECT count(*) FROM sift.%I AS x WHERE x.tenant_id = $1 AND (%s)', v_table.name, v_table.condition)
        INTO v_count USING v_tenant_id, v_chunk_ids, v_ids, v_key;
        RETURN QUERY SELECT place, kind, v_count, note;
    END LOOP;

    place := 'posting_blocks';
    kind := 'search';
    note := 'postings of its chunks, by binary search in all arrays';
    SELECT count(*) INTO v_count
    FROM sift.posting_blocks AS b
    CROSS JOIN LATERAL (SELECT b.postings || '{}'::bigint[] AS postings OFFSET 0) AS p
    CROSS JOIN unnest((SELECT v_chunk_ids)) AS i (id)
    WHERE b.tenant_id = v_tenant_id AND cardinality(v_chunk_ids) > 0
      AND p.postings[width_bucket((i.id << 23) - 1, p.postings) + 1] >> 23 = i.id;
    RETURN QUERY SELECT place, kind, v_count, note;
    place := 'packed_chunks';
    note := 'its chunks in the lists of blocks';
    SELECT count(*) INTO v_count
    FROM sift.packed_chunks AS k
    CROSS JOIN LATERAL (SELECT k.chunk_ids || '{}'::bigint[] AS ids OFFSET 0) AS p
    CROSS JOIN unnest((SELECT v_chunk_ids)) AS i (id)
    WHERE k.tenant_id = v_tenant_id AND p.ids[width_bucket(i.id, p.ids)] = i.id;
    RETURN QUERY SELECT place, kind, v_count, note;

    place := 'term_stats';
    v_terms := ARRAY(SELECT DISTINCT string_to_table(h.tokens, ' ') FROM sift.chunk_history AS h
                     WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids));
    SELECT count(*) INTO v_count
    FROM (SELECT s.term FROM sift.term_stats AS s
          WHERE s.tenant_id = v_tenant_id AND s.term = ANY (v_terms)
          GROUP BY s.term
          HAVING sum(s.df) = 0 AND NOT EXISTS (SELECT FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant_id AND w.term = s.term)) AS n;
    note := CASE WHEN v_count > 0 THEN 'terms that no chunk holds any more; sift.fold_statistics drops them' ELSE 'terms that no chunk holds any more' END;
    RETURN QUERY SELECT place, kind, v_count, note;
    place := 'corpus_totals';
    note := 'chunks counted that are not there, of the whole tenant';
    SELECT abs((SELECT coalesce(sum(s.chunks), 0) FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id)
               - (SELECT count(*) FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.doc_length > 0))::bigint INTO v_count;
    RETURN QUERY SELECT place, kind, v_count, note;

    place := 'document_versions';
    kind := 'history';
    note := 'versions of which title, address or hash are kept';
    SELECT count(*) INTO v_count
    FROM sift.document_versions AS h
    WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids) AND (h.key = v_key OR h.content_hash IS NOT NULL OR h.title IS NOT NULL);
    RETURN QUERY SELECT place, kind, v_count, note;
    place := 'ingest_runs';
    note := 'source, parameters or reports that name it';
    SELECT count(*) INTO v_count
    FROM (SELECT jsonb_build_array(r.source, r.parameters, r.summary) AS record
          FROM sift.ingest_runs AS r WHERE r.tenant_id = v_tenant_id OFFSET 0) AS w
    WHERE CASE WHEN strpos(w.record::text, v_written) > 0 THEN sift._hashed_members(w.record, ARRAY[v_key]) <> w.record END;
    RETURN QUERY SELECT place, kind, v_count, note;
    place := 'query_log';
    note := 'recorded queries that found it or name it';
    SELECT count(*) INTO v_count
    FROM sift.query_log AS q
    WHERE q.tenant_id = v_tenant_id
      AND (EXISTS (SELECT FROM jsonb_array_elements(q.hits) AS h (value)
                   WHERE (h.value ->> 'document_id')::bigint = ANY (v_ids) OR (h.value ->> 'key' = v_key AND cardinality(v_ids) > 0))
           OR (cardinality(v_ids) > 0
               AND (sift._forgetful_query(q.query, ARRAY[v_key]) <> q.query
                    OR sift._hashed_members(q.settings -> 'filter', ARRAY[v_key]) <> q.settings -> 'filter')));
    RETURN QUERY SELECT place, kind, v_count, note;

    kind := 'record';
    place := 'document_versions';
    SELECT count(*), string_agg(format('%s %s by %s%s', h.event, to_char(h.current_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                                       h.changed_by, ': ' || h.reason), '; ' ORDER BY h.current_from, h.document_id, h.version),
           coalesce(bool_or(h.event = 'purged'), false)
    INTO v_count, note, v_purged
    FROM sift.document_versions AS h
    WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids) AND h.event IN ('deleted', 'purged');
    note := CASE WHEN cardinality(v_ids) = 0 THEN 'no document was ever stored under this key'
                 ELSE coalesce(note, 'it was not deleted') END;
    RETURN QUERY SELECT place, kind, v_count, note;
    place := 'access_rules';
    SELECT count(*) INTO v_count FROM sift.access_rules AS r
    WHERE r.tenant_id = v_tenant_id AND r.key_prefix = v_key AND cardinality(v_ids) > 0;
    note := CASE WHEN v_count > 0 THEN 'a rule for this key prefix gives other access than there were without it, so no purge removes it; '
                                       'set the access of a shorter prefix with sift.set_access, or of this one to what it comes under, and purge again' END;
    RETURN QUERY SELECT place, kind, v_count, note;
    place := 'sync_sources';
    SELECT count(*) INTO v_count
    FROM (SELECT jsonb_build_array(s.name, s.location, s.prefix, s.options) AS record
          FROM sift.sync_sources AS s WHERE s.tenant_id = v_tenant_id AND cardinality(v_ids) > 0 OFFSET 0) AS w
    WHERE sift._hashed_members(w.record, ARRAY[v_key]) <> w.record;
    note := CASE WHEN v_count > 0 THEN 'synchronized sources that name it; sift.end_sync forgets one' END;
    RETURN QUERY SELECT place, kind, v_count, note;
    place := 'query_embeddings';
    SELECT count(*) INTO v_count FROM sift.query_embeddings AS q
    WHERE q.tenant_id = v_tenant_id AND q.query = v_key AND cardinality(v_ids) > 0;
    note := CASE WHEN v_count > 0 THEN 'vectors kept of a query of these words; a purge removes them' END;
    RETURN QUERY SELECT place, kind, v_count, note;

    kind := 'copy';
    place := 'chunks';
    SELECT count(*), string_agg(DISTINCT d.key, ', ' ORDER BY d.key) INTO v_count, note
    FROM (SELECT DISTINCT c.document_id
          FROM sift.chunks AS c
          WHERE c.tenant_id = v_tenant_id AND c.text_hash = ANY (v_texts) AND c.document_id <> ALL (v_ids)) AS o
    JOIN sift.documents AS d ON d.document_id = o.document_id
    WHERE d.tenant_id = v_tenant_id;
    note := CASE WHEN v_count > 0 THEN format('documents that hold one of its texts: %s', note)
                 WHEN v_purged THEN 'not known: hashes of texts go with a purge' END;
    RETURN QUERY SELECT place, kind, v_count, note;
    place := 'documents';
    SELECT count(*), string_agg(d.key, ', ' ORDER BY d.key) INTO v_count, note
    FROM sift.documents AS d
    WHERE d.tenant_id = v_tenant_id AND d.content_hash = ANY (v_hashes) AND d.document_id <> ALL (v_ids);
    note := CASE WHEN v_count > 0 THEN format('documents made of the same source: %s', note)
                 WHEN v_purged THEN 'not known: hashes of sources go with a purge' END;
    RETURN QUERY SELECT place, kind, v_count, note;
END
$$;
COMMENT ON FUNCTION sift.audit_deletion(text, text) IS
    'What is left of a deleted document, by table: found is 0 everywhere in rows of the kind search, after a purge in those of the kind history too; kind record is the tombstone, or a setting that names the key, with what to do; kind copy the same text under other keys.';
REVOKE ALL ON FUNCTION sift.audit_deletion(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.audit_deletion(text, text) TO sift_owner, sift_writer;
