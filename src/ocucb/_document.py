"""JSON documents that ocucb saved: opened by format and version, and checked value by value.

A document may come from anywhere, so every value is checked before it is used. `Damaged` holds the
end of a sentence; `damaged` completes it with the place that the document came from.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ._text import LARGEST_COUNT
from ._types import Floats

_NOT_JSON = object()


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


def opened(document: Any, noun: str, version: int, source: object) -> dict[str, Any]:
    """Return a document if it is a `noun` that this version of the package can read."""
    if not isinstance(document, dict) or document.get("format") != f"ocucb-{noun}":
        detail = ", or it is damaged: it is not complete JSON" if document is _NOT_JSON else ""
        raise ValueError(f"{source} is not a {noun} that ocucb saved{detail}.")
    found = document.get("format_version")
    if type(found) is not int or found != version:
        raise ValueError(
            f"{source} was saved in format {found!r}, and this ocucb reads format {version}; "
            "use the version that saved it."
        )
    return document


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
    """Tell whether a value is a string."""
    return type(value) is str


def is_object(value: Any) -> bool:
    """Tell whether a value is a JSON object."""
    return type(value) is dict


def is_flag(value: Any) -> bool:
    """Tell whether a value is true or false."""
    return type(value) is bool


def is_seed(value: Any) -> bool:
    """Tell whether a value is a whole number, at least 0."""
    return type(value) is int and value >= 0


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number from 0 to 2^53."""
    return is_seed(value) and value <= LARGEST_COUNT


def is_count(value: Any) -> bool:
    """Tell whether a value is a whole number from 1 to 2^53."""
    return is_whole(value) and value >= 1


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number that a float can hold."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def is_amount(value: Any) -> bool:
    """Tell whether a value is a finite number, at least 0."""
    return is_number(value) and value >= 0
