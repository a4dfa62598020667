-- How well passages answer queries, as people judged them: the raw material of a judged collection of one's own.
CREATE TABLE sift.judgments (
    tenant_id    integer NOT NULL,
    judgment_id  bigint GENERATED ALWAYS AS IDENTITY,
    query        text NOT NULL,
    query_hash   bytea NOT NULL,
    document_id  bigint NOT NULL,
    key          text NOT NULL,
    content_hash bytea NOT NULL,
    text_hash    bytea,
    char_start   integer,
    char_end     integer,
    grade        integer NOT NULL,
    judged_by    text NOT NULL,
    judged_at    timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    note         text,
    CONSTRAINT judgments_pkey PRIMARY KEY (tenant_id, judgment_id),
    -- One of each judge.
    CONSTRAINT judgments_passage_key UNIQUE NULLS NOT DISTINCT (tenant_id, query_hash, document_id, text_hash, judged_by),
    CONSTRAINT judgments_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id),
    CONSTRAINT judgments_grade_check CHECK (grade BETWEEN 0 AND 3),
    CONSTRAINT judgments_judged_by_check CHECK (judged_by <> '' AND pg_catalog.octet_length(judged_by) <= 200),
    CONSTRAINT judgments_passage_check CHECK (pg_catalog.num_nulls(text_hash, char_start, char_end) IN (0, 3))
);
-- Finds the judgments of a document.
CREATE INDEX judgments_document_id_idx ON sift.judgments (document_id, tenant_id);
COMMENT ON TABLE sift.judgments IS 'Judgments of passages and documents for queries; written by sift.judge alone.';
COMMENT ON COLUMN sift.judgments.query IS 'The query as it was asked.';
COMMENT ON COLUMN sift.judgments.query_hash IS 'sha256 of the query in its normal form (sift._judged_query): two ways to write one query are one.';
COMMENT ON COLUMN sift.judgments.document_id IS 'The document as it was judged. It may be gone; one that came under its key and holds the passage takes its place.';
COMMENT ON COLUMN sift.judgments.key IS 'The key under which it was judged.';
COMMENT ON COLUMN sift.judgments.content_hash IS 'That of the document then: while it is the same, the span is of the same text, however that is cut.';
COMMENT ON COLUMN sift.judgments.text_hash IS 'sha256 of the passage, by which it is found after the document was stored anew; NULL: the document as a whole was judged.';
COMMENT ON COLUMN sift.judgments.char_start IS 'Where the passage began in the text of the document.';
COMMENT ON COLUMN sift.judgments.grade IS '0 not relevant, 1 related, 2 relevant, 3 answers the query.';
REVOKE ALL ON TABLE sift.judgments FROM PUBLIC;
ALTER TABLE sift.judgments ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.judgments ALTER COLUMN tenant_id SET STATISTICS 0;
