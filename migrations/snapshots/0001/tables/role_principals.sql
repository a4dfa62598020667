-- Which principals a database role stands for: what sift_reader logins may see. A mapping holds while the role has both the name and the
-- number it had when it was made: dropping a role ends it, and one made later under the name
-- has no part in it; a role that was renamed sees nothing until it is mapped again (sift._mapped_principals).
CREATE TABLE sift.role_principals (
    tenant_id integer NOT NULL,
    role_name name NOT NULL,
    role_id   oid NOT NULL,
    principal text NOT NULL,
    CONSTRAINT role_principals_pkey PRIMARY KEY (tenant_id, role_name, principal),
    CONSTRAINT role_principals_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id)
);
COMMENT ON TABLE sift.role_principals IS 'Maps database roles to principals; a login has those of its own role and of every role it is a member of.';
REVOKE ALL ON TABLE sift.role_principals FROM PUBLIC;
ALTER TABLE sift.role_principals ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.role_principals ALTER COLUMN tenant_id SET STATISTICS 0;
