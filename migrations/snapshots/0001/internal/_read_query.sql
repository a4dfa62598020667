-- What a search looks for: the distinct terms that are scored, the filter with the conditions of the query added, and the text an embedder is
-- given.
--
--   words      of a question without what makes it one (strip), with the expansions of their acronyms (expand)
--   phrases    and required terms are scored too, and conditions; excluded terms are conditions alone
--   prefixes   every term they stand for is a term of its own, the first 64 of those in visible chunks
--
-- documents: the conditions are those of a document, whose chunks may meet them one by one, and prefixes stand for the words of chunks that are
-- not ranked too. restricts: there are conditions beside the filter.
-- sift._judge_terms tells the same, word by word.
CREATE OR REPLACE FUNCTION sift._read_query(
    tenant_id integer,
    analyzer  text,
    query     text,
    verbatim  boolean,
    strip     boolean,
    expand    boolean,
    lists     bigint[],
    as_of     timestamptz,
    INOUT predicate text,
    INOUT bound jsonb,
    documents boolean DEFAULT false,
    OUT terms text[],
    OUT plain_text text,
    OUT restricts boolean
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_most      CONSTANT integer := 64;
    v_tenant_id integer := tenant_id;
    v_analyzer  text := analyzer;
    v_predicate text := predicate;
    v_asks      boolean := coalesce(strip AND sift._is_question(query), false);
    v_expand    boolean := coalesce(expand AND EXISTS (SELECT FROM sift.acronyms AS a WHERE a.tenant_id = v_tenant_id), false);
    v_parts     record;
    v_text      text;
    v_open      record;
    v_terms     text[];
    v_more      text[];
BEGIN
    plain_text := query;
    restricts := false;
    terms := '{}';
    IF query IS NULL THEN
        RETURN;
    END IF;
    v_parts := sift._parse_query(query, coalesce(verbatim, false));
    IF NOT v_asks AND NOT v_expand AND v_parts.kinds = '{word}' AND NOT v_parts.opens[1] THEN
        terms := sift._query_terms(v_analyzer, query);
        RETURN;
    END IF;
    plain_text := v_parts.plain_text;
    LOOP
        v_terms := '{}';
        FOR i IN 1 .. cardinality(v_parts.kinds) LOOP
            CONTINUE WHEN v_parts.kinds[i] = 'excluded';
            v_text := v_parts.texts[i];
            IF v_parts.opens[i] THEN
                v_open := sift._open_word(v_analyzer, v_text);
                IF v_open.word IS NOT NULL THEN
                    v_more := sift._prefix_terms(v_tenant_id, v_open.word, sift._prefix_stem(v_analyzer, v_open.word), lists, as_of, v_most, documents);
                    v_terms := v_terms || v_open.head || CASE WHEN v_more = '{}' THEN ARRAY[v_open.word] ELSE v_more END;
                    CONTINUE;
                END IF;
            END IF;
            IF v_asks AND v_parts.kinds[i] = 'word' THEN
                v_text := (sift._strip_question(v_text)).kept;
            END IF;
            v_terms := v_terms || sift._query_terms(v_analyzer, v_text);
        END LOOP;
        IF v_expand THEN
            FOR i IN 1 .. cardinality(v_parts.kinds) LOOP
                CONTINUE WHEN v_parts.kinds[i] <> 'word' OR v_parts.opens[i];
                v_text := v_parts.texts[i];
                IF v_asks THEN
                    v_text := (sift._strip_question(v_text)).kept;
                END IF;
                FOR v_open IN SELECT e.expansion FROM sift._expansions(v_tenant_id, v_text) WITH ORDINALITY AS e (acronym, expansion, place) ORDER BY e.place LOOP
                    v_terms := v_terms || sift._query_terms(v_analyzer, v_open.expansion);
                END LOOP;
            END LOOP;
        END IF;
        EXIT WHEN v_terms <> '{}' OR NOT v_asks;
        v_asks := false;  -- the query has only such words: they are what is looked for
    END LOOP;
    terms := ARRAY(
        SELECT t.term FROM unnest(v_terms) WITH ORDINALITY AS t (term, place)
        GROUP BY t.term
        ORDER BY min(t.place));
    v_open := sift._phrase_condition(v_analyzer, v_parts.kinds, v_parts.texts, v_parts.opens, predicate, bound, documents, as_of);
    predicate := v_open.predicate;
    bound := v_open.bound;
    restricts := predicate IS DISTINCT FROM v_predicate;
END
$$;
COMMENT ON FUNCTION sift._read_query(integer, text, text, boolean, boolean, boolean, bigint[], timestamptz, text, jsonb, boolean) IS
    'The terms, conditions and plain text of a query.';
REVOKE ALL ON FUNCTION sift._read_query(integer, text, text, boolean, boolean, boolean, bigint[], timestamptz, text, jsonb, boolean) FROM PUBLIC;
