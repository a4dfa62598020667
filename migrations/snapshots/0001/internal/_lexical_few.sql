-- The k best of the chunks named, by BM25: for a caller who sees few. Each chunk is looked up in the list of each term; nothing else is
-- scored. chunk_ids are rising and distinct. The other arguments are those of sift._lexical_top.
CREATE OR REPLACE FUNCTION sift._lexical_few(
    tenant_id integer,
    terms     text[],
    idf       double precision[],
    chunk_ids bigint[],
    has_rows  boolean,
    avgdl     double precision,
    k1        double precision,
    b         double precision,
    k         integer
)
RETURNS TABLE (chunk_id bigint, score double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_avgdl     double precision := avgdl;
    v_k1        double precision := k1;
    v_b         double precision := b;
    v_rows      bigint[];
BEGIN
    IF has_rows THEN
        v_rows := ARRAY(
            SELECT u.chunk_id
            FROM unnest((SELECT _lexical_few.chunk_ids)) AS i (id)
            CROSS JOIN LATERAL (SELECT p.chunk_id FROM sift.unpacked_chunks AS p
                                WHERE p.tenant_id = v_tenant_id AND p.chunk_id = i.id OFFSET 0) AS u);
    END IF;
    RETURN QUERY
    WITH packed AS (
        SELECT g.n, g.idf, g.list, unnest(_lexical_few.chunk_ids[g.first:g.last]) AS id
        FROM (SELECT q.n, q.idf, e.list, s.first, s.last
              FROM (SELECT p.block_no, width_bucket(p.first_chunk_id - 1, _lexical_few.chunk_ids) + 1 AS first,
                           width_bucket(p.last_chunk_id, _lexical_few.chunk_ids) AS last
                    FROM sift.packed_chunks AS p
                    WHERE p.tenant_id = v_tenant_id
                    OFFSET 0) AS s
              CROSS JOIN unnest((SELECT _lexical_few.terms), (SELECT _lexical_few.idf)) WITH ORDINALITY AS q (term, idf, n)
              CROSS JOIN LATERAL (
                  SELECT o.postings || '{}'::bigint[] AS list FROM sift.posting_blocks AS o
                  WHERE o.tenant_id = v_tenant_id AND o.term = q.term AND o.block_no = s.block_no OFFSET 0) AS e
              WHERE s.first <= s.last
              OFFSET 0) AS g
    ),
    found AS (
        SELECT p.n, p.idf, p.id, p.list[width_bucket((p.id << 23) | 8388607, p.list)] AS q FROM packed AS p OFFSET 0
    ),
    postings AS (
        SELECT f.n, f.idf, f.id, (f.q & 255)::double precision AS tf, ((f.q >> 8) & 32767)::double precision AS dl
        FROM found AS f
        WHERE f.q >> 23 = f.id
        UNION ALL
        SELECT q.n, q.idf, w.chunk_id, w.tf::double precision, w.doc_length::double precision
        FROM unnest((SELECT v_rows)) AS i (id)
        CROSS JOIN unnest((SELECT _lexical_few.terms), (SELECT _lexical_few.idf)) WITH ORDINALITY AS q (term, idf, n)
        CROSS JOIN LATERAL (
            SELECT p.chunk_id, p.tf, p.doc_length FROM sift.chunk_terms AS p
            WHERE p.tenant_id = v_tenant_id AND p.term = q.term AND p.chunk_id = i.id OFFSET 0) AS w
    )
    SELECT p.id, sum(p.idf * p.tf / (p.tf + v_k1 * (1::double precision - v_b + v_b * p.dl / v_avgdl)) ORDER BY p.n) AS sum
    FROM postings AS p
    GROUP BY p.id
    ORDER BY sum DESC, p.id
    LIMIT _lexical_few.k;
END
$$;
COMMENT ON FUNCTION sift._lexical_few(integer, text[], double precision[], bigint[], boolean, double precision, double precision, double precision, integer) IS
    'The k best of the chunks named, by BM25.';
REVOKE ALL ON FUNCTION sift._lexical_few(integer, text[], double precision[], bigint[], boolean, double precision, double precision, double precision, integer) FROM PUBLIC;
