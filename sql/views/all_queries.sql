-- Every query that was recorded, without the vector.
CREATE VIEW sift.all_queries AS
SELECT t.name AS tenant, q.query_id, q.asked_at, q.asked_by, q.query, q.principals,
       coalesce(q.settings OPERATOR(pg_catalog.->>) 'mode', 'hybrid') AS mode,
       pg_catalog.jsonb_array_length(q.hits) AS hits, (q.hits OPERATOR(pg_catalog.->) 0) OPERATOR(pg_catalog.->>) 'key' AS first_key,
       CASE WHEN pg_catalog.jsonb_typeof((q.hits OPERATOR(pg_catalog.->) 0) OPERATOR(pg_catalog.->) 'score') OPERATOR(pg_catalog.=) 'number'
            THEN ((q.hits OPERATOR(pg_catalog.->) 0) OPERATOR(pg_catalog.->>) 'score')::double precision END AS best_score, q.milliseconds, q.payload_bytes, q.settings
FROM sift.query_log AS q
JOIN sift.tenants AS t ON t.tenant_id OPERATOR(pg_catalog.=) q.tenant_id;
COMMENT ON VIEW sift.all_queries IS 'Queries that were recorded, with the number of their hits; for writers.';
COMMENT ON COLUMN sift.all_queries.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.all_queries.query_id IS 'Number of the record.';
COMMENT ON COLUMN sift.all_queries.asked_at IS 'When it was asked.';
COMMENT ON COLUMN sift.all_queries.asked_by IS 'Role or login that had it recorded.';
COMMENT ON COLUMN sift.all_queries.query IS 'The text.';
COMMENT ON COLUMN sift.all_queries.principals IS 'For whom it was asked; NULL where the caller did not say.';
COMMENT ON COLUMN sift.all_queries.mode IS 'hybrid, lexical or dense.';
COMMENT ON COLUMN sift.all_queries.hits IS 'How many hits came back.';
COMMENT ON COLUMN sift.all_queries.first_key IS 'Key of the first hit; NULL where there was none, or it was purged.';
COMMENT ON COLUMN sift.all_queries.best_score IS 'Score of the first hit.';
COMMENT ON COLUMN sift.all_queries.milliseconds IS 'How long it took, if the caller said.';
COMMENT ON COLUMN sift.all_queries.payload_bytes IS 'Bytes of the texts that came back.';
COMMENT ON COLUMN sift.all_queries.settings IS 'Arguments of the search that were given.';
REVOKE ALL ON TABLE sift.all_queries FROM PUBLIC;
GRANT SELECT ON TABLE sift.all_queries TO sift_owner, sift_writer;
