-- Every source that could not be ingested and is missing.
CREATE VIEW sift.all_dead_letters AS
SELECT t.name AS tenant, l.dead_letter_id, l.run_id, l.key, l.source_uri, l.stage, l.reason, l.failures, l.created_at, l.failed_at
FROM sift.dead_letters AS l
JOIN sift.tenants AS t ON t.tenant_id OPERATOR(pg_catalog.=) l.tenant_id;
COMMENT ON VIEW sift.all_dead_letters IS 'Sources that could not be ingested and are missing, with the reason; for writers.';
COMMENT ON COLUMN sift.all_dead_letters.tenant IS 'Name of the tenant.';
COMMENT ON COLUMN sift.all_dead_letters.dead_letter_id IS 'Number of the dead letter.';
COMMENT ON COLUMN sift.all_dead_letters.run_id IS 'The run it failed in last.';
COMMENT ON COLUMN sift.all_dead_letters.key IS 'Key the document would have.';
COMMENT ON COLUMN sift.all_dead_letters.source_uri IS 'Address of the source.';
COMMENT ON COLUMN sift.all_dead_letters.stage IS 'read, parse, chunk, embed or store.';
COMMENT ON COLUMN sift.all_dead_letters.reason IS 'Why.';
COMMENT ON COLUMN sift.all_dead_letters.failures IS 'How often it failed.';
COMMENT ON COLUMN sift.all_dead_letters.created_at IS 'When it failed first.';
COMMENT ON COLUMN sift.all_dead_letters.failed_at IS 'When it failed last.';
REVOKE ALL ON TABLE sift.all_dead_letters FROM PUBLIC;
GRANT SELECT ON TABLE sift.all_dead_letters TO sift_owner, sift_writer;
