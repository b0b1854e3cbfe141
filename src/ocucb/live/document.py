"""A bandit as a JSON document: its parts, a format version, and checks.

`to_document` and `to_parts` are inverses; the parts are the arguments of `Bandit.from_parts`. A
document in an older format is read, too: a saved bandit cannot be played again.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from .. import _document
from .._document import is_flag, is_number, is_whole, take, take_floats, take_list
from .._text import MOST_DIGITS
from .._types import Floats, Words
from .._version import __version__
from ..policies import FAMILIES, Policy, parse_policy, to_policies
from .rules import Rules

_VERSION = 4
_ARMS, _NUMBERS = "a list of arms", "a list of numbers"
_SPELLED = ("nan", "inf", "-inf")  # what JSON has no numbers for


def to_document(parts: dict[str, Any], rules: Rules) -> dict[str, Any]:
    """Return the document of a bandit with these rules and parts."""
    arms, squares = parts["arms"], {}
    if _needs_squares(rules.policy, rules.bounds, rules.sigma):
        squares = {"squares": parts["squares"].tolist()}
    return {
        **facts_of("bandit", _VERSION, rules, parts["horizon"]),
        **words_of(parts["stream"], parts["memory"]),
        "rounds": parts["rounds"],
        "arms": arms,
        "pulls": parts["pulls"].tolist(),
        "open": parts["open"].tolist(),
        "sums": parts["sums"].tolist(),
        **squares,
        "retired": [name for name, on in zip(arms, parts["active"], strict=True) if not on],
    }


def facts_of(noun: str, version: int, rules: Rules, horizon: int | None) -> dict[str, Any]:
    """Return what a document says of its format and the bandit's rules."""
    return {
        "format": f"ocucb-{noun}",
        "format_version": version,
        "version": __version__,
        "policy": rules.policy.name,
        "own_policy": not rules.policy.is_ours,
        "horizon": horizon,
        "bounds": None if rules.bounds is None else list(rules.bounds),
        "sigma": rules.sigma,
        "minimize": rules.minimize,
        "strict": rules.strict,
        "seed": str(rules.seed),
    }


def words_of(stream: Words, memory: Floats) -> dict[str, Any]:
    """Return what a document says of random numbers, and of what a policy remembers."""
    return {
        "stream": [f"{word:016x}" for word in stream.tolist()],
        "memory": [x if isfinite(x) else str(x) for x in memory.tolist()],
    }


def saved_policy(document: dict[str, Any], policy: Any, source: str, kind: str) -> Policy | None:
    """Return the policy that somebody passed for a document, if it is the one; or None.

    A policy of the user's own must be passed. `kind` is the class that loads the document.
    """
    name = document.get("policy")
    if policy is not None:
        (policy,) = to_policies([policy])
        if policy.name != name:
            raise ValueError(f"{source} was saved with policy {name!r}, not {policy.name!r}.")
    elif document.get("own_policy") is True:
        raise ValueError(
            f"{source} was saved with a policy of your own, {name!r}: "
            f"pass it as {kind}.load(path, policy=...)."
        )
    return policy  # type: ignore[no-any-return]


def named_policy(document: dict[str, Any]) -> Policy:
    """Return the policy of this package that a document names."""
    name = take(document, "policy", _document.is_text, "text")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever chose the parameters has been warned
        return parse_policy(name)


def to_parts(document: Any, policy: Any, source: str) -> dict[str, Any]:
    """Return the parts of a bandit, or say in one sentence what is wrong with its document.

    `source` is where it came from; `policy` is the user's own, of which it holds only the name.
    """
    document = _document.opened(document, "bandit", _VERSION, source, STEPS)
    policy = saved_policy(document, policy, source, "Bandit")
    try:
        return _checked(document, policy)
    except (TypeError, ValueError) as error:
        raise _document.damaged(source, error) from None


def _checked(document: dict[str, Any], policy: Policy | None) -> dict[str, Any]:
    """Return parts of the right types; whether they fit together is for the bandit to check."""
    rules = rules_of(document, policy)
    arms, policy = rules["arms"], rules["policy"]
    size, whole, known = len(arms), "whole numbers from 0 to 2^53", set(arms)
    retired = set(take(document, "retired", _all(lambda x: _is_name(x) and x in known), _ARMS))
    stream, memory = stream_and_memory(document)
    squares = None
    if _needs_squares(rules["policy"], rules["bounds"], rules["sigma"]):
        squares = take_floats(document, "squares", size)
    return {
        **rules,
        "pulls": take_list(document, "pulls", size, is_whole, whole),
        "open": take_list(document, "open", size, is_whole, whole),
        "sums": take_floats(document, "sums", size),
        "active": [name not in retired for name in arms],
        "rounds": take(document, "rounds", is_whole, "a whole number from 0 to 2^53"),
        "stream": stream,
        "memory": memory,
        "squares": squares,
    }


