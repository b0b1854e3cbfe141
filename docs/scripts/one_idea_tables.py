"""Measure the tables of docs/one-idea.md, in a few minutes each.

python docs/scripts/one_idea_tables.py [clicks] [alpha] [headlines] [fresh] [variance] [price]
    [long]
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import ocucb
from ocucb.engine import choose_engine
from ocucb.league.problems import CONTESTS, disaster_level
from ocucb.policies._rules import ChoiceRule
from ocucb.random import normal, uniform

RUNS = 1000  # of each policy on each problem; fewer where a run takes long
HEADLINES = 40  # problems like tests of headlines
ROUNDS = 14_466  # in each of these
STEPS = 1e8  # pulls that a policy without skip-ahead gets on each problem

Instance = tuple[str, ocucb.Problem, int]

LEAGUE: list[Instance] = [
    (CONTESTS[name].title, *CONTESTS[name].instances[0])
    for name in ("half-2", "half-10", "rare-2", "rare-10", "rare-short", "half-short", "ladder")
]
HARD: list[Instance] = [
    ("50%, 49%, n = 10⁶", ocucb.bernoulli([0.5, 0.49]), 1_000_000),
    ("10%, 9.9%, n = 10⁴", ocucb.bernoulli([0.1, 0.099]), 10_000),
    ("0.2%, 0.1%, n = 10⁵", ocucb.bernoulli([0.002, 0.001]), 100_000),
    ("95%, 90%, n = 10⁴", ocucb.bernoulli([0.95, 0.9]), 10_000),
    ("99%, 98%, n = 10⁴", ocucb.bernoulli([0.99, 0.98]), 10_000),
    ("50 arms, 5%, 3%, n = 10⁴", ocucb.bernoulli([0.05] + [0.03] * 49), 10_000),
    ("100 arms, 50%, 40%, n = 10⁴", ocucb.bernoulli([0.5] + [0.4] * 99), 10_000),
    ("3 arms, 30%, 20%, n = 300", ocucb.bernoulli([0.3, 0.2, 0.2]), 300),
]


def headlines() -> list[Instance]:
    """Return problems with the rates of real tests of headlines: four arms, 19% apart."""
    rng, found = np.random.default_rng(5), []
    for number in range(HEADLINES):
        usual = 0.013 * math.exp(0.7 * rng.standard_normal())
        rates = np.clip(usual * (1 + 0.19 * rng.standard_normal(4)), 1e-4, 0.5)
        found.append((f"headlines {number}", ocucb.bernoulli(rates.tolist()), ROUNDS))
    return found


def played(policy: Any, problem: ocucb.Problem, n: int, runs: int) -> ocucb.PolicyResult:
    """Return what a policy does; in fewer runs where each pull takes time."""
    (player,) = ocucb.policies.to_policies(policy)
    if choose_engine(player, problem, n, "auto").name == "step":
        binary = problem.rewards.binary
        draws = binary and isinstance(player.on(binary).family.rule, ChoiceRule)
        runs = min(runs, max(50, int(STEPS / 10 / (n * problem.arms if draws else n))))
    return ocucb.simulate(policy, problem, n, runs, rng=1, progress=False)[0]


def geometric(ratios: Iterable[float]) -> float:
    """Return the geometric mean."""
    return math.exp(np.mean([math.log(ratio) for ratio in ratios]))


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as Markdown, a row at a time."""
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print(flush=True)


def compare(
    players: Sequence[Any], labels: Sequence[str], problems: list[Instance], runs: int | None = None
) -> None:
    """Print mean regrets with standard errors, then ratios to the best of the players."""
    regrets: list[list[float]] = []

    def rows() -> Iterable[list[str]]:
        for title, problem, n in problems:
            results = [played(player, problem, n, runs or RUNS) for player in players]
            regrets.append([result.mean_regret for result in results])
            yield [title] + [
                f"{result.mean_regret:.3g} ± {result.stderr[-1]:.1g}" for result in results
            ]
        ratios = np.array(regrets) / np.min(regrets, axis=1, keepdims=True)
        yield ["geometric mean of the ratio to the best"] + [
            f"{geometric(column):.2f}" for column in ratios.T
        ]
        yield ["worst ratio"] + [f"{column.max():.2f}" for column in ratios.T]

    print_table(["", *labels], rows())


ALPHAS = [f"kl-ocucb:alpha={value:g}" for value in (1.5, 2.0, 2.5, 3.0, 4.0)]
OTHERS = ["kl-ucb-plus", "kl-moss", "kl-adaucb", "ocucb"]


