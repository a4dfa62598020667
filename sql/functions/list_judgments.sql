-- Judgments of documents that the principals may see, the last first, with the chunk in which the judged passage stands now.
--
--   SELECT query, key, grade, judged_by FROM sift.list_judgments('acme', '{group:staff}', of_query => 'pump recall');
--
--   place   document: the document as a whole was judged. passage: it is there, word for word. text: the document is as it was and cut
--           otherwise, chunk_id holds most of the passage. changed: the passage is not there any more. gone: the document is not; those
--           are told to writers who see everything (sift:writer) alone.
--   below   only judgments with a lower number, for the next page
CREATE OR REPLACE FUNCTION sift.list_judgments(
    tenant     text,
    principals text[] DEFAULT NULL,
    of_query   text DEFAULT NULL,
    of_key     text DEFAULT NULL,
    of_judge   text DEFAULT NULL,
    k          integer DEFAULT 100,
    below      bigint DEFAULT NULL
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
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.judgment_id, r.query, r.key, r.title, r.grade, r.judged_by, r.judged_at, r.note, r.place, r.chunk_id, r.char_start, r.char_end, r.page
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._list_judgments(c.role_id, c.proof, list_judgments.tenant, list_judgments.principals, list_judgments.of_query,
                                            list_judgments.of_key, list_judgments.of_judge, list_judgments.k, list_judgments.below) AS r
    ORDER BY r.judgment_id DESC;
END
$$;
COMMENT ON FUNCTION sift.list_judgments(text, text[], text, text, text, integer, bigint) IS
    'Judgments of visible documents, the last first: of a query, a document or a judge where they are named. chunk_id, with its page, is where the judged passage stands now. below: only judgments with a lower number, for the next page. For applications and writers.';
REVOKE ALL ON FUNCTION sift.list_judgments(text, text[], text, text, text, integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_judgments(text, text[], text, text, text, integer, bigint) TO sift_owner, sift_writer, sift_app;
