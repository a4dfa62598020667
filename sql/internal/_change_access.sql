-- Changes who may see: documents by key, everything under a prefix of the key (what is there, and with a rule what comes later without an
-- access list of its own), or what the tenant gives by default. change is set, grant or revoke.
--
-- A list whose documents and rules are all addressed is edited in place: one row, and neither chunks nor vectors are touched. The
-- other documents move to another list with their chunks and vectors. Tombstones, whose list says who may see what the document was, are
-- addressed by their keys like documents. Where another document has the key by now, what is opened for that is not opened for the one
-- before it (sift._list_today), and what is closed is closed for both: the tombstone keeps those principals that both lists hold, and
-- every deny.
--
-- Locks, always in this order, so that single calls cannot deadlock:
--   list 0        FOR NO KEY UPDATE: one change of access at a time in a tenant, so that no list changes under this call;
--                 FOR UPDATE for a prefix or the default: no documents are being stored either (sift._document_lists), since one that
--                 is not committed yet would be missed
--   lists         those to be edited, by number, FOR NO KEY UPDATE: waits for whoever is storing documents under them
--   documents     those that move, by key
CREATE OR REPLACE FUNCTION sift._change_access(
    tenant_id  integer,
    change     text,
    principals text[],
    denied     text[],
    keys       text[],
    key_prefix text,
    on_default boolean
)
RETURNS TABLE (key text, changed boolean)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id  integer := _change_access.tenant_id;
    v_keys       text[] := coalesce(keys, '{}'::text[]);
    v_prefix     text := key_prefix;
    v_principals text[] := sift._principal_set(principals);
    v_denied     text[] := sift._principal_set(denied);
    v_one_view   boolean := current_setting('transaction_isolation') NOT LIKE 'read %';
    v_default    boolean := coalesce(on_default, false) OR coalesce(key_prefix = '', false);
    v_rules      text[] := '{}'::text[];
    v_ids        bigint[];   -- of all documents addressed
    v_whole      bigint[];   -- lists edited in place
    v_moving     bigint[];   -- of documents that are not under one of these,
    v_from       bigint[];   -- and the lists they stand under
    v_gone       bigint[];   -- of documents that were deleted
    v_gone_from  bigint[];
    v_taken      bigint[];   -- and of those whose key another document has
    v_taken_from bigint[];
    v_targets    jsonb := '{}'::jsonb;
    v_narrowed   jsonb := '{}'::jsonb;
    v_allow      text[];
    v_deny       text[];
    v_list       record;
    v_rule       record;
