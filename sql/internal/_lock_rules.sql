-- Locks list 0 where a rule of access is for exactly one of these keys, or one their documents had before: so that nobody changes who sees
-- what comes under it. In the order of locks of sift._change_access it is before any document.
CREATE OR REPLACE FUNCTION sift._lock_rules(tenant_id integer, keys text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    PERFORM FROM sift.access_lists AS a
    WHERE a.tenant_id = v_tenant_id AND a.access_list_id = 0
      AND EXISTS (
          SELECT FROM sift.access_rules AS r
          WHERE r.tenant_id = v_tenant_id
            AND (r.key_prefix = ANY (keys)
                 OR EXISTS (SELECT FROM sift.document_versions AS o
                            JOIN sift.document_versions AS h ON h.document_id = o.document_id
                            WHERE o.tenant_id = v_tenant_id AND h.tenant_id = v_tenant_id AND o.key = r.key_prefix AND h.key = ANY (keys))))
    FOR UPDATE;
END
$$;
COMMENT ON FUNCTION sift._lock_rules(integer, text[]) IS
    'Keeps the rules of access as they are until the transaction ends, where one is for exactly one of these keys.';
REVOKE ALL ON FUNCTION sift._lock_rules(integer, text[]) FROM PUBLIC;
