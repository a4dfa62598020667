-- Of which models the terms of a tenant have vectors, and how much was stored since they were made. Counted, a second for a million chunks.
CREATE OR REPLACE FUNCTION sift.show_term_fits(tenant text, of_model text DEFAULT NULL)
RETURNS TABLE (model text, forms text, terms bigint, fitted_to bigint, fitted_at timestamptz, chunks bigint, later_chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_asked     integer := CASE WHEN of_model IS NOT NULL THEN sift._model_id(v_tenant_id, of_model) END;
BEGIN
    RETURN QUERY
    SELECT m.name, f.forms, t.terms, coalesce(f.fitted_to, 0), f.fitted_at, c.chunks, c.later
    FROM sift.embedding_models AS m
    LEFT JOIN sift.term_fits AS f ON f.tenant_id = v_tenant_id AND f.model_id = m.model_id
    CROSS JOIN LATERAL (SELECT count(*) AS terms FROM sift.term_embeddings AS e
                        WHERE e.tenant_id = v_tenant_id AND e.model_id = m.model_id OFFSET 0) AS t
    CROSS JOIN LATERAL (SELECT count(*) AS chunks, count(*) FILTER (WHERE x.chunk_id > coalesce(f.fitted_to, 0)) AS later
                        FROM sift.chunks AS x WHERE x.tenant_id = v_tenant_id AND x.doc_length > 0 OFFSET 0) AS c
    WHERE m.model_id = v_asked OR v_asked IS NULL AND f.model_id IS NOT NULL
    ORDER BY m.name COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.show_term_fits(text, text) IS
    'The models of which the terms of a tenant have vectors, or the one named: how many terms, of which forms, up to which chunk and since when; how many ranked chunks there are, and how many are later than that, whose words may lack vectors.';
REVOKE ALL ON FUNCTION sift.show_term_fits(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.show_term_fits(text, text) TO sift_owner, sift_writer;
