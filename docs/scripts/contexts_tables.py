"""Measure the tables of docs/contexts.md, in a few minutes each.

python docs/scripts/contexts_tables.py [fixed] [worst] [tails] [optimism] [fresh] [data] [wrong]
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import log, sqrt
from typing import Any

import numpy as np

import ocucb
from ocucb.random import uniform

SEEDS = 8  # random problems of a kind
RUNS = 200  # of each policy on all of them together


@ocucb.linear_policy
def classic(
    mean: float, norm: float, t: float, horizon: float, dimension: float, arms: float, sigma: float
) -> float:
    """LinUCB with the width sqrt(2 log t), which on unit vectors is UCB."""
    return mean + sigma * sqrt(2.0 * log(t)) * norm


PLAYERS: dict[str, Any] = {
    "OFUL": "oful",
    "LinUCB, sqrt(2 log t)": classic(),
    "LinMED": "lin-med",
    "phased elimination": "phased-elimination",
    "LinThompson": "lin-thompson",
    "LinOCUCB, α = 2": "lin-ocucb:alpha=2",
    "LinOCUCB": "lin-ocucb",
}
FEW = ("OFUL", "LinThompson", "LinOCUCB, α = 2", "LinOCUCB")

Value = tuple[float, float]  # with a standard error


def spheres(d: int, K: int, sigma: float = 1.0) -> list[ocucb.Problem]:
    """Return random problems of the same size."""
    return [ocucb.sphere(d, K, seed, sigma) for seed in range(1, SEEDS + 1)]


def mean(
    policy: Any, problems: Sequence[ocucb.Problem], n: int, runs: int = 0, **more: Any
) -> Value:
    """Return the regret averaged over problems, the same for all policies, and its error."""
    count = max(2, (runs or RUNS) // len(problems))
    found = [
        ocucb.simulate(policy, problem, n, count, rng=1, progress=False, **more)[0]
        for problem in problems
    ]
    errors = math.sqrt(sum(float(result.stderr[-1]) ** 2 for result in found)) / len(found)
    return sum(result.mean_regret for result in found) / len(found), errors


def shown(value: Value) -> str:
    """Write a mean and two standard errors."""
    number, error = value[0], 2 * value[1]
    digits = min(2, max(0, 1 - math.floor(math.log10(error)))) if 0 < error < 10 else 0
    return f"{number:,.{digits}f} ± {error:,.{digits}f}"


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table in Markdown, row by row."""
    print("\n| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def fixed() -> None:
    """Features that stay the same."""
    kinds = [
        ("sphere, d = 5, K = 20, n = 10⁴", spheres(5, 20), 10_000),
        ("sphere, d = 5, K = 100, n = 10⁴", spheres(5, 100), 10_000),
        ("sphere, d = 10, K = 50, n = 10⁴", spheres(10, 50), 10_000),
        ("sphere, d = 10, K = 50, n = 500", spheres(10, 50), 500),
        ("circle, d = 2, K = 100, n = 10⁴", spheres(2, 100), 10_000),
        ("end of optimism, n = 10⁵", [ocucb.end_of_optimism()], 100_000),
        ("unit vectors, K = 10, Δ = 0.3, n = 10⁴", [ocucb.unit_vectors(10, 0.3)], 10_000),
    ]
    rows = (
        [title, *(shown(mean(player, problems, n)) for player in PLAYERS.values())]
        for title, problems, n in kinds
    )
    print_table(["", *PLAYERS], rows)
    large = [
        ("sphere, d = 5, K = 1000, n = 10⁴", spheres(5, 1000), 10_000),
        ("sphere, d = 20, K = 200, n = 10⁴", spheres(20, 200), 10_000),
    ]
    rows = (
        [title, *(shown(mean(PLAYERS[name], problems, n, 40)) for name in FEW)]
        for title, problems, n in large
    )
    print_table(["", *FEW], rows)


def worst() -> None:
    """The largest regret over the size of theta, divided by sqrt(d n)."""
    sizes = [1.0, 0.3, 0.1, 0.03]

    def cell(policy: Any, d: int, K: int, n: int) -> str:
        found = [(mean(policy, spheres(d, K, 1 / size), n, 80), size) for size in sizes]
        (value, error), size = max(((v[0] * size, v[1] * size), size) for v, size in found)
        scale = sqrt(d * n)
        return f"{value / scale:.2f} ± {2 * error / scale:.2f} ({size:g})"

    def rows() -> Iterable[list[str]]:
        for d, K, n in [
            *((5, 20, 10**power) for power in (2, 3, 4)),
            *((d, 10 * d, 10_000) for d in (2, 10)),
            *((5, K, 10_000) for K in (5, 100)),
        ]:
            yield [f"d = {d}, K = {K}, n = {n:,}"] + [cell(PLAYERS[name], d, K, n) for name in FEW]

    print_table(["", *FEW], rows())


def tails() -> None:
    """How often runs fail, and what that costs."""
    kinds = [
        ("unit vectors, K = 10, Δ = 0.3", ocucb.unit_vectors(10, 0.3)),
        *((f"sphere, d = 5, K = 20, no. {seed}", ocucb.sphere(5, 20, seed)) for seed in (1, 2, 3)),
    ]

    def cell(policy: Any, problem: ocucb.Problem) -> str:
        both = [
            ocucb.simulate(policy, problem, 10_000, 1000, rng=1, sampling=how, progress=False)[0]
            for how in ("plain", "tilted")
        ]
        gain = (both[0].stderr[-1] / both[1].stderr[-1]) ** 2
        rate, one = both[1].failure, both[1]
        median = float(one.quantile(0.5))
        return (
            f"{one.mean_regret:.0f} ({median:.0f}); deviation {one.deviation.value:.0f}; fails "
            f"{rate.value:.1e} ± {2 * rate.stderr:.0e}; tilting {gain:.2g}"
        )

    names = ("LinOCUCB, α = 2", "LinOCUCB")
    rows = ([title, *(cell(PLAYERS[name], one) for name in names)] for title, one in kinds)
    print_table(["", *names], rows)


def optimism() -> None:
    """The end of optimism, over the horizon; the lower bound is 2 * reach^2 * log n here."""
    names = ("OFUL", "LinUCB, sqrt(2 log t)", "phased elimination", "LinThompson", "LinOCUCB")
    problem = ocucb.end_of_optimism(epsilon=0.02, reach=1.0)

    def rows() -> Iterable[list[str]]:
        for power in (4, 5, 6):
            n, runs = 10**power, 60
            yield [f"n = 10^{power}", f"{2 * log(n):.0f}"] + [
                shown(mean(PLAYERS[name], [problem], n, runs)) for name in names
            ]

    print_table(["", "2 log n", *names], rows())


def rare(features: Any, t: float, stream: Any) -> None:
    """Write unit vectors: a pair of arms, each pair only once in ten rounds."""
    features[:] = 0.0
    pair = int(uniform(stream) * 10)
    features[0, 2 * pair] = features[1, 2 * pair + 1] = 1.0


def blocks(features: Any, t: float, stream: Any) -> None:
    """Write the same, one pair after the other: what comes last has not been seen before."""
    features[:] = 0.0
    pair = min(9, int((t - 1.0) / 1000.0))
    features[0, 2 * pair] = features[1, 2 * pair + 1] = 1.0


def late(features: Any, t: float, stream: Any) -> None:
    """Write the same, where the last pair comes in the last tenth of the rounds only."""
    features[:] = 0.0
    pair = int(uniform(stream) * 9) if t <= 9000.0 else 9
    features[0, 2 * pair] = features[1, 2 * pair + 1] = 1.0


def fresh() -> None:
    """Features that are drawn anew in each round."""
    rng = np.random.default_rng(1)

    def of(d: int, K: int) -> list[ocucb.Problem]:
        thetas = [rng.standard_normal(d) for _ in range(4)]
        return [ocucb.contexts(theta / np.linalg.norm(theta), K) for theta in thetas]

    own = [ocucb.contexts(rng.standard_normal((5, 4)) / 2) for _ in range(4)]
    pairs = np.where(np.arange(20) % 2, 0.0, 0.3)
    orders = [("any order", rare), ("one after the other", blocks), ("the last pair late", late)]
    kinds = [
        ("sphere afresh, d = 5, K = 10, n = 5000", of(5, 10), 5000),
        ("sphere afresh, d = 20, K = 10, n = 5000", of(20, 10), 5000),
        ("one context, d = 4, a θ for each of 5 arms, n = 5000", own, 5000),
        *(
            (f"ten pairs, Δ = 0.3, {title}, n = 10⁴", [ocucb.contexts(pairs, 2, draw=order)], 10000)
            for title, order in orders
        ),
    ]
    players = {name: one for name, one in PLAYERS.items() if name != "phased elimination"}
    rows = (
        [title, *(shown(mean(player, problems, n)) for player in players.values())]
        for title, problems, n in kinds
    )
    print_table(["", *players], rows)


def data() -> None:
    """Labels as arms: the regret is the number of errors more than the best label makes none."""
    from sklearn import datasets

    players = {
        **{name: one for name, one in PLAYERS.items() if name != "phased elimination"},
        "ε-greedy": "lin-epsilon-greedy",
        "greedy": "lin-ucb:constant=0",
        "KL-OCUCB, without contexts": "kl-ocucb",
    }

    def rows() -> Iterable[list[str]]:
        for title, load, n in [
            ("digits, d = 65, K = 10, n = 2000", datasets.load_digits, 2000),
            ("wine, d = 14, K = 3, n = 2000", datasets.load_wine, 2000),
            ("breast cancer, d = 31, K = 2, n = 2000", datasets.load_breast_cancer, 2000),
        ]:
            x, labels = load(return_X_y=True)
            x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
            problem = ocucb.data(np.hstack([np.ones((len(x), 1)), x]), labels)
            found = (mean(player, [problem], n, 20) for player in players.values())
            yield [title, *map(shown, found)]

    print_table(["", *players], rows())


def wrong() -> None:
    """Means that are not linear: random errors of a given size are added to them."""

    def off(problem: ocucb.Problem, size: float, seed: int) -> ocucb.Problem:
        rng = np.random.default_rng(seed)
        means = problem.means + rng.uniform(-size, size, problem.arms)
        return replace(ocucb.gaussian(means), features=problem.features)

    names = {**{name: PLAYERS[name] for name in FEW}, "OCUCB, without features": "ocucb"}
    rows = (
        [f"errors up to {size:g}"]
        + [
            shown(mean(name, [off(ocucb.sphere(5, 20, k), size, k) for k in range(1, 9)], 10_000))
            for name in names.values()
        ]
        for size in (0.0, 0.03, 0.1, 0.3, 1.0)
    )
    print_table(["sphere, d = 5, K = 20, n = 10⁴", *names], rows)


TABLES: dict[str, Callable[[], None]] = {
    "fixed": fixed,
    "worst": worst,
    "tails": tails,
    "optimism": optimism,
    "fresh": fresh,
    "data": data,
    "wrong": wrong,
}


def main(names: Sequence[str]) -> None:
    """Print the tables of these names, or all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names or TABLES:
            TABLES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
