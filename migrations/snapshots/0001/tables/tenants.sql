-- One row per tenant: the unit of isolation and of corpus statistics.
CREATE SEQUENCE sift.tenant_ids AS bigint MAXVALUE 2147483647;
COMMENT ON SEQUENCE sift.tenant_ids IS 'Numbers for sift.tenants; not an identity column because tenant_id is an integer.';
REVOKE ALL ON SEQUENCE sift.tenant_ids FROM PUBLIC;

CREATE TABLE sift.tenants (
    tenant_id              integer NOT NULL,
    name                   text NOT NULL,
    analyzer               text NOT NULL,
    analyzer_fingerprint   text NOT NULL,
    k1                     double precision NOT NULL DEFAULT 1.2::double precision,
    b                      double precision NOT NULL DEFAULT 0.75::double precision,
    rrf_k                  double precision NOT NULL DEFAULT 60::double precision,
    lexical_weight         double precision,
    dense_weight           double precision,
    depth                  integer NOT NULL DEFAULT 100,
    index_title            text NOT NULL DEFAULT 'first',
    default_access_list_id bigint NOT NULL DEFAULT 0,
    model_id               integer,
    token_model_id         integer,
    keep_history           boolean NOT NULL DEFAULT true,
    history_since          timestamptz,
    remote_classifications text[],
    remote_retained        boolean NOT NULL DEFAULT true,
    statistics             text NOT NULL DEFAULT 'tenant',
    min_chunk_tokens       integer NOT NULL DEFAULT 1,
    title_weight           double precision NOT NULL DEFAULT 1::double precision,
    abstract_weight        double precision NOT NULL DEFAULT 1::double precision,
    strip_questions        boolean NOT NULL DEFAULT true,
    expand                 boolean NOT NULL DEFAULT true,
    has_claims             boolean NOT NULL DEFAULT false,
    has_contexts           boolean NOT NULL DEFAULT false,
    chunker                text,
    context_prefix         boolean NOT NULL DEFAULT false,
    created_at             timestamptz NOT NULL DEFAULT pg_catalog.now(),
    CONSTRAINT tenants_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT tenants_name_key UNIQUE (name),
    CONSTRAINT tenants_name_check CHECK (name <> '' AND pg_catalog.octet_length(name) <= 200),
    CONSTRAINT tenants_k1_check CHECK (k1 >= 0::double precision AND k1 < 'Infinity'::double precision),
    CONSTRAINT tenants_b_check CHECK (b >= 0::double precision AND b <= 1::double precision),
    CONSTRAINT tenants_rrf_k_check CHECK (rrf_k >= 0::double precision AND rrf_k < 'Infinity'::double precision),
    CONSTRAINT tenants_lexical_weight_check CHECK (lexical_weight >= 0::double precision AND lexical_weight < 'Infinity'::double precision),
    CONSTRAINT tenants_dense_weight_check CHECK (dense_weight >= 0::double precision AND dense_weight < 'Infinity'::double precision),
    CONSTRAINT tenants_depth_check CHECK (depth BETWEEN 1 AND 10000),
    CONSTRAINT tenants_index_title_check CHECK (index_title IN ('first', 'none')),
    CONSTRAINT tenants_statistics_check CHECK (statistics IN ('tenant', 'visible')),
    CONSTRAINT tenants_min_chunk_tokens_check CHECK (min_chunk_tokens BETWEEN 1 AND 10000),
    CONSTRAINT tenants_chunker_check CHECK (chunker ~ '^[a-z][a-z0-9_]{0,39}(:[a-z_]{1,40}=[0-9]{1,9}(,[a-z_]{1,40}=[0-9]{1,9}){0,9})?$'),
    CONSTRAINT tenants_title_weight_check CHECK (title_weight >= 0::double precision AND title_weight < 'Infinity'::double precision),
    CONSTRAINT tenants_abstract_weight_check CHECK (abstract_weight >= 0::double precision AND abstract_weight < 'Infinity'::double precision)
);
COMMENT ON TABLE sift.tenants IS 'The unit of isolation and of corpus statistics, with its analyzer and ranking defaults.';
COMMENT ON COLUMN sift.tenants.analyzer_fingerprint IS 'Identifies the exact analyzer the postings were made with; a client with another is refused.';
COMMENT ON COLUMN sift.tenants.lexical_weight IS 'Weight of the lexical leg in fusion; NULL takes the default of the embedding model.';
COMMENT ON COLUMN sift.tenants.dense_weight IS 'Weight of the dense leg in fusion; NULL takes the default of the embedding model.';
COMMENT ON COLUMN sift.tenants.index_title IS 'first: the title is indexed with the first chunk that is ranked; none: it is not indexed.';
COMMENT ON COLUMN sift.tenants.default_access_list_id IS 'Access list of documents ingested without one; 0 is the list nobody is on.';
COMMENT ON COLUMN sift.tenants.model_id IS 'The active embedding model; NULL until one is used.';
COMMENT ON COLUMN sift.tenants.token_model_id IS 'The model of late interaction that searches take; NULL until there are token vectors of one.';
COMMENT ON COLUMN sift.tenants.keep_history IS 'Whether superseded and deleted versions are kept, for searches of the past.';
COMMENT ON COLUMN sift.tenants.history_since IS 'Since when history is complete: when keep_history was switched on again; NULL where it was never off.';
COMMENT ON COLUMN sift.tenants.remote_classifications IS 'Classifications of documents whose text may be sent to a remote embedder; NULL allows all, and a document without a classification is allowed only then.';
COMMENT ON COLUMN sift.tenants.remote_retained IS 'Whether the text of documents with a retain_until may be sent to a remote embedder.';
COMMENT ON COLUMN sift.tenants.statistics IS 'Whose N, df and avgdl score a search: tenant, or visible: those of the chunks that the caller may see.';
COMMENT ON COLUMN sift.tenants.min_chunk_tokens IS 'Chunks with fewer tokens, those of the title not counted, are not ranked, tables, figures and claims excepted; 1: there is no such limit.';
COMMENT ON COLUMN sift.tenants.title_weight IS 'What an occurrence of a term in the title counts as; 1 is like any other.';
COMMENT ON COLUMN sift.tenants.abstract_weight IS 'What an occurrence of a term in a chunk of kind abstract counts as; 1 is like any other.';
COMMENT ON COLUMN sift.tenants.strip_questions IS 'Whether questions are searched for without their interrogatives and auxiliaries.';
COMMENT ON COLUMN sift.tenants.expand IS 'Whether the words that an acronym of the vocabulary stands for are searched for too.';
COMMENT ON COLUMN sift.tenants.has_claims IS 'Whether a claim was ever stored: where none was, searches need not look for any.';
COMMENT ON COLUMN sift.tenants.has_contexts IS 'Whether a chunk with a context was ever stored: where none was, searches need not look for any.';
COMMENT ON COLUMN sift.tenants.chunker IS 'What cuts documents that are ingested, as name or name:parameter=number,…; NULL: structure.';
COMMENT ON COLUMN sift.tenants.context_prefix IS 'Whether title and section are indexed and embedded with every chunk of what is ingested.';
REVOKE ALL ON TABLE sift.tenants FROM PUBLIC;
ALTER TABLE sift.tenants ENABLE ROW LEVEL SECURITY;
