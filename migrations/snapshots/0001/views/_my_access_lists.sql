-- The access lists a person's database role may see: those that share a principal with what the role, or one whose privileges it has, is
-- mapped to with sift.map_role. Every view for people is cut down by this one and by nothing else. Not granted to anybody: a view reads
-- another with the rights of its owner, while current_user stays the role that the query runs as.
CREATE VIEW sift._my_access_lists WITH (security_barrier = true) AS
SELECT DISTINCT a.tenant_id, a.access_list_id
FROM sift.access_lists AS a
JOIN sift.role_principals AS m ON m.tenant_id = a.tenant_id AND m.principal = ANY (a.principals)
JOIN pg_catalog.pg_roles AS r ON r.rolname = m.role_name
WHERE pg_catalog.pg_has_role(current_user, r.oid, 'USAGE');
COMMENT ON VIEW sift._my_access_lists IS 'The access lists that the current database role may see, by the principals it is mapped to.';
REVOKE ALL ON TABLE sift._my_access_lists FROM PUBLIC;
