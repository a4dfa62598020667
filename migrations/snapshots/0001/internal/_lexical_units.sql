-- The exact top k by BM25 where the unit is the document, or where a field has a weight other than 1. unit 'chunk': one row per chunk, as
-- sift._lexical_leg gives. unit 'document': one row per document, with the chunk that is shown for it.
--
--   score = Σ over distinct query terms of idf(t) · wtf / (wtf + k1 · (1 - b + b · dl / avgdl))
--   wtf   = tf + (title_weight - 1) · tf in the title + (abstract_weight - 1) · tf in abstracts
--     The weighting of fields before saturation: S. Robertson, H. Zaragoza, M. Taylor: Simple BM25 Extension to Multiple Weighted Fields,
--     CIKM 2004; here with the unweighted length. idf and the order of the sum are those of sift._lexical_exhaustive. A term counts for df
--     wherever it occurs; where its wtf is 0, it does not match.
--
-- N, df and avgdl are over chunks or over documents, of the tenant or ('visible') of what the caller may see, as they are or (as_of) were. A
-- filter changes no score; a document passes it if one of its chunks does.
--
-- The chunk shown is the one that contributes most: ranked chunks that hold a term, by the sum above with their own tf and length, the documents'
-- idf and the average length of chunks; else one that is not ranked and holds a term; else a ranked one; the first in the document of equals.
-- With a filter, one that passes it comes first. A reference is never shown while there is anything else.
--
-- Every posting of the terms is read: it takes as long as they are common.
CREATE OR REPLACE FUNCTION sift._lexical_units(
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
    statistics      text,
    as_of           timestamptz
)
RETURNS TABLE (chunk_id bigint, document_id bigint, score double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_of        bigint[] := CASE WHEN statistics = 'visible' THEN lists END;
    v_whole     boolean := unit = 'document';
    v_fields    boolean := title_weight <> 1::double precision OR abstract_weight <> 1::double precision;
    v_n         double precision;
    v_avgdl     double precision;
    v_of_chunks double precision;
    v_chunks    text;
    v_document  text;
    v_lengths   text := 'sift.document_lengths AS x WHERE x.tenant_id = $2 AND x.document_id = m.document_id';
    v_ids       bigint[];
    v_shown     bigint[];
    v_scores    double precision[];
BEGIN
    IF coalesce(k, 0) <= 0 OR coalesce(cardinality(lists), 0) = 0 OR coalesce(cardinality(terms), 0) = 0 THEN
        RETURN;
    END IF;

    -- The chunks' N and avgdl, which the document unit needs too, to choose the chunk that is shown.
    IF as_of IS NOT NULL THEN
        SELECT count(*)::double precision, sum(h.doc_length)::double precision / nullif(count(*), 0)::double precision INTO v_n, v_of_chunks
        FROM sift._chunks_at(v_tenant_id, as_of, v_of) AS h
        WHERE h.doc_length > 0;
    ELSIF v_of IS NOT NULL THEN
        SELECT sum(s.chunks)::double precision, sum(s.total_length)::double precision / nullif(sum(s.chunks), 0)::double precision
        INTO v_n, v_of_chunks
        FROM unnest((SELECT v_of)) AS l (id)
        CROSS JOIN LATERAL (SELECT c.chunks, c.total_length FROM sift.corpus_stats AS c
                            WHERE c.tenant_id = v_tenant_id AND c.access_list_id = l.id OFFSET 0) AS s;
    ELSE
        SELECT sum(s.chunks)::double precision, sum(s.total_length)::double precision / nullif(sum(s.chunks), 0)::double precision
        INTO v_n, v_of_chunks
        FROM sift.corpus_totals AS s
        WHERE s.tenant_id = v_tenant_id;
    END IF;
    v_avgdl := v_of_chunks;
    IF v_whole THEN
        IF as_of IS NOT NULL THEN
            SELECT count(*)::double precision, sum(x.doc_length)::double precision / nullif(count(*), 0)::double precision INTO v_n, v_avgdl
            FROM (SELECT sum(coalesce(cardinality(string_to_array(coalesce(h.unranked_tokens, h.tokens), ' ')), 0) - h.overlap_tokens) AS doc_length
                  FROM sift._chunks_at(v_tenant_id, as_of, v_of) AS h
                  GROUP BY h.document_id) AS x
            WHERE x.doc_length > 0;
            v_lengths := '(SELECT sum(coalesce(cardinality(string_to_array(coalesce(h.unranked_tokens, h.tokens), '' '')), 0) - h.overlap_tokens) AS doc_length'
                         ' FROM (SELECT c.tokens, c.unranked_tokens, c.overlap_tokens FROM sift.chunks AS c'
                         '       WHERE c.tenant_id = $2 AND c.document_id = m.document_id'
                         '         AND EXISTS (SELECT FROM sift.documents AS e WHERE e.tenant_id = $2 AND e.document_id = m.document_id AND e.current_from <= $10)'
                         '       UNION ALL'
                         '       SELECT c.tokens, c.unranked_tokens, c.overlap_tokens FROM sift.chunk_history AS c'
                         '       WHERE c.tenant_id = $2 AND c.document_id = m.document_id AND c.current_from <= $10 AND c.current_to > $10) AS h) AS x';
        ELSIF v_of IS NOT NULL THEN
            SELECT count(*)::double precision, sum(x.doc_length)::double precision / nullif(count(*), 0)::double precision INTO v_n, v_avgdl
            FROM sift.document_lengths AS x
            JOIN sift.documents AS d ON d.document_id = x.document_id
            WHERE x.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id
              AND (d.access_list_id IN (SELECT l.id FROM unnest((SELECT v_of)) AS l (id))) IS TRUE;
        ELSE
            SELECT count(*)::double precision, sum(x.doc_length)::double precision / nullif(count(*), 0)::double precision INTO v_n, v_avgdl
            FROM sift.document_lengths AS x
            WHERE x.tenant_id = v_tenant_id;
        END IF;
    END IF;
    IF NOT coalesce(v_n > 0::double precision, false) THEN
        RETURN;
    END IF;

    -- Where a chunk and a document are found, now or at that time.
    IF as_of IS NULL THEN
        v_chunks := 'SELECT x.* FROM sift.chunks AS x WHERE x.tenant_id = $2 AND ';
        v_document := '(SELECT x.* FROM sift.documents AS x WHERE x.tenant_id = $2 AND x.document_id = %s OFFSET 0)';
    ELSE
        v_chunks := 'SELECT x.chunk_id, x.document_id, x.kind, x.page, x.ordinal, x.section_path, x.doc_length, x.tokens, x.unranked_tokens, x.title_tokens, x.prefix_tokens FROM sift.chunks AS x WHERE x.tenant_id = $2 AND ';
        v_document := 'sift._version_at($2, %s, $10, $4)';
    END IF;

    IF NOT v_whole THEN
        IF as_of IS NOT NULL THEN
            v_chunks := v_chunks || 'x.chunk_id = s.id UNION ALL ' || replace(v_chunks, 'sift.chunks', 'sift.chunk_history');
        END IF;
        RETURN QUERY EXECUTE format($query$
            WITH matched AS MATERIALIZED (
                SELECT p.term, p.chunk_id AS id, p.doc_length::double precision AS dl,
                       p.tf::double precision + ($8 - 1::double precision) * p.title_tf::double precision
                       + ($9 - 1::double precision) * p.abstract_tf::double precision AS tf
                FROM sift._unit_postings($2, $3, $11, $10, true, false) AS p
                WHERE p.ranked
            ),
            scored AS MATERIALIZED (
                SELECT m.id, sum(f.idf * m.tf / (m.tf + $6 * (1::double precision - $7 + $7 * m.dl / $13)) ORDER BY f.df, m.term COLLATE "C") AS score
                FROM matched AS m
                JOIN (SELECT o.term, count(*) AS df,
                             ln(1::double precision + ($12 - count(*)::double precision + 0.5::double precision)
                                                      / (count(*)::double precision + 0.5::double precision)) AS idf
                      FROM matched AS o GROUP BY o.term) AS f ON f.term = m.term
                WHERE m.tf > 0::double precision
                GROUP BY m.id
                ORDER BY score DESC, m.id
            )
            SELECT s.id, c.document_id, s.score
            FROM scored AS s
            CROSS JOIN LATERAL (%s x.chunk_id = s.id OFFSET 0) AS c
            CROSS JOIN LATERAL %s AS d
            WHERE (d.access_list_id IN (SELECT l.id FROM unnest($4) AS l (id))) IS TRUE AND (%s)
            ORDER BY s.score DESC, s.id
            LIMIT $5
        $query$, v_chunks, format(v_document, 'c.document_id'), coalesce(predicate, 'true'))
        USING bound, v_tenant_id, terms, lists, k, k1, b, title_weight, abstract_weight, as_of, v_of, v_n, v_avgdl;
        RETURN;
    END IF;

    IF as_of IS NOT NULL THEN
        v_chunks := format('%s x.document_id = t.id AND (x.added_at <= $10) IS NOT FALSE AND EXISTS (SELECT FROM sift.documents AS e WHERE e.tenant_id = $2 AND e.document_id = t.id AND e.current_from <= $10)'
                           ' UNION ALL %s x.document_id = t.id AND x.current_from <= $10 AND x.current_to > $10',
                           v_chunks, replace(v_chunks, 'sift.chunks', 'sift.chunk_history'));
    ELSE
        v_chunks := v_chunks || 'x.document_id = t.id';
    END IF;
    RETURN QUERY EXECUTE format($query$
        WITH postings AS MATERIALIZED (
            SELECT p.* FROM sift._unit_postings($2, $3, $11, $10, $15, true) AS p
        ),
        counts AS MATERIALIZED (
            SELECT p.term, p.document_id AS id, sum(p.counted)::double precision AS tf, sum(p.title_tf)::double precision AS title_tf,
                   sum(p.abstract_tf)::double precision AS abstract_tf
            FROM postings AS p
            GROUP BY p.document_id, p.term
            HAVING sum(p.counted) > 0
        ),
        frequencies AS MATERIALIZED (
            SELECT o.term, count(*) AS df,
                   ln(1::double precision + ($12 - count(*)::double precision + 0.5::double precision)
                                            / (count(*)::double precision + 0.5::double precision)) AS idf
            FROM counts AS o
            GROUP BY o.term
        ),
        matched AS (
            SELECT m.term, m.id AS document_id, CASE WHEN $15 THEN m.tf + ($8 - 1::double precision) * m.title_tf + ($9 - 1::double precision) * m.abstract_tf
                                                     ELSE m.tf END AS tf
            FROM counts AS m
        ),
        scored AS MATERIALIZED (
            SELECT m.document_id AS id,
                   sum(f.idf * m.tf / (m.tf + $6 * (1::double precision - $7 + $7 * n.doc_length::double precision / $13)) ORDER BY f.df, m.term COLLATE "C") AS score
            FROM matched AS m
            JOIN frequencies AS f ON f.term = m.term
            CROSS JOIN LATERAL (SELECT x.doc_length FROM %s OFFSET 0) AS n
            WHERE m.tf > 0::double precision
            GROUP BY m.document_id
            ORDER BY score DESC, m.document_id
        ),
        top AS MATERIALIZED (
            SELECT t.id, t.score
            FROM scored AS t
            CROSS JOIN LATERAL %s AS d
            WHERE (d.access_list_id IN (SELECT l.id FROM unnest($4) AS l (id))) IS TRUE
              AND ($16 OR EXISTS (SELECT FROM (%s OFFSET 0) AS c WHERE (%s)))
            ORDER BY t.score DESC, t.id
            LIMIT $5
        ),
        parts AS MATERIALIZED (
            SELECT q.chunk_id, sum(CASE WHEN q.ranked AND q.tf > 0::double precision
                                        THEN f.idf * q.tf / (q.tf + $6 * (1::double precision - $7 + $7 * coalesce(q.dl, 0::double precision) / $14)) END
                                   ORDER BY f.df, q.term COLLATE "C") AS contribution
            FROM (SELECT p.chunk_id, p.term, bool_and(p.ranked) AS ranked, max(p.doc_length)::double precision AS dl,
                         max(p.tf)::double precision + CASE WHEN $15 THEN ($8 - 1::double precision) * max(p.title_tf)::double precision
                             + ($9 - 1::double precision) * max(p.abstract_tf)::double precision ELSE 0::double precision END AS tf
                  FROM postings AS p
                  WHERE p.document_id IN (SELECT t.id FROM top AS t)
                  GROUP BY p.chunk_id, p.term) AS q
            JOIN frequencies AS f ON f.term = q.term
            GROUP BY q.chunk_id
        ),
        shown AS (
            SELECT DISTINCT ON (c.id) c.id, c.chunk_id
            FROM (SELECT t.id, c.chunk_id, c.kind = 'reference' AS hidden, (%s) AS passes, c.unranked_tokens IS NULL AS ranked
                  FROM top AS t
                  CROSS JOIN LATERAL (%s OFFSET 0) AS c
                  CROSS JOIN LATERAL %s AS d) AS c
            LEFT JOIN parts AS p ON p.chunk_id = c.chunk_id
            ORDER BY c.id, c.hidden, c.passes DESC, (p.contribution IS NULL), p.contribution DESC NULLS LAST, (p.chunk_id IS NULL), c.ranked DESC, c.chunk_id
        )
        SELECT s.chunk_id, t.id, t.score
        FROM top AS t
        JOIN shown AS s ON s.id = t.id
        ORDER BY t.score DESC, t.id
    $query$, v_lengths, format(v_document, 't.id'), v_chunks, coalesce(predicate, 'true'), coalesce(predicate, 'true'), v_chunks, format(v_document, 't.id'))
    USING bound, v_tenant_id, terms, lists, k, k1, b, title_weight, abstract_weight, as_of, v_of, v_n, v_avgdl,
          coalesce(v_of_chunks, v_avgdl), v_fields, predicate IS NULL;
END
$$;
COMMENT ON FUNCTION sift._lexical_units(integer, text, text[], bigint[], text, jsonb, integer, double precision, double precision, double precision, double precision, text, timestamptz) IS
    'The exact top k by BM25 of documents as a whole, or of chunks with weighted fields.';
REVOKE ALL ON FUNCTION sift._lexical_units(integer, text, text[], bigint[], text, jsonb, integer, double precision, double precision, double precision, double precision, text, timestamptz) FROM PUBLIC;
