-- What is shown for chunks in the order of a result, by their contexts. A chunk that lies in what a better one shows is not shown again: of says
-- which one that is, by its place from 1. NULL for chunks without a context.
--
--   past  whether chunks may be of the history
CREATE OR REPLACE FUNCTION sift._contexts(
    tenant_id integer,
    chunk_ids bigint[],
    past      boolean,
    OUT contexts text[],
    OUT starts   integer[],
    OUT pages    integer[],
    OUT ofs      integer[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := tenant_id;
    v_documents bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(chunk_ids)]);
    v_versions  integer[] := array_fill(NULL::integer, ARRAY[cardinality(chunk_ids)]);
    v_ends      integer[] := array_fill(NULL::integer, ARRAY[cardinality(chunk_ids)]);
    v_chunk     record;
    v_of        integer;
    v_shown     record;
BEGIN
    contexts := array_fill(NULL::text, ARRAY[cardinality(chunk_ids)]);
    starts := v_versions;
    pages := v_versions;
    ofs := v_versions;
    FOR v_chunk IN
        SELECT i.place::integer AS place, c.document_id, c.version, c.char_start, c.char_end, c.context_start, c.context_end
        FROM unnest(chunk_ids) WITH ORDINALITY AS i (id, place)
        CROSS JOIN LATERAL (
            SELECT s.document_id, d.version, s.char_start, s.char_end, s.context_start, s.context_end
            FROM sift.chunks AS s
            CROSS JOIN LATERAL (SELECT e.version FROM sift.documents AS e
                                WHERE e.tenant_id = v_tenant_id AND e.document_id = s.document_id OFFSET 0) AS d
            WHERE s.tenant_id = v_tenant_id AND s.chunk_id = i.id AND s.context_start IS NOT NULL
            UNION ALL
            SELECT h.document_id, h.version, h.char_start, h.char_end, h.context_start, h.context_end
            FROM sift.chunk_history AS h
            WHERE past AND h.tenant_id = v_tenant_id AND h.chunk_id = i.id AND h.context_start IS NOT NULL
            OFFSET 0) AS c
        ORDER BY i.place
    LOOP
        SELECT min(p.place) INTO v_of
        FROM unnest(v_documents, v_versions, starts, v_ends) WITH ORDINALITY AS p (document_id, version, context_start, context_end, place)
        WHERE p.document_id = v_chunk.document_id AND p.version = v_chunk.version AND p.context_start <= v_chunk.char_start
          AND p.context_end >= v_chunk.char_end;
        IF v_of IS NOT NULL THEN
            ofs[v_chunk.place] := v_of;
            CONTINUE;
        END IF;
        v_documents[v_chunk.place] := v_chunk.document_id;
        v_versions[v_chunk.place] := v_chunk.version;
        v_ends[v_chunk.place] := v_chunk.context_end;
        starts[v_chunk.place] := v_chunk.context_start;
        v_shown := sift._context_at(v_tenant_id, v_chunk.document_id, v_chunk.version, v_chunk.context_start, v_chunk.context_end);
        contexts[v_chunk.place] := v_shown.body;
        pages[v_chunk.place] := v_shown.page;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._contexts(integer, bigint[], boolean) IS 'What is shown for chunks in the order of a result, by their contexts, each once.';
REVOKE ALL ON FUNCTION sift._contexts(integer, bigint[], boolean) FROM PUBLIC;
