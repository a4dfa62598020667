-- What is stored of documents, so that a writer can leave alone what has not changed.
CREATE OR REPLACE FUNCTION sift.document_states(tenant text, keys text[], model text DEFAULT NULL)
RETURNS TABLE (
    key             text,
    content_hash    text,
    version         integer,
    chunks          integer,
    missing_vectors integer,
    principals      text[],
    denied          text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer;
BEGIN
    IF model IS NOT NULL THEN
        v_model_id := sift._model_id(v_tenant_id, model);
    END IF;
    RETURN QUERY
    SELECT d.key, encode(d.content_hash, 'hex'), d.version, n.chunks::integer,
           CASE WHEN v_model_id IS NULL THEN 0 ELSE (n.ranked - n.vectors)::integer END,
           a.principals, a.denied
    FROM sift.documents AS d
    CROSS JOIN LATERAL (SELECT l.principals, l.denied FROM sift.access_lists AS l
                        WHERE l.tenant_id = v_tenant_id AND l.access_list_id = d.access_list_id OFFSET 0) AS a
    CROSS JOIN LATERAL (
        SELECT count(*) AS chunks, count(*) FILTER (WHERE c.unranked_tokens IS NULL) AS ranked,
               count(*) FILTER (WHERE v_model_id IS NOT NULL AND EXISTS (
                   SELECT FROM sift.chunk_embeddings AS e
                   WHERE e.tenant_id = v_tenant_id AND e.model_id = v_model_id AND e.chunk_id = c.chunk_id)) AS vectors
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id AND c.document_id = d.document_id
    ) AS n
    WHERE d.tenant_id = v_tenant_id AND d.key = ANY (document_states.keys);
END
$$;
COMMENT ON FUNCTION sift.document_states(text, text[], text) IS
    'Content hash (hexadecimal), version, number of chunks, ranked chunks without a vector of the model, and access list, of those keys that are stored.';
REVOKE ALL ON FUNCTION sift.document_states(text, text[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.document_states(text, text[], text) TO sift_owner, sift_writer;
