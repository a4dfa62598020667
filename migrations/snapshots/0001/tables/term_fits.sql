-- How far the vectors of terms go, per model.
CREATE TABLE sift.term_fits (
    tenant_id integer NOT NULL,
    model_id  integer NOT NULL,
    fitted_to bigint NOT NULL,
    forms     text NOT NULL,
    fitted_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
    CONSTRAINT term_fits_pkey PRIMARY KEY (tenant_id, model_id),
    CONSTRAINT term_fits_forms_check CHECK (forms IN ('frequent', 'neutral'))
);
COMMENT ON TABLE sift.term_fits IS 'Up to which chunk the terms of a tenant have vectors of a model, and of which form of the word.';
COMMENT ON COLUMN sift.term_fits.fitted_to IS 'The last chunk whose terms were looked at. A term counts for those who see a chunk up to it that holds the term.';
COMMENT ON COLUMN sift.term_fits.forms IS 'frequent: what is embedded for a term is the form of it that is most frequent in the corpus; neutral: one that the corpus has no say in.';
REVOKE ALL ON TABLE sift.term_fits FROM PUBLIC;
ALTER TABLE sift.term_fits ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.term_fits ALTER COLUMN tenant_id SET STATISTICS 0;
