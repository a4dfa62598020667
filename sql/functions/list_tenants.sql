-- The tenants, with their settings.
CREATE OR REPLACE FUNCTION sift.list_tenants()
RETURNS TABLE (
    tenant               text,
    analyzer             text,
    analyzer_fingerprint text,
    k1                   double precision,
    b                    double precision,
    rrf_k                double precision,
    depth                integer,
    index_title          text,
    default_principals   text[],
    model                text,
    keep_history         boolean,
    remote_classifications text[],
    remote_retained      boolean,
    statistics           text,
    strip_questions      boolean,
    expand               boolean,
    title_weight         double precision,
    abstract_weight      double precision,
    min_chunk_tokens     integer,
    kept_models          text[],
    created_at           timestamptz,
    chunker              text,
    context_prefix       boolean
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
BEGIN
    RETURN QUERY
    SELECT t.name, t.analyzer, t.analyzer_fingerprint, t.k1, t.b, t.rrf_k, t.depth, t.index_title, a.principals, m.name,
           t.keep_history, t.remote_classifications, t.remote_retained, t.statistics, t.strip_questions, t.expand, t.title_weight,
           t.abstract_weight, t.min_chunk_tokens,
           ARRAY(SELECT n.name FROM sift.embedding_models AS n
                 LEFT JOIN sift.tenant_models AS k ON k.tenant_id = t.tenant_id AND k.model_id = n.model_id
                 WHERE n.model_id = t.model_id OR k.model_id IS NOT NULL
                 ORDER BY (n.model_id = t.model_id) IS NOT TRUE, n.name COLLATE "C"),
           t.created_at, t.chunker, t.context_prefix
    FROM sift.tenants AS t
    LEFT JOIN sift.access_lists AS a ON a.tenant_id = t.tenant_id AND a.access_list_id = t.default_access_list_id
    LEFT JOIN sift.embedding_models AS m ON m.model_id = t.model_id
    ORDER BY t.name COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.list_tenants() IS 'The tenants with analyzer, ranking defaults, default principals and active embedding model.';
REVOKE ALL ON FUNCTION sift.list_tenants() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_tenants() TO sift_owner, sift_writer, sift_app;
