-- What sift.check_access does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._check_access(
    caller oid,
    proof  bytea,
    tenant text,
    key text,
    principals text[]
)
RETURNS TABLE (visible boolean, reason text, granted_by text[], denied_by text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    -- Refuses whoever may not choose principals, and sift:writer to those who are none.
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, coalesce(principals, '{}'::text[]), caller);
    v_writer    boolean := sift._is_writer(caller);
    v_names     text[] := sift._with_groups(v_tenant_id, principals);
    v_document  record;
BEGIN
    SELECT d.access_list_id = ANY (v_lists) AS visible,
           ARRAY(SELECT p.name FROM unnest(a.principals) AS p (name) WHERE p.name = ANY (v_names)) AS granted_by,
           ARRAY(SELECT p.name FROM unnest(a.denied) AS p (name) WHERE p.name = ANY (v_names)) AS denied_by
    INTO v_document
    FROM sift.documents AS d
    JOIN sift.access_lists AS a ON a.tenant_id = v_tenant_id AND a.access_list_id = d.access_list_id
    WHERE d.tenant_id = v_tenant_id AND d.key = _check_access.key;
    -- To those who do not write, what is invisible is not there.
    IF v_document IS NULL OR NOT (v_document.visible OR v_writer) THEN
        RETURN QUERY SELECT false, CASE WHEN v_writer THEN 'no such document' ELSE 'not visible' END, '{}'::text[], '{}'::text[];
        RETURN;
    END IF;
    RETURN QUERY
    SELECT v_document.visible,
           CASE WHEN v_writer AND 'sift:writer' = ANY (principals) THEN 'writer'
                WHEN v_document.visible THEN 'granted'
                WHEN cardinality(v_document.denied_by) > 0 THEN 'denied'
                ELSE 'not granted' END,
           v_document.granted_by, v_document.denied_by;
END
$$;
COMMENT ON FUNCTION sift._check_access(oid, bytea, text, text, text[]) IS 'The body of sift.check_access, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._check_access(oid, bytea, text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._check_access(oid, bytea, text, text, text[]) TO sift_owner, sift_writer, sift_app;
