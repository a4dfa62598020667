-- What sift.choose_chunks does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._choose_chunks(
    caller       oid,
    proof        bytea,
    tenant       text,
    chunk_ids    bigint[],
    scores       double precision[],
    k            integer,
    principals   text[],
    per_document integer,
    mmr          double precision,
    token_budget integer,
    model        text
)
RETURNS TABLE (rank integer, chunk_id bigint, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_most      CONSTANT integer := 10000;
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_model_id  integer := sift._model_id(v_tenant_id, model);
    v_chunks    bigint[];
    v_documents bigint[];
    v_scores    double precision[];
    v_positions integer[];
BEGIN
    IF k IS NULL OR k < 0 OR k > v_most THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must lie between 0 and %s, not %s', v_most, coalesce(k::text, 'NULL')),
            HINT = 'k is the number of rows wanted; 10 is the default.';
    END IF;
    IF EXISTS (SELECT FROM unnest(chunk_ids) AS i (id) WHERE i.id IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'chunk_ids must hold no NULL', HINT = 'Each is the chunk_id of a row that a search returned.';
    END IF;
    IF coalesce(cardinality(chunk_ids), 0) <> coalesce(cardinality(scores), 0) OR cardinality(chunk_ids) > v_most THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('there are %s chunks and %s scores', coalesce(cardinality(chunk_ids), 0), coalesce(cardinality(scores), 0)),
            HINT = format('Pass one score for each chunk, at most %s.', v_most);
    END IF;
    IF EXISTS (SELECT FROM unnest(scores) AS s (score)
               WHERE s.score IN ('NaN'::double precision, 'Infinity'::double precision, '-Infinity'::double precision)) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'scores must be finite numbers',
            HINT = 'NULL stands for a chunk without a score, which comes last.';
    END IF;
    PERFORM sift._check_choice(per_document, mmr, token_budget, k);
    SELECT array_agg(o.chunk_id ORDER BY o.score DESC NULLS LAST, o.place), array_agg(o.document_id ORDER BY o.score DESC NULLS LAST, o.place),
           array_agg(o.score ORDER BY o.score DESC NULLS LAST, o.place)
    INTO v_chunks, v_documents, v_scores
    FROM (SELECT DISTINCT ON (i.id) i.id AS chunk_id, i.score, i.place, c.document_id
          FROM unnest(chunk_ids, scores) WITH ORDINALITY AS i (id, score, place)
          CROSS JOIN LATERAL (SELECT s.document_id FROM sift.chunks AS s
                              WHERE s.tenant_id = v_tenant_id AND s.chunk_id = i.id AND s.access_list_id = ANY (v_lists) OFFSET 0) AS c
          ORDER BY i.id, i.score DESC NULLS LAST, i.place) AS o;
    SELECT c.positions INTO v_positions
    FROM sift._choose(v_tenant_id, v_model_id, v_chunks, v_documents, array_fill(0, ARRAY[coalesce(cardinality(v_chunks), 0)]), v_scores, k,
                      coalesce(per_document, 2147483647), mmr, token_budget, NULL) AS c;
    RETURN QUERY
    SELECT p.n::integer, v_chunks[p.position], v_scores[p.position]
    FROM unnest(v_positions) WITH ORDINALITY AS p (position, n)
    ORDER BY p.n;
END
$$;
COMMENT ON FUNCTION sift._choose_chunks(oid, bytea, text, bigint[], double precision[], integer, text[], integer, double precision, integer, text) IS
    'The body of sift.choose_chunks, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._choose_chunks(oid, bytea, text, bigint[], double precision[], integer, text[], integer, double precision, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._choose_chunks(oid, bytea, text, bigint[], double precision[], integer, text[], integer, double precision, integer, text) TO sift_owner, sift_writer, sift_app, sift_reader;
