-- Which of some terms have no vector of a model.
CREATE OR REPLACE FUNCTION sift.terms_without_embedding(tenant text, model text, terms text[]) RETURNS TABLE (term text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer := sift._model_id(v_tenant_id, model);
BEGIN
    RETURN QUERY
    SELECT q.term
    FROM (SELECT DISTINCT u.term COLLATE "C" AS term FROM unnest(terms) AS u (term)) AS q
    LEFT JOIN LATERAL (
        SELECT true AS held FROM sift.term_embeddings AS e
        WHERE e.tenant_id = v_tenant_id AND e.term = q.term AND e.model_id = v_model_id OFFSET 0) AS e ON true
    WHERE e.held IS NULL
    ORDER BY q.term;
END
$$;
COMMENT ON FUNCTION sift.terms_without_embedding(text, text, text[]) IS 'Those of the given terms that have no vector of the model.';
REVOKE ALL ON FUNCTION sift.terms_without_embedding(text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.terms_without_embedding(text, text, text[]) TO sift_owner, sift_writer;
