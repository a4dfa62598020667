-- What sift.facets does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._facets(
    caller       oid,
    proof        bytea,
    tenant       text,
    field        text,
    query        text,
    k            integer,
    principals   text[],
    filter       jsonb,
    bucket       text,
    plain        boolean
)
RETURNS TABLE (
    value            text,
    chunks           bigint,
    documents        bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_query     record;
    v_field     record;
    v_value     text;
BEGIN
    IF k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, not %s', k),
            HINT = 'k is the number of values wanted; NULL is for all of them.';
    END IF;
    IF field IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'there is no field to count the values of',
            HINT = 'Name one that filters know, such as kind or language, or one of your own: metadata.NAME.';
    END IF;
    v_field := sift._filter_field(field);
    IF bucket IS NOT NULL AND (v_field.field_type <> 'timestamp' OR bucket NOT IN ('day', 'week', 'month', 'quarter', 'year')) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = CASE WHEN v_field.field_type <> 'timestamp' THEN format('bucket is for fields of time, which %s is not', to_json(left(field, 100)))
                           ELSE format('bucket must be day, week, month, quarter or year, not %s', to_json(left(bucket, 100))) END,
            HINT = 'For example field => ''observed_at'', bucket => ''month''.';
    END IF;
    SELECT q.* INTO v_query FROM sift._match_query(v_tenant_id, query, filter, plain, v_lists) AS q;
    v_value := CASE CASE WHEN field = 'entity' THEN 'json' ELSE v_field.field_type END
        WHEN 'texts' THEN format('nullif(array_to_string(%s, '' > ''), '''')', v_field.column_name)
        WHEN 'timestamp' THEN format(CASE WHEN bucket IS NULL THEN 'to_char(%s AT TIME ZONE ''UTC'', ''YYYY-MM-DD"T"HH24:MI:SS.US"Z"'')'
                                          ELSE 'to_char(date_trunc($4, %s AT TIME ZONE ''UTC''), ''YYYY-MM-DD'')' END, v_field.column_name)
        WHEN 'json' THEN 'v.value'
        ELSE v_field.column_name || '::text' END;
    RETURN QUERY EXECUTE format($query$
        SELECT o.value, count(DISTINCT o.chunk_id), count(DISTINCT o.document_id)
        FROM (
            SELECT %s AS value, m.chunk_id, m.document_id
            FROM sift._matches($2, $5, $3, $6, $1) AS m
            CROSS JOIN LATERAL (SELECT x.* FROM sift.chunks AS x WHERE x.tenant_id = $2 AND x.chunk_id = m.chunk_id OFFSET 0) AS c
            CROSS JOIN LATERAL (SELECT x.* FROM sift.documents AS x WHERE x.tenant_id = $2 AND x.document_id = m.document_id OFFSET 0) AS d
            %s
        ) AS o
        GROUP BY o.value
        ORDER BY 3 DESC, 2 DESC, o.value COLLATE "C" NULLS LAST
        LIMIT $8
    $query$, v_value,
        CASE WHEN field = 'entity' THEN $lateral$
            LEFT JOIN LATERAL (
                SELECT n.entity AS value FROM sift.chunk_entities AS n WHERE n.tenant_id = $2 AND n.chunk_id = m.chunk_id OFFSET 0
            ) AS v ON true $lateral$ WHEN v_field.field_type = 'json' THEN $lateral$
            CROSS JOIN LATERAL (SELECT d.metadata #> $7 AS found OFFSET 0) AS j
            LEFT JOIN LATERAL (
                SELECT a.element #>> '{}' AS value
                FROM jsonb_array_elements(CASE jsonb_typeof(j.found) WHEN 'array' THEN j.found ELSE jsonb_build_array(j.found) END) AS a (element)
            ) AS v ON true $lateral$ ELSE '' END)
    USING v_query.bound, v_tenant_id, v_lists, bucket, v_query.terms, v_query.predicate, v_field.metadata_path, k;
END
$$;
COMMENT ON FUNCTION sift._facets(oid, bytea, text, text, text, integer, text[], jsonb, text, boolean) IS 'The body of sift.facets, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._facets(oid, bytea, text, text, text, integer, text[], jsonb, text, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._facets(oid, bytea, text, text, text, integer, text[], jsonb, text, boolean) TO sift_owner, sift_writer, sift_app, sift_reader;
