-- What topics are about: for each, the k terms of greatest class-based tf-idf (M. Grootendorst: BERTopic: Neural topic modeling with a
-- class-based TF-IDF procedure, arXiv:2203.05794, 2022, section 3.3). A topic is a class, and so are the outliers:
--
--     weight(t, c) = tf(t, c) * ln(1 + A / f(t))
--
-- tf(t, c)  how often the term t occurs in the documents of class c
-- f(t)      how often in those of all classes
-- A         number of tokens of all documents, by the number of classes
--
-- Function words that are in no list of stopwords are frequent everywhere, and would lead by their tf alone. So first come the terms whose
-- share of the class's tokens is at least twice their share of the other classes' tokens, and which no more than a quarter of all
-- documents hold; then the rest; each by falling weight, equal ones in the order of their bytes. Not named are terms of one character,
-- and those of digits and punctuation alone.
--
-- The counts are those of the postings, read where they stand by document: tokens of chunks that are ranked, what overlaps counted once.
CREATE OR REPLACE FUNCTION sift._topic_terms(tenant_id integer, document_ids bigint[], topics integer[], k integer)
RETURNS TABLE (topic integer, terms text[], weights double precision[])
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_nestloop = off
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_often     integer := greatest(cardinality(document_ids) / 4, 1);
BEGIN
    RETURN QUERY
    WITH held AS (
        SELECT m.topic, m.document_id, w.term COLLATE "C" AS term, count(*) AS tf
        FROM unnest(document_ids, topics) AS m (document_id, topic)
        CROSS JOIN LATERAL (
            SELECT string_to_array(c.tokens, ' ') AS tokens, c.title_tokens AS title, c.title_tokens + c.overlap_tokens AS skipped
            FROM sift.chunks AS c
            WHERE c.tenant_id = v_tenant_id AND c.document_id = m.document_id AND c.tokens <> '' AND c.kind <> 'reference' OFFSET 0) AS x
        CROSS JOIN LATERAL unnest(CASE WHEN x.skipped = x.title THEN x.tokens ELSE x.tokens[:x.title] || x.tokens[x.skipped + 1:] END) AS w (term)
        GROUP BY m.topic, m.document_id, w.term COLLATE "C"
    ),
    counts AS MATERIALIZED (
        SELECT h.topic, h.term, sum(h.tf)::double precision AS tf, count(*) AS documents FROM held AS h GROUP BY h.topic, h.term
    ),
    classes AS MATERIALIZED (
        SELECT s.topic, s.tokens, sum(s.tokens) OVER () AS total, sum(s.tokens) OVER () / (count(*) OVER ())::double precision AS average
        FROM (SELECT c.topic, sum(c.tf) AS tokens FROM counts AS c GROUP BY c.topic) AS s
    ),
    frequencies AS MATERIALIZED (
        SELECT c.term, sum(c.tf) AS f, sum(c.documents) AS documents FROM counts AS c GROUP BY c.term
    ),
    weighted AS (
        SELECT c.topic, c.term, c.tf * ln(1::double precision + l.average / f.f) AS weight,
               c.tf * (l.total - l.tokens) >= 2::double precision * (f.f - c.tf) * l.tokens AND f.documents <= v_often AS characteristic
        FROM counts AS c
        JOIN classes AS l ON l.topic = c.topic
        JOIN frequencies AS f ON f.term = c.term
        WHERE char_length(c.term) > 1 AND c.term ~ '[^0-9[:punct:]]'
    ),
    ranked AS (
        SELECT w.*, row_number() OVER (PARTITION BY w.topic ORDER BY w.characteristic DESC, w.weight DESC, w.term) AS rank
        FROM weighted AS w
    )
    SELECT r.topic, array_agg(r.term ORDER BY r.rank), array_agg(r.weight ORDER BY r.rank)
    FROM ranked AS r
    WHERE r.rank <= k
    GROUP BY r.topic;
END
$$;
COMMENT ON FUNCTION sift._topic_terms(integer, bigint[], integer[], integer) IS
    'The k terms of greatest class-based tf-idf of each topic among some documents, best first, with their weights; none of a topic whose documents have no terms.';
REVOKE ALL ON FUNCTION sift._topic_terms(integer, bigint[], integer[], integer) FROM PUBLIC;
