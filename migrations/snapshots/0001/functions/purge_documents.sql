-- Deletes documents, those deleted earlier too, with their history: superseded texts, vectors and sources, titles, addresses, metadata, and
-- hashes of their texts. What stays is a hash of the key, who purged it, when, why, and the numbers its chunks had, by which
-- sift.audit_deletion proves that nothing is left.
CREATE OR REPLACE FUNCTION sift.purge_documents(tenant text, keys text[], reason text DEFAULT NULL)
RETURNS TABLE (key text, purged boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_found text[] := sift._purge_documents(sift._tenant_id(tenant), purge_documents.keys, purge_documents.reason, sift._recorded_role());
BEGIN
    RETURN QUERY
    SELECT k.key, k.key = ANY (v_found)
    FROM unnest(purge_documents.keys) WITH ORDINALITY AS k (key, position)
    ORDER BY k.position;
END
$$;
COMMENT ON FUNCTION sift.purge_documents(text, text[], text) IS
    'Deletes documents, also those deleted earlier, with everything kept of them; a hash of the key, who, when and why stay. Says of each key whether there was anything.';
REVOKE ALL ON FUNCTION sift.purge_documents(text, text[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.purge_documents(text, text[], text) TO sift_owner, sift_writer;
