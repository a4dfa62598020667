-- The chunks of a document, or one chunk, that somebody who sees the lists may see, now or (as_of) as they were, and whether each passes a
-- filter, and the filter with the conditions of the query; for sift._explain and sift._why_not.
--
-- chunk: one chunk by its number; else all of the document. No rows for what is not there or not visible.
CREATE OR REPLACE FUNCTION sift._chunks_seen(
    tenant_id        integer,
    lists            bigint[],
    document         bigint,
    chunk            bigint,
    filter_predicate text,
    predicate        text,
    bound            jsonb,
    as_of            timestamptz
)
RETURNS TABLE (chunk_id bigint, document_id bigint, ordinal integer, kind text, ranked boolean, tokens integer, passes_filter boolean, passes boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_which text := CASE WHEN chunk IS NULL THEN 'x.document_id = $4' ELSE 'x.chunk_id = $5' END;
    v_from  text;
BEGIN
    IF as_of IS NULL THEN
        v_from := format('(SELECT x.* FROM sift.chunks AS x WHERE x.tenant_id = $2 AND %s OFFSET 0) AS c'
                         ' CROSS JOIN LATERAL (SELECT x.* FROM sift.documents AS x WHERE x.tenant_id = $2 AND x.document_id = c.document_id OFFSET 0) AS d',
                         v_which);
    ELSE
        v_from := format('(SELECT x.chunk_id, x.document_id, x.kind, x.page, x.ordinal, x.section_path, x.doc_length, x.tokens, x.unranked_tokens, x.title_tokens, x.prefix_tokens'
                         ' FROM sift.chunks AS x WHERE x.tenant_id = $2 AND %1$s AND EXISTS (SELECT FROM sift.documents AS e'
                         '  WHERE e.tenant_id = $2 AND e.document_id = x.document_id AND e.current_from <= $6)'
                         ' UNION ALL'
                         ' SELECT x.chunk_id, x.document_id, x.kind, x.page, x.ordinal, x.section_path, x.doc_length, x.tokens, x.unranked_tokens, x.title_tokens, x.prefix_tokens'
                         ' FROM sift.chunk_history AS x WHERE x.tenant_id = $2 AND %1$s AND x.current_from <= $6 AND x.current_to > $6 OFFSET 0) AS c'
                         ' CROSS JOIN LATERAL sift._version_at($2, c.document_id, $6, $3) AS d', v_which);
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT c.chunk_id, c.document_id, c.ordinal, c.kind, c.unranked_tokens IS NULL,'
        ' coalesce(cardinality(string_to_array(coalesce(c.unranked_tokens, c.tokens), '' '')), 0), (%s), (%s)'
        ' FROM %s WHERE (d.access_list_id IN (SELECT l.id FROM unnest($3) AS l (id))) IS TRUE ORDER BY c.ordinal',
        coalesce(filter_predicate, 'true'), coalesce(predicate, 'true'), v_from)
    USING bound, tenant_id, lists, document, chunk, as_of;
END
$$;
COMMENT ON FUNCTION sift._chunks_seen(integer, bigint[], bigint, bigint, text, text, jsonb, timestamptz) IS
    'The visible chunks of a document, or one, and whether they pass a filter.';
REVOKE ALL ON FUNCTION sift._chunks_seen(integer, bigint[], bigint, bigint, text, text, jsonb, timestamptz) FROM PUBLIC;
