"""Write the generated files of the analyzer.

    python tools/generate_analyzer.py            the SQL twin, from the frozen tables
    python tools/generate_analyzer.py --check    exit 1 and name the files that are not what would be written
    python tools/generate_analyzer.py --freeze   first the tables themselves; needs the Python with their Unicode version

The tables (``pkg/pgsift/domain/_analyzer_tables.py``) are frozen: a term is stored, so which characters form a term
must not change with the interpreter or the server. ``--freeze`` is for a deliberate new version of the analyzer,
which changes every fingerprint; see docs/decisions/0002-frozen-analyzer-tables.md.
"""

# ruff: noqa: E501  (the lines of SQL in here are as long as SQL lines may be)

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "pkg"))

FROZEN_UNICODE = "14.0.0"
TABLES = ROOT / "pkg/pgsift/domain/_analyzer_tables.py"

# Blocks of the scripts written without spaces: Han, Hiragana, Katakana, Hangul, Thai, Lao, Khmer, Myanmar. The marks
# that Unicode shares between kana and Han (the prolonged sound mark, repeat marks) count with them.
UNSPACED_BLOCKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # Han iteration mark, closing mark, zero
    (0x3021, 0x3029),  # Han numerals
    (0x3031, 0x3035),  # kana repeat marks
    (0x3038, 0x303C),  # Han numerals, iteration mark, masu mark
    (0x3041, 0x30FF),  # Hiragana, Katakana
    (0x3131, 0x318E),  # Hangul Compatibility Jamo
    (0x31F0, 0x31FF),  # Katakana Phonetic Extensions
    (0x3400, 0x4DBF),  # Han, Extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),  # Hangul Jamo Extended-A
    (0xA9E0, 0xA9FF),  # Myanmar Extended-B
    (0xAA60, 0xAA7F),  # Myanmar Extended-A
    (0xAC00, 0xD7FF),  # Hangul Syllables, Jamo Extended-B
    (0xF900, 0xFAFF),  # Han, compatibility
    (0xFF66, 0xFFDC),  # halfwidth Katakana and Hangul
    (0x16FE2, 0x16FE3),  # old Chinese marks
    (0x1AFF0, 0x1B16F),  # Kana Extended-B, Supplement, Extended-A, Small Kana Extension
    (0x20000, 0x3FFFF),  # Han, Extensions B and later
)


