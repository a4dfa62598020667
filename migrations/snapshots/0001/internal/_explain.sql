-- What sift.explain does once it is known who asks.
--
-- N, df, idf and the average length are told to those who may ask sift.term_statistics, and to everybody where they are those of what he
-- may see. Terms that the chunk does not hold come in the order of the query: by df would tell it.
CREATE OR REPLACE FUNCTION sift._explain(
    caller          oid,
    proof           bytea,
    tenant          text,
    query           text,
    chunk           bigint,
    principals      text[],
    filter          jsonb,
    query_embedding real[],
    mode            text,
    model           text,
    depth           integer,
    rrf_k           double precision,
    weights         double precision[],
    min_score       double precision,
    max_distance    double precision,
    as_of           timestamptz,
    plain           boolean,
    strip_questions boolean,
    expand          boolean,
    unit            text,
    k1              double precision,
    b               double precision,
    title_weight    double precision,
    abstract_weight double precision,
    key             text,
    strategy        text
)
RETURNS TABLE (
    place      integer,
    part       text,
    name       text,
    chunk_id   bigint,
    tf         double precision,
    df         bigint,
    doc_length bigint,
    idf        double precision,
    rank       integer,
    weight     double precision,
    constant   double precision,
    value      double precision,
    detail     text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_max_depth CONSTANT integer := 10000;
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_chunk_id  bigint := chunk;
    v_key       text := key;
    v_unit      text := unit;
    v_whole     boolean := unit = 'document';
    v_as_of     timestamptz := as_of;
    s           record;
    v_told      boolean;
    v_document  bigint;
    v_chunk     record;
    v_filtered  boolean;
    v_passes    boolean;
    v_first     integer;
    v_id        bigint;
    v_only      text;
    v_place     integer := 0;
    v_row       record;
    v_total     double precision;
    v_average   double precision;
    v_legs      text[] := '{lexical,dense}';
    v_runs      boolean[];
    v_ranks     integer[] := ARRAY[NULL, NULL]::integer[];
    v_figures   double precision[] := ARRAY[NULL, NULL]::double precision[];
    v_shown     bigint[] := ARRAY[NULL, NULL]::bigint[];
    v_within    boolean[];
    v_counted   integer[];
    v_tier      integer;
    v_reach     integer;
    v_depth     integer;
    v_terms     text[];
    v_vector    real[];
    v_details   text[] := ARRAY[NULL, NULL]::text[];
    v_prefix    text[];
    v_score     double precision;
BEGIN
    IF (v_chunk_id IS NULL) = (v_key IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'explain wants a chunk or the key of a document, and not both',
            HINT = 'sift.explain(tenant, query, 42) for the chunk a search gave; key => ''KEY'' for the best chunk of a document.';
    END IF;
    IF depth < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('depth must lie between 1 and 10000, not %s', depth),
            HINT = 'depth is how many ranks of each leg are fused; leave it out for the tenant''s default.';
    END IF;
    IF min_score = 'NaN'::double precision OR max_distance = 'NaN'::double precision THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'min_score and max_distance must be numbers, not NaN',
            HINT = 'Leave them out for no floor.';
    END IF;
    s := sift._search_settings(caller, proof, v_tenant_id, tenant, query, principals, filter, query_embedding, mode, model, depth, v_as_of,
                               plain, strip_questions, expand, v_unit, strategy, false, rrf_k, weights, k1, b, title_weight, abstract_weight);
    IF cardinality(s.lists) = 0 THEN
        RETURN;
    END IF;
    v_told := s.statistics = 'visible' OR sift._is_trusted(caller);
    v_runs := ARRAY[s.terms <> '{}', s.vector IS NOT NULL];
    -- What a search for ten hits looks at before it looks further.
    v_first := CASE WHEN depth IS NOT NULL OR v_runs[1] AND v_runs[2] OR s.limited THEN s.reaches[1] ELSE 30 END;

    IF v_key IS NOT NULL THEN
        v_document := sift._seen_document(v_tenant_id, v_key, s.lists, v_as_of);
        IF v_document IS NULL THEN
            RETURN;
        END IF;
        IF NOT v_whole THEN
            FOREACH v_depth IN ARRAY ARRAY[v_first, s.reaches[cardinality(s.reaches)]] LOOP
                SELECT f.chunk_id INTO v_chunk_id
                FROM sift._fused_rows(v_tenant_id, v_unit, s.terms, s.vector, s.model_id, s.lists, s.predicate, s.bound, v_depth, s.k1, s.b,
                                      s.title_weight, s.abstract_weight, s.statistics, v_as_of, s.reaches, s.weights, s.rrf_k,
                                      min_score, max_distance, false, false, NULL, false, false, NULL) AS f
                WHERE f.document_id = v_document ORDER BY f.place LIMIT 1;
                EXIT WHEN v_chunk_id IS NOT NULL;
            END LOOP;
            IF v_chunk_id IS NULL THEN  -- in no result: the first of its own
                SELECT f.chunk_id INTO v_chunk_id
                FROM sift._fused_rows(v_tenant_id, v_unit, s.terms, s.vector, s.model_id, s.lists,
                                      coalesce('(' || s.predicate || ') AND ', '') || format('c.document_id = %s', v_document), s.bound, v_max_depth,
                                      s.k1, s.b, s.title_weight, s.abstract_weight, s.statistics, v_as_of, ARRAY[v_max_depth], s.weights, s.rrf_k,
                                      NULL, NULL, false, false, NULL, false, false, NULL) AS f
                ORDER BY f.place LIMIT 1;
            END IF;
        END IF;
        IF v_chunk_id IS NULL THEN
            SELECT c.chunk_id INTO v_chunk_id
            FROM sift._chunks_seen(v_tenant_id, s.lists, v_document, NULL, s.filter_predicate, s.predicate, s.bound, v_as_of) AS c
            ORDER BY c.passes DESC, c.ranked DESC, c.ordinal LIMIT 1;
        END IF;
    END IF;
    SELECT c.* INTO v_chunk
    FROM sift._chunks_seen(v_tenant_id, s.lists, NULL, v_chunk_id, s.filter_predicate, s.predicate, s.bound, v_as_of) AS c;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_document := v_chunk.document_id;
    v_filtered := NOT v_chunk.passes_filter;
    v_passes := v_chunk.passes;
    IF v_whole THEN
        SELECT NOT bool_or(c.passes_filter), bool_or(c.passes) INTO v_filtered, v_passes
        FROM sift._chunks_seen(v_tenant_id, s.lists, v_document, NULL, s.filter_predicate, s.predicate, s.bound, v_as_of) AS c;
    END IF;
    v_id := CASE WHEN v_whole THEN v_document ELSE v_chunk_id END;
    -- The numbers are ours, so they may stand in the text of a statement.
    v_only := CASE WHEN v_whole THEN format('c.document_id = %s', v_document)
                   ELSE format('c.document_id = %s AND c.ordinal = %s', v_document, v_chunk.ordinal) END;
    chunk_id := v_chunk_id;

    IF NOT v_whole THEN
        -- What is not in the text that the caller is shown.
        SELECT (string_to_array(p.tokens, ' '))[p.title_tokens + 1:p.title_tokens + p.prefix_tokens] INTO v_prefix
        FROM (SELECT x.tokens, x.title_tokens, x.prefix_tokens FROM sift.chunks AS x WHERE x.tenant_id = v_tenant_id AND x.chunk_id = v_chunk_id
              UNION ALL
              SELECT x.tokens, x.title_tokens, x.prefix_tokens FROM sift.chunk_history AS x
              WHERE v_as_of IS NOT NULL AND x.tenant_id = v_tenant_id AND x.chunk_id = v_chunk_id) AS p
        WHERE p.prefix_tokens > 0;
    END IF;
    part := 'term';
    FOR v_row IN
        SELECT t.*, q.reason, q.origin, sum(t.contribution) OVER (ORDER BY t.contribution <= 0::double precision, t.df, t.term COLLATE "C"
                                                                  ROWS UNBOUNDED PRECEDING) AS so_far
        FROM sift._term_parts(v_tenant_id, v_unit, s.terms, ARRAY[v_id], s.lists, s.k1, s.b, s.title_weight, s.abstract_weight,
                              s.statistics, v_as_of) AS t
        LEFT JOIN sift._judge_terms(caller, proof, tenant, query, plain, strip_questions, expand, principals) AS q ON q.term = t.term AND q.kept
        ORDER BY t.contribution <= 0::double precision, CASE WHEN t.contribution > 0::double precision THEN t.df END,
                 CASE WHEN t.contribution > 0::double precision THEN t.term END COLLATE "C", array_position(s.terms, t.term)
    LOOP
        v_place := v_place + 1;
        place := v_place;
        name := v_row.term;
        tf := v_row.tf;
        df := CASE WHEN v_told THEN v_row.df END;
        doc_length := v_row.doc_length;
        idf := CASE WHEN v_told THEN v_row.idf END;
        value := v_row.contribution;
        detail := nullif(concat_ws('; ',
            CASE WHEN v_row.tf > 0::double precision THEN NULL WHEN v_whole THEN 'not in the document' ELSE 'not in the chunk' END,
            nullif(cardinality(array_positions(v_prefix, v_row.term)), 0)::text || ' in the prefix',
            v_row.reason || coalesce(': ' || v_row.origin, '')), '');
        v_total := v_row.total;
        v_average := v_row.average_length;
        IF v_row.contribution > 0::double precision THEN
            v_figures[1] := v_row.so_far;
        END IF;
        RETURN NEXT;
    END LOOP;
    tf := NULL; df := NULL; doc_length := NULL; idf := NULL;

    FOR i IN 1 .. 2 LOOP
        CONTINUE WHEN NOT v_runs[i];
        v_terms := CASE WHEN i = 1 THEN s.terms END;
        v_vector := CASE WHEN i = 2 THEN s.vector END;
        IF i = 2 THEN
            v_figures[2] := (SELECT r.figure
                             FROM sift._leg_rows(v_tenant_id, v_unit, NULL, v_vector, s.model_id, s.lists, v_only, s.bound, 1, s.k1, s.b,
                                                 s.title_weight, s.abstract_weight, s.statistics, v_as_of) AS r);
        END IF;
        CONTINUE WHEN v_figures[i] IS NULL OR NOT v_passes;
        v_depth := v_first;
        LOOP
            SELECT max(r.place) FILTER (WHERE f.found) AS place, max(r.figure) FILTER (WHERE f.found) AS figure,
                   max(r.chunk_id) FILTER (WHERE f.found) AS shown, count(*) AS rows
            INTO v_row
            FROM sift._leg_rows(v_tenant_id, v_unit, v_terms, v_vector, s.model_id, s.lists, s.predicate, s.bound, v_depth, s.k1, s.b,
                                s.title_weight, s.abstract_weight, s.statistics, v_as_of) AS r
            CROSS JOIN LATERAL (SELECT CASE WHEN v_whole THEN r.document_id ELSE r.chunk_id END = v_id AS found) AS f;
            EXIT WHEN v_row.place IS NOT NULL OR v_depth >= v_max_depth OR v_row.rows < v_depth;
            v_depth := v_max_depth;
        END LOOP;
        IF v_row.place IS NOT NULL THEN
            v_ranks[i] := v_row.place;
            v_figures[i] := v_row.figure;
            v_shown[i] := v_row.shown;
        END IF;
    END LOOP;
    v_within := ARRAY[min_score IS NULL OR v_figures[1] >= min_score, max_distance IS NULL OR v_figures[2] <= max_distance];
    v_counted := ARRAY[CASE WHEN v_within[1] THEN v_ranks[1] END, CASE WHEN v_within[2] THEN v_ranks[2] END];
    v_tier := width_bucket(least(v_counted[1], v_counted[2]) - 1, s.reaches);
    v_reach := s.reaches[v_tier + 1];
    v_score := CASE WHEN least(v_counted[1], v_counted[2]) <= v_reach
                    THEN coalesce(CASE WHEN v_counted[1] <= v_reach THEN s.weights[1] / (s.rrf_k + v_counted[1]::double precision) END, 0::double precision)
                         + coalesce(CASE WHEN v_counted[2] <= v_reach THEN s.weights[2] / (s.rrf_k + v_counted[2]::double precision) END, 0::double precision)
               END;

    FOR i IN 1 .. 2 LOOP
        v_details[i] := CASE
            WHEN mode NOT IN ('hybrid', v_legs[i]) THEN format('does not take part: the mode is %s', mode)
            WHEN mode = 'hybrid' AND s.weights[i] = 0::double precision THEN 'does not take part: its weight is 0'
            WHEN NOT v_runs[i] THEN CASE i WHEN 1 THEN 'does not take part: the query holds no searchable term'
                                           ELSE 'does not take part: there is no query vector' END
            WHEN v_figures[i] IS NULL AND i = 1 AND NOT v_chunk.ranked AND NOT v_whole THEN format('a chunk of kind %s or of this length is not ranked by itself', v_chunk.kind)
            WHEN v_figures[i] IS NULL THEN CASE i WHEN 1 THEN 'no term matches' ELSE 'it has no vector of the model' END
            WHEN v_filtered THEN 'the filter leaves it out'
            WHEN NOT v_passes THEN 'a phrase, a + or a - of the query, or the strategy, leaves it out'
            WHEN NOT v_within[i] THEN CASE i WHEN 1 THEN format('below the floor: min_score is %s', min_score)
                                             ELSE format('too far: max_distance is %s', max_distance) END
            WHEN v_ranks[i] IS NULL THEN format('beyond rank %s, the deepest that is looked at', v_max_depth)
            WHEN v_score IS NULL OR v_ranks[i] > v_reach THEN format('beyond depth %s', coalesce(v_reach, s.reaches[cardinality(s.reaches)]))
            WHEN v_tier > 0 THEN format('fused at depth %s, after all within depth %s', v_reach, s.reaches[v_tier])
            WHEN v_whole AND v_shown[i] <> v_chunk_id THEN format('by chunk %s', v_shown[i]) END;
        CONTINUE WHEN NOT v_runs[i];
        v_place := v_place + 1;
        place := v_place;
        part := 'leg';
        name := v_legs[i];
        rank := v_ranks[i];
        value := v_figures[i];
        detail := concat_ws('; ', CASE WHEN i = 2 AND s.origin = 'approximated' THEN 'the query vector is approximated by its words' END, v_details[i]);
        detail := nullif(detail, '');
        RETURN NEXT;
    END LOOP;
    FOR i IN 1 .. 2 LOOP
        v_place := v_place + 1;
        place := v_place;
        part := 'fusion';
        name := v_legs[i];
        weight := s.weights[i];
        constant := s.rrf_k;
        rank := CASE WHEN v_counted[i] <= v_reach THEN v_counted[i] END;
        value := CASE WHEN rank IS NULL THEN 0::double precision ELSE weight / (constant + rank::double precision) END;
        detail := CASE WHEN rank IS NULL THEN v_details[i] ELSE format('%s / (%s + %s)', weight, constant, rank) END;
        RETURN NEXT;
    END LOOP;
    rank := NULL; weight := NULL; constant := NULL;
    v_place := v_place + 1;
    place := v_place;
    part := 'score';
    name := 'score';
    value := v_score;
    detail := CASE WHEN v_score IS NULL THEN 'not in the result, however many are asked for' END;
    RETURN NEXT;
    part := 'setting';
    detail := NULL;
    FOR v_row IN
        SELECT n.name, n.value
        FROM (VALUES (1, 'k1', s.k1, true), (2, 'b', s.b, true), (3, 'title_weight', s.title_weight, true),
                     (4, 'abstract_weight', s.abstract_weight, true),
                     (5, CASE WHEN v_whole THEN 'documents' ELSE 'chunks' END, v_total, v_told), (6, 'average_length', v_average, v_told))
             AS n (n, name, value, told)
        WHERE n.told AND v_runs[1] AND n.value IS NOT NULL
        ORDER BY n.n
    LOOP
        v_place := v_place + 1;
        place := v_place;
        name := v_row.name;
        value := v_row.value;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._explain(oid, bytea, text, text, bigint, text[], jsonb, real[], text, text, integer, double precision, double precision[], double precision, double precision, timestamptz, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, text, text) IS
    'The body of sift.explain, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._explain(oid, bytea, text, text, bigint, text[], jsonb, real[], text, text, integer, double precision, double precision[], double precision, double precision, timestamptz, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._explain(oid, bytea, text, text, bigint, text[], jsonb, real[], text, text, integer, double precision, double precision[], double precision, double precision, timestamptz, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, text, text) TO sift_owner, sift_writer, sift_app, sift_reader;
