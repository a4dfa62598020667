-- Refuses whoever does not prove to be the caller (see sift._caller). Every internal function that is granted to somebody begins with this,
-- by itself or through sift._enter. The two proofs are compared as keyed hashes of themselves, so that the time of the comparison tells
-- nothing of how much of a guess was right. A missing secret lets nobody in. A proof is good for
-- a role, a backend and the moment a transaction began, which those sent as one simple-query message have in common.
CREATE OR REPLACE FUNCTION sift._check_caller(caller oid, proof bytea) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_good boolean;
BEGIN
    SELECT sha256(s.outer_key || sha256(s.outer_key || sha256(s.inner_key
               || oidsend(caller) || int4send(pg_backend_pid()) || timestamptz_send(transaction_timestamp()))))
           = sha256(s.outer_key || proof)
    INTO v_good
    FROM sift.secrets AS s;
    IF v_good IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PS008',
            MESSAGE = 'this call does not prove who makes it',
            HINT = 'Call the public functions, whose names begin without an underscore. Where these fail: SELECT sift.renew_secret() as sift_owner.';
    END IF;
    -- The predicate locks of a serializable transaction are listed in pg_locks by page and row, for everybody to see: they would tell which
    -- hidden chunk holds a word.
    IF current_setting('transaction_isolation') = 'serializable' AND NOT sift._is_trusted(caller) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS008',
            MESSAGE = 'readers do not search in serializable transactions',
            HINT = 'Use BEGIN ISOLATION LEVEL REPEATABLE READ, which gives one snapshot too.';
    END IF;
END
$$;
COMMENT ON FUNCTION sift._check_caller(oid, bytea) IS 'PS008 unless the proof is that of this role, backend and transaction_timestamp().';
REVOKE ALL ON FUNCTION sift._check_caller(oid, bytea) FROM PUBLIC;
