-- For sift._choose: the greatest likeness of each candidate to one that was chosen, after one more was.
--
--   chosen   place of the one more; likes: what was known before
--   vectors  which candidates have a vector; places, terms: their distinct terms, each with the place of its chunk
CREATE OR REPLACE FUNCTION sift._likenesses(
    tenant_id integer,
    model_id  integer,
    chunk_ids bigint[],
    chosen    integer,
    likes     double precision[],
    vectors   boolean[],
    places    integer[],
    terms     text[],
    as_of     timestamptz
) RETURNS double precision[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_schema  name := sift._vector_schema();
    v_stored  text;
    v_cosines double precision[];
    v_likes   double precision[] := likes;
BEGIN
    IF vectors[chosen] THEN
        v_stored := format(
            'SELECT coalesce(v.embedding, v.half_embedding::%1$I.vector) AS embedding FROM sift.chunk_embeddings AS v'
            ' WHERE v.tenant_id = $1 AND v.model_id = $2 AND v.chunk_id = %%1$s%2$s',
            v_schema,
            CASE WHEN as_of IS NOT NULL THEN format(
                ' UNION ALL SELECT h.embedding::%1$I.vector FROM sift.vector_history AS h'
                ' WHERE h.tenant_id = $1 AND h.model_id = $2 AND h.chunk_id = %%1$s', v_schema) ELSE '' END);
        -- The cosine to a vector of zeros, which only metrics without cosines allow, is NaN.
        EXECUTE format(
            'WITH one AS MATERIALIZED (%1$s)'
            ' SELECT array_agg(greatest(0::double precision, nullif(1::double precision - (e.embedding OPERATOR(%2$I.<=>) o.embedding), ''NaN''::double precision)) ORDER BY i.n)'
            ' FROM one AS o CROSS JOIN unnest($3) WITH ORDINALITY AS i (id, n)'
            ' LEFT JOIN LATERAL (%3$s OFFSET 0) AS e ON true', format(v_stored, '$4'), v_schema, format(v_stored, 'i.id'))
        INTO v_cosines
        USING tenant_id, model_id, chunk_ids, chunk_ids[chosen];
    END IF;
    IF terms IS NULL THEN
        SELECT array_agg(greatest(l.old, l.cosine) ORDER BY l.n) INTO v_likes
        FROM unnest(likes, v_cosines) WITH ORDINALITY AS l (old, cosine, n);
    ELSE
        WITH words AS MATERIALIZED (
            SELECT w.place, w.term, count(*) OVER (PARTITION BY w.place) AS size FROM unnest(places, terms) AS w (place, term)
        ),
        shared AS (
            SELECT w.place, count(*)::double precision / (min(w.size) + min(o.size) - count(*))::double precision AS jaccard
            FROM words AS o
            JOIN words AS w ON w.term = o.term
            WHERE o.place = chosen
            GROUP BY w.place
        )
        SELECT array_agg(greatest(l.old, CASE WHEN vectors[chosen] AND l.has THEN l.cosine ELSE s.jaccard END) ORDER BY l.n) INTO v_likes
        FROM unnest(likes, v_cosines, vectors) WITH ORDINALITY AS l (old, cosine, has, n)
        LEFT JOIN shared AS s ON s.place = l.n;
    END IF;
    RETURN v_likes;
END
$$;
COMMENT ON FUNCTION sift._likenesses(integer, integer, bigint[], integer, double precision[], boolean[], integer[], text[], timestamptz) IS
    'The greatest likeness of each candidate to a chosen one, by vectors or by terms.';
REVOKE ALL ON FUNCTION sift._likenesses(integer, integer, bigint[], integer, double precision[], boolean[], integer[], text[], timestamptz) FROM PUBLIC;
