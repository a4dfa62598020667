-- Terms and conditions of a query that is counted and not ranked: what the lexical leg of a search of the same text looks for. query NULL: terms
-- NULL, which stands for everything.
CREATE OR REPLACE FUNCTION sift._match_query(tenant_id integer, query text, filter jsonb, plain boolean, lists bigint[],
                                             OUT terms text[], OUT predicate text, OUT bound jsonb)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_tenant    record;
BEGIN
    SELECT f.predicate, f.bound INTO predicate, bound FROM sift._compile_filter(filter) AS f;
    IF query IS NULL THEN
        RETURN;
    END IF;
    SELECT t.analyzer, t.strip_questions, t.expand INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    SELECT r.predicate, r.bound, r.terms INTO predicate, bound, terms
    FROM sift._read_query(v_tenant_id, v_tenant.analyzer, query, plain, v_tenant.strip_questions, v_tenant.expand, lists, NULL, predicate, bound) AS r;
    IF cardinality(terms) = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS003', MESSAGE = 'the query holds no searchable term',
            HINT = 'sift.query_terms(tenant, query) shows what was dropped and why; leave the query out to count everything that is visible.';
    END IF;
END
$$;
COMMENT ON FUNCTION sift._match_query(integer, text, jsonb, boolean, bigint[]) IS 'Terms, filter and conditions of a query whose matches are counted; PS003 where it holds no term.';
REVOKE ALL ON FUNCTION sift._match_query(integer, text, jsonb, boolean, bigint[]) FROM PUBLIC;
