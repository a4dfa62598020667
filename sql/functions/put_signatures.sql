-- Stores signatures of documents, and compares each text that is new with all that share a band with it.
--
-- signatures is a JSON array of {document_id, version, token_hash (hexadecimal, or null), shingles, bands []}. A document that is of
-- another version by now, or gone, is left out. Bands only propose pairs; whether two texts resemble each other is counted.
CREATE OR REPLACE FUNCTION sift.put_signatures(tenant text, scheme text, signatures jsonb)
RETURNS TABLE (stored integer, compared integer, resembling integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_settings  record;
    v_documents bigint[];
    v_hashes    jsonb;
    v_stored    integer;
    v_compared  integer;
    v_similar   integer;
    v_pairs     jsonb;
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
        SELECT n.document_id, n.shingles, lower(n.token_hash) AS token_hash, n.bands,
               (v_hashes ->> coalesce(lower(n.token_hash), n.document_id::text))::bigint AS text_id
        FROM jsonb_to_recordset(signatures) AS n (document_id bigint, shingles integer, token_hash text, bands bigint[])
        WHERE n.document_id = ANY (v_documents)
    ),
    inserted AS (
        INSERT INTO sift.document_signatures AS g (tenant_id, document_id, text_id, shingles, token_hash, bands)
        SELECT v_tenant_id, n.document_id, n.text_id, coalesce(n.shingles, 0), decode(n.token_hash, 'hex'), n.bands FROM given AS n
        RETURNING g.document_id
    ),
    banded AS (
        INSERT INTO sift.signature_bands AS b (tenant_id, band, document_id)
        SELECT DISTINCT v_tenant_id, u.band, n.document_id FROM given AS n CROSS JOIN LATERAL unnest(n.bands) AS u (band)
    )
    SELECT count(*) INTO v_stored FROM inserted AS i;

    -- Candidates: for texts that are new, one document of each text they share a band with.
    SELECT jsonb_agg(jsonb_build_array(p.a, p.b, p.document_a, p.document_b)) INTO v_pairs
    FROM (
        SELECT least(n.text_id, o.text_id) AS a, greatest(n.text_id, o.text_id) AS b,
               min(CASE WHEN n.text_id < o.text_id THEN n.document_id ELSE o.document_id END) AS document_a,
               min(CASE WHEN n.text_id < o.text_id THEN o.document_id ELSE n.document_id END) AS document_b
        FROM (
            SELECT DISTINCT ON (g.text_id) g.text_id, g.document_id, g.shingles, g.bands
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
                WHERE s.tenant_id = v_tenant_id AND s.band = u.band OFFSET 0) AS b
        ) AS c
        CROSS JOIN LATERAL (
            SELECT s.document_id, s.text_id, s.shingles FROM sift.document_signatures AS s
            WHERE s.tenant_id = v_tenant_id AND s.document_id = c.document_id OFFSET 0) AS o
        WHERE o.text_id <> n.text_id AND o.text_id >= v_settings.first_text_id
          -- No more can be common than the smaller set has.
          AND least(n.shingles, o.shingles)::double precision >= v_settings.threshold * greatest(n.shingles, o.shingles)::double precision
        GROUP BY 1, 2
    ) AS p;

    WITH pairs AS MATERIALIZED (
        SELECT (p.value ->> 0)::bigint AS a, (p.value ->> 1)::bigint AS b,
               (p.value ->> 2)::bigint AS document_a, (p.value ->> 3)::bigint AS document_b
        FROM jsonb_array_elements(v_pairs) AS p (value)
    ),
    shingles AS MATERIALIZED (
        SELECT t.text_id, s.shingle
        FROM (SELECT DISTINCT p.a AS text_id, p.document_a AS document_id FROM pairs AS p
              UNION SELECT DISTINCT p.b, p.document_b FROM pairs AS p) AS d
        -- Once per document: an inlined function would ask for its argument once per token.
        CROSS JOIN LATERAL (SELECT d.text_id, sift._document_tokens(v_tenant_id, d.document_id) AS tokens OFFSET 0) AS t
        CROSS JOIN LATERAL sift._shingles(t.tokens) AS s (shingle)
    ),
    -- Several documents of one text may have been named; their shingles are the same. Texts and shingles get numbers, and one number
    -- of both: joined by a single key, whatever the planner expects, no pair is compared shingle by shingle.
    sets AS MATERIALIZED (
        SELECT DISTINCT n.text_id, n.text_number, n.shingle_number, (n.text_number << 32) + n.shingle_number AS key
        FROM (SELECT s.text_id, dense_rank() OVER (ORDER BY s.text_id) AS text_number,
                     dense_rank() OVER (ORDER BY s.shingle COLLATE "C") AS shingle_number
              FROM shingles AS s) AS n
    ),
    texts AS MATERIALIZED (SELECT DISTINCT s.text_id, s.text_number FROM sets AS s),
    sizes AS MATERIALIZED (SELECT s.text_id, count(*) AS size FROM sets AS s GROUP BY s.text_id),
    common AS MATERIALIZED (
        SELECT p.a, p.b, count(*) AS size
        FROM (SELECT p.a, p.b, t.text_number FROM pairs AS p JOIN texts AS t ON t.text_id = p.b OFFSET 0) AS p
        JOIN sets AS x ON x.text_id = p.a
        JOIN sets AS y ON y.key = (p.text_number << 32) + x.shingle_number
        GROUP BY p.a, p.b
    ),
    measured AS MATERIALIZED (
        SELECT c.a, c.b, c.size::double precision / (x.size + y.size - c.size)::double precision AS similarity
        FROM common AS c
        JOIN sizes AS x ON x.text_id = c.a
        JOIN sizes AS y ON y.text_id = c.b
    ),
    kept AS (
        INSERT INTO sift.similar_texts AS s (tenant_id, text_id, other_id, similarity)
        SELECT v_tenant_id, x.text_id, x.other_id, x.similarity
        FROM (SELECT s.a AS text_id, s.b AS other_id, s.similarity FROM measured AS s
              UNION ALL SELECT s.b, s.a, s.similarity FROM measured AS s) AS x
        WHERE x.similarity >= v_settings.threshold
        ON CONFLICT ON CONSTRAINT similar_texts_pkey DO UPDATE SET similarity = excluded.similarity
        RETURNING s.text_id
    )
    SELECT (SELECT count(*) FROM pairs AS p), count(*) / 2 INTO v_compared, v_similar FROM kept AS k;
    RETURN QUERY SELECT v_stored, v_compared, v_similar;
END
$$;
COMMENT ON FUNCTION sift.put_signatures(text, text, jsonb) IS
    'Stores signatures of documents (JSON array of {document_id, version, token_hash, shingles, bands}) and compares new texts with those they share a band with: numbers of signatures stored, pairs compared, pairs that resemble each other.';
REVOKE ALL ON FUNCTION sift.put_signatures(text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_signatures(text, text, jsonb) TO sift_owner, sift_writer;
