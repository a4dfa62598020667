-- An ISO 8601 literal as days and seconds since 1970-01-01 UTC. The server's own parser is not used: what it makes of a text
-- depends on the session's time zone and date style, and a filter means the same in every session.
CREATE OR REPLACE FUNCTION sift._filter_timestamp(literal text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_part  text[] := regexp_match(literal,
        E'^([0-9]{4})-([0-9]{2})-([0-9]{2})'
        '(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\\.([0-9]{1,6}))?)?(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?$');
    v_year  integer := v_part[1];
    v_month integer := v_part[2];
    v_day   integer := v_part[3];
    v_shift integer;
BEGIN
    IF v_part IS NULL OR v_year < 1 OR v_month NOT BETWEEN 1 AND 12 OR v_day < 1 THEN
        RETURN NULL;
    END IF;
    IF v_day > extract(day FROM make_date(v_year + v_month / 12, v_month % 12 + 1, 1) - 1)
        OR v_part[4]::integer > 23 OR v_part[5]::integer > 59 OR v_part[6]::integer > 59
        OR v_part[9]::integer > 15 OR v_part[10]::integer > 59 THEN
        RETURN NULL;
    END IF;
    v_shift := coalesce((v_part[8] || '1')::integer * (v_part[9]::integer * 3600 + coalesce(v_part[10]::integer, 0) * 60), 0);
    RETURN jsonb_build_array(
        make_date(v_year, v_month, v_day) - '1970-01-01'::date,
        coalesce(v_part[4]::integer * 3600 + v_part[5]::integer * 60, 0) + coalesce(v_part[6]::integer, 0) - v_shift
            + ('0.' || coalesce(v_part[7], '0'))::numeric);
END
$$;
COMMENT ON FUNCTION sift._filter_timestamp(text) IS 'Days and seconds since 1970-01-01 UTC of an ISO 8601 date or time (UTC where it names no offset), as [days, seconds]; NULL when it is not one.';
REVOKE ALL ON FUNCTION sift._filter_timestamp(text) FROM PUBLIC;
