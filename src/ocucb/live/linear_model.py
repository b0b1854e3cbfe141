"""One decision at a time with a linear model: features come with the question, rewards later.

With x the features of an arm, sums over observed rewards r and over open asks:

    V = ridge * I + sum of x x'         what has been observed
    W = V + sum of x x' over open asks  what will have been

    weights = V^-1 sum of r * x,   mean = <weights, x>,   norm(x) = sqrt(x' W^-1 x)

So an open ask narrows the confidence bound and leaves the mean alone, as it does in
`ocucb.live.decision`. With no open asks this is the model of `ocucb.engine.linear`, with the same
arithmetic and the same random numbers: the same rewards give the same arms.

Both inverses are kept, so an ask takes O(K d^2) and a reward O(d^2). They are computed afresh
(`renew`) whenever the rounds have doubled, so rounding errors do not add up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._compile import entry_point, kernel_part, specialise, translate_numba_errors
from .._memo import cached_while_alive
from .._types import Counts, Floats, Words
from .._waiting import interruptible
from ..engine.linear import (
    FIRST_RENEWAL,
    expect,
    learn_reward,
    look,
    mirror,
    narrow,
    own_size,
    renew_sets,
    sets_of_weights,
    slots_of,
    solve,
    state_of,
    state_size,
)
from ..engine.linear import State as EngineState
from ..policies import Policy, PolicyFamily
from ..policies._linear import invert
from ..policies._rules import Model

LARGEST_FEATURE = 1e6
OBSERVED, OPEN, SUM, PULLS, TOTAL = range(5)  # rows of `State.counts`
ROUNDS, ACTIVE = range(2)  # of `State.clock`
BY_POLICY, JUST_LOOK = -1, -2  # what `ask` is told in place of an arm
NO_ARM, BAD_FEATURES = -1, -2  # what it returns if it decides nothing
KEPT = ("gram", "inverse", "weights", "response", "log_dets")  # of each set of weights

Kernels = tuple[Callable[..., int], Callable[..., None], Callable[..., None]]


class State(NamedTuple):
    """What the kernels work on: the rules, and everything that changes; active arms come first.

    `counts` has for each arm the rewards observed, the open asks, the sum of the rewards, and what
    a policy is told of pulls and sums. `model` is what `ocucb.engine.linear.State` lays out, of V;
    `planned` and `planned_log_dets` belong to W.
    """

    values: tuple[Any, ...]  # the policy's table and parameters
    horizon: float
    sigma: float
    features: Floats  # a row for each arm, or one
    counts: Floats
    model: Floats
    planned: Floats
    planned_log_dets: Floats
    clock: Counts
    stream: Words


# Slots
choose: Callable[..., int]
ridge_of: Callable[[Any], float]


@kernel_part
def observed(state: State) -> EngineState:
    """Return the model of what has been observed."""
    rows, d = state.features.shape
    return state_of(state.model, rows, state.counts.shape[1], d)


@kernel_part
def with_open(model: EngineState, state: State) -> EngineState:
    """Return the model with open asks of the active arms: the inverse is that of W."""
    n = state.clock[ACTIVE]
    m = 1 if model.weights.shape[0] == 1 else n
    return EngineState(
        model.means[:n], model.squares[:n], model.crosses[:n], model.norms[:n], model.values[:n],
        model.solved[:n], model.gram[:m], state.planned[:m], model.weights[:m], model.response[:m],
        state.planned_log_dets[:m], model.chosen, model.room, model.due, model.own,
    )  # fmt: skip


@kernel_part
def count_open_asks(counts: Floats, n: int) -> None:
    """Write what a policy is told of pulls and sums: open asks paid the mean of their arm.

    Of an arm without rewards, they paid the best mean of all.
    """
    best = 0.0
    known = False
    for i in range(n):
        if counts[OBSERVED, i] > 0.0:
            mean = counts[SUM, i] / counts[OBSERVED, i]
            best = max(best, mean) if known else mean
            known = True
    for i in range(n):
        pulls = counts[OBSERVED, i] + counts[OPEN, i]
        counts[PULLS, i], counts[TOTAL, i] = pulls, counts[SUM, i]
        if counts[OPEN, i] > 0.0:
            observed = counts[OBSERVED, i]
            counts[TOTAL, i] = (counts[SUM, i] / observed if observed > 0.0 else best) * pulls


@kernel_part
def take_features(state: State, x: Floats) -> bool:
    """Take the features of this decision, unless some are too large or not finite."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if not abs(x[i, j]) <= LARGEST_FEATURE:
                return False
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            state.features[i, j] = x[i, j]
    return True


