-- The access lists a person's database role may see: those that hold one of the principals the role, or one whose privileges it has, is
-- mapped to with sift.map_role, or one of the groups these belong to, and that deny none of them. Every view for people is cut down by this
-- one and by nothing else. Not granted to anybody: a view reads another with the rights of its owner, while current_user stays the role that
-- the query runs as.
CREATE VIEW sift._my_access_lists WITH (security_barrier = true) AS
WITH RECURSIVE mine (tenant_id, name) AS (
    SELECT m.tenant_id, m.principal
    FROM sift.role_principals AS m
    JOIN pg_catalog.pg_roles AS r ON r.rolname = m.role_name
    WHERE pg_catalog.pg_has_role(current_user, r.oid, 'USAGE')
    UNION
    SELECT g.tenant_id, g.group_name
    FROM mine AS n
    JOIN sift.principal_groups AS g ON g.tenant_id = n.tenant_id AND g.member = n.name
)
SELECT a.tenant_id, a.access_list_id
FROM (SELECT n.tenant_id, pg_catalog.array_agg(n.name) AS names FROM mine AS n GROUP BY n.tenant_id) AS p
JOIN sift.access_lists AS a
    ON a.tenant_id = p.tenant_id AND a.principals OPERATOR(pg_catalog.&&) p.names AND NOT a.denied OPERATOR(pg_catalog.&&) p.names;
COMMENT ON VIEW sift._my_access_lists IS 'The access lists that the current database role may see, by the principals it is mapped to and their groups.';
REVOKE ALL ON TABLE sift._my_access_lists FROM PUBLIC;
