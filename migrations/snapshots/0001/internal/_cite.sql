-- What sift.cite does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._cite(
    caller       oid,
    proof        bytea,
    tenant       text,
    keys         text[],
    principals   text[],
    query        text
)
RETURNS TABLE (
    key              text,
    csl              jsonb,
    page             integer
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
BEGIN
    RETURN QUERY
    SELECT d.key, sift._csl(d.key, d.title, d.source_uri, d.language, d.metadata), e.page
    FROM (SELECT u.key, min(u.position) AS position FROM unnest(_cite.keys) WITH ORDINALITY AS u (key, position)
          WHERE u.key IS NOT NULL GROUP BY u.key) AS k
    CROSS JOIN LATERAL (SELECT x.key, x.title, x.source_uri, x.language, x.metadata FROM sift.documents AS x
                        WHERE x.tenant_id = v_tenant_id AND x.key = k.key AND x.access_list_id = ANY (v_lists) OFFSET 0) AS d
    LEFT JOIN LATERAL (SELECT w.page FROM sift._evidence(_cite.caller, _cite.proof, _cite.tenant, d.key, _cite.query, 1, 600, _cite.principals, NULL) AS w
                       WHERE _cite.query IS NOT NULL AND w.highlights <> '[]'::jsonb) AS e ON true
    ORDER BY k.position;
END
$$;
COMMENT ON FUNCTION sift._cite(oid, bytea, text, text[], text[], text) IS 'The body of sift.cite, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._cite(oid, bytea, text, text[], text[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._cite(oid, bytea, text, text[], text[], text) TO sift_owner, sift_writer, sift_app, sift_reader;