def rules_of(document: dict[str, Any], policy: Policy | None) -> dict[str, Any]:
    """Return the arguments of a bandit with a document's rules; `policy` is the user's own."""
    flag = "true or false"
    take(document, "own_policy", is_flag, flag)
    bounds = take(document, "bounds", _is_range, "null or a list of 2 numbers")
    sigma = take(document, "sigma", lambda x: x is None or is_number(x), "null or a finite number")
    return {
        "arms": take_list(document, "arms", None, _is_name, "strings and whole numbers"),
        "policy": policy or named_policy(document),
        "horizon": take(document, "horizon", _is_horizon, "null or a whole number from 1 to 2^53"),
        "bounds": bounds,
        "sigma": sigma if bounds is None else None,
        "minimize": take(document, "minimize", is_flag, flag),
        "strict": take(document, "strict", is_flag, flag),
        "rng": int(take(document, "seed", _is_digits, "a whole number, as text")),
    }


def stream_and_memory(
    document: dict[str, Any], size: int | None = None
) -> tuple[list[int], list[float]]:
    """Return the words from which random numbers continue, and the memory, of this size if told."""
    words = take_list(document, "stream", 4, _is_word, "hexadecimal words of 64 bits")
    memory = take(document, "memory", _all(lambda x: is_number(x) or x in _SPELLED), _NUMBERS)
    if size not in (None, len(memory)):
        raise _document.Damaged(f"'memory' must be a list of {size} numbers")
    return [int(word, 16) for word in words], [float(x) for x in memory]


def _text_seed(document: dict[str, Any]) -> dict[str, Any]:
    """Format 1 had the seed as a number, which readers other than Python's round beyond 2^53.

    The first of its documents do not say whether the policy is the user's own.
    """
    seed, name = document.get("seed"), str(document.get("policy"))
    return {
        "own_policy": name.partition(":")[0] not in FAMILIES,
        **document,
        "seed": str(seed) if _document.is_seed(seed) else seed,
    }


def _with_squares(document: dict[str, Any]) -> dict[str, Any]:
    """Format 2 had no squares for KL policies on rewards in [0, 1], which did not look at them.

    Horizon and sigma were always told there; since then null means that they are not.
    """
    pulls, sums = document.get("pulls"), document.get("sums")
    if document.get("bounds") != [0.0, 1.0] or "squares" in document:
        return document
    if not (_all(is_number)(pulls) and _all(is_number)(sums) and len(pulls) == len(sums)):  # type: ignore[arg-type]
        return document  # damaged
    return {**document, "squares": _largest(pulls, sums, [0.0, 1.0])}


def _with_squares_of_bounds(document: dict[str, Any]) -> dict[str, Any]:
    """Format 3 had no squares for other policies, whatever the bounds, nor for other bounds."""
    pulls, sums, bounds = (document.get(key) for key in ("pulls", "sums", "bounds"))
    if "squares" in document or bounds is None:
        return document
    if not all(map(_all(is_number), (pulls, sums, bounds))) or len(bounds) != 2:
        return document  # damaged
    if len(pulls) != len(sums):  # type: ignore[arg-type]
        return document  # damaged, too
    return {**document, "squares": _largest(pulls, sums, bounds)}


def _largest(pulls: Any, sums: Any, bounds: Any) -> list[float]:
    """Return the largest squares of a document as a list."""
    found: list[float] = largest_squares(np.array(pulls), np.array(sums), *bounds).tolist()
    return found


def largest_squares(pulls: Floats, sums: Floats, low: float, high: float) -> Floats:
    """Return the squared deviations, from their mean, of rewards that are `low` and `high`.

    No rewards between these have larger ones. Intervals that assume them are valid, if wider.
    """
    parts = (sums - low * pulls) / (high - low)
    squares: Floats = np.maximum(0.0, parts * (1.0 - parts / np.maximum(pulls, 1.0)))
    squares *= (high - low) ** 2
    return squares


STEPS = (_text_seed, _with_squares, _with_squares_of_bounds)


def _needs_squares(policy: Policy, bounds: Any, sigma: float | None) -> bool:
    """Tell whether a bandit depends on the variances: through its policy or its intervals."""
    return bounds is not None or sigma is None or policy.family.rule.takes_variance


def _all(good: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda given: type(given) is list and all(map(good, given))


def _is_range(value: Any) -> bool:
    return value is None or (_all(is_number)(value) and len(value) == 2)


def _is_horizon(value: Any) -> bool:
    return value is None or _document.is_count(value)


def _is_digits(value: Any) -> bool:
    return type(value) is str and re.fullmatch(f"[0-9]{{1,{MOST_DIGITS}}}", value) is not None


def _is_name(value: Any) -> bool:
    return type(value) in (str, int)


def _is_word(value: Any) -> bool:
    return type(value) is str and re.fullmatch("[0-9a-f]{1,16}", value) is not None
