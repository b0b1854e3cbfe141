"""One decision at a time: rewards come from outside, late and in any order.

Every kernel works on a `State`, whatever the policy. Nothing else is remembered.

What is decided
---------------
An arm with S observed rewards of sum s and with o open asks has made T = S + o pulls: its index is
``s / S + sigma * bonus(T, t, n, K)``. So an open ask lowers the bonus and leaves the mean alone.
With no open asks this is the rule of the step engine, with the same random numbers for ties and
samples: the same rewards give the same arms. Beyond what the simulator meets:

- arms that were never asked for nor told about come first, in order;
- an arm whose rewards are all pending comes after the arms that have one, and among such arms one
  with the fewest open asks comes first (`pending_index`);
- beyond the horizon n, t and T count as n;
- K is the number of active arms, t - 1 the number of asks and unsolicited rewards so far.

Where unplayed arms do not rise, few arms are evaluated: `ocucb.live.tree` says how.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from .._compile import compiled, entry_point, inlined, specialise, translate_numba_errors
from .._memo import cache, cached_while_alive
from .._types import Counts, Floats, Words
from .._waiting import interruptible
from ..engine.formulas import choice_of, deviation_of, index_of
from ..engine.run import squares_added, variance_of
from ..policies import Policy, PolicyFamily
from ..policies._rules import (
    ArmRule,
    BernoulliKLRule,
    ChoiceRule,
    IndexRule,
    Rule,
    SamplingRule,
)
from ..random import below, normal
from .tree import ARM, Records, build_tree, highest, lower, new_tree, replace, tree_kernels

Kernels = tuple[Callable[..., int], Callable[..., None], Callable[..., None]]

# Asks and unsolicited rewards so far, active arms, those never played, a position before which
# there are none of these, how many arms tied in the last choice (0 if not known), and whether all
# ceilings were computed after the last unplayed arm was played.
CLOCK = np.dtype(
    [
        *((name, "i8") for name in ("rounds", "active", "unplayed", "cursor", "ties")),
        ("settled", "?"),
    ],
    align=True,
)


class State(NamedTuple):
    """What the kernels work on: the rules, and everything that changes."""

    values: tuple[Any, ...]  # the policy's table and parameters
    horizon: float
    sigma: float
    arms: Records  # an `ARM` each
    evaluated: Floats  # last evaluation of each arm: its index, now a ceiling; or its deviation
    tree: Records  # empty where every arm is evaluated in every round
    clock: Records  # a single `CLOCK`
    stream: Words
    memory: Floats  # of a choice policy


# Slots, which `_kernels_of` fills. A policy's function fills the one that its decorator names; any
# other slot has the name of the function that fills it, or the beginning of its name.
counted_arms: Callable[[State, int | np.int64, float], float]  # all_active or effective_active
index: Callable[..., float]  # index_of_bonus, index_of_mean or index_of_variance
noted_index: Callable[[State, int | np.int64], float]  # current_index or attempted_index
deviation: Callable[..., float]  # of a `sampling_policy`
choose: Callable[..., int]  # of a `choice_policy`
select_arm: Callable[[State], int]  # select_arm_lazily, _by_index, _by_sample or _by_choice
unplayed_constant: bool  # the index of an unplayed arm does not change
counts_successes: bool  # the policy takes rewards of 0 and 1: sums must stay whole numbers


@inlined
def pending_index(pending: float) -> float:
    """Return what stands for the index of an arm without a reward: below all, open asks count."""
    return -1e300 - 1e288 * pending


@inlined
def all_active(state: State, i: int | np.int64, pulls: float) -> float:
    """Return the number of active arms."""
    return float(state.clock[0].active)


@inlined
def effective_active(state: State, i: int | np.int64, pulls: float) -> float:
    """Return the effective arms of arm i, as `ocucb.engine.arm_counts.effective_arms` does."""
    count, roots = 0.0, 0.0
    for j in range(state.arms.size):
        other = state.arms[j]
        if other.active:
            if j == i or other.observed + other.open >= pulls:
                count += 1.0
            else:
                roots += sqrt(other.observed + other.open)
    return count + roots / sqrt(pulls)


def current_index(state: State, i: int | np.int64) -> float:
    """Return an arm's index in the next round."""
    arm, clock, n = state.arms[i], state.clock[0], state.horizon
    if arm.observed == 0.0:
        return pending_index(arm.open)
    t = min(clock.rounds + 1.0, n)
    mean = arm.sum / arm.observed
    variance = variance_of(arm.sum, arm.observed, arm.squares)
    pulls = min(arm.observed + arm.open, n)
    K = counted_arms(state, i, pulls)
    value = index(mean, variance, pulls, t, n, K, state.sigma, state.values)
    return value if value != -inf else -1.7e308  # -inf is for retired arms


