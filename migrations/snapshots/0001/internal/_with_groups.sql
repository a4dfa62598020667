-- The principals a person has: those given, and all groups they belong to, directly or through other groups. UNION drops what was
-- reached before, so that circles end.
CREATE OR REPLACE FUNCTION sift._with_groups(tenant_id integer, principals text[]) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id  integer := tenant_id;
    v_principals text[];
BEGIN
    -- Most tenants have no groups, and then nothing is to be resolved. ORDER BY keeps to the key: EXISTS might read a whole table for nothing.
    IF (SELECT m.member FROM sift.principal_groups AS m WHERE m.tenant_id = v_tenant_id ORDER BY m.member LIMIT 1) IS NULL THEN
        IF array_ndims(principals) > 1 THEN  -- which array_remove refuses; what is nested counts one by one, as below
            RETURN ARRAY(SELECT p.name FROM unnest(principals) AS p (name) WHERE p.name IS NOT NULL);
        END IF;
        RETURN coalesce(array_remove(principals, NULL), '{}'::text[]);
    END IF;
    WITH RECURSIVE reached (name) AS (
        SELECT p.name FROM unnest(principals) AS p (name) WHERE p.name IS NOT NULL
        UNION
        SELECT g.group_name
        FROM reached AS r
        -- OFFSET 0: one probe of the primary key per name, whatever the planner thinks of the table.
        CROSS JOIN LATERAL (
            SELECT m.group_name FROM sift.principal_groups AS m
            WHERE m.tenant_id = v_tenant_id AND m.member = r.name
            OFFSET 0) AS g
    )
    SELECT coalesce(array_agg(r.name), '{}'::text[]) INTO v_principals FROM reached AS r;
    RETURN v_principals;
END
$$;
COMMENT ON FUNCTION sift._with_groups(integer, text[]) IS 'The principals given and every group they belong to, nested ones included; never NULL.';
REVOKE ALL ON FUNCTION sift._with_groups(integer, text[]) FROM PUBLIC;
