-- The text of a query without names of purged documents: as sift._hashed_names makes it, save that a name of letters alone, a word, is a
-- name only where it is all of the query.
CREATE OR REPLACE FUNCTION sift._forgetful_query(query text, names text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE WHEN btrim(query, E' \t\r\n') = ANY (names) THEN sift._key_hash(btrim(query, E' \t\r\n'))
                ELSE sift._hashed_names(query, ARRAY(SELECT n.name FROM unnest(names) WITH ORDINALITY AS n (name, position)
                                                     WHERE n.name ~ '[^[:alpha:]]' ORDER BY n.position)) END;
END
$$;
COMMENT ON FUNCTION sift._forgetful_query(text, text[]) IS
    'The text of a recorded query, in which names of purged documents give way to their hashes; plain words do only where they are all of it.';
REVOKE ALL ON FUNCTION sift._forgetful_query(text, text[]) FROM PUBLIC;