def attempted_index(state: State, i: int | np.int64) -> float:
    """Return the same for a user's formula, which may raise: then NaN."""
    try:
        return current_index(state, i)
    except Exception:  # `ask` meets it again, and reports it
        return nan


# Four ways to select an arm. All return -1 where the policy returns NaN or no arm; `stream` and
# `memory` may then have changed.


def select_arm_lazily(state: State) -> int:
    """Return the arm with the largest index, evaluating few."""
    arms, ceilings, tree = state.arms, state.evaluated, state.tree
    root = tree[1]
    while not unplayed_constant:
        top = root.top
        if root.alike:
            fresh = current_index(state, root.first)
            if fresh != fresh:
                return -1
            if fresh > root.second:
                break
            lower(arms, ceilings, tree, fresh)
        else:
            number = 0
            while root.top == top and number < root.count:
                i = highest(ceilings, tree, number)
                fresh = current_index(state, i)
                if fresh != fresh:
                    return -1
                if fresh < top:
                    replace(arms, ceilings, tree, i, fresh)
                else:
                    number += 1
            if root.top == top:
                break
    ties = root.count
    best = highest(ceilings, tree, below(state.stream, ties) if ties > 1 else 0)
    index = current_index(state, best) if root.top == inf else 0.0
    state.clock[0].ties = ties if index < inf else 0
    return best if index == index else -1


def select_arm_by_index(state: State) -> int:
    """Return the arm with the largest index, evaluating all."""
    arms, indices = state.arms, state.evaluated
    best, top, ties = -1, -inf, 0
    for i in range(arms.size):
        if arms[i].active:
            index = current_index(state, i)
            indices[i] = index
            if index > top:
                best, top, ties = i, index, 1
            elif index == top:
                ties += 1
            elif index != index:
                return -1
    state.clock[0].ties = ties if top < inf else 0
    if ties > 1:
        number = below(state.stream, ties)
        for i in range(arms.size):
            if arms[i].active and indices[i] == top:
                if number == 0:
                    return i
                number -= 1
    return best


def select_arm_by_sample(state: State) -> int:
    """Return the arm with the largest sample."""
    clock, n = state.clock[0], state.horizon
    t, K = min(clock.rounds + 1.0, n), float(clock.active)
    best, top = -1, -inf
    for i in range(state.arms.size):
        arm = state.arms[i]
        if arm.active:
            if arm.observed > 0.0:
                pulls = min(arm.observed + arm.open, n)
                spread = state.sigma * deviation(pulls, t, n, K, *state.values)
                state.evaluated[i] = spread
                sample = arm.sum / arm.observed + spread * normal(state.stream)
            else:
                sample = pending_index(arm.open)
            if sample > top:
                best, top = i, sample
            elif sample != sample:
                return -1
    return best


