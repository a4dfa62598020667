-- The access list of each document of a batch, by key: of its acl, or where it has none, of the longest prefix of its key that has a
-- rule, else of the tenant. Lists are made where they are missing.
--
-- The lists stay what they are until the transaction ends. They are locked in one order, before any document is:
--   list 0, lightly      no prefix's and no tenant's list changes (sift._change_access locks it FOR UPDATE, and updates it, to do that: a
--                        transaction with one snapshot that is older fails here)
--   the lists, shared    none of them is edited in place; one that was while this waited is not taken, but made anew
CREATE OR REPLACE FUNCTION sift._document_lists(tenant_id integer, documents jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_ruled     jsonb;
    v_sets      jsonb;
    v_set       record;
    v_list      bigint;
    v_made      jsonb := '{}'::jsonb;
    v_lists     jsonb := '{}'::jsonb;
BEGIN
    PERFORM FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id AND a.access_list_id = 0 FOR KEY SHARE;
    SELECT coalesce(jsonb_object_agg(d.value ->> 'key', coalesce(
               (SELECT r.access_list_id FROM sift.access_rules AS r
                WHERE r.tenant_id = v_tenant_id AND starts_with(d.value ->> 'key', r.key_prefix)
                ORDER BY octet_length(r.key_prefix) DESC
                LIMIT 1),
               t.default_access_list_id)), '{}'::jsonb)
    INTO v_ruled
    FROM jsonb_array_elements(documents) AS d (value)
    JOIN sift.tenants AS t ON t.tenant_id = v_tenant_id
    WHERE coalesce(jsonb_typeof(d.value -> 'acl'), 'null') = 'null';

    -- Each access list of the batch once: as written, as sets, and the number of the list that holds these.
    SELECT coalesce(jsonb_agg(jsonb_build_object('acl', s.acl::text, 'allow', s.allow, 'deny', s.deny,
                                                 'list', sift._find_list(v_tenant_id, s.allow, s.deny))), '[]'::jsonb)
    INTO v_sets
    FROM (
        SELECT a.acl, sift._principal_set(ARRAY(SELECT p.name FROM jsonb_array_elements_text(
                   CASE WHEN jsonb_typeof(a.acl) = 'array' THEN a.acl WHEN jsonb_typeof(a.acl -> 'allow') = 'array' THEN a.acl -> 'allow' ELSE '[]'::jsonb END
                   ) AS p (name))) AS allow,
               sift._principal_set(ARRAY(SELECT p.name FROM jsonb_array_elements_text(
                   CASE WHEN jsonb_typeof(a.acl -> 'deny') = 'array' THEN a.acl -> 'deny' ELSE '[]'::jsonb END) AS p (name))) AS deny
        FROM (SELECT DISTINCT d.value -> 'acl' AS acl FROM jsonb_array_elements(documents) AS d (value)) AS a
        WHERE jsonb_typeof(a.acl) <> 'null'
    ) AS s;

    PERFORM FROM sift.access_lists AS a
    WHERE a.tenant_id = v_tenant_id AND a.access_list_id > 0
      AND a.access_list_id = ANY (ARRAY(SELECT (s.value ->> 'list')::bigint FROM jsonb_array_elements(v_sets) AS s (value)
                                        UNION SELECT r.value::bigint FROM jsonb_each_text(v_ruled) AS r (key, value)))
    ORDER BY a.access_list_id
    FOR SHARE;

    FOR v_set IN
        SELECT s.acl, s.allow, s.deny, s.list, jsonb_build_array(s.allow, s.deny)::text AS sets
        FROM jsonb_to_recordset(v_sets) AS s (acl text, allow text[], deny text[], list bigint)
    LOOP
        SELECT a.access_list_id INTO v_list
        FROM sift.access_lists AS a
        WHERE a.tenant_id = v_tenant_id AND a.access_list_id = v_set.list AND a.principals = v_set.allow AND a.denied = v_set.deny;
        IF v_list IS NULL THEN
            v_list := (v_made ->> v_set.sets)::bigint;  -- the same sets in another order
        END IF;
        IF v_list IS NULL THEN
            INSERT INTO sift.access_lists AS a (tenant_id, principals, denied) VALUES (v_tenant_id, v_set.allow, v_set.deny)
            RETURNING a.access_list_id INTO v_list;
            v_made := v_made || jsonb_build_object(v_set.sets, v_list);
        END IF;
        v_lists := v_lists || jsonb_build_object(v_set.acl, v_list);
    END LOOP;

    SELECT v_ruled || coalesce(jsonb_object_agg(d.value ->> 'key', v_lists -> ((d.value -> 'acl')::text)), '{}'::jsonb) INTO v_lists
    FROM jsonb_array_elements(documents) AS d (value)
    WHERE jsonb_typeof(d.value -> 'acl') <> 'null';
    RETURN v_lists;
END
$$;
COMMENT ON FUNCTION sift._document_lists(integer, jsonb) IS 'Numbers of the access lists of documents that are to be stored, by key, locked against change until the transaction ends.';
REVOKE ALL ON FUNCTION sift._document_lists(integer, jsonb) FROM PUBLIC;