def disasters(results: Iterable[ocucb.PolicyResult], problems: list[Instance]) -> str:
    """Return how many runs in a thousand are disasters, averaged over problems."""
    chances = []
    for one, (_, problem, n) in zip(results, problems, strict=True):
        level = disaster_level(problem, n)
        chances.append(one.tail(level)[0] if math.isfinite(level) else 0.0)
    return f"{1e3 * np.mean(chances):.1f}"


def alpha() -> None:
    """The price of KL-OCUCB's alpha on the league's clicks: mean, deviation, disasters."""
    cells = [[played(alpha, p, n, RUNS) for _, p, n in LEAGUE] for alpha in ALPHAS + OTHERS]
    best = [min(entry.mean_regret for entry in column) for column in zip(*cells, strict=True)]

    def rows() -> Iterable[list[str]]:
        for name, row in zip(ALPHAS + OTHERS, cells, strict=True):
            means = [one.mean_regret / top for one, top in zip(row, best, strict=True)]
            spreads = [one.deviation[0] / top for one, top in zip(row, best, strict=True)]
            texts = [f"{x:.2f}" for x in (geometric(means), max(means), geometric(spreads))]
            yield [name, *texts, disasters(row, LEAGUE)]

    print_table(["", "mean", "worst mean", "deviation", "disasters, ‰"], rows())


