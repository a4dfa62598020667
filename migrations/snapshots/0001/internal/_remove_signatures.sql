-- Takes away what is kept of documents for finding near-duplicates. The caller holds the documents' row locks.
CREATE OR REPLACE FUNCTION sift._remove_signatures(tenant_id integer, document_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_signature record;
BEGIN
    FOR v_signature IN
        SELECT s.document_id, s.bands, s.anchors FROM sift.document_signatures AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = ANY (_remove_signatures.document_ids)
    LOOP
        DELETE FROM sift.signature_bands AS b
        WHERE b.tenant_id = v_tenant_id AND b.band = ANY (v_signature.bands) AND b.document_id = v_signature.document_id;
        DELETE FROM sift.signature_anchors AS a
        WHERE a.tenant_id = v_tenant_id AND a.anchor = ANY (v_signature.anchors) AND a.document_id = v_signature.document_id;
    END LOOP;
    DELETE FROM sift.document_signatures AS s
    WHERE s.tenant_id = v_tenant_id AND s.document_id = ANY (_remove_signatures.document_ids);
    DELETE FROM sift.document_clusters AS c
    WHERE c.tenant_id = v_tenant_id AND c.document_id = ANY (_remove_signatures.document_ids);
END
$$;
COMMENT ON FUNCTION sift._remove_signatures(integer, bigint[]) IS 'Removes signatures, bands, anchors and cluster rows of documents.';
REVOKE ALL ON FUNCTION sift._remove_signatures(integer, bigint[]) FROM PUBLIC;
