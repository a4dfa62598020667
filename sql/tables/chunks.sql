-- The retrieval unit.
CREATE TABLE sift.chunks (
    tenant_id      integer NOT NULL,
    chunk_id       bigint GENERATED ALWAYS AS IDENTITY,
    document_id    bigint NOT NULL,
    access_list_id bigint NOT NULL,
    ordinal        integer NOT NULL,
    doc_length     integer NOT NULL,
    title_tokens   integer NOT NULL DEFAULT 0,
    overlap_tokens integer NOT NULL DEFAULT 0,
    prefix_tokens  integer NOT NULL DEFAULT 0,
    page           integer,
    page_breaks    integer[],
    char_start     integer NOT NULL,
    char_end       integer NOT NULL,
    kind           text NOT NULL,
    section_path   text[] NOT NULL,
    text_hash      bytea NOT NULL,
    body           text NOT NULL,
    prefix         text,
    lead           text,
    context_start  integer,
    context_end    integer,
    tokens         text NOT NULL COLLATE "C",
    unranked_tokens text COLLATE "C",
    claim          jsonb,
    added_at       timestamptz,
    CONSTRAINT chunks_pkey PRIMARY KEY (tenant_id, chunk_id) INCLUDE (access_list_id, document_id),
    CONSTRAINT chunks_ordinal_key UNIQUE (tenant_id, document_id, ordinal),
    CONSTRAINT chunks_document_id_fkey FOREIGN KEY (tenant_id, document_id)
        REFERENCES sift.documents (tenant_id, document_id) ON DELETE CASCADE,
    CONSTRAINT chunks_kind_check CHECK (kind IN ('text', 'abstract', 'title', 'section_header', 'table', 'figure', 'reference', 'claim')),
    CONSTRAINT chunks_char_span_check CHECK (char_start >= 0 AND char_end >= char_start),
    CONSTRAINT chunks_field_tokens_check CHECK (title_tokens >= 0 AND overlap_tokens >= 0),
    CONSTRAINT chunks_prefix_tokens_check CHECK (prefix_tokens >= 0 AND prefix_tokens <= overlap_tokens),
    CONSTRAINT chunks_context_check CHECK ((context_start IS NULL) = (context_end IS NULL) AND context_start >= 0 AND context_start <= char_start
                                           AND context_end >= char_end),
    CONSTRAINT chunks_page_breaks_check CHECK (page_breaks IS NULL OR (page IS NOT NULL AND array_ndims(page_breaks) = 2 AND array_length(page_breaks, 2) = 2)),
    CONSTRAINT chunks_claim_check CHECK (claim IS NULL OR kind = 'claim'),
    CONSTRAINT chunks_unranked_tokens_check CHECK (unranked_tokens IS NULL OR (tokens = '' AND doc_length = 0))
);
-- None begins with tenant_id, for the reason given in documents.
CREATE INDEX chunks_access_list_id_idx ON sift.chunks (access_list_id, tenant_id, chunk_id);
CREATE INDEX chunks_text_hash_idx ON sift.chunks (text_hash, tenant_id);
-- Counts chunks that are not ranked, and finds their documents, without reading the others.
CREATE INDEX chunks_unranked_idx ON sift.chunks (kind, tenant_id, document_id) WHERE unranked_tokens IS NOT NULL;
COMMENT ON TABLE sift.chunks IS 'The retrieval unit: a verbatim piece of a document''s text, and the tokens the analyzer made of it.';
COMMENT ON COLUMN sift.chunks.access_list_id IS 'That of the document, kept here so that permission is one probe of this index.';
COMMENT ON COLUMN sift.chunks.doc_length IS 'Number of tokens, repeats included; 0 is not counted in the corpus statistics.';
COMMENT ON COLUMN sift.chunks.title_tokens IS 'How many tokens at the head are those of the document''s title; they stand in the first chunk that is ranked.';
COMMENT ON COLUMN sift.chunks.overlap_tokens IS 'How many tokens after those of the title repeat what the document says elsewhere, the prefix and the end of the chunk before: the document unit does not count them again.';
COMMENT ON COLUMN sift.chunks.prefix_tokens IS 'How many tokens after those of the title are those of prefix; they are the first of overlap_tokens.';
COMMENT ON COLUMN sift.chunks.page IS 'The page body begins on.';
COMMENT ON COLUMN sift.chunks.page_breaks IS 'Where in body, counted from 0, another page begins, and which: {{place, page}, …} in order; NULL where body lies on one page. sift._page_at reads it.';
COMMENT ON COLUMN sift.chunks.prefix IS 'What is indexed and embedded in front of body and is no part of the text, such as title and section; NULL: nothing.';
COMMENT ON COLUMN sift.chunks.lead IS 'White space of the text between the chunk before and this one, where a context reaches over it; else NULL.';
COMMENT ON COLUMN sift.chunks.context_start IS 'First character of the passage that is shown for the chunk where it is found; NULL: it is the chunk itself.';
COMMENT ON COLUMN sift.chunks.context_end IS 'One past the last character of that passage.';
COMMENT ON COLUMN sift.chunks.char_start IS 'First character of body in the document''s text, counted from 0.';
COMMENT ON COLUMN sift.chunks.char_end IS 'One past the last character of body in the document''s text.';
COMMENT ON COLUMN sift.chunks.text_hash IS 'sha256 of body: equal bodies collapse in a result.';
COMMENT ON COLUMN sift.chunks.tokens IS 'Tokens in order, joined by one space: what the postings are made of, and unmade when the chunk goes.';
COMMENT ON COLUMN sift.chunks.unranked_tokens IS 'NULL in a chunk that is ranked. In one that is not, its tokens, which count in the document unit alone; empty in references, which count nowhere.';
COMMENT ON COLUMN sift.chunks.claim IS 'Of a claim that was checked: supports, the ordinals of the chunks of its document that bear it out; evidence_span; effect; source_level. Else NULL.';
COMMENT ON COLUMN sift.chunks.added_at IS 'When the chunk was added to a version that was current already (sift.put_claims); NULL: it came with the version.';
REVOKE ALL ON TABLE sift.chunks FROM PUBLIC;
ALTER TABLE sift.chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.chunks ALTER COLUMN tenant_id SET STATISTICS 0;
