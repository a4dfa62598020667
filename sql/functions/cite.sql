-- Documents as bibliographic records: CSL-JSON, the format of citation processors.
--
--   SELECT csl FROM sift.cite('acme', ARRAY(SELECT s.key FROM sift.search('acme', 'pump cavitation') AS s));
CREATE OR REPLACE FUNCTION sift.cite(
    tenant       text,
    keys         text[],
    principals   text[] DEFAULT NULL,
    query        text DEFAULT NULL
)
RETURNS TABLE (
    key              text,
    csl              jsonb,
    page             integer
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.key, r.csl, r.page
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._cite(c.role_id, c.proof, cite.tenant, cite.keys, cite.principals, cite.query) AS r;
END
$$;
COMMENT ON FUNCTION sift.cite(text, text[], text[], text) IS
    'The visible documents of these keys, in their order, each once, as CSL-JSON (https://citationstyles.org): id is the key; title, author, issued, DOI, container-title and the like are taken from the title and the metadata (author or authors, year or date, doi, journal, booktitle, publisher, volume, number, pages, url, type, in the names that BibTeX or CSL give them), or from the metadata member csl. Nothing is invented: what is not known is left out. With a query, page is where in the document the passage stands that sift.evidence chooses first for it, as a locator to cite with; NULL where none of its words occurs, and in documents without pages. A key that is not there or not visible gives no row.';
REVOKE ALL ON FUNCTION sift.cite(text, text[], text[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.cite(text, text[], text[], text) TO sift_owner, sift_writer, sift_app, sift_reader;
