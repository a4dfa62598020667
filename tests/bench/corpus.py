"""A synthetic corpus with the statistics of prose, and queries over it; the same bytes on every machine.

Terms follow a shifted Zipf law (w0 the commonest), lengths are log-normal (about 55 terms), and 35 % of a
passage's terms come from one of 2,000 topics, so that terms occur together as they do in prose. A query takes
distinct terms of a random passage, rarer ones more often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

VOCABULARY = 400_000
TOPICS = 2_000
TOPIC_TERMS = 300
QUERIES = 200
#: Lengths of the extra queries, and how many of each.
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12)
PER_LENGTH = 40


@dataclass(frozen=True)
class Corpus:
    """Passages as strings of terms; ``queries`` of 2 to 6 terms; ``by_length`` queries of each length."""

    passages: list[str]
    queries: list[str]
    by_length: dict[int, list[str]]


def _passages(count: int) -> Iterator[str]:
    random = np.random.default_rng(7)
    weights = 1 / (np.arange(1, VOCABULARY + 1) + 12.0) ** 1.05
    distribution = np.cumsum(weights / weights.sum())
    topics = np.searchsorted(distribution, random.random((TOPICS, TOPIC_TERMS)))
    rarer = random.integers(200, VOCABULARY, size=topics.shape) // random.integers(1, 400, size=topics.shape)
    topics = np.maximum(topics, rarer)
    for length in np.clip(random.lognormal(3.9, 0.5, count).astype(int), 8, 400):
        topical = int(length * 0.35)
        topic = topics[random.integers(TOPICS)]
        picks = np.minimum((random.random(topical) ** 2 * TOPIC_TERMS).astype(int), TOPIC_TERMS - 1)
        common = np.minimum(np.searchsorted(distribution, random.random(length - topical)), VOCABULARY - 1)
        words = np.concatenate([common, topic[picks] % VOCABULARY])
        random.shuffle(words)
        yield " ".join(f"w{word}" for word in words)


def make(count: int) -> Corpus:
    """The corpus of ``count`` passages."""
    passages = list(_passages(count))
    frequency: Counter[str] = Counter()
    for passage in passages:
        frequency.update(set(passage.split()))

    def query(random: np.random.Generator, size: int | None) -> str:
        while True:
            words = list(dict.fromkeys(passages[random.integers(count)].split()))
            df = np.array([frequency[word] for word in words])
            idf = np.minimum(np.log(1 + (count - df + 0.5) / (df + 0.5)), 7)
            wanted = size or int(random.choice([2, 3, 4, 5, 6], p=[0.2, 0.3, 0.25, 0.15, 0.1]))
            if size is not None and len(words) < size:
                continue
            chosen = random.choice(len(words), min(len(words), wanted), replace=False, p=idf / idf.sum())
            return " ".join(words[index] for index in chosen)

    random = np.random.default_rng(11)
    queries = [query(random, None) for _ in range(QUERIES)]
    random = np.random.default_rng(13)
    by_length = {length: [query(random, length) for _ in range(PER_LENGTH)] for length in LENGTHS}
    return Corpus(passages, queries, by_length)
