"""What varies along an axis: the problem, the horizon, or a parameter of the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._text import shown, split_specification, to_count, to_float
from .._types import Floats
from ..policies import Policy, to_policies
from ..priors import AnyProblem, Prior
from ..problems import Problem

_ONE = "vary one thing: a list of problems, a list of horizons, or over= a policy's parameter"


@dataclass(frozen=True)
class Line:
    """One curve: its name, and what is played at each point."""

    policy: str
    label: str
    players: list[Policy]


@dataclass(frozen=True)
class Axis:
    """What varies, its values in increasing order, and what is played at each."""

    name: str
    kind: str  # "problem", "horizon" or "policy"
    values: Floats
    problems: list[AnyProblem]
    horizons: list[int]
    lines: list[Line]


def axis_of(policies: Any, problems: Any, horizon: Any, over: str | None) -> Axis:
    """Return the axis that the arguments of `sweep` describe, or say what is wrong with them."""
    players = to_policies(policies)
    many_problems = not isinstance(problems, Problem | Prior)
    many_horizons = np.ndim(horizon) > 0
    if many_problems + many_horizons + (over is not None) != 1:
        raise ValueError(f"{_ONE}.")
    if over is not None:
        return _over_parameter(players, problems, to_count(horizon, "horizon"), over)
    if many_problems:
        name, values, listed = _named(problems)
        horizons = [to_count(horizon, "horizon")] * len(listed)
        kind = "problem"
    else:
        rounds = [to_count(n, "a horizon") for n in np.ravel(horizon).tolist()]
        name, kind = "horizon", "horizon"
        listed, horizons = [problems] * len(rounds), rounds
        values = np.array(rounds, dtype=np.float64)
    order = _order(values, name)
    return Axis(
        name,
        kind,
        values[order],
        [listed[i] for i in order],
        [horizons[i] for i in order],
        [Line(player.name, player.label, [player] * len(listed)) for player in players],
    )


def _order(values: Floats, name: str) -> list[int]:
    """Return the order in which values increase; they must differ."""
    if values.size < 2:
        raise ValueError(f"a sweep needs at least two values of {name}, got {values.size}.")
    order = np.argsort(values, kind="stable")
    for a, b in zip(values[order][:-1], values[order][1:], strict=True):
        if a == b:
            raise ValueError(f"the values of {name} must differ, got {a:g} twice.")
    return [int(i) for i in order]


def _named(given: Any) -> tuple[str, Floats, list[AnyProblem]]:
    """Return what varies among problems, its values, and the problems."""
    if isinstance(given, Mapping):
        keys, problems = list(given), list(given.values())
        name, values = "x", np.array([to_float(key, "a value of the axis") for key in keys])
        for value in values[~np.isfinite(values)]:
            raise ValueError(f"the values of the axis must be finite, got {value}.")
    else:
        try:
            problems = list(given)
        except TypeError:
            problems = [given]
        name, values = "", np.zeros(0)
    for problem in problems:
        if not isinstance(problem, Problem | Prior):
            raise TypeError(
                "problems must be a list of problems such as [gap(2, 0.1), gap(2, 0.2)], or a "
                f"dictionary with numbers as keys, got {shown(problem)} in it."
            )
    if not name:
        name, values = _what_varies(problems)
    return name, values, problems


def _what_varies(problems: Sequence[AnyProblem]) -> tuple[str, Floats]:
    """Return the parameter by which the names of problems differ, or the one mean that does.

    Otherwise problems are numbered.
    """
    named = []
    for problem in problems:
        try:
            named.append(split_specification(problem.name))
        except ValueError:
            break
    if len(named) == len(problems) and len({(name, *numbers) for name, numbers in named}) == 1:
        keys = [key for key in named[0][1] if len({numbers[key] for _, numbers in named}) > 1]
        if len(keys) == 1:
            return keys[0], np.array([numbers[keys[0]] for _, numbers in named])
    if len({problem.arms for problem in problems}) == 1:
        means = np.stack([problem.means for problem in problems])
        varying = np.flatnonzero((means != means[0]).any(axis=0))
        if varying.size == 1:
            return f"mean of arm {varying[0] + 1}", means[:, varying[0]]
    return "problem", np.arange(1, len(problems) + 1).astype(np.float64)


def _over_parameter(players: list[Policy], problem: AnyProblem, horizon: int, over: str) -> Axis:
    """Return the axis of a parameter: policies that differ in nothing else make a curve."""
    curves: dict[tuple[Any, ...], list[Policy]] = {}
    for player in players:
        if over not in player.parameters:
            has = ", ".join(player.parameters) or "none"
            raise ValueError(f"{player.label} has no parameter {shown(over)}; it has {has}.")
        rest = {key: value for key, value in player.parameters.items() if key != over}
        curves.setdefault((player.family, *rest.items()), []).append(player)
    values: Floats | None = None
    lines = []
    for (family, *others), found in curves.items():
        mine = np.array([player.parameters[over] for player in found])
        order = _order(mine, over)
        if values is not None and not np.array_equal(values, mine[order]):
            raise ValueError(f"every curve needs the same values of {over}.")
        values = mine[order]
        unusual = [f"{key}={value:g}" for key, value in others if value != family.defaults.get(key)]
        inside = ",".join(f"{key}={value!r}".removesuffix(".0") for key, value in others)
        name = f"{family.name}:{inside}" if others else family.name
        label = f"{family.label}({', '.join(unusual)})" if unusual else family.label
        lines.append(Line(name, label, [found[i] for i in order]))
    assert values is not None
    count = values.size
    return Axis(over, "policy", values, [problem] * count, [horizon] * count, lines)
