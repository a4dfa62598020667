-- Takes purged documents out of the recorded queries: of their hits the ranks alone stay, so that a replay knows what it cannot compare.
CREATE OR REPLACE FUNCTION sift._forget_hits(tenant_id integer, document_ids bigint[], keys text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_ids       bigint[] := document_ids;
    v_keys      text[] := keys;
BEGIN
    UPDATE sift.query_log AS q
    SET hits = (SELECT coalesce(jsonb_agg(CASE WHEN (h.value ->> 'document_id')::bigint = ANY (v_ids) OR h.value ->> 'key' = ANY (v_keys)
                                               THEN jsonb_build_object('rank', h.value -> 'rank', 'purged', true) ELSE h.value END
                                          ORDER BY h.position), '[]'::jsonb)
                FROM jsonb_array_elements(q.hits) WITH ORDINALITY AS h (value, position))
    WHERE q.tenant_id = v_tenant_id
      AND EXISTS (SELECT FROM jsonb_array_elements(q.hits) AS h (value)
                  WHERE (h.value ->> 'document_id')::bigint = ANY (v_ids) OR h.value ->> 'key' = ANY (v_keys));
END
$$;
COMMENT ON FUNCTION sift._forget_hits(integer, bigint[], text[]) IS 'Takes hits of purged documents out of the recorded queries; their ranks stay.';
REVOKE ALL ON FUNCTION sift._forget_hits(integer, bigint[], text[]) FROM PUBLIC;
