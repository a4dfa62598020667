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
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_document  record;
    v_settings  record;
    v_others    bigint[] := '{}';
BEGIN
    SELECT d.document_id, d.key, d.title, d.source_uri, g.text_id, g.shingles, g.bands INTO v_document
    FROM sift.documents AS d
    CROSS JOIN LATERAL (
        SELECT s.text_id, s.shingles, s.bands FROM sift.document_signatures AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = d.document_id OFFSET 0) AS g
    WHERE d.tenant_id = v_tenant_id AND d.key = _near_duplicates.key AND d.access_list_id = ANY (v_lists);
    IF v_document.document_id IS NULL THEN
        RETURN;
    END IF;
    SELECT s.threshold, s.first_text_id INTO v_settings
    FROM sift.signature_settings AS s WHERE s.tenant_id = v_tenant_id AND s.crowded;
    IF FOUND THEN
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
    RETURN QUERY
    SELECT o.key, o.title, o.source_uri, o.observed_at, o.version,
           sift._relation(t.text_id = v_document.text_id, v_document.key, v_document.source_uri, v_document.title, o.key, o.source_uri, o.title),
           t.similarity
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
    CROSS JOIN LATERAL (
        SELECT e.* FROM sift.documents AS e
        WHERE e.tenant_id = v_tenant_id AND e.document_id = g.document_id OFFSET 0) AS o
    WHERE o.document_id <> v_document.document_id AND o.access_list_id = ANY (v_lists)
    ORDER BY t.similarity DESC, o.key COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift._near_duplicates(oid, bytea, text, text, text[]) IS 'The body of sift.near_duplicates, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._near_duplicates(oid, bytea, text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._near_duplicates(oid, bytea, text, text, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
