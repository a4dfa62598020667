-- sift._lexical_units of the present written for obviousness: the oracle it is compared with. Every token of every chunk is a row; what belongs
-- to a unit is counted from them, and neither postings nor statistics are read. The chunk that is shown is left out.
CREATE OR REPLACE FUNCTION sift._lexical_units_exhaustive(
    tenant_id       integer,
    unit            text,
    terms           text[],
    lists           bigint[],
    predicate       text,
    bound           jsonb,
    k               integer,
    k1              double precision,
    b               double precision,
    title_weight    double precision,
    abstract_weight double precision,
    statistics      text
)
RETURNS TABLE (id bigint, score double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY EXECUTE format($query$
        WITH words AS MATERIALIZED (
            SELECT CASE WHEN $3 = 'document' THEN c.document_id ELSE c.chunk_id END AS id, t.term,
                   CASE WHEN t.position <= c.title_tokens THEN $9 WHEN c.kind = 'abstract' THEN $10 ELSE 1::double precision END AS weight
            FROM sift.chunks AS c
            CROSS JOIN LATERAL unnest(string_to_array(coalesce(c.unranked_tokens, c.tokens), ' ')) WITH ORDINALITY AS t (term, position)
            WHERE c.tenant_id = $2
              AND (c.access_list_id = ANY ($5) OR $11 = 'tenant')
              AND (c.unranked_tokens IS NULL OR $3 = 'document')
              AND NOT ($3 = 'document' AND t.position > c.title_tokens AND t.position <= c.title_tokens + c.overlap_tokens)
        ),
        units AS MATERIALIZED (
            SELECT w.id, count(*)::double precision AS length FROM words AS w GROUP BY w.id
        ),
        occurrences AS MATERIALIZED (
            SELECT w.id, w.term, count(*)::double precision + sum(w.weight - 1::double precision) AS tf
            FROM words AS w
            WHERE w.term = ANY ($4)
            GROUP BY w.id, w.term
        ),
        frequencies AS MATERIALIZED (
            SELECT o.term, count(*)::double precision AS df FROM occurrences AS o GROUP BY o.term
        ),
        contributions AS (
            SELECT o.id, o.term, f.df,
                   ln(1::double precision + ((SELECT count(*) FROM units) - f.df + 0.5::double precision) / (f.df + 0.5::double precision)) * o.tf
                   / (o.tf + $7 * (1::double precision - $8 + $8 * u.length / (SELECT avg(a.length) FROM units AS a))) AS contribution
            FROM occurrences AS o
            JOIN frequencies AS f ON f.term = o.term
            JOIN units AS u ON u.id = o.id
            WHERE o.tf > 0::double precision
        ),
        scores AS MATERIALIZED (
            SELECT x.id, sum(x.contribution ORDER BY x.df, x.term COLLATE "C") AS score FROM contributions AS x GROUP BY x.id
        )
        SELECT s.id, s.score
        FROM scores AS s
        WHERE EXISTS (
            SELECT FROM sift.chunks AS c
            JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
            WHERE c.tenant_id = $2 AND d.tenant_id = $2 AND s.id = CASE WHEN $3 = 'document' THEN c.document_id ELSE c.chunk_id END
              AND c.access_list_id = ANY ($5) AND (%s))
        ORDER BY s.score DESC, s.id
        LIMIT $6
    $query$, coalesce(predicate, 'true'))
    USING bound, tenant_id, unit, terms, lists, greatest(coalesce(k, 0), 0), k1, b, title_weight, abstract_weight, statistics;
END
$$;
COMMENT ON FUNCTION sift._lexical_units_exhaustive(integer, text, text[], bigint[], text, jsonb, integer, double precision, double precision, double precision, double precision, text) IS
    'The exact top k by BM25 of documents or weighted chunks, counted anew from every token: the oracle for sift._lexical_units.';
REVOKE ALL ON FUNCTION sift._lexical_units_exhaustive(integer, text, text[], bigint[], text, jsonb, integer, double precision, double precision, double precision, double precision, text) FROM PUBLIC;
