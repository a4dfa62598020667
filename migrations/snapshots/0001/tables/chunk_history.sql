-- The chunks of versions that were superseded or deleted, as they were: written when a document is replaced or deleted, and read by
-- nothing but searches of the past.
CREATE TABLE sift.chunk_history (
    tenant_id    integer NOT NULL,
    chunk_id     bigint NOT NULL,
    document_id  bigint NOT NULL,
    current_from timestamptz NOT NULL,
    current_to   timestamptz NOT NULL,
    version      integer NOT NULL,
    ordinal      integer NOT NULL,
    doc_length   integer NOT NULL,
    title_tokens integer NOT NULL DEFAULT 0,
    overlap_tokens integer NOT NULL DEFAULT 0,
    prefix_tokens integer NOT NULL DEFAULT 0,
    page         integer,
    page_breaks  integer[],
    char_start   integer NOT NULL,
    char_end     integer NOT NULL,
    kind         text NOT NULL,
    section_path text[] NOT NULL,
    text_hash    bytea NOT NULL,
    body         text NOT NULL,
    prefix       text,
    lead         text,
    context_start integer,
    context_end  integer,
    tokens       text NOT NULL COLLATE "C",
    unranked_tokens text COLLATE "C",
    claim        jsonb,
    CONSTRAINT chunk_history_pkey PRIMARY KEY (tenant_id, chunk_id)
);
-- None begins with tenant_id, for the reason given in documents.
CREATE INDEX chunk_history_document_id_idx ON sift.chunk_history (document_id, tenant_id, version);
CREATE INDEX chunk_history_current_to_idx ON sift.chunk_history (current_to, tenant_id);
CREATE INDEX chunk_history_text_hash_idx ON sift.chunk_history (text_hash, tenant_id);
-- Finds the past chunks that hold a term.
CREATE INDEX chunk_history_tokens_idx ON sift.chunk_history USING gin (pg_catalog.string_to_array(tokens, ' '));
COMMENT ON TABLE sift.chunk_history IS 'Chunks of superseded and deleted versions, with the numbers they had.';
COMMENT ON COLUMN sift.chunk_history.current_from IS 'From when on the version was current, and the chunk part of it.';
COMMENT ON COLUMN sift.chunk_history.current_to IS 'When it ceased to be.';
REVOKE ALL ON TABLE sift.chunk_history FROM PUBLIC;
ALTER TABLE sift.chunk_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.chunk_history ALTER COLUMN tenant_id SET STATISTICS 0;
