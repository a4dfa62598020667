-- The documents a database role may see, all tenants it is mapped in. A function and not a query, so that nothing of whoever reads the view
-- (a condition, an operator, EXPLAIN) comes to stand below the check of the permission.
CREATE OR REPLACE FUNCTION sift._my_documents(caller oid, proof bytea)
RETURNS TABLE (
    tenant text, key text, title text, version integer, source_uri text, source_version text, language text, license text, metadata jsonb,
    length integer, observed_at timestamptz, valid_from timestamptz, valid_to timestamptz, updated_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer;
    v_tenant    text;
    v_lists     bigint[];
BEGIN
    PERFORM sift._check_caller(caller, proof);
    FOR v_tenant_id, v_tenant IN
        SELECT t.tenant_id, t.name
        FROM (SELECT DISTINCT m.tenant_id FROM sift.role_principals AS m WHERE m.role_id = ANY ((SELECT sift._roles_of(caller))::oid[])) AS o
        JOIN sift.tenants AS t ON t.tenant_id = o.tenant_id
        ORDER BY t.name COLLATE "C"
    LOOP
        v_lists := sift._lists_for(v_tenant_id, sift._mapped_principals(v_tenant_id, caller));
        RETURN QUERY
        SELECT v_tenant, d.key, d.title, d.version, d.source_uri, d.source_version, d.language, d.license, d.metadata, d.length,
               d.observed_at, d.valid_from, d.valid_to, d.updated_at
        FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND d.access_list_id = ANY (v_lists);
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._my_documents(oid, bytea) IS 'The rows of the view sift.my_documents, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._my_documents(oid, bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._my_documents(oid, bytea) TO sift_reader;
