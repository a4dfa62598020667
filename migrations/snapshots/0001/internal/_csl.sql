-- A document as a record of CSL-JSON, from its title and what its metadata say in CSL's or BibTeX's names. What is not known is left out.
CREATE OR REPLACE FUNCTION sift._csl(key text, title text, source_uri text, language text, metadata jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_types CONSTANT jsonb := '{
        "article": "article-journal", "inproceedings": "paper-conference", "conference": "paper-conference", "proceedings": "book",
        "inbook": "chapter", "incollection": "chapter", "phdthesis": "thesis", "mastersthesis": "thesis", "techreport": "report",
        "manual": "report", "online": "webpage", "www": "webpage", "unpublished": "manuscript", "misc": "document"}';
    -- What CSL calls it, and the names it may have, best first.
    c_texts CONSTANT jsonb := '{
        "container-title": ["container-title", "journal", "journaltitle", "booktitle", "venue"],
        "collection-title": ["collection-title", "series"], "publisher": ["publisher", "institution", "school", "organization"],
        "publisher-place": ["publisher-place", "address", "location"], "volume": ["volume"], "issue": ["issue", "number"],
        "page": ["page", "pages"], "edition": ["edition"], "DOI": ["DOI", "doi"], "ISBN": ["ISBN", "isbn"], "ISSN": ["ISSN", "issn"],
        "PMID": ["PMID", "pmid"], "PMCID": ["PMCID", "pmcid"], "URL": ["URL", "url"], "genre": ["genre"], "note": ["note"]}';
    v_all   jsonb := '{}';
    v_field record;
    v_text  text;
    v_kind  text;
BEGIN
    IF jsonb_typeof(metadata -> 'csl') = 'object' THEN
        v_all := metadata -> 'csl';
    ELSE
        FOR v_field IN SELECT f.key AS name, f.value AS names FROM jsonb_each(c_texts) AS f LOOP
            SELECT btrim(metadata ->> n.name, E' \t\r\n') INTO v_text
            FROM jsonb_array_elements_text(v_field.names) WITH ORDINALITY AS n (name, position)
            WHERE jsonb_typeof(metadata -> n.name) IN ('string', 'number') AND btrim(metadata ->> n.name, E' \t\r\n') <> ''
            ORDER BY n.position
            LIMIT 1;
            v_text := CASE v_field.name
                WHEN 'DOI' THEN regexp_replace(v_text, '^(https?://(dx[.])?doi[.]org/|doi:[[:space:]]*)', '', 'i')
                WHEN 'page' THEN regexp_replace(v_text, '[[:space:]]*(--+|–)[[:space:]]*', '-', 'g')
                ELSE v_text END;
            IF v_text IS NOT NULL THEN
                v_all := v_all || jsonb_build_object(v_field.name, v_text);
            END IF;
        END LOOP;
        v_all := v_all || jsonb_strip_nulls(jsonb_build_object(
            'author', sift._csl_names(coalesce(metadata -> 'authors', metadata -> 'author')),
            'editor', sift._csl_names(coalesce(metadata -> 'editors', metadata -> 'editor')),
            'issued', sift._csl_date(coalesce(metadata -> 'issued', metadata -> 'date'), metadata -> 'year', metadata -> 'month')));
        IF NOT v_all ? 'URL' AND source_uri ~* '^https?://' THEN
            v_all := v_all || jsonb_build_object('URL', source_uri);
        END IF;
        v_kind := lower(coalesce(nullif(metadata ->> 'type', ''), nullif(metadata ->> 'entrytype', ''), nullif(metadata ->> 'ENTRYTYPE', '')));
        v_all := v_all || jsonb_build_object('type', coalesce(
            c_types ->> v_kind,
            CASE WHEN v_kind = ANY ('{article-journal,article-magazine,article-newspaper,bill,book,broadcast,chapter,dataset,document,entry,figure,graphic,hearing,interview,legal_case,legislation,manuscript,map,motion_picture,musical_score,pamphlet,paper-conference,patent,performance,periodical,personal_communication,post,post-weblog,regulation,report,review,review-book,software,song,speech,standard,thesis,treaty,webpage}'::text[])
                 THEN v_kind END,
            CASE WHEN v_all ? 'container-title' AND metadata ?| '{journal,journaltitle}' THEN 'article-journal' ELSE 'document' END));
    END IF;
    RETURN v_all
        || CASE WHEN nullif(title, '') IS NOT NULL AND NOT v_all ? 'title' THEN jsonb_build_object('title', title)
                WHEN NOT v_all ? 'title' AND jsonb_typeof(metadata -> 'title') = 'string' THEN jsonb_build_object('title', metadata -> 'title')
                ELSE '{}' END
        || CASE WHEN language IS NOT NULL AND NOT v_all ? 'language' THEN jsonb_build_object('language', language) ELSE '{}' END
        || jsonb_build_object('id', key);
END
$$;
COMMENT ON FUNCTION sift._csl(text, text, text, text, jsonb) IS 'A document as a record of CSL-JSON.';
REVOKE ALL ON FUNCTION sift._csl(text, text, text, text, jsonb) FROM PUBLIC;
