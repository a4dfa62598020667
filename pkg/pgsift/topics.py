"""Topics: documents that lie together by their vectors.

A document's vector is the mean of the vectors of its chunks, scaled to length 1. UMAP (L. McInnes, J. Healy,
J. Melville: UMAP: Uniform Manifold Approximation and Projection for Dimension Reduction, arXiv:1802.03426)
reduces these to :data:`COMPONENTS` dimensions by their cosine distances, and HDBSCAN (R. Campello, D. Moulavi,
J. Sander: Density-based clustering based on hierarchical density estimates, 2013) finds the dense places there;
what lies in none is an outlier. A second reduction, to two dimensions, is for the eye alone.

What a topic is about says the database: class-based tf-idf over the documents that whoever asks may see
(``sift.list_topics``).

The same vectors, seed, settings and versions of the libraries (:func:`parameters` names them) give the same
topics on the same machine; another processor may round otherwise, and a point at the edge of a topic may fall
to the other side.

Both libraries come with the extra ``topics`` and take seconds to load: nothing here imports them before it
needs them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsift.errors import InvalidArgument, MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pgsift.models import Model, TopicsReport

    Matrix = NDArray[np.float32]

#: Dimensions in which is clustered; fewer where there are fewer documents.
COMPONENTS = 5
SEED = 42
#: Fewer documents have no neighbourhoods to reduce: they are clustered as they are.
_FEWEST_REDUCED = 4


def default_min_size(documents: int) -> int:
    """How many documents make a topic at least, where nobody says: 2 of up to 19, 15 of 260 and more."""
    return min(15, 2 + documents // 20)


def default_neighbors(documents: int) -> int:
    """How many neighbours of a document UMAP looks at, where nobody says: the square root of the number of
    documents, but 2 to 15. In few documents more of them would make one topic of everything."""
    return max(2, min(15, math.isqrt(documents)))


def load_libraries() -> None:
    """Import what this module needs, or :class:`MissingExtra`."""
    try:
        import sklearn.cluster  # noqa: F401

        with warnings.catch_warnings():
            # umap tells that TensorFlow is missing, for what is not used here.
            warnings.simplefilter("ignore", ImportWarning)
            import umap  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            f"topics need the packages umap-learn and scikit-learn ({error})",
            hint="Run: pip install 'pgsift[topics]'",
        ) from error


def parameters(*, seed: int, neighbors: int, min_size: int) -> dict[str, Any]:
    """What a run was made with, as it is stored with it."""
    return {
        "seed": seed,
        "neighbors": neighbors,
        "min_size": min_size,
        "components": COMPONENTS,
        "versions": {name: version(name) for name in ("umap-learn", "scikit-learn", "numpy")},
    }


def check(*, seed: int, neighbors: int | None, min_size: int | None) -> None:
    """Refuse settings that mean nothing with :class:`InvalidArgument`."""
    if not 0 <= seed < 2**32:
        raise InvalidArgument(f"seed must be between 0 and 4294967295, not {seed}")
    if neighbors is not None and neighbors < 2:
        raise InvalidArgument(
            f"neighbors must be at least 2, not {neighbors}",
            hint="It is how many neighbours of a document are looked at; 15 is usual for many documents.",
        )
    if min_size is not None and min_size < 2:
        raise InvalidArgument(
            f"min_size must be at least 2, not {min_size}",
            hint="It is how many documents make a topic; a document alone is an outlier.",
        )


@dataclass(frozen=True, slots=True)
class Clustering:
    """Of each document its label (``int32``; -1 for outliers), how firmly it belongs there (0 to 1), its cosine
    distance to the mean of the label's vectors (NaN for outliers), and where it lies in the picture
    (``(n, 2)``)."""

    labels: NDArray[np.int32]
    strengths: NDArray[np.float64]
    distances: NDArray[np.float64]
    positions: NDArray[np.float64]


def cluster(
    vectors: Matrix, *, seed: int = SEED, neighbors: int | None = None, min_size: int | None = None
) -> Clustering:
    """Cluster at least two vectors of length 1, shape ``(n, dimensions)``.

    All of them outliers is an answer as good as any: there are no dense places then.
    """
    import numpy as np

    check(seed=seed, neighbors=neighbors, min_size=min_size)
    number = len(vectors)
    if number < 2:
        raise too_few(number)
    load_libraries()
    from sklearn.cluster import HDBSCAN

    size = default_min_size(number) if min_size is None else min_size
    near = default_neighbors(number) if neighbors is None else neighbors
    reduced = _reduced(vectors, COMPONENTS, seed=seed, neighbors=near, spread_out=False)
    if size > number:
        labels, strengths = np.full(number, -1, dtype=np.int32), np.zeros(number)
    else:
        found = HDBSCAN(min_cluster_size=size, min_samples=min(size, number), copy=True).fit(reduced)
        labels, strengths = found.labels_.astype(np.int32), np.clip(found.probabilities_, 0.0, 1.0)
        labels[labels < 0] = -1
    positions = _reduced(vectors, 2, seed=seed, neighbors=near, spread_out=True)
    return Clustering(
        labels, np.where(labels < 0, 0.0, strengths), centre_distances(vectors, labels), positions
    )


def centre_distances(vectors: Matrix, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Cosine distance of each vector to the mean of those with its label; NaN where the label is -1. A mean
    without a direction is 1 away from everything."""
    import numpy as np

    distances = np.full(len(labels), np.nan)
    for label in np.unique(labels[labels >= 0]):
        members = labels == label
        centre = vectors[members].mean(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(centre))
        cosines = vectors[members] @ (centre / length) if length > 0.0 else np.zeros(int(members.sum()))
        distances[members] = np.clip(1.0 - cosines, 0.0, 2.0)
    return distances


