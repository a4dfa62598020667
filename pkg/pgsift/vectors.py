"""Vectors as callers have them, made into what the database takes: a list of finite floats.

Accepted are sequences of numbers, numpy arrays of one dimension and of any numeric type, and the types
``Vector``, ``HalfVector`` and ``SparseVector`` of the package ``pgvector``. No package is imported for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pgsift.errors import InvalidVector

#: The largest number of ``real``, the type vectors are stored in (IEEE 754 binary32).
MAX_REAL = 3.4028234663852886e38
MIN_REAL = 1.1754943508222875e-38


def as_floats(vector: Any, *, dimensions: int | None = None) -> list[float]:
    """The vector as a list of floats.

    Raises :class:`~pgsift.errors.InvalidVector` when it is no vector, is empty, holds NaN, infinity or a
    number ``real`` cannot hold, or when its length is not ``dimensions``.
    """
    values: Any = vector
    if hasattr(values, "to_list"):  # pgvector
        values = values.to_list()
    elif hasattr(values, "tolist"):  # numpy
        values = values.tolist()
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidVector(
            f"a vector is a sequence of numbers, not {type(vector).__name__}",
            hint="Pass a list of floats, a numpy array or a pgvector Vector.",
        )
    try:
        # Below the smallest normal number of real PostgreSQL reports underflow.
        result = [0.0 if abs(value) < MIN_REAL else value for value in map(float, values)]
    except (TypeError, ValueError):
        raise InvalidVector(
            "a vector is a flat sequence of numbers", hint="Of a matrix, pass one row at a time."
        ) from None
    if dimensions is not None and len(result) != dimensions:
        raise InvalidVector(
            f"the vector has {len(result)} dimensions, the model has {dimensions}",
            hint="Use the model the vectors of this tenant were made with.",
        )
    if not result:
        raise InvalidVector("the vector is empty")
    if not math.isfinite(sum(result)) or max(map(abs, result)) > MAX_REAL:
        for position, value in enumerate(result, start=1):
            if not abs(value) <= MAX_REAL:
                raise InvalidVector(
                    f"element {position} of the vector is {value}",
                    hint="Every element must be a finite number of type real.",
                )
    return result


def as_matrix(vectors: Any) -> list[list[float]]:
    """One vector per token as lists of floats, all of one length, at least one; raises as :func:`as_floats`."""
    values: Any = vectors.tolist() if hasattr(vectors, "tolist") else vectors
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidVector(
            f"token vectors are a sequence of vectors, not {type(vectors).__name__}",
            hint="Pass a list of lists of floats, or a numpy array of shape (tokens, dimensions).",
        )
    rows = [as_floats(row) for row in values]
    if not rows:
        raise InvalidVector("there is no token vector")
    for place, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise InvalidVector(
                f"the vector of token {place} has {len(row)} dimensions, that of the first has {len(rows[0])}"
            )
    return rows


def matrix_text(vectors: Any) -> str:
    """Token vectors in the text form the database takes, ``[[0.1,0.2],[0.3,0.4]]``."""
    return "[" + ",".join("[" + ",".join(map(repr, row)) + "]" for row in as_matrix(vectors)) + "]"


def vector_text(vector: Any, *, dimensions: int | None = None) -> str:
    """The vector in pgvector's text form, ``[0.1,0.2]``; raises as :func:`as_floats`."""
    return "[" + ",".join(map(repr, as_floats(vector, dimensions=dimensions))) + "]"
