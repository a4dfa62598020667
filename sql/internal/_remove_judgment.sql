-- What sift.remove_judgment does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._remove_judgment(caller oid, proof bytea, tenant text, judgment bigint, principals text[]) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_id        bigint;
BEGIN
    SELECT s.judgment_id INTO v_id
    FROM sift._judgments_seen(v_tenant_id, v_lists, coalesce('sift:writer' = ANY (principals), false), NULL, NULL, NULL, ARRAY[judgment], NULL, 1) AS s;
    DELETE FROM sift.judgments AS j WHERE j.tenant_id = v_tenant_id AND j.judgment_id = v_id;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION sift._remove_judgment(oid, bytea, text, bigint, text[]) IS 'The body of sift.remove_judgment, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._remove_judgment(oid, bytea, text, bigint, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._remove_judgment(oid, bytea, text, bigint, text[]) TO sift_owner, sift_writer, sift_app;
