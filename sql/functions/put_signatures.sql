-- Stores signatures of documents, and compares each text that is new with those that share a band with it, of many the first.
--
-- signatures is a JSON array of {document_id, version, token_hash (hexadecimal, or null), shingles, bands [], anchors []}. A document that is of
-- another version by now, or gone, is left out. Bands only propose pairs; whether two texts resemble each other is counted.
CREATE OR REPLACE FUNCTION sift.put_signatures(tenant text, scheme text, signatures jsonb)
RETURNS TABLE (stored integer, compared integer, resembling integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    -- Of the documents that share a band, so many are compared with whatever else has it.
    v_members   CONSTANT integer := 32;
    v_tenant_id integer := sift._tenant_id(tenant);
    v_settings  record;
    v_documents bigint[];
    v_hashes    jsonb;
    v_stored    integer;
    v_compared  integer;
    v_similar   integer;
    v_texts     bigint[];
    v_others    bigint[];
BEGIN
    IF signatures IS NULL OR jsonb_typeof(signatures) <> 'array'
       OR jsonb_path_exists(signatures, '$[*] ? (@.type() != "object" || !(exists(@.bands)) || @.bands.type() != "array" || !(exists(@.document_id)) || !(exists(@.version)))') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'signatures must be a JSON array of objects with document_id, version, token_hash, shingles and bands',
            HINT = 'sift.documents_without_signature(tenant) gives what they are made of.';
    END IF;
    SELECT s.* INTO v_settings FROM sift.signature_settings AS s WHERE s.tenant_id = v_tenant_id FOR UPDATE;
    IF v_settings.scheme IS DISTINCT FROM scheme THEN
        RAISE EXCEPTION USING ERRCODE = 'PS011',
            MESSAGE = format('signatures of this tenant are made by %s, not by %s', coalesce(to_json(left(v_settings.scheme, 100))::text, 'no scheme yet'),
                             coalesce(to_json(left(scheme, 100))::text, 'NULL')),
            HINT = 'Begin with sift.start_signatures(tenant, threshold, scheme).';
    END IF;
    -- In the order of keys, as everybody locks who writes what hangs on several documents.
    v_documents := ARRAY(
        SELECT l.document_id
        FROM (SELECT d.document_id, d.version FROM sift.documents AS d
              WHERE d.tenant_id = v_tenant_id
                AND d.document_id = ANY (ARRAY(SELECT (n.value ->> 'document_id')::bigint FROM jsonb_array_elements(signatures) AS n (value)))
              ORDER BY d.key COLLATE "C"
              FOR SHARE) AS l
        WHERE (l.document_id, l.version) IN (
            SELECT (n.value ->> 'document_id')::bigint, (n.value ->> 'version')::integer FROM jsonb_array_elements(signatures) AS n (value)));
    PERFORM sift._remove_signatures(v_tenant_id, v_documents);

    -- Numbers of texts: that of the same tokens where there is one, else the next.
    SELECT coalesce(jsonb_object_agg(h.hash, coalesce(h.text_id, v_settings.last_text_id + h.number)), '{}'::jsonb),
           v_settings.last_text_id + count(*)
    INTO v_hashes, v_settings.last_text_id
    FROM (
        SELECT x.hash, k.text_id, row_number() OVER (ORDER BY x.document_id) AS number
        FROM (
            SELECT coalesce(lower(n.value ->> 'token_hash'), n.value ->> 'document_id') AS hash,
                   min((n.value ->> 'document_id')::bigint) AS document_id
            FROM jsonb_array_elements(signatures) AS n (value)
            WHERE (n.value ->> 'document_id')::bigint = ANY (v_documents)
            GROUP BY 1
        ) AS x
        LEFT JOIN LATERAL (
            SELECT g.text_id FROM sift.document_signatures AS g
            WHERE g.tenant_id = v_tenant_id AND length(x.hash) = 64
              AND g.token_hash = CASE WHEN length(x.hash) = 64 THEN decode(x.hash, 'hex') END
              AND g.text_id >= v_settings.first_text_id
            LIMIT 1) AS k ON true
    ) AS h;
    UPDATE sift.signature_settings AS s SET last_text_id = v_settings.last_text_id WHERE s.tenant_id = v_tenant_id;
    WITH given AS MATERIALIZED (
        SELECT n.document_id, n.shingles, lower(n.token_hash) AS token_hash, n.bands, coalesce(n.anchors, '{}'::bigint[]) AS anchors,
               (v_hashes ->> coalesce(lower(n.token_hash), n.document_id::text))::bigint AS text_id
        FROM jsonb_to_recordset(signatures) AS n (document_id bigint, shingles integer, token_hash text, bands bigint[], anchors bigint[])
        WHERE n.document_id = ANY (v_documents)
    ),
    inserted AS (
        INSERT INTO sift.document_signatures AS g (tenant_id, document_id, text_id, shingles, token_hash, bands, anchors)
        SELECT v_tenant_id, n.document_id, n.text_id, coalesce(n.shingles, 0), decode(n.token_hash, 'hex'), n.bands, n.anchors FROM given AS n
        RETURNING g.document_id
    ),
    banded AS (
        INSERT INTO sift.signature_bands AS b (tenant_id, band, document_id)
        SELECT DISTINCT v_tenant_id, u.band, n.document_id FROM given AS n CROSS JOIN LATERAL unnest(n.bands) AS u (band)
    ),
    anchored AS (
        INSERT INTO sift.signature_anchors AS a (tenant_id, anchor, document_id)
        SELECT DISTINCT v_tenant_id, u.anchor, n.document_id FROM given AS n CROSS JOIN LATERAL unnest(n.anchors) AS u (anchor)
    )
    SELECT count(*) INTO v_stored FROM inserted AS i;

    -- Candidates: for texts that are new, one document of each text they share a band with; of a band that very many share, of the first
    -- of these. The rest is compared where it matters: by sift.cluster_documents, and by who asks for a pair.
    SELECT array_agg(p.a), array_agg(p.b) INTO v_texts, v_others
    FROM (
        SELECT least(n.text_id, o.text_id) AS a, greatest(n.text_id, o.text_id) AS b
        FROM (
            SELECT DISTINCT ON (g.text_id) g.text_id, g.shingles, g.bands
            FROM unnest(v_documents) AS i (id)
            CROSS JOIN LATERAL (
                SELECT s.* FROM sift.document_signatures AS s
                WHERE s.tenant_id = v_tenant_id AND s.document_id = i.id OFFSET 0) AS g
            LEFT JOIN LATERAL (
                SELECT true AS found FROM sift.document_signatures AS e
                WHERE e.tenant_id = v_tenant_id AND e.text_id = g.text_id AND e.document_id <> ALL (v_documents)
                LIMIT 1) AS k ON true
            WHERE k.found IS NULL
            ORDER BY g.text_id, g.document_id
        ) AS n
        CROSS JOIN LATERAL (
            SELECT DISTINCT b.document_id
            FROM unnest(n.bands) AS u (band)
            CROSS JOIN LATERAL (
                SELECT s.document_id FROM sift.signature_bands AS s
                WHERE s.tenant_id = v_tenant_id AND s.band = u.band
                ORDER BY s.document_id LIMIT v_members) AS b
        ) AS c
        CROSS JOIN LATERAL (
            SELECT s.text_id, s.shingles FROM sift.document_signatures AS s
            WHERE s.tenant_id = v_tenant_id AND s.document_id = c.document_id OFFSET 0) AS o
        WHERE o.text_id <> n.text_id AND o.text_id >= v_settings.first_text_id
          -- No more can be common than the smaller set has.
          AND least(n.shingles, o.shingles)::double precision >= v_settings.threshold * greatest(n.shingles, o.shingles)::double precision
        GROUP BY 1, 2
    ) AS p;
    UPDATE sift.signature_settings AS s SET crowded = true
    WHERE s.tenant_id = v_tenant_id AND NOT s.crowded AND EXISTS (
        SELECT FROM unnest(v_documents) AS i (id)
        CROSS JOIN LATERAL (
            SELECT d.bands FROM sift.document_signatures AS d
            WHERE d.tenant_id = v_tenant_id AND d.document_id = i.id OFFSET 0) AS g
        CROSS JOIN LATERAL unnest(g.bands) AS u (band)
        CROSS JOIN LATERAL (
            SELECT b.document_id FROM sift.signature_bands AS b
            WHERE b.tenant_id = v_tenant_id AND b.band = u.band
            ORDER BY b.document_id OFFSET v_members LIMIT 1) AS m);
    SELECT c.compared, c.resembling INTO v_compared, v_similar
    FROM sift._compare_texts(v_tenant_id, v_settings.threshold, v_texts, v_others) AS c;
    RETURN QUERY SELECT v_stored, v_compared, v_similar;
END
$$;
COMMENT ON FUNCTION sift.put_signatures(text, text, jsonb) IS
    'Stores signatures of documents (JSON array of {document_id, version, token_hash, shingles, bands, anchors}) and compares new texts with those they share a band with, of many with the first: numbers of signatures stored, pairs compared, pairs that resemble each other.';
REVOKE ALL ON FUNCTION sift.put_signatures(text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_signatures(text, text, jsonb) TO sift_owner, sift_writer;
