-- The chunks a database role may see, all tenants it is mapped in (see sift._my_documents).
CREATE OR REPLACE FUNCTION sift._my_chunks(caller oid, proof bytea)
RETURNS TABLE (
    tenant text, key text, title text, chunk_id bigint, ordinal integer, kind text, section text, page integer, char_start integer,
    char_end integer, body text
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
        SELECT v_tenant, d.key, d.title, c.chunk_id, c.ordinal, c.kind, array_to_string(c.section_path, ' > '), c.page, c.char_start,
               c.char_end, c.body
        FROM sift.chunks AS c
        JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
        WHERE c.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND c.access_list_id = ANY (v_lists);
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._my_chunks(oid, bytea) IS 'The rows of the view sift.my_chunks, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._my_chunks(oid, bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._my_chunks(oid, bytea) TO sift_reader;