def news() -> None:
    """The same on problems like tests of headlines, whose regrets are summed."""
    problems = headlines()

    def rows() -> Iterable[list[str]]:
        for name in ALPHAS + OTHERS:
            results = [played(name, p, n, max(2, RUNS // 5)) for _, p, n in problems]
            total = sum(result.mean_regret for result in results)
            error = math.hypot(*(result.stderr[-1] for result in results))
            deviation = (
                math.hypot(*(result.deviation[0] for result in results)) / len(results) ** 0.5
            )
            sums = f"{total:.0f} ± {error:.0f}"
            yield [name, sums, f"{deviation:.1f}", disasters(results, problems)]

    print_table(["", "summed regret", "deviation of a run", "disasters, ‰"], rows())


def clicks() -> None:
    """Every ruler on clicks, the league's and harder ones."""
    players = ("kl-ocucb", "kl-ucb-plus", "kl-moss", "kl-adaucb", "ocucb", "beta-thompson",
               "oc-thompson")  # fmt: skip
    compare(players, players, LEAGUE + HARD)


def fresh() -> None:
    """Problems drawn at random, on which nothing was chosen; OCUCB-normal is told no bounds."""
    rng, problems = np.random.default_rng(20261118), []
    for _ in range(16):
        K, n = int(rng.choice([2, 3, 5, 10, 30])), round(10 ** rng.uniform(2.7, 4.6))
        best = math.exp(rng.uniform(math.log(0.003), math.log(0.6)))
        share = math.exp(rng.uniform(math.log(0.1), math.log(0.8)))
        rates = np.clip(best * (1 - share * rng.random(K)), 1e-4, 0.999)
        rates[0] = best
        title = f"{K} arms, {best:.2%} to {rates.min():.2%}, n = {n:,}"
        problems.append((title, ocucb.bernoulli(rates.tolist()), n))
    players = ("kl-ocucb", "kl-ocucb:alpha=2.5", "kl-ocucb:alpha=4", "kl-ucb-plus", "kl-moss",
               "kl-adaucb", "ocucb", "ocucb-normal")  # fmt: skip
    compare(players, players, problems, RUNS // 2)


@ocucb.index_policy(unplayed_index="nondecreasing", check=False)
def CowanHondaKatehakis(
    mean: float, variance: float, pulls: float, t: float, horizon: float, arms: float, sigma: float
) -> float:
    """The same index at the level of the round."""
    if pulls < 3.0:
        return 1e300 / pulls
    spread = variance * pulls / (pulls - 1.0)
    return mean + math.sqrt(spread * math.expm1(2.0 / (pulls - 2.0) * math.log(t)))


def student(mean: float, scale: float, stream: Any) -> float:
    """Three degrees of freedom: heavy tails."""
    squares = normal(stream) ** 2 + normal(stream) ** 2 + normal(stream) ** 2
    return mean + scale * normal(stream) / math.sqrt(squares)  # of variance scale²


def revenue(mean: float, scale: float, stream: Any) -> float:
    """Nothing, mostly; else an amount of about 1, of which a share `mean` of the visitors pay."""
    if uniform(stream) >= mean:
        return 0.0
    return math.exp(0.5 * normal(stream) - 0.125)


def variance() -> None:
    """Unknown variances: who is told sigma, and who is not."""
    n, wide, narrow = 10_000, [2.0] + [0.3] * 9, [0.2] + [1.0] * 9
    ten = [0.3] + [0.0] * 9
    problems: list[Instance] = [
        ("10 arms, σ = 1", ocucb.gap(10, 0.3), n),
        ("2 arms, σ = 1", ocucb.gap(2, 0.3), n),
        ("10 arms, best σ = 2, others 0.3", ocucb.gaussian(ten, wide), n),
        ("10 arms, best σ = 0.2, others 1", ocucb.gaussian(ten, narrow), n),
        ("2 arms, σ = 0.1 and 1", ocucb.gaussian([0.3, 0.0], [0.1, 1.0]), n),
        ("2 arms, σ = 1 and 0.1", ocucb.gaussian([0.3, 0.0], [1.0, 0.1]), n),
        ("2 arms, Δ = 0.05, σ = 1", ocucb.gap(2, 0.05), n),
        ("50 arms, Δ = 0.5, σ = 1", ocucb.gap(50, 0.5), n),
        ("5 arms, Δ = 1, σ = 1, n = 300", ocucb.gap(5, 1.0), 300),
        ("2 arms, Δ = 0.3, σ = 1, n = 10⁶", ocucb.gap(2, 0.3), 1_000_000),
        ("10 arms, uniform rewards", ocucb.uniform_rewards(ten, math.sqrt(3.0)), n),
        ("10 arms, Student's t, 3 degrees", ocucb.custom_rewards(student, ten, 1.0), n),
        ("clicks, 2% and 1%, bounds untold", ocucb.bernoulli([0.02, 0.01]), n),
        ("clicks, 50% and 45%, bounds untold", ocucb.bernoulli([0.5, 0.45]), n),
        ("4 arms, revenue from 3% and 2%",
         ocucb.custom_rewards(revenue, [0.03, 0.02, 0.02, 0.02], 0.2), n),
    ]  # fmt: skip
    players = ("ocucb-normal", "normal-thompson", CowanHondaKatehakis(), "ocucb", "thompson")
    labels = (
        "OCUCB-normal", "Thompson (normal)", "level t (CHK)", "OCUCB, told σ", "Thompson, told σ",
    )  # fmt: skip
    compare(players, labels, problems)


def price() -> None:
    """What it costs not to know sigma, beside the ratio of the lower bounds for n → ∞."""

    def rows() -> Iterable[list[str]]:
        for gap in (0.3, 1.0, 2.0, 3.0):
            pair = [
                played(name, ocucb.gap(2, gap), 10_000, 4 * RUNS)
                for name in ("ocucb-normal", "ocucb")
            ]
            ratio = pair[0].mean_regret / pair[1].mean_regret
            error = ratio * math.hypot(*(player.stderr[-1] / player.mean_regret for player in pair))
            yield [f"{gap:g}", f"{ratio:.2f} ± {error:.2f}", f"{gap**2 / math.log1p(gap**2):.2f}"]

    print_table(["Δ/σ", "measured, n = 10⁴", "n → ∞"], rows())


@ocucb.sampling_policy(unplayed_index="nonincreasing")
def Uncapped(pulls: float, t: float, horizon: float, arms: float) -> float:
    """OC-Thompson without its cap."""
    return math.sqrt(0.3 * math.log(2.0 * horizon / t) / pulls)


def long() -> None:
    """Thompson sampling at long horizons: why posteriors are not widened."""
    problems = [
        (f"n = 10{power}", ocucb.gap(2, 0.3), 10**n) for n, power in ((4, "⁴"), (6, "⁶"), (8, "⁸"))
    ]
    players = ("thompson", Uncapped(), "oc-thompson", "ocucb")

    def rows() -> Iterable[list[str]]:
        for title, problem, n in problems:
            found = ocucb.simulate(players, problem, n, RUNS, rng=1, progress=False)
            usual = found[0].mean_regret
            yield [title] + [
                f"{result.mean_regret / usual:.2f} ± {result.stderr[-1] / usual:.2f}"
                for result in found[1:]
            ]

    print_table(["", "without the cap", "oc-thompson", "ocucb"], rows())


TABLES: dict[str, Callable[[], None]] = {
    "clicks": clicks,
    "alpha": alpha,
    "headlines": news,
    "fresh": fresh,
    "variance": variance,
    "price": price,
    "long": long,
}


def main(names: Sequence[str]) -> None:
    """Print the tables of these names, or all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names or TABLES:
            TABLES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
