-- The doctor on what waits to be done in a tenant: analyzer, folding, packing, vectors, runs, recorded queries, dead letters.
CREATE OR REPLACE FUNCTION sift._doctor_upkeep(tenant_id integer, tenant text, chunk_ids bigint[])
RETURNS TABLE (check_name text, severity text, object text, finding text, remedy text, safe_fix boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_tenant    record;
    v_current   text;
    v_looked_at integer;
    v_differ    integer;
    v_rows      bigint;
    v_packed    bigint;
    v_unpacked  bigint;
    v_live      bigint;
    v_model     record;
    v_left      record;
    v_withheld  bigint;
    v_remedy    text;
BEGIN
    SELECT t.analyzer, t.analyzer_fingerprint, t.index_title, t.model_id, t.remote_classifications, t.remote_retained INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;

    BEGIN
        v_current := sift.analyzer_fingerprint(v_tenant.analyzer);
    EXCEPTION WHEN SQLSTATE 'PS010' THEN
        v_current := NULL;
    END;
    IF v_current IS DISTINCT FROM v_tenant.analyzer_fingerprint THEN
        RETURN QUERY SELECT 'analyzer'::text, 'error'::text, format('analyzer %s', v_tenant.analyzer),
            format('the postings were made by %s with the fingerprint %s, the schema has %s%s', v_tenant.analyzer,
                   v_tenant.analyzer_fingerprint, coalesce(v_current, 'no such analyzer'),
                   CASE WHEN v_current IS NULL THEN '' ELSE '; ingest the sources into a new tenant' END),
            CASE WHEN v_current IS NULL THEN 'pgsift db check'
                 ELSE format('pgsift tenants create %s --analyzer %s', sift._shell_word(tenant || '-new'), sift._shell_word(v_tenant.analyzer)) END, false;
    ELSE
        -- The tokens of some chunks, made anew: those of the title, where they stand in front, are not looked at.
        SELECT count(*), count(*) FILTER (
                   WHERE x.made <> x.tokens
                     AND NOT (x.ordinal = x.first AND (x.made = '' OR right(x.tokens, char_length(x.made) + 1) = ' ' || x.made))
                     AND NOT (x.title_tokens > 0 AND array_to_string((string_to_array(x.tokens, ' '))[x.title_tokens + 1:], ' ') IN (x.made, '')))
        INTO v_looked_at, v_differ
        FROM (SELECT coalesce(c.unranked_tokens, c.tokens) AS tokens, c.title_tokens, c.ordinal,
                     array_to_string(sift.tokenize(coalesce(c.prefix, ''), v_tenant.analyzer) || sift.tokenize(c.body, v_tenant.analyzer), ' ') AS made,
                     (SELECT min(o.ordinal) FROM sift.chunks AS o WHERE o.tenant_id = v_tenant_id AND o.document_id = c.document_id) AS first
              FROM (SELECT i.id FROM unnest(chunk_ids) AS i (id) ORDER BY random() LIMIT 50) AS i
              CROSS JOIN LATERAL (SELECT s.tokens, s.unranked_tokens, s.title_tokens, s.ordinal, s.prefix, s.body, s.document_id FROM sift.chunks AS s
                                  WHERE s.tenant_id = v_tenant_id AND s.chunk_id = i.id AND octet_length(s.body) < 20000 AND s.kind <> 'reference'
                                  OFFSET 0) AS c) AS x;
        IF v_differ > 0 THEN
            RETURN QUERY SELECT 'analyzer'::text, 'warning'::text, format('analyzer %s', v_tenant.analyzer),
                format('%s of %s chunks looked at have other tokens than the analyzer makes of their text; put the documents again with the tokens left to pgsift',
                       v_differ, v_looked_at),
                format('pgsift documents --all --tenant %s', sift._shell_word(tenant)), false;
        END IF;
    END IF;

    SELECT (SELECT count(*) FROM sift.term_stats AS s WHERE s.tenant_id = v_tenant_id)
         - (SELECT count(*) FROM (SELECT DISTINCT s.term FROM sift.term_stats AS s WHERE s.tenant_id = v_tenant_id) AS d)
         + (SELECT greatest(count(*) - 1, 0) FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id)
         + (SELECT count(*) - count(DISTINCT s.access_list_id) FROM sift.corpus_stats AS s WHERE s.tenant_id = v_tenant_id)
         + (SELECT count(*) - count(DISTINCT (s.model_id, s.access_list_id)) FROM sift.embedding_stats AS s WHERE s.tenant_id = v_tenant_id)
    INTO v_rows;
    IF v_rows >= 1000 THEN
        RETURN QUERY SELECT 'pending_statistics'::text, CASE WHEN v_rows >= 1000000 THEN 'warning' ELSE 'info' END, 'statistics'::text,
            format('%s rows of statistics wait to be folded; every search adds up those of its terms', v_rows),
            format('SELECT * FROM sift.fold_statistics(%L)', tenant), true;
    END IF;

    SELECT coalesce(sum(k.chunks), 0), count(*) FILTER (WHERE k.chunks < 2048) INTO v_packed, v_rows
    FROM sift.packed_chunks AS k
    WHERE k.tenant_id = v_tenant_id;
    SELECT count(*) INTO v_unpacked FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id AND NOT u.oversize;
    IF v_unpacked >= 256 OR v_rows >= 8 THEN
        RETURN QUERY SELECT 'pending_packing'::text, CASE WHEN v_unpacked >= 20000 OR v_rows >= 100 THEN 'warning' ELSE 'info' END, 'postings'::text,
            format('%s chunks wait to be packed, and %s small blocks to be merged', v_unpacked, v_rows),
            format('SELECT * FROM sift.pack_postings(%L)', tenant), true;
    END IF;

    SELECT count(*) INTO v_live
    FROM sift.packed_chunks AS k
    CROSS JOIN LATERAL unnest(k.chunk_ids) AS i (id)
    JOIN sift.chunks AS c ON c.tenant_id = v_tenant_id AND c.chunk_id = i.id
    WHERE k.tenant_id = v_tenant_id;
    IF v_packed > v_live THEN
        RETURN QUERY SELECT 'dead_postings'::text, CASE WHEN (v_packed - v_live) * 2 > v_packed THEN 'warning' ELSE 'info' END, 'postings'::text,
            format('blocks still hold the postings of %s deleted chunks, of %s', v_packed - v_live, v_packed),
            format('SELECT * FROM sift.pack_postings(%L, purge => true)', tenant), true;
    END IF;

    SELECT count(*) INTO v_live FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.unranked_tokens IS NULL;
    FOR v_model IN
        SELECT m.model_id, m.name, n.vectors
        FROM (SELECT k.model_id,
                     coalesce((SELECT sum(e.vectors) FROM sift.embedding_stats AS e WHERE e.tenant_id = v_tenant_id AND e.model_id = k.model_id), 0)::bigint AS vectors
              FROM (SELECT v_tenant.model_id UNION SELECT s.model_id FROM sift.tenant_models AS s WHERE s.tenant_id = v_tenant_id) AS k) AS n
        JOIN sift.embedding_models AS m ON m.model_id = n.model_id
        WHERE n.vectors < v_live
        ORDER BY m.name
    LOOP
        -- What the tenant's options keep from remote embedders: the rule of sift.chunks_without_embedding.
        v_withheld := 0;
        IF v_tenant.remote_classifications IS NOT NULL OR NOT v_tenant.remote_retained THEN
            SELECT count(*) INTO v_withheld
            FROM sift.documents AS d
            JOIN sift.chunks AS c ON c.tenant_id = v_tenant_id AND c.document_id = d.document_id
            LEFT JOIN sift.chunk_embeddings AS v ON v.tenant_id = v_tenant_id AND v.model_id = v_model.model_id AND v.chunk_id = c.chunk_id
            WHERE d.tenant_id = v_tenant_id AND v.chunk_id IS NULL AND c.unranked_tokens IS NULL
              AND ((v_tenant.remote_classifications IS NULL OR d.classification = ANY (v_tenant.remote_classifications)) IS NOT TRUE
                   OR NOT (v_tenant.remote_retained OR d.retain_until IS NULL));
        END IF;
        v_remedy := format('pgsift models backfill %s --tenant %s', sift._shell_word(v_model.name), sift._shell_word(tenant));
        IF v_live - v_model.vectors - v_withheld > 0 THEN
            RETURN QUERY SELECT 'missing_vectors'::text, CASE WHEN v_model.model_id = v_tenant.model_id THEN 'warning' ELSE 'info' END,
                format('model %s', to_json(v_model.name)),
                format('%s of %s chunks have no vector of this model; searches by meaning do not find them',
                       v_live - v_model.vectors - v_withheld, v_live),
                v_remedy, false;
        END IF;
        IF v_withheld > 0 THEN
            RETURN QUERY SELECT 'missing_vectors'::text, 'info'::text, format('model %s', to_json(v_model.name)),
                format('%s of %s chunks have no vector of this model and are of documents that this tenant keeps from remote embedders; only an embedder that runs here fills them in',
                       v_withheld, v_live),
                v_remedy, false;
        END IF;
    END LOOP;

    FOR v_left IN
        SELECT x.name, x.rows
        FROM (SELECT 'embedding_stats' AS name, count(*) AS rows FROM sift.embedding_stats AS e
              WHERE e.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.embedding_models AS m WHERE m.model_id = e.model_id)
              UNION ALL
              SELECT 'query_embeddings', count(*) FROM sift.query_embeddings AS e
              WHERE e.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.embedding_models AS m WHERE m.model_id = e.model_id)
              UNION ALL
              SELECT 'vector_history', count(*) FROM sift.vector_history AS e
              WHERE e.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.embedding_models AS m WHERE m.model_id = e.model_id)
              UNION ALL
              SELECT 'term_fits', count(*) FROM sift.term_fits AS e
              WHERE e.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.embedding_models AS m WHERE m.model_id = e.model_id)
              UNION ALL
              SELECT 'term_embeddings', count(*) FROM sift.term_embeddings AS e
              WHERE e.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.embedding_models AS m WHERE m.model_id = e.model_id)
              UNION ALL
              SELECT 'tenant_models', count(*) FROM sift.tenant_models AS e
              WHERE e.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.embedding_models AS m WHERE m.model_id = e.model_id)) AS x
        WHERE x.rows > 0
    LOOP
        RETURN QUERY SELECT 'model_leftovers'::text, 'warning'::text, format('sift.%s', v_left.name),
            format('%s rows are of a model that is registered no more', v_left.rows),
            'DELETE' || format(' FROM sift.%s AS x WHERE x.tenant_id = %s AND NOT EXISTS (SELECT FROM sift.embedding_models AS m WHERE m.model_id = x.model_id)',
                   v_left.name, v_tenant_id), true;
    END LOOP;
    IF v_tenant.model_id IS NOT NULL AND NOT EXISTS (SELECT FROM sift.embedding_models AS m WHERE m.model_id = v_tenant.model_id) THEN
        RETURN QUERY SELECT 'model_leftovers'::text, 'error'::text, 'sift.tenants'::text,
            'the active model is registered no more: no search uses vectors'::text,
            'UPDATE' || format(' sift.tenants SET model_id = NULL WHERE tenant_id = %s', v_tenant_id), false;
    END IF;

    RETURN QUERY
    SELECT 'unfinished_runs'::text, 'warning'::text, format('run %s', r.run_id),
           format('the ingest of %s, begun at %s by %s, never ended; run again, it goes on where it stopped', coalesce(r.source, 'unknown source'),
                  to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI" UTC"'), r.started_by),
           format('SELECT sift.finish_run(%L, %s)', tenant, r.run_id), false
    FROM sift.ingest_runs AS r
    WHERE r.tenant_id = v_tenant_id AND r.finished_at IS NULL AND r.started_at < now() - interval '1 day'
    ORDER BY r.run_id
    LIMIT 20;

    RETURN QUERY
    SELECT 'role_mappings'::text, 'warning'::text, format('role %s', quote_ident(p.role_name)),
           CASE WHEN n.oid IS NOT NULL AND r.oid IS NULL
                    THEN format('the role is called %s now; it and its members see nothing until it is mapped again', quote_ident(n.rolname))
                WHEN r.oid IS NULL THEN 'principals are mapped to the role, which does not exist'
                WHEN n.oid IS NULL
                    THEN 'principals were mapped to another role of this name, as before a restore or a DROP ROLE: the mapping does not hold;'
                         ' make it hold if the role is the same person''s, else map the role to what it is to see, or to NULL'
                ELSE format('principals were mapped to another role, whose number is that of %1$s now, which with its members sees nothing; if it was renamed,'
                            ' SELECT sift.map_role(%2$L, %3$L, %4$L), sift.map_role(%2$L, %5$L, NULL); if this store was restored and the role is the'
                            ' same person''s, SELECT * FROM sift.remap_roles(%2$L, %6$L)',
                            quote_ident(n.rolname), tenant, n.rolname, p.principals, p.role_name, ARRAY[p.role_name]) END,
           CASE WHEN n.oid IS NOT NULL AND r.oid IS NULL THEN format('SELECT sift.map_role(%L, %L, %L)', tenant, n.rolname, p.principals)
                WHEN r.oid IS NULL THEN format('SELECT sift.map_role(%L, %L, NULL)', tenant, p.role_name)
                WHEN n.oid IS NULL THEN format('SELECT * FROM sift.remap_roles(%L, %L)', tenant, ARRAY[p.role_name])
                ELSE format('SELECT * FROM sift.remap_roles(%L)', tenant) END, false
    FROM (SELECT m.role_name, m.role_id, array_agg(m.principal ORDER BY m.principal COLLATE "C") AS principals
          FROM sift.role_principals AS m WHERE m.tenant_id = v_tenant_id GROUP BY m.role_name, m.role_id) AS p
    LEFT JOIN pg_catalog.pg_roles AS r ON r.rolname = p.role_name
    LEFT JOIN pg_catalog.pg_roles AS n ON n.oid = p.role_id
    WHERE r.oid IS DISTINCT FROM p.role_id
    ORDER BY p.role_name;

    RETURN QUERY
    SELECT 'query_log'::text, 'info'::text, 'recorded queries'::text,
           format('%s queries are recorded, the first of %s; the record grows until somebody removes what is old', count(*),
                  to_char(min(q.asked_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD')),
           format('pgsift log purge --before %s --tenant %s', to_char((now() - interval '1 year') AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
                  sift._shell_word(tenant)), false
    FROM sift.query_log AS q
    WHERE q.tenant_id = v_tenant_id
    HAVING count(*) >= 1000000 OR min(q.asked_at) < now() - interval '1 year';

    RETURN QUERY
    SELECT 'dead_letters'::text, 'warning'::text, 'dead letters'::text,
           format('%s sources could not be ingested, the last at %s', count(*),
                  to_char(max(l.created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI" UTC"')),
           format('pgsift dead-letters retry --all --tenant %s', sift._shell_word(tenant)), false
    FROM sift.dead_letters AS l
    WHERE l.tenant_id = v_tenant_id
    HAVING count(*) > 0;
END
$$;
COMMENT ON FUNCTION sift._doctor_upkeep(integer, text, bigint[]) IS 'The doctor on what waits to be done in a tenant, and on its analyzer.';
REVOKE ALL ON FUNCTION sift._doctor_upkeep(integer, text, bigint[]) FROM PUBLIC;
