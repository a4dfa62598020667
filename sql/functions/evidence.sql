-- The passages of one document that answer a query: verbatim, with page, section, character span and highlights.
--
--   SELECT page, text, highlights FROM sift.evidence('acme', 'papers/pumps.pdf', 'failure of pumps', principals => '{group:staff}');
--
-- At most windows passages of about width characters each, chosen over the whole text (without its bibliography and claims) by how many distinct
-- terms of the query they hold, in the order of the text; one that touches a table holds the whole table, up to 4,000 characters. Where no
-- word of the query occurs, the beginning of the text. highlights are spans [start, end) of text. as_of: the document as it was then, for
-- today's permissions. A document that is not there and one the caller may not see are the same: no row.
CREATE OR REPLACE FUNCTION sift.evidence(
    tenant     text,
    key        text,
    query      text,
    windows    integer DEFAULT 2,
    width      integer DEFAULT 600,
    principals text[] DEFAULT NULL,
    as_of      timestamptz DEFAULT NULL
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
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.text, r.char_start, r.char_end, r.page, r.section, r.chunk_id, r.highlights, r.terms, r.title, r.document_version, r.page_end
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._evidence(c.role_id, c.proof, evidence.tenant, evidence.key, evidence.query, evidence.windows, evidence.width,
                                      evidence.principals, evidence.as_of) AS r
    ORDER BY r.char_start, r.char_end;
END
$$;
COMMENT ON FUNCTION sift.evidence(text, text, text, integer, integer, text[], timestamptz) IS
    'Passages of one document that answer a query, in the order of the text: at most windows of about width characters, chosen by how many distinct terms they hold; a table that is touched is given whole, up to 4,000 characters. With page, section and chunk of the first of the words it was chosen for, the page of the last word found (page_end), spans to highlight and the terms that occur. Where none does, the beginning of the text. No row where the document is not there or the caller may not see it.';
REVOKE ALL ON FUNCTION sift.evidence(text, text, text, integer, integer, text[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.evidence(text, text, text, integer, integer, text[], timestamptz) TO sift_owner, sift_writer, sift_app, sift_reader;
