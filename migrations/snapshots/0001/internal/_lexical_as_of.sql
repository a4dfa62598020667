-- The lexical leg of a search of the past: what sift._lexical_leg gave at that time, for today's permissions. N, df and avgdl are those of the
-- chunks that were current then: chunks that still are, and chunks of the history.
--
-- Every posting of the terms is read and every chunk that holds one is scored, so that it takes about as long as the terms are common.
-- The formula and the order of its sum are those of sift._lexical_exhaustive.
CREATE OR REPLACE FUNCTION sift._lexical_as_of(
    tenant_id integer,
    terms     text[],
    lists     bigint[],
    predicate text,
    bound     jsonb,
    k         integer,
    k1        double precision,
    b         double precision,
    as_of     timestamptz
)
RETURNS TABLE (chunk_id bigint, score double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_chunks    double precision;
    v_length    double precision;
BEGIN
    IF coalesce(k, 0) <= 0 OR coalesce(cardinality(lists), 0) = 0 OR coalesce(cardinality(terms), 0) = 0 THEN
        RETURN;
    END IF;
    SELECT sum(x.chunks)::double precision, sum(x.total_length)::double precision INTO v_chunks, v_length
    FROM (
        SELECT s.chunks, s.total_length FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id
        UNION ALL
        SELECT -count(*), -coalesce(sum(c.doc_length), 0)
        FROM sift.documents AS d
        JOIN sift.chunks AS c ON c.tenant_id = d.tenant_id AND c.document_id = d.document_id
        WHERE d.tenant_id = v_tenant_id AND c.tenant_id = v_tenant_id AND (d.current_from > as_of OR c.added_at > as_of) AND c.doc_length > 0
        UNION ALL
        SELECT count(*), coalesce(sum(h.doc_length), 0)
        FROM sift.chunk_history AS h
        WHERE h.tenant_id = v_tenant_id AND h.current_to > as_of AND h.current_from <= as_of AND h.doc_length > 0
    ) AS x;
    IF NOT coalesce(v_chunks > 0::double precision, false) THEN
        RETURN;
    END IF;

    RETURN QUERY EXECUTE format($query$
        WITH query AS (
            SELECT DISTINCT q.term FROM unnest($3) AS q (term)
        ),
        postings AS MATERIALIZED (
            SELECT p.term, p.id, p.tf::double precision AS tf, p.dl::double precision AS dl
            FROM (
                SELECT q.term, w.chunk_id AS id, w.tf AS tf, w.doc_length AS dl
                FROM query AS q
                JOIN sift.chunk_terms AS w ON w.term = q.term
                WHERE w.tenant_id = $2
                UNION ALL
                SELECT u.term, u.p >> 23, (u.p & 255)::integer, ((u.p >> 8) & 32767)::integer
                FROM (SELECT q.term, unnest(r.postings) AS p
                      FROM query AS q
                      CROSS JOIN LATERAL (
                          SELECT o.postings FROM sift.packed_chunks AS d
                          JOIN sift.posting_blocks AS o ON o.tenant_id = d.tenant_id AND o.block_no = d.block_no
                          WHERE d.tenant_id = $2 AND o.tenant_id = $2 AND o.term = q.term OFFSET 0) AS r) AS u
            ) AS p
            -- Postings of replaced chunks may lie in their block still; they come from the history.
            JOIN sift.chunks AS c ON c.chunk_id = p.id
            JOIN sift.documents AS d ON d.document_id = c.document_id
            WHERE c.tenant_id = $2 AND d.tenant_id = $2 AND d.current_from <= $8 AND (c.added_at <= $8) IS NOT FALSE
            UNION ALL
            SELECT q.term, h.chunk_id, cardinality(array_positions(string_to_array(h.tokens, ' '), q.term))::double precision,
                   h.doc_length::double precision
            FROM query AS q
            CROSS JOIN LATERAL (
                SELECT s.chunk_id, s.tokens, s.doc_length FROM sift.chunk_history AS s
                WHERE s.tenant_id = $2 AND string_to_array(s.tokens, ' ') @> ARRAY[q.term] AND s.current_to > $8 AND s.current_from <= $8
                OFFSET 0) AS h
        ),
        frequencies AS MATERIALIZED (
            SELECT p.term, count(*)::double precision AS df FROM postings AS p GROUP BY p.term
        ),
        scored AS MATERIALIZED (
            SELECT x.id, sum(x.contribution ORDER BY x.df, x.term COLLATE "C") AS score
            FROM (SELECT p.id, p.term, f.df,
                         ln(1::double precision + ($9 - f.df + 0.5::double precision) / (f.df + 0.5::double precision)) * p.tf
                         / (p.tf + $6 * (1::double precision - $7 + $7 * p.dl / $10)) AS contribution
                  FROM postings AS p
                  JOIN frequencies AS f ON f.term = p.term) AS x
            GROUP BY x.id
            ORDER BY score DESC, x.id
        )
        SELECT s.id, s.score
        FROM scored AS s
        CROSS JOIN LATERAL (
            SELECT x.document_id, x.kind, x.page, x.ordinal, x.section_path, x.doc_length, x.tokens, x.unranked_tokens, x.title_tokens, x.prefix_tokens FROM sift.chunks AS x
            WHERE x.tenant_id = $2 AND x.chunk_id = s.id
            UNION ALL
            SELECT x.document_id, x.kind, x.page, x.ordinal, x.section_path, x.doc_length, x.tokens, x.unranked_tokens, x.title_tokens, x.prefix_tokens FROM sift.chunk_history AS x
            WHERE x.tenant_id = $2 AND x.chunk_id = s.id
            OFFSET 0) AS c
        CROSS JOIN LATERAL sift._version_at($2, c.document_id, $8, $4) AS d
        WHERE (d.access_list_id IN (SELECT l.id FROM unnest($4) AS l (id))) IS TRUE AND (%s)
        ORDER BY s.score DESC, s.id
        LIMIT $5
    $query$, coalesce(predicate, 'true'))
    USING bound, v_tenant_id, terms, lists, k, k1, b, as_of, v_chunks, v_length / v_chunks;
END
$$;
COMMENT ON FUNCTION sift._lexical_as_of(integer, text[], bigint[], text, jsonb, integer, double precision, double precision, timestamptz) IS
    'The exact top k by BM25 over what was current at a time, for today''s permissions.';
REVOKE ALL ON FUNCTION sift._lexical_as_of(integer, text[], bigint[], text, jsonb, integer, double precision, double precision, timestamptz) FROM PUBLIC;
