-- What sift.distinct_sources does once it is known who asks. The longest text comes first: what resembles it, or stands whole in it, counts
-- with it; of the rest likewise. So the number depends neither on the order of the keys nor on any document but these.
CREATE OR REPLACE FUNCTION sift._distinct_sources(caller oid, proof bytea, tenant text, keys text[], principals text[])
RETURNS TABLE (
    key         text,
    source      integer,
    counts_with text,
    relation    text,
    similarity  double precision
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_most      CONSTANT integer := 1000;
    -- Shorter texts are copies or nothing, as in the signatures.
    v_tokens    CONSTANT integer := 20;
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_threshold double precision := coalesce(
        (SELECT s.threshold FROM sift.signature_settings AS s WHERE s.tenant_id = v_tenant_id), 0.8::double precision);
    v_ids       bigint[];
    v_leaders   bigint[];
    v_shares    double precision[];
    v_contained boolean[];
    v_same      boolean[];
    v_pair      record;
BEGIN
    IF cardinality(keys) > v_most THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('at most %s documents are compared, not %s', v_most, cardinality(keys)),
            HINT = 'Pass the keys of one page of hits.';
    END IF;
    v_ids := ARRAY(
        SELECT d.document_id
        FROM (SELECT u.key, min(u.position) AS position FROM unnest(keys) WITH ORDINALITY AS u (key, position) GROUP BY u.key) AS n
        CROSS JOIN LATERAL (
            SELECT e.document_id FROM sift.documents AS e
            WHERE e.tenant_id = v_tenant_id AND e.key = n.key AND e.access_list_id = ANY (v_lists) OFFSET 0) AS d
        ORDER BY n.position);
    v_leaders := array_fill(0::bigint, ARRAY[cardinality(v_ids)]);
    v_shares := array_fill(NULL::double precision, ARRAY[cardinality(v_ids)]);
    v_contained := array_fill(false, ARRAY[cardinality(v_ids)]);
    v_same := v_contained;
    FOR v_pair IN
        WITH given AS MATERIALIZED (SELECT u.id, u.position FROM unnest(v_ids) WITH ORDINALITY AS u (id, position)),
        pairs AS MATERIALIZED (SELECT x.id AS a, y.id AS b FROM given AS x JOIN given AS y ON x.id < y.id),
        related AS MATERIALIZED (
            SELECT CASE WHEN o.second_size > o.first_size THEN o.second_id ELSE o.first_id END AS whole,
                   CASE WHEN o.second_size > o.first_size THEN o.first_id ELSE o.second_id END AS part,
                   greatest(o.first_size, o.second_size) AS size,
                   CASE WHEN o.same THEN 1::double precision
                        ELSE o.common::double precision / (o.first_size + o.second_size - o.common)::double precision END AS jaccard,
                   o.common::double precision / least(o.first_size, o.second_size)::double precision AS contained, o.same, o.tokens
            FROM sift._overlaps(v_tenant_id, ARRAY(SELECT p.a FROM pairs AS p), ARRAY(SELECT p.b FROM pairs AS p)) AS o
        )
        SELECT w.position AS first, p.position AS second, r.same, r.jaccard < v_threshold AS contained,
               CASE WHEN r.jaccard < v_threshold THEN r.contained ELSE r.jaccard END AS share
        FROM related AS r
        JOIN given AS w ON w.id = r.whole
        JOIN given AS p ON p.id = r.part
        -- Two texts of one size that are just near-duplicates have so much of each in common.
        WHERE r.same OR (r.tokens >= v_tokens AND (r.jaccard >= v_threshold
              OR r.contained >= 2::double precision * v_threshold / (1::double precision + v_threshold)))
        ORDER BY r.size DESC, r.whole, r.part
    LOOP
        -- Pairs come in the order of their whole: what may take it away has been looked at.
        IF v_leaders[v_pair.first] = 0 AND v_leaders[v_pair.second] = 0 THEN
            v_leaders[v_pair.second] := v_pair.first;
            v_shares[v_pair.second] := v_pair.share;
            v_contained[v_pair.second] := v_pair.contained;
            v_same[v_pair.second] := v_pair.same;
        END IF;
    END LOOP;
    RETURN QUERY
    WITH placed AS MATERIALIZED (
        SELECT u.position, d.key, d.source_uri, d.title, u.share, u.contained, u.same,
               CASE WHEN u.leader = 0 THEN u.position ELSE u.leader END AS leader
        FROM unnest(v_ids, v_leaders, v_shares, v_contained, v_same) WITH ORDINALITY AS u (id, leader, share, contained, same, position)
        CROSS JOIN LATERAL (
            SELECT e.key, e.source_uri, e.title FROM sift.documents AS e
            WHERE e.tenant_id = v_tenant_id AND e.document_id = u.id OFFSET 0) AS d
    )
    SELECT p.key, f.source, CASE WHEN p.position <> p.leader THEN l.key END,
           CASE WHEN p.position = p.leader THEN NULL WHEN p.contained THEN 'contained'
                ELSE sift._relation(p.same, l.key, l.source_uri, l.title, p.key, p.source_uri, p.title) END,
           p.share
    FROM placed AS p
    JOIN (SELECT g.leader, row_number() OVER (ORDER BY min(g.position))::integer AS source FROM placed AS g GROUP BY g.leader) AS f
        ON f.leader = p.leader
    JOIN placed AS l ON l.position = p.leader
    ORDER BY p.position;
END
$$;
COMMENT ON FUNCTION sift._distinct_sources(oid, bytea, text, text[], text[]) IS 'The body of sift.distinct_sources, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._distinct_sources(oid, bytea, text, text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._distinct_sources(oid, bytea, text, text[], text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
