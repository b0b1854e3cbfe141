"""Whether a policy's declarations hold, checked by evaluating its formula on a grid.

Engines skip rounds because a policy declares how its index behaves there. A false declaration
silently gives wrong numbers, so a user's declarations are checked before they are relied on.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import pairwise, product

import numpy as np

from .._users import plain
from ._base import Policy
from ._divergence import kl_lower

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
    family = policy.family
    if family.kind == "choice":
        return None
    n, K = float(horizon), float(arms)
    arguments = policy.arguments(horizon)
    # A bonus does not depend on the mean. Effective arms are all arms if these have as many pulls,
    # and few if the others have one pull each.
    flat = family.has_bonus or family.kind == "sampling"
    means = (0.0,) if flat else _MEANS
    others = (_alike, _alone) if family.takes_effective_arms else (_alike,)
    for mean, rest in product(means, others):

        def effective_arms(pulls: float, rest: Callable[..., float] = rest) -> float:
            return rest(pulls, K)

        def answer(
            pulls: float,
            t: float,
            mean: float = mean,
            effective_arms: Callable[[float], float] = effective_arms,
        ) -> float:
            state = {"mean": mean, "variance": 0.25, "pulls": pulls, "t": t, "horizon": n}
            state |= {"arms": K, "effective_arms": effective_arms(pulls), "sigma": 1.0}
            try:
                return float(family.source(*(state[name] for name in family.inputs), *arguments))
            except (ArithmeticError, ValueError):  # compiled code gives nan or inf instead
                return math.nan

        def value(
            pulls: float,
            t: float,
            mean: float = mean,
            answer: Callable[[float, float], float] = answer,
        ) -> float:
            try:
                return _read(family.reading, answer(pulls, t), mean, pulls)
            except (ArithmeticError, ValueError):
                return math.nan

        found = None
        if family.kind == "sampling":
            found = _out_of_range(answer, "finite and at least 0", n, K)
        elif family.reading != "plain":
            found = _out_of_range(answer, "a budget of at least 0", n, K, most=math.inf)
        if found is None and family.unplayed_index is not None:
            found = _false_in_time(value, family.unplayed_index, n, K)
            if family.kind == "index":
                found = found or _false_in_pulls(value, n, K)
        if found is None and family.concave:
            edge = math.inf
            if family.concave_until is not None:
                edge = _edge(policy, n, K)
                found = _false_beyond(value, edge, n, K)
            if family.reading == "bernoulli budget":
                found = found or _bent_both_ways(answer, n, K)
            else:
                found = found or _not_concave(value, edge, n, K)
        if found is not None:
            return found
    return None


def _read(reading: str, number: float, mean: float, pulls: float) -> float:
    """Return what a policy's formula adds to the mean or, for a budget on [0, 1], allows below."""
    if reading == "gaussian budget":
        return math.sqrt(2.0 * number / pulls)
    if reading == "bernoulli budget":
        return mean - float(plain(kl_lower)(mean, number / pulls))
    return number


def _alike(pulls: float, arms: float) -> float:
    return arms


def _alone(pulls: float, arms: float) -> float:
    return 1.0 + (arms - 1.0) / math.sqrt(pulls)


def has_infinite_bonus(policy: Policy, horizon: int, arms: int) -> bool:
    """Tell whether a bonus is found to be infinite, which leaves an engine nothing to compare."""
    n, K = float(horizon), float(arms)
    arguments = policy.arguments(horizon)
    for pulls in _grid(1.0, max(1.0, n - K)):
        for t in (max(K, pulls) + 1.0, n):
            state = {"mean": 0.5, "variance": 0.25, "pulls": pulls, "t": t, "horizon": n}
            state |= {"arms": K, "effective_arms": K, "sigma": 1.0}
            given = (state[name] for name in policy.family.inputs)
            try:
                if pulls < t <= n and math.isinf(policy.family.source(*given, *arguments)):
                    return True
            except (ArithmeticError, ValueError):
                continue
    return False


def _edge(policy: Policy, n: float, K: float) -> float:
    """Return the pulls up to which a policy declares that it is concave."""
    assert policy.family.concave_until is not None
    given = policy.family.concave_until(n, K, *policy.values)
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
    answer: Callable[[float, float], float],
    range_: str,
    n: float,
    K: float,
    most: float = sys.float_info.max,
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


def _false_in_time(
    value: Callable[[float, float], float], declared: str, n: float, K: float
) -> str | None:
    """Say where the value changes with t against its declaration."""
    for pulls in _grid(1.0, n - K):
        rounds = _grid(max(K, pulls) + 1.0, n)
        for t, later in pairwise(rounds):
            now, then = value(pulls, t), value(pulls, later)
            rises, falls = _exceeds(then, now), _exceeds(now, then)
            if (rises and declared != "nondecreasing") or (falls and declared != "nonincreasing"):
                return (
                    f'declares unplayed_index="{declared}", but its formula '
                    f"{'rises' if rises else 'falls'} from {now:g} to {then:g} between rounds "
                    f"{t:g} and {later:g} for an arm with {pulls:g} pull{'s' * (pulls > 1)}"
                )
    return None


def _false_in_pulls(value: Callable[[float, float], float], n: float, K: float) -> str | None:
    for t in _grid(K + 1.0, n):
        counts = _grid(1.0, t - K)
        for few, many in pairwise(counts):
            if _exceeds(value(many, t), value(few, t)):
                return (
                    f"declares unplayed_index, but its bonus rises from {value(few, t):g} to "
                    f"{value(many, t):g} between {few:g} and {many:g} pulls in round {t:g}"
                )
    return None


def _false_beyond(
    value: Callable[[float, float], float], edge: float, n: float, K: float
) -> str | None:
    for pulls in _grid(edge + 1.0, n - K):
        t = pulls + K
        if abs(value(pulls, t)) > 0.0:
            return (
                f"declares concave_until = {edge:g} pulls, but its bonus is {value(pulls, t):g} "
                f"with {pulls:g} pulls in round {t:g}"
            )
    return None


def _bent_both_ways(answer: Callable[[float, float], float], n: float, K: float) -> str | None:
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


def _not_concave(
    value: Callable[[float, float], float], edge: float, n: float, K: float
) -> str | None:
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
