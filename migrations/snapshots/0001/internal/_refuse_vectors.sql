-- Finds the vector of a batch that cannot be stored, and refuses the batch in its name: by the document's key, since the number of
-- a chunk means nothing to whoever sends it. Always raises.
CREATE OR REPLACE FUNCTION sift._refuse_vectors(
    tenant_id integer, model_id integer, chunk_ids bigint[], embeddings text[], reason text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_numbers   real[];
    v_problem   text;
    v_where     text;
BEGIN
    FOR v_i IN 1 .. cardinality(chunk_ids) LOOP
        CONTINUE WHEN embeddings[v_i] IS NULL;
        BEGIN
            IF embeddings[v_i] ~ '["{}]' OR embeddings[v_i] !~ E'^\\s*\\[' THEN
                v_problem := 'is not a list of numbers like [0.1,0.2], but something that begins with ' || left(embeddings[v_i], 20);
            ELSE
                v_numbers := translate(embeddings[v_i], '[]', '{}')::real[];
                v_problem := sift._vector_problem(model_id, v_numbers);
            END IF;
        EXCEPTION WHEN data_exception THEN
            v_problem := format('is not a list of numbers like [0.1,0.2] in single precision (%s)', SQLERRM);
        END;
        IF v_problem IS NOT NULL THEN
            SELECT format('chunk %s of %s', c.ordinal + 1, to_json(left(d.key, 200))) INTO v_where
            FROM sift.chunks AS c
            JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
            WHERE c.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND c.chunk_id = chunk_ids[v_i];
            RAISE EXCEPTION USING ERRCODE = 'PS005',
                MESSAGE = format('the vector of %s %s', coalesce(v_where, format('chunk number %s', chunk_ids[v_i])), v_problem),
                DETAIL = format('It is number %s of the %s vectors passed.', v_i, cardinality(embeddings)),
                HINT = 'A chunk may be stored without a vector: leave it out, or pass NULL.';
        END IF;
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = 'PS005', MESSAGE = format('a vector cannot be stored: %s', reason),
            HINT = 'Vectors are written like [0.1,0.2], as many numbers as the model has dimensions; sift.list_models() shows it.';
END
$$;
COMMENT ON FUNCTION sift._refuse_vectors(integer, integer, bigint[], text[], text) IS 'Raises PS005 naming the first vector of a batch that cannot be stored, and why.';
REVOKE ALL ON FUNCTION sift._refuse_vectors(integer, integer, bigint[], text[], text) FROM PUBLIC;