@kernel_part
def count_in(state: State, i: int, x: Floats) -> None:
    """Count a round in which an arm was played that the policy has not chosen."""
    model = observed(state)
    one, solved = 0 if model.weights.shape[0] == 1 else i, model.solved[i]
    square = solve(state.planned[one], x, solved)
    narrow(state.planned, state.planned_log_dets, one, solved, square)
    state.clock[ROUNDS] += 1


# The kernels


def ask(state: State, x: Floats, taken: int) -> int:
    """Decide which arm to play given the features, and note that its reward is pending.

    `taken` is one of the two above.
    """
    if not take_features(state, x):
        return BAD_FEATURES
    n = state.clock[ACTIVE]
    view = with_open(observed(state), state)
    features = state.features[: x.shape[0]]
    look(features, view)
    count_open_asks(state.counts, n)
    if taken == JUST_LOOK:
        return NO_ARM
    model = Model(
        features, view.means, view.norms, view.inverse, view.weights, view.log_dets,
        view.solved, state.counts[PULLS, :n], state.counts[TOTAL, :n],
    )  # fmt: skip
    t = min(state.clock[ROUNDS] + 1.0, state.horizon)
    best = choose(t, state.horizon, model, state.sigma, view.own, state.stream, state.values)
    if best < 0 or best >= n:
        return NO_ARM
    one = 0 if view.weights.shape[0] == 1 else best
    narrow(view.inverse, view.log_dets, one, view.solved[best], view.squares[best])
    state.counts[OPEN, best] += 1.0
    state.clock[ROUNDS] += 1
    return best


def tell(state: State, i: int, x: Floats, asked: bool, reward: float) -> None:
    """Take in the reward of an arm with these features, and close one of its open asks, if any."""
    model = observed(state)
    one, solved = 0 if model.weights.shape[0] == 1 else i, model.solved[i]
    if asked:
        state.counts[OPEN, i] -= 1.0
    else:
        count_in(state, i, x)
    for j in range(x.size):
        model.chosen[j] = x[j]
    model.squares[i] = solve(model.inverse[one], x, solved)
    model.means[i] = expect(model.weights[one], x)
    learn_reward(model, i, reward)
    state.counts[OBSERVED, i] += 1.0
    state.counts[SUM, i] += reward


def _play(state: State, i: int, x: Floats) -> None:
    """Note that an arm with these features is played, and that its reward is pending."""
    count_in(state, i, x)
    state.counts[OPEN, i] += 1.0


_play_kernel = specialise(_play, {}, keep=True)


def renew(state: State, first: int, opened: Floats) -> None:
    """Compute sets of weights afresh, from `first` on, given the sums of x x' over open asks."""
    model = observed(state)
    ridge = ridge_of(state.values)
    for k in range(opened.shape[0]):
        one = first + k
        renew_sets(
            EngineState(
                model.means, model.squares, model.crosses, model.norms, model.values, model.solved,
                model.gram[one : one + 1], model.inverse[one : one + 1],
                model.weights[one : one + 1], model.response[one : one + 1],
                model.log_dets[one : one + 1], model.chosen, model.room, model.due, model.own,
            ),
            ridge,
        )  # fmt: skip
        for i in range(model.room.shape[0]):
            for j in range(model.room.shape[0]):
                model.room[i, j] = model.gram[one, i, j] + opened[k, i, j]
        state.planned_log_dets[one] = invert(model.room, ridge, state.planned[one])
        mirror(state.planned[one])


