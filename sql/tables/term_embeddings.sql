-- What the vector of a query is approximated by: one vector per term of the corpus and model (docs/query-vectors.md). A vector is a function
-- of the term's form and of the model alone, scaled to length one; how much a term weighs is computed when it is searched for.
CREATE TABLE sift.term_embeddings (
    tenant_id integer NOT NULL,
    term      text NOT NULL COLLATE "C",
    model_id  integer NOT NULL,
    embedding halfvec NOT NULL,
    -- The term before the model: forgetting a term looks for it under every model.
    CONSTRAINT term_embeddings_pkey PRIMARY KEY (tenant_id, term, model_id)
);
COMMENT ON TABLE sift.term_embeddings IS 'One vector per term and model, of which the vectors of queries are approximated.';
REVOKE ALL ON TABLE sift.term_embeddings FROM PUBLIC;
ALTER TABLE sift.term_embeddings ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.term_embeddings ALTER COLUMN tenant_id SET STATISTICS 0;
