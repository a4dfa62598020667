-- Who belongs to which group. Groups are principals like any other, and may belong to groups in turn, in circles too.
CREATE TABLE sift.principal_groups (
    tenant_id  integer NOT NULL,
    member     text NOT NULL,
    group_name text NOT NULL,
    CONSTRAINT principal_groups_pkey PRIMARY KEY (tenant_id, member, group_name),
    CONSTRAINT principal_groups_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id)
);
-- Finds the members of a group.
CREATE INDEX principal_groups_group_name_idx ON sift.principal_groups (tenant_id, group_name, member);
COMMENT ON TABLE sift.principal_groups IS 'Memberships of groups: whoever searches as member searches as group_name too, and as the groups that belongs to.';
REVOKE ALL ON TABLE sift.principal_groups FROM PUBLIC;
ALTER TABLE sift.principal_groups ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.principal_groups ALTER COLUMN tenant_id SET STATISTICS 0;
