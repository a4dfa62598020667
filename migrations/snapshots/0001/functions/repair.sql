-- Mends what sift.doctor finds wrong in the data of a tenant, from what cannot be derived: documents, and the tokens of their chunks. Rows
-- that belong to nothing go, copies of access lists follow their document, postings are written anew where they differ, and statistics
-- are counted anew. Readers and writers go on meanwhile.
--
-- It works in steps: references, rows, each block, ranges of terms, totals. A step can be repeated without harm, so a repair that was
-- killed is simply run again; with steps given, it ends after so many and says where to go on, so that each can be committed:
--
--   SELECT * FROM sift.repair('acme');                       -- all of it, in one transaction
--   SELECT * FROM sift.repair('acme', steps => 1);           -- the first step; the last row says  next_step: rows
--   SELECT * FROM sift.repair('acme', 1, resume => 'rows');  -- the next
--
-- One row per thing that was mended; no rows when nothing was wrong. With row_security off it fails where a policy would hide rows from
-- it, instead of taking what belongs to them for orphans.
CREATE OR REPLACE FUNCTION sift.repair(tenant text, steps integer DEFAULT NULL, resume text DEFAULT NULL)
RETURNS TABLE (step text, object text, mended text, next_step text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET row_security = off
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_step      text := coalesce(resume, 'references');
    v_kind      text;
    v_at        text;
    v_next      text;
    v_done      integer := 0;
    v_terms     record;
BEGIN
    IF steps < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('steps must be at least 1, not %s', steps),
            HINT = 'Leave it out to mend everything in one call.';
    END IF;
    -- Two repairs at once would correct twice: the second waits for the first, and then finds nothing.
    PERFORM t.tenant_id FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id FOR NO KEY UPDATE;
    LOOP
        v_kind := split_part(v_step, ' ', 1);
        v_at := substr(v_step, length(v_kind) + 2);
        CASE
            WHEN v_step = 'references' THEN
                RETURN QUERY SELECT v_step, r.object, r.mended, NULL::text FROM sift._repair_references(v_tenant_id) AS r;
                v_next := 'rows';
            WHEN v_step = 'rows' THEN
                RETURN QUERY SELECT v_step, r.object, r.mended, NULL::text FROM sift._repair_rows(v_tenant_id) AS r;
                v_next := (SELECT 'block ' || min(k.block_no) FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id);
            WHEN v_kind = 'block' AND v_at ~ '^[0-9]{1,18}$' THEN
                RETURN QUERY SELECT v_step, r.object, r.mended, NULL::text FROM sift._repair_block(v_tenant_id, v_at::bigint) AS r;
                v_next := (SELECT 'block ' || min(k.block_no) FROM sift.packed_chunks AS k
                           WHERE k.tenant_id = v_tenant_id AND k.block_no > v_at::bigint);
            WHEN v_kind = 'terms' THEN
                SELECT t.last, t.errors INTO v_terms FROM sift._repair_terms(v_tenant_id, v_at) AS t;
                RETURN QUERY
                SELECT v_kind, 'term ' || to_json(e.term), format('df of the term %s: %s, counted %s', to_json(e.term), e.stored, e.counted), NULL::text
                FROM jsonb_to_recordset(v_terms.errors) AS e (term text, stored bigint, counted bigint);
                v_next := coalesce('terms ' || v_terms.last, 'totals');
            WHEN v_step = 'totals' THEN
                RETURN QUERY SELECT v_step, r.object, r.mended, NULL::text FROM sift._repair_totals(v_tenant_id) AS r;
                RETURN;
            ELSE
                RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('there is no step %s of a repair', to_json(left(v_step, 200))),
                    HINT = 'Pass the next_step of the call before, or leave it out to begin anew.';
        END CASE;
        v_step := coalesce(v_next, 'terms ');
        v_done := v_done + 1;
        IF v_done >= steps THEN
            RETURN QUERY SELECT 'continue'::text, NULL::text, NULL::text, v_step;
            RETURN;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift.repair(text, integer, text) IS
    'Mends the derived data of a tenant from its documents and tokens, in steps that may be repeated; returns what was mended, and with steps given where to go on.';
REVOKE ALL ON FUNCTION sift.repair(text, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.repair(text, integer, text) TO sift_owner, sift_writer;
