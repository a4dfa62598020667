-- What sift.why_not does once it is known who asks. Whether it is there is asked of sift._search itself; why not, of the same steps one by
-- one (sift._fused_rows).
CREATE OR REPLACE FUNCTION sift._why_not(
    caller          oid,
    proof           bytea,
    tenant          text,
    query           text,
    key             text,
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
    collapse_clusters boolean,
    skip            integer,
    mmr             double precision,
    token_budget    integer,
    query_token_embeddings real[],
    token_model     text,
    plain           boolean,
    strip_questions boolean,
    expand          boolean,
    unit            text,
    k1              double precision,
    b               double precision,
    title_weight    double precision,
    abstract_weight double precision,
    chunk           bigint,
    strategy        text,
    claims_k        integer
)
RETURNS TABLE (
    reason         text,
    sentence       text,
    document_key   text,
    chunk_id       bigint,
    rank           integer,
    score          double precision,
    lexical_rank   integer,
    lexical_score  double precision,
    dense_rank     integer,
    distance       double precision,
    other_key      text,
    other_chunk_id bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_max_depth CONSTANT integer := 10000;
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_key       text := key;
    v_chunk_id  bigint := chunk;
    v_unit      text := unit;
    v_whole     boolean := unit = 'document';
    v_as_of     timestamptz := as_of;
    v_rows      integer := k + coalesce(skip, 0);
    v_cap       integer := per_document;
    v_collapse  boolean := coalesce(collapse, false);
    v_clusters  boolean := coalesce(collapse_clusters, false);
    v_chooses   boolean := query_token_embeddings IS NOT NULL OR mmr IS NOT NULL OR token_budget IS NOT NULL;
    v_what      text;
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    s           record;
    v_document  bigint;
    v_seen      record;
    v_hit       record;
    v_row       record;
    v_depths    integer[];
    v_deepest   integer;
    v_only      text;
    v_lexical   record;
    v_dense     record;
    v_lexical_in boolean;
    v_dense_in  boolean;
    v_score_text text;
    v_distance_text text;
BEGIN
    IF (v_key IS NULL) = (v_chunk_id IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'why_not wants the key of a document or a chunk, and not both',
            HINT = 'sift.why_not(tenant, query, ''KEY'') for a document, chunk => 42 for one passage.';
    END IF;
    v_what := CASE WHEN v_key IS NOT NULL THEN 'document' ELSE 'chunk' END;

    IF v_key IS NOT NULL THEN
        v_document := sift._seen_document(v_tenant_id, v_key, v_lists, v_as_of);
    ELSE
        v_document := (SELECT c.document_id FROM sift._chunks_seen(v_tenant_id, v_lists, NULL, v_chunk_id, NULL, NULL, NULL, v_as_of) AS c);
        chunk_id := v_chunk_id;
        IF v_whole THEN
            v_chunk_id := NULL;  -- documents are ranked: its own is asked about
        END IF;
    END IF;
    -- Run for what is not visible too: what a search refuses is refused, whatever it is asked about.
    SELECT h.* INTO v_hit FROM sift._search(
        caller, proof, tenant, query, k, principals, filter, query_embedding, mode, model, depth, rrf_k, weights, per_document, collapse,
        min_score, max_distance, as_of, collapse_clusters, skip => skip, mmr => mmr, token_budget => token_budget,
        query_token_embeddings => query_token_embeddings, token_model => token_model, plain => plain, strip_questions => strip_questions,
        expand => expand, unit => unit, k1 => k1, b => b, title_weight => title_weight, abstract_weight => abstract_weight,
        strategy => strategy, claims_k => claims_k) AS h
    WHERE h.document_id = coalesce(v_document, -1)  -- a comparison with NULL would never run the search
      AND (v_chunk_id IS NULL OR h.chunk_id = v_chunk_id)
    ORDER BY h.rank LIMIT 1;
    s := sift._search_settings(caller, proof, v_tenant_id, tenant, query, principals, filter, query_embedding, mode, model, depth, v_as_of,
                               plain, strip_questions, expand, v_unit, strategy, v_chooses, rrf_k, weights, k1, b, title_weight, abstract_weight);
    IF v_document IS NULL THEN
        reason := 'absent';
        chunk_id := NULL;
        sentence := format('There is no such %s, or none that you may see.', v_what);
        -- As much of its past as sift.document_history tells.
        IF v_key IS NOT NULL AND v_as_of IS NULL AND EXISTS (
            SELECT FROM sift.document_versions AS h
            WHERE h.tenant_id = v_tenant_id AND h.key = v_key AND h.event = 'deleted'
              AND (sift._list_today(v_tenant_id, h.document_id, h.key, s.lists) = ANY (s.lists)) IS TRUE)
        THEN
            reason := 'deleted';
            sentence := 'It was deleted: sift.document_history tells when.';
        END IF;
        RETURN NEXT;
        RETURN;
    END IF;
    IF v_as_of IS NULL THEN
        document_key := (SELECT d.key FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.document_id = v_document);
    ELSE
        document_key := (SELECT d.key FROM sift._version_at(v_tenant_id, v_document, v_as_of, s.lists) AS d);
    END IF;

    IF v_hit.rank IS NOT NULL THEN
        reason := 'found';
        sentence := format('It is there, at rank %s.', v_hit.rank);
        chunk_id := v_hit.chunk_id; rank := v_hit.rank; score := v_hit.score; lexical_rank := v_hit.lexical_rank;
        lexical_score := v_hit.lexical_score; dense_rank := v_hit.dense_rank; distance := v_hit.distance;
        RETURN NEXT;
        RETURN;
    END IF;

    SELECT bool_or(c.passes_filter) AS filter, bool_or(c.passes) AS conditions, bool_or(c.passes AND t.suits) AS strategy,
           coalesce(bool_or(c.passes AND t.suits AND CASE WHEN v_whole THEN c.tokens > 0 ELSE c.ranked END), false) AS ranked,
           array_agg(c.chunk_id ORDER BY c.ordinal) FILTER (WHERE c.passes AND t.suits AND c.ranked) AS passing,
           array_agg(c.ordinal) AS ordinals, count(*) AS chunks
    INTO v_seen
    FROM sift._chunks_seen(v_tenant_id, s.lists, v_document, v_chunk_id, s.filter_predicate, s.conditions, s.bound, v_as_of) AS c
    CROSS JOIN LATERAL (SELECT strategy NOT IN ('claims', 'chunks') OR (strategy = 'claims') = (c.kind = 'claim') AS suits) AS t;
    reason := CASE
        WHEN v_seen.chunks > 0 AND NOT v_seen.filter THEN 'filtered'
        WHEN v_seen.chunks > 0 AND NOT v_seen.conditions THEN 'conditions'
        WHEN v_seen.chunks > 0 AND NOT v_seen.strategy THEN 'strategy'
        WHEN NOT v_seen.ranked THEN 'unranked' END;
    IF reason IS NOT NULL THEN
        sentence := CASE reason
            WHEN 'filtered' THEN format('The %s does not pass the filter.', v_what)
            WHEN 'conditions' THEN format('The %s does not meet a condition of the query: a phrase, a word with + or one with -.', v_what)
            WHEN 'strategy' THEN CASE strategy WHEN 'claims' THEN format('The strategy is claims, and the %s is none and has none.', v_what)
                                 ELSE format('The strategy is chunks, and the %s is a claim or has claims alone.', v_what) END
            ELSE CASE WHEN v_what = 'chunk' THEN 'Chunks of its kind or length are not ranked.'
                      ELSE 'The document has no chunk that is ranked: its text is empty, too short, or only titles, headings and references.' END END;
        RETURN NEXT;
        RETURN;
    END IF;

    -- As deep as the search begins, then as deep as it can go.
    v_deepest := s.reaches[cardinality(s.reaches)];
    v_depths := ARRAY[CASE
        WHEN depth IS NOT NULL OR v_chooses OR s.limited OR s.terms <> '{}' AND s.vector IS NOT NULL
            THEN (SELECT min(r.reach) FROM unnest(s.reaches) AS r (reach) WHERE r.reach >= v_rows)
        WHEN v_collapse AND NOT v_whole OR v_clusters OR coalesce(v_cap, 2147483647) < v_rows THEN least(2 * v_rows + 10, v_max_depth)
        ELSE greatest(v_rows, 1) END, v_deepest];
    FOR i IN 1 .. 2 LOOP
        CONTINUE WHEN i = 2 AND v_depths[1] = v_depths[2];
        SELECT f.* INTO v_row
        FROM (SELECT g.*, max(CASE WHEN g.of_document = v_cap THEN g.chunk_id END) OVER (PARTITION BY g.document_id) AS last_of_document
              FROM sift._fused_rows(v_tenant_id, v_unit, s.terms, s.vector, s.model_id, s.lists, s.predicate, s.bound, v_depths[i], s.k1, s.b,
                                    s.title_weight, s.abstract_weight, s.statistics, v_as_of, s.reaches, s.weights, s.rrf_k,
                                    min_score, max_distance, v_collapse, v_clusters, CASE WHEN NOT v_chooses THEN v_cap END,
                                    s.limited, s.limited AND strategy = 'merged', claims_k) AS g) AS f
        WHERE f.document_id = v_document AND (v_chunk_id IS NULL OR f.chunk_id = v_chunk_id)
        ORDER BY f.place
        LIMIT 1;
        EXIT WHEN FOUND;
    END LOOP;
    IF v_row.place IS NOT NULL THEN
        chunk_id := v_row.chunk_id; rank := coalesce(v_row.rank, v_row.place); score := v_row.score; lexical_rank := v_row.lexical_rank;
        lexical_score := v_row.lexical_score; dense_rank := v_row.dense_rank; distance := v_row.distance;
        reason := CASE
            WHEN v_row.copy_of IS NOT NULL THEN 'collapsed'
            WHEN v_row.led_by IS NOT NULL THEN 'near_duplicate'
            WHEN v_row.covered_by IS NOT NULL THEN 'covered'
            WHEN v_row.surplus THEN 'surplus_claim'
            WHEN v_row.rank IS NULL THEN 'capped'
            WHEN v_chooses THEN 'not_chosen'
            WHEN v_row.rank > v_rows THEN 'beyond_k'
            WHEN v_row.rank <= coalesce(skip, 0) THEN 'earlier_page'
            ELSE 'missed_by_index' END;
        other_chunk_id := CASE reason WHEN 'collapsed' THEN v_row.copy_of WHEN 'covered' THEN v_row.covered_by WHEN 'capped' THEN v_row.last_of_document END;
        other_key := CASE
            WHEN reason IN ('capped', 'covered') THEN document_key
            WHEN reason IN ('collapsed', 'near_duplicate') THEN (
                SELECT CASE WHEN v_as_of IS NULL
                            THEN (SELECT d.key FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.document_id = o.document_id)
                            ELSE (SELECT d.key FROM sift._version_at(v_tenant_id, o.document_id, v_as_of, s.lists) AS d) END
                FROM (SELECT coalesce(v_row.led_by, (
                          SELECT c.document_id FROM sift._chunks_seen(v_tenant_id, s.lists, NULL, v_row.copy_of, NULL, NULL, NULL, v_as_of) AS c)) AS document_id) AS o) END;
        sentence := CASE reason
            WHEN 'collapsed' THEN format('Its best passage, chunk %s, would come at place %s, but has the same text as chunk %s of %s, which stands for it.',
                                         chunk_id, rank, other_chunk_id, to_json(other_key))
            WHEN 'near_duplicate' THEN format('It would come at place %s, but is a near-duplicate of %s, which stands for it.', rank, to_json(other_key))
            WHEN 'covered' THEN format('It would come at place %s, but claim %s, which it supports, stands for it.', rank, other_chunk_id)
            WHEN 'surplus_claim' THEN format('It would come at place %s, but is a claim, and claims_k lets %s of them be hits.', rank, claims_k)
            WHEN 'capped' THEN format('It would come at place %s, but its document has already given %s, as many as per_document allows; the last is chunk %s.',
                                      rank, v_cap, other_chunk_id)
            WHEN 'not_chosen' THEN format('It comes at rank %s of the fused ranking; of these, %s chose others.', rank,
                                          concat_ws(' and ', CASE WHEN query_token_embeddings IS NOT NULL THEN 'late interaction' END,
                                                    CASE WHEN mmr IS NOT NULL THEN 'mmr' END, CASE WHEN token_budget IS NOT NULL THEN 'the token budget' END))
            WHEN 'beyond_k' THEN format('It comes at rank %s, and the hits asked for end at rank %s.', rank, v_rows)
            WHEN 'earlier_page' THEN format('It comes at rank %s, among the %s that skip leaves out.', rank, skip)
            ELSE format('It belongs at rank %s, but the index of vectors, which is approximate, did not give it.', rank) END;
        RETURN NEXT;
        RETURN;
    END IF;

    -- It is in neither leg, or below a floor of each it is in. Its raw figures, from a ranking of its own chunks alone.
    v_only := coalesce('(' || s.predicate || ') AND ', '') || format('c.document_id = %s', v_document)
              || CASE WHEN v_chunk_id IS NULL THEN '' ELSE format(' AND c.ordinal = %s', v_seen.ordinals[1]) END;
    SELECT t.id AS chunk_id, sum(t.contribution ORDER BY t.df, t.term COLLATE "C") AS figure INTO v_lexical
    FROM sift._term_parts(v_tenant_id, v_unit, s.terms, CASE WHEN v_whole THEN ARRAY[v_document] ELSE v_seen.passing END, s.lists, s.k1, s.b,
                          s.title_weight, s.abstract_weight, s.statistics, v_as_of) AS t
    WHERE t.contribution > 0::double precision
    GROUP BY t.id
    ORDER BY figure DESC, t.id
    LIMIT 1;
    SELECT r.chunk_id, r.figure INTO v_dense
    FROM sift._leg_rows(v_tenant_id, v_unit, NULL, s.vector, s.model_id, s.lists, v_only, s.bound, 1, s.k1, s.b, s.title_weight,
                        s.abstract_weight, s.statistics, v_as_of) AS r;
    lexical_score := v_lexical.figure;
    distance := v_dense.figure;
    IF NOT v_whole THEN
        chunk_id := coalesce(v_lexical.chunk_id, v_dense.chunk_id);
    END IF;
    v_lexical_in := v_lexical.figure IS NOT NULL AND (min_score IS NULL OR v_lexical.figure >= min_score);
    v_dense_in := v_dense.figure IS NOT NULL AND (max_distance IS NULL OR v_dense.figure <= max_distance);
    IF v_lexical.figure IS NULL AND v_dense.figure IS NULL THEN
        reason := CASE WHEN s.terms = '{}' THEN 'no_vector' ELSE 'no_match' END;
        sentence := concat_ws(' ', CASE WHEN s.terms <> '{}' THEN 'No term of the query occurs in it.' END,
                              CASE WHEN s.vector IS NOT NULL THEN 'It has no vector of the model.'
                                   WHEN mode <> 'lexical' THEN 'There is no query vector, or it has no weight.' END);
        RETURN NEXT;
        RETURN;
    END IF;
    v_score_text := trim_scale(round(v_lexical.figure::numeric, 6))::text;
    v_distance_text := trim_scale(round(v_dense.figure::numeric, 6))::text;
    IF NOT v_lexical_in AND NOT v_dense_in THEN
        reason := 'below_floor';
        sentence := concat_ws(' ', CASE WHEN lexical_score IS NOT NULL THEN format('Its lexical score, %s, is below min_score, %s.', v_score_text, min_score) END,
                              CASE WHEN distance IS NOT NULL THEN format('Its distance, %s, is greater than max_distance, %s.', v_distance_text, max_distance) END);
        RETURN NEXT;
        RETURN;
    END IF;
    reason := 'beyond_depth';
    FOR v_row IN
        SELECT r.leg, min(r.place) AS place
        FROM sift._leg_rows(v_tenant_id, v_unit, CASE WHEN v_lexical_in THEN s.terms END, CASE WHEN v_dense_in THEN s.vector END, s.model_id, s.lists,
                            s.predicate, s.bound, v_max_depth, s.k1, s.b, s.title_weight, s.abstract_weight, s.statistics, v_as_of) AS r
        WHERE CASE WHEN v_whole THEN r.document_id = v_document ELSE r.chunk_id = ANY (v_seen.passing) END
        GROUP BY r.leg
    LOOP
        IF v_row.leg = 'lexical' THEN
            lexical_rank := v_row.place;
        ELSE
            dense_rank := v_row.place;
        END IF;
    END LOOP;
    sentence := concat_ws(' ',
        CASE WHEN v_lexical_in THEN format('By its words it comes %s, beyond depth %s.',
            coalesce('at rank ' || lexical_rank, format('after rank %s', v_max_depth)), v_deepest) END,
        CASE WHEN v_dense_in THEN format('By its vector it comes %s, beyond depth %s.',
            coalesce('at rank ' || dense_rank, format('after rank %s', v_max_depth)), v_deepest) END);
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION sift._why_not(oid, bytea, text, text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, bigint, text, integer) IS
    'The body of sift.why_not, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._why_not(oid, bytea, text, text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, bigint, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._why_not(oid, bytea, text, text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, bigint, text, integer) TO sift_owner, sift_writer, sift_app, sift_reader;
