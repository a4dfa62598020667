-- A rising array of packed postings (shift 23) or of chunk numbers (shift 0) without those of a few chunks, in the order it was. Each
-- chunk costs a binary search and a copy of the array, which beats looking at every element where there are few to take out.
CREATE OR REPLACE FUNCTION sift._without_chunks(elements bigint[], chunk_ids bigint[], shift integer) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_elements bigint[] := elements;
    v_id       bigint;
    v_before   integer;
BEGIN
    FOREACH v_id IN ARRAY chunk_ids LOOP
        v_before := width_bucket((v_id << shift) - 1, v_elements);
        IF v_elements[v_before + 1] >> shift = v_id THEN
            v_elements := v_elements[:v_before] || v_elements[v_before + 2:];
        END IF;
    END LOOP;
    RETURN v_elements;
END
$$;
COMMENT ON FUNCTION sift._without_chunks(bigint[], bigint[], integer) IS 'A rising array of postings or chunk numbers without those of the chunks named.';
REVOKE ALL ON FUNCTION sift._without_chunks(bigint[], bigint[], integer) FROM PUBLIC;
