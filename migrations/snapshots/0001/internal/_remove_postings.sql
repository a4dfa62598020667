-- Takes chunks out of postings and statistics; called before their rows are deleted.
--
-- Postings that are rows go at once. Packed ones, with purge, likewise: for these and for rows that are being packed at this moment
-- it waits (sift._lock_blocks says why that cannot deadlock). Without purge nobody is waited for, and packed postings go when their
-- block is next rewritten: until then they name a chunk that is not there, which no search returns, and term_stats holds the loss.
CREATE OR REPLACE FUNCTION sift._remove_postings(tenant_id integer, chunk_ids bigint[], purge boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_chunks    bigint;
    v_rows      bigint[];
    v_packed    bigint[];
    v_tokens    text[];
    v_chunk     record;
BEGIN
    WITH lost AS MATERIALIZED (
        SELECT c.access_list_id, count(*) AS chunks, sum(c.doc_length) AS total_length
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (_remove_postings.chunk_ids) AND c.doc_length > 0
        GROUP BY c.access_list_id
        ORDER BY c.access_list_id
    ),
    lists AS (
        INSERT INTO sift.corpus_stats AS s (tenant_id, access_list_id, chunks, total_length)
        SELECT v_tenant_id, l.access_list_id, -l.chunks, -l.total_length FROM lost AS l
    )
    INSERT INTO sift.corpus_totals AS s (tenant_id, chunks, total_length)
    SELECT v_tenant_id, -sum(l.chunks), -sum(l.total_length) FROM lost AS l HAVING count(*) > 0
    RETURNING s.chunks INTO v_chunks;
    IF v_chunks IS NULL THEN
        RETURN;
    END IF;
    IF purge THEN
        v_rows := ARRAY(
            SELECT u.chunk_id
            FROM sift.unpacked_chunks AS u
            WHERE u.tenant_id = v_tenant_id AND u.chunk_id = ANY (_remove_postings.chunk_ids)
            ORDER BY u.chunk_id
            FOR UPDATE);
    ELSE
        v_rows := ARRAY(
            SELECT u.chunk_id
            FROM sift.unpacked_chunks AS u
            WHERE u.tenant_id = v_tenant_id AND u.chunk_id = ANY (_remove_postings.chunk_ids)
            FOR UPDATE SKIP LOCKED);
    END IF;
    IF cardinality(v_rows) > 0 THEN
        FOR v_chunk IN
            SELECT c.chunk_id, string_to_array(c.tokens, ' ') AS terms
            FROM sift.chunks AS c
            WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (v_rows)
        LOOP
            DELETE FROM sift.chunk_terms AS w
            WHERE w.tenant_id = v_tenant_id AND w.term = ANY (v_chunk.terms) AND w.chunk_id = v_chunk.chunk_id;
        END LOOP;
        DELETE FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id AND u.chunk_id = ANY (v_rows);
    END IF;
    IF purge THEN
        SELECT array_agg(c.chunk_id), array_agg(c.tokens) INTO v_packed, v_tokens
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (_remove_postings.chunk_ids) AND c.doc_length > 0
          AND c.chunk_id NOT IN (SELECT r.id FROM unnest(v_rows) AS r (id));
        v_packed := sift._remove_packed(v_tenant_id, coalesce(v_packed, '{}'::bigint[]), v_tokens);
    END IF;

    -- Blocks count themselves: what was taken out of one is not a loss beside it.
    INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
    SELECT v_tenant_id, t.term, -count(DISTINCT t.chunk_id), 0, 2147483647
    FROM (SELECT c.chunk_id, string_to_table(c.tokens, ' ') AS term
          FROM sift.chunks AS c
          WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (_remove_postings.chunk_ids) AND c.doc_length > 0
            AND c.chunk_id NOT IN (SELECT p.id FROM unnest(v_packed) AS p (id))) AS t
    GROUP BY t.term
    ORDER BY t.term;
    IF purge THEN
        PERFORM sift._forget_terms(v_tenant_id, ARRAY(
            SELECT DISTINCT string_to_table(c.tokens, ' ')
            FROM sift.chunks AS c
            WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (_remove_postings.chunk_ids) AND c.doc_length > 0));
    END IF;
END
$$;
COMMENT ON FUNCTION sift._remove_postings(integer, bigint[], boolean) IS 'Takes chunks out of postings and statistics, before they are deleted; with purge, out of packed postings too.';
REVOKE ALL ON FUNCTION sift._remove_postings(integer, bigint[], boolean) FROM PUBLIC;
