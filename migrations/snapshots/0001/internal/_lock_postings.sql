-- Locks wherever the postings of chunks lie: first their rows in unpacked_chunks, by number, then the blocks (sift._lock_blocks). Nobody who
-- holds one of the former waits for one, so what is being packed is waited for, and found in its block.
CREATE OR REPLACE FUNCTION sift._lock_postings(tenant_id integer, chunk_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    PERFORM FROM sift.unpacked_chunks AS u
    WHERE u.tenant_id = v_tenant_id AND u.chunk_id = ANY (_lock_postings.chunk_ids)
    ORDER BY u.chunk_id
    FOR UPDATE;
    PERFORM sift._lock_blocks(v_tenant_id, _lock_postings.chunk_ids);
END
$$;
COMMENT ON FUNCTION sift._lock_postings(integer, bigint[]) IS 'Locks wherever the postings of chunks lie, in an order that cannot deadlock.';
REVOKE ALL ON FUNCTION sift._lock_postings(integer, bigint[]) FROM PUBLIC;