def seen_by_choice(arms: Records, whole: bool) -> tuple[Floats, Floats, Floats, Counts]:
    """Return pulls, sums, squares and positions of the active arms, as a choice policy sees them.

    Open asks count as pulls that leave mean and variance as they are; they paid the best mean of
    all while the arm has none. If `whole`, sums count successes.
    """
    best, K = -inf, 0
    for i in range(arms.size):
        if arms[i].active:
            K += 1
            if arms[i].observed > 0.0:
                best = max(best, arms[i].sum / arms[i].observed)
    if best == -inf:
        best = 0.0
    pulls, sums, squares = np.empty(K), np.empty(K), np.empty(K)
    places = np.empty(K, np.int64)
    k = 0
    for i in range(arms.size):
        arm = arms[i]
        if arm.active:
            pulls[k], sums[k], squares[k] = arm.observed + arm.open, arm.sum, arm.squares
            places[k] = i
            if arm.open > 0.0:
                sums[k] = (arm.sum / arm.observed if arm.observed > 0.0 else best) * pulls[k]
                if arm.observed > 0.0:
                    squares[k] = arm.squares / arm.observed * pulls[k]
                if whole:
                    sums[k] = np.rint(sums[k])
            k += 1
    return pulls, sums, squares, places


def select_arm_by_choice(state: State) -> int:
    """Return the arm that the policy names."""
    pulls, sums, squares, places = seen_by_choice(state.arms, counts_successes)
    t, n = min(state.clock[0].rounds + 1.0, state.horizon), state.horizon
    chosen = choose(
        t, n, pulls, sums, squares, state.sigma, state.memory, state.stream, state.values
    )
    return int(places[chosen]) if 0 <= chosen < places.size else -1


# The kernels


def refresh_all(state: State) -> None:
    """Make all ceilings exact and build the tree, where there is one."""
    for i in range(state.arms.size):
        state.evaluated[i] = -inf
        if state.arms[i].active:
            index = noted_index(state, i)
            state.evaluated[i] = index if index == index else inf  # `ask` reports NaN
    build_tree(state.arms, state.evaluated, state.tree)


def refresh_arm(state: State, i: int, first: bool) -> None:
    """Note that arm i has changed; `first` if it was played for the first time.

    Once all arms have been played, the oldest ceilings are far too high: evaluating all is cheaper.
    """
    clock = state.clock[0]
    if first and clock.unplayed == 0 and not clock.settled:
        clock.settled = True
        refresh_all(state)
    else:
        index = noted_index(state, i)
        replace(state.arms, state.evaluated, state.tree, i, index if index == index else inf)


def ask(state: State) -> int:
    """Decide which arm to play, and note that its reward is pending; -1 if none can be chosen."""
    arms, clock = state.arms, state.clock[0]
    first = clock.unplayed > 0
    clock.ties = 1 if first else 0
    if first:
        i = int(clock.cursor)
        while not (arms[i].active and arms[i].observed + arms[i].open == 0.0):
            i += 1
        clock.cursor = i
        clock.unplayed -= 1
    else:
        i = select_arm(state)
        if i < 0:
            return -1
    arms[i].open += 1.0
    clock.rounds += 1
    refresh_arm(state, i, first)
    return i


def tell(state: State, i: int, asks: float, rewards: float, reward: float) -> None:
    """Open an ask of an arm (`asks` is 1), or close one with a reward, or without (`rewards`).

    Where no ask is open, the reward counts as an additional pull.
    """
    arm, clock = state.arms[i], state.clock[0]
    before = arm.observed + arm.open
    if asks > 0.0:
        arm.open += 1.0
        clock.rounds += 1
    elif arm.open > 0.0:
        arm.open -= 1.0
    else:
        clock.rounds += 1
    if rewards > 0.0:
        arm.squares += squares_added(arm.sum, arm.observed, reward)
    arm.observed += rewards
    arm.sum += reward
    if arm.active:
        if before == 0.0:
            clock.unplayed -= 1
        elif arm.observed + arm.open == 0.0:
            clock.unplayed += 1
            clock.cursor = min(clock.cursor, i)
        refresh_arm(state, i, before == 0.0)


def rebuild(state: State) -> None:
    """Compute everything that follows from the arms and the number of rounds.

    `evaluated` then holds the next indices, of an index policy: inf for NaN, -inf if retired.
    """
    clock = state.clock[0]
    clock.active = clock.unplayed = clock.cursor = 0
    clock.settled = False
    for i in range(state.arms.size):
        arm = state.arms[i]
        if arm.active:
            clock.active += 1
            if arm.observed + arm.open == 0.0:
                clock.unplayed += 1
    refresh_all(state)


