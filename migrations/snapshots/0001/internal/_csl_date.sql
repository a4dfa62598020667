-- A date as CSL-JSON, of what metadata say: a CSL date as it is, a text that begins like 2020, 2020-05, 2020-05-31 or 2020/05/31, or a year and
-- a month. A text that begins with the day is none: nobody knows which of 05/06/2020 is the month.
CREATE OR REPLACE FUNCTION sift._csl_date(dates jsonb, years jsonb, months jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_parts text[];
    v_month integer;
BEGIN
    IF jsonb_typeof(dates) = 'object' AND dates ?| '{date-parts,literal,raw}' THEN
        RETURN dates;
    END IF;
    v_parts := regexp_match(btrim(dates #>> '{}'), '^(-?[0-9]{3,5})(?:[-/]([0-9]{1,2})(?:[-/]([0-9]{1,2}))?)?(?![0-9])');
    IF v_parts IS NULL THEN
        v_month := CASE WHEN months #>> '{}' ~ '^[0-9]{1,2}$' THEN (months #>> '{}')::integer
                        ELSE array_position('{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}'::text[], lower(left(months #>> '{}', 3))) END;
        v_parts := ARRAY[(regexp_match(btrim(years #>> '{}'), '^-?[0-9]{1,5}$'))[1], v_month::text];
    END IF;
    IF v_parts[1] IS NULL THEN
        RETURN NULL;
    END IF;
    IF NOT coalesce(v_parts[2]::integer BETWEEN 1 AND 12, false) THEN
        v_parts := v_parts[1:1];
    ELSIF NOT coalesce(v_parts[3]::integer BETWEEN 1 AND CASE
              WHEN v_parts[2]::integer IN (4, 6, 9, 11) THEN 30
              WHEN v_parts[2]::integer <> 2 THEN 31
              WHEN v_parts[1]::integer % 4 = 0 AND (v_parts[1]::integer % 100 <> 0 OR v_parts[1]::integer % 400 = 0) THEN 29
              ELSE 28 END, false) THEN
        v_parts := v_parts[1:2];
    END IF;
    RETURN jsonb_build_object('date-parts', jsonb_build_array(to_jsonb(v_parts::integer[])));
END
$$;
COMMENT ON FUNCTION sift._csl_date(jsonb, jsonb, jsonb) IS 'A date as CSL-JSON; NULL where there is none.';
REVOKE ALL ON FUNCTION sift._csl_date(jsonb, jsonb, jsonb) FROM PUBLIC;
