-- The key of the proof by which the internal functions know whom they act for (sift._caller, sift._check_caller). Not tenant data: one row,
-- two random blocks of 64 bytes made when the schema is installed. Readable by the owner of the schema alone; without the row nobody is let in.
CREATE TABLE sift.secrets (
    only_one  boolean NOT NULL DEFAULT true,
    inner_key bytea NOT NULL,
    outer_key bytea NOT NULL,
    CONSTRAINT secrets_pkey PRIMARY KEY (only_one),
    CONSTRAINT secrets_only_one_check CHECK (only_one),
    CONSTRAINT secrets_length_check CHECK (pg_catalog.length(inner_key) = 64 AND pg_catalog.length(outer_key) = 64)
);
COMMENT ON TABLE sift.secrets IS 'The key of the proof of who calls; a restored dump takes its own with sift.renew_secret().';
REVOKE ALL ON TABLE sift.secrets FROM PUBLIC;
ALTER TABLE sift.secrets ENABLE ROW LEVEL SECURITY;
INSERT INTO sift.secrets (inner_key, outer_key)
SELECT pg_catalog.sha512(r.a OPERATOR(pg_catalog.||) r.b OPERATOR(pg_catalog.||) r.c),
       pg_catalog.sha512(r.d OPERATOR(pg_catalog.||) r.e OPERATOR(pg_catalog.||) r.f)
FROM (SELECT pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) AS a, pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) AS b,
             pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) AS c, pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) AS d,
             pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) AS e, pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) AS f) AS r;
