-- The lexical leg of tenants whose statistics are 'visible': N, df and avgdl are those of the chunks the caller may see, so that no score
-- tells of a document he may not. A filter still changes no score. Two callers who see different things get different scores for the same
-- chunk, each what the store would give him if the rest were not there.
--
-- Every posting of the terms is read and its chunk looked up, so that a search takes as long as its terms are common; where the past is
-- searched, every chunk that was visible then is read. The formula and the order of its sum are those of sift._lexical_exhaustive.
CREATE OR REPLACE FUNCTION sift._lexical_visible(
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
    v_rank CONSTANT text := $rank$
        frequencies AS MATERIALIZED (
            SELECT p.term, count(*)::double precision AS df FROM postings AS p GROUP BY p.term
        ),
        scored AS MATERIALIZED (
            SELECT x.id, sum(x.contribution ORDER BY x.df, x.term COLLATE "C") AS score
            FROM (SELECT p.id, p.term, f.df,
                         ln(1::double precision + (o.chunks - f.df + 0.5::double precision) / (f.df + 0.5::double precision)) * p.tf
                         / (p.tf + $6 * (1::double precision - $7 + $7 * p.dl / (o.total_length / o.chunks))) AS contribution
                  FROM postings AS p
                  JOIN frequencies AS f ON f.term = p.term
                  CROSS JOIN corpus AS o) AS x
            GROUP BY x.id
            ORDER BY score DESC, x.id
        )
    $rank$;
BEGIN
    IF coalesce(k, 0) <= 0 OR coalesce(cardinality(lists), 0) = 0 OR coalesce(cardinality(terms), 0) = 0 THEN
        RETURN;
    END IF;
    IF as_of IS NULL THEN
        RETURN QUERY EXECUTE format($query$
            WITH query AS (
                SELECT DISTINCT q.term FROM unnest($3) AS q (term)
            ),
            corpus AS MATERIALIZED (
                SELECT sum(s.chunks)::double precision AS chunks, sum(s.total_length)::double precision AS total_length
                FROM unnest($4) AS l (id)
                CROSS JOIN LATERAL (SELECT c.chunks, c.total_length FROM sift.corpus_stats AS c
                                    WHERE c.tenant_id = $2 AND c.access_list_id = l.id OFFSET 0) AS s
            ),
            postings AS MATERIALIZED (
                SELECT p.term, p.id, p.tf::double precision AS tf, p.dl::double precision AS dl
                FROM (
                    SELECT q.term, r.chunk_id AS id, r.tf, r.doc_length AS dl
                    FROM query AS q
                    CROSS JOIN LATERAL (SELECT w.chunk_id, w.tf, w.doc_length FROM sift.chunk_terms AS w
                                        WHERE w.tenant_id = $2 AND w.term = q.term OFFSET 0) AS r
                    UNION ALL
                    SELECT u.term, u.p >> 23, (u.p & 255)::integer, ((u.p >> 8) & 32767)::integer
                    FROM (SELECT q.term, unnest(r.postings) AS p
                          FROM query AS q
                          CROSS JOIN LATERAL (SELECT d.block_no FROM sift.packed_chunks AS d WHERE d.tenant_id = $2 OFFSET 0) AS n
                          CROSS JOIN LATERAL (SELECT o.postings FROM sift.posting_blocks AS o
                                              WHERE o.tenant_id = $2 AND o.block_no = n.block_no AND o.term = q.term OFFSET 0) AS r) AS u
                ) AS p
                -- Postings of chunks that are gone may lie in their block still.
                CROSS JOIN LATERAL (SELECT x.access_list_id FROM sift.chunks AS x
                                    WHERE x.tenant_id = $2 AND x.chunk_id = p.id OFFSET 0) AS c
                WHERE (c.access_list_id IN (SELECT l.id FROM unnest($4) AS l (id))) IS TRUE
            ),
            %s
            SELECT s.id, s.score
            FROM scored AS s
            CROSS JOIN LATERAL (SELECT x.* FROM sift.chunks AS x WHERE x.tenant_id = $2 AND x.chunk_id = s.id OFFSET 0) AS c
            CROSS JOIN LATERAL (SELECT x.* FROM sift.documents AS x
                                WHERE x.tenant_id = $2 AND x.document_id = c.document_id OFFSET 0) AS d
            WHERE (%s)
            ORDER BY s.score DESC, s.id
            LIMIT $5
        $query$, v_rank, coalesce(predicate, 'true'))
        USING bound, v_tenant_id, terms, lists, k, k1, b;
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format($query$
        WITH query AS (
            SELECT DISTINCT q.term FROM unnest($3) AS q (term)
        ),
        held AS MATERIALIZED (
            SELECT c.chunk_id AS id, c.tokens, c.doc_length::double precision AS dl
            FROM sift.chunks AS c
            JOIN sift.documents AS d ON d.document_id = c.document_id
            WHERE c.tenant_id = $2 AND d.tenant_id = $2 AND d.current_from <= $8 AND (c.added_at <= $8) IS NOT FALSE
              AND (d.access_list_id IN (SELECT l.id FROM unnest($4) AS l (id))) IS TRUE AND c.doc_length > 0
            UNION ALL
            SELECT h.chunk_id, h.tokens, h.doc_length::double precision
            FROM sift.chunk_history AS h
            CROSS JOIN LATERAL sift._version_at($2, h.document_id, $8, $4) AS v
            WHERE h.tenant_id = $2 AND h.current_to > $8 AND h.current_from <= $8 AND h.doc_length > 0
              AND (v.access_list_id IN (SELECT l.id FROM unnest($4) AS l (id))) IS TRUE
        ),
        corpus AS MATERIALIZED (
            SELECT count(*)::double precision AS chunks, sum(h.dl) AS total_length FROM held AS h
        ),
        postings AS MATERIALIZED (
            SELECT t.term, h.id, count(*)::double precision AS tf, h.dl
            FROM held AS h
            CROSS JOIN LATERAL unnest(string_to_array(h.tokens, ' ')) AS t (term)
            JOIN query AS q ON q.term = t.term
            GROUP BY t.term, h.id, h.dl
        ),
        %s
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
        WHERE (%s)
        ORDER BY s.score DESC, s.id
        LIMIT $5
    $query$, v_rank, coalesce(predicate, 'true'))
    USING bound, v_tenant_id, terms, lists, k, k1, b, as_of;
END
$$;
COMMENT ON FUNCTION sift._lexical_visible(integer, text[], bigint[], text, jsonb, integer, double precision, double precision, timestamptz) IS
    'The exact top k by BM25 with the statistics of the visible chunks alone, as they are (as_of NULL) or were.';
REVOKE ALL ON FUNCTION sift._lexical_visible(integer, text[], bigint[], text, jsonb, integer, double precision, double precision, timestamptz) FROM PUBLIC;
