"""Results as files: JSON documents, field by field, and CSV.

Each field of a result declares how it is saved, with one of the kinds below as its metadata. So
`to_document` and `from_document` know no result.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from .._document import (
    Damaged,
    is_amount,
    is_count,
    is_number,
    is_seed,
    is_text,
    is_whole,
    take,
    take_list,
)
from .._files import replacing
from .._types import Floats
from .moments import BINS, SAMPLE_SIZE, Estimate

SAMPLINGS = ("plain", "tilted")
_ROUNDS = "increasing rounds that ends with the horizon"

Document = dict[str, Any]


def to_document(result: Any) -> Document:
    """Return the fields of a result that declare a kind, as JSON has them."""
    return {
        each.name: each.metadata["write"](getattr(result, each.name), result)
        for each in fields(result)
        if each.metadata
    }


def from_document(kind: type, document: Document, arms: int = 0) -> dict[str, Any]:
    """Return the fields of a result, checked, from a document; raises `Damaged`."""
    return {
        each.name: each.metadata["read"](document, each.name, arms)
        for each in fields(kind)
        if each.metadata
    }


def write_csv(
    path: str | os.PathLike[str], columns: Iterable[str], rows: Iterable[Mapping[str, Any]]
) -> None:
    """Write rows to a CSV file."""
    with replacing(path) as file:
        writer = csv.DictWriter(file, [*columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def finite(value: float) -> float | None:
    """Return a value that JSON can represent: None instead of nan."""
    return float(value) if math.isfinite(value) else None


def _single(
    good: Callable[[Any], bool], words: str, convert: Callable[[Any], Any] = lambda value: value
) -> dict[str, Any]:
    """Declare a value that stands in the document as it is."""
    return {
        "write": lambda value, result: value,
        "read": lambda document, key, arms: convert(take(document, key, good, words)),
    }


def _several(
    size: Callable[[Document, int], int | None], good: Callable[[Any], bool], words: str
) -> dict[str, Any]:
    """Declare an array, whose size depends on the document and the number of arms."""

    def read(document: Document, key: str, arms: int) -> Floats:
        return np.array(take_list(document, key, size(document, arms), good, words), np.float64)

    return {"write": lambda value, result: value.tolist(), "read": read}


def _is_amount_or_unknown(value: Any) -> bool:
    return value is None or is_amount(value)


def _kept(document: Document, arms: int) -> int:
    return min(SAMPLE_SIZE, int(document["runs"]))  # which was read before, as were the checkpoints


def _checkpoints(document: Document, arms: int) -> int:
    return len(document["checkpoints"])


def _read_rounds(document: Document, key: str, arms: int) -> Any:
    rounds = take_list(document, key, None, is_count, _ROUNDS)
    if any(t >= later for t, later in pairwise(rounds)) or rounds[-1] != document["horizon"]:
        raise Damaged(f"{key!r} must be a list of {_ROUNDS}")
    return np.array(rounds, dtype=np.int64)


def _read_weights(document: Document, key: str, arms: int) -> Floats:
    kept = _kept(document, arms)
    plain = SAMPLING["read"](document, "sampling", arms) == "plain"
    weights = take_list(document, key, 0 if plain else kept, is_amount, _AMOUNTS)
    return np.ones(kept) if plain else np.array(weights, dtype=np.float64)


def _read_estimate(document: Document, key: str, arms: int) -> Estimate:
    words = "a number and its standard error"
    pair = take_list(document, key, 2, _is_amount_or_unknown, words)
    return Estimate(*(math.nan if x is None else float(x) for x in pair))


def _write_histogram(histogram: Floats, result: Any) -> list[list[float]]:
    """Return the bins that are not empty: number, sum of weights, sum of their squares."""
    return [[int(b), *histogram[:, b].tolist()] for b in np.flatnonzero(histogram[0])]


def _read_histogram(document: Document, key: str, arms: int) -> Floats:
    def is_bin(given: Any) -> bool:
        whole = isinstance(given, list) and len(given) == 3 and type(given[0]) is int
        return whole and 0 <= given[0] < BINS and all(map(is_amount, given[1:]))

    histogram = np.zeros((2, BINS))
    for b, *sums in take_list(document, key, None, is_bin, "bins with two sums each"):
        histogram[:, b] = sums
    return histogram


_WHOLE, _AMOUNTS = "a whole number from 1 to 2^53", "finite numbers, at least 0"

TEXT = _single(is_text, "text")
SAMPLING = _single(lambda value: value in SAMPLINGS, " or ".join(SAMPLINGS))
COUNT = _single(is_count, _WHOLE)
ROUND = _single(is_whole, "a whole number from 0 to 2^53")
SEED = _single(is_seed, "a whole number, at least 0")
TRUTH = _single(lambda value: isinstance(value, bool), "true or false")
AMOUNT = _single(is_amount, "a number, at least 0", float)
POSITIVE = _single(lambda value: is_amount(value) and value > 0, "a number greater than 0", float)
NUMBERS = _several(lambda document, arms: None, is_number, "finite numbers")
AT_CHECKPOINTS = _several(_checkpoints, is_number, "finite numbers")
ERRORS = _several(_checkpoints, _is_amount_or_unknown, _AMOUNTS)
ERRORS["write"] = lambda errors, result: [finite(x) for x in errors]  # nan after a single run
PER_ARM = _several(lambda document, arms: arms, is_amount, _AMOUNTS)
PER_ARM_IF_KNOWN = _several(lambda document, arms: arms, _is_amount_or_unknown, _AMOUNTS)
PER_ARM_IF_KNOWN["write"] = ERRORS["write"]
PER_RUN = _several(_kept, is_number, "finite numbers")
ROUNDS = {"write": lambda rounds, result: rounds.tolist(), "read": _read_rounds}
WEIGHTS = {
    "write": lambda weights, result: [] if result.sampling == "plain" else weights.tolist(),
    "read": _read_weights,
}
ESTIMATE = {"write": lambda pair, result: [finite(x) for x in pair], "read": _read_estimate}
HISTOGRAM = {"write": _write_histogram, "read": _read_histogram}
