-- Judgments of a tenant with what became of what they are about, for callers who may see the lists; everything is for those who see all:
-- judgments of documents that are gone too. place:
--   document   the document as a whole was judged
--   passage    the passage is there, word for word: chunk_id
--   text       the document is as it was, and cut otherwise: chunk_id is the chunk that holds most of the passage, half of it at least
--   changed    neither
--   gone       the document is not there
-- A document that came under the key of one that is gone stands for it if it holds the passage; if the document was judged, if it is the same.
CREATE OR REPLACE FUNCTION sift._judgments_seen(
    tenant_id  integer,
    lists      bigint[],
    everything boolean,
    query_hash bytea,
    key        text,
    judged_by  text,
    ids        bigint[],
    below      bigint,
    k          integer
)
RETURNS TABLE (
    judgment_id bigint,
    query       text,
    key_now     text,
    title       text,
    grade       integer,
    judge       text,
    judged_at   timestamptz,
    note        text,
    place       text,
    chunk_id    bigint,
    char_start  integer,
    char_end    integer,
    page        integer
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := tenant_id;
    v_lists     bigint[] := lists;
    v_hash      bytea := query_hash;
    v_key       text := key;
    v_judge     text := judged_by;
    v_ids       bigint[] := ids;
    v_below     bigint := below;
    v_k         integer := k;
BEGIN
    RETURN QUERY
    SELECT j.judgment_id, j.query, coalesce(d.key, j.key), d.title, j.grade, j.judged_by, j.judged_at, j.note,
           CASE WHEN d.document_id IS NULL THEN 'gone'
                WHEN j.text_hash IS NULL THEN 'document'
                WHEN c.chunk_id IS NULL THEN 'changed'
                WHEN c.same THEN 'passage'
                ELSE 'text' END,
           c.chunk_id, CASE WHEN c.same THEN c.char_start ELSE j.char_start END, CASE WHEN c.same THEN c.char_end ELSE j.char_end END, c.page
    FROM sift.judgments AS j
    LEFT JOIN LATERAL (
        SELECT o.document_id, o.key, o.title, o.content_hash, o.access_list_id
        FROM sift.documents AS o
        WHERE o.tenant_id = v_tenant_id
          AND (o.document_id = j.document_id
               OR (o.key = j.key
                   AND CASE WHEN j.text_hash IS NULL THEN o.content_hash = j.content_hash
                            ELSE EXISTS (SELECT FROM sift.chunks AS s
                                         WHERE s.tenant_id = v_tenant_id AND s.document_id = o.document_id AND s.text_hash = j.text_hash) END))
        ORDER BY o.document_id = j.document_id DESC
        LIMIT 1
    ) AS d ON true
    LEFT JOIN LATERAL (
        SELECT s.chunk_id, s.char_start, s.char_end, s.page, s.text_hash = j.text_hash AS same
        FROM sift.chunks AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = d.document_id
          AND (s.text_hash = j.text_hash
               OR (d.content_hash = j.content_hash AND s.kind <> 'claim'
                   AND 2 * (least(s.char_end, j.char_end) - greatest(s.char_start, j.char_start)) >= j.char_end - j.char_start))
        ORDER BY s.text_hash = j.text_hash DESC, least(s.char_end, j.char_end) - greatest(s.char_start, j.char_start) DESC,
                 abs(s.char_start - j.char_start), s.ordinal
        LIMIT 1
    ) AS c ON j.text_hash IS NOT NULL
    WHERE j.tenant_id = v_tenant_id
      AND (d.access_list_id = ANY (v_lists) OR everything)
      AND (v_hash IS NULL OR j.query_hash = v_hash)
      AND (v_key IS NULL OR coalesce(d.key, j.key) = v_key)
      AND (v_judge IS NULL OR j.judged_by = v_judge)
      AND (v_ids IS NULL OR j.judgment_id = ANY (v_ids))
      AND (v_below IS NULL OR j.judgment_id < v_below)
    ORDER BY j.judgment_id DESC
    LIMIT v_k;
END
$$;
COMMENT ON FUNCTION sift._judgments_seen(integer, bigint[], boolean, bytea, text, text, bigint[], bigint, integer) IS
    'Judgments of visible documents, the last first, with the chunk that holds the judged passage now.';
REVOKE ALL ON FUNCTION sift._judgments_seen(integer, bigint[], boolean, bytea, text, text, bigint[], bigint, integer) FROM PUBLIC;
