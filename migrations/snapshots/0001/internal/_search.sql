-- The search behind sift.search, sift.lexical_search and sift.dense_search: validates, runs the legs, fuses, collapses, caps, truncates.
--
--   score(c) = Σ over legs of weight(leg) / (rrf_k + rank(leg, c))
--     G. V. Cormack, C. L. A. Clarke, S. Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
--     Methods, SIGIR 2009.
--
-- depth NULL means as deep as it takes: the tenant's depth for two legs; for one leg, whose order depth cannot change, what is asked for.
-- Where collapsing or the cap leaves fewer rows although a leg had more to give, depth is doubled and the search run again. What only the
-- greater depth brings is fused within that depth and comes after the rest (tier): asking for more rows never changes the first ones,
-- and pages taken by skip are those of one long page. A depth that is given is a hard limit: what lies beyond it is not looked at,
-- and there may be fewer than k rows.
--
-- Token vectors of the query rerank each tier by late interaction (sift._maxsim), chunks without token vectors after those with, in their
-- former order; mmr, token_budget and the cap then choose the page (sift._choose). Without any of these the page is cut in the one
-- statement below.
--
-- unit: chunk, or document: each leg ranks documents, and every row is one with the chunk that is shown for it (sift._lexical_units,
-- sift._dense_documents). k1, b, title_weight, abstract_weight: the tenant's where NULL.
--
-- strategy: where the tenant has claims, which of them are hits, and whether they stand for the chunks that support them (merged).
--
-- collapse_clusters: of documents that are near-duplicates of each other, the one with the best hit stays (sift._leaders).
-- as_of: the same over what was current at that time, by legs of its own (sift._lexical_as_of, sift._dense_as_of).
--
-- Plans are generic: the statement that fuses is long, and planned for the arrays at hand it seems cheaper than the plan for any arrays, so that
-- it would be planned again by every search, for longer than it runs.
CREATE OR REPLACE FUNCTION sift._search(
    caller          oid,
    proof           bytea,
    tenant          text,
    query           text,
    k               integer,
    principals      text[],
    filter          jsonb,
    query_embedding real[],
    mode            text,
    model           text,
    depth           integer,
    rrf_k           double precision,
    weights         double precision[],
    per_document    integer,
    collapse        boolean,
    min_score       double precision,
    max_distance    double precision,
    as_of           timestamptz,
    collapse_clusters boolean DEFAULT false,
    skip              integer DEFAULT 0,
    mmr             double precision DEFAULT NULL,
    token_budget    integer DEFAULT NULL,
    query_token_embeddings real[] DEFAULT NULL,
    token_model     text DEFAULT NULL,
    plain           boolean DEFAULT false,
    strip_questions boolean DEFAULT NULL,
    expand          boolean DEFAULT NULL,
    unit            text DEFAULT 'chunk',
    k1              double precision DEFAULT NULL,
    b               double precision DEFAULT NULL,
    title_weight    double precision DEFAULT NULL,
    abstract_weight double precision DEFAULT NULL,
    snippet_width   integer DEFAULT NULL,
    strategy        text DEFAULT 'merged',
    claims_k        integer DEFAULT 3
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
    duplicates       integer,
    legs             text,
    dense_path       text,
    rerank_score     double precision,
    former_rank      integer,
    may_be_sent      boolean,
    snippet          text,
    snippet_start    integer,
    highlights       jsonb,
    claim            jsonb,
    snippet_page     integer,
    context          text,
    context_start    integer,
    context_page     integer,
    context_of       integer,
    query_vector     text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    v_max_depth CONSTANT integer := 10000;
    v_tenant_id    integer := sift._enter(tenant, caller, proof);
    v_tenant       record;
    v_model_id     integer;
    v_model        record;
    v_k            integer := k;
    v_skip         integer := coalesce(skip, 0);
    v_lists        bigint[];
    v_terms        text[] := '{}';
    v_query        record;
    v_vector       real[] := query_embedding;
    v_origin       text;
    v_lexical      boolean;
    v_dense        boolean;
    v_predicate    text;
    v_bound        jsonb;
    v_depth        integer;
    v_reaches      integer[];
    v_rows         integer;
    v_rrf_k        double precision;
    v_weights      double precision[];
    v_legs         text;
    v_chunks       bigint[];
    v_scores       double precision[];
    v_neighbours   bigint[];
    v_distances    double precision[];
    v_path         text;
    v_more         boolean;
    v_page_chunks         bigint[];
    v_page_documents      bigint[];
    v_page_scores         double precision[];
    v_page_lexical_ranks  integer[];
    v_page_lexical_scores double precision[];
    v_page_dense_ranks    integer[];
    v_page_distances      double precision[];
    v_page_duplicates     integer[];
    v_page_tiers          integer[];
    v_page_reranked       double precision[];
    v_page_former         integer[];
    v_token_model  record;
    v_rerank       boolean := query_token_embeddings IS NOT NULL;
    v_choose       boolean := query_token_embeddings IS NOT NULL OR mmr IS NOT NULL OR token_budget IS NOT NULL;
    v_refused      boolean := false;
    v_positions    integer[];
    v_min_score    double precision := min_score;
    v_max_distance double precision := max_distance;
    v_cap          integer := coalesce(per_document, 2147483647);
    v_collapse     boolean := coalesce(collapse, false) AND unit IS DISTINCT FROM 'document';  -- documents that share a passage are two
    v_clusters     boolean := coalesce(collapse_clusters, false);
    v_as_of        timestamptz := as_of;
    v_bodies          text[];
    v_snippets        text[];
    v_snippet_starts  integer[];
    v_highlights      jsonb[];
    v_anchors         integer[];
    v_snippet_pages   integer[];
    v_documents    boolean := unit = 'document';
    v_k1           double precision;
    v_b            double precision;
    v_title_weight    double precision;
    v_abstract_weight double precision;
    v_chunk_documents bigint[];
    v_near_documents  bigint[];
    v_claims       jsonb[];
    v_contexts       text[];
    v_context_starts integer[];
    v_context_pages  integer[];
    v_context_ofs    integer[];
    v_claims_k     integer := coalesce(claims_k, 2147483647);
    v_limited      boolean;  -- hits that are claims are counted
    v_merging      boolean;  -- and stand for their sources
BEGIN
    SELECT t.* INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    v_lists := sift._visible_lists(v_tenant_id, principals, caller);

    IF v_k IS NULL OR v_k < 0 OR v_k > v_max_depth THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('k must lie between 0 and %s, not %s', v_max_depth, coalesce(v_k::text, 'NULL')),
            HINT = 'k is the number of rows wanted; 10 is the default.';
    END IF;
    IF v_skip < 0 OR v_k + v_skip > v_max_depth THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('skip must not be negative, and skip and k together be at most %s; not %s', v_max_depth, v_skip),
            HINT = 'skip is how many of the best rows are left out: the length of the pages before this one.';
    END IF;
    IF snippet_width < 20 OR snippet_width > 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('snippet_width must lie between 20 and 4000, not %s', snippet_width),
            HINT = 'It counts characters; leave it out for no snippets.';
    END IF;
    IF mode IS NULL OR mode NOT IN ('hybrid', 'lexical', 'dense') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('mode must be hybrid, lexical or dense, not %s', coalesce(to_json(left(mode, 100))::text, 'NULL')),
            HINT = 'Leave it out for hybrid, which uses what there is of both.';
    END IF;
    IF depth IS NOT NULL AND (depth < v_k + v_skip OR depth > v_max_depth) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = CASE WHEN v_skip = 0 THEN format('depth must lie between k (%s) and %s, not %s', v_k, v_max_depth, depth)
                           ELSE format('depth must lie between skip and k together (%s) and %s, not %s', v_k + v_skip, v_max_depth, depth) END,
            HINT = 'depth is how many ranks of each leg are fused; leave it out for the tenant''s default.';
    END IF;
    PERFORM sift._check_choice(per_document, mmr, token_budget, v_k + v_skip);
    v_rrf_k := coalesce(rrf_k, v_tenant.rrf_k);
    IF NOT (v_rrf_k >= 0::double precision AND v_rrf_k <= 1e100::double precision) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('rrf_k must be finite, not negative and at most 1e100, not %s', v_rrf_k),
            HINT = 'Leave it out for the tenant''s, which is 60 unless somebody changed it.';
    END IF;
    IF v_min_score = 'NaN'::double precision OR v_max_distance = 'NaN'::double precision THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'min_score and max_distance must be numbers, not NaN',
            HINT = 'Leave them out for no floor.';
    END IF;

    IF unit IS NULL OR unit NOT IN ('chunk', 'document') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('unit must be chunk or document, not %s', coalesce(to_json(left(unit, 100))::text, 'NULL')),
            HINT = 'chunk: every row is a passage; document: every row is a document, scored as a whole.';
    END IF;
    IF strategy IS NULL OR strategy NOT IN ('merged', 'chunks', 'claims', 'mixed') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('strategy must be merged, chunks, claims or mixed, not %s', coalesce(to_json(left(strategy, 100))::text, 'NULL')),
            HINT = 'merged: a claim stands for the chunks that support it; chunks: no claims; claims: nothing else; mixed: both, side by side.';
    END IF;
    IF v_documents AND strategy <> 'merged' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('strategy %s does not go with unit document', strategy),
            HINT = 'A document is scored without its claims, which repeat what it says; leave strategy out.';
    END IF;
    IF claims_k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('claims_k must not be negative, not %s', claims_k),
            HINT = 'claims_k is how many rows may be claims; 3 is the default, NULL is for no limit.';
    END IF;
    v_limited := v_tenant.has_claims AND NOT v_documents AND strategy IN ('merged', 'mixed');
    v_merging := v_limited AND strategy = 'merged';
    v_k1 := coalesce(k1, v_tenant.k1);
    v_b := coalesce(b, v_tenant.b);
    v_title_weight := coalesce(title_weight, v_tenant.title_weight);
    v_abstract_weight := coalesce(abstract_weight, v_tenant.abstract_weight);
    PERFORM sift._check_ranking(v_k1, v_b, v_title_weight, v_abstract_weight);

    v_model_id := sift._model_id(v_tenant_id, model);
    SELECT m.* INTO v_model FROM sift.embedding_models AS m WHERE m.model_id = v_model_id;
    v_weights := sift._leg_weights(weights, mode, v_tenant.lexical_weight, v_tenant.dense_weight, v_model.lexical_weight, v_model.dense_weight);
    SELECT f.predicate, f.bound INTO v_predicate, v_bound FROM sift._compile_filter(filter) AS f;
    v_query := sift._read_query(v_tenant_id, v_tenant.analyzer, query, plain, coalesce(strip_questions, v_tenant.strip_questions),
                                coalesce(expand, v_tenant.expand), v_lists, as_of, v_predicate, v_bound, v_documents);
    v_predicate := v_query.predicate;
    v_bound := v_query.bound;
    IF strategy = 'claims' THEN
        v_predicate := coalesce('(' || v_predicate || ') AND ', '') || 'c.kind = ''claim''';
    ELSIF strategy = 'chunks' AND v_tenant.has_claims THEN
        v_predicate := coalesce('(' || v_predicate || ') AND ', '') || 'c.kind <> ''claim''';
    END IF;

    IF mode <> 'dense' THEN
        v_terms := v_query.terms;
    END IF;
    IF mode <> 'lexical' AND v_vector IS NULL AND query IS NOT NULL AND v_model.model_id IS NOT NULL THEN
        -- What others asked is told by legs, and by what follows here, to those alone who may see something of the tenant.
        IF cardinality(v_lists) = 0 THEN
            RETURN;
        END IF;
    END IF;
    IF mode <> 'lexical' THEN
        SELECT r.vector, r.weights, r.origin INTO v_vector, v_weights, v_origin
        FROM sift._query_vector(v_tenant_id, v_model.model_id, v_tenant.analyzer, query, v_query.plain_text, v_lists, mode, weights, v_vector,
                                v_weights) AS r;
    END IF;
    IF v_vector IS NOT NULL THEN
        IF v_model.model_id IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'PS006',
                MESSAGE = format('a query vector was given, but the tenant %s has no embedding model', to_json(tenant)),
                HINT = 'Name one with model, or ingest with one first.';
        END IF;
        PERFORM sift._check_vector(v_model.model_id, v_vector);
    END IF;
    IF mode = 'lexical' THEN
        v_vector := NULL;
    END IF;
    v_lexical := cardinality(v_terms) > 0 AND (mode = 'lexical' OR v_weights[1] > 0::double precision);
    v_dense := v_vector IS NOT NULL AND (mode = 'dense' OR v_weights[2] > 0::double precision);
    IF NOT v_lexical AND NOT v_dense THEN
        RAISE EXCEPTION USING ERRCODE = 'PS003',
            MESSAGE = CASE
                WHEN v_query.restricts AND cardinality(v_terms) = 0 AND mode <> 'dense' AND v_vector IS NULL THEN
                    'nothing to search for: the query only says what to leave out'
                WHEN mode = 'lexical' THEN 'the query holds no searchable term'
                WHEN mode = 'dense' THEN 'there is no query vector: none was given, none is cached for this text, and none can be approximated'
                WHEN cardinality(v_terms) > 0 THEN 'nothing to search for: the weight of the lexical leg is 0, and there is no query vector'
                WHEN v_vector IS NOT NULL THEN 'nothing to search for: the query holds no searchable term, and the weight of the dense leg is 0'
                ELSE 'nothing to search for: the query holds no searchable term, and there is no query vector' END,
            HINT = CASE WHEN v_query.restricts AND cardinality(v_terms) = 0 AND mode <> 'dense' AND v_vector IS NULL
                THEN 'Name a word to look for as well. A word that begins with - is looked for with plain => true.'
                ELSE 'sift.query_terms(tenant, query) shows what was dropped and why; pass query_embedding, cache it with sift.cache_query_embedding, or have words approximate it: pgsift models fit-terms.' END;
    END IF;
    -- Where the active model is fused, chunks without a vector are found by their words; who asks for another, or for vectors alone, should know.
    IF v_dense AND v_as_of IS NULL AND (mode = 'dense' OR v_model_id IS DISTINCT FROM v_tenant.model_id) THEN
        PERFORM sift._check_model(v_tenant_id, v_model_id, v_lists);
    END IF;
    IF v_as_of IS NOT NULL AND v_clusters THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'collapse_clusters does not go with as_of',
            HINT = 'Near-duplicates are known of current texts only; collapse alone works for the past too.';
    END IF;
    IF v_as_of IS NOT NULL AND NOT v_tenant.keep_history THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the tenant %s keeps no history, so its past cannot be searched', to_json(tenant)),
            HINT = 'sift.set_tenant(tenant, ''{"keep_history": true}'') keeps it from now on.';
    END IF;
    IF v_as_of IS NOT NULL AND strpos(v_predicate, 'sift.chunk_entities') > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a filter on entity does not go with as_of',
            HINT = 'Mentions of entities are kept of current texts only; leave one of the two out.';
    END IF;
    IF v_as_of < v_tenant.history_since THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the tenant %s has a complete history since %s only, so what it was before cannot be searched', to_json(tenant),
                             to_char(v_tenant.history_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
            HINT = 'Before that no history was kept for a while; give a later as_of.';
    END IF;
    IF v_rerank OR token_model IS NOT NULL THEN
        SELECT m.* INTO v_token_model FROM sift._token_model(v_tenant_id, token_model) AS m;
        IF v_token_model.token_model_id IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'PS006',
                MESSAGE = format('token vectors of a query were given, but the tenant %s has no token model', to_json(tenant)),
                HINT = 'Name one with token_model, or store token vectors of its chunks first: sift.put_token_embeddings.';
        END IF;
        IF v_rerank THEN
            PERFORM sift._check_token_query(v_token_model.name, v_token_model.dimensions, query_token_embeddings);
        END IF;
    END IF;
    IF v_rerank AND v_as_of IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'query_token_embeddings does not go with as_of',
            HINT = 'Token vectors are kept of current texts only.';
    END IF;
    v_legs := CASE WHEN v_lexical AND v_dense THEN 'lexical+dense' WHEN v_lexical THEN 'lexical' ELSE 'dense' END;
    IF v_k = 0 OR cardinality(v_lists) = 0 OR (strategy = 'claims' AND NOT v_tenant.has_claims) THEN
        RETURN;
    END IF;

    v_rows := v_k + v_skip;
    -- How deep the tiers reach: the depth, its double, and so on.
    v_reaches := CASE
        WHEN depth IS NOT NULL THEN ARRAY[depth]
        WHEN v_lexical AND v_dense OR v_choose OR v_limited THEN ARRAY(SELECT v_tenant.depth << n FROM generate_series(0, 13) AS n WHERE v_tenant.depth << n < v_max_depth)
                                        || v_max_depth
        ELSE ARRAY[v_max_depth] END;
    v_depth := CASE
        WHEN v_lexical AND v_dense OR v_choose OR v_limited OR depth IS NOT NULL THEN (SELECT min(r.reach) FROM unnest(v_reaches) AS r (reach) WHERE r.reach >= v_rows)
        WHEN v_collapse OR v_clusters OR v_cap < v_rows THEN least(2 * v_rows + 10, v_max_depth)
        ELSE v_rows END;
    LOOP
        IF v_lexical AND (v_documents OR v_title_weight <> 1::double precision OR v_abstract_weight <> 1::double precision) THEN
            SELECT array_agg(l.chunk_id ORDER BY l.position), array_agg(l.score ORDER BY l.position), array_agg(l.document_id ORDER BY l.position)
            INTO v_chunks, v_scores, v_chunk_documents
            FROM sift._lexical_units(v_tenant_id, unit, v_terms, v_lists, v_predicate, v_bound, v_depth, v_k1, v_b, v_title_weight,
                                     v_abstract_weight, v_tenant.statistics, v_as_of)
                 WITH ORDINALITY AS l (chunk_id, document_id, score, position);
        ELSIF v_lexical AND v_tenant.statistics = 'visible' THEN
            SELECT array_agg(l.chunk_id ORDER BY l.position), array_agg(l.score ORDER BY l.position) INTO v_chunks, v_scores
            FROM sift._lexical_visible(v_tenant_id, v_terms, v_lists, v_predicate, v_bound, v_depth, v_k1, v_b, v_as_of)
                 WITH ORDINALITY AS l (chunk_id, score, position);
        ELSIF v_lexical AND v_as_of IS NOT NULL THEN
            SELECT array_agg(l.chunk_id ORDER BY l.position), array_agg(l.score ORDER BY l.position) INTO v_chunks, v_scores
            FROM sift._lexical_as_of(v_tenant_id, v_terms, v_lists, v_predicate, v_bound, v_depth, v_k1, v_b, v_as_of)
                 WITH ORDINALITY AS l (chunk_id, score, position);
        ELSIF v_lexical THEN
            SELECT array_agg(l.chunk_id ORDER BY l.position), array_agg(l.score ORDER BY l.position) INTO v_chunks, v_scores
            FROM sift._lexical_leg(v_tenant_id, v_terms, v_lists, v_predicate, v_bound, v_depth, v_k1, v_b)
                 WITH ORDINALITY AS l (chunk_id, score, position);
        END IF;
        IF v_dense AND v_documents THEN
            SELECT array_agg(n.chunk_id ORDER BY n.position), array_agg(n.distance ORDER BY n.position), max(n.path),
                   array_agg(n.document_id ORDER BY n.position)
            INTO v_neighbours, v_distances, v_path, v_near_documents
            FROM sift._dense_documents(v_tenant_id, v_model.model_id, v_vector, v_lists, v_predicate, v_bound, v_depth, v_as_of)
                 WITH ORDINALITY AS n (chunk_id, document_id, distance, path, position);
            -- A document of both legs is one row, with the chunk of the lexical leg where that leg counts.
            IF v_lexical THEN
                SELECT array_agg(p.shown ORDER BY p.lexical) FILTER (WHERE p.lexical IS NOT NULL), array_agg(p.shown ORDER BY p.dense) FILTER (WHERE p.dense IS NOT NULL)
                INTO v_chunks, v_neighbours
                FROM (SELECT l.position AS lexical, n.position AS dense,
                             CASE WHEN l.position <= v_reaches[width_bucket(least(l.position, n.position)::integer - 1, v_reaches) + 1]
                                  THEN l.chunk_id ELSE n.chunk_id END AS shown
                      FROM unnest(v_chunks, v_chunk_documents) WITH ORDINALITY AS l (chunk_id, document_id, position)
                      FULL JOIN unnest(v_neighbours, v_near_documents) WITH ORDINALITY AS n (chunk_id, document_id, position)
                        ON n.document_id = l.document_id) AS p;
            END IF;
        ELSIF v_dense AND v_as_of IS NOT NULL THEN
            SELECT array_agg(n.chunk_id ORDER BY n.position), array_agg(n.distance ORDER BY n.position), max(n.path)
            INTO v_neighbours, v_distances, v_path
            FROM sift._dense_as_of(v_tenant_id, v_model.model_id, v_vector, v_lists, v_predicate, v_bound, v_depth, v_as_of)
                 WITH ORDINALITY AS n (chunk_id, distance, path, position);
        ELSIF v_dense THEN
            SELECT array_agg(n.chunk_id ORDER BY n.position), array_agg(n.distance ORDER BY n.position), max(n.path)
            INTO v_neighbours, v_distances, v_path
            FROM sift._dense_leg(v_tenant_id, v_model.model_id, v_vector, v_lists, v_predicate, v_bound, v_depth)
                 WITH ORDINALITY AS n (chunk_id, distance, path, position);
        END IF;

        WITH fused AS (
            SELECT coalesce(l.chunk_id, n.chunk_id) AS chunk_id,
                   CASE WHEN l.position <= v_reaches[t.tier + 1] THEN l.position::integer END AS lexical_rank,
                   CASE WHEN l.position <= v_reaches[t.tier + 1] THEN l.score END AS lexical_score,
                   CASE WHEN n.position <= v_reaches[t.tier + 1] THEN n.position::integer END AS dense_rank,
                   CASE WHEN n.position <= v_reaches[t.tier + 1] THEN n.distance END AS distance,
                   t.tier,
                   coalesce(CASE WHEN l.position <= v_reaches[t.tier + 1] THEN v_weights[1] / (v_rrf_k + l.position::double precision) END, 0::double precision)
                   + coalesce(CASE WHEN n.position <= v_reaches[t.tier + 1] THEN v_weights[2] / (v_rrf_k + n.position::double precision) END, 0::double precision) AS score
            FROM (SELECT u.chunk_id, u.score, u.position
                  FROM unnest(v_chunks, v_scores) WITH ORDINALITY AS u (chunk_id, score, position)
                  WHERE v_min_score IS NULL OR u.score >= v_min_score) AS l
            FULL JOIN (SELECT u.chunk_id, u.distance, u.position
                       FROM unnest(v_neighbours, v_distances) WITH ORDINALITY AS u (chunk_id, distance, position)
                       WHERE v_max_distance IS NULL OR u.distance <= v_max_distance) AS n ON n.chunk_id = l.chunk_id
            CROSS JOIN LATERAL (SELECT width_bucket(least(l.position, n.position)::integer - 1, v_reaches) AS tier) AS t
        ),
        located AS (
            SELECT f.*, c.document_id, c.ordinal, c.claim, v_limited AND c.kind = 'claim' AS is_claim,
                   CASE WHEN v_collapse THEN row_number() OVER (PARTITION BY c.text_hash, v_limited AND c.kind = 'claim' ORDER BY f.tier, f.score DESC, f.chunk_id) ELSE 1 END AS copy,
                   CASE WHEN v_collapse THEN count(*) OVER (PARTITION BY c.text_hash, v_limited AND c.kind = 'claim', f.tier) - 1 ELSE 0 END AS duplicates
            FROM fused AS f
            CROSS JOIN LATERAL (
                SELECT s.document_id, s.text_hash, s.kind, s.ordinal, s.claim FROM sift.chunks AS s
                WHERE s.tenant_id = v_tenant_id AND s.chunk_id = f.chunk_id
                UNION ALL
                SELECT s.document_id, s.text_hash, s.kind, s.ordinal, s.claim FROM sift.chunk_history AS s
                WHERE v_as_of IS NOT NULL AND s.tenant_id = v_tenant_id AND s.chunk_id = f.chunk_id
                OFFSET 0) AS c
        ),
        -- Which documents give way to a better one that they nearly repeat; by pairs of these visible ones, never by a cluster.
        led AS (
            SELECT l.document_id, l.leader_id
            FROM (SELECT array_agg(b.document_id ORDER BY b.tier, b.score DESC, b.chunk_id) AS ids
                  FROM (SELECT DISTINCT ON (o.document_id) o.document_id, o.tier, o.score, o.chunk_id FROM located AS o
                        WHERE v_clusters AND o.copy = 1
                        ORDER BY o.document_id, o.tier, o.score DESC, o.chunk_id) AS b) AS r
            CROSS JOIN LATERAL sift._leaders(v_tenant_id, r.ids) AS l
            WHERE v_clusters
        ),
        yielded AS (
            SELECT l.leader_id, sum(1 + o.duplicates) AS duplicates
            FROM led AS l
            JOIN located AS o ON o.document_id = l.document_id AND o.copy = 1
            GROUP BY l.leader_id
        ),
        -- The claims that are shown, and with them the chunks they stand for: from their own tier on, so that what only a greater depth brings
        -- takes nothing away from what came before it.
        claims AS (
            SELECT n.chunk_id, n.document_id, n.tier, n.claim
            FROM (SELECT r.*, row_number() OVER (ORDER BY r.tier, r.score DESC, r.chunk_id) AS place
                  FROM (SELECT o.*, row_number() OVER (PARTITION BY o.document_id ORDER BY o.tier, o.score DESC, o.chunk_id) AS of_document
                        FROM located AS o
                        WHERE v_limited AND o.is_claim AND o.copy = 1 AND NOT EXISTS (SELECT FROM led AS l WHERE l.document_id = o.document_id)) AS r
                  WHERE r.of_document <= v_cap OR v_choose) AS n
            WHERE n.place <= v_claims_k
        ),
        covered AS (
            SELECT s.document_id, s.ordinal::integer AS ordinal, min(s.tier) AS tier
            FROM (SELECT m.document_id, m.tier, jsonb_array_elements(m.claim -> 'supports') AS ordinal FROM claims AS m WHERE v_merging) AS s
            GROUP BY s.document_id, s.ordinal
        ),
        capped AS (
            -- The claims of a tier come first, lest a chunk gives way to a claim that the cap leaves out.
            SELECT o.*, row_number() OVER (PARTITION BY o.document_id ORDER BY o.tier, v_merging AND o.is_claim DESC, o.score DESC, o.chunk_id) AS of_document
            FROM located AS o
            WHERE o.copy = 1 AND NOT EXISTS (SELECT FROM led AS l WHERE l.document_id = o.document_id)
              AND CASE WHEN NOT v_limited THEN true
                       WHEN o.is_claim THEN EXISTS (SELECT FROM claims AS m WHERE m.chunk_id = o.chunk_id)
                       ELSE NOT EXISTS (SELECT FROM covered AS s WHERE s.document_id = o.document_id AND s.ordinal = o.ordinal AND s.tier <= o.tier) END
        ),
        page AS (
            SELECT p.chunk_id, p.document_id, p.tier, p.score, p.lexical_rank, p.lexical_score, p.dense_rank, p.distance,
                   -- Those of other documents are told with the best hit of the one that stands for them.
                   p.duplicates + CASE WHEN p.of_document = 1 THEN coalesce(y.duplicates, 0) ELSE 0 END AS duplicates
            FROM capped AS p
            LEFT JOIN yielded AS y ON y.leader_id = p.document_id
            WHERE p.of_document <= v_cap OR v_choose
            ORDER BY p.tier, p.score DESC, p.chunk_id
            LIMIT CASE WHEN NOT v_choose THEN v_k END OFFSET CASE WHEN NOT v_choose THEN v_skip END
        )
        SELECT array_agg(g.chunk_id ORDER BY g.tier, g.score DESC, g.chunk_id),
               array_agg(g.document_id ORDER BY g.tier, g.score DESC, g.chunk_id),
               array_agg(g.score ORDER BY g.tier, g.score DESC, g.chunk_id),
               array_agg(g.lexical_rank ORDER BY g.tier, g.score DESC, g.chunk_id),
               array_agg(g.lexical_score ORDER BY g.tier, g.score DESC, g.chunk_id),
               array_agg(g.dense_rank ORDER BY g.tier, g.score DESC, g.chunk_id),
               array_agg(g.distance ORDER BY g.tier, g.score DESC, g.chunk_id),
               array_agg(g.duplicates::integer ORDER BY g.tier, g.score DESC, g.chunk_id),
               array_agg(g.tier ORDER BY g.tier, g.score DESC, g.chunk_id)
        INTO v_page_chunks, v_page_documents, v_page_scores, v_page_lexical_ranks, v_page_lexical_scores, v_page_dense_ranks,
             v_page_distances, v_page_duplicates, v_page_tiers
        FROM page AS g;

        IF v_choose AND v_page_chunks IS NOT NULL THEN
            v_page_former := ARRAY(SELECT n FROM generate_series(1, cardinality(v_page_chunks)) AS n);
            v_page_reranked := NULL;
            IF v_rerank THEN
                v_page_reranked := sift._maxsim(v_tenant_id, v_token_model.token_model_id, v_page_chunks, query_token_embeddings);
                SELECT array_agg(r.place ORDER BY r.tier, r.reranked DESC NULLS LAST, r.place) INTO v_page_former
                FROM unnest(v_page_tiers, v_page_reranked) WITH ORDINALITY AS r (tier, reranked, place);
            END IF;
            SELECT ARRAY(SELECT v_page_former[c.position] FROM unnest(w.positions) WITH ORDINALITY AS c (position, n) ORDER BY c.n), w.refused
            INTO v_positions, v_refused
            FROM (SELECT array_agg(v_page_chunks[f.place] ORDER BY f.n) AS chunks, array_agg(v_page_documents[f.place] ORDER BY f.n) AS documents,
                         array_agg(v_page_tiers[f.place] ORDER BY f.n) AS tiers,
                         array_agg(CASE WHEN v_rerank THEN v_page_reranked[f.place] ELSE v_page_scores[f.place] END ORDER BY f.n) AS relevance
                  FROM unnest(v_page_former) WITH ORDINALITY AS f (place, n)) AS o
            CROSS JOIN LATERAL sift._choose(v_tenant_id, v_model.model_id, o.chunks, o.documents, o.tiers, o.relevance, v_rows, v_cap, mmr,
                                            token_budget, v_as_of) AS w;
            v_positions := v_positions[v_skip + 1 : v_rows];
            SELECT array_agg(v_page_chunks[c.place] ORDER BY c.n), array_agg(v_page_documents[c.place] ORDER BY c.n),
                   array_agg(v_page_scores[c.place] ORDER BY c.n), array_agg(v_page_lexical_ranks[c.place] ORDER BY c.n),
                   array_agg(v_page_lexical_scores[c.place] ORDER BY c.n), array_agg(v_page_dense_ranks[c.place] ORDER BY c.n),
                   array_agg(v_page_distances[c.place] ORDER BY c.n), array_agg(v_page_duplicates[c.place] ORDER BY c.n),
                   array_agg(v_page_reranked[c.place] ORDER BY c.n), array_agg(c.place ORDER BY c.n)
            INTO v_page_chunks, v_page_documents, v_page_scores, v_page_lexical_ranks, v_page_lexical_scores, v_page_dense_ranks,
                 v_page_distances, v_page_duplicates, v_page_reranked, v_page_former
            FROM unnest(v_positions) WITH ORDINALITY AS c (place, n);
        END IF;

        -- A leg has more to give when it was cut by depth, not by its end or by a floor.
        v_more := (v_lexical AND cardinality(v_chunks) = v_depth AND coalesce(v_scores[v_depth] >= v_min_score, true))
               OR (v_dense AND cardinality(v_neighbours) = v_depth AND coalesce(v_distances[v_depth] <= v_max_distance, true));
        EXIT WHEN coalesce(cardinality(v_page_chunks), 0) >= v_k OR depth IS NOT NULL OR v_depth >= v_max_depth OR v_refused
               OR NOT coalesce(v_more, false);
        v_depth := least(2 * v_depth, v_max_depth);
    END LOOP;
    -- How the dense leg went tells how many vectors lie near that the caller may not see.
    IF NOT (v_dense AND sift._is_trusted(caller)) THEN
        v_path := NULL;
    END IF;

    IF v_tenant.has_claims AND v_page_chunks IS NOT NULL THEN
        v_claims := sift._claims_of(v_tenant_id, v_page_chunks, v_as_of IS NOT NULL);
    END IF;
    IF v_tenant.has_contexts AND v_page_chunks IS NOT NULL THEN
        SELECT x.contexts, x.starts, x.pages, x.ofs INTO v_contexts, v_context_starts, v_context_pages, v_context_ofs
        FROM sift._contexts(v_tenant_id, v_page_chunks, v_as_of IS NOT NULL) AS x;
    END IF;
    IF snippet_width IS NOT NULL THEN
        IF v_as_of IS NULL THEN
            SELECT array_agg(c.body ORDER BY g.rank) INTO v_bodies
            FROM unnest(v_page_chunks) WITH ORDINALITY AS g (chunk_id, rank)
            CROSS JOIN LATERAL (
                SELECT s.body FROM sift.chunks AS s
                WHERE s.tenant_id = v_tenant_id AND s.chunk_id = g.chunk_id OFFSET 0) AS c;
        ELSE
            SELECT array_agg(c.body ORDER BY g.rank) INTO v_bodies
            FROM unnest(v_page_chunks) WITH ORDINALITY AS g (chunk_id, rank)
            CROSS JOIN LATERAL (
                SELECT s.body FROM sift.chunks AS s
                WHERE s.tenant_id = v_tenant_id AND s.chunk_id = g.chunk_id
                UNION ALL
                SELECT s.body FROM sift.chunk_history AS s
                WHERE s.tenant_id = v_tenant_id AND s.chunk_id = g.chunk_id
                OFFSET 0) AS c;
        END IF;
        SELECT s.snippets, s.starts, s.highlights, s.anchors INTO v_snippets, v_snippet_starts, v_highlights, v_anchors
        FROM sift._snippets(v_tenant.analyzer, v_bodies, v_query.terms, snippet_width) AS s;
        SELECT array_agg(sift._page_at(c.page, c.page_breaks, v_anchors[g.rank]) ORDER BY g.rank) INTO v_snippet_pages
        FROM unnest(v_page_chunks) WITH ORDINALITY AS g (chunk_id, rank)
        CROSS JOIN LATERAL (
            SELECT s.page, s.page_breaks FROM sift.chunks AS s
            WHERE s.tenant_id = v_tenant_id AND s.chunk_id = g.chunk_id
            UNION ALL
            SELECT s.page, s.page_breaks FROM sift.chunk_history AS s
            WHERE v_as_of IS NOT NULL AND s.tenant_id = v_tenant_id AND s.chunk_id = g.chunk_id
            OFFSET 0) AS c;
    END IF;

    IF v_as_of IS NOT NULL THEN
        RETURN QUERY
        SELECT g.rank::integer + v_skip, g.score, g.lexical_rank, g.lexical_score, g.dense_rank, g.distance, g.chunk_id, g.document_id,
               d.key, d.title, c.kind, array_to_string(c.section_path, ' > '), c.page, c.char_start, c.char_end, d.version, c.body,
               d.metadata, g.duplicates, v_legs, v_path, g.rerank_score, g.former_rank, d.may_be_sent,
           v_snippets[g.rank], v_snippet_starts[g.rank], v_highlights[g.rank], v_claims[g.rank], v_snippet_pages[g.rank],
           v_contexts[g.rank], v_context_starts[g.rank], v_context_pages[g.rank], v_context_ofs[g.rank] + v_skip, CASE WHEN v_dense THEN v_origin END
        FROM unnest(v_page_chunks, v_page_documents, v_page_scores, v_page_lexical_ranks, v_page_lexical_scores, v_page_dense_ranks,
                    v_page_distances, v_page_duplicates, v_page_reranked, v_page_former) WITH ORDINALITY
             AS g (chunk_id, document_id, score, lexical_rank, lexical_score, dense_rank, distance, duplicates, rerank_score, former_rank, rank)
        CROSS JOIN LATERAL (
            SELECT s.kind, s.section_path, s.page, s.char_start, s.char_end, s.body FROM sift.chunks AS s
            WHERE s.tenant_id = v_tenant_id AND s.chunk_id = g.chunk_id
            UNION ALL
            SELECT s.kind, s.section_path, s.page, s.char_start, s.char_end, s.body FROM sift.chunk_history AS s
            WHERE s.tenant_id = v_tenant_id AND s.chunk_id = g.chunk_id
            OFFSET 0) AS c
        CROSS JOIN LATERAL (
            -- Both what it was and what it is must allow it.
            SELECT h.key, h.title, h.version, h.metadata,
                   (v_tenant.remote_classifications IS NULL OR h.classification = ANY (v_tenant.remote_classifications)) IS TRUE
                   AND (v_tenant.remote_retained OR h.retain_until IS NULL)
                   AND NOT EXISTS (
                       SELECT FROM sift.documents AS e
                       WHERE e.tenant_id = v_tenant_id AND e.document_id = g.document_id
                         AND ((v_tenant.remote_classifications IS NULL OR e.classification = ANY (v_tenant.remote_classifications)) IS NOT TRUE
                              OR NOT (v_tenant.remote_retained OR e.retain_until IS NULL))) AS may_be_sent
            FROM sift._version_at(v_tenant_id, g.document_id, v_as_of, v_lists) AS h) AS d
        ORDER BY g.rank;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT g.rank::integer + v_skip, g.score, g.lexical_rank, g.lexical_score, g.dense_rank, g.distance, g.chunk_id, g.document_id,
           d.key, d.title, c.kind, array_to_string(c.section_path, ' > '), c.page, c.char_start, c.char_end, d.version, c.body,
           d.metadata, g.duplicates, v_legs, v_path, g.rerank_score, g.former_rank, d.may_be_sent,
           v_snippets[g.rank], v_snippet_starts[g.rank], v_highlights[g.rank], v_claims[g.rank], v_snippet_pages[g.rank],
           v_contexts[g.rank], v_context_starts[g.rank], v_context_pages[g.rank], v_context_ofs[g.rank] + v_skip, CASE WHEN v_dense THEN v_origin END
    FROM unnest(v_page_chunks, v_page_documents, v_page_scores, v_page_lexical_ranks, v_page_lexical_scores, v_page_dense_ranks,
                v_page_distances, v_page_duplicates, v_page_reranked, v_page_former) WITH ORDINALITY
         AS g (chunk_id, document_id, score, lexical_rank, lexical_score, dense_rank, distance, duplicates, rerank_score, former_rank, rank)
    CROSS JOIN LATERAL (
        SELECT s.kind, s.section_path, s.page, s.char_start, s.char_end, s.body FROM sift.chunks AS s
        WHERE s.tenant_id = v_tenant_id AND s.chunk_id = g.chunk_id OFFSET 0) AS c
    CROSS JOIN LATERAL (
        SELECT e.key, e.title, e.version, e.metadata,
               (v_tenant.remote_classifications IS NULL OR e.classification = ANY (v_tenant.remote_classifications)) IS TRUE
               AND (v_tenant.remote_retained OR e.retain_until IS NULL) AS may_be_sent
        FROM sift.documents AS e
        WHERE e.tenant_id = v_tenant_id AND e.document_id = g.document_id OFFSET 0) AS d
    ORDER BY g.rank;
END
$$;
COMMENT ON FUNCTION sift._search(oid, bytea, text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, integer, text, integer) IS
    'Validates, runs the legs, fuses, collapses, caps and truncates: the body of the public search functions.';
REVOKE ALL ON FUNCTION sift._search(oid, bytea, text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, integer, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._search(oid, bytea, text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, integer, text, integer) TO sift_owner, sift_writer, sift_app, sift_reader;
