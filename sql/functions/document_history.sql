-- The versions of a document, oldest first: what it was from when to when, where it came from, what made it, and how it ended.
--
--   SELECT version, event, current_from, current_to, changed_by, reason FROM sift.document_history('acme', 'handbook/travel.md', '{public}');
--
-- Those of documents that the principals may see today; a writer passes {sift:writer} to see every one, purged ones too. Who changed it, in which run and
-- why is told to applications and writers only, and so are the other keys of a document that was moved.
CREATE OR REPLACE FUNCTION sift.document_history(
    tenant     text,
    key        text,
    principals text[] DEFAULT NULL
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
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.version, r.revision, r.event, r.current_from, r.current_to, r.title, r.source_uri, r.source_version, r.metadata,
           r.content_hash, r.length, r.parser, r.chunker, r.analyzer_fingerprint, r.models, r.language, r.license,
           r.classification, r.observed_at, r.valid_from, r.valid_to, r.retain_until, r.run_id, r.changed_by, r.reason, r.key_then
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._document_history(c.role_id, c.proof, document_history.tenant, document_history.key, document_history.principals) AS r;
END
$$;
COMMENT ON FUNCTION sift.document_history(text, text, text[]) IS
    'The versions of a document, oldest first, with their sources, makers and dates, and its tombstones; of one that was moved, also what it was under other keys (key_then). A purged document is found by its key too, though only the key''s hash is kept.';
REVOKE ALL ON FUNCTION sift.document_history(text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.document_history(text, text, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
