-- Stores vectors of terms, in pgsift's text form [0.1,0.2,…], of which sift.embed_query makes those of queries.
--
--   fitted_to  the last chunk all of whose terms have been looked at, with those of this call; NULL while more of them are to come. It never
--              goes back.
--   forms      frequent or neutral: see sift.term_fits. Vectors of both are not mixed: PS011.
--
-- A term that no chunk holds is left out: making vectors takes long, and the document that was read may be purged meanwhile, its words with it.
CREATE OR REPLACE FUNCTION sift.put_term_embeddings(
    tenant     text,
    model      text,
    terms      text[],
    embeddings text[],
    fitted_to  bigint DEFAULT NULL,
    forms      text DEFAULT 'frequent'
) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer := sift._model_id(v_tenant_id, model);
    v_row       record;
    v_vector    real[];
    v_problem   text;
    v_stored    integer := 0;
BEGIN
    IF v_model_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006', MESSAGE = format('the tenant %s has no embedding model yet', to_json(tenant)),
            HINT = 'Name the model; sift.list_models() lists those there are.';
    END IF;
    IF forms IS NULL OR forms NOT IN ('frequent', 'neutral') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('forms must be frequent or neutral, not %s', coalesce(to_json(left(forms, 100))::text, 'NULL')),
            HINT = 'frequent: vectors are of the most frequent form of a term; neutral: of one the corpus has no say in.';
    END IF;
    IF coalesce(cardinality(terms), 0) <> coalesce(cardinality(embeddings), 0) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('there are %s terms and %s vectors', coalesce(cardinality(terms), 0), coalesce(cardinality(embeddings), 0)),
            HINT = 'Pass one vector for each term.';
    END IF;
    -- Whoever drops the model waits for this transaction, and whoever comes after finds no model.
    PERFORM FROM sift.embedding_models AS m WHERE m.model_id = v_model_id FOR KEY SHARE;
    INSERT INTO sift.term_fits AS f (tenant_id, model_id, fitted_to, forms)
    VALUES (v_tenant_id, v_model_id, 0, put_term_embeddings.forms)
    ON CONFLICT ON CONSTRAINT term_fits_pkey DO NOTHING;
    SELECT f.forms INTO v_row FROM sift.term_fits AS f WHERE f.tenant_id = v_tenant_id AND f.model_id = v_model_id FOR UPDATE;
    IF v_row.forms <> put_term_embeddings.forms THEN
        RAISE EXCEPTION USING ERRCODE = 'PS011',
            MESSAGE = format('the terms have vectors of %s forms, not of %s ones', v_row.forms, forms),
            HINT = 'Remove them first with sift.drop_term_embeddings, or pass the forms that are stored.';
    END IF;
    FOR v_row IN
        SELECT u.term, u.embedding FROM unnest(terms, embeddings) AS u (term, embedding) ORDER BY u.term COLLATE "C"
    LOOP
        IF v_row.term IS NULL OR v_row.term = '' OR octet_length(v_row.term) > 256 THEN
            RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a term has 1 to 256 bytes',
                HINT = 'Terms are what sift.tokenize makes of a text.';
        END IF;
        BEGIN
            v_vector := translate(v_row.embedding, '[]', '{}')::real[];
        EXCEPTION WHEN data_exception THEN
            v_vector := NULL;
        END;
        v_problem := CASE WHEN v_vector IS NULL THEN 'is none' ELSE sift._vector_problem(v_model_id, v_vector) END;
        IF v_problem IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'PS005', MESSAGE = format('the vector of the term %s %s', to_json(v_row.term), v_problem),
                HINT = 'Vectors are written as [0.1,0.2,…], as long as those of the model.';
        END IF;
        INSERT INTO sift.term_embeddings AS e (tenant_id, term, model_id, embedding)
        SELECT v_tenant_id, v_row.term, v_model_id, v_vector
        WHERE EXISTS (SELECT FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant_id AND w.term = v_row.term)
           OR EXISTS (
              SELECT FROM sift.packed_chunks AS d
              CROSS JOIN LATERAL (SELECT FROM sift.posting_blocks AS o
                                  WHERE o.tenant_id = v_tenant_id AND o.block_no = d.block_no AND o.term = v_row.term OFFSET 0) AS r
              WHERE d.tenant_id = v_tenant_id)
        ON CONFLICT ON CONSTRAINT term_embeddings_pkey DO UPDATE SET embedding = excluded.embedding;
        v_stored := v_stored + FOUND::integer;
    END LOOP;
    IF fitted_to IS NOT NULL THEN
        UPDATE sift.term_fits AS f
        SET fitted_to = greatest(f.fitted_to, put_term_embeddings.fitted_to), fitted_at = now()
        WHERE f.tenant_id = v_tenant_id AND f.model_id = v_model_id;
    END IF;
    RETURN v_stored;
END
$$;
COMMENT ON FUNCTION sift.put_term_embeddings(text, text, text[], text[], bigint, text) IS
    'Stores vectors of terms, and up to which chunk terms have them; returns how many were stored. A term that has one of the model gets the new one, and one that no chunk holds (any more) none.';
REVOKE ALL ON FUNCTION sift.put_term_embeddings(text, text, text[], text[], bigint, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_term_embeddings(text, text, text[], text[], bigint, text) TO sift_owner, sift_writer;
