-- The models a tenant has anything to do with: which one its searches use, which are kept current, how many vectors are there and missing.
-- Everything is counted, which takes about a second for a million chunks and model.
CREATE OR REPLACE FUNCTION sift.show_models(tenant text, of_model text DEFAULT NULL)
RETURNS TABLE (
    model           text,
    state           text,
    vectors         bigint,
    missing         bigint,
    withheld        bigint,
    cached_queries  bigint,
    missing_queries bigint,
    kept_since      timestamptz,
    table_bytes     bigint,
    index_bytes     bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_asked     integer := CASE WHEN of_model IS NOT NULL THEN sift._model_id(v_tenant_id, of_model) END;
    v_active    integer;
    v_model     record;
    v_count     record;
BEGIN
    SELECT t.model_id INTO v_active FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    FOR v_model IN
        SELECT m.model_id, m.name, k.kept_since, coalesce(s.vectors, 0) AS vectors, coalesce(q.queries, 0) AS queries,
               to_regclass(format('sift.chunk_embeddings_m%s', m.model_id)) AS partition
        FROM sift.embedding_models AS m
        LEFT JOIN sift.tenant_models AS k ON k.tenant_id = v_tenant_id AND k.model_id = m.model_id
        LEFT JOIN (SELECT e.model_id, sum(e.vectors)::bigint AS vectors FROM sift.embedding_stats AS e
                   WHERE e.tenant_id = v_tenant_id GROUP BY e.model_id) AS s ON s.model_id = m.model_id
        LEFT JOIN (SELECT e.model_id, count(*) AS queries FROM sift.query_embeddings AS e
                   WHERE e.tenant_id = v_tenant_id GROUP BY e.model_id) AS q ON q.model_id = m.model_id
        WHERE m.model_id = v_asked OR v_asked IS NULL AND (m.model_id = v_active OR k.model_id IS NOT NULL OR s.vectors > 0 OR q.queries > 0)
        ORDER BY (m.model_id = v_active) IS NOT TRUE, k.model_id IS NULL, m.name COLLATE "C"
    LOOP
        SELECT c.missing, c.withheld INTO v_count FROM sift._missing_vectors(v_tenant_id, v_model.model_id) AS c;
        model := v_model.name;
        state := CASE WHEN v_model.model_id = v_active THEN 'active' WHEN v_model.kept_since IS NOT NULL THEN 'kept'
                      WHEN v_model.vectors > 0 THEN 'retired' ELSE 'unused' END;
        vectors := v_model.vectors;
        missing := v_count.missing;
        withheld := v_count.withheld;
        cached_queries := v_model.queries;
        missing_queries := (
            SELECT count(*) FROM sift.query_embeddings AS q
            WHERE q.tenant_id = v_tenant_id AND q.model_id = v_active
              AND NOT EXISTS (SELECT FROM sift.query_embeddings AS o
                              WHERE o.tenant_id = v_tenant_id AND o.model_id = v_model.model_id AND o.query = q.query));
        kept_since := v_model.kept_since;
        table_bytes := pg_table_size(v_model.partition);
        index_bytes := pg_indexes_size(v_model.partition);
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift.show_models(text, text) IS
    'The models of a tenant: active, kept current, retired, or unused without vectors; one alone where it is named; vectors there and missing (withheld: missing, and kept from remote embedders); query vectors cached, and those of the active model it lacks; size of table and indexes, of all tenants together.';
REVOKE ALL ON FUNCTION sift.show_models(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.show_models(text, text) TO sift_owner, sift_writer;
