-- The next documents that lack a signature, in the order of their numbers, whoever may see them, with the tokens to make it of.
CREATE OR REPLACE FUNCTION sift.documents_without_signature(tenant text, k integer DEFAULT 500, after bigint DEFAULT 0)
RETURNS TABLE (document_id bigint, version integer, tokens text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_first     bigint := coalesce((SELECT s.first_text_id FROM sift.signature_settings AS s WHERE s.tenant_id = v_tenant_id), 0);
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, not %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of documents wanted.';
    END IF;
    RETURN QUERY
    SELECT n.document_id, n.version, array_to_string(sift._document_tokens(v_tenant_id, n.document_id), ' ')
    FROM (
        SELECT d.document_id, d.version
        FROM sift.documents AS d
        LEFT JOIN LATERAL (
            SELECT true AS found FROM sift.document_signatures AS s
            WHERE s.tenant_id = v_tenant_id AND s.document_id = d.document_id AND s.text_id >= v_first OFFSET 0) AS g ON true
        WHERE d.tenant_id = v_tenant_id AND d.document_id > coalesce(after, 0) AND g.found IS NULL
        ORDER BY d.document_id
        LIMIT k
    ) AS n
    ORDER BY n.document_id;
END
$$;
COMMENT ON FUNCTION sift.documents_without_signature(text, integer, bigint) IS
    'The next k documents after a given one that lack a signature, with their version and their tokens joined by one space, the title''s left out; for sift.put_signatures.';
REVOKE ALL ON FUNCTION sift.documents_without_signature(text, integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.documents_without_signature(text, integer, bigint) TO sift_owner, sift_writer;
