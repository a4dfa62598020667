-- What each term of a query contributes to the score of some chunks, or of documents as a whole: one row for every pair of them. The formula is
-- that of sift._lexical_exhaustive and sift._lexical_units; the contributions of one unit, summed by df and then by term in C order, are its
-- score to the last bit.
--
--   ids         chunk numbers (unit 'chunk') or document numbers (unit 'document'); who may see them has been looked at
--   tf          how often the term occurs, weighted by field; 0 where it does not
--   df          of how many chunks or documents, of the tenant or ('visible') of those the lists let through
--   total       N; average_length is the average over them
CREATE OR REPLACE FUNCTION sift._term_parts(
    tenant_id       integer,
    unit            text,
    terms           text[],
    ids             bigint[],
    lists           bigint[],
    k1              double precision,
    b               double precision,
    title_weight    double precision,
    abstract_weight double precision,
    statistics      text,
    as_of           timestamptz
)
RETURNS TABLE (id bigint, term text, tf double precision, df bigint, doc_length bigint, idf double precision, contribution double precision,
               total double precision, average_length double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_of        bigint[] := CASE WHEN statistics = 'visible' THEN lists END;
    v_whole     boolean := unit = 'document';
    v_fields    boolean := title_weight <> 1::double precision OR abstract_weight <> 1::double precision;
    v_n         double precision;
    v_avgdl     double precision;
    v_terms     text[] := ARRAY(SELECT DISTINCT u.term FROM unnest(terms) AS u (term));
    v_dfs       bigint[];
    v_units     bigint[];
    v_lengths   bigint[];
    v_of_terms  text[];
    v_of_units  bigint[];
    v_tfs       double precision[];
BEGIN
    IF as_of IS NOT NULL AND v_whole THEN
        SELECT count(*)::double precision, sum(x.doc_length)::double precision / nullif(count(*), 0)::double precision,
               array_agg(x.document_id) FILTER (WHERE x.document_id = ANY (ids)), array_agg(x.doc_length::bigint) FILTER (WHERE x.document_id = ANY (ids))
        INTO v_n, v_avgdl, v_units, v_lengths
        FROM (SELECT h.document_id, sum(coalesce(cardinality(string_to_array(coalesce(h.unranked_tokens, h.tokens), ' ')), 0) - h.overlap_tokens) AS doc_length
              FROM sift._chunks_at(v_tenant_id, as_of, v_of) AS h
              GROUP BY h.document_id) AS x
        WHERE x.doc_length > 0;
    ELSIF as_of IS NOT NULL THEN
        SELECT count(*)::double precision, sum(h.doc_length)::double precision / nullif(count(*), 0)::double precision INTO v_n, v_avgdl
        FROM sift._chunks_at(v_tenant_id, as_of, v_of) AS h
        WHERE h.doc_length > 0;
    ELSIF v_whole THEN
        SELECT count(*)::double precision, sum(x.doc_length)::double precision / nullif(count(*), 0)::double precision INTO v_n, v_avgdl
        FROM sift.document_lengths AS x
        JOIN sift.documents AS d ON d.document_id = x.document_id
        WHERE x.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id
          AND (v_of IS NULL OR (d.access_list_id IN (SELECT l.id FROM unnest((SELECT v_of)) AS l (id))) IS TRUE);
        SELECT array_agg(x.document_id), array_agg(x.doc_length::bigint) INTO v_units, v_lengths
        FROM unnest(ids) AS i (id)
        CROSS JOIN LATERAL (SELECT y.document_id, y.doc_length FROM sift.document_lengths AS y
                            WHERE y.tenant_id = v_tenant_id AND y.document_id = i.id OFFSET 0) AS x;
    ELSIF v_of IS NOT NULL THEN
        SELECT sum(s.chunks)::double precision, sum(s.total_length)::double precision / nullif(sum(s.chunks), 0)::double precision INTO v_n, v_avgdl
        FROM unnest((SELECT v_of)) AS l (id)
        CROSS JOIN LATERAL (SELECT c.chunks, c.total_length FROM sift.corpus_stats AS c
                            WHERE c.tenant_id = v_tenant_id AND c.access_list_id = l.id OFFSET 0) AS s;
    ELSE
        SELECT sum(s.chunks)::double precision, sum(s.total_length)::double precision / nullif(sum(s.chunks), 0)::double precision INTO v_n, v_avgdl
        FROM sift.corpus_totals AS s
        WHERE s.tenant_id = v_tenant_id;
    END IF;

    IF v_whole THEN
        SELECT array_agg(p.term), array_agg(p.document_id), array_agg(p.tf) INTO v_of_terms, v_of_units, v_tfs
        FROM (SELECT o.term, o.document_id, sum(o.counted)::double precision
                     + CASE WHEN v_fields THEN (title_weight - 1::double precision) * sum(o.title_tf)::double precision
                       + (abstract_weight - 1::double precision) * sum(o.abstract_tf)::double precision ELSE 0::double precision END AS tf
              FROM sift._unit_postings(v_tenant_id, v_terms, v_of, as_of, v_fields, true) AS o
              GROUP BY o.term, o.document_id
              HAVING sum(o.counted) > 0) AS p;
        v_dfs := ARRAY(SELECT cardinality(array_positions(v_of_terms, t.term)) FROM unnest(v_terms) WITH ORDINALITY AS t (term, n) ORDER BY t.n);
    ELSE
        SELECT array_agg(c.chunk_id), array_agg(c.doc_length::bigint) INTO v_units, v_lengths
        FROM unnest(ids) AS i (id)
        CROSS JOIN LATERAL (
            SELECT x.chunk_id, x.doc_length FROM sift.chunks AS x WHERE x.tenant_id = v_tenant_id AND x.chunk_id = i.id
            UNION ALL
            SELECT x.chunk_id, x.doc_length FROM sift.chunk_history AS x WHERE as_of IS NOT NULL AND x.tenant_id = v_tenant_id AND x.chunk_id = i.id
            OFFSET 0) AS c;
        SELECT array_agg(o.term), array_agg(o.chunk_id), array_agg(o.tf) INTO v_of_terms, v_of_units, v_tfs
        FROM (SELECT t.term, c.chunk_id, count(*)::double precision
                     + (title_weight - 1::double precision) * (count(*) FILTER (WHERE t.position <= c.title_tokens))::double precision
                     + (abstract_weight - 1::double precision) * (count(*) FILTER (WHERE t.position > c.title_tokens AND c.kind = 'abstract'))::double precision AS tf
              FROM unnest(ids) AS i (id)
              CROSS JOIN LATERAL (
                  SELECT x.chunk_id, x.kind, x.title_tokens, x.tokens FROM sift.chunks AS x WHERE x.tenant_id = v_tenant_id AND x.chunk_id = i.id
                  UNION ALL
                  SELECT x.chunk_id, x.kind, x.title_tokens, x.tokens FROM sift.chunk_history AS x
                  WHERE as_of IS NOT NULL AND x.tenant_id = v_tenant_id AND x.chunk_id = i.id
                  OFFSET 0) AS c
              CROSS JOIN LATERAL unnest(string_to_array(c.tokens, ' ')) WITH ORDINALITY AS t (term, position)
              WHERE t.term = ANY (v_terms)
              GROUP BY t.term, c.chunk_id) AS o;
        IF as_of IS NULL AND v_of IS NULL THEN
            v_dfs := ARRAY(
                SELECT sift._document_frequency(v_tenant_id, q.term)
                FROM unnest(v_terms) WITH ORDINALITY AS q (term, n)
                ORDER BY q.n);
        ELSE
            v_dfs := ARRAY(
                SELECT coalesce(o.df, 0)
                FROM unnest(v_terms) WITH ORDINALITY AS q (term, n)
                LEFT JOIN (SELECT p.term, count(*) AS df FROM sift._unit_postings(v_tenant_id, v_terms, v_of, as_of, false, false) AS p
                           WHERE p.ranked GROUP BY p.term) AS o ON o.term = q.term
                ORDER BY q.n);
        END IF;
    END IF;
    RETURN QUERY
    SELECT u.id, t.term, coalesce(p.tf, 0::double precision), t.df, u.length, x.idf,
           CASE WHEN p.tf > 0::double precision
                THEN x.idf * p.tf / (p.tf + k1 * (1::double precision - b + b * u.length::double precision / v_avgdl))
                ELSE 0::double precision END,
           v_n, v_avgdl
    FROM unnest(v_units, v_lengths) AS u (id, length)
    CROSS JOIN unnest(v_terms, v_dfs) AS t (term, df)
    CROSS JOIN LATERAL (
        SELECT ln(1::double precision + (coalesce(v_n, 0::double precision) - t.df::double precision + 0.5::double precision)
                                        / (t.df::double precision + 0.5::double precision)) AS idf) AS x
    LEFT JOIN unnest(v_of_terms, v_of_units, v_tfs) AS p (term, id, tf) ON p.term = t.term AND p.id = u.id;
END
$$;
COMMENT ON FUNCTION sift._term_parts(integer, text, text[], bigint[], bigint[], double precision, double precision, double precision, double precision, text, timestamptz) IS
    'What each term contributes to the BM25 score of some chunks or documents, with tf, df, length and idf.';
REVOKE ALL ON FUNCTION sift._term_parts(integer, text, text[], bigint[], bigint[], double precision, double precision, double precision, double precision, text, timestamptz) FROM PUBLIC;
