"""A bandit as a JSON document: its parts, a format version, and checks.

`to_document` and `to_parts` are inverses; the parts are the arguments of `Bandit.from_parts`. A
document in an older format is read, too: a saved bandit cannot be played again.
"""

from __future__ import annotations

import re
import warnings
from math import isfinite
from typing import Any

from .._document import (
    damaged,
    is_count,
    is_flag,
    is_number,
    is_seed,
    is_text,
    is_whole,
    opened,
    take,
    take_floats,
    take_list,
)
from .._text import MOST_DIGITS
from .._version import __version__
from ..policies import FAMILIES, Policy, parse_policy, to_policies

_VERSION = 2
_SPELLED = ("nan", "inf", "-inf")  # what JSON has no numbers for


def to_document(parts: dict[str, Any], sigma: float) -> dict[str, Any]:
    """Return the document of a bandit with these parts, and with a sigma that may be implied."""
    policy, bounds, arms = parts["policy"], parts["bounds"], parts["arms"]
    played = policy.family.form(bounds == (0.0, 1.0))
    squares = {"squares": parts["squares"].tolist()} if played.takes_variance else {}
    return {
        "format": "ocucb-bandit",
        "format_version": _VERSION,
        "version": __version__,
        "policy": policy.name,
        "own_policy": FAMILIES.get(policy.family.name) is not policy.family,
        "horizon": parts["horizon"],
        "bounds": None if bounds is None else list(bounds),
        "sigma": sigma,
        "minimize": parts["minimize"],
        "strict": parts["strict"],
        "seed": str(parts["rng"]),
        "rounds": parts["rounds"],
        "stream": [f"{word:016x}" for word in parts["stream"].tolist()],
        "memory": [x if isfinite(x) else str(x) for x in parts["memory"].tolist()],
        "arms": arms,
        "pulls": parts["pulls"].tolist(),
        "open": parts["open"].tolist(),
        "sums": parts["sums"].tolist(),
        **squares,
        "retired": [name for name, on in zip(arms, parts["active"], strict=True) if not on],
    }


def to_parts(document: Any, policy: Any, source: str) -> dict[str, Any]:
    """Return the parts of a bandit, or say in one sentence what is wrong with its document.

    Parameters
    ----------
    document : object
        What ought to be a document.
    policy : Policy, PolicyFamily or None
        The policy, where the document holds only the name of one that is the user's own.
    source : str
        Where the document came from.
    """
    document = opened(document, "bandit", _VERSION, source, STEPS)
    name = document.get("policy")
    if policy is not None:
        (policy,) = to_policies([policy])
        if policy.name != name:
            raise ValueError(f"{source} was saved with policy {name!r}, not {policy.name!r}.")
    elif document.get("own_policy") is True:
        raise ValueError(
            f"{source} was saved with a policy of your own, {name!r}: "
            "pass it as Bandit.load(path, policy=...)."
        )
    try:
        return _checked(document, policy)
    except (TypeError, ValueError) as error:
        raise damaged(source, error) from None


def _checked(document: dict[str, Any], policy: Policy | None) -> dict[str, Any]:
    """Return parts of the right types; whether they fit together is for the bandit to check."""
    name = take(document, "policy", is_text, "text")
    take(document, "own_policy", is_flag, "true or false")
    if policy is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever chose the parameters has been warned
            policy = parse_policy(name)
    arms = take_list(document, "arms", None, _is_name, "strings and whole numbers")
    known = set(arms)
    retired = take(
        document,
        "retired",
        lambda given: type(given) is list and all(map(_is_name, given)) and known.issuperset(given),
        "a list of arms",
    )
    retired = set(retired)
    whole = "whole numbers from 0 to 2^53"
    bounds = take(
        document,
        "bounds",
        lambda given: (
            given is None
            or (type(given) is list and len(given) == 2 and all(map(is_number, given)))
        ),
        "null or a list of 2 numbers",
    )
    sigma = take(document, "sigma", is_number, "a finite number")
    words = take_list(document, "stream", 4, _is_word, "hexadecimal words of 64 bits")
    memory = take(
        document,
        "memory",
        lambda given: type(given) is list and all(is_number(x) or x in _SPELLED for x in given),
        "a list of numbers",
    )
    squares = None
    if policy.family.form(bounds == [0.0, 1.0]).takes_variance:
        squares = take_floats(document, "squares", len(arms))
    return {
        "arms": arms,
        "policy": policy,
        "horizon": take(document, "horizon", is_count, "a whole number from 1 to 2^53"),
        "bounds": bounds,
        "sigma": sigma if bounds is None else None,
        "minimize": take(document, "minimize", is_flag, "true or false"),
        "strict": take(document, "strict", is_flag, "true or false"),
        "rng": int(take(document, "seed", _is_digits, "a whole number, as text")),
        "pulls": take_list(document, "pulls", len(arms), is_whole, whole),
        "open": take_list(document, "open", len(arms), is_whole, whole),
        "sums": take_floats(document, "sums", len(arms)),
        "active": [name not in retired for name in arms],
        "rounds": take(document, "rounds", is_whole, "a whole number from 0 to 2^53"),
        "stream": [int(word, 16) for word in words],
        "memory": [float(x) for x in memory],
        "squares": squares,
    }


def _text_seed(document: dict[str, Any]) -> dict[str, Any]:
    """Format 1 had the seed as a number, which readers other than Python's round beyond 2^53.

    The first of its documents do not say whether the policy is the user's own.
    """
    seed, name = document.get("seed"), str(document.get("policy"))
    return {
        "own_policy": name.partition(":")[0] not in FAMILIES,
        **document,
        "seed": str(seed) if is_seed(seed) else seed,
    }


STEPS = (_text_seed,)


def _is_digits(value: Any) -> bool:
    return type(value) is str and re.fullmatch(f"[0-9]{{1,{MOST_DIGITS}}}", value) is not None


def _is_name(value: Any) -> bool:
    return type(value) in (str, int)


def _is_word(value: Any) -> bool:
    return type(value) is str and re.fullmatch("[0-9a-f]{1,16}", value) is not None
