-- What sift.embed_query and sift.query_vector_terms do once it is known who asks: the terms of the query, and the vector.
CREATE OR REPLACE FUNCTION sift._embed_query(
    caller     oid,
    proof      bytea,
    tenant     text,
    query      text,
    model      text,
    principals text[],
    OUT vector  real[],
    OUT terms   text[],
    OUT weights double precision[],
    OUT fitted  boolean[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_model_id  integer := sift._model_id(v_tenant_id, model);
    v_tenant    record;
    v_fitted    text;
BEGIN
    -- Those who see nothing of the tenant are told nothing of it.
    IF query IS NULL OR cardinality(v_lists) = 0 THEN
        RETURN;
    END IF;
    IF v_model_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006',
            MESSAGE = format('the tenant %s has no embedding model', to_json(tenant)),
            HINT = 'Name one with model; sift.list_models() lists those there are.';
    END IF;
    SELECT t.analyzer, t.statistics INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    SELECT f.forms INTO v_fitted FROM sift.term_fits AS f WHERE f.tenant_id = v_tenant_id AND f.model_id = v_model_id;
    IF v_fitted IS NULL OR (v_tenant.statistics = 'visible' AND v_fitted = 'frequent') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS013',
            MESSAGE = format('the terms of the tenant %s have no vectors of the model %s', to_json(tenant),
                             (SELECT to_json(m.name) FROM sift.embedding_models AS m WHERE m.model_id = v_model_id))
                || CASE WHEN v_fitted IS NOT NULL THEN ' that count with statistics of what is visible' ELSE '' END,
            HINT = format('Run: pgsift models fit-terms %s --tenant %s%s',
                          (SELECT sift._shell_word(m.name) FROM sift.embedding_models AS m WHERE m.model_id = v_model_id), sift._shell_word(tenant),
                          CASE WHEN v_fitted IS NOT NULL THEN ' --anew' ELSE '' END);
    END IF;
    terms := sift._vector_terms(v_tenant.analyzer, (sift._parse_query(query, false)).plain_text);
    SELECT a.vector INTO vector FROM sift._approximate_vector(v_tenant_id, v_model_id, terms, v_lists) AS a;
    -- The weight is an idf: to those it is told who may ask sift.term_statistics, and to all where it is of what they see.
    SELECT array_agg(CASE WHEN v_tenant.statistics = 'visible' OR sift._is_trusted(caller) THEN f.weight END ORDER BY q.place),
           array_agg(f.embedding IS NOT NULL ORDER BY q.place)
    INTO weights, fitted
    FROM unnest(terms) WITH ORDINALITY AS q (term, place)
    LEFT JOIN sift._fitted_terms(v_tenant_id, v_model_id, terms, v_lists) AS f ON f.term = q.term;
END
$$;
COMMENT ON FUNCTION sift._embed_query(oid, bytea, text, text, text, text[]) IS 'The body of sift.embed_query and sift.query_vector_terms, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._embed_query(oid, bytea, text, text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._embed_query(oid, bytea, text, text, text, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
