-- Puts one principal in the place of another wherever it stands in a tenant: in access lists, those of rules and of the default among them,
-- allowed and denied; as a group and as a member of groups; in the mappings of database roles; in what failed ingests are retried with and recorded queries asked again.
-- Where the new one stands already, it stands there once, so that two principals become one. Nothing is indexed again.
--
--   SELECT * FROM sift.replace_principal('acme', 'group:personnel', 'group:people');
--
--   lists, memberships, roles   how many access lists, memberships of groups and mapped roles changed
CREATE OR REPLACE FUNCTION sift.replace_principal(tenant text, old_principal text, new_principal text)
RETURNS TABLE (lists integer, memberships integer, roles integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id   integer := sift._tenant_id(tenant);
    v_old         text := (sift._principal_set(ARRAY[old_principal]))[1];
    v_new         text := (sift._principal_set(ARRAY[new_principal]))[1];
    v_lists       integer;
    v_memberships integer;
    v_roles       integer;
BEGIN
    IF current_setting('transaction_isolation') NOT LIKE 'read %' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'principals are replaced in transactions that are READ COMMITTED',
            HINT = 'With one snapshot for the whole transaction, access lists that were made meanwhile would be missed.';
    END IF;
    IF v_old = v_new THEN
        RETURN QUERY SELECT 0, 0, 0;
        RETURN;
    END IF;
    -- As for a prefix (sift._change_access): no other change of access, and no documents being stored, since a list that is not committed
    -- yet would be missed.
    PERFORM FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id AND a.access_list_id = 0 FOR UPDATE;
    -- A new version of the row, as it is: transactions with one snapshot see by it that lists changed.
    UPDATE sift.access_lists AS a SET denied = a.denied WHERE a.tenant_id = v_tenant_id AND a.access_list_id = 0;
    PERFORM FROM sift.access_lists AS a
    WHERE a.tenant_id = v_tenant_id AND (a.principals @> ARRAY[v_old] OR a.denied @> ARRAY[v_old])
    ORDER BY a.access_list_id
    FOR NO KEY UPDATE;
    UPDATE sift.access_lists AS a
    SET principals = sift._principal_set(array_replace(a.principals, v_old, v_new)),
        denied = sift._principal_set(array_replace(a.denied, v_old, v_new))
    WHERE a.tenant_id = v_tenant_id AND (a.principals @> ARRAY[v_old] OR a.denied @> ARRAY[v_old]);
    GET DIAGNOSTICS v_lists = ROW_COUNT;

    INSERT INTO sift.principal_groups AS g (tenant_id, member, group_name)
    SELECT v_tenant_id, r.member, r.group_name
    FROM (SELECT DISTINCT CASE WHEN o.member = v_old THEN v_new ELSE o.member END AS member,
                          CASE WHEN o.group_name = v_old THEN v_new ELSE o.group_name END AS group_name
          FROM sift.principal_groups AS o
          WHERE o.tenant_id = v_tenant_id AND (o.member = v_old OR o.group_name = v_old)) AS r
    WHERE r.member <> r.group_name -- what every principal is already
    ORDER BY r.member COLLATE "C", r.group_name COLLATE "C"
    ON CONFLICT ON CONSTRAINT principal_groups_pkey DO NOTHING;
    DELETE FROM sift.principal_groups AS g
    WHERE g.tenant_id = v_tenant_id AND (g.member = v_old OR g.group_name = v_old);
    GET DIAGNOSTICS v_memberships = ROW_COUNT;

    INSERT INTO sift.role_principals AS m (tenant_id, role_name, role_id, principal)
    SELECT v_tenant_id, o.role_name, o.role_id, v_new
    FROM (SELECT p.role_name, p.role_id FROM sift.role_principals AS p
          WHERE p.tenant_id = v_tenant_id AND p.principal = v_old
          ORDER BY p.role_name) AS o
    ON CONFLICT ON CONSTRAINT role_principals_pkey DO NOTHING;
    DELETE FROM sift.role_principals AS m WHERE m.tenant_id = v_tenant_id AND m.principal = v_old;
    GET DIAGNOSTICS v_roles = ROW_COUNT;

    UPDATE sift.ingest_runs AS r
    SET parameters = jsonb_set(r.parameters, '{acl}', CASE jsonb_typeof(r.parameters -> 'acl')
        WHEN 'array' THEN (SELECT coalesce(jsonb_agg(CASE WHEN e.value = to_jsonb(v_old) THEN to_jsonb(v_new) ELSE e.value END ORDER BY e.position), '[]'::jsonb)
                           FROM jsonb_array_elements(r.parameters -> 'acl') WITH ORDINALITY AS e (value, position))
        ELSE (SELECT jsonb_object_agg(s.key, CASE WHEN jsonb_typeof(s.value) = 'array' THEN (
                  SELECT coalesce(jsonb_agg(CASE WHEN e.value = to_jsonb(v_old) THEN to_jsonb(v_new) ELSE e.value END ORDER BY e.position), '[]'::jsonb)
                  FROM jsonb_array_elements(s.value) WITH ORDINALITY AS e (value, position)) ELSE s.value END)
              FROM jsonb_each(r.parameters -> 'acl') AS s (key, value)) END)
    WHERE r.tenant_id = v_tenant_id
      AND (r.parameters -> 'acl' @> to_jsonb(ARRAY[v_old]) OR r.parameters #> '{acl,allow}' @> to_jsonb(ARRAY[v_old])
           OR r.parameters #> '{acl,deny}' @> to_jsonb(ARRAY[v_old]));
    -- Recorded queries are asked again for the same people.
    UPDATE sift.query_log AS q
    SET principals = CASE WHEN v_new = ANY (q.principals) THEN array_remove(q.principals, v_old) ELSE array_replace(q.principals, v_old, v_new) END
    WHERE q.tenant_id = v_tenant_id AND v_old = ANY (q.principals);
    RETURN QUERY SELECT v_lists, v_memberships, v_roles;
END
$$;
COMMENT ON FUNCTION sift.replace_principal(text, text, text) IS
    'Puts one principal in the place of another in all access lists, rules, groups and mappings of database roles of a tenant: how many of them changed. Effective with the commit; a new principal that exists already gets what the old one had beside its own. Waits for documents that are being stored.';
REVOKE ALL ON FUNCTION sift.replace_principal(text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.replace_principal(text, text, text) TO sift_owner;
