-- Chunks of a tenant for the doctor to look at: about so many, drawn evenly over the range of their numbers, or all where the tenant has
-- no more than that or the sample is NULL.
CREATE OR REPLACE FUNCTION sift._doctor_sample(tenant_id integer, sample integer, OUT chunk_ids bigint[], OUT complete boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_first     bigint;
    v_last      bigint;
BEGIN
    IF sample IS NOT NULL THEN
        complete := (SELECT count(*) <= sample
                     FROM (SELECT c.chunk_id FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id LIMIT sample::bigint + 1) AS x);
    ELSE
        complete := true;
    END IF;
    IF complete THEN
        chunk_ids := ARRAY(SELECT c.chunk_id FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id ORDER BY c.chunk_id);
        RETURN;
    END IF;
    SELECT min(c.chunk_id), max(c.chunk_id) INTO v_first, v_last FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id;
    chunk_ids := ARRAY(
        SELECT DISTINCT x.chunk_id
        FROM (SELECT v_first + floor(random() * (v_last - v_first + 1))::bigint AS id FROM generate_series(1, sample)) AS r
        CROSS JOIN LATERAL (
            SELECT c.chunk_id FROM sift.chunks AS c
            WHERE c.tenant_id = v_tenant_id AND c.chunk_id >= r.id
            ORDER BY c.chunk_id
            LIMIT 1) AS x
        ORDER BY x.chunk_id);
END
$$;
COMMENT ON FUNCTION sift._doctor_sample(integer, integer) IS 'Chunks of a tenant for the doctor to look at, and whether they are all there are.';
REVOKE ALL ON FUNCTION sift._doctor_sample(integer, integer) FROM PUBLIC;
