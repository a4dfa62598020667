-- Records how well a passage, or a document as a whole, answers a query. Searching writes nothing, and judging is a call of its own.
--
--   SELECT sift.judge('acme', 'pump recall', 'papers/pumps.pdf', 2, chunk => 4711, principals => '{group:staff}', judged_by => 'anna');
--
--   grade      0 not relevant, 1 related, 2 relevant, 3 answers the query
--   chunk      number of the passage, as a search gave it; left out, the document is judged
--   judged_by  who judged, as the caller says; the database role where it is left out. Each judge has one judgment of a passage for a
--              query: the last. Queries that differ in case, width or white space alone are the same.
--
-- A passage is remembered by its text and its place: the judgment stays where the document is stored anew, moved, cut otherwise, or deleted
-- and stored again, as long as the passage is in it. A purge of the document takes it along.
CREATE OR REPLACE FUNCTION sift.judge(
    tenant     text,
    query      text,
    key        text,
    grade      integer,
    chunk      bigint DEFAULT NULL,
    principals text[] DEFAULT NULL,
    judged_by  text DEFAULT NULL,
    note       text DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT sift._judge(c.role_id, c.proof, judge.tenant, judge.query, judge.key, judge.grade, judge.chunk, judge.principals, judge.judged_by, judge.note)
            FROM sift._caller AS c);
END
$$;
COMMENT ON FUNCTION sift.judge(text, text, text, integer, bigint, text[], text, text) IS
    'Records how well a passage of a visible document (chunk), or the document, answers a query: 0 not relevant, 1 related, 2 relevant, 3 answers it. Returns the number of the judgment; a judge''s former one of the same passage for the same query is replaced. For applications and writers.';
REVOKE ALL ON FUNCTION sift.judge(text, text, text, integer, bigint, text[], text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.judge(text, text, text, integer, bigint, text[], text, text) TO sift_owner, sift_writer, sift_app;
