-- Takes acronyms out of the vocabulary.
CREATE OR REPLACE FUNCTION sift.remove_acronyms(tenant text, acronyms text[]) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_removed   integer;
BEGIN
    PERFORM FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id FOR NO KEY UPDATE;
    SELECT count(DISTINCT a.acronym)::integer INTO v_removed
    FROM sift.acronyms AS a
    WHERE a.tenant_id = v_tenant_id AND a.acronym = ANY (acronyms);
    DELETE FROM sift.acronyms AS a WHERE a.tenant_id = v_tenant_id AND a.acronym = ANY (acronyms);
    RETURN v_removed;
END
$$;
COMMENT ON FUNCTION sift.remove_acronyms(text, text[]) IS 'Takes acronyms out of the vocabulary, and returns how many were in it.';
REVOKE ALL ON FUNCTION sift.remove_acronyms(text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.remove_acronyms(text, text[]) TO sift_owner, sift_writer;
