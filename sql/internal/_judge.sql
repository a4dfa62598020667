-- What sift.judge does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._judge(
    caller     oid,
    proof      bytea,
    tenant     text,
    query      text,
    key        text,
    grade      integer,
    chunk      bigint,
    principals text[],
    judged_by  text,
    note       text
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_variable
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_hash      bytea;
    v_judge     text := coalesce(judged_by, sift._recorded_role()::text);
    v_document  record;
    v_passage   record;
    v_id        bigint;
BEGIN
    IF octet_length(query) <= 10000 THEN
        v_hash := sift._judged_query(query);
    END IF;
    IF v_hash IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'what is judged for a query needs a query of 1 to 10,000 bytes that is not blank',
            HINT = 'Pass the query as it was searched for.';
    END IF;
    IF grade IS NULL OR grade NOT BETWEEN 0 AND 3 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('grade must lie between 0 and 3, not %s', coalesce(grade::text, 'NULL')),
            HINT = '0 is not relevant, 1 related, 2 relevant, 3 answers the query; sift.remove_judgment takes a judgment back.';
    END IF;
    IF btrim(v_judge) = '' OR octet_length(v_judge) > 200 OR octet_length(note) > 10000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'judged_by must have 1 to 200 bytes and not be blank, and a note at most 10,000 bytes',
            HINT = 'Leave judged_by out for the name of the database role.';
    END IF;
    -- Held until the end, so that a purge that runs meanwhile takes this along.
    SELECT d.document_id, d.content_hash INTO v_document
    FROM sift.documents AS d
    WHERE d.tenant_id = v_tenant_id AND d.key = key AND d.access_list_id = ANY (v_lists)
    FOR KEY SHARE;
    SELECT c.text_hash, c.char_start, c.char_end INTO v_passage
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.chunk_id = chunk AND c.document_id = v_document.document_id;
    -- One answer for what is absent, and for what may not be seen.
    IF v_document IS NULL OR (chunk IS NOT NULL AND v_passage IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'there is no such document or chunk that may be judged',
            HINT = 'Name key and chunk as a search gave them, with the same principals; one that was stored anew may have other chunks.';
    END IF;
    INSERT INTO sift.judgments AS j (
        tenant_id, query, query_hash, document_id, key, content_hash, text_hash, char_start, char_end, grade, judged_by, note)
    VALUES (v_tenant_id, query, v_hash, v_document.document_id, key, v_document.content_hash, v_passage.text_hash, v_passage.char_start,
            v_passage.char_end, grade, v_judge, note)
    ON CONFLICT ON CONSTRAINT judgments_passage_key DO UPDATE
    SET query = EXCLUDED.query, key = EXCLUDED.key, content_hash = EXCLUDED.content_hash, char_start = EXCLUDED.char_start,
        char_end = EXCLUDED.char_end, grade = EXCLUDED.grade, judged_at = EXCLUDED.judged_at, note = EXCLUDED.note
    RETURNING j.judgment_id INTO v_id;
    RETURN v_id;
END
$$;
COMMENT ON FUNCTION sift._judge(oid, bytea, text, text, text, integer, bigint, text[], text, text) IS 'The body of sift.judge, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._judge(oid, bytea, text, text, text, integer, bigint, text[], text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._judge(oid, bytea, text, text, text, integer, bigint, text[], text, text) TO sift_owner, sift_writer, sift_app;
