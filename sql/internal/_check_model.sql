-- Refuses a search by a model that has no vector of any chunk the caller may see, while other models have: it would find nothing, and look as if
-- nothing were there. Chunks that are invisible decide nothing here, and where no model has a vector of a visible one nothing is said.
CREATE OR REPLACE FUNCTION sift._check_model(tenant_id integer, model_id integer, lists bigint[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_model_id  integer := model_id;
    v_others    text;
BEGIN
    PERFORM FROM sift.chunk_embeddings AS e
    WHERE e.tenant_id = v_tenant_id AND e.model_id = v_model_id AND e.access_list_id = ANY (lists)
    LIMIT 1;
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT string_agg(to_json(m.name)::text, ', ' ORDER BY m.name COLLATE "C") INTO v_others
    FROM sift.embedding_models AS m
    CROSS JOIN LATERAL (SELECT FROM sift.chunk_embeddings AS e
                        WHERE e.tenant_id = v_tenant_id AND e.model_id = m.model_id AND e.access_list_id = ANY (lists)
                        LIMIT 1) AS o
    WHERE m.model_id <> v_model_id;
    IF v_others IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS013',
            MESSAGE = format('no chunk has a vector of the model %s here; there are vectors of %s',
                             (SELECT to_json(m.name) FROM sift.embedding_models AS m WHERE m.model_id = v_model_id), v_others),
            HINT = 'Search with one of these; pgsift models backfill makes the vectors of a model for what is stored.';
    END IF;
END
$$;
COMMENT ON FUNCTION sift._check_model(integer, integer, bigint[]) IS 'Raises PS013, naming those that have, where a model has no vector of a visible chunk and others do.';
REVOKE ALL ON FUNCTION sift._check_model(integer, integer, bigint[]) FROM PUBLIC;
