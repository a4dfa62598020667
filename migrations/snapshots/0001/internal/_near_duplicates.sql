-- What sift.near_duplicates does once it is known who asks. Only pairs of visible documents are looked at; no cluster is, for two
-- documents may be in one because of a third that the caller does not see.
CREATE OR REPLACE FUNCTION sift._near_duplicates(caller oid, proof bytea, tenant text, key text, principals text[])
RETURNS TABLE (
    other_key   text,
    title       text,
    source_uri  text,
    observed_at timestamptz,
    version     integer,
    relation    text,
    similarity  double precision
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    -- Anchors of a text.
    v_number    CONSTANT integer := 8;
    -- Of the words of so many shingles, the rarest find what has them; of the chunks that do, so many are looked at.
    v_looked_at CONSTANT integer := 32;
    v_rarest    CONSTANT integer := 16;
    v_deepest   CONSTANT integer := 200;
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_document  record;
    v_settings  record;
    v_others    bigint[] := '{}';
    v_tokens    text[];
    v_anchors   text[];
    v_terms     text[];
    v_tenant    record;
    v_chunks    bigint[];
    v_wholes    bigint[] := '{}';
    v_parts     bigint[] := '{}';
BEGIN
    SELECT d.document_id, d.key, d.title, d.source_uri, g.text_id, g.shingles, g.bands, g.anchors INTO v_document
    FROM sift.documents AS d
    CROSS JOIN LATERAL (
        SELECT s.text_id, s.shingles, s.bands, s.anchors FROM sift.document_signatures AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = d.document_id OFFSET 0) AS g
    WHERE d.tenant_id = v_tenant_id AND d.key = _near_duplicates.key AND d.access_list_id = ANY (v_lists);
    IF v_document.document_id IS NULL THEN
        RETURN;
    END IF;
    SELECT s.threshold, s.first_text_id, s.crowded INTO v_settings FROM sift.signature_settings AS s WHERE s.tenant_id = v_tenant_id;
    IF v_settings.crowded THEN
        -- Where many share a band, not every pair was compared: those of visible documents are now.
        v_others := ARRAY(
            SELECT DISTINCT g.text_id
            FROM unnest(v_document.bands) AS u (band)
            CROSS JOIN LATERAL (
                SELECT b.document_id FROM sift.signature_bands AS b
                WHERE b.tenant_id = v_tenant_id AND b.band = u.band OFFSET 0) AS c
            CROSS JOIN LATERAL (
                SELECT s.text_id, s.shingles FROM sift.document_signatures AS s
                WHERE s.tenant_id = v_tenant_id AND s.document_id = c.document_id OFFSET 0) AS g
            CROSS JOIN LATERAL (
                SELECT d.access_list_id FROM sift.documents AS d
                WHERE d.tenant_id = v_tenant_id AND d.document_id = c.document_id OFFSET 0) AS a
            LEFT JOIN LATERAL (
                SELECT true AS found FROM sift.similar_texts AS s
                WHERE s.tenant_id = v_tenant_id AND s.text_id = v_document.text_id AND s.other_id = g.text_id OFFSET 0) AS k ON true
            WHERE a.access_list_id = ANY (v_lists) AND k.found IS NULL AND g.text_id <> v_document.text_id
              AND (g.text_id >= v_settings.first_text_id) = (v_document.text_id >= v_settings.first_text_id)
              AND least(g.shingles, v_document.shingles)::double precision
                  >= v_settings.threshold * greatest(g.shingles, v_document.shingles)::double precision);
    END IF;
    -- What stands whole in another is no near-duplicate of it, and shares no band with it as a rule. Its anchors do stand there: what
    -- contains this text is found by its rarest words and then by these, what is contained in it by theirs. Counted is then again by the two
    -- texts alone.
    IF cardinality(v_document.anchors) > 0 THEN
        v_tokens := sift._document_tokens(v_tenant_id, v_document.document_id);
        v_anchors := ARRAY(SELECT s.shingle FROM sift._shingles(v_tokens) AS s (shingle) ORDER BY sift._anchor(s.shingle) LIMIT v_number);
        SELECT t.k1, t.b, t.statistics INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
        IF v_tenant.statistics = 'visible' THEN
            -- How rare a word is in the tenant, such callers are not told.
            v_terms := ARRAY(SELECT DISTINCT w.term COLLATE "C" FROM unnest(v_anchors) AS u (shingle)
                             CROSS JOIN LATERAL unnest(string_to_array(u.shingle, ' ')) AS w (term) ORDER BY 1);
            v_chunks := ARRAY(SELECT l.chunk_id FROM sift._lexical_visible(
                v_tenant_id, v_terms, v_lists, NULL, NULL, v_deepest, v_tenant.k1, v_tenant.b, NULL) AS l);
        ELSE
            v_terms := ARRAY(
                SELECT s.term
                FROM sift.term_statistics(_near_duplicates.tenant, ARRAY(
                    SELECT DISTINCT w.term COLLATE "C"
                    FROM (SELECT x.shingle FROM sift._shingles(v_tokens) AS x (shingle) ORDER BY sift._anchor(x.shingle) LIMIT v_looked_at) AS u
                    CROSS JOIN LATERAL unnest(string_to_array(u.shingle, ' ')) AS w (term))) AS s
                ORDER BY s.df, s.term COLLATE "C"
                LIMIT v_rarest);
            v_chunks := ARRAY(SELECT l.chunk_id FROM sift._lexical_leg(
                v_tenant_id, v_terms, v_lists, NULL, NULL, v_deepest, v_tenant.k1, v_tenant.b) AS l);
        END IF;
        -- Few documents have an anchor in one of these chunks; the texts of those alone are read.
        v_wholes := ARRAY(
            SELECT DISTINCT c.document_id
            FROM unnest(v_chunks) AS u (chunk_id)
            CROSS JOIN LATERAL (
                SELECT s.document_id, ' ' || s.tokens || ' ' AS words FROM sift.chunks AS s
                WHERE s.tenant_id = v_tenant_id AND s.chunk_id = u.chunk_id OFFSET 0) AS c
            CROSS JOIN LATERAL (
                SELECT s.text_id, s.shingles FROM sift.document_signatures AS s
                WHERE s.tenant_id = v_tenant_id AND s.document_id = c.document_id OFFSET 0) AS g
            WHERE g.text_id <> v_document.text_id AND g.shingles >= v_document.shingles
              AND EXISTS (SELECT FROM unnest(v_anchors) AS a (shingle) WHERE strpos(c.words, ' ' || a.shingle || ' ') > 0));
        v_parts := ARRAY(
            SELECT c.document_id
            FROM (
                SELECT a.document_id
                FROM (SELECT DISTINCT sift._anchor(s.shingle) AS anchor FROM sift._shingles(v_tokens) AS s (shingle)) AS h
                CROSS JOIN LATERAL (
                    SELECT x.document_id FROM sift.signature_anchors AS x
                    WHERE x.tenant_id = v_tenant_id AND x.anchor = h.anchor OFFSET 0) AS a
                GROUP BY a.document_id
                HAVING count(*) >= 2
            ) AS c
            CROSS JOIN LATERAL (
                SELECT s.text_id, s.shingles FROM sift.document_signatures AS s
                WHERE s.tenant_id = v_tenant_id AND s.document_id = c.document_id OFFSET 0) AS g
            CROSS JOIN LATERAL (
                SELECT d.access_list_id FROM sift.documents AS d
                WHERE d.tenant_id = v_tenant_id AND d.document_id = c.document_id OFFSET 0) AS d
            WHERE d.access_list_id = ANY (v_lists) AND g.text_id <> v_document.text_id AND g.shingles < v_document.shingles);
    END IF;
    RETURN QUERY
    WITH resembling AS MATERIALIZED (
        SELECT g.document_id, t.text_id = v_document.text_id AS same, t.similarity
        FROM (SELECT v_document.text_id AS text_id, 1::double precision AS similarity
              UNION ALL
              SELECT s.other_id, s.similarity FROM sift.similar_texts AS s
              WHERE s.tenant_id = v_tenant_id AND s.text_id = v_document.text_id AND s.similarity IS NOT NULL
              UNION ALL
              SELECT m.other_id, m.similarity
              FROM sift._similarities(v_tenant_id, array_fill(v_document.text_id, ARRAY[cardinality(v_others)]), v_others) AS m
              WHERE m.similarity >= v_settings.threshold) AS t
        CROSS JOIN LATERAL (
            SELECT s.document_id FROM sift.document_signatures AS s
            WHERE s.tenant_id = v_tenant_id AND s.text_id = t.text_id OFFSET 0) AS g
    ),
    containing AS MATERIALIZED (
        SELECT o.second_id AS document_id, o.first_size <= o.second_size AS whole,
               o.common::double precision / least(o.first_size, o.second_size)::double precision AS share,
               o.common::double precision / (o.first_size + o.second_size - o.common)::double precision AS similarity
        FROM sift._overlaps(v_tenant_id, array_fill(v_document.document_id, ARRAY[cardinality(v_wholes || v_parts)]), v_wholes || v_parts) AS o
        WHERE NOT EXISTS (SELECT FROM resembling AS r WHERE r.document_id = o.second_id)
    )
    SELECT o.key, o.title, o.source_uri, o.observed_at, o.version,
           coalesce(n.relation, sift._relation(n.same, v_document.key, v_document.source_uri, v_document.title, o.key, o.source_uri, o.title)),
           n.similarity
    FROM (SELECT r.document_id, r.same, NULL::text AS relation, r.similarity FROM resembling AS r
          UNION ALL
          SELECT c.document_id, false, CASE WHEN c.similarity >= v_settings.threshold THEN NULL WHEN c.whole THEN 'contains' ELSE 'contained' END,
                 CASE WHEN c.similarity >= v_settings.threshold THEN c.similarity ELSE c.share END
          FROM containing AS c
          -- Two texts of one size that are just near-duplicates have so much of each in common.
          WHERE c.share >= 2::double precision * v_settings.threshold / (1::double precision + v_settings.threshold)) AS n
    CROSS JOIN LATERAL (
        SELECT e.* FROM sift.documents AS e
        WHERE e.tenant_id = v_tenant_id AND e.document_id = n.document_id OFFSET 0) AS o
    WHERE o.document_id <> v_document.document_id AND o.access_list_id = ANY (v_lists)
    ORDER BY n.similarity DESC, o.key COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift._near_duplicates(oid, bytea, text, text, text[]) IS 'The body of sift.near_duplicates, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._near_duplicates(oid, bytea, text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._near_duplicates(oid, bytea, text, text, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
