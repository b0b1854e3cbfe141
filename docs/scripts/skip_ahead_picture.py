"""Draw docs/pictures/skip-ahead.png: one run of the skip-ahead engine, seen from inside.

The kernels are plain Python before they are compiled. Here they run uncompiled, with the three
functions that draw random numbers wrapped so that they report where they were asked.

    python docs/scripts/skip_ahead_picture.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ocucb import OCUCB, gap
from ocucb.engine import arm_counts, kernel_of, new_game, new_outcome, skip
from ocucb.engine import run as engine_run
from ocucb.random import normal

HORIZON = 20_000
events: list[tuple[str, float, float, float, float]] = []  # kind, t, height, t after, height after
leads: list[tuple[int, float, float]] = []


def plain(template: Any, **functions: Any) -> Any:
    """Return a kernel as an ordinary Python function with these names filled in."""
    space = {**template.__globals__, **functions}
    for name in template.__code__.co_names:
        one = space.get(name)
        if getattr(one, "targetoptions", {}).get("no_cpython_wrapper"):
            space[name] = plain(one.py_func)
    return FunctionType(template.__code__, space)


def asked_from() -> tuple[float, float]:
    """Return the round and the height at which `play_leader` asks for a random number."""
    frame = sys._getframe(2).f_locals
    return frame["t"] + frame["reach"] - frame["left"], frame["height"]


def watched_hitting_time(
    height: float, drift: float, scale: float, before: float, rewards: Any
) -> float:
    t, _ = asked_from()
    time = skip.hitting_time.py_func(height, drift, scale, before, rewards)
    if time < before:
        events.append(("met", t, height, t + time, 0.0))
    return time


def watched_endpoint(height: float, drift: float, scale: float, span: float, rewards: Any) -> float:
    t, _ = asked_from()
    noise = skip.endpoint_given_no_hit.py_func(height, drift, scale, span, rewards)
    events.append(("jumped", t, height, t + span, height + noise + drift * span))
    return noise


def watched_normal(rewards: Any) -> float:
    value = normal(rewards)
    frame = sys._getframe(1).f_locals
    if "left" in frame:
        t, height = asked_from()
        events.append(("stepped", t, height, t + 1.0, height + frame["drift"] + value))
    return value


def play() -> None:
    """Play one run of OCUCB on two arms."""
    problem = gap(2, 0.3)
    policy = OCUCB()
    functions: dict[str, Any] = {
        "bonus": policy.family.function.py_func,
        "concave_until": lambda horizon, arms, *values: np.inf,
        "concave": True,
        "unplayed_constant": False,
        "unplayed_rises": False,
        "hitting_time": watched_hitting_time,
        "endpoint_given_no_hit": watched_endpoint,
        "normal": watched_normal,
        "leapt": plain(engine_run.leapt),
        "takes_effective_arms": False,
        **arm_counts.arm_count_slots(policy.family),
    }
    functions["seen"] = plain(skip.seen, **functions)
    play_leader = plain(skip.play_leader, **functions)

    def watched_play_leader(*arguments: Any) -> Any:
        answer = play_leader(*arguments)
        before: skip.Lead = next(
            argument for argument in arguments if isinstance(argument, skip.Lead)
        )
        leads.append((sys._getframe(1).f_locals["leader"], before.t, answer.t))
        return answer

    game = new_game(skip.ENGINE, problem, HORIZON, np.array([HORIZON]))
    key, stop = np.array([3, 2015], dtype=np.uint64), np.zeros(1, dtype=np.bool_)
    run = kernel_of(policy.family, problem.rewards, skip.ENGINE).start(game, key, 0)
    outcome = new_outcome(1, game)
    draw_reward = plain(engine_run.draw_by_mean, draw=problem.rewards.draw)
    slots = {"takes_variance": False, "notes_reward": False, "has_contexts": False}
    pull = plain(engine_run.pull, draw_reward=draw_reward, **slots)
    done = plain(engine_run.play_each_once, pull=pull)(game, run, outcome, 0)
    run.rounds[0] = problem.arms
    play_run = plain(skip.play_nonincreasing, **functions, play_leader=watched_play_leader)
    work = skip.tree_and_order(problem.arms)
    play_run(policy.values, game, run, work, done, outcome, 0, stop)


def variety(lead: tuple[float, float]) -> tuple[int, float]:
    """Tell how much there is to see in a lead: kinds of events, then meetings and jumps."""
    begin, end = lead
    kinds = [event[0] for event in events if begin <= event[1] < end]
    return len(set(kinds)), kinds.count("met") + kinds.count("jumped")


def draw() -> Figure:
    """Draw the whole run, and one lead of it."""
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    above, below = figure.subplots(2, 1)
    for arm, begin, end in leads:
        above.plot([begin, max(end, begin + 1)], [arm, arm], color=f"C{arm}", linewidth=7)
    asked = sorted({event[1] for event in events})
    above.plot(asked, [0.5] * len(asked), "k|", markersize=9, alpha=0.5)
    above.set(xscale="log", xlim=(2, HORIZON), ylim=(-0.5, 1.5), xlabel="round t")
    above.set_yticks([0, 0.5, 1], ["best arm leads", "random numbers\ndrawn", "other arm leads"])
    above.set_title(
        f"One run of OCUCB, two arms, {HORIZON:,} rounds: {len(leads)} leads, "
        f"{len(events)} looks instead of {HORIZON:,} pulls"
    )
    begin, end = max(((lead[1], lead[2]) for lead in leads), key=variety)
    below.axhline(0, color="black", linewidth=1)
    styles = {
        "jumped": ("C2", "solid", "jumped: it did not meet the line"),
        "met": ("C3", "dashed", "met the line at this time"),
        "stepped": ("0.4", "solid", "one pull at a time, close to the line"),
    }
    for kind, t, height, after, height_after in events:
        if begin <= t < end:
            color, dashes, _ = styles[kind]
            below.plot(
                [t, after], [height, height_after], color=color, linestyle=dashes, linewidth=1
            )
            below.plot([after], [height_after], ".", color=color, markersize=4)
    for color, dashes, text in styles.values():
        below.plot([], [], color=color, linestyle=dashes, label=text)
    below.set(xlabel="round t", ylabel="height above the line")
    below.set_title(f"The lead from round {begin:.0f} to {end:.0f}: what was sampled")
    below.legend(frameon=False, loc="upper right")
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    play()
    draw().savefig(Path(__file__).parents[1] / "pictures" / "skip-ahead.png", dpi=120)
