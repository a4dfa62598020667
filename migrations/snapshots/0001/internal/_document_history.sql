-- What sift.document_history does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._document_history(
    caller     oid,
    proof      bytea,
    tenant     text,
    key        text,
    principals text[]
)
RETURNS TABLE (
    version              integer,
    revision             integer,
    event                text,
    current_from         timestamptz,
    current_to           timestamptz,
    title                text,
    source_uri           text,
    source_version       text,
    metadata             jsonb,
    content_hash         text,
    length               integer,
    parser               text,
    chunker              text,
    analyzer_fingerprint text,
    models               text[],
    language             text,
    license              text,
    classification       text,
    observed_at          timestamptz,
    valid_from           timestamptz,
    valid_to             timestamptz,
    retain_until         timestamptz,
    run_id               bigint,
    changed_by           text,
    reason               text,
    key_then             text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_all       boolean := coalesce('sift:writer' = ANY (principals), false) AND sift._is_writer(caller);
    v_trusted   boolean := sift._is_trusted(caller);
    v_lists     bigint[];
BEGIN
    IF NOT v_all THEN
        v_lists := sift._visible_lists(v_tenant_id, principals, caller);
    END IF;
    RETURN QUERY
    SELECT h.version, h.revision, h.event, h.current_from, h.current_to, h.title, h.source_uri, h.source_version, h.metadata,
           encode(h.content_hash, 'hex'), h.length, h.parser, h.chunker, h.analyzer_fingerprint,
           CASE WHEN h.current_to IS NULL THEN m.names ELSE h.models END, h.language, h.license, h.classification, h.observed_at,
           h.valid_from, h.valid_to, h.retain_until, CASE WHEN v_trusted THEN h.run_id END, CASE WHEN v_trusted THEN h.changed_by END,
           CASE WHEN v_trusted THEN h.reason END, CASE WHEN v_trusted OR h.key = _document_history.key THEN h.key END
    FROM sift.document_versions AS h
    -- A backfill may have added vectors of further models to what is current.
    CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(n.name ORDER BY n.name COLLATE "C"), '{}'::text[]) AS names
        FROM (SELECT DISTINCT e.model_id
              FROM sift.chunks AS s
              CROSS JOIN LATERAL (SELECT v.model_id FROM sift.chunk_embeddings AS v
                                  WHERE v.tenant_id = v_tenant_id AND v.chunk_id = s.chunk_id OFFSET 0) AS e
              WHERE s.tenant_id = v_tenant_id AND s.document_id = h.document_id AND h.current_to IS NULL) AS u
        JOIN sift.embedding_models AS n ON n.model_id = u.model_id) AS m
    -- A document that was moved has been under other keys before.
    WHERE h.tenant_id = v_tenant_id
      AND h.document_id IN (
          SELECT v.document_id FROM sift.document_versions AS v
          WHERE v.tenant_id = v_tenant_id
            AND v.key IN (_document_history.key, 'sha256:' || encode(sha256(convert_to(_document_history.key, 'UTF8')), 'hex')))
      AND (v_all OR (sift._list_today(v_tenant_id, h.document_id, h.key, v_lists) = ANY (v_lists)) IS TRUE)
    ORDER BY h.document_id, h.version, h.revision;
END
$$;
COMMENT ON FUNCTION sift._document_history(oid, bytea, text, text, text[]) IS 'The body of sift.document_history, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._document_history(oid, bytea, text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._document_history(oid, bytea, text, text, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
