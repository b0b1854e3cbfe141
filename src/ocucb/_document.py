"""JSON documents that ocucb saved: opened by format and version, and checked value by value.

A document may come from anywhere, so every value is checked before it is used. `Damaged` holds the
end of a sentence; `damaged` completes it with the place that the document came from.

A document in an older format is brought up to date step by step when it is opened. To change a
format, raise its version and add the step from the version before; steps of old are never changed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._text import LARGEST_COUNT, MOST_DIGITS, shown
from ._types import Floats

_NOT_JSON = object()

# Returns the next version of a document, which need not be sound: that is checked afterwards.
Step = Callable[[dict[str, Any]], dict[str, Any]]


class Damaged(ValueError):
    """What is wrong with a document: "'sigma' is missing"."""


def damaged(source: object, error: Exception) -> ValueError:
    """Return the error for a document from `source` that holds something wrong."""
    return ValueError(f"{source} is damaged: {str(error).rstrip('.')}.")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return what a file holds, or something that `opened` refuses."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return _NOT_JSON


def opened(
    document: Any, noun: str, version: int, source: object, steps: Sequence[Step] = ()
) -> dict[str, Any]:
    """Return a document in the present format, if it is a `noun` ("bandit") that ocucb can read.

    The last step leads to the present `version` from the one before, and so on backwards; older
    formats cannot be read. `source` is where the document came from.
    """
    if not isinstance(document, dict) or document.get("format") != f"ocucb-{noun}":
        detail = ", or it is damaged: it is not complete JSON" if document is _NOT_JSON else ""
        raise ValueError(f"{source} is not a {noun} that ocucb saved{detail}.")
    found = document.get("format_version")
    oldest = version - len(steps)
    if type(found) is not int or not oldest <= found <= version:
        known = f"formats {oldest} to {version}" if steps else f"format {version}"
        later = ", or a newer one" if type(found) is int and found > version else ""
        raise ValueError(
            f"{source} was saved in format {shown(found)}, and this ocucb reads {known}; "
            f"use the version that saved it{later}."
        )
    for step in steps[found - oldest :]:
        document = step(document)
    return document  # type: ignore[no-any-return]


def take(document: dict[str, Any], key: str, good: Callable[[Any], bool], words: str) -> Any:
    """Return the value under `key`, or say what it must be."""
    if key not in document:
        raise Damaged(f"{key!r} is missing")
    if not good(document[key]):
        raise Damaged(f"{key!r} must be {words}")
    return document[key]


def take_list(
    document: dict[str, Any], key: str, size: int | None, good: Callable[[Any], bool], words: str
) -> list[Any]:
    """Return a list of `size` values, or of at least one value where `size` is None."""

    def fits(given: Any) -> bool:
        return (
            type(given) is list
            and (len(given) > 0 if size is None else len(given) == size)
            and all(map(good, given))
        )

    number = "" if size is None else f"{size} "
    values: list[Any] = take(document, key, fits, f"a list of {number}{words}")
    return values


def take_floats(document: dict[str, Any], key: str, size: int | None = None) -> Floats:
    """Return a list of finite numbers as an array."""
    return np.array(take_list(document, key, size, is_number, "finite numbers"), dtype=np.float64)


# `type` rather than `isinstance`, because True is an int


def is_text(value: Any) -> bool:
    return type(value) is str


def is_object(value: Any) -> bool:
    return type(value) is dict


def is_flag(value: Any) -> bool:
    return type(value) is bool


def is_seed(value: Any) -> bool:
    """Tell whether a value is a whole number, at least 0, that can be written as text."""
    return type(value) is int and 0 <= value < 10**MOST_DIGITS


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number from 0 to 2^53."""
    return type(value) is int and 0 <= value <= LARGEST_COUNT


def is_count(value: Any) -> bool:
    """Tell whether a value is a whole number from 1 to 2^53."""
    return is_whole(value) and value >= 1


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number that a float can hold."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def is_amount(value: Any) -> bool:
    """Tell whether a value is a finite number, at least 0."""
    return is_number(value) and value >= 0
