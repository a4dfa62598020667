-- Removes an embedding model: its vectors with their table and index, those of the past, cached query vectors, counts, and the model itself. The
-- active one of a tenant is not removed.
--
-- What takes long comes first and locks nobody out. Then the table goes, for which nobody may be reading vectors or chunks for a moment: that lock is
-- waited for half a second at a time, with pauses, so that a long search delays this function and not everybody behind it.
CREATE OR REPLACE FUNCTION sift.drop_model(model text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET lock_timeout = 500
AS $$
DECLARE
    c_attempts  CONSTANT integer := 20;
    v_model_id  integer;
    v_tenant_id integer;
    v_tenants   text;
    v_done      boolean := false;
BEGIN
    FOR v_attempt IN 1 .. c_attempts LOOP
        BEGIN
            -- Whoever stores vectors of this model has finished, or waits and finds it gone.
            SELECT m.model_id INTO v_model_id FROM sift.embedding_models AS m WHERE m.name = drop_model.model FOR UPDATE;
            v_done := true;
            EXIT;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            PERFORM pg_sleep(0.1::double precision * v_attempt);
        END;
    END LOOP;
    IF v_done AND v_model_id IS NULL THEN
        RETURN false;
    END IF;
    SELECT string_agg(to_json(t.name)::text, ', ' ORDER BY t.name COLLATE "C") INTO v_tenants FROM sift.tenants AS t WHERE t.model_id = v_model_id;
    IF v_tenants IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS011', MESSAGE = format('the model %s is the active one of %s', to_json(model), v_tenants),
            HINT = 'Activate another one there first: sift.activate_model(tenant, model).';
    END IF;

    -- Twice: a transaction that was under way may have moved vectors to the history since. The second time there is hardly anything.
    FOR v_round IN 1 .. 2 LOOP
        EXIT WHEN NOT v_done;
        FOR v_tenant_id IN SELECT t.tenant_id FROM sift.tenants AS t ORDER BY t.tenant_id LOOP
            DELETE FROM sift.vector_history AS x WHERE x.tenant_id = v_tenant_id AND x.model_id = v_model_id;
            DELETE FROM sift.query_embeddings AS x WHERE x.tenant_id = v_tenant_id AND x.model_id = v_model_id;
            DELETE FROM sift.term_fits AS x WHERE x.tenant_id = v_tenant_id AND x.model_id = v_model_id;
            DELETE FROM sift.term_embeddings AS x WHERE x.tenant_id = v_tenant_id AND x.model_id = v_model_id;
            DELETE FROM sift.embedding_stats AS x WHERE x.tenant_id = v_tenant_id AND x.model_id = v_model_id;
            DELETE FROM sift.tenant_models AS x WHERE x.tenant_id = v_tenant_id AND x.model_id = v_model_id;
        END LOOP;
        EXIT WHEN v_round = 2;
        v_done := false;
        FOR v_attempt IN 1 .. c_attempts LOOP
            BEGIN
                EXECUTE format('DROP TABLE IF EXISTS sift.chunk_embeddings_m%s', v_model_id);
                v_done := true;
                EXIT;
            EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
                PERFORM pg_sleep(0.1::double precision * v_attempt);
            END;
        END LOOP;
    END LOOP;
    IF NOT v_done THEN
        RAISE EXCEPTION USING ERRCODE = 'PS011', MESSAGE = format('the model %s is in use; nothing was dropped', to_json(model)),
            HINT = 'A long transaction reads chunks or stores vectors: look at pg_stat_activity, and drop the model again when it has ended.';
    END IF;
    DELETE FROM sift.embedding_models AS m WHERE m.model_id = v_model_id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION sift.drop_model(text) IS
    'Removes a model with all its vectors, of all tenants; false where there is none of this name. Refused while it is the active one of a tenant, and when others do not let go of the tables within half a minute.';
REVOKE ALL ON FUNCTION sift.drop_model(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.drop_model(text) TO sift_owner;
