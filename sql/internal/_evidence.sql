-- What sift.evidence does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._evidence(
    caller     oid,
    proof      bytea,
    tenant     text,
    key        text,
    query      text,
    windows    integer,
    width      integer,
    principals text[],
    as_of      timestamptz
)
RETURNS TABLE (
    text             text,
    char_start       integer,
    char_end         integer,
    page             integer,
    section          text,
    chunk_id         bigint,
    highlights       jsonb,
    terms            text[],
    title            text,
    document_version integer,
    page_end         integer
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_as_of     timestamptz := as_of;
    v_tenant    record;
    v_terms     text[];
    v_document  record;
    v_parts     record;
BEGIN
    SELECT t.* INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    IF windows IS NULL OR windows < 1 OR windows > 50 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('windows must lie between 1 and 50, not %s', coalesce(windows::text, 'NULL')),
            HINT = 'It is how many passages are wanted; 2 is the default.';
    END IF;
    IF width IS NULL OR width < 20 OR width > 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('width must lie between 20 and 4000, not %s', coalesce(width::text, 'NULL')),
            HINT = 'It counts characters; 600 is the default.';
    END IF;
    IF v_as_of IS NOT NULL AND NOT v_tenant.keep_history THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the tenant %s keeps no history, so its past cannot be read', to_json(tenant)),
            HINT = 'sift.set_tenant(tenant, ''{"keep_history": true}'') keeps it from now on.';
    END IF;
    IF v_as_of < v_tenant.history_since THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the tenant %s has a complete history since %s only, so what a document was before is not known', to_json(tenant),
                             to_char(v_tenant.history_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
            HINT = 'Before that no history was kept for a while; give a later time.';
    END IF;
    v_terms := (sift._read_query(v_tenant_id, v_tenant.analyzer, query, false, v_tenant.strip_questions, v_tenant.expand, v_lists, v_as_of,
                                 NULL, NULL, true)).terms;

    IF v_as_of IS NULL THEN
        SELECT d.document_id, d.version, d.title INTO v_document
        FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND d.key = _evidence.key AND d.access_list_id = ANY (v_lists);
    ELSE
        SELECT h.document_id, h.version, h.title INTO v_document
        FROM (
            SELECT v.* FROM sift.document_versions AS v
            WHERE v.tenant_id = v_tenant_id AND v.key = _evidence.key AND v.current_from <= v_as_of
              AND (v.current_to IS NULL OR v.current_to > v_as_of)
            ORDER BY v.document_id DESC, v.version DESC, v.revision DESC
            LIMIT 1
        ) AS h
        WHERE (sift._list_today(v_tenant_id, h.document_id, h.key, v_lists) = ANY (v_lists)) IS TRUE;
    END IF;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT p.texts, p.offsets INTO v_parts FROM sift._text_parts(v_tenant_id, v_document.document_id, v_document.version) AS p;
    RETURN QUERY
    WITH chunks AS MATERIALIZED (
        SELECT s.* FROM sift._chunks_of(v_tenant_id, v_document.document_id, v_document.version) AS s
    ),
    passages AS (
        SELECT x.body, x.window_start, x.window_end, x.anchor, x.highlights, x.covered, v_parts.offsets[x.text_no] AS part_start,
               v_parts.texts[x.text_no] AS part,
               -- The last character that is marked, of what no word is found in the first of all.
               coalesce(x.window_start + (x.highlights -> -1 ->> 1)::integer - 1, x.anchor) AS last_marked
        FROM sift._windows(v_tenant.analyzer, v_parts.texts, v_terms, windows, width) AS x
    )
    SELECT w.body, w.window_start + w.part_start, w.window_end + w.part_start, f.page, array_to_string(f.section_path, ' > '), f.chunk_id,
           w.highlights, w.covered, v_document.title, v_document.version, greatest(f.page, l.page)
    FROM passages AS w
    -- Of the chunks that hold the character, the first whose text it is.
    CROSS JOIN LATERAL (
        SELECT s.section_path, s.chunk_id, sift._page_at(s.page, s.page_breaks, w.part_start + w.anchor - s.char_start) AS page
        FROM chunks AS s
        WHERE s.char_start <= w.part_start + w.anchor
        ORDER BY s.char_start + char_length(s.body) > w.part_start + w.anchor
                     AND left(s.body, 50) = substr(w.part, 1 + s.char_start - w.part_start, least(50, char_length(s.body))) DESC,
                 s.char_start DESC, s.ordinal
        LIMIT 1
    ) AS f
    CROSS JOIN LATERAL (
        SELECT sift._page_at(s.page, s.page_breaks, w.part_start + w.last_marked - s.char_start) AS page
        FROM chunks AS s
        WHERE s.char_start <= w.part_start + w.last_marked
        ORDER BY s.char_start + char_length(s.body) > w.part_start + w.last_marked
                     AND left(s.body, 50) = substr(w.part, 1 + s.char_start - w.part_start, least(50, char_length(s.body))) DESC,
                 s.char_start DESC, s.ordinal
        LIMIT 1
    ) AS l
    ORDER BY 2, 3;
END
$$;
COMMENT ON FUNCTION sift._evidence(oid, bytea, text, text, text, integer, integer, text[], timestamptz) IS 'The body of sift.evidence, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._evidence(oid, bytea, text, text, text, integer, integer, text[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._evidence(oid, bytea, text, text, text, integer, integer, text[], timestamptz) TO sift_owner, sift_writer, sift_app, sift_reader;
