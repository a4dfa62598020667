-- The chunks the caller may see that mention an entity, as given at ingest: in the order of keys, then of the text.
CREATE OR REPLACE FUNCTION sift.chunks_by_entity(
    tenant     text,
    entity     text,
    principals text[] DEFAULT NULL,
    k          integer DEFAULT NULL
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
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.chunk_id, r.document_id, r.key, r.title, r.ordinal, r.kind, r.section_path, r.page, r.char_start, r.char_end,
           r.doc_length, r.document_version, r.body, r.metadata
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._chunks_by_entity(c.role_id, c.proof, chunks_by_entity.tenant, chunks_by_entity.entity, chunks_by_entity.principals, chunks_by_entity.k) AS r;
END
$$;
COMMENT ON FUNCTION sift.chunks_by_entity(text, text, text[], integer) IS
    'Visible chunks that mention an entity, in the order of keys and of the text; k of them at most, all where it is left out.';
REVOKE ALL ON FUNCTION sift.chunks_by_entity(text, text, text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.chunks_by_entity(text, text, text[], integer) TO sift_owner, sift_writer, sift_app, sift_reader;
