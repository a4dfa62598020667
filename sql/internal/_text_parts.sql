-- The text of a version for evidence, in parts with the offset of each: its passages (sift._chunks_of) joined where they follow each other.
-- Between two chunks stands white space that no chunk holds: up to 20 characters are taken to be line feeds; a wider gap, and a body that
-- contradicts what stands at its place (chunks given without offsets), begins a part of its own, and no window crosses it.
CREATE OR REPLACE FUNCTION sift._text_parts(
    tenant_id   integer,
    document_id bigint,
    version     integer,
    OUT texts   text[],
    OUT offsets integer[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id   integer := tenant_id;
    v_document_id bigint := document_id;
    v_version     integer := version;
    v_pieces      text[];
    v_first       integer;
    v_end         integer;
    v_before      text;      -- the chunk that reached furthest, and where it began
    v_before_start integer;
    v_chunk       record;
BEGIN
    texts := '{}'::text[];
    offsets := '{}'::integer[];
    FOR v_chunk IN
        SELECT c.char_start, c.char_start + char_length(c.body) AS char_end, c.body
        FROM sift._chunks_of(v_tenant_id, v_document_id, v_version) AS c
        ORDER BY c.char_start, c.ordinal
    LOOP
        IF v_end IS NULL OR v_chunk.char_start > v_end + 20
            -- What both claim to hold: from where this one begins to where the first of them ends.
            OR (v_chunk.char_start < v_end
                AND left(v_chunk.body, v_end - v_chunk.char_start)
                    <> substr(v_before, 1 + v_chunk.char_start - v_before_start, char_length(v_chunk.body)))
        THEN
            IF v_end IS NOT NULL THEN
                texts := array_append(texts, array_to_string(v_pieces, ''));
                offsets := array_append(offsets, v_first);
            END IF;
            v_pieces := ARRAY[v_chunk.body];
            v_first := v_chunk.char_start;
            v_end := v_chunk.char_end;
            v_before := v_chunk.body;
            v_before_start := v_chunk.char_start;
            CONTINUE;
        END IF;
        IF v_chunk.char_start > v_end THEN
            v_pieces := array_append(v_pieces, repeat(E'\n', v_chunk.char_start - v_end));
            v_end := v_chunk.char_start;
        END IF;
        IF v_chunk.char_end > v_end THEN
            v_pieces := array_append(v_pieces, substr(v_chunk.body, 1 + v_end - v_chunk.char_start));
            v_end := v_chunk.char_end;
            v_before := v_chunk.body;
            v_before_start := v_chunk.char_start;
        END IF;
    END LOOP;
    IF v_end IS NOT NULL THEN
        texts := array_append(texts, array_to_string(v_pieces, ''));
        offsets := array_append(offsets, v_first);
    END IF;
END
$$;
COMMENT ON FUNCTION sift._text_parts(integer, bigint, integer) IS 'The passages of a version joined to parts of its text, with the offset of each part.';
REVOKE ALL ON FUNCTION sift._text_parts(integer, bigint, integer) FROM PUBLIC;
