"""Arms whose expected rewards change with the round.

`changing` makes a problem of lists of means, or of a function; `switch`, `drifting` and `seasonal`
are instances. Each states how means go on from round to round, as a function that kernels call
before every round: ``path(means, t, table, stream)``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ._compile import translate_numba_errors
from ._text import in_full, shown, to_count, to_float
from ._types import Counts, Floats, Words
from ._users import plain
from ._vectors import Numbers, to_positive, to_vector
from .problems import Problem, gap, of_kind, takes_sigma, to_arms
from .random import REWARDS, normal, start_stream, stream_key, uniform
from .rewards import rewards_along

_KINDS = ("gaussian", "bernoulli", "uniform", "beta")
_LARGEST = 1e6  # mean
_NEAR, _FAR = 1000, 10**7  # rounds in which a user's function is watched


def _segments(means: Any, t: float, table: Any, stream: Words) -> None:
    """Copy the means of the segment that begins in this round.

    The table has their number, the rounds in which they begin, and the means of each.
    """
    count = int(table[0])
    low, high = 0, count  # the segment lies in [low, high)
    while high - low > 1:
        middle = (low + high) // 2
        if table[1 + middle] <= t:
            low = middle
        else:
            high = middle
    if table[1 + low] == t:
        start = 1 + count + low * means.size
        for i in range(means.size):
            means[i] = table[start + i]


def _walk(means: Any, t: float, table: Any, stream: Words) -> None:
    """Move each mean by a normal step, reflected where it would leave the interval.

    The table has the deviation of a step and the ends of the interval.
    """
    step, low, high = table[0], table[1], table[2]
    for i in range(means.size):
        if t == 1.0:
            means[i] = low + (high - low) * uniform(stream)
        else:
            place = (means[i] + step * normal(stream) - low) / (high - low)
            place = abs(place) % 2.0
            means[i] = low + (high - low) * (2.0 - place if place > 1.0 else place)


def _season(means: Any, t: float, table: Any, stream: Words) -> None:
    """Let each mean go up and down, one arm after the other.

    The table has the level, the amplitude and the period.
    """
    for i in range(means.size):
        turn = (t - 1.0) / table[2] - i / means.size
        means[i] = table[0] + table[1] * math.cos(2.0 * math.pi * turn)


def changing(
    means: Mapping[int, Numbers] | Callable[..., None],
    arms: int | None = None,
    *,
    rewards: str = "gaussian",
    sigma: float | None = None,
    changes: Iterable[int] = (),
) -> Problem:
    """Arms whose means change with the round.

    Regret is *dynamic*: in each round it is what is lost to the best arm of that round.

    Parameters
    ----------
    means : dict or callable
        Means from a round on: ``{1: [0, -0.3], 5001: [-0.3, 0]}``. Or a function, ``means(means,
        t, stream)``: it writes the means of round t, counted from 1, over those of the round before
        (zeros before the first). It is compiled by numba; randomness comes from `ocucb.random`.
    arms : int, optional
        Number of arms, with a function.
    rewards : {"gaussian", "bernoulli", "uniform", "beta"}
        The kind of reward.
    sigma : float, optional
        Standard deviation of the rewards, where their kind leaves it open; 1 by default.
    changes : list of int, optional
        With a function: the rounds from which on means are others at once. Results say what
        happened since the last.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import ocucb
    >>> problem = ocucb.changing({1: [0.5, 0.4], 501: [0.5, 0.6]}, rewards="bernoulli")
    >>> problem
    <problem means 0.5, 0.4; 0.5, 0.6 from 501: 2 arms, bernoulli (changing), sigma=0.5>
    >>> result = ocucb.simulate("kl-ucb", problem, 1000, runs=200, rng=1)
    >>> result["kl-ucb"].change, result["kl-ucb"].recovery.value > 20
    (501, True)
    >>> def falling(means, t, stream):
    ...     means[0] = 1.0 / t
    ...     means[1] = 0.1
    >>> ocucb.changing(falling, arms=2)
    <problem falling: 2 arms, gaussian (changing), sigma=1>
    """
    if isinstance(means, Mapping):
        if arms is not None or tuple(changes):
            raise TypeError("arms and changes are for functions: a dict of means says it all.")
        return _of_segments(means, rewards, sigma)
    function = plain(means)
    if not inspect.isfunction(function):
        raise TypeError(
            "means must be a dict such as {1: [0, -0.3], 5001: [-0.3, 0]}, or a function, got "
            f"{shown(means)}."
        )
    arguments = tuple(inspect.signature(function).parameters)
    if arguments != ("means", "t", "stream"):
        given = ", ".join(arguments) or "none"
        raise TypeError(
            f"{function.__name__} must take the arguments means, t, stream, got {given}."
        )
    if arms is None:
        raise TypeError("arms is missing: how many means the function writes.")
    later = np.array(sorted({to_count(t, "a change", 2) for t in changes}), np.int64)
    name, arms = function.__name__, to_arms(arms)
    problem = _problem(name, arms, function, np.empty(0), rewards, sigma, 0.0, later, own=True)
    return _watched(problem)


def _of_segments(given: Mapping[int, Numbers], rewards: str, sigma: float | None) -> Problem:
    """Return the problem of means that stay the same for a while."""
    starts = [to_count(t, "the round from which means hold") for t in given]
    if 1 not in starts:
        raise ValueError(f"means must say how it begins, in round 1, got {shown(starts)}.")
    order = sorted(range(len(starts)), key=lambda i: starts[i])
    listed = list(given.values())
    rows = [to_vector(listed[i], f"means from round {starts[i]}") for i in order]
    for row, i in zip(rows, order, strict=True):
        if row.size != rows[0].size:
            raise ValueError(
                f"means must have as many arms in every round, got {row.size} from round "
                f"{starts[i]} and {rows[0].size} before."
            )
        _check_place(row, rewards)
    first = np.array(sorted(starts), dtype=np.float64)
    table = np.concatenate([[float(len(rows))], first, *rows])
    reach = max(float(row.max() - row.min()) for row in rows)
    later: Counts = first[1:].astype(np.int64)
    parts = [", ".join(f"{x:g}" for x in row[:4]) + ", ..." * (row.size > 4) for row in rows[:3]]
    parts[1:] = [f"{part} from {t}" for part, t in zip(parts[1:], later, strict=False)]
    name = f"means {'; '.join(parts)}" + f"; {len(rows) - 3} more" * (len(rows) > 3)
    return _problem(name, rows[0].size, _segments, table, rewards, sigma, reach, later)


def _check_place(means: Floats, rewards: str) -> None:
    """Refuse means that rewards of a kind cannot have."""
    unit = of_kind(rewards, [0.5]).rewards.unit
    if rewards not in _KINDS:
        raise ValueError(
            f"means of {rewards} rewards cannot change, as sigma depends on them; "
            f"choose from {', '.join(_KINDS)}."
        )
    inner = rewards == "beta"
    low, high = (0.0, 1.0) if unit else (-_LARGEST, _LARGEST)
    wrong = ~((means >= low) & (means <= high)) | (inner & ((means == 0.0) | (means == 1.0)))
    for i in np.flatnonzero(wrong):
        place = "strictly between 0 and 1" if inner else f"between {low:g} and {high:g}"
        raise ValueError(
            f"means of {rewards} rewards must lie {place}, got {means[i]:g} for arm {i + 1}."
        )


def _problem(
    name: str,
    arms: int,
    path: Callable[..., None],
    table: Floats,
    rewards: str,
    sigma: float | None,
    reach: float,
    changes: Counts | None = None,
    own: bool = False,
) -> Problem:
    """Return arms whose means follow a path; the means of the problem itself are zeros."""
    typical = of_kind(rewards, [0.5], sigma)
    return Problem(
        np.zeros(arms),
        np.full(arms, typical.scales[0]),
        rewards_along(typical.rewards, path, own),
        typical.sigma,
        name,
        table=table,
        reach=reach,
        changes=np.empty(0, np.int64) if changes is None else changes,
    )


def _watched(problem: Problem) -> Problem:
    """Return the problem of a user's function with its largest loss in the rounds we look at."""
    path, rng = problem.rewards.code.compiled["path"], np.zeros(4, np.uint64)
    start_stream(rng, stream_key(0, "path"), 0, REWARDS)
    means, most = np.zeros(problem.arms), 0.0
    kind = problem.rewards.name.partition(" ")[0]
    far = np.unique(np.geomspace(_NEAR, _FAR, 200).astype(np.int64)).tolist()
    with translate_numba_errors(problem.name):
        for t in (*range(1, _NEAR), *far, *problem.changes.tolist()):
            path(means, float(t), rng)
            try:
                _check_place(means, kind)
            except ValueError as error:
                raise ValueError(f"{problem.name}, round {t}: {error}") from None
            most = max(most, float(means.max() - means.min()))
    return replace(problem, reach=most)


