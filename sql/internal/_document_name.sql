-- What an error calls a document, or a chunk of one: by its key, since numbers mean nothing to whoever sent it.
CREATE OR REPLACE FUNCTION sift._document_name(key jsonb, ordinal bigint) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE WHEN ordinal IS NULL THEN '' ELSE format('chunk %s of ', ordinal) END
        || format('the document %s', CASE WHEN char_length(key::text) > 200 THEN left(key::text, 200) || '…' ELSE key::text END);
END
$$;
COMMENT ON FUNCTION sift._document_name(jsonb, bigint) IS 'How an error names a document by its key, or a chunk of it by its number from 1.';
REVOKE ALL ON FUNCTION sift._document_name(jsonb, bigint) FROM PUBLIC;
