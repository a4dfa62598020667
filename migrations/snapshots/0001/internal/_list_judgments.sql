-- What sift.list_judgments does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._list_judgments(
    caller     oid,
    proof      bytea,
    tenant     text,
    principals text[],
    of_query   text,
    of_key     text,
    of_judge   text,
    k          integer,
    below      bigint
)
RETURNS TABLE (
    judgment_id bigint,
    query       text,
    key         text,
    title       text,
    grade       integer,
    judged_by   text,
    judged_at   timestamptz,
    note        text,
    place       text,
    chunk_id    bigint,
    char_start  integer,
    char_end    integer,
    page        integer
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_hash      bytea := sift._judged_query(_list_judgments.of_query);
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, but is %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of judgments wanted at most; 100 is the default.';
    END IF;
    -- A blank query was judged by nobody.
    IF _list_judgments.of_query IS NOT NULL AND v_hash IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT s.judgment_id, s.query, s.key_now, s.title, s.grade, s.judge, s.judged_at, s.note, s.place, s.chunk_id, s.char_start, s.char_end, s.page
    FROM sift._judgments_seen(v_tenant_id, v_lists, coalesce('sift:writer' = ANY (principals), false), v_hash, _list_judgments.of_key,
                              _list_judgments.of_judge, NULL, below, k) AS s
    ORDER BY s.judgment_id DESC;
END
$$;
COMMENT ON FUNCTION sift._list_judgments(oid, bytea, text, text[], text, text, text, integer, bigint) IS 'The body of sift.list_judgments, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._list_judgments(oid, bytea, text, text[], text, text, text, integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._list_judgments(oid, bytea, text, text[], text, text, text, integer, bigint) TO sift_owner, sift_writer, sift_app;
