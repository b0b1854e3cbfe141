"""Skip-ahead for policies that play the arm with the largest mean unless another challenges it.

IMED is one: an arm takes the leader's place only if the leader's mean is at most the arm's
*challenge*, a number that rises with the leader's pulls. For other choice policies nothing is known
about the rounds between two choices, and they run step by step.

Why skipping is exact
---------------------
Let J be the largest challenge that any other arm makes to a leader with M pulls. Until the leader
has M pulls no challenge is larger. So as long as its mean stays above J it is chosen, and nobody
else: it plays like an index policy without a bonus against a fixed level, and `play_leader` of
`skip` (Gaussian rewards) or `skip_binary` (rewards of 0 and 1) finds the round in which its mean
falls to J, with the error that these state. In every other round the policy's own function chooses.

M is a little more than the leader's pulls: far enough to be worth a leap, near enough not to
overstate the challenges.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log
from typing import Any

import numpy as np

from .._compile import kernel_part, specialise
from .._types import Flags, Floats, Words
from ..policies._base import Policy, PolicyFamily
from ..problems import Problem
from ..random import CHOICES, start_stream
from ..rewards import Rewards
from . import skip, skip_binary, step
from .base import (
    NEXT_MARK,
    ArmCount,
    Engine,
    Game,
    Kernel,
    Outcome,
    Stats,
    allowance_of_bonus,
    arm_count_slots,
    finish_run,
    first_rounds,
    index_of_bonus,
    mark_failed,
    new_stats,
    no_memory,
    observe,
    pass_mark,
    play_each_once,
    pseudo_regret,
    rounds_to_mark,
    rule_of,
    start_run,
)
from .skip import record

# Declared here, filled in by `specialise`: the policy's functions, the arms' rewards.
choose: Callable[..., int]
challenge: Callable[..., float]
memory_size: Callable[[int], int]
draw: Callable[[float, float, Words], float]
leader_arm_count: Callable[[Floats, int, float], ArmCount]
play_leader: Callable[..., Any]
lead_alone: Callable[..., tuple[float, float, float]]  # one of the two below

# These affect the speed, never the law.
WIDTH = 1.0 / 64.0  # how far ahead challenges are computed, as a share of the leader's pulls
COST_CHALLENGE, COST_TURN = 12.0, 150.0  # nanoseconds


@kernel_part
def no_extra(pulls: float, t: float, horizon: float, arms: float, *values: float) -> float:
    """Return the bonus of a policy that has none."""
    return 0.0


def lead_alone_gaussian(
    values: Any,
    game: Game,
    leader: int,
    level: float,
    t: float,
    pulls: float,
    total: float,
    last: float,
    rewards: Words,
) -> tuple[float, float, float]:
    """Let the leader play until its mean is not above `level` or `last` rounds are over."""
    lead = skip.Lead(t, pulls, total, 0.0, total - pulls * level)
    mean, scale = game.drawn[leader], game.scales[leader]
    arm_count = leader_arm_count(game.gaps, leader, pulls)  # of no interest to what has no bonus
    t, pulls, total, _, _ = play_leader(
        values, game, game.gaps, leader, arm_count, inf, mean, scale, level, lead, last, rewards
    )
    return t, pulls, total


def lead_alone_binary(
    values: Any,
    game: Game,
    leader: int,
    level: float,
    t: float,
    pulls: float,
    total: float,
    last: float,
    rewards: Words,
) -> tuple[float, float, float]:
    """Do the same with rewards of 0 and 1."""
    facts = skip_binary.Facts(float(game.horizon), game.sigma, inf)
    lead = skip_binary.Lead(t, pulls, total, total / pulls)
    mean, scale = game.drawn[leader], game.scales[leader]
    arm_count = leader_arm_count(game.gaps, leader, pulls)  # of no interest here, either
    t, pulls, total, _ = play_leader(
        values, facts, arm_count, mean, scale, level, lead, last, rewards
    )
    return t, pulls, total


@kernel_part
def largest_mean(stats: Stats) -> int:
    """Return the first arm with the largest mean."""
    best, top = 0, -inf
    for i in range(stats.pulls.size):
        mean = stats.sums[i] / stats.pulls[i]
        if mean > top:
            best, top = i, mean
    return best


def challenge_all(
    values: Any, game: Game, stats: Stats, leader: int, pulls: float, level: Floats
) -> None:
    """Compute all challenges to a leader with so many pulls."""
    for i in range(level.size):
        T = stats.pulls[i]
        level[i] = challenge(stats.sums[i] / T, T, pulls, game.sigma, *values)
    level[leader] = -inf


def play_challenged(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Let the leader play alone where it is unchallenged; elsewhere call the policy's function."""
    arms, n = game.means.size, float(game.horizon)
    end = float(game.checkpoints[game.checkpoints.size - 1])
    stats, memory, level = new_stats(arms), np.empty(memory_size(arms)), np.empty(arms)
    sums, pulls = stats.sums, stats.pulls
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        start_stream(choices, key, first + run, CHOICES)
        for i in range(memory.size):
            memory[i] = 0.0
        done = play_each_once(game, rewards, stats, outcome, run)
        t = float(arms)  # rounds played
        leader, until, width = -1, 0.0, WIDTH
        idle = 0  # choices in a row that went to the leader
        while t < end:
            if stop[0]:
                return
            if leader >= 0:
                if pulls[leader] >= until:
                    until = np.floor(pulls[leader] * (1.0 + width)) + 1.0
                    width = min(0.25, 2.0 * width)
                    challenge_all(values, game, stats, leader, until, level)
                top = level[0]
                for i in range(1, arms):
                    top = max(top, level[i])
                before = t
                last = min(end, t + until - pulls[leader])
                last = min(
                    last, t + rounds_to_mark(leader == tilted, mark[NEXT_MARK], pulls[leader])
                )
                if arms == 1 and tilted < 0:  # its rewards change nothing
                    pulls[leader] += end - t
                    t = end
                elif sums[leader] > pulls[leader] * (top + 1e-12 * abs(top)):
                    t, pulls[leader], sums[leader] = lead_alone(
                        values, game, leader, top, t, pulls[leader], sums[leader], last, rewards
                    )
                if t > before:
                    idle = 0
                    if leader == tilted and pulls[leader] == mark[NEXT_MARK]:
                        pass_mark(game, stats, outcome, run)
                    if game.checkpoints[done] <= t:
                        done = record(game, stats, leader, t, done, outcome, run)
                    continue
            arm = choose(t + 1.0, n, pulls, sums, game.sigma, memory, choices, *values)
            if arm < 0 or arm >= arms:
                mark_failed(outcome, run)
                break
            observe(stats, arm, draw(drawn[arm], game.scales[arm], rewards))
            if arm == tilted and pulls[arm] == mark[NEXT_MARK]:
                pass_mark(game, stats, outcome, run)
            t += 1.0
            if t == game.checkpoints[done]:
                outcome.regret[run, done] = pseudo_regret(game, stats)
                done += 1
            best = largest_mean(stats)
            if best != leader:
                leader, until = best, 0.0
            elif arm != leader:
                T = pulls[arm]
                level[arm] = challenge(sums[arm] / T, T, until, game.sigma, *values)
                idle = 0
            else:
                idle += 1
                if idle == 2:  # the challenges look too far ahead
                    idle, width, until = 0, 0.25 * width, 0.0
        finish_run(game, stats, outcome, run)


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> str | None:
    """Return why this engine cannot play a policy, or None if it can."""
    if policy.family.challenge is None:
        return "it does not declare who challenges the leader (challenge=)"
    if not (problem.rewards.brownian or problem.rewards.binary):
        name = problem.rewards.name
        return f"skip-ahead needs Gaussian rewards or rewards of 0 and 1, but these are {name}"
    return None


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run: those of stepping where skipping does not pay."""
    turns = 100.0 * problem.arms * log(horizon + 1.0)
    skipping = turns * (COST_TURN + COST_CHALLENGE * problem.arms)
    return min(step.cost(policy, problem, horizon), skipping)


def kernel(family: PolicyFamily, rewards: Rewards) -> tuple[Kernel, dict[str, Any]]:
    """Return the kernel; the leader plays as on the engine for these rewards."""
    functions: dict[str, Any] = {
        "choose": rule_of(family),
        "challenge": family.code.compiled["challenge"],
        "memory_size": family.code.compiled.get("memory_size", no_memory),
        "draw": rewards.draw,
        "play_each_once": first_rounds(rewards),
        "bonus": no_extra,
        "concave": True,
        "has_bonus": True,
        "unplayed_rises": False,
        "takes_effective_arms": False,
        **arm_count_slots(family),
    }
    functions["seen"] = specialise(skip.seen, functions, inline=True)
    functions["index"] = specialise(index_of_bonus, functions, inline=True)
    functions["allowance"] = specialise(allowance_of_bonus, functions, inline=True)
    assert rewards.brownian or rewards.binary, rewards.name
    lead = skip.play_leader if rewards.brownian else skip_binary.play_leader
    alone = lead_alone_gaussian if rewards.brownian else lead_alone_binary
    functions["play_leader"] = specialise(lead, functions, inline=True)
    functions["lead_alone"] = specialise(alone, functions, part=True)
    functions["challenge_all"] = specialise(challenge_all, functions, part=True)
    return play_challenged, functions


ENGINE = Engine("skip", "choice", obstacle, cost, kernel)
