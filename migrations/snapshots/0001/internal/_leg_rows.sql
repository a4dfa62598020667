-- The legs of a search to a depth, as sift._search runs them: one row per rank of each. No terms: no lexical leg; no vector: no dense one.
--
--   figure       the BM25 score (leg 'lexical') or the distance ('dense')
--   document_id  in the document unit; NULL otherwise
CREATE OR REPLACE FUNCTION sift._leg_rows(
    tenant_id       integer,
    unit            text,
    terms           text[],
    vector          real[],
    model_id        integer,
    lists           bigint[],
    predicate       text,
    bound           jsonb,
    depth           integer,
    k1              double precision,
    b               double precision,
    title_weight    double precision,
    abstract_weight double precision,
    statistics      text,
    as_of           timestamptz
)
RETURNS TABLE (leg text, place integer, chunk_id bigint, document_id bigint, figure double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_lexical boolean := coalesce(cardinality(terms), 0) > 0;
    v_dense   boolean := vector IS NOT NULL;
    v_units   boolean := unit = 'document' OR title_weight <> 1::double precision OR abstract_weight <> 1::double precision;
BEGIN
    IF v_lexical AND v_units THEN
        RETURN QUERY SELECT 'lexical', l.place::integer, l.chunk_id, CASE WHEN unit = 'document' THEN l.document_id END, l.score
        FROM sift._lexical_units(tenant_id, unit, terms, lists, predicate, bound, depth, k1, b, title_weight, abstract_weight, statistics, as_of)
             WITH ORDINALITY AS l (chunk_id, document_id, score, place);
    ELSIF v_lexical AND statistics = 'visible' THEN
        RETURN QUERY SELECT 'lexical', l.place::integer, l.chunk_id, NULL::bigint, l.score
        FROM sift._lexical_visible(tenant_id, terms, lists, predicate, bound, depth, k1, b, as_of) WITH ORDINALITY AS l (chunk_id, score, place);
    ELSIF v_lexical AND as_of IS NOT NULL THEN
        RETURN QUERY SELECT 'lexical', l.place::integer, l.chunk_id, NULL::bigint, l.score
        FROM sift._lexical_as_of(tenant_id, terms, lists, predicate, bound, depth, k1, b, as_of) WITH ORDINALITY AS l (chunk_id, score, place);
    ELSIF v_lexical THEN
        RETURN QUERY SELECT 'lexical', l.place::integer, l.chunk_id, NULL::bigint, l.score
        FROM sift._lexical_leg(tenant_id, terms, lists, predicate, bound, depth, k1, b) WITH ORDINALITY AS l (chunk_id, score, place);
    END IF;
    IF v_dense AND unit = 'document' THEN
        RETURN QUERY SELECT 'dense', n.place::integer, n.chunk_id, n.document_id, n.distance
        FROM sift._dense_documents(tenant_id, model_id, vector, lists, predicate, bound, depth, as_of)
             WITH ORDINALITY AS n (chunk_id, document_id, distance, path, place);
    ELSIF v_dense AND as_of IS NOT NULL THEN
        RETURN QUERY SELECT 'dense', n.place::integer, n.chunk_id, NULL::bigint, n.distance
        FROM sift._dense_as_of(tenant_id, model_id, vector, lists, predicate, bound, depth, as_of) WITH ORDINALITY AS n (chunk_id, distance, path, place);
    ELSIF v_dense THEN
        RETURN QUERY SELECT 'dense', n.place::integer, n.chunk_id, NULL::bigint, n.distance
        FROM sift._dense_leg(tenant_id, model_id, vector, lists, predicate, bound, depth) WITH ORDINALITY AS n (chunk_id, distance, path, place);
    END IF;
END
$$;
COMMENT ON FUNCTION sift._leg_rows(integer, text, text[], real[], integer, bigint[], text, jsonb, integer, double precision, double precision, double precision, double precision, text, timestamptz) IS
    'The legs of a search to a depth, one row per rank of each.';
REVOKE ALL ON FUNCTION sift._leg_rows(integer, text, text[], real[], integer, bigint[], text, jsonb, integer, double precision, double precision, double precision, double precision, text, timestamptz) FROM PUBLIC;
