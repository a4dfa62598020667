-- The terms of a query with their weights and vectors, in the order given; weight and embedding are NULL where a term has no vector that
-- counts for the caller. No row where the terms of the model were not fitted.
--
--   weight  idf, of the statistics that searches of the tenant score with
--
-- A term counts where a visible chunk held it when terms were fitted: whether hidden chunks hold it too is not told, neither by its having a
-- vector nor, once a visible one holds it, by its having had one before. Where statistics are of the visible alone, vectors of the forms
-- that are frequent in the whole corpus do not count.
CREATE OR REPLACE FUNCTION sift._fitted_terms(tenant_id integer, model_id integer, terms text[], lists bigint[])
RETURNS TABLE (term text, weight double precision, embedding real[])
LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_model_id  integer := model_id;
    v_lists     bigint[] := lists;
    v_visible   boolean;
    v_fit       record;
    v_row       record;
    v_chunks    double precision;
    v_df        double precision;
BEGIN
    SELECT t.statistics = 'visible' INTO v_visible FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    SELECT f.fitted_to, f.forms INTO v_fit FROM sift.term_fits AS f WHERE f.tenant_id = v_tenant_id AND f.model_id = v_model_id;
    IF NOT FOUND OR (v_visible AND v_fit.forms = 'frequent') THEN
        RETURN;
    END IF;
    IF v_visible THEN
        SELECT sum(s.chunks)::double precision INTO v_chunks
        FROM unnest((SELECT v_lists)) AS l (id)
        CROSS JOIN LATERAL (SELECT c.chunks FROM sift.corpus_stats AS c
                            WHERE c.tenant_id = v_tenant_id AND c.access_list_id = l.id OFFSET 0) AS s;
    ELSE
        SELECT sum(s.chunks)::double precision INTO v_chunks FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id;
    END IF;
    FOR v_row IN
        SELECT q.term, e.embedding
        FROM (SELECT u.term COLLATE "C" AS term, min(u.place) AS place FROM unnest(terms) WITH ORDINALITY AS u (term, place) GROUP BY 1) AS q
        LEFT JOIN LATERAL (
            SELECT x.embedding::real[] AS embedding FROM sift.term_embeddings AS x
            WHERE x.tenant_id = v_tenant_id AND x.term = q.term AND x.model_id = v_model_id OFFSET 0) AS e ON true
        ORDER BY q.place
    LOOP
        v_df := NULL;
        IF v_row.embedding IS NOT NULL AND v_visible THEN
            SELECT count(*)::double precision INTO v_df
            FROM sift._unit_postings(v_tenant_id, ARRAY[v_row.term], v_lists, NULL, false, false) AS p
            WHERE p.ranked
            HAVING min(p.chunk_id) <= v_fit.fitted_to;
        ELSIF v_row.embedding IS NOT NULL AND sift._is_visible_term(v_tenant_id, v_row.term, v_lists, v_fit.fitted_to) THEN
            v_df := sift._document_frequency(v_tenant_id, v_row.term)::double precision;
        END IF;
        term := v_row.term;
        weight := ln(1::double precision + (v_chunks - v_df + 0.5::double precision) / (v_df + 0.5::double precision));
        embedding := CASE WHEN v_df IS NOT NULL THEN v_row.embedding END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._fitted_terms(integer, integer, text[], bigint[]) IS 'The terms of a query with the weights and vectors that its own vector is approximated by.';
REVOKE ALL ON FUNCTION sift._fitted_terms(integer, integer, text[], bigint[]) FROM PUBLIC;
