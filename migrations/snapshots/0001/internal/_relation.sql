-- What two documents that resemble each other are to each other, the same from both sides:
--
--   copy        the same tokens in the same order
--   revision    another state of the same source. Where both tell their source_uri: the same but for numbers, or the same site and title.
--               Otherwise: keys that are the same but for numbers, or the same folder and title.
--   syndicated  the text of another source
CREATE OR REPLACE FUNCTION sift._relation(
    same_text boolean,
    key_a     text, uri_a text, title_a text,
    key_b     text, uri_b text, title_b text
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN same_text THEN 'copy'
        WHEN coalesce(CASE WHEN uri_a <> '' AND uri_b <> ''
            THEN sift._without_numbers(uri_a) = sift._without_numbers(uri_b)
                 OR (pg_catalog.lower(pg_catalog."substring"(uri_a, '^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*'))
                     = pg_catalog.lower(pg_catalog."substring"(uri_b, '^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*'))
                     AND title_a <> '' AND title_b <> '' AND sift._without_numbers(title_a) = sift._without_numbers(title_b))
            ELSE sift._without_numbers(key_a) = sift._without_numbers(key_b)
                 OR (pg_catalog.regexp_replace(key_a, '[^/]*$', '') = pg_catalog.regexp_replace(key_b, '[^/]*$', '')
                     AND title_a <> '' AND title_b <> '' AND sift._without_numbers(title_a) = sift._without_numbers(title_b))
            END, false) THEN 'revision'
        ELSE 'syndicated' END;
END;
COMMENT ON FUNCTION sift._relation(boolean, text, text, text, text, text, text) IS 'copy, revision or syndicated.';
REVOKE ALL ON FUNCTION sift._relation(boolean, text, text, text, text, text, text) FROM PUBLIC;
