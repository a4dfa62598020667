-- Removes a tenant and all that is its own.
CREATE OR REPLACE FUNCTION sift.drop_tenant(tenant text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer;
BEGIN
    SELECT t.tenant_id INTO v_tenant_id FROM sift.tenants AS t WHERE t.name = drop_tenant.tenant FOR UPDATE;
    IF v_tenant_id IS NULL THEN
        RETURN false;
    END IF;
    DELETE FROM sift.query_log AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.judgments AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.tenant_models AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.query_embeddings AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.term_fits AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.term_embeddings AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.chunk_embeddings AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.chunk_token_embeddings AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.embedding_stats AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.chunk_terms AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.unranked_terms AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.document_lengths AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.posting_blocks AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.packed_chunks AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.unpacked_chunks AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.term_stats AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.corpus_stats AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.corpus_totals AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.chunk_entities AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.chunks AS x WHERE x.tenant_id = v_tenant_id;
    -- First of these: it waits for whoever is storing signatures.
    DELETE FROM sift.signature_settings AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.document_clusters AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.signature_bands AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.signature_anchors AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.document_signatures AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.similar_texts AS x WHERE x.tenant_id = v_tenant_id;
    -- Likewise for whoever is storing topics.
    PERFORM x.run FROM sift.topic_runs AS x WHERE x.tenant_id = v_tenant_id FOR UPDATE;
    DELETE FROM sift.document_topics AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.topics AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.topic_runs AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.documents AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.document_sources AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.chunk_history AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.document_versions AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.dead_letters AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.sync_items AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.sync_sources AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.manifest_documents AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.manifests AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.ingest_runs AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.role_principals AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.acronyms AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.principal_groups AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.access_rules AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.access_lists AS x WHERE x.tenant_id = v_tenant_id;
    DELETE FROM sift.tenants AS x WHERE x.tenant_id = v_tenant_id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION sift.drop_tenant(text) IS 'Removes a tenant with its documents, history and permissions; false where there is none of this name.';
REVOKE ALL ON FUNCTION sift.drop_tenant(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.drop_tenant(text) TO sift_owner;
