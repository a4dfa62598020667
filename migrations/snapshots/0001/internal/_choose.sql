-- From candidates in their order to a page: the last steps of a search, in one walk. Next comes the best candidate of the first tier that has
-- one which the cap of its document lets in and the token budget can hold; a chunk that does not fit is passed over, and takes nothing from
-- the ones after it.
--
-- The best is the first, or with mmr the one of the greatest
--
--   mmr * relevance - (1 - mmr) * greatest likeness to one that was chosen
--     J. Carbonell, J. Goldstein: The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries, SIGIR 1998.
--
-- relevance is scaled to 0..1 between the least and the greatest of the tier (1 where they are equal; 0 where it is NULL); likeness of two chunks
-- is the cosine of their vectors, 0 where it is negative, or, where one has none of the model, the Jaccard similarity of their distinct terms.
-- Ties go to the one that comes first. A walk is the beginning of every longer one.
--
-- A chunk has a token for every four bytes of its body in UTF-8, the last four begun.
--
--   positions  places in the arrays of what was chosen, in order
--   refused    whether a candidate did not fit the budget
CREATE OR REPLACE FUNCTION sift._choose(
    tenant_id    integer,
    model_id     integer,
    chunk_ids    bigint[],
    document_ids bigint[],
    tiers        integer[],
    relevance    double precision[],
    k            integer,
    cap          integer,
    mmr          double precision,
    token_budget integer,
    as_of        timestamptz,
    OUT positions integer[],
    OUT refused   boolean
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_n         integer := coalesce(cardinality(chunk_ids), 0);
    v_likes     double precision[] := array_fill(0::double precision, ARRAY[v_n]);
    v_scaled    double precision[];
    v_tokens    integer[];
    v_left      bigint := token_budget;
    v_open      boolean[] := array_fill(true, ARRAY[v_n]);
    v_taken     bigint[] := '{}';
    v_vectors   boolean[];
    v_places    integer[];
    v_terms     text[];
    v_first     integer := 1;
    v_best      integer;
    v_gain      double precision;
    v_value     double precision;
BEGIN
    positions := '{}';
    refused := false;
    IF token_budget IS NOT NULL THEN
        SELECT array_agg(ceil(octet_length(c.body) / 4::double precision)::integer ORDER BY i.n) INTO v_tokens
        FROM unnest(chunk_ids) WITH ORDINALITY AS i (id, n)
        CROSS JOIN LATERAL (
            SELECT s.body FROM sift.chunks AS s WHERE s.tenant_id = v_tenant_id AND s.chunk_id = i.id
            UNION ALL
            SELECT s.body FROM sift.chunk_history AS s WHERE as_of IS NOT NULL AND s.tenant_id = v_tenant_id AND s.chunk_id = i.id
            OFFSET 0) AS c;
    END IF;
    IF mmr IS NOT NULL THEN
        SELECT array_agg(CASE WHEN r.relevance IS NULL THEN 0::double precision WHEN r.greatest = r.least THEN 1::double precision
                              ELSE (r.relevance - r.least) / (r.greatest - r.least) END ORDER BY r.n)
        INTO v_scaled
        FROM (SELECT u.n, u.relevance, min(u.relevance) OVER (PARTITION BY u.tier) AS least, max(u.relevance) OVER (PARTITION BY u.tier) AS greatest
              FROM unnest(relevance, tiers) WITH ORDINALITY AS u (relevance, tier, n)) AS r;
        v_vectors := sift._have_vectors(v_tenant_id, model_id, chunk_ids, as_of);
        IF false = ANY (v_vectors) THEN
            SELECT array_agg(w.n), array_agg(w.term) INTO v_places, v_terms
            FROM (SELECT DISTINCT i.n::integer AS n, t.term
                  FROM unnest(chunk_ids) WITH ORDINALITY AS i (id, n)
                  CROSS JOIN LATERAL (
                      SELECT s.tokens FROM sift.chunks AS s WHERE s.tenant_id = v_tenant_id AND s.chunk_id = i.id
                      UNION ALL
                      SELECT s.tokens FROM sift.chunk_history AS s WHERE as_of IS NOT NULL AND s.tenant_id = v_tenant_id AND s.chunk_id = i.id
                      OFFSET 0) AS c
                  CROSS JOIN LATERAL string_to_table(c.tokens, ' ') AS t (term)
                  WHERE t.term <> '') AS w;
        END IF;
    END IF;

    WHILE cardinality(positions) < k LOOP
        v_best := NULL;
        FOR v_i IN v_first .. v_n LOOP
            CONTINUE WHEN NOT v_open[v_i];
            EXIT WHEN tiers[v_i] > tiers[v_best];
            IF v_tokens[v_i] > v_left THEN
                refused := true;
                v_open[v_i] := false;
            ELSIF cardinality(array_positions(v_taken, document_ids[v_i])) >= cap THEN
                v_open[v_i] := false;
            ELSIF mmr IS NULL THEN
                v_best := v_i;
                EXIT;
            ELSE
                v_value := mmr * v_scaled[v_i] - (1::double precision - mmr) * v_likes[v_i];
                IF v_best IS NULL OR v_value > v_gain THEN
                    v_best := v_i;
                    v_gain := v_value;
                END IF;
            END IF;
        END LOOP;
        EXIT WHEN v_best IS NULL;
        positions := positions || v_best;
        v_taken := v_taken || document_ids[v_best];
        v_open[v_best] := false;
        v_left := v_left - v_tokens[v_best];
        WHILE v_first <= v_n AND NOT v_open[v_first] LOOP
            v_first := v_first + 1;
        END LOOP;
        IF mmr < 1::double precision AND cardinality(positions) < k THEN
            v_likes := sift._likenesses(v_tenant_id, model_id, chunk_ids, v_best, v_likes, v_vectors, v_places, v_terms, as_of);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._choose(integer, integer, bigint[], bigint[], integer[], double precision[], integer, integer, double precision, integer, timestamptz) IS
    'Chooses a page among candidates: maximal marginal relevance, token budget, cap per document, k.';
REVOKE ALL ON FUNCTION sift._choose(integer, integer, bigint[], bigint[], integer[], double precision[], integer, integer, double precision, integer, timestamptz) FROM PUBLIC;
