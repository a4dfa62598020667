-- The terms a prefix stands for, in the order of their code points, at most so many: those that begin with it, and of "english" its stem.
-- They are terms of chunks the caller may see, and of the past if as_of is given, so that no term of other chunks takes a place or is told.
-- documents: of chunks that are not ranked too, which count where whole documents are looked at.
--
-- Who sees little: the chunks are looked through. Who sees more: the vocabulary is, portion by portion, and of each term is asked whether a
-- visible chunk holds it.
CREATE OR REPLACE FUNCTION sift._prefix_terms(
    tenant_id integer, prefix text, stem text, lists bigint[], as_of timestamptz, most integer, documents boolean DEFAULT false)
RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_few       CONSTANT double precision := 4000::double precision;
    v_portion   CONSTANT integer := 500;
    v_tenant_id integer := tenant_id;
    v_prefix    text COLLATE "C" := prefix;
    v_end       text COLLATE "C" := prefix || chr(1114111);  -- no term holds the last code point
    v_stem      text COLLATE "C" := coalesce(stem, prefix);
    v_most      integer := most;
    v_lists     bigint[] := lists;
    v_as_of     timestamptz := as_of;
    v_documents boolean := documents;
    v_visible   double precision;
    v_terms     text[] := '{}';
    v_batch     text[];
    v_from      text COLLATE "C" := prefix;
    v_term      text;
BEGIN
    SELECT sum(s.chunks)::double precision INTO v_visible
    FROM unnest(v_lists) AS l (id)
    CROSS JOIN LATERAL (SELECT c.chunks FROM sift.corpus_stats AS c
                        WHERE c.tenant_id = v_tenant_id AND c.access_list_id = l.id OFFSET 0) AS s;
    IF coalesce(v_visible, 0::double precision) <= v_few THEN
        v_terms := ARRAY(
            SELECT DISTINCT t.term COLLATE "C" AS term
            FROM unnest(v_lists) AS l (id)
            CROSS JOIN LATERAL (SELECT s.tokens FROM sift.chunks AS s
                                WHERE s.tenant_id = v_tenant_id AND s.access_list_id = l.id AND s.unranked_tokens IS NULL
                                  AND s.access_list_id >= l.id AND s.access_list_id <= l.id
                                ORDER BY s.chunk_id LIMIT 10000) AS c
            CROSS JOIN LATERAL unnest(string_to_array(c.tokens, ' ')) AS t (term)
            WHERE (strpos(' ' || c.tokens, ' ' || v_prefix) > 0 OR strpos(' ' || c.tokens || ' ', ' ' || v_stem || ' ') > 0)
              AND (starts_with(t.term, v_prefix) OR t.term = v_stem)
            ORDER BY term
            LIMIT v_most);
    ELSE
        LOOP
            v_batch := ARRAY(
                SELECT DISTINCT u.term
                FROM (
                    (SELECT DISTINCT w.term FROM sift.term_stats AS w
                     WHERE w.tenant_id = v_tenant_id AND w.term >= v_from AND w.term < v_end
                     ORDER BY w.term LIMIT v_portion)
                    UNION ALL
                    SELECT r.term
                    FROM (SELECT d.block_no FROM sift.packed_chunks AS d WHERE d.tenant_id = v_tenant_id OFFSET 0) AS n
                    CROSS JOIN LATERAL (SELECT o.term FROM sift.posting_blocks AS o
                                        WHERE o.tenant_id = v_tenant_id AND o.block_no = n.block_no AND o.term >= v_from AND o.term < v_end
                                        ORDER BY o.term LIMIT v_portion) AS r) AS u
                ORDER BY u.term
                LIMIT v_portion);
            EXIT WHEN v_batch = '{}';
            v_from := v_batch[cardinality(v_batch)] || chr(1);
            FOREACH v_term IN ARRAY v_batch LOOP
                IF sift._is_visible_term(v_tenant_id, v_term, v_lists) THEN
                    v_terms := array_append(v_terms, v_term);
                    EXIT WHEN cardinality(v_terms) = v_most;
                END IF;
            END LOOP;
            EXIT WHEN cardinality(v_terms) = v_most;
        END LOOP;
        IF NOT starts_with(v_stem, v_prefix) AND sift._is_visible_term(v_tenant_id, v_stem, v_lists) THEN
            v_terms := v_stem::text || v_terms;
        END IF;
    END IF;
    IF v_documents THEN
        v_terms := v_terms || ARRAY(
            SELECT u.term
            FROM (SELECT DISTINCT w.term FROM sift.unranked_terms AS w
                  WHERE w.tenant_id = v_tenant_id AND w.tf > 0 AND ((w.term >= v_prefix AND w.term < v_end) OR w.term = v_stem)) AS u
            WHERE EXISTS (
                SELECT FROM (SELECT x.chunk_id FROM sift.unranked_terms AS x
                             WHERE x.tenant_id = v_tenant_id AND x.term = u.term AND x.tf > 0 OFFSET 0) AS p
                CROSS JOIN LATERAL (SELECT y.access_list_id FROM sift.chunks AS y
                                    WHERE y.tenant_id = v_tenant_id AND y.chunk_id = p.chunk_id OFFSET 0) AS c
                WHERE c.access_list_id = ANY (v_lists))
            ORDER BY u.term
            LIMIT v_most);
    END IF;
    IF v_as_of IS NOT NULL THEN
        v_terms := v_terms || ARRAY(
            SELECT DISTINCT t.term
            FROM sift.chunk_history AS h
            CROSS JOIN LATERAL sift._version_at(v_tenant_id, h.document_id, v_as_of, v_lists) AS v
            CROSS JOIN LATERAL (SELECT CASE WHEN v_documents THEN coalesce(h.unranked_tokens, h.tokens) ELSE h.tokens END AS tokens OFFSET 0) AS k
            CROSS JOIN LATERAL unnest(string_to_array(k.tokens, ' ')) AS t (term)
            WHERE h.tenant_id = v_tenant_id AND h.current_to > v_as_of AND h.current_from <= v_as_of
              AND (v.access_list_id IN (SELECT l.id FROM unnest(v_lists) AS l (id))) IS TRUE
              AND (strpos(' ' || k.tokens, ' ' || v_prefix) > 0 OR strpos(' ' || k.tokens || ' ', ' ' || v_stem || ' ') > 0)
              AND (starts_with(t.term, v_prefix) OR t.term = v_stem));
    END IF;
    RETURN ARRAY(SELECT DISTINCT t.term COLLATE "C" AS term FROM unnest(v_terms) AS t (term) ORDER BY term LIMIT v_most);
END
$$;
COMMENT ON FUNCTION sift._prefix_terms(integer, text, text, bigint[], timestamptz, integer, boolean) IS
    'The first terms of visible chunks that begin with a prefix, or are its stem.';
REVOKE ALL ON FUNCTION sift._prefix_terms(integer, text, text, bigint[], timestamptz, integer, boolean) FROM PUBLIC;
