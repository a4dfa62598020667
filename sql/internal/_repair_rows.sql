-- Repair of postings that are rows: those of chunks that have none anywhere, or others than their tokens make. Statistics are left to
-- sift._repair_terms.
CREATE OR REPLACE FUNCTION sift._repair_rows(tenant_id integer)
RETURNS TABLE (object text, mended text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_rows      bigint;
    v_ids       bigint[];
    v_documents bigint[];
BEGIN
    UPDATE sift.chunks AS c SET doc_length = coalesce(cardinality(string_to_array(c.tokens, ' ')), 0)
    WHERE c.tenant_id = v_tenant_id AND c.doc_length <> coalesce(cardinality(string_to_array(c.tokens, ' ')), 0);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'chunks'::text, format('%s chunks have the number of their tokens as length again', v_rows);
    END IF;

    SELECT array_agg(e.chunk_id) FILTER (WHERE e.chunk_id IS NOT NULL), array_agg(e.document_id) FILTER (WHERE e.document_id IS NOT NULL)
    INTO v_ids, v_documents
    FROM sift._document_term_errors(v_tenant_id) AS e;
    IF v_ids IS NOT NULL OR v_documents IS NOT NULL THEN
        -- The documents are written anew as a whole; locked, so that nobody replaces them meanwhile.
        v_documents := ARRAY(
            SELECT d.document_id
            FROM sift.documents AS d
            WHERE d.tenant_id = v_tenant_id
              AND d.document_id IN (SELECT c.document_id FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (v_ids)
                                    UNION ALL SELECT u.id FROM unnest(v_documents) AS u (id))
            ORDER BY d.key COLLATE "C"
            FOR NO KEY UPDATE);
        DELETE FROM sift.unranked_terms AS w
        WHERE w.tenant_id = v_tenant_id
          AND (w.chunk_id IN (SELECT c.chunk_id FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = ANY (v_documents))
               OR NOT EXISTS (SELECT FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = w.chunk_id));
        DELETE FROM sift.document_lengths AS l
        WHERE l.tenant_id = v_tenant_id
          AND (l.document_id = ANY (v_documents)
               OR NOT EXISTS (SELECT FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.document_id = l.document_id));
        PERFORM sift._add_document_terms(v_tenant_id, ARRAY(
            SELECT c.chunk_id FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = ANY (v_documents)));
        RETURN QUERY SELECT 'unranked_terms'::text,
            format('lengths and terms outside postings of %s documents are what their tokens make', cardinality(v_documents));
    END IF;

    -- A chunk in a block and among the rows is left to the block.
    DELETE FROM sift.unpacked_chunks AS u
    WHERE u.tenant_id = v_tenant_id
      AND u.chunk_id IN (SELECT unnest(k.chunk_ids) FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        DELETE FROM sift.chunk_terms AS w
        WHERE w.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id AND u.chunk_id = w.chunk_id);
        RETURN QUERY SELECT 'unpacked_chunks'::text, format('%s chunks that were packed too are in one place', v_rows);
    END IF;

    v_ids := ARRAY(
        SELECT c.chunk_id
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id AND c.tokens <> ''
          AND c.chunk_id NOT IN (SELECT u.chunk_id FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id
                                 UNION ALL
                                 SELECT unnest(k.chunk_ids) FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id)
        ORDER BY c.chunk_id);
    IF v_ids <> '{}'::bigint[] THEN
        INSERT INTO sift.unpacked_chunks AS u (tenant_id, chunk_id, oversize)
        SELECT v_tenant_id, c.chunk_id,
               c.doc_length > 32767 OR c.chunk_id >= 1099511627776
               OR EXISTS (SELECT FROM string_to_table(c.tokens, ' ') AS t (term) GROUP BY t.term HAVING count(*) > 255)
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (v_ids)
        ON CONFLICT DO NOTHING;
        RETURN QUERY SELECT 'unpacked_chunks'::text, format('%s chunks that had no postings have them', cardinality(v_ids));
    END IF;

    -- Chunks that somebody packs or removes at this moment are not ours to touch.
    v_ids := ARRAY(SELECT u.chunk_id FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id ORDER BY u.chunk_id FOR UPDATE SKIP LOCKED);
    v_ids := ARRAY(
        WITH expected AS MATERIALIZED (
            SELECT o.term, o.chunk_id, count(*)::integer AS tf, o.doc_length
            FROM (SELECT c.chunk_id, c.doc_length, string_to_table(c.tokens, ' ') AS term
                  FROM unnest(v_ids) AS i (id)
                  CROSS JOIN LATERAL (SELECT s.chunk_id, s.doc_length, s.tokens FROM sift.chunks AS s
                                      WHERE s.tenant_id = v_tenant_id AND s.chunk_id = i.id AND s.tokens <> '' OFFSET 0) AS c) AS o
            GROUP BY o.term, o.chunk_id, o.doc_length
        ),
        present AS MATERIALIZED (
            SELECT w.term, w.chunk_id, w.tf, w.doc_length FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant_id AND w.chunk_id = ANY (v_ids)
        )
        SELECT DISTINCT coalesce(e.chunk_id, p.chunk_id) AS chunk_id
        FROM expected AS e
        FULL JOIN present AS p ON p.term = e.term AND p.chunk_id = e.chunk_id
        WHERE e.tf IS DISTINCT FROM p.tf OR e.doc_length IS DISTINCT FROM p.doc_length
        ORDER BY 1);
    IF v_ids <> '{}'::bigint[] THEN
        DELETE FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant_id AND w.chunk_id = ANY (v_ids);
        INSERT INTO sift.chunk_terms AS w (tenant_id, term, chunk_id, tf, doc_length)
        SELECT v_tenant_id, o.term, o.chunk_id, count(*)::integer, o.doc_length
        FROM (SELECT c.chunk_id, c.doc_length, string_to_table(c.tokens, ' ') AS term
              FROM sift.chunks AS c
              WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (v_ids) AND c.tokens <> '') AS o
        GROUP BY o.term, o.chunk_id, o.doc_length
        ORDER BY o.term, o.chunk_id;
        RETURN QUERY SELECT 'chunk_terms'::text, format('the postings of %s chunks are what their tokens make', cardinality(v_ids));
    END IF;
END
$$;
COMMENT ON FUNCTION sift._repair_rows(integer) IS 'Repair of postings that are rows, from the tokens of their chunks.';
REVOKE ALL ON FUNCTION sift._repair_rows(integer) FROM PUBLIC;
