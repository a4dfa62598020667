-- Makes a tenant.
CREATE OR REPLACE FUNCTION sift.create_tenant(
    tenant             text,
    analyzer           text DEFAULT 'english',
    k1                 double precision DEFAULT 1.2::double precision,
    b                  double precision DEFAULT 0.75::double precision,
    default_principals text[] DEFAULT NULL,
    index_title        text DEFAULT 'first',
    exist_ok           boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id   integer;
    v_fingerprint text := sift.analyzer_fingerprint(analyzer);
    v_existing    record;
BEGIN
    IF tenant IS NULL OR tenant = '' OR octet_length(tenant) > 200 OR tenant ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = 'a tenant needs a name of 1 to 200 bytes without control characters';
    END IF;
    IF k1 IS NULL OR NOT (k1 >= 0::double precision AND k1 < 'Infinity'::double precision) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k1 must be finite and not negative, not %s', coalesce(k1::text, 'NULL'));
    END IF;
    IF b IS NULL OR NOT (b >= 0::double precision AND b <= 1::double precision) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('b must lie between 0 and 1, not %s', coalesce(b::text, 'NULL'));
    END IF;
    IF index_title IS NULL OR index_title NOT IN ('first', 'none') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('index_title must be first or none, not %s', coalesce(index_title, 'NULL'));
    END IF;
    INSERT INTO sift.tenants AS t (tenant_id, name, analyzer, analyzer_fingerprint, k1, b, index_title)
    VALUES (nextval('sift.tenant_ids')::integer, tenant, analyzer, v_fingerprint, k1, b, index_title)
    ON CONFLICT ON CONSTRAINT tenants_name_key DO NOTHING
    RETURNING t.tenant_id INTO v_tenant_id;
    IF v_tenant_id IS NULL THEN
        SELECT t.tenant_id, t.analyzer INTO v_existing FROM sift.tenants AS t WHERE t.name = create_tenant.tenant;
        IF exist_ok AND v_existing.analyzer = analyzer THEN
            RETURN v_existing.tenant_id;
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'PS011',
            MESSAGE = CASE WHEN exist_ok
                THEN format('the tenant %s exists with the analyzer %s, not %s', to_json(tenant), v_existing.analyzer, analyzer)
                ELSE format('the tenant %s exists', to_json(tenant)) END,
            HINT = 'Choose another name, or pass exist_ok => true and the analyzer it has.';
    END IF;
    INSERT INTO sift.access_lists AS a (tenant_id, access_list_id, principals) VALUES (v_tenant_id, 0, '{}'::text[]);
    IF default_principals IS NOT NULL THEN
        UPDATE sift.tenants AS t
        SET default_access_list_id = sift._access_list(v_tenant_id, default_principals, NULL::text[])
        WHERE t.tenant_id = v_tenant_id;
    END IF;
    RETURN v_tenant_id;
END
$$;
COMMENT ON FUNCTION sift.create_tenant(text, text, double precision, double precision, text[], text, boolean) IS
    'Makes a tenant and returns its number. Documents ingested without an access list get default_principals; left out, nobody but writers sees them.';
REVOKE ALL ON FUNCTION sift.create_tenant(text, text, double precision, double precision, text[], text, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.create_tenant(text, text, double precision, double precision, text[], text, boolean) TO sift_owner, sift_writer;
