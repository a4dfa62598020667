-- Who may see what, and what says so.
CREATE OR REPLACE FUNCTION sift.show_access(tenant text, keys text[] DEFAULT NULL, key_prefix text DEFAULT NULL)
RETURNS TABLE (kind text, name text, principals text[], denied text[], origin text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_keys      text[] := keys;
    v_prefix    text := key_prefix;
BEGIN
    IF num_nonnulls(v_keys, v_prefix) > 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'keys and key_prefix exclude each other',
            HINT = 'Pass one of them, or neither for everything.';
    END IF;
    IF v_keys IS NULL THEN
        RETURN QUERY
        SELECT 'default', '', a.principals, a.denied, 'default'
        FROM sift.tenants AS t
        JOIN sift.access_lists AS a ON a.tenant_id = v_tenant_id AND a.access_list_id = t.default_access_list_id
        WHERE t.tenant_id = v_tenant_id;
        -- The rules under the prefix, and those it is under.
        RETURN QUERY
        SELECT 'prefix', r.key_prefix, a.principals, a.denied, 'prefix'
        FROM sift.access_rules AS r
        JOIN sift.access_lists AS a ON a.tenant_id = v_tenant_id AND a.access_list_id = r.access_list_id
        WHERE r.tenant_id = v_tenant_id AND (v_prefix IS NULL OR starts_with(r.key_prefix, v_prefix) OR starts_with(v_prefix, r.key_prefix))
        ORDER BY r.key_prefix COLLATE "C";
        SELECT array_agg(d.key) INTO v_keys
        FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND starts_with(d.key, v_prefix);
    END IF;
    RETURN QUERY
    SELECT 'document', d.key, a.principals, a.denied,
           CASE WHEN a.principals <> g.principals OR a.denied <> g.denied THEN 'document'
                WHEN g.key_prefix = '' THEN 'default'
                ELSE 'prefix ' || g.key_prefix END
    FROM sift.documents AS d
    JOIN sift.access_lists AS a ON a.tenant_id = v_tenant_id AND a.access_list_id = d.access_list_id
    CROSS JOIN LATERAL (
        SELECT x.key_prefix, b.principals, b.denied
        FROM (SELECT r.key_prefix, r.access_list_id FROM sift.access_rules AS r
              WHERE r.tenant_id = v_tenant_id AND starts_with(d.key, r.key_prefix)
              UNION ALL
              SELECT '', t.default_access_list_id FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id) AS x
        JOIN sift.access_lists AS b ON b.tenant_id = v_tenant_id AND b.access_list_id = x.access_list_id
        ORDER BY octet_length(x.key_prefix) DESC
        LIMIT 1) AS g
    WHERE d.tenant_id = v_tenant_id AND d.key = ANY (v_keys)
    ORDER BY d.key COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.show_access(text, text[], text) IS
    'Who may see documents (kind document), and what those that come without an acl get: by prefix of the key (kind prefix), else by default (kind default). Without keys and key_prefix the rules alone. origin says which rule a document agrees with, or document where its list is its own.';
REVOKE ALL ON FUNCTION sift.show_access(text, text[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.show_access(text, text[], text) TO sift_owner, sift_writer;
