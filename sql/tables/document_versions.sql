-- Every version that was ever current, and tombstones: what, when, by whom, why. A row says what held from current_from to current_to; the
-- version counts texts, the revision counts changes of what is known about one text. The row outlives its document.
--
-- A purge (sift.purge_documents) empties the rows of a document: the key becomes 'sha256:' and the hash of the key in hexadecimal; who, when,
-- why, and the numbers of chunks stay, so that it can be proved that nothing is left.
CREATE TABLE sift.document_versions (
    tenant_id            integer NOT NULL,
    document_id          bigint NOT NULL,
    version              integer NOT NULL,
    revision             integer NOT NULL DEFAULT 0,
    access_list_id       bigint NOT NULL,
    current_from         timestamptz NOT NULL,
    current_to           timestamptz,
    run_id               bigint,
    length               integer,
    key                  text NOT NULL,
    event                text NOT NULL,
    title                text,
    source_uri           text,
    source_version       text,
    metadata             jsonb,
    content_hash         bytea,
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
    chunk_ids            bigint[],
    text_hashes          bytea[],
    reason               text,
    changed_by           text NOT NULL,
    CONSTRAINT document_versions_pkey PRIMARY KEY (tenant_id, document_id, version, revision),
    CONSTRAINT document_versions_event_check CHECK (event IN ('created', 'replaced', 'updated', 'moved', 'deleted', 'purged')),
    CONSTRAINT document_versions_current_check CHECK (current_to >= current_from)
);
-- Neither begins with tenant_id, for the reason given in documents.
CREATE INDEX document_versions_key_idx ON sift.document_versions (key, tenant_id);
CREATE INDEX document_versions_current_to_idx ON sift.document_versions (current_to, tenant_id);
-- Finds the tombstones of a list: whether all that stands under it is being changed.
CREATE INDEX document_versions_access_list_id_idx ON sift.document_versions (access_list_id, tenant_id) WHERE event = 'deleted';
COMMENT ON TABLE sift.document_versions IS 'One row per version that was ever current, per change of what is known about it, per deletion and per purge; it outlives its document.';
COMMENT ON COLUMN sift.document_versions.revision IS '0 for a new text; one up with every change of what is known about the same text.';
COMMENT ON COLUMN sift.document_versions.access_list_id IS 'The access list when the row was written, or last seen current. Who may see history is decided by the list of today.';
COMMENT ON COLUMN sift.document_versions.current_from IS 'Start of the transaction that wrote it, or later: never before what it follows.';
COMMENT ON COLUMN sift.document_versions.current_to IS 'When it ceased to be current; NULL while it is. Of a tombstone, the time of the deletion.';
COMMENT ON COLUMN sift.document_versions.event IS 'created, replaced (a new text), updated (the same text, something else about it), moved (another key), deleted (a tombstone) or purged.';
COMMENT ON COLUMN sift.document_versions.models IS 'Names of the embedding models there were vectors of: when it was written, and again when it ceased to be current.';
COMMENT ON COLUMN sift.document_versions.chunk_ids IS 'The numbers its chunks had, once they are gone.';
COMMENT ON COLUMN sift.document_versions.text_hashes IS 'sha256 of their bodies, until a purge: a hash of a text that can be guessed tells the text.';
REVOKE ALL ON TABLE sift.document_versions FROM PUBLIC;
ALTER TABLE sift.document_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.document_versions ALTER COLUMN tenant_id SET STATISTICS 0;
