"""Data from elsewhere, such as an earlier experiment: checked, and added to what a bandit knows.

A bandit that is told of T rewards of an arm goes on as if it had played it T times: they count as
rounds, and come on top of a horizon that was told. A policy with its own memory starts afresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._text import LARGEST_COUNT
from ..live import Bandit
from ..live.document import largest_squares
from .errors import Conflict, Invalid
from .models import Prior


def weighed(
    items: Sequence[Prior], names: Sequence[str], bandit: Bandit, where: str
) -> list[tuple[int, dict[str, Any]]]:
    """Return the arm's position and pulls, sum and squares of each item, if they are possible."""
    known = [_weighed(item, names, bandit, f"{where}[{i}]") for i, item in enumerate(items)]
    more = sum(told["pulls"] for _, told in known)
    if max(bandit.rounds, bandit.horizon) + more > LARGEST_COUNT:
        raise Conflict(f"{where}: {more:,} pulls are too many for one bandit.")
    return known


def _weighed(
    item: Prior, names: Sequence[str], bandit: Bandit, where: str
) -> tuple[int, dict[str, Any]]:
    rules = bandit._rules
    if item.arm not in names:
        raise Invalid(f"{where}.arm: unknown arm {item.arm!r}.")
    field = "mean" if item.sum is None else "sum"
    total = item.mean * item.pulls if item.mean is not None else item.sum or 0.0
    if rules.binary:
        whole = float(round(total))
        if abs(total - whole) > 1e-9 * item.pulls:  # a mean is rounded
            raise Invalid(
                f"{where}.{field}: {bandit.policy.label} takes rewards of 0 and 1, whose sum is "
                f"a whole number, got {total!r}."
            )
        total = whole
    if not rules.low * item.pulls <= total <= rules.high * item.pulls:
        raise Invalid(
            f"{where}.{field}: the mean must lie between {rules.low:g} and {rules.high:g}, got "
            f"{total / item.pulls!r}."
        )
    squares = _squares(item, total, bandit, where)
    told = {"pulls": item.pulls, "sum": total + 0.0, "squares": squares}
    return names.index(item.arm), told


def _squares(item: Prior, total: float, bandit: Bandit, where: str) -> float:
    """Return the sum of the squared deviations: the largest possible one if nobody told."""
    asked = None if item.variance is None else item.variance * item.pulls
    if bandit.bounds is not None:
        pulls, sums = np.array([item.pulls], dtype=float), np.array([total])
        most = float(largest_squares(pulls, sums, *bandit.bounds)[0])
        if asked is not None and asked > most * (1.0 + 1e-9) + 1e-12 * item.pulls:
            raise Invalid(
                f"{where}.variance: rewards between the bounds with this mean have at most "
                f"{most / item.pulls:g}, got {item.variance!r}."
            )
        return most if asked is None else min(asked, most)
    if asked is not None:
        return asked
    if bandit.sigma is None:
        raise Invalid(f"{where}.variance is missing: neither bounds nor sigma are known.")
    return item.pulls * bandit.sigma * bandit.sigma


def with_prior(bandit: Bandit, arm: int, told: dict[str, Any]) -> Bandit:
    """Return a bandit that has been told of pulls, their sum and their squares."""
    parts, more = bandit.to_parts(), told["pulls"]
    pulls, sums, squares = (parts[key] for key in ("pulls", "sums", "squares"))
    n = int(pulls[arm])
    squares[arm] += told["squares"]
    if n:
        distance = float(sums[arm]) / n - told["sum"] / more
        squares[arm] += distance * distance * (n / (n + more)) * more
    pulls[arm] += more
    sums[arm] += told["sum"]
    if bandit.minimize:  # as it is kept, so that what is stored gives it again
        sums = bandit._rules.reflected(pulls, bandit._rules.reflected(pulls, sums))
    horizon = parts["horizon"]
    return rebuilt(
        bandit,
        pulls=pulls,
        sums=sums,
        squares=squares,
        rounds=parts["rounds"] + more,
        horizon=None if horizon is None else horizon + more,
    )


def rebuilt(bandit: Bandit, **changes: Any) -> Bandit:
    """Return a bandit with other parts; a policy with its own memory starts afresh."""
    return Bandit.from_parts(**{**bandit.to_parts(), "memory": None, **changes})