def switch(K: int = 2, gap: float = 0.3, at: int = 5000, sigma: Numbers | float = 1.0) -> Problem:
    """The problem of `ocucb.gap` until the best arm and the second change places.

    Parameters
    ----------
    K : int, optional
        Number of arms, at least 2.
    gap : float, optional
        By how much the others are worse than the best, at least 0.
    at : int, optional
        The round from which on the second arm is the best.
    sigma : float, optional
        Standard deviation of the rewards.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.switch(K=3, gap=0.5, at=1001)
    <problem switch:K=3,gap=0.5,at=1001: 3 arms, gaussian (changing), sigma=1>
    """
    before = _gap(to_arms(K, least=2), gap)
    at = to_count(at, "at", 2)
    after = before.means.copy()
    after[:2] = before.means[1::-1]
    problem = changing({1: before.means, at: after}, sigma=_one(sigma))
    width = in_full(before.largest_gap)
    return replace(problem, name=f"switch:K={before.arms},gap={width},at={at}")


_gap = gap


def drifting(
    K: int = 5,
    step: float = 0.01,
    low: float = 0.0,
    high: float = 1.0,
    sigma: Numbers | float = 1.0,
    *,
    rewards: str = "gaussian",
) -> Problem:
    """Arms whose means are random walks, each run's its own.

    Means are uniform in an interval at first. In each round, each takes a normal step, and is
    reflected where it would leave the interval.

    Parameters
    ----------
    K : int, optional
        Number of arms.
    step : float, optional
        Standard deviation of a step, above 0 and at most the width of the interval.
    low, high : float, optional
        The interval.
    sigma : float, optional
        Standard deviation of the rewards, where their kind leaves it open.
    rewards : str, optional
        Their kind, as for `changing`.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.drifting(K=3, step=0.005)
    <problem drifting:K=3,step=0.005,low=0,high=1: 3 arms, gaussian (changing), sigma=1>
    >>> ocucb.drifting(K=3, low=0.1, high=0.3, rewards="bernoulli").sigma
    0.5
    """
    K = to_arms(K)
    step, low, high = to_float(step, "step"), to_float(low, "low"), to_float(high, "high")
    if not low < high:
        raise ValueError(f"low must be below high, got {low:g} and {high:g}.")
    _check_place(np.array([low, high]), rewards)
    if not 0.0 < step <= high - low:
        raise ValueError(f"step must be above 0 and at most high - low, got {step:g}.")
    told = {"step": step, "low": low, "high": high}
    name = f"drifting:K={K}," + ",".join(f"{key}={in_full(x)}" for key, x in told.items())
    table = np.array([step, low, high])
    return _problem(name, K, _walk, table, rewards, _own(sigma, rewards), high - low)


