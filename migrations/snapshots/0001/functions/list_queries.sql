-- The recorded queries, the last first: what was asked, for whom, by whom, and what came back. For writers, who may see every document
-- anyway; an application may record queries, but not read what others asked.
CREATE OR REPLACE FUNCTION sift.list_queries(
    tenant text,
    k      integer DEFAULT 100,
    ids    bigint[] DEFAULT NULL,
    since  timestamptz DEFAULT NULL,
    before timestamptz DEFAULT NULL,
    below  bigint DEFAULT NULL
)
RETURNS TABLE (
    query_id           bigint,
    asked_at           timestamptz,
    asked_by           text,
    query              text,
    principals         text[],
    settings           jsonb,
    defaults           jsonb,
    query_embedding    real[],
    hits               jsonb,
    payload_bytes      bigint,
    payload_characters bigint,
    milliseconds       double precision
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, but is %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of entries wanted at most; 100 is the default.';
    END IF;
    RETURN QUERY
    SELECT q.query_id, q.asked_at, q.asked_by, q.query, q.principals, q.settings, q.defaults, q.query_embedding, q.hits, q.payload_bytes,
           q.payload_characters, q.milliseconds
    FROM sift.query_log AS q
    WHERE q.tenant_id = v_tenant_id
      AND (list_queries.ids IS NULL OR q.query_id = ANY (list_queries.ids))
      AND (list_queries.since IS NULL OR q.asked_at >= list_queries.since)
      AND (list_queries.before IS NULL OR q.asked_at < list_queries.before)
      AND (list_queries.below IS NULL OR q.query_id < list_queries.below)
    ORDER BY q.query_id DESC
    LIMIT list_queries.k;
END
$$;
COMMENT ON FUNCTION sift.list_queries(text, integer, bigint[], timestamptz, timestamptz, bigint) IS
    'Recorded queries, the last first, with settings and results: those of some numbers, or asked since and before a time. below: only entries with a lower number, for the next page.';
REVOKE ALL ON FUNCTION sift.list_queries(text, integer, bigint[], timestamptz, timestamptz, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_queries(text, integer, bigint[], timestamptz, timestamptz, bigint) TO sift_owner, sift_writer;
