"""What a term is, rule by rule, against values worked out by hand."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import unicodedata
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import ModuleType

import pytest
import snowballstemmer

from pgsift.domain import _porter2, analyzer
from pgsift.domain.analyzer import ANALYZERS, STOPWORDS, UnknownAnalyzer, get_analyzer

ROOT = Path(__file__).resolve().parents[2]
COLLECTIONS = Path(os.environ.get("PGSIFT_COLLECTIONS", ROOT.parent / "shared" / "collections"))

standard = get_analyzer("standard")
english = get_analyzer("english")
identifiers = get_analyzer("identifiers")


# Step 1: normalization and folding


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Red APPLE", ["red", "apple"]),
        ("ＦＵＬＬｗｉｄｔｈ", ["fullwidth"]),
        ("ﬁnance oﬀice", ["finance", "office"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ẞ", ["ss"]),
        ("İstanbul", ["i\u0307stanbul"]),
        ("ΟΔΟΣ οδος οδοσ", ["οδοσ", "οδοσ", "οδοσ"]),
        ("ᾳ ᾼ", ["αι", "αι"]),
        ("Ꭰꭰ", ["ᎠᎠ"]),  # Cherokee folds to its upper case
        ("Ǆ ǅ ǆ", ["dž", "dž", "dž"]),
        ("①⑵ ½x x²", ["2x", "x2"]),
        ("㎏ ™ ℃", ["kg", "tm"]),
        ("ﷺ", ["صلى", "الله", "عليه", "وسلم"]),
        ("ßß", ["ssss"]),
    ],
)
def test_text_is_normalized_then_folded(text: str, tokens: list[str]) -> None:
    assert standard.tokenize(text) == tokens


def test_folding_is_that_of_the_interpreter_for_every_known_character() -> None:
    known = [c for c in map(chr, range(0x110000)) if not analyzer._patterns().unknown.match(c)]
    assert len(known) == 144_761
    wrong = [
        c
        for c in known
        if analyzer._fold(unicodedata.normalize("NFKC", c)) != unicodedata.normalize("NFKC", c).casefold()
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "unknown", ["\u0378", "\U0001fae8", "\ue000", "\x00", "\ud800", "\udfff", "\U0010ffff", "\u1c89"]
)
def test_what_the_tables_do_not_know_separates(unknown: str) -> None:
    # unassigned, assigned after the frozen version, private, NUL, lone surrogates, a noncharacter
    assert standard.tokenize(f"left{unknown}right") == ["left", "right"]


# Step 2: words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("dog,cat", ["dog", "cat"]),
        ("dog, cat", ["dog", "cat"]),
        ("don't e-mail snake_case", ["don", "mail", "snake", "case"]),
        ("h2o 3d 2024", ["h2o", "3d", "2024"]),
        ("x\u0301y", ["x\u0301y"]),
        ("\u0301ab", ["ab"]),
        ("12\u030134", ["12", "34"]),
        ("1\ufe0f\u20e32", []),
        ("ab\u0301\u0302cd", ["ab\u0301\u0302cd"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("العربية نص", ["العربية", "نص"]),
        ("co\u00adoperate a\u200db", ["co", "operate"]),
        ("🙂 ❤️ 👩‍💻", []),
        ("a & b | !c foo:* ') \"unbalanced C:\\x %s :name $1", ["foo", "unbalanced", "name"]),
        ("(" * 10_000, []),
        ("", []),
        (" \t\n\u3000\u2028", []),
    ],
)
def test_words_are_letters_numbers_and_marks_of_letters(text: str, tokens: list[str]) -> None:
    assert standard.tokenize(text) == tokens


# Step 3: scripts written without spaces


@pytest.mark.parametrize(
    ("text", "tokens", "terms"),
    [
        ("印度洋", ["印", "印度", "度", "度洋", "洋"], ["印度", "度洋"]),
        ("船", ["船"], ["船"]),
        ("船 docker", ["船", "docker"], ["船", "docker"]),
        ("docker船の2024年版", ["docker", "船", "船の", "の", "2024", "年", "年版", "版"],
         ["docker", "船の", "2024", "年版"]),
        ("しりとり", ["し", "しり", "り", "りと", "と", "とり", "り"], ["しり", "りと", "とり"]),
        ("データ", ["デ", "デー", "ー", "ータ", "タ"], ["デー", "ータ"]),
        ("ﾃﾞｰﾀ", ["デ", "デー", "ー", "ータ", "タ"], ["デー", "ータ"]),
        ("佐々木", ["佐", "佐々", "々", "々木", "木"], ["佐々", "々木"]),
        ("한국어", ["한", "한국", "국", "국어", "어"], ["한국", "국어"]),
        # marks are in the pairs, and no terms themselves
        ("กี่", ["ก", "กี", "\u0e35\u0e48"], ["กี", "\u0e35\u0e48"]),
        ("ພາສາ", ["ພ", "ພາ", "າ", "າສ", "ສ", "ສາ", "າ"], ["ພາ", "າສ", "ສາ"]),
        ("ខ្មែរ", ["ខ", "ខ\u17d2", "\u17d2ម", "ម", "ម\u17c2", "\u17c2រ", "រ"],
         ["ខ\u17d2", "\u17d2ម", "ម\u17c2", "\u17c2រ"]),
        ("မြန်", ["မ", "မ\u103c", "\u103cန", "န", "န\u103a"], ["မ\u103c", "\u103cန", "န\u103a"]),
        ("一，二", ["一", "二"], ["一", "二"]),
        ("人\u0301", ["人", "人\u0301"], ["人\u0301"]),
        ("ขa\u0e31", ["ข", "a\u0e31"], ["ข", "a\u0e31"]),  # a mark stays with its letter, whatever its script
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ANALYZERS)
def test_runs_of_unspaced_scripts_become_characters_and_pairs(
    name: str, text: str, tokens: list[str], terms: list[str]
) -> None:
    assert get_analyzer(name).tokenize(text) == tokens
    assert get_analyzer(name).query_terms(text) == terms


def test_a_sentence_holds_the_terms_of_what_is_in_it_and_of_nothing_else() -> None:
    sentence = set(standard.tokenize("红海早过了，船在印度洋面上开驶着"))
    assert set(standard.query_terms("印度洋")) <= sentence
    assert set(standard.query_terms("船 docker")) - sentence == {"docker"}
    assert set(standard.query_terms("しりとり")) <= set(standard.tokenize("今日は成語しりとりをした"))
    assert not set(standard.query_terms("火星")) & sentence
    # 上 and 海 are in it, but not beside each other, and 了船 stand on both sides of a comma
    assert not set(standard.query_terms("上海 了船")) & sentence


# Step 4: stopwords, short words, cuts


def test_stopwords_and_single_characters_go() -> None:
    assert len(STOPWORDS) == 33
    assert standard.tokenize("The cat is on A mat, b, 7, é, ß") == ["cat", "mat", "ss"]
    assert standard.tokenize(" ".join(sorted(STOPWORDS))) == []


@pytest.mark.parametrize(
    ("word", "token"),
    [
        ("a" * 256, "a" * 256),
        ("a" * 257, "a" * 256),
        ("a" * 300_000, "a" * 256),
        ("é" * 129, "é" * 128),
        ("a" + "é" * 128, "a" + "é" * 127),
        ("ﬁ" * 200, "fi" * 128),
        ("\U00010428" * 65, "\U00010428" * 64),
        ("ab" + "\U00010428" * 64, "ab" + "\U00010428" * 63),
    ],
)
@pytest.mark.parametrize("name", ANALYZERS)
def test_long_words_are_cut_between_characters_and_counted(name: str, word: str, token: str) -> None:
    analysis = get_analyzer(name).analyze(f"before {word} {word} after")
    whole = len(unicodedata.normalize("NFKC", word).encode()) <= 256
    expected = ["before", token, token, "after"]
    assert analysis.tokens == (["befor", *expected[1:]] if name == "english" else expected)
    assert analysis.cuts == (0 if whole else 2)


def test_a_run_of_an_unspaced_script_is_not_cut() -> None:
    analysis = standard.analyze("船" * 1000)
    assert (len(analysis.tokens), analysis.cuts) == (1999, 0)
    assert standard.query_terms("船" * 1000) == ["船船"]


# Step 5


def test_order_and_repeats_are_kept() -> None:
    assert standard.tokenize("red car red") == ["red", "car", "red"]
    assert standard.query_terms("red car red") == ["red", "car"]


# english


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The runners were running", ["runner", "were", "run"]),
        ("relational cats' dying flies", ["relat", "cat", "die", "fli"]),
        ("cafés Cafés", ["café", "café"]),
        ("p53s h2os 2010s", ["p53s", "h2os", "2010s"]),
        ("кошками bücher", ["кошками", "bücher"]),
        ("this theses", ["these"]),  # stopwords go before stems are made
        ("印度洋 oceans", ["印", "印度", "度", "度洋", "洋", "ocean"]),
    ],
)
def test_english_stems_words_of_latin_letters(text: str, tokens: list[str]) -> None:
    assert english.tokenize(text) == tokens


def _porter2_words() -> set[str]:
    """Stems and near-stems joined with every suffix of the rules, and random words rich in what they test."""
    rng = random.Random(20240229)
    suffixes = [
        *_porter2.STEP2, *_porter2.STEP3, *_porter2.STEP4, "", "s", "es", "ies", "ied", "us", "ss", "sses",
        "ed", "edly", "eed", "eedly", "ing", "ingly", "y", "ly", "e", "l", "ll",
    ]  # fmt: skip
    words = {
        before + middle + suffix
        for before in ("", "a", "x", "un")
        for middle in (
            *_porter2.IRREGULAR, *_porter2.R1_PREFIXES, *_porter2.KEEP_EED_AFTER, *_porter2.KEEP_ING_AFTER,
            "hop", "hopp", "add", "egg", "off", "try", "ly", "play", "sayy", "past", "paste", "control",
            "relat", "caf\u00e9",
        )
        for suffix in suffixes
    }  # fmt: skip
    while len(words) < 60_000:
        letters = "".join(rng.choices("aeiouyyybcdghlnrstwxzé", k=rng.randint(1, 7)))
        words.add(letters + rng.choice(suffixes))
    return words - {""}


def test_stems_equal_those_of_snowball() -> None:
    stemmer = snowballstemmer.stemmer("english")
    words = _porter2_words()
    assert {w: _porter2.stem(w) for w in words} == {w: stemmer.stemWord(w) for w in words}
    assert all(_porter2.stem(w) for w in words)


@pytest.mark.skipif(not COLLECTIONS.is_dir(), reason="the judged collections are not on this machine")
def test_stems_equal_those_of_snowball_on_the_collections() -> None:
    stemmer = snowballstemmer.stemmer("english")
    words: set[str] = set()
    for path in COLLECTIONS.glob("*/*.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            words.update(re.findall(r"[^\W\d_]+", json.loads(line)["text"].casefold()))
    assert len(words) > 10_000
    assert [w for w in words if _porter2.stem(w) != stemmer.stemWord(w)] == []


# identifiers


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("getUserByEmail", ["getuserbyemail", "get", "user", "email"]),
        ("XMLHttpRequest", ["xmlhttprequest", "xml", "http", "request"]),
        ("parseHTML5Doc", ["parsehtml5doc", "parse", "html5", "doc"]),
        ("liquidity_pool_day", ["liquidity_pool_day", "liquidity", "pool", "day"]),
        ("snake__twice", ["snake__twice", "snake", "twice"]),
        ("ERR_CONN_RESET", ["err_conn_reset", "err", "conn", "reset"]),
        ("v1.18.6", ["v1.18.6", "1.18.6", "v1", "18"]),
        ("nginx-v1.18.6rc1.tar.gz",
         ["nginx-v1.18.6rc1.tar.gz", "nginx", "v1.18.6rc1", "1.18.6", "v1", "18", "6rc1", "tar", "gz"]),
        ("CVE-2026-1234", ["cve-2026-1234", "cve", "2026", "1234"]),
        ("10.0.0.1:8080", ["10.0.0.1:8080", "10.0.0.1", "10", "8080"]),
        ("foo@bar.com", ["foo@bar.com", "foo", "bar", "com"]),
        ("thyroid/metabolic", ["thyroid/metabolic", "thyroid", "metabolic"]),
        ("co-simulation co\u2011simulation",
         ["co-simulation", "co", "simulation", "co-simulation", "co", "simulation"]),
        ("C++ and c# F#/C++", ["c++", "c#", "f#/c++", "f#", "c++"]),
        ("C++17", ["c++17", "c++", "17"]),
        ("issue#42", ["issue#42", "issue", "42"]),
        ("std::vector ptr->next", ["std::vector", "std", "vector", "ptr->next", "ptr", "next"]),
        ("AT&T R&D", ["at&t", "r&d"]),
        ("End. Start -flag __init__ a--b", ["end", "start", "flag", "init"]),
        ("船docker-compose印度洋",
         ["船", "docker-compose", "docker", "compose", "印", "印度", "度", "度洋", "洋"]),
        ("getÜberÄnderung", ["getüberänderung", "get", "über", "änderung"]),
        ("plain words only", ["plain", "words", "only"]),
    ],
)  # fmt: skip
def test_compounds_come_whole_then_in_parts(text: str, tokens: list[str]) -> None:
    assert identifiers.tokenize(text) == tokens


@pytest.mark.parametrize(
    "compound",
    ["getUserByEmail", "liquidity_pool_day", "ERR_CONN_RESET", "v1.18.6", "CVE-2026-1234", "10.0.0.1",
     "foo@bar.com", "thyroid/metabolic"],
)  # fmt: skip
def test_a_compound_is_found_by_the_whole_and_by_each_part(compound: str) -> None:
    document = set(identifiers.tokenize(f"see ({compound}), please"))
    assert identifiers.query_terms(compound)[0] == compound.lower()
    assert set(identifiers.query_terms(compound)) <= document
    parts = standard.tokenize(re.sub("(?<=[a-z])(?=[A-Z])", " ", compound))
    assert parts
    for part in parts:
        assert set(identifiers.query_terms(part)) <= document
        assert identifiers.query_terms(part)


def test_a_version_does_not_match_another() -> None:
    for query, other in [
        ("1.18.6", "1.18.60"),
        ("v1.18.6", "v1.18.60"),
        ("10.0.0.1", "10.0.0.12"),
        ("2.0", "12.0"),
    ]:
        assert not set(identifiers.query_terms(query)) & set(identifiers.tokenize(other)), query
    assert "18" in identifiers.tokenize("1.18.60")
    assert identifiers.query_terms("18") == ["18"]
    assert "1.18.6" in identifiers.query_terms("v1.18.6")


def test_c_plus_plus_does_not_match_every_c() -> None:
    assert identifiers.query_terms("C++") == ["c++"]
    assert not {"c++"} & set(identifiers.tokenize("c, C and vitamin C; C# too"))
    assert "c++" in identifiers.tokenize("written in C++.")


# Names, fingerprints, shape


def test_an_unknown_analyzer_is_refused_by_name() -> None:
    with pytest.raises(UnknownAnalyzer, match="'klingon'") as caught:
        get_analyzer("klingon")
    assert caught.value.sqlstate == "PS010"
    assert all(name in str(caught.value.hint) for name in ANALYZERS)


def test_fingerprints_differ_between_analyzers_and_follow_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    prints = {name: get_analyzer(name).fingerprint for name in ANALYZERS}
    assert len(set(prints.values())) == 3
    assert all(re.fullmatch("[0-9a-f]{16}", value) for value in prints.values())
    assert {name: analyzer._fingerprint(name) for name in ANALYZERS} == prints
    monkeypatch.setitem(_porter2.STEP2, "li", "l")
    assert analyzer._fingerprint("english") != prints["english"]
    assert analyzer._fingerprint("standard") == prints["standard"]
    monkeypatch.setattr(analyzer, "STOPWORDS", STOPWORDS - {"such"})
    assert analyzer._fingerprint("standard") != prints["standard"]


def test_an_analysis_cannot_be_changed() -> None:
    analysis = standard.analyze("red car")
    with pytest.raises(FrozenInstanceError):
        analysis.cuts = 1  # type: ignore[misc]


def test_the_cache_of_stems_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer, "_STEM_CACHE_SIZE", 3)
    monkeypatch.setattr(analyzer, "_stems", {})
    assert english.tokenize("cats dogs birds horses cows") == ["cat", "dog", "bird", "hors", "cow"]
    assert len(analyzer._stems) <= 3


# The frozen tables


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "generate_analyzer", ROOT / "tools" / "generate_analyzer.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_files_are_what_the_tables_say() -> None:
    assert _generator().stale() == []


def test_the_same_terms_come_from_every_interpreter() -> None:
    """The hash was taken with the Unicode databases 14.0, 15.0 and 15.1 and is the same for all."""
    digest = hashlib.sha256()
    for start in range(0, 0x110000, 256):
        text = "\n".join(f"a{chr(point)}b {chr(point)}" for point in range(start, start + 256))
        digest.update("\n".join(standard.tokenize(text)).encode() + b"\n")
    assert digest.hexdigest() == "882195692c264277a6cb870f6ea8cca055f1724bd183c1a79f125e5136fbc51e"


def test_the_generator_reports_a_stale_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = _generator()
    stale = tmp_path / "old.sql"
    stale.write_text("-- old\n")
    monkeypatch.setattr(generator, "_outputs", lambda: {stale: "-- new\n"})
    assert stale in generator.stale()


def test_domain_imports_nothing_but_the_standard_library() -> None:
    allowed = sys.stdlib_module_names | {"pgsift"}
    for path in (ROOT / "pkg" / "pgsift" / "domain").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] in allowed, f"{path.name} imports {name}"
                assert not name.startswith("pgsift") or name.startswith("pgsift.domain"), (
                    f"{path.name} imports {name}"
                )


@pytest.mark.parametrize("tool", ["generate_analyzer.py", "generate_windows.py"])
def test_check_is_a_command(tool: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / tool), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stderr) == (0, "")
