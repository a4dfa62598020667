-- The vector that the dense leg of a search takes, and where it comes from: given, cached for the text, or approximated by the vectors of its
-- terms; NULL where there is none.
--
-- An approximated vector ranks worse than the model's own, so the weight of its leg is a quarter of the default (measured in docs/query-vectors.md);
-- weights that were asked for stay.
CREATE OR REPLACE FUNCTION sift._query_vector(
    tenant_id  integer,
    model_id   integer,
    analyzer   text,
    query      text,
    plain_text text,
    lists      bigint[],
    mode       text,
    asked      double precision[],
    INOUT vector  real[],
    INOUT weights double precision[],
    OUT origin text
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_model_id  integer := model_id;
    v_text      text := btrim(query, E' \t\r\n');
    v_plain     text := btrim(plain_text, E' \t\r\n');
BEGIN
    origin := CASE WHEN vector IS NOT NULL THEN 'given' END;
    IF vector IS NOT NULL OR query IS NULL OR model_id IS NULL OR cardinality(lists) = 0 THEN
        RETURN;
    END IF;
    SELECT q.embedding, 'cached' INTO vector, origin
    FROM sift.query_embeddings AS q
    WHERE q.tenant_id = v_tenant_id AND q.model_id = v_model_id AND q.query IN (v_plain, v_text)
    ORDER BY q.query = v_plain DESC
    LIMIT 1;
    IF vector IS NULL THEN
        -- With vectors of less than half of the terms it would be the vector of another query.
        SELECT a.vector, 'approximated' INTO vector, origin
        FROM sift._approximate_vector(v_tenant_id, v_model_id, sift._vector_terms(analyzer, plain_text), lists) AS a
        WHERE a.vector IS NOT NULL AND 2 * a.known >= a.total;
        IF vector IS NOT NULL AND asked IS NULL AND mode = 'hybrid' THEN
            weights := ARRAY[weights[1], 0.25::double precision * weights[2]];
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION sift._query_vector(integer, integer, text, text, text, bigint[], text, double precision[], real[], double precision[]) IS
    'The vector of a query: given, cached or approximated, and the weights of the legs with it.';
REVOKE ALL ON FUNCTION sift._query_vector(integer, integer, text, text, text, bigint[], text, double precision[], real[], double precision[]) FROM PUBLIC;
