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
from ..policies._families import Policy, PolicyFamily
from ..policies._rules import ChoiceRule
from ..problems import Problem
from ..rewards import Rewards
from . import skip, skip_binary, step
from .arm_counts import ArmCount, arm_count_slots
from .base import Engine, Game, Outcome, Plan
from .formulas import allowance_of_bonus, index_of_bonus, rule_of
from .run import NEXT_MARK, Run, Stats, rounds_to_mark, run_slots, stats_of

# Declared here, filled in by `specialise`: the policy's functions, the arms' rewards.
choose: Callable[..., int]
challenge: Callable[..., float]
pull: Callable[..., int]
leapt: Callable[..., int]
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
    mean: float,
    level: float,
    t: float,
    pulls: float,
    total: float,
    last: float,
    rng: Words,
) -> tuple[float, float, float]:
    """Let the leader play until its mean is not above `level` or `last` rounds are over."""
    lead = skip.Lead(t, pulls, total, 0.0, total - pulls * level)
    scale = game.scales[leader]
    arm_count = leader_arm_count(game.gaps, leader, pulls)  # of no interest to what has no bonus
    t, pulls, total, _, _ = play_leader(
        values, game, game.gaps, leader, arm_count, inf, mean, scale, level, lead, last, rng
    )
    return t, pulls, total


def lead_alone_binary(
    values: Any,
    game: Game,
    leader: int,
    mean: float,
    level: float,
    t: float,
    pulls: float,
    total: float,
    last: float,
    rng: Words,
) -> tuple[float, float, float]:
    """Do the same with rewards of 0 and 1."""
    facts = skip_binary.Facts(float(game.horizon), game.sigma, inf)
    lead = skip_binary.Lead(t, pulls, total, total / pulls)
    scale = game.scales[leader]
    arm_count = leader_arm_count(game.gaps, leader, pulls)  # of no interest here, either
    t, pulls, total, _ = play_leader(values, facts, arm_count, mean, scale, level, lead, last, rng)
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
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Let the leader play alone where it is unchallenged; elsewhere call the policy's function."""
    level, arms, n = work, game.means.size, float(game.horizon)
    end = float(game.checkpoints[game.checkpoints.size - 1])
    stats, t = stats_of(run), run.rounds[0]
    sums, pulls = run.sums, run.pulls
    leader, until, width = -1, 0.0, WIDTH
    idle = 0  # choices in a row that went to the leader
    while t < end and not stop[0]:
        if leader >= 0:
            T, total, before = pulls[leader], sums[leader], t
            if until <= T:
                until = np.floor(T * (1.0 + width)) + 1.0
                width = min(0.25, 2.0 * width)
                challenge_all(values, game, stats, leader, until, level)
            top = level[0]
            for i in range(1, arms):
                top = max(top, level[i])
            if arms == 1 and game.tilted < 0:  # its rewards change nothing
                T += end - t
                t = end
            elif total > T * (top + 1e-12 * abs(top)):
                free = rounds_to_mark(leader == game.tilted, run.mark[NEXT_MARK], T)
                last = min(min(end, t + until - T), t + free)
                t, T, total = lead_alone(
                    values, game, leader, run.drawn[leader], top, t, T, total, last, run.reward_rng
                )
            if t > before:
                idle = 0
                done = leapt(game, run, leader, T, total, t, done, outcome, row)
                continue
        arm = choose(t + 1.0, n, pulls, sums, game.sigma, run.memory, run.choice_rng, *values)
        if arm < 0 or arm >= arms:
            return False
        t += 1.0
        done = pull(game, run, arm, t, done, outcome, row)
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
    return True


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> str | None:
    """Return why this engine cannot play a policy, or None if it can."""
    rule = policy.family.rule
    assert isinstance(rule, ChoiceRule)
    if policy.forget is not None:
        return "it forgets"
    if rule.challenger_index is None:
        return "it does not declare who challenges the leader (challenger_index=)"
    if rule.takes_variance:
        return "leaps do not keep the squares that it takes"
    if not (problem.rewards.brownian or problem.rewards.binary):
        name = problem.rewards.name
        return f"skip-ahead needs Gaussian rewards or rewards of 0 and 1, but these are {name}"
    return None


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run: those of stepping where skipping does not pay."""
    turns = 100.0 * problem.arms * log(horizon + 1.0)
    skipping = turns * (COST_TURN + COST_CHALLENGE * problem.arms)
    return min(step.cost(policy, problem, horizon), skipping)


def plan(family: PolicyFamily, rewards: Rewards) -> Plan:
    """Return the kernel; the leader plays as on the engine for these rewards."""
    functions = run_slots(rewards) | {
        "choose": rule_of(family),
        "challenge": family.code.compiled["challenge"],
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
    return Plan(play_challenged, functions, np.empty, family.rule.memory_size)


ENGINE = Engine("skip", ChoiceRule, obstacle, cost, plan)
