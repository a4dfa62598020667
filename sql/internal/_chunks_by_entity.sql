-- What sift.chunks_by_entity does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._chunks_by_entity(
    caller     oid,
    proof      bytea,
    tenant     text,
    entity     text,
    principals text[],
    k          integer
)
RETURNS TABLE (
    chunk_id         bigint,
    document_id      bigint,
    key              text,
    title            text,
    ordinal          integer,
    kind             text,
    section_path     text[],
    page             integer,
    char_start       integer,
    char_end         integer,
    doc_length       integer,
    document_version integer,
    body             text,
    metadata         jsonb
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
BEGIN
    IF k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, not %s', k),
            HINT = 'Leave it out for all of them.';
    END IF;
    RETURN QUERY
    SELECT m.chunk_id, s.document_id, s.key, s.title, s.ordinal, s.kind, s.section_path, s.page, s.char_start, s.char_end, s.doc_length,
           s.version, s.body, s.metadata
    FROM sift.chunk_entities AS m
    CROSS JOIN LATERAL (
        SELECT c.document_id, d.key, d.title, c.ordinal, c.kind, c.section_path, c.page, c.char_start, c.char_end, c.doc_length,
               d.version, c.body, d.metadata
        FROM sift.chunks AS c
        JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
        WHERE c.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND c.chunk_id = m.chunk_id AND c.access_list_id = ANY (v_lists)
        OFFSET 0) AS s
    WHERE m.tenant_id = v_tenant_id AND m.entity = _chunks_by_entity.entity
    ORDER BY s.key COLLATE "C", s.ordinal, m.chunk_id
    LIMIT _chunks_by_entity.k;
END
$$;
COMMENT ON FUNCTION sift._chunks_by_entity(oid, bytea, text, text, text[], integer) IS 'The body of sift.chunks_by_entity, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._chunks_by_entity(oid, bytea, text, text, text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._chunks_by_entity(oid, bytea, text, text, text[], integer) TO sift_owner, sift_writer, sift_app, sift_reader;
