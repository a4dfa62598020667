-- What a search with these arguments works with once defaults are filled in: terms, vector, filter, legs, constants; for sift._explain and
-- sift._why_not. What sift._search refuses is refused here, by a search for no rows.
--
--   filter_predicate  the filter alone; conditions: with those of the query; predicate: with that of the strategy, too. All read bound.
--   limited           hits that are claims are counted
--   terms, vector     of the legs that run; empty, and NULL, where one does not
--   origin            of the vector: given, cached or approximated
--   reaches           how deep the tiers reach, see sift._search
CREATE OR REPLACE FUNCTION sift._search_settings(
    caller          oid,
    proof           bytea,
    tenant_id       integer,
    tenant          text,
    query           text,
    principals      text[],
    filter          jsonb,
    query_embedding real[],
    mode            text,
    model           text,
    depth           integer,
    as_of           timestamptz,
    plain           boolean,
    strip_questions boolean,
    expand          boolean,
    unit            text,
    strategy        text,
    chooses         boolean,
    INOUT rrf_k           double precision,
    INOUT weights         double precision[],
    INOUT k1              double precision,
    INOUT b               double precision,
    INOUT title_weight    double precision,
    INOUT abstract_weight double precision,
    OUT lists            bigint[],
    OUT statistics       text,
    OUT terms            text[],
    OUT vector           real[],
    OUT origin           text,
    OUT model_id         integer,
    OUT filter_predicate text,
    OUT conditions       text,
    OUT predicate        text,
    OUT limited          boolean,
    OUT bound            jsonb,
    OUT reaches          integer[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_max_depth CONSTANT integer := 10000;
    v_tenant_id integer := tenant_id;
    v_tenant    record;
    v_model     record;
    v_query     record;
    v_model_id  integer;
    v_asked     double precision[] := weights;
BEGIN
    PERFORM FROM sift._search(caller, proof, tenant, query, 0, principals, filter, query_embedding, mode, model, depth, rrf_k, weights,
                              NULL, true, NULL, NULL, as_of, plain => plain, strip_questions => strip_questions, expand => expand,
                              unit => unit, k1 => k1, b => b, title_weight => title_weight, abstract_weight => abstract_weight, strategy => strategy);
    SELECT t.* INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    lists := sift._visible_lists(v_tenant_id, principals, caller);
    statistics := v_tenant.statistics;
    v_model_id := sift._model_id(v_tenant_id, model);
    SELECT m.* INTO v_model FROM sift.embedding_models AS m WHERE m.model_id = v_model_id;
    model_id := v_model_id;
    rrf_k := coalesce(rrf_k, v_tenant.rrf_k);
    k1 := coalesce(k1, v_tenant.k1);
    b := coalesce(b, v_tenant.b);
    title_weight := coalesce(title_weight, v_tenant.title_weight);
    abstract_weight := coalesce(abstract_weight, v_tenant.abstract_weight);
    weights := sift._leg_weights(weights, mode, v_tenant.lexical_weight, v_tenant.dense_weight, v_model.lexical_weight, v_model.dense_weight);
    SELECT f.predicate, f.bound INTO filter_predicate, bound FROM sift._compile_filter(filter) AS f;
    IF as_of IS NOT NULL AND strpos(filter_predicate, 'sift.chunk_entities') > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a filter on entity does not go with as_of',
            HINT = 'Mentions of entities are kept of current texts only; leave one of the two out.';
    END IF;
    v_query := sift._read_query(v_tenant_id, v_tenant.analyzer, query, plain, coalesce(strip_questions, v_tenant.strip_questions),
                                coalesce(expand, v_tenant.expand), lists, as_of, filter_predicate, bound, unit = 'document');
    conditions := v_query.predicate;
    predicate := CASE
        WHEN strategy = 'claims' THEN coalesce('(' || conditions || ') AND ', '') || 'c.kind = ''claim'''
        WHEN strategy = 'chunks' AND v_tenant.has_claims THEN coalesce('(' || conditions || ') AND ', '') || 'c.kind <> ''claim'''
        ELSE conditions END;
    limited := v_tenant.has_claims AND unit <> 'document' AND strategy IN ('merged', 'mixed');
    bound := v_query.bound;
    IF mode = 'lexical' OR mode = 'hybrid' AND weights[1] > 0::double precision THEN
        terms := v_query.terms;
    ELSE
        terms := '{}';
    END IF;
    IF mode = 'dense' OR mode = 'hybrid' AND weights[2] > 0::double precision THEN
        SELECT r.vector, r.weights, r.origin INTO vector, weights, origin
        FROM sift._query_vector(v_tenant_id, v_model_id, v_tenant.analyzer, query, v_query.plain_text, lists, mode, v_asked, query_embedding,
                                weights) AS r;
    END IF;
    reaches := CASE
        WHEN depth IS NOT NULL THEN ARRAY[depth]
        WHEN terms <> '{}' AND vector IS NOT NULL OR chooses OR limited
            THEN ARRAY(SELECT v_tenant.depth << n FROM generate_series(0, 13) AS n WHERE v_tenant.depth << n < v_max_depth) || v_max_depth
        ELSE ARRAY[v_max_depth] END;
END
$$;
COMMENT ON FUNCTION sift._search_settings(oid, bytea, integer, text, text, text[], jsonb, real[], text, text, integer, timestamptz, boolean, boolean, boolean, text, text, boolean, double precision, double precision[], double precision, double precision, double precision, double precision) IS
    'What a search works with once defaults are filled in; refuses what sift._search refuses.';
REVOKE ALL ON FUNCTION sift._search_settings(oid, bytea, integer, text, text, text[], jsonb, real[], text, text, integer, timestamptz, boolean, boolean, boolean, text, text, boolean, double precision, double precision[], double precision, double precision, double precision, double precision) FROM PUBLIC;