def seasonal(
    K: int = 3,
    amplitude: float = 0.3,
    period: float = 1000.0,
    level: float = 0.0,
    sigma: Numbers | float = 1.0,
    *,
    rewards: str = "gaussian",
) -> Problem:
    """Arms whose means go up and down with the season, so that each is the best in turn.

    The mean of arm i, counted from 0, is ``level + amplitude * cos(2 pi ((t - 1) / period -
    i / K))``.

    Parameters
    ----------
    K : int, optional
        Number of arms.
    amplitude : float, optional
        How far means go up and down, at least 0.
    period : float, optional
        Rounds of a season, at least 2.
    level : float, optional
        Where means are on average.
    sigma : float, optional
        Standard deviation of the rewards, where their kind leaves it open.
    rewards : str, optional
        Their kind, as for `changing`.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.seasonal(K=4, amplitude=0.2, period=500)
    <problem seasonal:K=4,amplitude=0.2,period=500,level=0: 4 arms, gaussian (changing), sigma=1>
    """
    K, level = to_arms(K), to_float(level, "level")
    amplitude, period = to_float(amplitude, "amplitude"), to_float(period, "period")
    if not amplitude >= 0.0:
        raise ValueError(f"amplitude must be at least 0, got {amplitude:g}.")
    if not 2.0 <= period < math.inf:
        raise ValueError(f"period must be at least 2 rounds, got {period:g}.")
    _check_place(np.array([level - amplitude, level + amplitude]), rewards)
    told = {"amplitude": amplitude, "period": period, "level": level}
    name = f"seasonal:K={K}," + ",".join(f"{key}={in_full(x)}" for key, x in told.items())
    table = np.array([level, amplitude, period])
    return _problem(name, K, _season, table, rewards, _own(sigma, rewards), 2.0 * amplitude)


def _one(sigma: Numbers | float) -> float:
    """Return the standard deviation that all arms share."""
    return float(to_positive(sigma, "sigma", 1)[0])


def _own(sigma: Numbers | float, rewards: str) -> float | None:
    """Return sigma where a kind of reward leaves it open, None where it does not."""
    return _one(sigma) if takes_sigma(rewards) and rewards != "beta" else None
