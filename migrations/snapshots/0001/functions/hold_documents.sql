-- Holds documents as they are until the transaction ends, and says which are still of the version named: so that what was made of an older
-- one does not replace what another writer stored meanwhile.
CREATE OR REPLACE FUNCTION sift.hold_documents(tenant text, keys text[], versions integer[]) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    IF cardinality(keys) IS DISTINCT FROM cardinality(versions) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('there are %s keys and %s versions', coalesce(cardinality(keys), 0), coalesce(cardinality(versions), 0)),
            HINT = 'Pass one version for every key.';
    END IF;
    -- In the order of keys, as everybody locks who writes several documents.
    RETURN QUERY
    SELECT l.key
    FROM (SELECT d.key, d.version FROM sift.documents AS d
          WHERE d.tenant_id = v_tenant_id AND d.key = ANY (hold_documents.keys)
          ORDER BY d.key COLLATE "C"
          FOR UPDATE) AS l
    JOIN unnest(hold_documents.keys, hold_documents.versions) AS g (key, version) ON g.key = l.key AND g.version = l.version;
END
$$;
COMMENT ON FUNCTION sift.hold_documents(text, text[], integer[]) IS
    'Locks documents until the transaction ends, and returns the keys of those whose version is the one named.';
REVOKE ALL ON FUNCTION sift.hold_documents(text, text[], integer[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.hold_documents(text, text[], integer[]) TO sift_owner, sift_writer;