def too_few(number: int) -> InvalidArgument:
    """What is wrong with fewer than two documents."""
    return InvalidArgument(
        f"topics need at least two documents with vectors, and there {'is' if number == 1 else 'are'} "
        f"{number or 'none'}",
        hint="Ingest more with an embedder; pgsift documents lists what there is.",
    )


def _reduced(
    vectors: Matrix, components: int, *, seed: int, neighbors: int, spread_out: bool
) -> NDArray[np.float64]:
    """The vectors in fewer dimensions; ``spread_out`` for the eye, else packed for HDBSCAN."""
    import numpy as np

    number = len(vectors)
    if number < _FEWEST_REDUCED:
        # UMAP needs two neighbours each. The first principal components are exact, and as good.
        centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
        left, values, _ = np.linalg.svd(centred, full_matrices=False)
        return _padded(left * values, components)
    import umap

    with warnings.catch_warnings():
        # On few or disconnected documents the spectral start is replaced by another, and said to be.
        warnings.simplefilter("ignore")
        reduced = umap.UMAP(
            n_neighbors=min(neighbors, number - 1),
            # The spectral start needs more documents than eigenvectors.
            n_components=min(components, number - 2),
            metric="cosine",
            min_dist=0.1 if spread_out else 0.0,
            random_state=seed,
            n_jobs=1,
        ).fit_transform(vectors)
    reduced = np.asarray(reduced, dtype=np.float64)
    if not np.isfinite(reduced).all():
        # Without a neighbour at a finite distance a document has no place of its own.
        reduced = np.nan_to_num(reduced, nan=0.0, posinf=0.0, neginf=0.0)
    return _padded(reduced, components) if spread_out else reduced


def _padded(points: NDArray[np.float64], columns: int) -> NDArray[np.float64]:
    import numpy as np

    kept = points[:, :columns]
    return np.pad(kept, ((0, 0), (0, columns - kept.shape[1])))


def unit(vectors: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
    """The rows scaled to length 1, and which rows have a direction at all; the others are zero."""
    import numpy as np

    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    directed = np.isfinite(lengths) & (lengths > 0.0)
    scaled = np.zeros_like(vectors)
    scaled[directed] = (vectors[directed] / lengths[directed, None]).astype(np.float32)
    return scaled, directed


class VectorCache:
    """The vectors of documents, in a file of the user's cache directory, by the hash of what was embedded.

    One file for a tenant and a model. It holds what the last run needed and nothing older, and is readable by
    its owner alone: a vector tells of its text. A file that cannot be read counts as empty.
    """

    def __init__(self, folder: Path, tenant: str, model: Model) -> None:
        about = json.dumps([tenant, model.to_dict()], sort_keys=True)
        self.path = folder / f"{hashlib.sha256(about.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.npz"
        self._dimensions = model.dimensions

    def read(self) -> dict[bytes, Matrix]:
        """What is kept, by hash."""
        import numpy as np

        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                hashes, vectors = kept["hashes"], kept["vectors"]
        except (OSError, ValueError, KeyError, EOFError):
            return {}
        except Exception as error:  # zipfile.BadZipFile and zlib.error have no common ancestor
            if type(error).__module__ not in ("zipfile", "zlib"):
                raise
            return {}
        if (
            hashes.dtype != np.uint8 or hashes.ndim != 2 or vectors.dtype != np.float32
            or vectors.shape != (len(hashes), self._dimensions)
        ):  # fmt: skip
            return {}
        return {row.tobytes(): vector for row, vector in zip(hashes, vectors, strict=True)}

    def write(self, vectors: Mapping[bytes, Matrix]) -> None:
        """Keep these and nothing else. Where nothing can be written, nothing is kept: that is no error."""
        import numpy as np

        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, partial = tempfile.mkstemp(dir=self.path.parent, suffix=".part")  # mode 0600
            try:
                with os.fdopen(descriptor, "wb") as file:
                    np.savez(
                        file,
                        hashes=np.frombuffer(b"".join(vectors), dtype=np.uint8).reshape(len(vectors), -1),
                        vectors=np.stack(list(vectors.values())),
                    )
                Path(partial).replace(self.path)
            except BaseException:
                Path(partial).unlink(missing_ok=True)
                raise


def default_cache() -> Path:
    """The folder of :class:`VectorCache` in the user's cache directory."""
    import platformdirs

    return platformdirs.user_cache_path("pgsift", appauthor=False) / "topics"


def batches(items: Sequence[int], size: int) -> Iterable[list[int]]:
    """*items* in lists of at most *size*."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def write_json(report: TopicsReport, path: Path) -> None:
    """Write a report as JSON: of each topic its terms with their weights and its representative documents, and
    of each document its topic and place."""
    about = report.run.to_dict()
    content = {
        "run": about,
        "topics": [
            {
                "topic": topic.topic,
                "documents": topic.documents,
                "share": topic.share,
                "terms": [
                    {"term": term, "weight": weight}
                    for term, weight in zip(topic.terms, topic.weights, strict=True)
                ],
                "representatives": [
                    {"key": key, "title": title} for key, title in zip(topic.keys, topic.titles, strict=True)
                ],
            }
            for topic in report.topics
        ],
        "documents": [document.to_dict() for document in report.documents],
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
