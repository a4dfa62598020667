-- The vocabulary of a tenant.
CREATE OR REPLACE FUNCTION sift.list_acronyms(tenant text) RETURNS TABLE (acronym text, expansion text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    RETURN QUERY
    SELECT a.acronym, a.expansion FROM sift.acronyms AS a WHERE a.tenant_id = v_tenant_id ORDER BY a.acronym, a.expansion;
END
$$;
COMMENT ON FUNCTION sift.list_acronyms(text) IS 'What the acronyms of a tenant stand for.';
REVOKE ALL ON FUNCTION sift.list_acronyms(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_acronyms(text) TO sift_owner, sift_writer, sift_app;
