"""Measure the engines against the yardstick, in one run and on one core; write bench/table.md.

Absolute times vary between machines and from hour to hour, so ratios are what counts: yardstick and
engine are timed alternately, several times, and the best time of each is used. This is not a
test: no measurement makes it fail.

    python bench/run.py            everything
    python bench/run.py step skip  some sections
"""

from __future__ import annotations

import compileall
import io
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import yardstick
from distributed import Client, LocalCluster
from scipy import special

import ocucb
from ocucb import Bandit, parse_policy, parse_problem
from ocucb import gittins as gittins_tables
from ocucb.engine import choose_engine, engine_named, kernel_of, new_game, new_outcome
from ocucb.gittins import _tables
from ocucb.policies import Policy
from ocucb.problems import Problem
from ocucb.scheduler import tilt
from ocucb.simulation import specify
from ocucb.specification import Specification, run_blocks

ROUNDS = 5
SECONDS = 0.15  # length of one timing

TABLE = Path(__file__).parent / "table.md"


def player(policy: Policy, problem: Problem, horizon: int, engine: str) -> Callable[[int], None]:
    """Return a function that plays a given number of runs with a compiled kernel."""
    chosen = engine_named(engine, policy, problem, horizon)
    kernel = kernel_of(policy.family, problem.rewards, chosen)
    key = np.array([1, 2], dtype=np.uint64)
    game = new_game(chosen, problem, horizon, np.array([horizon]), forget=policy.forget)

    def play(runs: int) -> None:
        stop = np.zeros(1, dtype=np.bool_)
        kernel(policy.arguments(horizon), game, key, 0, new_outcome(runs, game), stop)

    play(1)
    return play


def plain(policy: Policy, problem: Problem, horizon: int) -> Callable[[int], None]:
    """Return a function that plays a given number of runs with the yardstick."""
    loop = getattr(yardstick, policy.family.name)
    rng = np.random.default_rng(1)
    loop(rng, problem.means, problem.arms)

    def play(runs: int) -> None:
        for _ in range(runs):
            loop(rng, problem.means, horizon)

    return play


def best_times(*plays: Callable[[int], object], seconds: float = SECONDS) -> list[float]:
    """Return the seconds per run of each, timed alternately; the best of several rounds.

    Seconds of processor time: what else the machine does counts for less.
    """
    counts = []
    for play in plays:
        began = time.process_time()
        play(1)
        counts.append(max(1, int(seconds / (time.process_time() - began + 1e-9))))
    best = [np.inf] * len(plays)
    for _ in range(ROUNDS):
        for i, play in enumerate(plays):
            began = time.process_time()
            play(counts[i])
            best[i] = min(best[i], (time.process_time() - began) / counts[i])
    return best


def against_yardstick(engine: str, rows: list[tuple[str, int, str, float]]) -> list[str]:
    """Compare an engine with the yardstick of the same policy, and with OCUCB's."""
    lines = [
        "| problem | n | policy | pulls/s | ratio | goal | ratio to OCUCB's yardstick |",
        "|---|---|---|---|---|---|---|",
    ]
    for problem_text, horizon, policy_text, goal in rows:
        problem, policy = parse_problem(problem_text), parse_policy(policy_text)
        # The yardstick's cost per pull does not depend on n: short runs are enough.
        short = min(horizon, 100_000)
        ours, same, ocucb = best_times(
            player(policy, problem, horizon, engine),
            plain(policy, problem, short),
            plain(parse_policy("ocucb"), problem, short),
        )
        same, ocucb = same * horizon / short, ocucb * horizon / short
        mark = "" if same / ours >= goal else " **missed**"
        lines.append(
            f"| {problem_text} | {horizon:.0e} | {policy_text} | {horizon / ours:.2g} "
            f"| {same / ours:.1f}{mark} | {goal:g} | {ocucb / ours:.1f} |"
        )
        print(lines[-1], flush=True)
    return lines


def step() -> list[str]:
    """Section: the step engine."""
    lazy = ("ocucb", "moss", "aocucb")
    rows = [("gap:K=2,gap=0.3", 100_000, policy, 2.5) for policy in lazy]
    rows += [("gap:K=10,gap=0.3", 100_000, policy, 5.0) for policy in lazy]
    rows += [("uniform:K=100", 100_000, policy, 14.0) for policy in lazy]
    for problem in ("gap:K=2,gap=0.3", "gap:K=10,gap=0.3", "uniform:K=100"):
        rows += [(problem, 100_000, policy, 1.0) for policy in ("ucb", "thompson")]
    return ["## Step engine", "", *against_yardstick("step", rows)]


