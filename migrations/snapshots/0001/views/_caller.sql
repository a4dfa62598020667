-- Who calls, and the proof of it. Inside a SECURITY DEFINER function current_user is the owner, and session_user or the setting "role" are
-- not the caller either wherever the server runs somebody's code in another's session (autovacuum, REFRESH, a trigger under a cascade, a
-- function of another's that is SECURITY DEFINER). Inside a view with its owner's rights current_user stays the role the query runs as.
-- So the public functions, which run with the rights of whoever calls them, read this view and hand both columns to an internal
-- function, which runs with the rights of the owner and checks them (sift._check_caller).
--
-- The proof is a keyed hash, an HMAC with two keys of a block each (M. Bellare, R. Canetti, H. Krawczyk: Keying Hash Functions for Message
-- Authentication, CRYPTO 1996), over the role, the backend, and the moment the transaction began; it is worth
-- nothing for another. Transactions that are sent as one simple-query message begin at one moment and share it: one role's, in one session.
CREATE VIEW sift._caller AS
SELECT r.role_id,
       (SELECT pg_catalog.sha256(s.outer_key OPERATOR(pg_catalog.||) pg_catalog.sha256(s.inner_key
                   OPERATOR(pg_catalog.||) pg_catalog.oidsend(r.role_id)
                   OPERATOR(pg_catalog.||) pg_catalog.int4send(pg_catalog.pg_backend_pid())
                   OPERATOR(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.transaction_timestamp())))
        FROM sift.secrets AS s) AS proof
FROM (SELECT pg_catalog.to_regrole(pg_catalog.quote_ident(current_user))::pg_catalog.oid AS role_id) AS r;
COMMENT ON VIEW sift._caller IS 'The role a query runs as, and the proof of it that internal functions ask for; one row, good for this role, backend and transaction_timestamp().';
REVOKE ALL ON TABLE sift._caller FROM PUBLIC;
GRANT SELECT ON TABLE sift._caller TO sift_owner, sift_writer, sift_app, sift_reader;
