"""Whether a policy's declarations hold, checked by evaluating its formula on a grid.

Engines skip rounds because a policy declares how its index behaves there. A false declaration
silently gives wrong numbers, so a user's declarations are checked before they are relied on.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np

from .._users import plain
from . import _rules
from ._divergence import kl_lower
from ._families import Policy

_Formula = Callable[[float, float], float]  # of pulls and t
_Others = Callable[[float, float], float]  # of pulls and arms: how many of these are effective

_POINTS = 24  # in each direction
_MEANS = (0.05, 0.5, 0.95)  # of arms, for a policy stated as an index
_SLACK = 1e-9  # tolerance for rounding, as a share of the values compared


def check_declarations(policy: Policy, horizon: int, arms: int) -> None:
    """Refuse a user's policy whose declarations fail for this horizon and number of arms."""
    if policy.is_ours or not policy.family.check:
        return
    found = false_declaration(policy, horizon, arms)
    if found is not None:
        raise ValueError(
            f"{policy.label} {found}; correct it, or pass check=False to the decorator to skip "
            "this check."
        )


def false_declaration(policy: Policy, horizon: int, arms: int) -> str | None:
    """Say which declaration of a policy is false, or return None if none is found to be."""
    rule = policy.family.rule
    if not isinstance(rule, _rules.ArmRule):
        return None
    n, K = float(horizon), float(arms)
    arguments = policy.arguments(horizon)
    # Only a bonus or a deviation does not depend on the mean. Effective arms are all arms if these
    # have as many pulls, and few if the others have one pull each.
    means = (0.0,) if isinstance(rule, _rules.BonusRule | _rules.SamplingRule) else _MEANS
    others = (_alike, _alone) if rule.takes_effective_arms else (_alike,)
    for mean, rest in product(means, others):
        answer = partial(_answer, rule, arguments, mean, rest, n, K)
        value = partial(_value, rule, mean, answer)
        found = None
        if isinstance(rule, _rules.SamplingRule):
            found = _out_of_range(answer, "finite and at least 0", n, K)
        elif isinstance(rule, _rules.KLRule):
            found = _out_of_range(answer, "a budget of at least 0", n, K, most=math.inf)
        if found is None and rule.unplayed_index is not None:
            found = _false_in_time(value, rule.unplayed_index, n, K)
            if isinstance(rule, _rules.IndexRule):
                found = found or _false_in_pulls(value, n, K)
        if found is None and isinstance(rule, _rules.ConfidenceRule) and rule.concave:
            edge = math.inf
            if rule.concave_until is not None:
                edge = _edge(policy, rule.concave_until(n, K, *policy.values))
                found = _false_beyond(value, edge, n, K)
            if isinstance(rule, _rules.BernoulliKLRule):
                found = found or _bent_both_ways(answer, n, K)
            else:
                found = found or _not_concave(value, edge, n, K)
        if found is not None:
            return found
    return None


def _answer(
    rule: _rules.Rule, arguments: tuple[Any, ...], mean: float, others: _Others, n: float, K: float,
    pulls: float, t: float,
) -> float:  # fmt: skip
    """Call a rule's function as Python; nan where it raises: compiled code gives nan or inf."""
    state = {"mean": mean, "variance": 0.25, "pulls": pulls, "t": t, "horizon": n, "arms": K}
    state |= {"effective_arms": others(pulls, K), "sigma": 1.0}
    try:
        number = rule.source(*(state[name] for name in rule.inputs), *arguments)
        return math.nan if isinstance(number, complex) else float(number)  # (-1.0) ** 0.5 is one
    except (ArithmeticError, ValueError):
        return math.nan


def _value(rule: _rules.Rule, mean: float, answer: _Formula, pulls: float, t: float) -> float:
    """Return what a rule adds to the mean or, if it is a budget on [0, 1], allows below."""
    number = answer(pulls, t)
    try:
        if isinstance(rule, _rules.GaussianKLRule):
            return math.sqrt(2.0 * number / pulls)
        if isinstance(rule, _rules.BernoulliKLRule):
            return mean - float(plain(kl_lower)(mean, number / pulls))
    except (ArithmeticError, ValueError):
        return math.nan
    return number


def _alike(pulls: float, arms: float) -> float:
    return arms


def _alone(pulls: float, arms: float) -> float:
    return 1.0 + (arms - 1.0) / math.sqrt(pulls)


def has_infinite_bonus(policy: Policy, horizon: int, arms: int) -> bool:
    """Tell whether a bonus is found to be infinite, which leaves an engine nothing to compare."""
    n, K = float(horizon), float(arms)
    rule, arguments = policy.family.rule, policy.arguments(horizon)
    return any(
        pulls < t <= n and math.isinf(_answer(rule, arguments, 0.5, _alike, n, K, pulls, t))
        for pulls in _grid(1.0, max(1.0, n - K))
        for t in (max(K, pulls) + 1.0, n)
    )