# What the bandit calls


def new_state(
    policy: Policy, values: tuple[Any, ...], horizon: int, sigma: float, arms: int, d: int,
    shared: bool, stream: Words,
) -> State:  # fmt: skip
    """Return the state of a bandit that has learnt nothing."""
    rows = arms if shared else 1
    m = sets_of_weights(rows, arms)
    ridge = policy.parameters.get("ridge", 1.0)
    unit = np.broadcast_to(np.eye(d), (m, d, d))
    state = State(
        values, float(horizon), sigma, np.zeros((rows, d)), np.zeros((5, arms)),
        np.zeros(state_size(rows, arms, d, own_size(policy.family, arms, d))),
        unit / ridge, np.zeros(m), np.array([0, arms]), stream,
    )  # fmt: skip
    model = parts(state)
    model.gram[:], model.inverse[:] = unit * ridge, state.planned
    model.due[0] = FIRST_RENEWAL
    return state


def parts(state: State) -> EngineState:
    """Return views of what the model consists of."""
    rows, d = state.features.shape
    views: EngineState = state_of.py_func(state.model, rows, state.counts.shape[1], d)  # type: ignore[attr-defined]
    return views


def play(state: State, i: int, x: Floats) -> None:
    """Note that an arm with these features is played by somebody else's choice."""
    _play_kernel(state._replace(values=()), i, x)  # one kernel for all policies


def copy_state(state: State) -> State:
    """Return an independent copy."""
    return State._make(part.copy() if isinstance(part, np.ndarray) else part for part in state)


def compile_kernels(policy: Policy, values: tuple[Any, ...]) -> Kernels:
    """Return `ask`, `tell` and `renew`; they are compiled now, by playing one arm once."""

    def played() -> Kernels:
        ask, tell, renew = _kernels_of(policy.family)
        state = new_state(policy, values, 1, 1.0, 1, 1, True, np.ones(4, dtype=np.uint64))
        x = np.ones((1, 1))
        asked = (state, x, -1)
        told = (state, ask(*asked), x[0], True, 0.0)
        tell(*told)
        renew(state, 0, np.zeros((1, 1, 1)))
        return entry_point(ask, *asked), entry_point(tell, *told), renew

    policy.family.code.check(policy.label)
    with translate_numba_errors(policy.label):
        return interruptible(played)


@cached_while_alive
def _kernels_of(family: PolicyFamily) -> Kernels:
    """Return `ask`, `tell` and `renew`, compiled on first use; kept on disk if all is ours."""
    slots = slots_of(family)
    kernels = (specialise(template, slots, keep=True) for template in (ask, tell, renew))
    return tuple(kernels)  # type: ignore[return-value]


def relaid(state: State, policy: Policy, order: list[int], active: int, shared: bool) -> State:
    """Return the state with arms in another order, of which so many are active; -1 for a new one.

    A policy with a memory of its own starts afresh.
    """
    d = state.features.shape[1]
    more = new_state(
        policy, state.values, 1, state.sigma, len(order), d, shared, state.stream
    )._replace(horizon=state.horizon)  # fmt: skip
    more.clock[:] = state.clock[ROUNDS], active
    old, new = parts(state), parts(more)
    new.due[:] = old.due
    places = [k for k, i in enumerate(order) if i >= 0]
    before = [i for i in order if i >= 0]
    more.counts[:, places] = state.counts[:, before]
    if shared:
        more.features[places] = state.features[before]
        places = before = [0]
    kept = [(getattr(new, name), getattr(old, name)) for name in KEPT]
    kept += [(more.planned, state.planned), (more.planned_log_dets, state.planned_log_dets)]
    for here, there in kept:
        here[places] = there[before]
    return more
