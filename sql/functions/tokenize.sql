-- What an analyzer makes of a text to be indexed. Python makes the same. A query goes through sift.query_terms instead: it asks for
-- less than this where a script is written without spaces, and for less of numbers with dots.
CREATE OR REPLACE FUNCTION sift.tokenize(text text, analyzer text DEFAULT 'standard') RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
BEGIN
    RETURN sift._tokens(analyzer, text, false);
END
$$;
COMMENT ON FUNCTION sift.tokenize(text, text) IS
    'The tokens a text is indexed by, in order, repeats included; the analyzer is standard, english or identifiers.';
REVOKE ALL ON FUNCTION sift.tokenize(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.tokenize(text, text) TO sift_owner, sift_writer, sift_app, sift_reader;