BEGIN
    IF num_nonnulls(keys, key_prefix) + coalesce(on_default, false)::integer <> 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = 'access is changed of documents by their keys, or of everything under one key prefix',
            HINT = 'Pass keys, or key_prefix, and not both. For the tenant''s default use sift.set_default_access, or on_default => true.';
    END IF;
    IF octet_length(v_prefix) > 2000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a key prefix has at most 2000 bytes',
            HINT = 'No key is longer, so no document could begin with it.';
    END IF;
    IF keys IS NOT NULL THEN
        PERFORM FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id AND a.access_list_id = 0 FOR NO KEY UPDATE;
        SELECT array_agg(d.document_id) INTO v_ids
        FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND d.key = ANY (_change_access.keys);
    ELSE
        IF v_one_view THEN
            RAISE EXCEPTION USING ERRCODE = 'PS002',
                MESSAGE = 'access under a prefix, or by default, is changed in transactions that are READ COMMITTED',
                HINT = 'With one snapshot for the whole transaction, documents that were stored meanwhile would be missed.';
        END IF;
        PERFORM FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id AND a.access_list_id = 0 FOR UPDATE;
        -- A new version of the row, as it is: transactions with one snapshot see by it that a rule may have changed.
        UPDATE sift.access_lists AS a SET denied = a.denied WHERE a.tenant_id = v_tenant_id AND a.access_list_id = 0;
        SELECT array_agg(d.document_id) INTO v_ids
        FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND starts_with(d.key, v_prefix);
        SELECT coalesce(array_agg(r.key_prefix), '{}'::text[]) INTO v_rules
        FROM sift.access_rules AS r
        WHERE r.tenant_id = v_tenant_id AND starts_with(r.key_prefix, v_prefix);
    END IF;

    -- Lists that nothing else stands under, first as a guess, to know which to lock, then for good: nothing comes under a locked list.
    IF NOT v_one_view THEN
        FOR v_round IN 1 .. 2 LOOP
            SELECT array_agg(a.access_list_id) INTO v_whole
            FROM (
                SELECT x.list, sum(x.documents)::bigint AS documents
                FROM (
                    SELECT d.access_list_id AS list, count(*) AS documents
                    FROM sift.documents AS d
                    WHERE d.tenant_id = v_tenant_id AND d.document_id = ANY (v_ids)
                    GROUP BY d.access_list_id
                    UNION ALL
                    SELECT r.access_list_id, 0 FROM sift.access_rules AS r WHERE r.tenant_id = v_tenant_id AND r.key_prefix = ANY (v_rules)
                    UNION ALL
                    SELECT t.default_access_list_id, 0 FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id AND v_default
                ) AS x
                GROUP BY x.list
            ) AS l
            JOIN sift.access_lists AS a ON a.tenant_id = v_tenant_id AND a.access_list_id = l.list
            WHERE l.list > 0
              AND (v_round = 1 OR l.list = ANY (v_whole))
              AND (a.principals <> sift._changed_set(a.principals, change, v_principals)
                   OR a.denied <> sift._changed_set(a.denied, change, v_denied))
              AND l.documents = (SELECT count(*) FROM (
                      SELECT FROM sift.documents AS d
                      WHERE d.tenant_id = v_tenant_id AND d.access_list_id = l.list
                      LIMIT l.documents + 1) AS n)
              AND NOT EXISTS (SELECT FROM sift.document_versions AS h
                              WHERE h.tenant_id = v_tenant_id AND h.access_list_id = l.list AND h.event = 'deleted'
                                AND h.content_hash IS NOT NULL  -- not purged
                                AND (NOT CASE WHEN v_prefix IS NULL THEN h.key = ANY (v_keys) ELSE starts_with(h.key, v_prefix) END
                                     OR EXISTS (SELECT FROM sift.documents AS o WHERE o.tenant_id = v_tenant_id AND o.key = h.key)))
              AND NOT EXISTS (SELECT FROM sift.access_rules AS r
                              WHERE r.tenant_id = v_tenant_id AND r.access_list_id = l.list AND r.key_prefix <> ALL (v_rules))
              AND (v_default OR NOT EXISTS (SELECT FROM sift.tenants AS t
                                            WHERE t.tenant_id = v_tenant_id AND t.default_access_list_id = l.list));
            EXIT WHEN v_round = 2 OR v_whole IS NULL;
            PERFORM FROM sift.access_lists AS a
            WHERE a.tenant_id = v_tenant_id AND a.access_list_id = ANY (v_whole)
            ORDER BY a.access_list_id
            FOR NO KEY UPDATE;
        END LOOP;
    END IF;
    v_whole := coalesce(v_whole, '{}'::bigint[]);

    UPDATE sift.access_lists AS a
    SET principals = sift._changed_set(a.principals, change, v_principals), denied = sift._changed_set(a.denied, change, v_denied)
    WHERE a.tenant_id = v_tenant_id AND a.access_list_id = ANY (v_whole);

    -- The other documents move. One that another transaction is storing may come under another list first, and counts with that.
    SELECT array_agg(l.document_id), array_agg(l.access_list_id) INTO v_moving, v_from
    FROM (
        SELECT d.document_id, d.access_list_id
        FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND d.document_id = ANY (v_ids) AND d.access_list_id <> ALL (v_whole)
        ORDER BY d.key COLLATE "C"
        FOR UPDATE
    ) AS l;
    SELECT array_agg(g.document_id) FILTER (WHERE NOT g.taken), array_agg(g.access_list_id) FILTER (WHERE NOT g.taken),
           array_agg(g.document_id) FILTER (WHERE g.taken), array_agg(g.access_list_id) FILTER (WHERE g.taken)
    INTO v_gone, v_gone_from, v_taken, v_taken_from
    FROM (
        SELECT t.document_id, t.access_list_id,
               EXISTS (SELECT FROM sift.documents AS o WHERE o.tenant_id = v_tenant_id AND o.key = t.key) AS taken
        FROM (
            SELECT h.document_id, h.access_list_id, h.key
            FROM sift.document_versions AS h
            WHERE v_prefix IS NULL AND h.tenant_id = v_tenant_id AND h.key = ANY (v_keys) AND h.event = 'deleted'
            UNION ALL
            SELECT h.document_id, h.access_list_id, h.key
            FROM sift.document_versions AS h
            WHERE v_prefix IS NOT NULL AND h.tenant_id = v_tenant_id AND starts_with(h.key, v_prefix) AND h.event = 'deleted'
        ) AS t
        WHERE t.access_list_id <> ALL (v_whole)
    ) AS g;
    FOR v_list IN
        -- The lock waits for nobody; with one snapshot it fails where the list was edited since.
        SELECT a.access_list_id, a.principals, a.denied
        FROM sift.access_lists AS a
        WHERE a.tenant_id = v_tenant_id AND a.access_list_id = ANY (v_from || v_gone_from || v_taken_from)
        ORDER BY a.access_list_id
        FOR SHARE
    LOOP
        v_allow := sift._changed_set(v_list.principals, change, v_principals);
        v_deny := sift._changed_set(v_list.denied, change, v_denied);
        IF v_list.access_list_id = ANY (v_from || v_gone_from) AND (v_list.principals <> v_allow OR v_list.denied <> v_deny) THEN
            v_targets := v_targets || jsonb_build_object(v_list.access_list_id, sift._access_list(v_tenant_id, v_allow, v_deny));
        END IF;
        IF v_list.access_list_id = ANY (v_taken_from) AND NOT (v_list.principals <@ v_allow AND v_list.denied @> v_deny) THEN
            v_narrowed := v_narrowed || jsonb_build_object(v_list.access_list_id, sift._access_list(
                v_tenant_id, ARRAY(SELECT p.name FROM unnest(v_list.principals) AS p (name) WHERE p.name = ANY (v_allow)),
                v_list.denied || v_deny));
        END IF;
    END LOOP;
    PERFORM sift._move_access(v_tenant_id, m.document_id, (v_targets ->> m.list::text)::bigint)
    FROM unnest(v_moving, v_from) AS m (document_id, list)
    WHERE v_targets ? m.list::text;
    UPDATE sift.document_versions AS h
    SET access_list_id = (v_targets ->> h.access_list_id::text)::bigint
    WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_gone) AND h.event = 'deleted' AND v_targets ? h.access_list_id::text;
    UPDATE sift.document_versions AS h
    SET access_list_id = (v_narrowed ->> h.access_list_id::text)::bigint
    WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_taken) AND h.event = 'deleted' AND v_narrowed ? h.access_list_id::text;

    -- What comes later. The empty prefix is the tenant's default.
    FOR v_rule IN
        SELECT x.key_prefix, sift._changed_set(a.principals, change, v_principals) AS principals,
               sift._changed_set(a.denied, change, v_denied) AS denied
        FROM (
            SELECT r.key_prefix, r.access_list_id AS list FROM sift.access_rules AS r
            WHERE r.tenant_id = v_tenant_id AND r.key_prefix = ANY (v_rules)
            UNION ALL
            SELECT '', t.default_access_list_id FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id AND v_default
            UNION ALL
            -- A prefix that has no rule yet begins with what it comes under now.
            SELECT v_prefix, coalesce(
                (SELECT r.access_list_id FROM sift.access_rules AS r
                 WHERE r.tenant_id = v_tenant_id AND starts_with(v_prefix, r.key_prefix)
                 ORDER BY octet_length(r.key_prefix) DESC
                 LIMIT 1), t.default_access_list_id)
            FROM sift.tenants AS t
            WHERE t.tenant_id = v_tenant_id AND v_prefix <> '' AND v_prefix <> ALL (v_rules)
        ) AS x
        JOIN sift.access_lists AS a ON a.tenant_id = v_tenant_id AND a.access_list_id = x.list
        WHERE change = 'set'
           OR a.principals <> sift._changed_set(a.principals, change, v_principals)
           OR a.denied <> sift._changed_set(a.denied, change, v_denied)
    LOOP
        IF v_rule.key_prefix = '' THEN
            UPDATE sift.tenants AS t SET default_access_list_id = sift._access_list(v_tenant_id, v_rule.principals, v_rule.denied)
            WHERE t.tenant_id = v_tenant_id;
        ELSIF change = 'set' AND v_rule.key_prefix <> v_prefix THEN
            -- Everything under the prefix is what was said, so rules of longer ones are no more.
            DELETE FROM sift.access_rules AS r WHERE r.tenant_id = v_tenant_id AND r.key_prefix = v_rule.key_prefix;
        ELSE
            INSERT INTO sift.access_rules AS r (tenant_id, key_prefix, access_list_id)
            VALUES (v_tenant_id, v_rule.key_prefix, sift._access_list(v_tenant_id, v_rule.principals, v_rule.denied))
            ON CONFLICT ON CONSTRAINT access_rules_pkey DO UPDATE SET access_list_id = excluded.access_list_id;
        END IF;
    END LOOP;

    RETURN QUERY
    SELECT d.key, d.access_list_id = ANY (v_whole) OR coalesce(v_targets ? m.list::text, false)
    FROM sift.documents AS d
    LEFT JOIN unnest(v_moving, v_from) AS m (document_id, list) ON m.document_id = d.document_id
    WHERE d.tenant_id = v_tenant_id AND d.document_id = ANY (v_ids)
    ORDER BY d.key COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift._change_access(integer, text, text[], text[], text[], text, boolean) IS
    'Sets, grants or revokes access: of documents, under a key prefix, or by default; in place where a list''s documents are all addressed. One row per document.';
REVOKE ALL ON FUNCTION sift._change_access(integer, text, text[], text[], text[], text, boolean) FROM PUBLIC;
