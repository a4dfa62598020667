-- Late interaction: for each chunk, in the order given, the sum over the tokens of the query of the greatest inner product with a token of
-- the chunk; NULL where the chunk has no token vectors of the model. Exact, over the stored half precision, to which the query is rounded too.
--
--   O. Khattab, M. Zaharia: ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over BERT, SIGIR 2020.
CREATE OR REPLACE FUNCTION sift._maxsim(tenant_id integer, token_model_id integer, chunk_ids bigint[], query real[]) RETURNS double precision[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_schema name := sift._vector_schema();
    v_tokens text := (
        SELECT '{' || string_agg('"[' || r.row || ']"', ',' ORDER BY r.n) || '}'
        FROM (SELECT i.n, string_agg(query[i.n][j.m]::text, ',' ORDER BY j.m) AS row
              FROM generate_subscripts(query, 1) AS i (n) CROSS JOIN generate_subscripts(query, 2) AS j (m)
              GROUP BY i.n) AS r);
    v_scores double precision[];
BEGIN
    -- The array of a chunk is fetched once (|| and OFFSET 0), and unnested once: for each token of the query its rows are read again.
    -- The operator gives the negative inner product, so that the greatest is the least.
    EXECUTE format(
        'WITH tokens AS MATERIALIZED (SELECT q.one, q.place FROM unnest($4::%1$I.halfvec[]) WITH ORDINALITY AS q (one, place))'
        ' SELECT array_agg(s.score ORDER BY i.n)'
        ' FROM unnest($3) WITH ORDINALITY AS i (id, n)'
        ' LEFT JOIN LATERAL ('
        '  SELECT (SELECT -sum(b.least ORDER BY q.place)'
        '          FROM tokens AS q'
        '          CROSS JOIN LATERAL (SELECT min(q.one OPERATOR(%1$I.<#>) v.one) AS least FROM unnest(e.embeddings) AS v (one)) AS b) AS score'
        '  FROM (SELECT t.embeddings || ''{}''::%1$I.halfvec[] AS embeddings FROM sift.chunk_token_embeddings AS t'
        '        WHERE t.tenant_id = $1 AND t.token_model_id = $2 AND t.chunk_id = i.id OFFSET 0) AS e'
        ' OFFSET 0) AS s ON true', v_schema)
    INTO v_scores
    USING tenant_id, token_model_id, chunk_ids, v_tokens;
    RETURN v_scores;
END
$$;
COMMENT ON FUNCTION sift._maxsim(integer, integer, bigint[], real[]) IS
    'For each chunk the sum over the query''s tokens of the greatest inner product with one of its tokens; NULL without token vectors.';
REVOKE ALL ON FUNCTION sift._maxsim(integer, integer, bigint[], real[]) FROM PUBLIC;
