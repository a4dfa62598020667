-- Texts that were compared, each pair from both sides. A pair depends on its two texts alone: what a caller is told of documents
-- it may see never depends on documents it may not see. Rows of texts that are gone are numbers without meaning; the next run drops them.
CREATE TABLE sift.similar_texts (
    tenant_id  integer NOT NULL,
    text_id    bigint NOT NULL,
    other_id   bigint NOT NULL,
    similarity double precision,
    CONSTRAINT similar_texts_pkey PRIMARY KEY (tenant_id, text_id, other_id),
    CONSTRAINT similar_texts_similarity_check CHECK (similarity > 0::double precision AND similarity <= 1::double precision)
);
COMMENT ON TABLE sift.similar_texts IS 'Pairs of texts that were compared, by their numbers in document_signatures.';
COMMENT ON COLUMN sift.similar_texts.similarity IS 'Jaccard similarity of the sets of shingles, counted, not estimated; NULL of two that do not resemble each other.';
REVOKE ALL ON TABLE sift.similar_texts FROM PUBLIC;
ALTER TABLE sift.similar_texts ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.similar_texts ALTER COLUMN tenant_id SET STATISTICS 0;
