-- What sift.related does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._related(
    caller       oid,
    proof        bytea,
    tenant       text,
    document     text,
    chunk        bigint,
    k            integer,
    principals   text[],
    filter       jsonb,
    mode         text,
    model        text,
    per_document integer,
    terms        integer
)
RETURNS TABLE (
    rank             integer,
    score            double precision,
    lexical_rank     integer,
    lexical_score    double precision,
    dense_rank       integer,
    distance         double precision,
    chunk_id         bigint,
    document_id      bigint,
    key              text,
    title            text,
    kind             text,
    section          text,
    page             integer,
    char_start       integer,
    char_end         integer,
    document_version integer,
    body             text,
    metadata         jsonb,
    shared_terms     text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_deepest    CONSTANT integer := 10000;
    v_tenant_id  integer := sift._enter(tenant, caller, proof);
    v_lists      bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_key        text := document;
    v_chunk_id   bigint := chunk;
    v_k          integer := k;
    v_terms_k    integer := terms;
    v_cap        integer := coalesce(per_document, 2147483647);
    v_tenant     record;
    v_model      record;
    v_weights    double precision[];
    v_predicate  text;
    v_bound      jsonb;
    v_document   bigint;
    v_seed       bigint[];
    v_terms      text[];
    v_vector     real[];
    v_schema     name := sift._vector_schema();
    v_depth      integer;
    v_chunks     bigint[];
    v_scores     double precision[];
    v_neighbours bigint[];
    v_distances  double precision[];
    v_rows       integer;
BEGIN
    IF (v_key IS NULL) = (v_chunk_id IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'related wants a document or a chunk, and not both',
            HINT = 'sift.related(tenant, ''KEY'') for a document, sift.related(tenant, chunk => N) for one passage of it.';
    END IF;
    IF v_k IS NULL OR v_k < 0 OR v_k > 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must lie between 0 and 1000, not %s', coalesce(v_k::text, 'NULL')),
            HINT = 'k is the number of rows wanted; 10 is the default.';
    END IF;
    IF mode IS NULL OR mode NOT IN ('hybrid', 'lexical', 'dense') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('mode must be hybrid, lexical or dense, not %s', coalesce(to_json(left(mode, 100))::text, 'NULL')),
            HINT = 'Leave it out for hybrid, which uses what there is of both.';
    END IF;
    IF v_cap < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('per_document must be at least 1, not %s', v_cap),
            HINT = 'NULL is for no cap.';
    END IF;
    IF v_terms_k IS NULL OR v_terms_k < 1 OR v_terms_k > 256 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('terms must lie between 1 and 256, not %s', coalesce(v_terms_k::text, 'NULL')),
            HINT = 'It is how many of the rarest terms are looked for; 16 is the default.';
    END IF;
    SELECT t.* INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    SELECT m.* INTO v_model FROM sift.embedding_models AS m
    WHERE m.model_id = sift._model_id(v_tenant_id, model);
    v_weights := sift._leg_weights(NULL, mode, v_tenant.lexical_weight, v_tenant.dense_weight, v_model.lexical_weight, v_model.dense_weight);
    SELECT f.predicate, f.bound INTO v_predicate, v_bound FROM sift._compile_filter(filter) AS f;

    IF v_key IS NOT NULL THEN
        SELECT d.document_id INTO v_document FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND d.key = v_key AND d.access_list_id = ANY (v_lists);
        v_seed := ARRAY(SELECT c.chunk_id FROM sift.chunks AS c
                        WHERE c.tenant_id = v_tenant_id AND c.document_id = v_document ORDER BY c.ordinal);
    ELSE
        SELECT c.document_id, ARRAY[c.chunk_id] INTO v_document, v_seed FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id AND c.chunk_id = v_chunk_id AND c.access_list_id = ANY (v_lists);
    END IF;
    IF v_document IS NULL OR v_k = 0 THEN
        RETURN;
    END IF;
    -- The number is ours, so it may stand in the text of the statement.
    v_predicate := coalesce('(' || v_predicate || ') AND ', '') || format('d.document_id <> %s', v_document);

    IF mode <> 'dense' THEN
        SELECT array_agg(t.term ORDER BY t.df, t.tf DESC, t.term COLLATE "C") INTO v_terms
        FROM (
            SELECT s.term, s.tf, f.df
            FROM (SELECT u.term, count(*) AS tf, count(DISTINCT x.chunk_id) AS chunks
                  FROM unnest(v_seed) AS i (id)
                  CROSS JOIN LATERAL (SELECT c.chunk_id, c.tokens FROM sift.chunks AS c
                                      WHERE c.tenant_id = v_tenant_id AND c.chunk_id = i.id OFFSET 0) AS x
                  CROSS JOIN LATERAL unnest(string_to_array(x.tokens, ' ')) AS u (term)
                  WHERE u.term <> ''
                  GROUP BY u.term
                  ORDER BY tf DESC, u.term COLLATE "C"
                  LIMIT CASE v_tenant.statistics WHEN 'visible' THEN 100 ELSE 1000 END) AS s
            CROSS JOIN LATERAL (
                SELECT CASE v_tenant.statistics
                    WHEN 'visible' THEN (SELECT count(*) FROM sift._unit_postings(v_tenant_id, ARRAY[s.term], v_lists, NULL, false, false) AS p)
                    ELSE sift._document_frequency(v_tenant_id, s.term) END AS df
                OFFSET 0) AS f
            WHERE f.df > s.chunks  -- it occurs elsewhere
            ORDER BY f.df, s.tf DESC, s.term COLLATE "C"
            LIMIT v_terms_k) AS t;
    END IF;
    IF mode <> 'lexical' AND v_model.model_id IS NOT NULL THEN
        EXECUTE format($query$
            SELECT CASE WHEN %1$I.vector_norm(v.mean) > 0 THEN v.mean::real[] END
            FROM (SELECT %1$I.avg(%2$s) AS mean
                  FROM unnest($2) AS i (id)
                  CROSS JOIN LATERAL (SELECT x.embedding, x.half_embedding FROM sift.chunk_embeddings AS x
                                      WHERE x.tenant_id = $1 AND x.chunk_id = i.id AND x.model_id = $3 OFFSET 0) AS e) AS v
        $query$, v_schema,
            -- Cosine looks at directions alone, so each chunk counts alike whatever the length of its vector.
            format(CASE v_model.metric WHEN 'cosine' THEN '%1$I.l2_normalize(%2$s)' ELSE '%2$s' END, v_schema,
                   CASE v_model.precision WHEN 'halfvec' THEN format('e.half_embedding::%I.vector', v_schema) ELSE 'e.embedding' END))
        INTO v_vector USING v_tenant_id, v_seed, v_model.model_id;
    END IF;

    v_depth := greatest(v_tenant.depth, least(2 * v_k, v_deepest));
    LOOP
        IF v_terms IS NOT NULL AND v_tenant.statistics = 'visible' THEN
            SELECT array_agg(l.chunk_id ORDER BY l.position), array_agg(l.score ORDER BY l.position) INTO v_chunks, v_scores
            FROM sift._lexical_visible(v_tenant_id, v_terms, v_lists, v_predicate, v_bound, v_depth, v_tenant.k1, v_tenant.b, NULL)
                 WITH ORDINALITY AS l (chunk_id, score, position);
        ELSIF v_terms IS NOT NULL THEN
            SELECT array_agg(l.chunk_id ORDER BY l.position), array_agg(l.score ORDER BY l.position) INTO v_chunks, v_scores
            FROM sift._lexical_leg(v_tenant_id, v_terms, v_lists, v_predicate, v_bound, v_depth, v_tenant.k1, v_tenant.b)
                 WITH ORDINALITY AS l (chunk_id, score, position);
        END IF;
        IF v_vector IS NOT NULL THEN
            SELECT array_agg(n.chunk_id ORDER BY n.position), array_agg(n.distance ORDER BY n.position) INTO v_neighbours, v_distances
            FROM sift._dense_leg(v_tenant_id, v_model.model_id, v_vector, v_lists, v_predicate, v_bound, v_depth)
                 WITH ORDINALITY AS n (chunk_id, distance, path, position);
        END IF;
        RETURN QUERY
        WITH fused AS MATERIALIZED (
            SELECT coalesce(l.chunk_id, n.chunk_id) AS chunk_id, l.position::integer AS lexical_rank, l.score AS lexical_score,
                   n.position::integer AS dense_rank, n.distance,
                   coalesce(v_weights[1] / (v_tenant.rrf_k + l.position::double precision), 0::double precision)
                   + coalesce(v_weights[2] / (v_tenant.rrf_k + n.position::double precision), 0::double precision) AS score
            FROM unnest(v_chunks, v_scores) WITH ORDINALITY AS l (chunk_id, score, position)
            FULL JOIN unnest(v_neighbours, v_distances) WITH ORDINALITY AS n (chunk_id, distance, position) ON n.chunk_id = l.chunk_id
        ),
        capped AS MATERIALIZED (
            SELECT f.*, c.document_id, c.kind, c.section_path, c.page, c.char_start, c.char_end, c.body, c.tokens,
                   row_number() OVER (PARTITION BY c.document_id ORDER BY f.score DESC, f.chunk_id) AS of_document
            FROM fused AS f
            CROSS JOIN LATERAL (SELECT x.document_id, x.kind, x.section_path, x.page, x.char_start, x.char_end, x.body, x.tokens
                                FROM sift.chunks AS x WHERE x.tenant_id = v_tenant_id AND x.chunk_id = f.chunk_id OFFSET 0) AS c
        ),
        page AS MATERIALIZED (
            SELECT p.*, row_number() OVER (ORDER BY p.score DESC, p.chunk_id)::integer AS rank, count(*) OVER () AS found
            FROM capped AS p
            WHERE p.of_document <= v_cap
            ORDER BY p.score DESC, p.chunk_id
            LIMIT v_k
        )
        SELECT g.rank, g.score, g.lexical_rank, g.lexical_score, g.dense_rank, g.distance, g.chunk_id, g.document_id, d.key, d.title, g.kind,
               array_to_string(g.section_path, ' > '), g.page, g.char_start, g.char_end, d.version, g.body, d.metadata,
               ARRAY(SELECT t.term FROM unnest(v_terms) WITH ORDINALITY AS t (term, position)
                     WHERE t.term = ANY (string_to_array(g.tokens, ' ')) ORDER BY t.position)
        FROM page AS g
        CROSS JOIN LATERAL (SELECT x.key, x.title, x.version, x.metadata FROM sift.documents AS x
                            WHERE x.tenant_id = v_tenant_id AND x.document_id = g.document_id OFFSET 0) AS d
        -- Too few because of the cap, while a leg had more to give: nothing is returned yet, and the legs go deeper.
        WHERE g.found >= v_k OR v_depth >= v_deepest
           OR NOT (coalesce(cardinality(v_chunks) = v_depth, false) OR coalesce(cardinality(v_neighbours) = v_depth, false))
        ORDER BY g.rank;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        EXIT WHEN v_rows > 0 OR v_depth >= v_deepest
               OR NOT (coalesce(cardinality(v_chunks) = v_depth, false) OR coalesce(cardinality(v_neighbours) = v_depth, false));
        v_depth := least(2 * v_depth, v_deepest);
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._related(oid, bytea, text, text, bigint, integer, text[], jsonb, text, text, integer, integer) IS 'The body of sift.related, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._related(oid, bytea, text, text, bigint, integer, text[], jsonb, text, text, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._related(oid, bytea, text, text, bigint, integer, text[], jsonb, text, text, integer, integer) TO sift_owner, sift_writer, sift_app, sift_reader;
