-- The topics of the documents a database role may see, all tenants it is mapped in (see sift._my_documents).
CREATE OR REPLACE FUNCTION sift._my_topics(caller oid, proof bytea)
RETURNS TABLE (tenant text, topic integer, key text, title text, observed_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET enable_nestloop = off
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
        SELECT v_tenant, m.topic, d.key, d.title, d.observed_at
        FROM sift.document_topics AS m
        JOIN sift.documents AS d ON d.document_id = m.document_id
        WHERE m.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND d.access_list_id = ANY (v_lists);
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._my_topics(oid, bytea) IS 'The rows of the view sift.my_topics, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._my_topics(oid, bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._my_topics(oid, bytea) TO sift_reader;
