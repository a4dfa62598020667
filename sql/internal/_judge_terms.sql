-- What sift.query_terms does once it is known who asks. It follows sift._read_query: what is kept here is what that gives.
CREATE OR REPLACE FUNCTION sift._judge_terms(
    caller         oid,
    proof          bytea,
    tenant         text,
    query          text,
    plain          boolean,
    strip_questions boolean,
    expand         boolean,
    principals     text[]
)
RETURNS TABLE (term text, kept boolean, reason text, origin text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_variable
DECLARE
    v_most      CONSTANT integer := 64;
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_tenant    record;
    v_lists     bigint[];
    v_asks      boolean;
    v_expand    boolean;
    v_parts     record;
    v_kind      text;
    v_text      text;
    v_split     record;
    v_open      record;
    v_more      text[];
    v_terms     text[];    -- the rows, before it is known which are repeated
    v_reasons   text[];
    v_origins   text[];
    v_kept      boolean[];
    v_stripped  text[];
    v_row       record;
BEGIN
    SELECT t.analyzer, t.strip_questions, t.expand INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    v_lists := sift._visible_lists(v_tenant_id, principals, caller);
    IF query IS NULL THEN
        RETURN;
    END IF;
    v_asks := coalesce(strip_questions, v_tenant.strip_questions) AND sift._is_question(query);
    v_expand := coalesce(expand, v_tenant.expand);
    SELECT p.kinds, p.texts, p.opens INTO v_parts FROM sift._parse_query(query, coalesce(plain, false)) AS p;
    LOOP
        v_terms := '{}';
        v_reasons := '{}';
        v_origins := '{}';
        v_kept := '{}';
        FOR i IN 1 .. cardinality(v_parts.kinds) LOOP
            v_kind := nullif(v_parts.kinds[i], 'word');
            v_text := v_parts.texts[i];
            IF v_kind = 'excluded' THEN
                v_terms := v_terms || coalesce(btrim((sift._phrase_values(v_tenant.analyzer, v_text, v_parts.opens[i]))[1]), v_text);
                v_reasons := v_reasons || CASE WHEN sift._phrase_values(v_tenant.analyzer, v_text, v_parts.opens[i]) IS NULL
                    THEN 'excluded, but never looked at' ELSE 'excluded'::text END;
                v_origins := v_origins || v_text;
                v_kept := v_kept || false;
                CONTINUE;
            END IF;
            IF v_parts.opens[i] THEN
                SELECT o.head, o.word INTO v_open FROM sift._open_word(v_tenant.analyzer, v_text) AS o;
                IF v_open.word IS NOT NULL THEN
                    v_more := sift._prefix_terms(v_tenant_id, v_open.word, sift._prefix_stem(v_tenant.analyzer, v_open.word), v_lists, NULL, v_most + 1);
                    IF cardinality(v_more) > v_most THEN
                        v_terms := array_append(v_terms, v_open.word || '*');
                        v_reasons := array_append(v_reasons, format('stands for more than %s terms, of which the first %s count', v_most, v_most));
                        v_origins := array_append(v_origins, v_text || '*');
                        v_kept := array_append(v_kept, false);
                        v_more := v_more[1:v_most];
                    END IF;
                    v_more := v_open.head || CASE WHEN v_more = '{}' THEN ARRAY[v_open.word] ELSE v_more END;
                    v_terms := v_terms || v_more;
                    v_reasons := v_reasons || array_fill(coalesce(v_kind || ' prefix', 'prefix'), ARRAY[cardinality(v_more)]);
                    v_origins := v_origins || array_fill(v_text || '*', ARRAY[cardinality(v_more)]);
                    v_kept := v_kept || array_fill(true, ARRAY[cardinality(v_more)]);
                    CONTINUE;
                END IF;
            END IF;
            IF v_asks AND v_kind IS NULL THEN
                SELECT s.kept, s.stripped INTO v_split FROM sift._strip_question(v_text) AS s;
                v_text := v_split.kept;
                IF v_split.stripped <> '{}' THEN
                    v_terms := v_terms || ARRAY(SELECT btrim(u.word, '.,;:!?()[]"') FROM unnest(v_split.stripped) WITH ORDINALITY AS u (word, place) ORDER BY u.place);
                    v_reasons := v_reasons || array_fill('question word'::text, ARRAY[cardinality(v_split.stripped)]);
                    v_origins := v_origins || array_fill(NULL::text, ARRAY[cardinality(v_split.stripped)]);
                    v_kept := v_kept || array_fill(false, ARRAY[cardinality(v_split.stripped)]);
                END IF;
            END IF;
            SELECT v_terms || coalesce(array_agg(w.term ORDER BY w.place), '{}'::text[]),
                   v_reasons || coalesce(array_agg(coalesce(w.reason, v_kind) ORDER BY w.place), '{}'::text[]),
                   v_origins || coalesce(array_agg(CASE WHEN v_kind IS NOT NULL THEN v_text END ORDER BY w.place), '{}'::text[]),
                   v_kept || coalesce(array_agg(w.kept ORDER BY w.place), '{}'::boolean[])
            INTO v_terms, v_reasons, v_origins, v_kept
            FROM sift._judge_words(v_tenant.analyzer, v_text) WITH ORDINALITY AS w (term, kept, reason, place);
        END LOOP;
        IF v_expand THEN
            FOR i IN 1 .. cardinality(v_parts.kinds) LOOP
                CONTINUE WHEN v_parts.kinds[i] <> 'word' OR v_parts.opens[i];
                v_text := v_parts.texts[i];
                IF v_asks THEN
                    v_text := (sift._strip_question(v_text)).kept;
                END IF;
                FOR v_row IN
                    SELECT e.acronym, q.term FROM sift._expansions(v_tenant_id, v_text) WITH ORDINALITY AS e (acronym, expansion, place)
                    CROSS JOIN LATERAL unnest(sift._query_terms(v_tenant.analyzer, e.expansion)) WITH ORDINALITY AS q (term, place)
                    ORDER BY e.place, q.place
                LOOP
                    CONTINUE WHEN EXISTS (SELECT FROM unnest(v_terms, v_kept) AS o (term, kept) WHERE o.kept AND o.term = v_row.term);
                    v_terms := array_append(v_terms, v_row.term);
                    v_reasons := array_append(v_reasons, 'added'::text);
                    v_origins := array_append(v_origins, v_row.acronym);
                    v_kept := array_append(v_kept, true);
                END LOOP;
            END LOOP;
        END IF;
        EXIT WHEN true = ANY (v_kept) OR NOT v_asks;
        v_asks := false;
    END LOOP;
    RETURN QUERY
    SELECT n.term, n.kept AND n.turn = 1,
           CASE WHEN n.kept AND n.turn > 1 THEN 'repeated' ELSE n.reason END, n.origin
    FROM (SELECT r.term, r.kept, r.reason, r.origin, r.place,
                 row_number() OVER (PARTITION BY r.term COLLATE "C", r.kept ORDER BY r.place) AS turn
          FROM unnest(v_terms, v_reasons, v_origins, v_kept) WITH ORDINALITY AS r (term, reason, origin, kept, place)) AS n
    ORDER BY n.place;
END
$$;
COMMENT ON FUNCTION sift._judge_terms(oid, bytea, text, text, boolean, boolean, boolean, text[]) IS 'The body of sift.query_terms, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._judge_terms(oid, bytea, text, text, boolean, boolean, boolean, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._judge_terms(oid, bytea, text, text, boolean, boolean, boolean, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
