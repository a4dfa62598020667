-- Begins a search for near-duplicates, or goes on with one. Another threshold or scheme than last time makes all signatures anew.
CREATE OR REPLACE FUNCTION sift.start_signatures(tenant text, threshold double precision, scheme text)
RETURNS TABLE (documents bigint, pending bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET enable_nestloop = off
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    IF NOT coalesce(threshold > 0::double precision AND threshold <= 1::double precision, false) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('threshold must be above 0 and at most 1, not %s', coalesce(threshold::text, 'NULL')),
            HINT = 'It is the share of common runs of five words from which on two texts are near-duplicates; 0.8 is usual.';
    END IF;
    IF coalesce(scheme, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'scheme must say how signatures are made',
            HINT = 'Signatures are compared with those of the same scheme only.';
    END IF;
    INSERT INTO sift.signature_settings AS s (tenant_id, threshold, first_text_id, last_text_id, scheme, crowded)
    VALUES (v_tenant_id, start_signatures.threshold, 1, 0, start_signatures.scheme, false)
    ON CONFLICT ON CONSTRAINT signature_settings_pkey DO NOTHING;
    UPDATE sift.signature_settings AS s
    SET threshold = start_signatures.threshold, scheme = start_signatures.scheme, first_text_id = s.last_text_id + 1
    WHERE s.tenant_id = v_tenant_id AND (s.threshold <> start_signatures.threshold OR s.scheme <> start_signatures.scheme);
    RETURN QUERY
    SELECT count(*), count(*) FILTER (WHERE g.text_id IS NULL)
    FROM sift.documents AS d
    LEFT JOIN sift.document_signatures AS g
        ON g.tenant_id = v_tenant_id AND g.document_id = d.document_id
       AND g.text_id >= (SELECT s.first_text_id FROM sift.signature_settings AS s WHERE s.tenant_id = v_tenant_id)
    WHERE d.tenant_id = v_tenant_id;
END
$$;
COMMENT ON FUNCTION sift.start_signatures(text, double precision, text) IS
    'Sets from which similarity on texts are near-duplicates and how signatures are made; how many documents there are, and how many wait for a signature.';
REVOKE ALL ON FUNCTION sift.start_signatures(text, double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.start_signatures(text, double precision, text) TO sift_owner, sift_writer;
