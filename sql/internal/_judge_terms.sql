-- What sift.query_terms does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._judge_terms(
    caller oid,
    proof  bytea,
    tenant text,
    query text
)
RETURNS TABLE (term text, kept boolean, reason text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_analyzer  text;
    v_words     text[];
    v_stems     text[];
BEGIN
    SELECT t.analyzer INTO v_analyzer FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    v_words := CASE WHEN v_analyzer = 'identifiers' THEN sift._identifier_words(query, true) ELSE sift._words(query, true) END;
    v_words := ARRAY(
        SELECT CASE WHEN octet_length(w.word) > 256 THEN sift._cut_token(w.word) || '…' ELSE w.word END
        FROM unnest(v_words) WITH ORDINALITY AS w(word, position)
        WHERE w.word <> ''
        ORDER BY w.position
    );
    v_stems := ARRAY(SELECT rtrim(w.word, '…') FROM unnest(v_words) WITH ORDINALITY AS w(word, position) ORDER BY w.position);
    IF v_analyzer = 'english' THEN
        v_stems := sift._stem_english(v_stems);
    END IF;
    RETURN QUERY
    WITH judged AS (
        SELECT w.word, w.stem, w.position,
            CASE
                WHEN left(w.word, 1) = '.' THEN 'part of a number'
                WHEN w.word COLLATE "C" = ANY (string_to_array(sift._analyzer_table('stopwords'), ' ')) THEN 'stopword'
                WHEN length(w.word) < 2 AND w.word COLLATE "C" !~ ('^[' || sift._analyzer_table('unspaced') || ']') THEN 'too short'
            END AS reason
        FROM unnest(v_words, v_stems) WITH ORDINALITY AS w(word, stem, position)
    ), numbered AS (
        SELECT j.word, j.stem, j.position, j.reason, row_number() OVER (PARTITION BY j.stem, j.reason IS NULL ORDER BY j.position) AS turn
        FROM judged AS j
    )
    SELECT
        CASE WHEN n.reason IS NULL THEN n.stem ELSE ltrim(n.word, '.') END,
        n.reason IS NULL AND n.turn = 1,
        CASE
            WHEN n.reason IS NOT NULL THEN n.reason
            WHEN n.turn > 1 THEN 'repeated'
            WHEN right(n.word, 1) = '…' THEN 'cut at 256 bytes'
        END
    FROM numbered AS n
    ORDER BY n.position;
END
$$;
COMMENT ON FUNCTION sift._judge_terms(oid, bytea, text, text) IS 'The body of sift.query_terms, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._judge_terms(oid, bytea, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._judge_terms(oid, bytea, text, text) TO sift_owner, sift_writer, sift_app, sift_reader;
