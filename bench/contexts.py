"""Arms with features: ask and tell beside other libraries, and simulation beside a plain loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import ocucb

_REPEATS = 5


@numba.njit
def _loop(x: Any, means: Any, horizon: int, runs: int) -> float:
    """Play LinUCB as anyone would: a round computes the index of every arm, and the inverse."""
    K, d = x.shape
    lost = 0.0
    best = means.max()
    for run in range(runs):
        np.random.seed(run)
        inverse, sums, weights, y = np.eye(d), np.zeros(d), np.zeros(d), np.zeros(d)
        for _ in range(horizon):
            for i in range(d):
                weights[i] = 0.0
                for j in range(d):
                    weights[i] += inverse[i, j] * sums[j]
            top, arm = -np.inf, 0
            for k in range(K):
                mean = square = 0.0
                for i in range(d):
                    mean += weights[i] * x[k, i]
                    for j in range(d):
                        square += x[k, i] * inverse[i, j] * x[k, j]
                index = mean + 2.0 * np.sqrt(square)
                if index > top:
                    top, arm = index, k
            square, reward = 0.0, means[arm] + np.random.normal()
            for i in range(d):
                y[i] = 0.0
                for j in range(d):
                    y[i] += inverse[i, j] * x[arm, j]
                square += y[i] * x[arm, i]
                sums[i] += reward * x[arm, i]
            for i in range(d):
                for j in range(d):
                    inverse[i, j] -= y[i] * y[j] / (1.0 + square)
            lost += best - means[arm]
    return lost


def section() -> list[str]:
    """Section: microseconds per ask and tell with features; simulated rounds a second."""
    lines = [
        "## Arms with features",
        "",
        "Microseconds of processor time per ask and tell: LinUCB, one context for all K arms, d",
        "features, a set of weights for each arm; the median of five rounds of measurements, in",
        "which the libraries take turns (goals: 10 and 100, and a tenth of the other libraries).",
        "",
        "| d | K | ocucb | river | MABWiser |",
        "|---|---|---|---|---|",
    ]
    for d, K, rounds in ((16, 10, 300), (64, 100, 6)):
        rows = np.random.default_rng(1).standard_normal((50, d))
        plays = [made(d, K, rows) for made in (_ours, _river, _mabwiser)]
        times: list[list[float]] = [[] for _ in plays]
        for _ in range(_REPEATS):
            for play, taken, more in zip(plays, times, (20, 1, 1), strict=True):
                if play is not None:
                    taken.append(_seconds(play, more * rounds))
        cells = [f"{1e6 * float(np.median(one)):,.1f}" if one else "" for one in times]
        lines.append(f"| {d} | {K} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        "With d = 64 and K = 100, every ask reads 100 matrices, 3.3 MB: the goal is missed.",
    ]
    problem = ocucb.sphere(d=5, K=20, seed=1)
    game = np.array(problem.features), np.array(problem.means)
    _loop(*game, 10, 1)
    ocucb.simulate("lin-ucb", problem, 10_000, runs=8, rng=1, workers=1)
    pairs = []
    for _ in range(_REPEATS):
        start = time.process_time()
        _loop(*game, 10_000, 5)
        middle = time.process_time()
        ocucb.simulate("lin-ucb", problem, 10_000, runs=50, rng=1, workers=1)
        pairs.append((middle - start, time.process_time() - middle))
    plain, ours = np.median(np.array(pairs), axis=0) / (5e4, 5e5)
    lines += [
        "",
        "Simulated rounds per second of processor time: LinUCB, fixed features, d = 5, K = 20,",
        "n = 10⁴ (goal: three times the plain loop, which is compiled, and allocates nothing):",
        "",
        "| plain loop | ocucb | ratio |",
        "|---|---|---|",
        f"| {1 / plain:,.0f} | {1 / ours:,.0f} | {plain / ours:.1f} |",
    ]
    print(lines[-1], flush=True)
    return lines


def _seconds(play: Callable[[int], None], rounds: int) -> float:
    start = time.process_time()
    play(rounds)
    return (time.process_time() - start) / rounds


def _ours(d: int, K: int, rows: Any) -> Callable[[int], None]:
    bandit = ocucb.LinearBandit(list(range(K)), d, "lin-ucb", 10**6, sigma=1, rng=1)
    bandit.tell(bandit.ask(rows[0]), 0.5, rows[0])

    def play(rounds: int) -> None:
        for n in range(rounds):
            x = rows[n % 50]
            bandit.tell(bandit.ask(x), 0.5, x)

    return play


def _river(d: int, K: int, rows: Any) -> Callable[[int], None] | None:
    try:
        from river import bandit
    except ImportError:
        return None
    policy, arms = bandit.LinUCBDisjoint(alpha=2.0, seed=1), list(range(K))
    contexts = [dict(enumerate(row.tolist())) for row in rows]

    def play(rounds: int) -> None:
        for n in range(rounds):
            x = contexts[n % 50]
            policy.update(policy.pull(arms, context=x), x, 0.5)

    play(1)
    return play


def _mabwiser(d: int, K: int, rows: Any) -> Callable[[int], None] | None:
    try:
        from mabwiser.mab import MAB, LearningPolicy
    except ImportError:
        return None
    arms = list(range(K))
    mab = MAB(arms, LearningPolicy.LinUCB(alpha=2.0), seed=1)
    mab.fit(arms, [0.5] * K, np.repeat(rows[:1], K, axis=0))

    def play(rounds: int) -> None:
        for n in range(rounds):
            x = rows[n % 50 : n % 50 + 1]
            mab.partial_fit([mab.predict(x)], [0.5], x)

    return play
