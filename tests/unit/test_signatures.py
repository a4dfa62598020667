"""Signatures of texts: shingles, bands, the same in every process."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from pgsift import duplicates
from pgsift.errors import InvalidArgument, MissingExtra

pytest.importorskip("datasketch")


def words(number: int, seed: int = 0) -> list[str]:
    chosen = random.Random(seed)
    return [f"w{chosen.randrange(10**6)}" for _ in range(number)]


def test_shingles_are_runs_of_five() -> None:
    assert duplicates.shingles(["a", "b", "c", "d", "e", "f"]) == {"a b c d e", "b c d e f"}
    assert duplicates.shingles(["a", "b"]) == {"a b"}
    assert duplicates.shingles([]) == set()
    assert duplicates.shingles(["a"] * 9) == {"a a a a a"}


def test_jaccard_of_texts_with_a_known_value() -> None:
    text = words(60)
    changed = [*text[:30], "other", *text[31:]]
    # 56 shingles each, five of them hold the changed word: 51 of 61 are common.
    assert duplicates.jaccard(duplicates.shingles(text), duplicates.shingles(changed)) == 51 / 61
    assert duplicates.jaccard(duplicates.shingles(text), duplicates.shingles([*text, "more"])) == 56 / 57
    assert duplicates.jaccard(set(), set()) == 0.0


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.7, 0.8, 0.9, 0.99, 1.0])
def test_bands_find_pairs_at_the_threshold(threshold: float) -> None:
    bands, rows = duplicates.banding(threshold)
    assert bands * rows <= duplicates.PERMUTATIONS
    if threshold >= 0.1:
        assert duplicates.candidate_probability(threshold, bands, rows) >= duplicates.RECALL
        longer = duplicates.PERMUTATIONS // (rows + 1)
        assert not longer or duplicates.candidate_probability(threshold, longer, rows + 1) < duplicates.RECALL


def test_the_share_of_equal_values_estimates_the_similarity() -> None:
    text, size = words(400), 126
    errors = []
    for seed in range(20):
        other = list(text)
        for position in random.Random(seed).sample(range(400), 12):
            other[position] = "x"
        a, b = duplicates.shingles(text), duplicates.shingles(other)
        first, second = duplicates._signature(a, size), duplicates._signature(b, size)
        equal = sum(first[i : i + 4] == second[i : i + 4] for i in range(0, len(first), 4))
        errors.append(equal / size - duplicates.jaccard(a, b))
    # The standard deviation of one estimate is at most sqrt(0.25 / 126) = 0.045.
    assert abs(sum(errors) / len(errors)) < 0.045
    assert max(map(abs, errors)) < 4 * 0.045


def test_signatures_are_the_same_in_every_process() -> None:
    made_by = duplicates.scheme(0.8)
    mine = duplicates.signature(1, 1, words(80, seed=3), made_by)
    program = (
        "import random; from pgsift import duplicates as d; c = random.Random(3);"
        "t = [f'w{c.randrange(10**6)}' for _ in range(80)];"
        "s = d.scheme(0.8); print(s.name); print(d.signature(1, 1, t, s))"
    )
    for hash_seed in ("0", "4242"):
        out = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert out == f"{made_by.name}\n{mine}\n"


def test_signatures_do_not_depend_on_the_release_of_the_library() -> None:
    """A change here makes every store sign its documents anew; it has to be meant."""
    name = "minhash shingle=5 min=20 bands=21 rows=6 sample=bbc9757f98cd3a0e anchors=8"
    assert duplicates.scheme(0.8).name == name


def test_a_short_text_has_no_bands_and_an_empty_one_no_hash() -> None:
    made_by = duplicates.scheme(0.8)
    assert made_by.sign(words(19)) == (15, [], [])
    assert len(made_by.sign(words(20))[2]) == duplicates.ANCHORS
    assert len(made_by.sign(words(20))[1]) == made_by.bands
    assert duplicates.signature(1, 1, [], made_by)["token_hash"] is None
    assert duplicates.token_hash(["a", "b"]) != duplicates.token_hash(["b", "a"])


def test_bands_fit_bigint_and_differ_by_their_place() -> None:
    made_by = duplicates.scheme(0.8)
    _, bands, _ = made_by.sign(words(100))
    assert len(set(bands)) == made_by.bands
    assert all(-(2**63) <= band < 2**63 for band in bands)


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.1, float("nan")])
def test_a_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(InvalidArgument, match="threshold"):
        duplicates.scheme(threshold)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    duplicates._empty.cache_clear()
    monkeypatch.setitem(sys.modules, "datasketch", None)
    try:
        with pytest.raises(MissingExtra) as caught:
            duplicates.scheme(0.8)
    finally:
        duplicates._empty.cache_clear()
    assert caught.value.hint == "Run: pip install 'pgsift[dedup]'"