def _edge(policy: Policy, given: Any) -> float:
    """Return the pulls up to which a policy declares that it is concave."""
    if not isinstance(given, int | float) or math.isnan(given):
        raise ValueError(f"{policy.label}'s concave_until must return a number, got {given!r}.")
    return given if math.isinf(given) else math.floor(given)


def _grid(low: float, high: float) -> list[float]:
    """Return whole numbers from low to high: the first few, then ever sparser."""
    if high < low:
        return []
    first = np.arange(low, min(high, low + 4.0) + 1.0)
    rest = np.round(np.geomspace(low, high, _POINTS))
    return [float(x) for x in np.unique(np.concatenate([first, rest, [high]])) if x <= high]


def _exceeds(one: float, other: float) -> bool:
    return one > other + _SLACK * (abs(one) + abs(other))


def _out_of_range(
    answer: _Formula, range_: str, n: float, K: float, most: float = sys.float_info.max
) -> str | None:
    """Say where a deviation or budget is negative or too large: engines would not agree there."""
    for pulls in _grid(1.0, n - K):
        for t in _grid(max(K, pulls) + 1.0, n):
            if not 0.0 <= answer(pulls, t) <= most:
                return (
                    f"must be {range_} everywhere, but its formula gives {answer(pulls, t):g} in "
                    f"round {t:g} for an arm with {pulls:g} pull{'s' * (pulls > 1)}"
                )
    return None


def _false_in_time(value: _Formula, declared: str, n: float, K: float) -> str | None:
    """Say where the value changes with t against its declaration."""
    for pulls in _grid(1.0, n - K):
        for t, later in pairwise(_grid(max(K, pulls) + 1.0, n)):
            now, then = value(pulls, t), value(pulls, later)
            rises, falls = _exceeds(then, now), _exceeds(now, then)
            if (rises and declared != "nondecreasing") or (falls and declared != "nonincreasing"):
                return (
                    f'declares unplayed_index="{declared}", but its formula '
                    f"{'rises' if rises else 'falls'} from {now:g} to {then:g} between rounds "
                    f"{t:g} and {later:g} for an arm with {pulls:g} pull{'s' * (pulls > 1)}"
                )
    return None


def _false_in_pulls(value: _Formula, n: float, K: float) -> str | None:
    for t in _grid(K + 1.0, n):
        for few, many in pairwise(_grid(1.0, t - K)):
            if _exceeds(value(many, t), value(few, t)):
                return (
                    f"declares unplayed_index, but its bonus rises from {value(few, t):g} to "
                    f"{value(many, t):g} between {few:g} and {many:g} pulls in round {t:g}"
                )
    return None


def _false_beyond(value: _Formula, edge: float, n: float, K: float) -> str | None:
    for pulls in _grid(edge + 1.0, n - K):
        t = pulls + K
        if abs(value(pulls, t)) > 0.0:
            return (
                f"declares concave_until = {edge:g} pulls, but its bonus is {value(pulls, t):g} "
                f"with {pulls:g} pulls in round {t:g}"
            )
    return None


def _bent_both_ways(answer: _Formula, n: float, K: float) -> str | None:
    """Say where a budget is neither concave nor convex while an arm is played."""
    for t in _grid(K + 1.0, n)[::3]:
        for pulls in _grid(1.0, t - K)[::3]:
            marks = [0.0, *_grid(1.0, n - t)]
            heights = [answer(pulls + s, t + s) for s in marks]
            above = below = False
            for i in range(1, len(marks) - 1):
                share = (marks[i] - marks[i - 1]) / (marks[i + 1] - marks[i - 1])
                chord = heights[i - 1] + share * (heights[i + 1] - heights[i - 1])
                above = above or _exceeds(heights[i], chord)
                below = below or _exceeds(chord, heights[i])
            if above and below:
                return (
                    "declares concave=True, but its budget is neither concave nor convex from "
                    f"{pulls:g} pulls in round {t:g} on"
                )
    return None


def _not_concave(value: _Formula, edge: float, n: float, K: float) -> str | None:
    """Say where pulls * bonus is negative, or below a chord, while an arm is played."""
    for t in _grid(K + 1.0, n)[::3]:
        for pulls in _grid(1.0, t - K)[::3]:
            span = min(n - t, edge - pulls)
            marks = [s for s in (0.0, *_grid(1.0, span)) if s <= span]
            heights = [(pulls + s) * value(pulls + s, t + s) for s in marks]
            if any(height < 0.0 for height in heights):
                return f"declares concave=True, but its bonus is negative near round {t:g}"
            for i in range(1, len(marks) - 1):
                share = (marks[i] - marks[i - 1]) / (marks[i + 1] - marks[i - 1])
                chord = heights[i - 1] + share * (heights[i + 1] - heights[i - 1])
                if _exceeds(chord, heights[i]):
                    return (
                        "declares concave=True, but pulls * bonus lies below its chord at "
                        f"{pulls + marks[i]:g} pulls in round {t + marks[i]:g}"
                    )
    return None
