-- The vocabulary of a tenant: what its acronyms stand for. Searches add the words of the expansions to a query that holds the acronym.
CREATE TABLE sift.acronyms (
    tenant_id integer NOT NULL,
    acronym   text NOT NULL COLLATE "C",
    expansion text NOT NULL COLLATE "C",
    CONSTRAINT acronyms_pkey PRIMARY KEY (tenant_id, acronym, expansion),
    CONSTRAINT acronyms_acronym_check CHECK (pg_catalog.length(acronym) BETWEEN 2 AND 100),
    CONSTRAINT acronyms_expansion_check CHECK (pg_catalog.length(expansion) BETWEEN 1 AND 500)
);
COMMENT ON TABLE sift.acronyms IS 'What the acronyms of a tenant stand for; used on the query side only.';
COMMENT ON COLUMN sift.acronyms.acronym IS 'As it is written in a query, capitals included.';
COMMENT ON COLUMN sift.acronyms.expansion IS 'The words it stands for; an acronym may have several expansions.';
REVOKE ALL ON TABLE sift.acronyms FROM PUBLIC;
ALTER TABLE sift.acronyms ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.acronyms ALTER COLUMN tenant_id SET STATISTICS 0;