def _runs(points: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for point in sorted(points):
        if runs and runs[-1][1] == point - 1:
            runs[-1] = (runs[-1][0], point)
        else:
            runs.append((point, point))
    return runs


def _wrapped(words: Iterable[str], indent: str, width: int = 108) -> str:
    lines = [indent]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > width:
            lines[-1] = lines[-1].rstrip()
            lines.append(indent)
        lines[-1] += word + " "
    lines[-1] = lines[-1].rstrip()
    return "\n".join(lines)


def _ranges(points: Iterable[int]) -> list[str]:
    return [f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in _runs(points)]


def _simple_folds(folds: dict[int, int]) -> list[str]:
    """Runs ``first-last/step+delta`` of code points that fold to the code point *delta* away."""
    words: list[str] = []
    points = sorted(folds)
    at = 0
    while at < len(points):
        first = points[at]
        delta = folds[first] - first
        best = at
        step = 1
        for candidate in (1, 2):
            end = at
            while (
                end + 1 < len(points)
                and points[end + 1] == points[end] + candidate
                and folds[points[end + 1]] - points[end + 1] == delta
            ):
                end += 1
            if end > best:
                best, step = end, candidate
        last = points[best]
        words.append(f"{first:x}" + (f"-{last:x}/{step}" if last != first else "") + f"{delta:+x}")
        at = best + 1
    return words


def freeze() -> str:
    """The source of the module of tables, from the Unicode database of this interpreter."""
    if unicodedata.unidata_version != FROZEN_UNICODE:
        raise SystemExit(
            f"the tables are frozen at Unicode {FROZEN_UNICODE}; this interpreter has {unicodedata.unidata_version}"
        )
    category = {point: unicodedata.category(chr(point)) for point in range(0x110000)}
    known = [p for p, c in category.items() if c not in ("Cn", "Cs", "Co") and p != 0]
    stable = [p for p in known if unicodedata.normalize("NFKC", chr(p)) == chr(p)]  # what NFKC can yield
    fold = {p: chr(p).casefold() for p in stable if chr(p).casefold() != chr(p)}
    # U+0345 is a mark that folds to a letter: it counts as that letter before folding too.
    kind = {p: category[ord(fold.get(p, chr(p))[0])][0] for p in stable}
    if any(kind[p] != "L" or any(category[ord(c)][0] not in "LM" for c in f) for p, f in fold.items()):
        raise SystemExit("a character folds to something that is not a letter")
    for source in known:
        if chr(0x11A7) in unicodedata.normalize("NFKC", chr(source)) and source != 0x11A7:
            raise SystemExit("U+11A7 is not a boundary of normalization")  # sift._normalize splits there
    alphanumeric = [p for p in stable if kind[p] in "LN"]
    unspaced = [p for p in alphanumeric if any(a <= p <= b for a, b in UNSPACED_BLOCKS)]
    latin = [
        p for p in stable
        if kind[p] == "L" and p not in fold and unicodedata.name(chr(p), "").startswith("LATIN ")
    ]  # fmt: skip
    tables = {
        "KNOWN": (known, "Code points with a meaning in this version; all others separate."),
        "ALPHANUMERIC": (alphanumeric, "Letters and numbers, as NFKC yields them."),
        "NUMBERS": ([p for p in stable if kind[p] == "N"], "Of these, the numbers."),
        "MARKS": ([p for p in stable if kind[p] == "M"], "Combining marks."),
        "UNSPACED": (unspaced, "Letters and numbers of scripts that are written without spaces."),
        "LATIN": (latin, "Case-folded letters of the Latin script."),
        "UPPER": ([p for p in stable if category[p] in ("Lu", "Lt")], "Upper and title case letters."),
        "LOWER": ([p for p in stable if category[p] == "Ll"], "Lower case letters."),
    }
    parts = [
        f'''"""Which characters make up a term: tables frozen from Unicode {FROZEN_UNICODE}.

Generated by tools/generate_analyzer.py --freeze. Do not edit.
Sets are written as ranges of code points in hexadecimal.
"""

from __future__ import annotations

UNICODE_VERSION = "{FROZEN_UNICODE}"
'''
    ]
    for name, (points, comment) in tables.items():
        parts.append(f'# {comment}\n{name} = """\n{_wrapped(_ranges(points), "    ")}\n"""\n')
    simple = {p: ord(f) for p, f in fold.items() if len(f) == 1}
    full = {p: f for p, f in fold.items() if len(f) > 1}
    words = [f"{p:x}>" + ".".join(f"{ord(c):x}" for c in f) for p, f in full.items()]
    parts.append(
        "# Full case folding of what NFKC yields. To one character: first-last/step+distance.\n"
        f'FOLD_SIMPLE = """\n{_wrapped(_simple_folds(simple), "    ")}\n"""\n'
    )
    parts.append(
        "# To several characters: from>to.to, with to.to in order.\n"
        f'FOLD_FULL = """\n{_wrapped(words, "    ")}\n"""\n'
    )
    return "\n".join(parts)


HEADER = "-- Generated by tools/generate_analyzer.py; change it there.\n"


def _literal(text: str, indent: str) -> str:
    """An SQL string constant, in escapes, over as many lines as it takes."""
    pieces: list[str] = []
    for char in text:
        point = ord(char)
        if 0x20 <= point < 0x7F and char not in "'\\":
            pieces.append(char)
        else:
            pieces.append(f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}")
    lines = [""]
    for piece in pieces:
        if len(indent) + len(lines[-1]) + len(piece) + 3 > 130:
            lines.append("")
        lines[-1] += piece
    return f"\n{indent}".join(("E" if n == 0 else " ") + f"'{line}'" for n, line in enumerate(lines))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def analyzer_table() -> str:
    from pgsift.domain import analyzer

    branches = "".join(
        f"        WHEN {_quoted(name)} THEN\n            {_literal(text, ' ' * 12)}\n"
        for name, text in analyzer.sql_tables().items()
    )
    return f"""{HEADER}--
-- Constants of the analyzer by name: sets of characters as the inside of a bracket expression, and the folding map. They are
-- escapes of literal characters, so a pattern holds each range as it is.
CREATE OR REPLACE FUNCTION sift._analyzer_table(name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE name
{branches}    END;
END
$$;
COMMENT ON FUNCTION sift._analyzer_table(text) IS 'A constant of the analyzer: a set of characters, or one side of the folding map.';
REVOKE ALL ON FUNCTION sift._analyzer_table(text) FROM PUBLIC;
"""


def analyzer_fingerprint() -> str:
    from pgsift.domain import analyzer

    branches = "".join(
        f"        WHEN {_quoted(name)} THEN\n            RETURN {_quoted(analyzer.get_analyzer(name).fingerprint)};\n"
        for name in analyzer.ANALYZERS
    )
    names = ", ".join(analyzer.ANALYZERS)
    return f"""{HEADER}--
-- What identifies an analyzer exactly: a hash of its tables and of the version of its rules, the same as in the client.
CREATE OR REPLACE FUNCTION sift.analyzer_fingerprint(analyzer text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
BEGIN
    CASE analyzer
{branches}        ELSE
            RAISE EXCEPTION USING ERRCODE = 'PS010',
                MESSAGE = CASE WHEN analyzer IS NULL THEN 'no analyzer was named'
                    ELSE format('there is no analyzer %s', to_json(left(analyzer, 200))) END,
                HINT = 'The analyzers are {names}.';
    END CASE;
END
$$;
COMMENT ON FUNCTION sift.analyzer_fingerprint(text) IS
    'Fingerprint of an analyzer ({names}): equal where text becomes the same terms.';
REVOKE ALL ON FUNCTION sift.analyzer_fingerprint(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.analyzer_fingerprint(text) TO sift_owner, sift_writer, sift_app, sift_reader;
"""


def _cases(variable: str, rules: dict[str, str], indent: str) -> str:
    """A CASE expression for the rules, those with one result together."""
    by_result: dict[str, list[str]] = {}
    for key, result in rules.items():
        by_result.setdefault(result, []).append(key)
    whens = "".join(
        f"\n{indent}    WHEN {variable} IN ({', '.join(_quoted(key) for key in keys)}) THEN {_quoted(result)}"
        for result, keys in by_result.items()
    )
    return f"CASE{whens} END"


def _array(words: Iterable[str]) -> str:
    return "(" + ", ".join(_quoted(word) for word in words) + ")"


def stem_english() -> str:
    from pgsift.domain import _porter2 as p

    double_in_full = "|".join(p.DOUBLES)
    return f"""{HEADER}--
-- Porter2 stems of those words that consist of Latin letters; other words stay. The rules are the tables of
-- pgsift.domain._porter2, whose comments name the steps.
CREATE OR REPLACE FUNCTION sift._stem_english(words text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_stems  text[] := '{{}}';
    v_source text;
    v_word   text COLLATE "C";
    v_suffix text COLLATE "C";
    v_rest   text COLLATE "C";
    v_r1     integer;
    v_r2     integer;
    v_length integer;
    v_has_y  boolean;
BEGIN
    FOREACH v_source IN ARRAY coalesce(words, '{{}}'::text[]) LOOP
        v_word := v_source;
        IF length(v_word) < 3 OR (v_word !~ '^[a-z]+$' AND v_word !~ ('^[' || sift._analyzer_table('latin') || ']+$')) THEN
            v_stems := array_append(v_stems, v_source);
            CONTINUE;
        END IF;
        v_suffix := {_cases("v_word", p.IRREGULAR, " " * 8)};
        IF v_suffix IS NOT NULL THEN
            v_stems := array_append(v_stems, v_suffix::text);
            CONTINUE;
        END IF;

        v_has_y := strpos(v_word, 'y') > 0;
        IF v_has_y THEN  -- a y that is a consonant is written Y until the end
            IF left(v_word, 1) = 'y' THEN
                v_word := 'Y' || right(v_word, -1);
            END IF;
            v_word := regexp_replace(v_word, {_quoted(p.Y_AFTER_VOWEL)}, E'\\\\1Y', 'g');
        END IF;

        v_length := length(v_word);
        v_suffix := coalesce(substring(v_word, '^(?:{"|".join(p.R1_PREFIXES)})'), substring(v_word, {_quoted(p.REGION)}));
        v_r1 := coalesce(length(v_suffix), v_length);
        v_r2 := v_r1 + coalesce(length(substring(right(v_word, -v_r1), {_quoted(p.REGION)})), v_length - v_r1);

        -- Step 1a
        IF right(v_word, 1) IN ('s', 'd') THEN
            IF right(v_word, 4) = 'sses' THEN
                v_word := left(v_word, -2);
            ELSIF right(v_word, 3) IN ('ied', 'ies') THEN
                v_word := left(v_word, CASE WHEN v_length <= 4 THEN -1 ELSE -2 END);
            ELSIF right(v_word, 2) IN ('us', 'ss') THEN
                NULL;
            ELSIF v_word ~ {_quoted(p.PLURAL)} THEN
                v_word := left(v_word, -1);
            END IF;
        END IF;

        -- Step 1b
        v_suffix := substring(v_word, {_quoted(p.VERB_SUFFIX)});
        IF v_suffix IS NOT NULL THEN
            v_rest := left(v_word, -length(v_suffix));
            IF left(v_suffix, 3) = 'eed' THEN
                IF v_r1 <= length(v_rest) AND v_rest NOT IN {_array(p.KEEP_EED_AFTER)} THEN
                    v_word := v_rest || 'ee';
                END IF;
            ELSIF v_suffix = 'ing' AND v_rest ~ {_quoted(p.LYING)} THEN
                v_word := left(v_rest, 1) || 'ie';
            ELSIF v_suffix = 'ing' AND v_rest IN {_array(p.KEEP_ING_AFTER)} THEN
                NULL;
            ELSIF v_rest ~ '[{p.VOWELS}]' THEN
                IF v_rest ~ '(?:{"|".join(p.RESTORE_E_AFTER)})$' THEN
                    v_word := v_rest || 'e';
                ELSIF v_rest ~ '(?:{double_in_full})$' THEN
                    v_word := CASE WHEN v_rest ~ {_quoted(p.KEPT_DOUBLE)} THEN v_rest ELSE left(v_rest, -1) END;
                ELSIF length(v_rest) = v_r1 AND v_rest ~ {_quoted(p.SHORT_SYLLABLE)} THEN
                    v_word := v_rest || 'e';
                ELSE
                    v_word := v_rest;
                END IF;
            END IF;
        END IF;

        -- Step 1c
        IF v_has_y AND v_word ~ {_quoted(p.FINAL_Y)} THEN
            v_word := left(v_word, -1) || 'i';
        END IF;

        v_length := length(v_word);
        IF v_r1 < v_length THEN
            -- Step 2
            v_suffix := substring(v_word, {_quoted(p.any_of(p.STEP2))});
            IF v_suffix IS NOT NULL AND v_r1 <= v_length - length(v_suffix) THEN
                v_rest := left(v_word, -length(v_suffix));
                IF (v_suffix <> 'li' OR right(v_rest, 1) ~ '[{p.LI_AFTER}]') AND (v_suffix <> 'ogi' OR right(v_rest, 1) = '{p.OGI_AFTER}') THEN
                    v_word := v_rest || {_cases("v_suffix", p.STEP2, " " * 20)};
                    v_length := length(v_word);
                END IF;
            END IF;

            -- Step 3
            v_suffix := substring(v_word, {_quoted(p.any_of(p.STEP3))});
            IF v_suffix IS NOT NULL AND v_r1 <= v_length - length(v_suffix)
                AND (v_suffix <> '{p.STEP3_R2}' OR v_r2 <= v_length - length(v_suffix))
            THEN
                v_word := left(v_word, -length(v_suffix)) || {_cases("v_suffix", p.STEP3, " " * 16)};
                v_length := length(v_word);
            END IF;

            -- Step 4
            IF v_r2 < v_length THEN
                v_suffix := substring(v_word, {_quoted(p.any_of(p.STEP4))});
                IF v_suffix IS NOT NULL AND v_r2 <= v_length - length(v_suffix) THEN
                    v_rest := left(v_word, -length(v_suffix));
                    IF v_suffix <> 'ion' OR right(v_rest, 1) ~ '[{p.ION_AFTER}]' THEN
                        v_word := v_rest;
                        v_length := length(v_word);
                    END IF;
                END IF;
            END IF;

            -- Step 5
            IF right(v_word, 1) = 'e' THEN
                v_rest := left(v_word, -1);
                IF v_r2 < v_length OR (v_r1 < v_length AND v_rest !~ {_quoted(p.SHORT_SYLLABLE)}) THEN
                    v_word := v_rest;
                END IF;
            ELSIF v_r2 < v_length AND right(v_word, 2) = 'll' THEN
                v_word := left(v_word, -1);
            END IF;
        END IF;

        v_stems := array_append(v_stems, CASE WHEN v_has_y THEN replace(v_word, 'Y', 'y') ELSE v_word END::text);
    END LOOP;
    RETURN v_stems;
END
$$;
COMMENT ON FUNCTION sift._stem_english(text[]) IS 'Porter2 stems of the words of Latin letters among these; the others as they are.';
REVOKE ALL ON FUNCTION sift._stem_english(text[]) FROM PUBLIC;
"""


def _outputs() -> dict[Path, str]:
    return {
        ROOT / "sql/internal/_analyzer_table.sql": analyzer_table(),
        ROOT / "sql/internal/_stem_english.sql": stem_english(),
        ROOT / "sql/functions/analyzer_fingerprint.sql": analyzer_fingerprint(),
    }


def stale() -> list[Path]:
    """The generated files that are missing or not what would be written now."""
    wanted = _outputs()
    if unicodedata.unidata_version == FROZEN_UNICODE:
        wanted[TABLES] = freeze()
    return [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the generated files of the analyzer.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    parser.add_argument("--freeze", action="store_true", help="write the frozen tables anew, too")
    arguments = parser.parse_args()
    if arguments.check:
        paths = stale()
        for path in paths:
            print(f"stale: {path.relative_to(ROOT)}; run python tools/generate_analyzer.py", file=sys.stderr)
        return 1 if paths else 0
    if arguments.freeze:
        TABLES.write_text(freeze(), "utf-8")
    for path, text in _outputs().items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
