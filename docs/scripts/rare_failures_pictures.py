"""Draw the pictures of docs/rare-failures.md, in a few minutes.

python docs/scripts/rare_failures_pictures.py [run] [weights] [luck] [bars] [tails]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import ocucb
from ocucb.figures import BLUE, GREY, RED, empty_panels, round_ticks, tails
from ocucb.theory import tail_estimate

GOOD, BAD, PLAIN = BLUE.color, RED.color, "#7f7f7f"
GAP = 0.3
ROUNDS = 10_000  # in the first picture
SIMULATIONS, RUNS = 40, 1500  # in the picture of error bars
TAIL_RUNS = 20_000
LUCKY_RUNS = 100  # in each of 30 simulations


def panels(count: int, height: float = 3.6) -> Any:
    """Return a figure and its axes, side by side."""
    figure, axes = empty_panels(count, count, (9 / count, height))
    for ax in axes:
        ax.grid(visible=False)
        ax.set_ylabel("")
    return figure, axes


def play(rng: np.random.Generator, shift: float, length: int) -> Any:
    """Play OCUCB once on two arms; the best arm's first rewards are lower by `shift`.

    Returns the best arm's rewards, and its pulls after each round.
    """
    alpha, psi = 3.0, 2.0
    pulls, sums = [1, 1], [rng.normal() - shift, rng.normal() - GAP]
    rewards, best_pulls = [sums[0]], [1, 1]
    for t in range(2, ROUNDS):
        width = alpha * math.log(psi * ROUNDS / (t + 1))
        index = [s / T + math.sqrt(width / T) for s, T in zip(sums, pulls, strict=True)]
        arm = int(index[1] > index[0])
        reward = rng.normal() - (GAP if arm else shift * (pulls[0] < length))
        if arm == 0:
            rewards.append(reward)
        pulls[arm] += 1
        sums[arm] += reward
        best_pulls.append(pulls[0])
    return np.array(rewards), np.array(best_pulls)


def run() -> Figure:
    """Draw a run that fails beside one that does not."""
    figure, (left, right) = panels(2)
    good = play(np.random.default_rng(1), 0.0, 0)
    for seed in range(1000):
        bad = play(np.random.default_rng(seed), 1.8, 8)
        if 3 < len(bad[0]) < ROUNDS // 100:
            break
    for (rewards, pulls), color, text in ((good, GOOD, "a good run"), (bad, BAD, "a failure")):
        shown = rewards[:200]
        means = np.cumsum(shown) / np.arange(1, shown.size + 1)
        left.plot(np.arange(1, shown.size + 1), means, ".-", color=color, linewidth=1, markersize=4)
        t = np.arange(1, pulls.size + 1)
        right.plot(t, GAP * (t - pulls), color=color, label=text)
    pulls_of_bad = len(bad[0])
    left.annotate(
        f"never played again\nafter {pulls_of_bad} pulls",
        (pulls_of_bad, bad[0].mean()),
        (2.0 * pulls_of_bad, bad[0].mean() + 0.3),
        color=BAD,
        arrowprops={"arrowstyle": "-", "color": BAD},
    )
    left.axhline(0.0, color=GREY, linewidth=0.8)
    left.axhline(-GAP, color=GREY, linewidth=0.8, linestyle="dashed")
    left.text(200, 0.04, "its true mean", color=GREY, ha="right", fontsize=8)
    left.text(200, -GAP - 0.04, "the other arm's", color=GREY, ha="right", va="top", fontsize=8)
    left.set(xscale="log", xlabel="pulls of the best arm", ylabel="average of its rewards")
    right.set(xscale="log", yscale="log", xlabel="round", ylabel="regret", ylim=(0.2, None))
    right.legend(frameon=False)
    round_ticks(left)
    round_ticks(right)
    return figure


def weights() -> Figure:
    """Draw importance sampling in one dimension: P(X < -3.5) for a normal X."""
    figure, (left, right) = panels(2)
    share, shift, edge = 0.3, 3.5, -3.5
    x = np.linspace(-7, 4, 500)
    plain = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    moved = np.exp(-((x + shift) ** 2) / 2) / math.sqrt(2 * math.pi)
    mixed = share * plain + (1 - share) * moved
    left.plot(x, plain, color=PLAIN, label="plain")
    left.plot(x, mixed, color=GOOD, label="mixture")
    left.plot(x, 0.1 * plain / mixed, color=BAD, linestyle="dashed", label="weight / 10")
    left.axhline(0.1 / share, color=GREY, linewidth=0.8, linestyle="dotted")
    left.axvspan(-7, edge, color="#ff7f00", alpha=0.12, linewidth=0)
    left.text(-6.8, 0.41, "the rare event", color="#b35900", fontsize=9)
    left.text(4, 0.1 / share + 0.008, "at most 1 / 0.3", color=GREY, ha="right", size=8)
    left.set(xlim=(-7, 4), ylim=(0, 0.45), xlabel="x", ylabel="density")
    left.legend(frameon=False, loc=(0.66, 0.42), fontsize=9)
    truth = NormalDist().cdf(edge)
    rng = np.random.default_rng(1)
    count = 1000
    for row in range(30):
        points = rng.normal(size=count)
        draw_bar(right, row, (points < edge) / truth, PLAIN)
        points = rng.normal(size=count) - shift * (rng.random(count) > share)
        ratio = np.exp(-shift * points - shift**2 / 2)
        draw_bar(right, 40 + row, (points < edge) / (share + (1 - share) * ratio) / truth, GOOD)
    right.axvline(1.0, color="black", linewidth=1)
    right.set(xlabel="estimate over truth, ± 2 standard errors", xlim=(-2, 14))
    right.set_yticks([15, 55], ["plain,\n1,000 draws", "mixture,\n1,000 draws"])
    return figure


def draw_bar(axes: Any, row: float, values: Any, color: str) -> None:
    """Draw the mean of some values with two standard errors."""
    error = 2 * values.std(ddof=1) / math.sqrt(values.size)
    axes.errorbar([values.mean()], [row], xerr=[error], fmt=".", color=color, markersize=3, lw=1)


def luck() -> Figure:
    """Draw regret against luck: UCB on two arms, plain runs."""
    figure, (left, right) = panels(2)
    rng = np.random.default_rng(1)
    runs = 30 * LUCKY_RUNS
    noise = rng.normal(size=(2, runs))  # summed, of the best arm and of the other
    pulls = np.ones((2, runs))
    for t in range(3, ROUNDS + 1):
        index = noise / pulls + np.sqrt(2.0 * math.log(t) / pulls)
        arm = (index[1] - GAP > index[0]).astype(int)
        noise[arm, np.arange(runs)] += rng.normal(size=runs)
        pulls[arm, np.arange(runs)] += 1.0
    regret = GAP * pulls[1]
    left.plot(noise[1], regret, ".", color=PLAIN, markersize=2, alpha=0.6)
    slope, height = np.polyfit(noise[1], regret, 1)
    ends = np.array([noise[1].min(), noise[1].max()])
    left.plot(ends, height + slope * ends, color=GOOD)
    left.set(xlabel="luck of the worse arm", ylabel="regret", ylim=(0, None))
    correlation = np.corrcoef(noise[1], regret)[0, 1]
    left.text(0.05, 0.9, f"correlation {correlation:.2f}", transform=left.transAxes)
    print(f"slope {slope:.2f}, correlation {correlation:.3f}")
    for row in range(30):
        part = slice(row * LUCKY_RUNS, (row + 1) * LUCKY_RUNS)
        slope, _ = np.polyfit(noise[1, part], regret[part], 1)
        draw_bar(right, row, regret[part], PLAIN)
        draw_bar(right, 40 + row, regret[part] - slope * noise[1, part], GOOD)
    right.axvline(height, color="black", linewidth=1)
    right.set(xlabel="mean regret, ± 2 standard errors")
    right.set_yticks([15, 55], [f"means of\n{LUCKY_RUNS} runs", "corrected\nfor luck"])
    return figure


def bars() -> Figure:
    """Draw many small simulations with their error bars: plain and tilted."""
    figure, both = panels(2, 5)
    problem = ocucb.gap(K=10, gap=GAP)
    results: dict[str, list[Any]] = {"plain": [], "tilted": []}
    for sampling, found in results.items():
        for seed in range(1, SIMULATIONS + 1):
            one = ocucb.simulate(
                "ocucb", problem, 100_000, RUNS, rng=seed, sampling=sampling, checkpoints=[100_000]
            )[0]
            found.append((one.mean_regret, 2 * one.stderr[-1]))
    truth = float(np.mean([mean for mean, _ in results["tilted"]]))
    for axes, (sampling, found) in zip(both, results.items(), strict=True):
        held = 0
        for row, (mean, error) in enumerate(sorted(found)):
            hit = abs(mean - truth) <= error
            held += hit
            color = GOOD if hit else BAD
            axes.errorbar([mean], [row], xerr=[error], fmt=".", color=color, markersize=4, lw=1)
        axes.axvline(truth, color="black", linewidth=1)
        axes.set_title(f"{sampling}: {held} of {SIMULATIONS} bars hold the truth", fontsize=11)
        axes.set(xlabel="mean regret ± 2 standard errors", xlim=(truth - 60, truth + 160))
        axes.set_yticks([])
        print(sampling, held, truth, np.mean([error for _, error in found]), flush=True)
    return figure


def tail() -> Figure:
    """Draw the tails of some policies, and what the theory of one walk expects."""
    problem, n = ocucb.gap(K=2, gap=GAP), 10_000
    policies = ["ocucb", "ucb", "moss", "thompson", "ucb:constant=1"]
    result = ocucb.simulate(policies, problem, n, TAIL_RUNS, rng=1, sampling="tilted")
    figure = tails([result])
    (axes,) = figure.axes
    for line, one in zip(axes.get_lines(), result, strict=True):
        if one.policy.startswith("thompson"):
            continue
        x = np.geomspace(150, 0.99 * GAP * n, 25)
        expected = [tail_estimate(one.policy, problem, n, float(a)) for a in x]
        axes.plot(x, expected, "o", markersize=3, color=line.get_color(), markerfacecolor="white")
    axes.plot([], [], "o", markersize=3, color=GREY, markerfacecolor="white", label="estimate")
    axes.legend(frameon=False)
    axes.set_ylim(3e-6, 1.5)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "run": run,
    "weights": weights,
    "luck": luck,
    "bars": bars,
    "tails": tail,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        place = Path(__file__).parents[1] / "pictures" / f"rare-failures-{name}.png"
        PICTURES[name]().savefig(place, dpi=100)
        print(place)
