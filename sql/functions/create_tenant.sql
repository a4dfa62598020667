-- Makes a tenant.
CREATE OR REPLACE FUNCTION sift.create_tenant(
    tenant             text,
    analyzer           text DEFAULT 'english',
    k1                 double precision DEFAULT 1.2::double precision,
    b                  double precision DEFAULT 0.75::double precision,
    default_principals text[] DEFAULT NULL,
    index_title        text DEFAULT 'first',
    exist_ok           boolean DEFAULT false,
    keep_history       boolean DEFAULT NULL
) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id   integer;
    v_fingerprint text := sift.analyzer_fingerprint(analyzer);
    v_principals  text[] := sift._principal_set(default_principals);
    v_existing    record;
    v_different   text;
BEGIN
    IF tenant IS NULL OR tenant = '' OR octet_length(tenant) > 200 OR tenant ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = 'a tenant needs a name of 1 to 200 bytes without control characters',
            HINT = 'For example sift.create_tenant(''acme'').';
    END IF;
    PERFORM sift._check_ranking(k1, b, 1::double precision, 1::double precision);
    IF index_title IS NULL OR index_title NOT IN ('first', 'none') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('index_title must be first or none, not %s', coalesce(index_title, 'NULL')),
            HINT = 'first: a title is found with the first chunk that is ranked; none: not at all.';
    END IF;
    INSERT INTO sift.tenants AS t (tenant_id, name, analyzer, analyzer_fingerprint, k1, b, index_title, keep_history)
    VALUES (nextval('sift.tenant_ids')::integer, tenant, analyzer, v_fingerprint, k1, b, index_title, coalesce(keep_history, true))
    ON CONFLICT ON CONSTRAINT tenants_name_key DO NOTHING
    RETURNING t.tenant_id INTO v_tenant_id;
    IF v_tenant_id IS NULL THEN
        IF NOT coalesce(exist_ok, false) THEN
            RAISE EXCEPTION USING ERRCODE = 'PS011',
                MESSAGE = format('the tenant %s exists', to_json(tenant)),
                HINT = 'Choose another name, or pass exist_ok => true and the settings it has.';
        END IF;
        SELECT t.tenant_id, t.analyzer, t.k1, t.b, t.index_title, t.default_access_list_id, t.keep_history INTO v_existing
        FROM sift.tenants AS t
        WHERE t.name = create_tenant.tenant;
        SELECT string_agg(format('%s is %s, not %s', p.name, p.stored, p.asked), '; ' ORDER BY p.position) INTO v_different
        FROM (VALUES (1, 'analyzer', to_json(v_existing.analyzer)::text, to_json(analyzer)::text),
                     (2, 'k1', v_existing.k1::text, k1::text),
                     (3, 'b', v_existing.b::text, b::text),
                     (4, 'index_title', to_json(v_existing.index_title)::text, to_json(index_title)::text),
                     (6, 'keep_history', v_existing.keep_history::text, keep_history::text),
                     (5, 'default_principals',
                      (SELECT to_json(a.principals)::text FROM sift.access_lists AS a
                       WHERE a.tenant_id = v_existing.tenant_id AND a.access_list_id = v_existing.default_access_list_id),
                      CASE WHEN default_principals IS NOT NULL THEN to_json(v_principals)::text END)) AS p (position, name, stored, asked)
        WHERE p.stored <> p.asked;
        IF v_different IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'PS011',
                MESSAGE = format('the tenant %s exists with other settings: %s', to_json(tenant), v_different),
                HINT = 'Pass what it has, or make another tenant; who sees documents by default is changed with sift.set_default_access.';
        END IF;
        RETURN v_existing.tenant_id;
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
COMMENT ON FUNCTION sift.create_tenant(text, text, double precision, double precision, text[], text, boolean, boolean) IS
    'Makes a tenant and returns its number. Documents ingested without an access list get default_principals; left out, nobody but writers sees them. With exist_ok a tenant of this name is left as it is, if it has these settings; others are refused. k1 and b are those of BM25; index_title: first, titles are found with the first chunk, or none. keep_history: whether superseded and deleted versions are kept, for searches of the past; they are unless it is false.';
REVOKE ALL ON FUNCTION sift.create_tenant(text, text, double precision, double precision, text[], text, boolean, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.create_tenant(text, text, double precision, double precision, text[], text, boolean, boolean) TO sift_owner, sift_writer;
