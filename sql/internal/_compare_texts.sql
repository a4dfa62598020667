-- Compares pairs of texts and keeps what came of it, from both sides. The caller holds the row of signature_settings.
CREATE OR REPLACE FUNCTION sift._compare_texts(tenant_id integer, threshold double precision, text_ids bigint[], other_ids bigint[],
                                               OUT compared integer, OUT resembling integer)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET enable_nestloop = off
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    WITH measured AS MATERIALIZED (
        SELECT m.text_id, m.other_id, CASE WHEN m.similarity >= _compare_texts.threshold THEN m.similarity END AS similarity
        FROM sift._similarities(v_tenant_id, _compare_texts.text_ids, _compare_texts.other_ids) AS m
    ),
    kept AS (
        INSERT INTO sift.similar_texts AS s (tenant_id, text_id, other_id, similarity)
        SELECT v_tenant_id, x.text_id, x.other_id, x.similarity
        FROM (SELECT m.text_id, m.other_id, m.similarity FROM measured AS m
              UNION ALL SELECT m.other_id, m.text_id, m.similarity FROM measured AS m) AS x
        ORDER BY x.text_id, x.other_id
        ON CONFLICT ON CONSTRAINT similar_texts_pkey DO UPDATE SET similarity = excluded.similarity
    )
    SELECT count(*), count(m.similarity) INTO _compare_texts.compared, _compare_texts.resembling FROM measured AS m;
END
$$;
COMMENT ON FUNCTION sift._compare_texts(integer, double precision, bigint[], bigint[]) IS 'Compares pairs of texts and keeps them in similar_texts: how many, and how many resemble each other.';
REVOKE ALL ON FUNCTION sift._compare_texts(integer, double precision, bigint[], bigint[]) FROM PUBLIC;
