-- The moment an ISO 8601 text names, in every session the same one: without an offset it is in UTC, and a date is its midnight there.
CREATE OR REPLACE FUNCTION sift._timestamp(literal text) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_parts jsonb := sift._filter_timestamp(literal);
BEGIN
    RETURN timezone('UTC', '1970-01-01'::timestamp + make_interval(days => (v_parts -> 0)::integer, secs => (v_parts -> 1)::double precision));
END
$$;
COMMENT ON FUNCTION sift._timestamp(text) IS 'The moment of an ISO 8601 date or time (UTC where it names no offset), the same that a filter compares with; NULL when it is not one.';
REVOKE ALL ON FUNCTION sift._timestamp(text) FROM PUBLIC;
