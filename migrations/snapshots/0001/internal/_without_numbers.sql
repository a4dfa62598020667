-- A name without what tells versions and dates apart: 'Report-v2 (2024-05-01).pdf' and 'report.pdf' are one name.
CREATE OR REPLACE FUNCTION sift._without_numbers(name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT pg_catalog.regexp_replace(
        pg_catalog.lower(name),
        '[-_. (]*(?:(?<![a-z])(?:version|rev|v|r)[-_. ]?)?[0-9]+(?:[-_.:t ]?[0-9]+)*(?:z(?![a-z]))?[)]?', '', 'g');
END;
COMMENT ON FUNCTION sift._without_numbers(text) IS 'A key, address or title in lower case without numbers, versions and dates.';
REVOKE ALL ON FUNCTION sift._without_numbers(text) FROM PUBLIC;
