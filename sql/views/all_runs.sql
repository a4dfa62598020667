-- Every run of an ingest or of a synchronization, with what came of it.
CREATE VIEW sift.all_runs AS
SELECT t.name AS tenant, r.run_id, r.source, r.started_by, r.started_at, r.finished_at,
       EXTRACT(epoch FROM r.finished_at OPERATOR(pg_catalog.-) r.started_at)::double precision AS seconds,
       CASE WHEN r.summary OPERATOR(pg_catalog.->>) 'created' OPERATOR(pg_catalog.~) '^[0-9]{1,18}$' THEN (r.summary OPERATOR(pg_catalog.->>) 'created')::bigint END AS created,
       CASE WHEN r.summary OPERATOR(pg_catalog.->>) 'replaced' OPERATOR(pg_catalog.~) '^[0-9]{1,18}$' THEN (r.summary OPERATOR(pg_catalog.->>) 'replaced')::bigint END AS replaced,
       CASE WHEN r.summary OPERATOR(pg_catalog.->>) 'updated' OPERATOR(pg_catalog.~) '^[0-9]{1,18}$' THEN (r.summary OPERATOR(pg_catalog.->>) 'updated')::bigint END AS updated,
       CASE WHEN r.summary OPERATOR(pg_catalog.->>) 'unchanged' OPERATOR(pg_catalog.~) '^[0-9]{1,18}$' THEN (r.summary OPERATOR(pg_catalog.->>) 'unchanged')::bigint END AS unchanged,
       CASE WHEN r.summary OPERATOR(pg_catalog.->>) 'deleted' OPERATOR(pg_catalog.~) '^[0-9]{1,18}$' THEN (r.summary OPERATOR(pg_catalog.->>) 'deleted')::bigint END AS deleted,
       CASE WHEN r.summary OPERATOR(pg_catalog.->>) 'failed' OPERATOR(pg_catalog.~) '^[0-9]{1,18}$' THEN (r.summary OPERATOR(pg_catalog.->>) 'failed')::bigint END AS failed,
       CASE WHEN r.summary OPERATOR(pg_catalog.->>) 'chunks' OPERATOR(pg_catalog.~) '^[0-9]{1,18}$' THEN (r.summary OPERATOR(pg_catalog.->>) 'chunks')::bigint END AS chunks,
       CASE WHEN r.summary OPERATOR(pg_catalog.->>) 'tokens' OPERATOR(pg_catalog.~) '^[0-9]{1,18}$' THEN (r.summary OPERATOR(pg_catalog.->>) 'tokens')::bigint END AS tokens,
       CASE WHEN r.summary OPERATOR(pg_catalog.->>) 'vectors_computed' OPERATOR(pg_catalog.~) '^[0-9]{1,18}$' THEN (r.summary OPERATOR(pg_catalog.->>) 'vectors_computed')::bigint END AS vectors_computed,
       r.summary OPERATOR(pg_catalog.->>) 'interrupted' AS interrupted, r.parameters, r.summary
FROM sift.ingest_runs AS r
JOIN sift.tenants AS t ON t.tenant_id OPERATOR(pg_catalog.=) r.tenant_id;
COMMENT ON VIEW sift.all_runs IS 'Runs of an ingest: when, by whom, how long, and what came of it; for writers.';
COMMENT ON COLUMN sift.all_runs.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.all_runs.run_id IS 'Number of the run.';
COMMENT ON COLUMN sift.all_runs.source IS 'What was read, as the caller names it.';
COMMENT ON COLUMN sift.all_runs.started_by IS 'Who started it.';
COMMENT ON COLUMN sift.all_runs.started_at IS 'When it began.';
COMMENT ON COLUMN sift.all_runs.finished_at IS 'When it ended; NULL while it goes on, and where nobody ended it.';
COMMENT ON COLUMN sift.all_runs.seconds IS 'How long it took.';
COMMENT ON COLUMN sift.all_runs.created IS 'Documents that were new; NULL, as the numbers that follow, where the caller left no summary.';
COMMENT ON COLUMN sift.all_runs.replaced IS 'Documents with another text.';
COMMENT ON COLUMN sift.all_runs.updated IS 'Documents with the same text and something else about it.';
COMMENT ON COLUMN sift.all_runs.unchanged IS 'Documents that were as they are.';
COMMENT ON COLUMN sift.all_runs.deleted IS 'Documents that were gone from the source.';
COMMENT ON COLUMN sift.all_runs.failed IS 'Sources that became dead letters.';
COMMENT ON COLUMN sift.all_runs.chunks IS 'Chunks of created and replaced documents.';
COMMENT ON COLUMN sift.all_runs.tokens IS 'Their tokens.';
COMMENT ON COLUMN sift.all_runs.vectors_computed IS 'Vectors that were computed.';
COMMENT ON COLUMN sift.all_runs.interrupted IS 'Why it did not come to its end; NULL where it did.';
COMMENT ON COLUMN sift.all_runs.parameters IS 'With which parameters.';
COMMENT ON COLUMN sift.all_runs.summary IS 'What came of it, whole.';
REVOKE ALL ON TABLE sift.all_runs FROM PUBLIC;
GRANT SELECT ON TABLE sift.all_runs TO sift_owner, sift_writer;
