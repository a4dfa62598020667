-- Refuses whoever does not prove to be the caller (see sift._caller). Every internal function that is granted to somebody begins with this,
-- by itself or through sift._enter. The two proofs are compared as keyed hashes of themselves, so that the time of the comparison tells
-- nothing of how much of a guess was right. A missing secret lets nobody in. A proof is good for
-- a role, a backend and the moment a transaction began, which those sent as one simple-query message have in common.
CREATE OR REPLACE FUNCTION sift._check_caller(caller oid, proof bytea) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_good   boolean;
    v_write  CONSTANT oid[] := ARRAY[to_regrole('sift_writer'), to_regrole('sift_owner'), to_regrole(quote_ident(current_user))]::oid[];
    v_trust  CONSTANT oid[] := v_write || to_regrole('sift_app')::oid;
    v_roles  oid[];
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
    -- Whether a role may call us at all, and is trusted, the server and pg_has_role know from a cache, which inside an open transaction may
    -- be behind: what was taken away since is refused here.
    v_roles := sift._roles_of(caller);
    IF NOT coalesce(v_roles && (v_trust || to_regrole('sift_reader')::oid)
                    AND (v_roles && v_trust OR NOT sift._is_trusted(caller))
                    AND (v_roles && v_write OR NOT sift._is_writer(caller)), false) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS008',
            MESSAGE = 'this database role is not, or no longer, a member of the roles of pgsift that it calls with',
            HINT = 'Where a membership was just changed, begin a new transaction. Searching needs sift_reader, sift_app, sift_writer or sift_owner.';
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
COMMENT ON FUNCTION sift._check_caller(oid, bytea) IS 'PS008 unless the proof is that of this role, backend and transaction_timestamp(), and the role may call pgsift.';
REVOKE ALL ON FUNCTION sift._check_caller(oid, bytea) FROM PUBLIC;