def drift() -> list[str]:
    """Section: what forgetting costs, and means that change."""
    rounds = 20_000
    lines = [
        "## Policies that forget",
        "",
        f"Nanoseconds per round of the step engine, {rounds:,} rounds, with memories of a tenth. "
        "In brackets: times as long as without.",
        "",
        "| policy | arms | nothing | a discount | a window | means that change |",
        "|---|---|---|---|---|---|",
    ]
    for name in ("ucb", "kl-ucb-plus", "thompson", "ocucb"):
        for arms in (2, 10):
            problem, moving = ocucb.gap(arms, 0.3), ocucb.switch(arms, 0.3, rounds // 2)
            family = parse_policy(name).family
            plays = [
                player(policy, played, rounds, "step")
                for policy, played in (
                    *((family(), problem), (family(forget=1.0 - 10.0 / rounds), problem)),
                    *((family(forget=rounds // 10), problem), (family(), moving)),
                )
            ]
            times = [1e9 * seconds / rounds for seconds in best_times(*plays)]
            cells = [f"{time:.0f} ({time / times[0]:.2f})" for time in times[1:]]
            lines.append(f"| {name} | {arms} | {times[0]:.0f} | {' | '.join(cells)} |")
    return lines


def skip() -> list[str]:
    """Section: the skip-ahead engine."""
    falling = ("ocucb", "moss", "aocucb")
    rows = [("gap:K=2,gap=0.3", 10**5, policy, 60.0) for policy in falling]
    rows += [("gap:K=2,gap=0.3", 10**5, "ucb", 20.0), ("gap:K=2,gap=0.3", 10**5, "thompson", 10.0)]
    rows += [("gap:K=10,gap=0.3", 10**5, policy, 45.0) for policy in falling]
    rows += [("gap:K=10,gap=0.3", 10**5, "thompson", 8.0)]
    rows += [("uniform:K=100", 10**5, policy, 30.0) for policy in falling]
    rows += [("gap:K=2,gap=0.05", 10**4, policy, 5.0) for policy in falling]
    rows += [("gap:K=10,gap=0.5", 10**4, policy, 13.0) for policy in falling]
    rows += [("gap:K=2,gap=0.3", 10**7, "ocucb", 2000.0)]
    return ["## Skip-ahead engine", "", *against_yardstick("skip", rows)]


def clicks() -> list[str]:
    """Section: skip-ahead on Bernoulli rewards."""
    two, rare, ten = "0.6, 0.5", "0.03, four of 0.02", "0.6, nine of 0.5"
    rows = [
        (two, policy, 10**exponent, goal)
        for policy in ("ocucb", "moss")
        for exponent, goal in ((5, 1.5), (6, 6.0), (7, 40.0))
    ]
    rows += [(rare, policy, 10**6, 3.0) for policy in ("ocucb", "moss")]
    rows += [(two, "ucb", 10**5, 15.0), (ten, "ocucb", 10**6, 4.0), (ten, "ucb", 10**5, 5.0)]
    means = {two: [0.6, 0.5], rare: [0.03] + [0.02] * 4, ten: [0.6] + [0.5] * 9}
    lines = [
        "## Bernoulli rewards: skip-ahead against our own step engine",
        "",
        "| probabilities | n | policy | pulls/s | step engine, pulls/s | ratio | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, policy_text, horizon, goal in rows:
        policy, problem = parse_policy(policy_text), ocucb.bernoulli(means[name])
        step, skip = best_times(
            player(policy, problem, horizon, "step"), player(policy, problem, horizon, "skip")
        )
        mark = "" if step / skip >= goal else " **missed**"
        lines.append(
            f"| {name} | {horizon:.0e} | {policy_text} | {horizon / skip:.2g} "
            f"| {horizon / step:.2g} | {step / skip:.1f}{mark} | {goal:g} |"
        )
        print(lines[-1], flush=True)
    return lines


FAMILY_PROBLEMS = {
    "Gaussian": parse_problem("gap:K=10,gap=0.3"),
    "bounded": ocucb.uniform_rewards([0.65] + [0.5] * 9, halfwidth=0.5),
    "clicks": ocucb.bernoulli([0.6] + [0.5] * 9),
}
# Policy, problem, and two goals: the step engine takes at most so many times as long as with OCUCB,
# and skip-ahead is at least so many times as fast as the step engine.
FAMILY: list[tuple[str, str, float | None, float | None]] = [
    ("adaucb", "Gaussian", 3.0, 5.0),
    ("moss-anytime", "Gaussian", 3.0, 5.0),
    ("moss-anytime", "bounded", 3.0, None),
    ("ocucb-n", "Gaussian", 3.0, None),
    ("ocucb-n", "bounded", 3.0, None),
    ("ocucb-n", "clicks", 3.0, None),
    ("ucb-asymptotic", "Gaussian", 3.0, None),
    ("ucb-asymptotic", "bounded", 3.0, None),
    ("ocucb-loglog", "Gaussian", 3.0, None),
    ("light-tailed", "Gaussian", 3.0, None),
    ("greedy", "Gaussian", 3.0, None),
    ("ucb-v", "clicks", 3.0, None),
    ("ucb-tuned", "clicks", 3.0, None),
    ("kl-ucb", "clicks", None, 20.0),
    ("kl-ucb-plus", "clicks", None, 20.0),
    ("kl-ucb-plus-plus", "clicks", None, 20.0),
    ("kl-ucb-switch", "clicks", None, None),
    ("kl-ocucb", "clicks", None, 20.0),
    ("ocucb-normal", "Gaussian", 3.0, None),
    ("oc-thompson", "Gaussian", None, 5.0),
    ("imed", "clicks", None, 5.0),
    ("imed", "Gaussian", None, 5.0),
    ("bayes-ucb", "Gaussian", None, 5.0),
    ("kl-ucb-plus", "Gaussian", 3.0, 5.0),
]


FAMILY_REASONS = """Why goals are missed: where skip-ahead plays a rising index, the step engine
remains a plain loop that evaluates every arm in every round (ten logarithms for MOSS-anytime), the
simplest possible reference. Where skip-ahead is impossible, it plays in windows; even so, OCUCB-n
looks at all arms' pulls, and UCB-V and UCB-tuned update a variance with every pull. AdaUCB's step
loop leaps like OCUCB's, so less is left to skip. The same holds for KL-UCB++ on clicks: its index
does not change while an arm is not played, so the step engine computes one index per pull and
skip-ahead one per change of leader, of which there are some 5,000 in a run. The step engine plays
KL-OCUCB lazily too: about ten times as many pulls a second as KL-UCB+, whose index rises."""


def family() -> list[str]:
    """Section: the policies that came after the paper."""
    lines = [
        "## The family: ten arms, n = 1e5, against our own step engine",
        "",
        "The step engine's time is relative to that with OCUCB on the same problem.",
        "",
        "| policy | rewards | step, pulls/s | time | goal | skip, pulls/s | ratio to step | goal |",
        "|---|---|---|---|---|---|---|---|",
    ]
    horizon = 100_000
    for text, name, most, least in FAMILY:
        policy, problem = parse_policy(text), FAMILY_PROBLEMS[name]
        plays = [
            player(chosen, problem, horizon, "step") for chosen in (parse_policy("ocucb"), policy)
        ]
        if choose_engine(policy, problem, horizon, "auto").name == "skip":
            plays.append(player(policy, problem, horizon, "skip"))
        ocucb_step, step, *rest = best_times(*plays)
        skip = rest[0] if rest else None
        line = f"| {text} | {name} | {horizon / step:.2g} | {step / ocucb_step:.1f}"
        line += f"{' **missed**' * (most is not None and step > most * ocucb_step)} "
        line += f"| {'' if most is None else f'{most:g}'} | "
        if skip is not None:
            line += f"{horizon / skip:.2g} | {step / skip:.1f}"
            line += f"{' **missed**' * (least is not None and step < least * skip)} "
            line += f"| {'' if least is None else f'{least:g}'} |"
        else:
            line += "| | |"
        lines.append(line)
        print(line, flush=True)
    return [*lines, "", FAMILY_REASONS]


def single_runs() -> list[str]:
    """Section: one run of the paper's largest problems."""
    lines = ["## One run of moss-failure", "", "| K | n | policy | seconds | goal |"]
    lines += ["|---|---|---|---|---|"]
    for arms, goal in ((1000, 0.5), (2500, 3.0)):
        for policy_text in ("ocucb", "moss"):
            problem = parse_problem(f"moss-failure:K={arms}")
            play = player(parse_policy(policy_text), problem, arms**3, "skip")
            seconds = min(_seconds(play) for _ in range(3))
            lines.append(f"| {arms} | {arms**3:.2g} | {policy_text} | {seconds:.2f} | {goal:g} |")
            print(lines[-1], flush=True)
    return lines


def _seconds(play: Callable[[int], None]) -> float:
    began = time.perf_counter()
    play(1)
    return time.perf_counter() - began


def growth() -> list[str]:
    """Section: how the cost of a run grows with n and K."""
    policies = ("ocucb", "moss", "ucb", "thompson")
    problem = parse_problem("gap:K=2,gap=0.3")
    lines = ["## Microseconds per run as n grows (gap:K=2,gap=0.3)", ""]
    lines += ["| n | " + " | ".join(policies) + " |", "|---" * (len(policies) + 1) + "|"]
    for exponent in range(3, 11):
        lines.append(_growth_row(f"10^{exponent}", problem, 10**exponent, policies))
    lines += ["", "## The same for Bernoulli rewards (probabilities 0.6, 0.5)", ""]
    lines += ["| n | ocucb | moss | ucb | |", "|---|---|---|---|---|"]
    for exponent in range(3, 10):
        clicks = ocucb.bernoulli([0.6, 0.5])
        lines.append(_growth_row(f"10^{exponent}", clicks, 10**exponent, policies[:3]))
    lines += ["", "## Microseconds per run as K grows (gap 0.3, n = 100 K)", ""]
    lines += ["| K | " + " | ".join(policies) + " |", "|---" * (len(policies) + 1) + "|"]
    for arms in (2, 10, 100, 1000, 10_000, 100_000):
        # UCB and Thompson sampling keep revisiting every arm: beyond this a run takes seconds.
        some = policies if arms <= 1000 else policies[:2]
        problem = parse_problem(f"gap:K={arms},gap=0.3")
        lines.append(_growth_row(f"{arms:,}", problem, 100 * arms, some))
    return lines


def _growth_row(label: str, problem: Problem, horizon: int, policies: tuple[str, ...]) -> str:
    cells = []
    for text in policies:
        play = player(parse_policy(text), problem, horizon, "skip")
        (seconds,) = best_times(play)
        cells.append(f"{1e6 * seconds:,.0f}")
    print(label, *cells, flush=True)
    cells += [""] * (4 - len(cells))
    return "| " + " | ".join([label, *cells]) + " |"


def gittins() -> list[str]:
    """Section: building a Gittins table, and the cost of a run relative to OCUCB."""
    lines = ["## Gittins", "", "| horizon | seconds to build | MB | goal |", "|---|---|---|---|"]
    gittins_tables.surrogate(100)  # compile
    for horizon, goal in ((10**4, 0.5), (10**5, 2.0), (10**6, 20.0)):
        seconds, size = _build(horizon)
        lines.append(f"| {horizon:.0e} | {seconds:.2f} | {size:.2f} | {goal:g} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        "| n = 10^4, K = 10, gap 0.3 | time of Gittins / OCUCB | goal |",
        "|---|---|---|",
    ]
    problem = parse_problem("gap:K=10,gap=0.3")
    for engine in ("step", "skip"):
        ours, ocucb = best_times(
            player(parse_policy("gittins"), problem, 10**4, engine),
            player(parse_policy("ocucb"), problem, 10**4, engine),
        )
        lines.append(f"| {engine} engine | {ours / ocucb:.2f} | at most 3 |")
        print(lines[-1], flush=True)
    return lines


def _build(horizon: int) -> tuple[float, float]:
    """Return the better time of two builds of a table with an empty cache, and its size in MB."""
    best, size = np.inf, 0
    for _ in range(2):
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(_tables, "folder", lambda folder=folder: Path(folder)),
        ):
            _tables.forget()
            began = time.perf_counter()
            size = gittins_tables.surrogate(horizon).nbytes
            best = min(best, time.perf_counter() - began)
    return best, size / 1e6


def choice() -> list[str]:
    """Section: does "auto" pick the faster engine?"""
    lines = [
        "## Time of the step engine / skip-ahead",
        "",
        'Below 1, the step engine is faster. The last column shows what "auto" picks.',
        "",
        "| policy | K | n | gap 0.02 | gap 0.3 | gap 1 | auto |",
        "|---|---|---|---|---|---|---|",
    ]
    for text in ("ocucb", "moss", "ucb", "thompson", "gittins"):
        for arms in (2, 10, 100, 1000):
            for horizon in (100, 1000, 10_000, 100_000):
                if horizon <= arms or (horizon * arms > 10**7 and text in ("ucb", "thompson")):
                    continue
                policy = parse_policy(text)
                ratios = []
                for gap in (0.02, 0.3, 1.0):
                    problem = parse_problem(f"gap:K={arms},gap={gap}")
                    step, skip = best_times(
                        player(policy, problem, horizon, "step"),
                        player(policy, problem, horizon, "skip"),
                        seconds=0.02,
                    )
                    ratios.append(f"{step / skip:.2f}")
                picked = choose_engine(policy, problem, horizon, "auto").name
                lines.append(f"| {text} | {arms} | {horizon} | {' | '.join(ratios)} | {picked} |")
                print(lines[-1], flush=True)
    return [*lines, "", *_choice_of_clicks()]


def _choice_of_clicks() -> Iterator[str]:
    """Yield the same table for Bernoulli rewards."""
    pairs = ((0.5, 0.5), (0.52, 0.5), (0.6, 0.5), (0.03, 0.02), (0.95, 0.9))
    names = " | ".join(f"{best}, {other}" for best, other in pairs)
    yield "Bernoulli rewards; the probabilities of the best arm and of the others:"
    yield ""
    yield f"| policy | K | n | {names} | auto |"
    yield "|---" * (len(pairs) + 4) + "|"
    for text in ("ocucb", "moss", "ucb"):
        policy = parse_policy(text)
        for arms in (2, 10, 100):
            for horizon in (300, 1000, 10_000, 100_000):
                if horizon * arms > 10**6:
                    continue
                ratios = []
                for best, other in pairs:
                    problem = ocucb.bernoulli([best] + [other] * (arms - 1))
                    step, skip = best_times(
                        player(policy, problem, horizon, "step"),
                        player(policy, problem, horizon, "skip"),
                        seconds=0.02,
                    )
                    ratios.append(f"{step / skip:.2f}")
                picked = choose_engine(policy, problem, horizon, "auto").name
                line = f"| {text} | {arms} | {horizon} | {' | '.join(ratios)} | {picked} |"
                print(line, flush=True)
                yield line


def priors() -> list[str]:
    """Section: a problem drawn for each run, against the same problem in every run."""
    lines = [
        "## Priors",
        "",
        "Speed with a problem drawn for each run, from a list that holds a single one, relative to",
        "that on this problem itself: blocks of `simulate`, drawing and ranking included.",
        "",
        "| problem | n | policy | engine | ratio | goal |",
        "|---|---|---|---|---|---|",
    ]
    clicks = ocucb.bernoulli([0.016, 0.014, 0.012, 0.01])
    for problem, horizon, who, engine in (
        (parse_problem("gap:K=10,gap=0.3"), 10**4, "ocucb", "skip"),
        (parse_problem("gap:K=10,gap=0.3"), 10**4, "ucb", "step"),
        (parse_problem("gap:K=2,gap=0.3"), 100, "ocucb", "step"),
        (clicks, 14_000, "ocucb", "skip"),
    ):
        specs = [
            specify(parse_policy(who), what, horizon, np.array([horizon]), 1, engine)
            for what in (problem, ocucb.prior([problem]))
        ]
        plays = [partial(_play_blocks, spec) for spec in specs]
        for play in plays:
            play(1)  # compiled
        fixed, drawn = best_times(*plays)
        ratio = fixed / drawn
        mark = " **missed**" * (ratio < 0.8)
        lines.append(
            f"| {problem.name} | {horizon:,} | {who} | {engine} | {ratio:.2f}{mark} | 0.8 |"
        )
        print(lines[-1], flush=True)
    lines += ["", "| prior | ns to draw a problem |", "|---|---|"]
    for text in ("normal:K=10", "beta:K=10", "headlines:K=4", "headlines"):
        prior = ocucb.prior(text)
        (seconds,) = best_times(lambda blocks, prior=prior: _draw_blocks(prior, blocks))
        lines.append(f"| {text} | {1e9 * seconds / 1024:.0f} |")
    return lines


def _play_blocks(specification: Specification, blocks: int) -> None:
    """Play blocks of 1024 runs."""
    for block in range(blocks):
        specification.play(1024 * block, 1024)


def _draw_blocks(prior: ocucb.Prior, blocks: int) -> None:
    """Draw blocks of 1024 problems."""
    for block in range(blocks):
        prior.drawn(1, 1024 * block, 1024)


def sampling() -> list[str]:
    """Section: what importance sampling and the correction for luck save."""
    lines = [
        "## Sampling",
        "",
        'Processor time to equal precision with `sampling="plain"`, divided by that with "auto",',
        "in the blocks of `simulate`. The standard deviation of the regret comes from tilted runs,",
        "since plain runs rarely show it. The last ratio includes the pilot, for 5,000 runs. A",
        "goal of 0.9, where tilting alone gains nothing, refers to that ratio; the other goals",
        "refer to runs alone.",
        "",
        "| problem | n | policy | deviation | fewer runs | time of a run, auto/plain | ratio "
        "| with the pilot | goal |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    two, ten = "gap:K=2,gap=0.3", "gap:K=10,gap=0.3"
    for text, horizon, who, goal in (
        (two, 10**5, "ocucb:alpha=3", 40.0),
        (two, 10**4, "ocucb:alpha=3", 12.0),
        (ten, 10**4, "ocucb:alpha=3", 12.0),
        (two, 10**4, "ocucb:alpha=2", 20.0),
        (ten, 10**4, "ocucb:alpha=2", 15.0),
        ("gap:K=2,gap=0.5", 10**4, "ocucb:alpha=1", 30.0),
        (two, 10**5, "thompson", 10.0),
        (two, 10**4, "gittins", None),
        (two, 10**4, "moss", None),
        (two, 10**4, "ucb", 0.9),
        (two, 10**4, "aocucb", 0.9),
        (two, 10**5, "aocucb", 0.9),
        (ten, 10**4, "aocucb", 0.9),
        ("moss-failure:K=30", 10**4, "moss", 0.9),
    ):
        policy, problem = parse_policy(who), parse_problem(text)
        deviation, fewer, cost, whole = _sampling_gain(policy, problem, horizon)
        ratio, with_pilot = fewer / cost, fewer / whole
        reached = with_pilot if goal == 0.9 else ratio
        mark = "" if goal is None else f"{goal:g}" + " **missed**" * (reached < goal)
        lines.append(
            f"| {text} | {horizon:.0e} | {who} | {deviation:.3g} | {fewer:.1f} | {cost:.2f} "
            f"| {ratio:.1f} | {with_pilot:.1f} | {mark} |"
        )
        print(lines[-1], flush=True)
    return lines


def _sampling_gain(
    policy: Policy, problem: Problem, horizon: int
) -> tuple[float, float, float, float]:
    """Return the regret's deviation, how many runs tilting saves, and its cost in time.

    The cost is relative to plain runs: first of the runs alone, then with the pilot.
    """
    runs = 5000
    plain = specify(policy, problem, horizon, np.array([horizon]), 0, "auto")
    tilted = [tilt(replace(plain, seed=seed), 1) for seed in range(4)]
    spans, first = [], 0
    while first < runs:
        spans.append((first, min(plain.block_from(first), runs - first)))
        first += spans[-1][1]
    deviation = tilt(plain, 1, always=True).play(0, 40 * runs).deviation(0.0).value
    errors = [float(spec.play(0, 2 * runs).stderr[-1]) for spec in tilted]
    play, auto, pilot = best_times(
        lambda times: [run_blocks(plain, spans) for _ in range(times)],
        lambda times: [run_blocks(tilted[0], spans) for _ in range(times)],
        lambda times: [tilt(plain, 1) for _ in range(times)],
    )
    fewer = deviation**2 / (2 * runs) / float(np.mean(np.square(errors)))
    return deviation, fewer, auto / play, (auto + pilot) / play


# The paper's panels along the gap: arms, the largest gap, the goal, and some policies.
SWEPT = (
    ("exp1", 2, 1.0, 10.0, ("ucb", "ocucb", "aocucb", "moss", "thompson")),
    ("exp2", 10, 1.0, 6.0, ("ocucb", "thompson")),
    ("exp4", 2, 2.0, 10.0, ("ocucb:alpha=1", "ocucb:alpha=2", "ocucb:alpha=3", "ocucb:alpha=6")),
    ("exp5", 10, 2.0, 6.0, ("ocucb:alpha=2", "ocucb:alpha=3")),
)


def sweep() -> list[str]:
    """Section: what pooling saves along the gap, in the paper's panels and on coarse grids."""
    lines = [
        "## Sweeps",
        "",
        "Processor time to equal precision with one simulation for each point, divided by that of",
        "`sweep`, pilots included, with 1,024 runs at each point: over the gap, as the paper's",
        "panels have it, then at points so far apart that they share nothing. Ratios of variances",
        "are geometric means over the points.",
        "",
        "| panel | points | policy | ratio of variances: mean | least | largest "
        "| time, sweep/simulations | ratio | goal |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, arms, last, goal, policies in SWEPT:
        problems = [ocucb.gap(arms, round(0.01 * k, 2)) for k in range(1, round(100 * last) + 1)]
        lines += [_sweep_row(name, parse_policy(who), problems, goal, seeds=1) for who in policies]
    for arms in (2, 10):
        problems = [ocucb.gap(arms, gap) for gap in (0.1, 0.4, 1.6)]
        for who in ("ocucb", "ucb"):
            lines.append(_sweep_row(f"K = {arms}", parse_policy(who), problems, 0.9, seeds=5))
    return lines


def _sweep_row(name: str, policy: Policy, problems: list[Problem], goal: float, seeds: int) -> str:
    """Return a row of the table: what pooling saves for one policy."""
    horizon = 10_000
    ocucb.sweep(policy, problems[:2], horizon, runs=256, rng=0, workers=1)  # compiled
    pooled, alone, ratios = 0.0, 0.0, []
    for seed in range(seeds):
        began = time.process_time()
        curve = ocucb.sweep(policy, problems, horizon, rng=seed, workers=1)[0]
        between = time.process_time()
        errors = [
            ocucb.simulate(policy, each, horizon, 1024, rng=seed, workers=1, checkpoints=[horizon])[
                0
            ].stderr[-1]
            for each in problems
        ]
        pooled, alone = pooled + between - began, alone + time.process_time() - between
        ratios.append((np.array(errors) / curve.stderr) ** 2)
    gains = np.exp(np.log(ratios).mean(axis=0))
    gain = float(np.exp(np.log(gains).mean()))
    missed = " **missed**" * (gain * alone / pooled < goal)
    row = (
        f"| {name} | {len(problems)} | {policy.label} | {gain:.1f} | {gains.min():.1f} "
        f"| {gains.max():.0f} | {pooled / alone:.2f} | {gain * alone / pooled:.1f} "
        f"| {goal:g}{missed} |"
    )
    print(row, flush=True)
    return row


def _newcomers() -> dict[str, list[str]]:
    """Return what the newcomers of the tests do: a command, and lines of Python."""
    sys.path.insert(0, str(TABLE.parents[1] / "tests"))
    from test_newcomers import ENGINEER, README, RESEARCHER

    command = re.findall(r"^    (ocucb .*)$", README, re.MULTILINE)[0]
    return {
        "README's first command": ["-m", *command.split()],
        "a formula of one's own beside OCUCB": ["-c", RESEARCHER],
        "a live bandit that decides 20 times": ["-c", ENGINEER],
    }


def cold() -> list[str]:
    """Section: how long a newcomer waits for the first answer."""
    lines = [
        "## Cold start",
        "",
        "Seconds of one processor until the answer is printed, with no compiled code in the cache "
        "and again; on an idle core, a clock shows the same. `ocucb simulate` plays 1000 runs with "
        "n = 10,000.",
        "",
        "| what | first | goal | again |",
        "|---|---|---|---|",
    ]
    cases: list[tuple[str, list[str], float]] = []
    for names, goal in ((["ocucb"], 3.0), (["ocucb", "aocucb", "ucb", "moss", "thompson"], 10.0)):
        command = ["-m", "ocucb", "simulate", "--problem", "gap:K=10,gap=0.3", "--horizon", "1e4"]
        command += [word for name in names for word in ("-p", name)]
        cases.append((f"`ocucb simulate`: {', '.join(names)}", command, goal))
    cases += [(what, command, math.inf) for what, command in _newcomers().items()]
    compileall.compile_dir(Path(ocucb.__file__).parent, quiet=2)  # as pip does
    for what, command, goal in cases:
        with tempfile.TemporaryDirectory() as folder:
            first, again = (_processor_seconds(command, folder) for _ in range(2))
        mark = " **missed**" * (first > goal)
        wanted = "" if goal == math.inf else f"{goal:g}"
        lines.append(f"| {what} | {first:.1f}{mark} | {wanted} | {again:.1f} |")
        print(lines[-1], flush=True)
    return lines


def _processor_seconds(command: list[str], folder: str) -> float:
    """Run Python on one core, with its caches and files in a folder."""
    core = {min(os.sched_getaffinity(0))}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *command],
        check=True,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": folder, "XDG_CACHE_HOME": folder},
        preexec_fn=lambda: os.sched_setaffinity(0, core),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def workers() -> list[str]:
    """Section: the overhead of blocks, store and progress, and the speedup from more workers."""
    runs = 16_384
    facts = {"horizon": 100_000, "engine": "step", "checkpoints": [], "rng": 1}
    policy, problem = parse_policy("ocucb"), parse_problem("gap:K=2,gap=0.3")
    bare = player(policy, problem, 100_000, "step")

    def run(number: int, **more: object) -> float:
        began = time.perf_counter()
        ocucb.simulate(policy, problem, runs=number, **facts, **more)
        return time.perf_counter() - began

    run(1)
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        kernel, whole = np.inf, np.inf
        for i in range(3):
            began = time.perf_counter()
            bare(runs)
            kernel = min(kernel, time.perf_counter() - began)
            store = Path(folder) / f"{i}.db"
            whole = min(whole, run(runs, workers=1, store=store, progress=True))
    long = int(30.0 / whole * runs)
    one = run(long, workers=1)
    two = run(long, workers=2)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor()
        run(runs, executor=executor)  # workers load their compiled code
        dask = run(long, executor=executor)
    lines = [
        "## Workers",
        "",
        "OCUCB on the step engine, K = 2, n = 10^5; two workers need two idle cores.",
        "",
        "| setup | seconds | relative |",
        "|---|---|---|",
        f"| kernel alone, {runs} runs | {kernel:.2f} | |",
        f"| with blocks, store and progress | {whole:.2f} | {whole / kernel - 1:.1%} more |",
        f"| one thread, {long} runs | {one:.1f} | |",
        f"| two threads | {two:.1f} | {one / two:.2f} times as fast |",
        f"| two Dask workers | {dask:.1f} | {one / dask:.2f} times as fast |",
    ]
    print("\n".join(lines), flush=True)
    return lines


def live() -> list[str]:
    """Section: microseconds per ask and tell, compared with a numpy scan and other libraries."""
    lines = [
        "## Live use: microseconds per ask and tell",
        "",
        "Ten arms, normal rewards (goal: 5, and faster than the other libraries):",
        "",
        "| | µs |",
        "|---|---|",
    ]
    for label, seconds in _ten_arms():
        lines.append(f"| {label} | {f'{1e6 * seconds:.1f}' if seconds else ''} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        "A million arms, each already played once. The numpy scan computes all indices and takes",
        "the largest. Mean over 20,000 rounds, best of several. Rewards are normal, or clicks with",
        "probability 0.3.",
        "",
        "| policy | rewards | µs | goal | numpy scan, µs | ratio | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    many = 10**6
    names = [f"arm {i}" for i in range(many)]
    rng = np.random.default_rng(1)
    for clicks in (False, True):
        rewards = (rng.random(many) < 0.3).astype(float) if clicks else rng.normal(size=many)
        for text in ("ocucb", "moss", "aocucb", "thompson"):
            bandit = Bandit(names, text, 10 * many, sigma=1.0, rng=1)
            bandit.tell(names, rewards)
            scans = text == "thompson"
            ours = _ask_and_tell(bandit, rewards.tolist(), 10 if scans else 20_000)
            numpy = min(_seconds(_numpy_scan(text, rewards)) for _ in range(5))
            lines.append(
                f"| {text} | {'clicks' if clicks else 'normal'} | {1e6 * ours:,.1f} "
                f"| {'may scan' if scans else '20'} | {1e6 * numpy:,.0f} | {numpy / ours:.1f} "
                f"| {'' if scans else '100'} |"
            )
            print(lines[-1], flush=True)
    lines += [
        "",
        "Policies that know no sigma, or use the bounds, on clicks, relative to OCUCB (goal: 1.5):",
        "",
        "| arms | policy | µs | ratio to OCUCB |",
        "|---|---|---|---|",
    ]
    for arms in (10, many):
        paid = (rng.random(arms) < 0.3).astype(float)
        later = (rng.random(20_000) < 0.3).astype(float).tolist()
        times = {}
        for text in ("ocucb", "kl-ocucb", "ocucb-normal"):
            bandit = Bandit(names[:arms], text, 10 * many, bounds=(0, 1), rng=1)
            bandit.tell(names[:arms], paid)
            times[text] = _ask_and_tell(bandit, later, len(later))
            ratio = times[text] / times["ocucb"]
            lines.append(f"| {arms:,} | {text} | {1e6 * times[text]:.1f} | {ratio:.2f} |")
            print(lines[-1], flush=True)
    lines += ["", "Bytes per arm, excluding its name, with a million arms (goal: 100):", ""]
    lines += ["| policy | bytes |", "|---|---|"]
    for text in ("ocucb", "ucb", "thompson"):
        tracemalloc.start()
        bandit = Bandit(names, text, 10 * many, sigma=1.0)
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        lines.append(f"| {text} | {size / len(bandit):.0f} |")
        print(lines[-1], flush=True)
    return lines


def _ask_and_tell(bandit: Bandit, rewards: list[float], rounds: int) -> float:
    """Return the seconds per ask and tell: the mean over `rounds`, the best of several."""

    def play(_: int) -> None:
        for reward in rewards[:rounds]:
            bandit.tell(bandit.ask(), reward)

    return min(_seconds(play) for _ in range(_repeats(rounds))) / rounds


def _repeats(rounds: int) -> int:
    """Return how often to repeat a timing of `rounds` rounds: the shorter, the more often."""
    return max(ROUNDS, 100_000 // rounds) if rounds > 100 else ROUNDS


def _numpy_scan(text: str, sums: np.ndarray) -> Callable[[int], None]:
    """Return a function that chooses among many arms in plain numpy."""
    pulls, n, t = np.ones(sums.size), 10.0 * sums.size, sums.size + 1.0
    rng = np.random.default_rng(1)
    rule: dict[str, Callable[[], np.ndarray]] = {
        "ocucb": lambda: np.sqrt(3.0 / pulls * np.log(2.0 * n / t)),
        "moss": lambda: np.sqrt(2.0 / pulls * np.log(np.maximum(1.0, n / (pulls * pulls.size)))),
        "aocucb": lambda: np.sqrt(2.0 / pulls * np.log(n / pulls)),
        "thompson": lambda: rng.normal(size=pulls.size) / np.sqrt(pulls),
    }
    return lambda _: (sums / pulls + rule[text]()).argmax()  # type: ignore[return-value]


def _ten_arms() -> Iterator[tuple[str, float | None]]:
    """Yield the name of each player of ten arms and its seconds per choice and update."""
    arms = [f"arm {i}" for i in range(10)]
    rewards = np.random.default_rng(1).normal(size=2000).tolist()
    for text in ("ocucb", "moss", "aocucb", "ucb", "thompson"):
        bandit = Bandit(arms, text, 10**7, sigma=1.0, rng=1)
        yield f"ocucb.Bandit, {text}", _ask_and_tell(bandit, rewards, 2000)
    try:
        from mabwiser.mab import MAB, LearningPolicy
        from river import bandit as river
        from river import proba
    except ImportError as error:
        yield f"river and MABWiser: not installed ({error})", None
        return
    for name, policy in (
        ("UCB", river.UCB(delta=1, seed=1)),
        ("ThompsonSampling", river.ThompsonSampling(reward_obj=proba.Gaussian(), seed=1)),
    ):

        def play(_: int, policy: Any = policy) -> None:
            for reward in rewards:
                policy.update(policy.pull(arms), reward)

        yield f"river, {name}", min(_seconds(play) for _ in range(_repeats(2000))) / 2000
    for name, rule in (
        ("UCB1", LearningPolicy.UCB1()),
        ("EpsilonGreedy", LearningPolicy.EpsilonGreedy()),
    ):
        mab = MAB(arms, rule, seed=1)
        mab.fit(arms, [0.0] * 10)

        def play(_: int, mab: Any = mab) -> None:
            for reward in rewards[:500]:
                mab.partial_fit([mab.predict()], [reward])

        yield f"MABWiser, {name}", min(_seconds(play) for _ in range(10)) / 500


def peers() -> list[str]:
    """Section: the same task in other libraries."""
    lines = [
        "## Other libraries: rounds of UCB per second",
        "",
        "UCB with the bonus sqrt(2 log(t)/T) on ten arms that pay 1 with probability 0.6 (one of",
        "them) or 0.5. Libraries without a compiled simulator run in a loop that asks, draws a",
        "reward and tells. SMPyBandits 0.9.7 does not find the jit compiler of current numba.",
        "",
        "| | rounds/s | relative to ocucb.Bandit |",
        "|---|---|---|",
    ]
    found = list(_peers())
    live = dict(found)[_LIVE]
    assert live is not None
    for label, rate in found:
        cells = f"{rate:.2g} | {rate / live:.2f}" if rate else "not installed |"
        lines.append(f"| {label} | {cells} |")
        print(lines[-1], flush=True)
    return lines


_LIVE = "ocucb.Bandit, ask and tell"
_CLICKS = [0.6] + [0.5] * 9


def _peers() -> Iterator[tuple[str, float | None]]:
    """Yield the name of each way to play and its rounds per second."""
    horizon = 100_000
    policy, problem = parse_policy("ucb:constant=8"), ocucb.bernoulli(_CLICKS)
    for engine in ("skip", "step"):
        (seconds,) = best_times(player(policy, problem, horizon, engine))
        yield f'ocucb.simulate, engine="{engine}"', horizon / seconds
    (seconds,) = best_times(plain(parse_policy("ucb"), parse_problem("gap:K=10,gap=0.1"), horizon))
    yield "a straightforward loop, compiled (Gaussian rewards)", horizon / seconds
    arms = list(range(10))
    bandit = Bandit(arms, policy, 10**7, bounds=(0, 1), rng=1)
    yield _LIVE, _loop(bandit.ask, bandit.tell)
    for name, make in (("SMPyBandits", _smpybandits), ("river", _river), ("MABWiser", _mabwiser)):
        try:
            with redirect_stdout(io.StringIO()):  # SMPyBandits greets on import
                ask, tell = make(arms)
        except ImportError:
            yield name, None
        else:
            yield name, _loop(ask, tell)


def _loop(ask: Callable[[], int], tell: Callable[[int, float], object]) -> float:
    """Return the rounds per second of a loop that asks, draws and tells."""
    luck = np.random.default_rng(1).random(2000).tolist()

    def play(times: int) -> None:
        for u in luck * times:
            arm = ask()
            tell(arm, float(u < _CLICKS[arm]))

    (seconds,) = best_times(play)
    return len(luck) / seconds


def _smpybandits(arms: list[int]) -> tuple[Any, Any]:
    # it imports a function that scipy has dropped, under another name
    with mock.patch.object(special, "btdtri", special.betaincinv, create=True):
        from SMPyBandits.Policies import UCB

    policy = UCB(len(arms))
    policy.startGame()
    return policy.choice, policy.getReward


def _river(arms: list[int]) -> tuple[Any, Any]:
    from river.bandit import UCB

    policy = UCB(delta=1, seed=1)
    return lambda: policy.pull(arms), policy.update


def _mabwiser(arms: list[int]) -> tuple[Any, Any]:
    from mabwiser.mab import MAB, LearningPolicy

    mab = MAB(arms, LearningPolicy.UCB1(alpha=1), seed=1)
    mab.fit(arms, [0.0] * len(arms))  # an arm without rewards has the index 0, not infinity
    return mab.predict, lambda arm, reward: mab.partial_fit([arm], [reward])


def serve() -> list[str]:
    """Section: the service."""
    import service

    return service.section()


def tune() -> list[str]:
    """Section: how close tuning comes to a fine grid, and how long it takes."""
    import tuning

    return tuning.section()


def lab() -> list[str]:
    """Section: how soon the lab shows numbers, and how soon they are sharp."""
    import lab

    return lab.section()


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "step": step,
    "drift": drift,
    "skip": skip,
    "clicks": clicks,
    "family": family,
    "single": single_runs,
    "growth": growth,
    "gittins": gittins,
    "live": live,
    "peers": peers,
    "choice": choice,
    "sampling": sampling,
    "priors": priors,
    "tune": tune,
    "sweep": sweep,
    "cold": cold,
    "workers": workers,
    "serve": serve,
    "lab": lab,
}


HEAD = """# Speed

Measured by `make bench`: effective pulls per second on one core, and the ratio to the
yardstick for the same policy (`bench/yardstick.py`), measured in the same run."""


def _mark(name: str) -> str:
    return f"<!-- {name} -->\n"


def _sections(text: str) -> dict[str, str]:
    """Return the sections of the present table; those not measured now are kept."""
    found = re.split(r"<!-- (\w+) -->\n", text)
    return {name: body.strip() for name, body in zip(found[1::2], found[2::2], strict=True)}


def main() -> None:
    """Run the sections named on the command line, or all of them."""
    names = sys.argv[1:] or list(SECTIONS)
    for name in names:
        if name not in SECTIONS:
            sys.exit(f"unknown section {name!r}; choose from {', '.join(SECTIONS)}.")
    known = _sections(TABLE.read_text()) if TABLE.exists() else {}
    for name in names:
        known[name] = "\n".join(SECTIONS[name]())
        parts = [_mark(name) + known[name] for name in SECTIONS if name in known]
        TABLE.write_text("\n\n".join([HEAD, *parts]) + "\n")
    print(f"Wrote {TABLE}.")


if __name__ == "__main__":
    main()