# What the bandit calls


def new_arms(count: int) -> Records:
    """Return arms about which nothing is known."""
    arms = np.zeros(count, ARM)
    arms["active"] = True
    return arms


def new_state(
    family: PolicyFamily,
    values: tuple[Any, ...],
    horizon: int,
    sigma: float,
    arms: Records,
    rounds: int,
    stream: Words,
) -> State:
    """Return a state that is still to be rebuilt; a choice policy starts afresh."""
    memory = np.zeros(family.rule.memory_size(int(arms["active"].sum())))
    clock = np.zeros(1, CLOCK)
    clock["rounds"] = rounds
    evaluated = np.full(arms.size, -inf)
    tree = new_tree(arms.size if _is_lazy(family.rule) else 0)
    return State(values, float(horizon), sigma, arms, evaluated, tree, clock, stream, memory)


def _is_lazy(rule: Rule) -> bool:
    """Tell whether few arms need be evaluated.

    A cancelled ask lowers an arm's pulls; where others' indices depend on these, they may rise.
    """
    return rule.is_lazy and not rule.takes_effective_arms


def copy_state(state: State) -> State:
    """Return an independent copy."""
    return State._make(part.copy() if isinstance(part, np.ndarray) else part for part in state)


@cache
def view_of_choice() -> Callable[[Records, bool], tuple[Floats, Floats, Floats, Counts]]:
    """Return `seen_by_choice`, compiled."""
    return specialise(seen_by_choice, {})  # not `keep`: it allocates


def compile_kernels(policy: Policy, values: tuple[Any, ...]) -> Kernels:
    """Return `ask`, `tell` and `rebuild`; they are compiled now, by playing one arm once."""

    def played() -> Kernels:
        ask, tell, rebuild = _kernels_of(policy.family)
        stream = np.ones(4, dtype=np.uint64)
        state = new_state(policy.family, values, 1, 1.0, new_arms(1), 0, stream)
        rebuild(state)
        told = (state, ask(state), 0.0, 1.0, 0.0)
        tell(*told)
        return entry_point(ask, state), entry_point(tell, *told), rebuild

    policy.family.code.check(policy.label)
    with translate_numba_errors(policy.label):
        return interruptible(played)


@cached_while_alive
def _kernels_of(family: PolicyFamily) -> Kernels:
    """Return `ask`, `tell` and `rebuild`, compiled on first use; kept on disk if all is ours."""
    rule = family.rule
    slots: dict[str, Any] = {
        "refresh_all": _do_nothing,
        "refresh_arm": _do_nothing,
        "unplayed_constant": isinstance(rule, ArmRule) and rule.unplayed_constant,
        "counted_arms": effective_active if rule.takes_effective_arms else all_active,
        "counts_successes": family.binary,
        **tree_kernels(rule.takes_variance, isinstance(rule, BernoulliKLRule)),
    }
    if isinstance(rule, IndexRule):
        slots["index"] = index_of(family)
        slots["current_index"] = specialise(current_index, slots, part=True)
        slots["noted_index"] = slots["current_index"]
        if not family.is_ours:
            slots["noted_index"] = specialise(attempted_index, slots, part=True)
        slots["refresh_all"] = specialise(refresh_all, slots, part=True)
        way: Callable[[State], int] = select_arm_by_index
        if _is_lazy(rule):
            slots["refresh_arm"] = specialise(refresh_arm, slots, part=True)
            way = select_arm_lazily
    elif isinstance(rule, SamplingRule):
        slots["deviation"] = deviation_of(family)
        way = select_arm_by_sample
    else:
        assert isinstance(rule, ChoiceRule), rule
        slots["choose"], slots["seen_by_choice"] = choice_of(family), view_of_choice()
        way = select_arm_by_choice
    # a part of a kernel allocates nothing
    slots["select_arm"] = specialise(way, slots, part=way is not select_arm_by_choice)
    kernels = (specialise(template, slots, keep=True) for template in (ask, tell, rebuild))
    return tuple(kernels)  # type: ignore[return-value]


@compiled
def _do_nothing(*state: Any) -> None:
    pass
