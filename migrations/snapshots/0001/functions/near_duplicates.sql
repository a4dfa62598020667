-- The documents the caller may see that have the same or nearly the same text as one the caller may see, contain it, or stand in it.
--
--   SELECT other_key, relation, similarity FROM sift.near_duplicates('acme', 'news/2024/pumps.html');
CREATE OR REPLACE FUNCTION sift.near_duplicates(tenant text, key text, principals text[] DEFAULT NULL)
RETURNS TABLE (
    other_key   text,
    title       text,
    source_uri  text,
    observed_at timestamptz,
    version     integer,
    relation    text,
    similarity  double precision
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.other_key, r.title, r.source_uri, r.observed_at, r.version, r.relation, r.similarity
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._near_duplicates(c.role_id, c.proof, near_duplicates.tenant, near_duplicates.key, near_duplicates.principals) AS r;
END
$$;
COMMENT ON FUNCTION sift.near_duplicates(text, text, text[]) IS
    'Visible documents whose text is that of a visible document, or resembles it, most similar first: relation is copy, revision or syndicated, similarity the share of common runs of five words; or contains (the other contains this text whole) or contained (in this one), similarity the share of the shorter text''s runs. No row for a key that is absent, invisible, or without near-duplicates.';
REVOKE ALL ON FUNCTION sift.near_duplicates(text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.near_duplicates(text, text, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
