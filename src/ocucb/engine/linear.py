"""Arms with features, one pull at a time: a linear model of the rewards, kept up to date.

    V = ridge * I + sum of x x',   weights = V^-1 sum of reward * x,   norm(x) = sqrt(x' V^-1 x)

For each arm the mean, the squared norm and V^-1 x are kept. While one arm plays alone, s times
with the summed reward S, the others follow from its own numbers: with c = x_i' V^-1 x and q the
squared norm of x, before the first of these rounds,

    mean_i + c * (S - s * mean) / (1 + s * q),   norm_i^2 - c^2 * s / (1 + s * q),

so a round costs O(K), and only a change of the arm O(K d). Rounding errors do not add up, because
the model is computed afresh, from pulls and sums, whenever the rounds have doubled.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from .._compile import kernel_part, rare_part, specialise
from .._types import Flags, Floats
from ..policies._families import Policy, PolicyFamily
from ..policies._linear import invert
from ..policies._rules import LinearIndexRule, LinearRule, Model
from ..problems import Problem
from ..random import largest
from ..rewards import Rewards
from .base import Engine, Game, Outcome, Plan
from .formulas import linear_choice_of, rule_of
from .run import Run, run_slots

FIRST_RENEWAL = 16.0  # rounds

# Declared here, filled in by `specialise`.
rule: Callable[..., float]
index: Callable[..., float]
choose: Callable[..., int]
ridge_of: Callable[[Any], float]
pull: Callable[..., int]
takes_log_det: bool


class State(NamedTuple):
    """The model, as views of a run's memory, and room to work in.

    Of each arm `means`, `squares` (of norms), `solved` (V^-1 x) and `crosses` (x' V^-1 x of the arm
    that plays). There is one set of weights for all arms, or one for each: the inverse, `weights`
    and `log_dets`; where features change, V itself (`gram`) and `response`, the sum of reward * x.
    ``due[0]`` is the round after which all this is computed afresh; the policy has its `own` part.
    """

    means: Floats
    squares: Floats
    crosses: Floats
    norms: Floats
    values: Floats
    solved: Floats
    gram: Floats
    inverse: Floats
    weights: Floats
    response: Floats
    log_dets: Floats
    chosen: Floats
    room: Floats
    due: Floats
    own: Floats


def sets_of_weights(rows: int, arms: int) -> int:
    """Return how many sets of weights there are, given the rows of features."""
    return 1 if rows == arms else arms


def state_size(rows: int, arms: int, d: int, own: int) -> int:
    """Return how many numbers the model of a policy with so much memory of its own takes."""
    m = sets_of_weights(rows, arms)
    return arms * (5 + d) + m * (2 * d * d + 2 * d + 1) + d + d * d + 1 + own


@kernel_part
def state_of(memory: Floats, rows: int, K: int, d: int) -> State:
    """Return the model that a run's memory holds."""
    m = 1 if rows == K else K
    solved = 5 * K
    gram = solved + K * d
    inverse = gram + m * d * d
    weights = inverse + m * d * d
    response = weights + m * d
    log_dets = response + m * d
    chosen = log_dets + m
    room = chosen + d
    rest = room + d * d
    return State(
        memory[:K],
        memory[K : 2 * K],
        memory[2 * K : 3 * K],
        memory[3 * K : 4 * K],
        memory[4 * K : 5 * K],
        memory[solved:gram].reshape(K, d),
        memory[gram:inverse].reshape(m, d, d),
        memory[inverse:weights].reshape(m, d, d),
        memory[weights:response].reshape(m, d),
        memory[response:log_dets].reshape(m, d),
        memory[log_dets:chosen],
        memory[chosen:room],
        memory[room:rest].reshape(d, d),
        memory[rest : rest + 1],
        memory[rest + 1 :],
    )


@rare_part
def renew(run: Run, state: State, ridge: float) -> None:
    """Compute the model from pulls and sums."""
    x, gram, inverse, weights = run.features, state.room, state.inverse[0], state.weights[0]
    K, d = x.shape
    for i in range(d):
        for j in range(d):
            gram[i, j] = ridge if i == j else 0.0
    for arm in range(K):
        if run.pulls[arm] > 0.0:
            for i in range(d):
                scaled = run.pulls[arm] * x[arm, i]
                for j in range(d):
                    gram[i, j] += scaled * x[arm, j]
    state.log_dets[0] = invert(gram, ridge, inverse)
    for i in range(d):
        weights[i] = 0.0
    for arm in range(K):
        state.squares[arm] = 0.0
        for i in range(d):
            value = 0.0
            for j in range(d):
                value += inverse[i, j] * x[arm, j]
            state.solved[arm, i] = value
            state.squares[arm] += x[arm, i] * value
            weights[i] += run.sums[arm] * value
    for arm in range(K):
        state.means[arm] = 0.0
        for i in range(d):
            state.means[arm] += x[arm, i] * weights[i]


@kernel_part
def face(run: Run, state: State, arm: int) -> None:
    """Compute x' V^-1 y of all arms x with the arm y that is about to play."""
    x, solved = run.features, state.solved
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j] * solved[arm, j]
        state.crosses[i] = total


@kernel_part
def learn(state: State, arm: int, pulls: float, total: float) -> None:
    """Take in the rewards of an arm that has played alone, after `face`."""
    q = state.squares[arm]
    shrink = pulls / (1.0 + pulls * q)
    shift = (total - pulls * state.means[arm]) / (1.0 + pulls * q)
    d = state.solved.shape[1]
    state.log_dets[0] += log(1.0 + pulls * q)
    for i in range(state.means.size):
        if i != arm:
            cross = state.crosses[i]
            state.means[i] += cross * shift
            state.squares[i] -= cross * cross * shrink
            for j in range(d):
                state.solved[i, j] -= cross * shrink * state.solved[arm, j]
    state.means[arm] += q * shift
    state.squares[arm] = q / (1.0 + pulls * q)
    for j in range(d):
        state.solved[arm, j] /= 1.0 + pulls * q


def play_index(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Evaluate every arm in every round."""
    K, d = run.features.shape
    state, ridge, sigma = state_of(run.memory, K, K, d), ridge_of(values), game.sigma
    n, dimension, arms = float(game.horizon), float(d), float(K)
    t, due = run.rounds[0], state.due[0]
    if t == 0.0:
        due = FIRST_RENEWAL
        renew(run, state, ridge)
    leader, s, total, start, q, mean = -1, 0.0, 0.0, 0.0, 0.0, 0.0
    means, squares, crosses, indices = state.means, state.squares, state.crosses, state.values
    while done < game.checkpoints.size and not stop[0]:
        t += 1.0
        if t > due:
            due *= 2.0
            leader, s, total = -1, 0.0, 0.0
            renew(run, state, ridge)
        shrink = s / (1.0 + s * q)
        shift = (total - s * mean) / (1.0 + s * q)
        log_det = state.log_dets[0]
        if takes_log_det:
            log_det += log(1.0 + s * q)
        for i in range(K):
            square = max(0.0, squares[i] - crosses[i] * crosses[i] * shrink)
            indices[i] = index(
                means[i] + crosses[i] * shift, sqrt(square), log_det, t, n, dimension, arms, sigma,
                values,
            )  # fmt: skip
        best = largest(indices, run.choice_rng)
        if best < 0:
            return False
        if best != leader:
            if s > 0.0:
                learn(state, leader, s, total)
            leader, s, start = best, 0.0, run.sums[best]
            q, mean = squares[best], means[best]
            face(run, state, best)
        done = pull(game, run, best, t, done, outcome, row)
        s += 1.0
        total = run.sums[best] - start
    if s > 0.0:
        learn(state, leader, s, total)
    state.due[0] = due
    return True


def play_choices(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Call the policy's function in every round."""
    K, d = run.features.shape
    state, ridge, sigma = state_of(run.memory, K, K, d), ridge_of(values), game.sigma
    n, t, due = float(game.horizon), run.rounds[0], state.due[0]
    if t == 0.0:
        due = FIRST_RENEWAL
        renew(run, state, ridge)
    inverse, weights = state.inverse[0], state.weights[0]
    model = Model(
        run.features, state.means, state.norms, state.inverse, state.weights, state.log_dets,
        state.solved, run.pulls, run.sums,
    )  # fmt: skip
    while done < game.checkpoints.size and not stop[0]:
        t += 1.0
        if t > due:
            due *= 2.0
            renew(run, state, ridge)
        for i in range(K):
            state.norms[i] = sqrt(max(0.0, state.squares[i]))
        best = choose(t, n, model, sigma, state.own, run.choice_rng, values)
        if best < 0 or best >= K:
            return False
        face(run, state, best)
        before = run.sums[best]
        done = pull(game, run, best, t, done, outcome, row)
        reward, y = run.sums[best] - before, state.solved[best]
        scale = 1.0 / (1.0 + state.squares[best])
        error = (reward - state.means[best]) * scale
        for i in range(d):
            weights[i] += y[i] * error
            for j in range(d):
                inverse[i, j] -= y[i] * y[j] * scale
        learn(state, best, 1.0, reward)
    state.due[0] = due
    return True


@rare_part
def mirror(inverse: Floats) -> None:
    """Make a matrix that is symmetric up to rounding errors exactly so."""
    for i in range(inverse.shape[0]):
        for j in range(i):
            inverse[j, i] = inverse[i, j]


@rare_part
def renew_sets(state: State, ridge: float) -> None:
    """Compute each set of weights afresh from V and the response."""
    d = state.room.shape[0]
    for model in range(state.weights.shape[0]):
        for i in range(d):
            for j in range(d):
                state.room[i, j] = state.gram[model, i, j]
        state.log_dets[model] = invert(state.room, ridge, state.inverse[model])
        mirror(state.inverse[model])
        for i in range(d):
            state.weights[model, i] = 0.0
            for j in range(d):
                state.weights[model, i] += state.inverse[model, i, j] * state.response[model, j]


@kernel_part
def solve(inverse: Floats, x: Floats, solved: Floats) -> float:
    """Write V^-1 x, row by row as the inverse is symmetric, and return x' V^-1 x."""
    for i in range(x.size):
        solved[i] = 0.0
    for j in range(x.size):
        for i in range(x.size):
            solved[i] += inverse[j, i] * x[j]
    square = 0.0
    for i in range(x.size):
        square += solved[i] * x[i]
    return max(0.0, square)


@kernel_part
def expect(weights: Floats, x: Floats) -> float:
    """Return the reward that the model expects."""
    mean = 0.0
    for i in range(x.size):
        mean += weights[i] * x[i]
    return mean


@kernel_part
def look(x: Floats, state: State) -> None:
    """Compute means and norms for the features of a round."""
    sets = state.weights.shape[0]
    for arm in range(state.means.size):
        row, one = (arm, 0) if sets == 1 else (0, arm)
        square = solve(state.inverse[one], x[row], state.solved[arm])
        state.means[arm] = expect(state.weights[one], x[row])
        state.squares[arm] = square
        state.norms[arm] = sqrt(square)


@kernel_part
def note_features(x: Floats, state: State, arm: int) -> None:
    """Keep the features of the arm that is about to play: the next round replaces them."""
    row = arm if state.weights.shape[0] == 1 else 0
    for i in range(state.chosen.size):
        state.chosen[i] = x[row, i]


@kernel_part
def narrow(inverse: Floats, log_dets: Floats, one: int, y: Floats, square: float) -> None:
    """Add x x' to V, given y = V^-1 x and the squared norm of x."""
    scale = 1.0 / (1.0 + square)
    log_dets[one] += log(1.0 + square)
    for i in range(y.size):
        for j in range(y.size):
            inverse[one, i, j] -= y[i] * y[j] * scale


@kernel_part
def learn_reward(state: State, arm: int, reward: float) -> None:
    """Take in the reward of the arm whose features were noted."""
    one = 0 if state.weights.shape[0] == 1 else arm
    x, y = state.chosen, state.solved[arm]
    error = (reward - state.means[arm]) * (1.0 / (1.0 + state.squares[arm]))
    for i in range(x.size):
        state.weights[one, i] += y[i] * error
        state.response[one, i] += reward * x[i]
        for j in range(x.size):
            state.gram[one, i, j] += x[i] * x[j]
    narrow(state.inverse, state.log_dets, one, y, state.squares[arm])


def play_contexts(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Do the same where features change with the round."""
    rows, d = run.features.shape
    K = run.pulls.size
    state, ridge, sigma = state_of(run.memory, rows, K, d), ridge_of(values), game.sigma
    n, t, due = float(game.horizon), run.rounds[0], state.due[0]
    if t == 0.0:
        due = FIRST_RENEWAL
        for number in range(state.weights.shape[0]):
            for i in range(d):
                state.gram[number, i, i] = ridge
        renew_sets(state, ridge)
    model = Model(
        run.features, state.means, state.norms, state.inverse, state.weights, state.log_dets,
        state.solved, run.pulls, run.sums,
    )  # fmt: skip
    while done < game.checkpoints.size and not stop[0]:
        t += 1.0
        if t > due:
            due *= 2.0
            renew_sets(state, ridge)
        look(run.features, state)
        best = choose(t, n, model, sigma, state.own, run.choice_rng, values)
        if best < 0 or best >= K:
            return False
        note_features(run.features, state, best)
        before = run.sums[best]
        done = pull(game, run, best, t, done, outcome, row)
        learn_reward(state, best, run.sums[best] - before)
    state.due[0] = due
    return True


# What fills the slots


def play_none(game: Game, run: Run, outcome: Outcome, row: int) -> Any:
    """Begin with the policy's own choices: the model is defined from the start."""
    done: Any = np.int64(0)
    return done


def index_without_log_det(
    mean: float, norm: float, log_det: float, t: float, n: float, d: float, K: float, sigma: float,
    values: Any,
) -> float:  # fmt: skip
    """Return the index that the policy states."""
    return rule(mean, norm, t, n, d, K, sigma, *values)


def index_with_log_det(
    mean: float, norm: float, log_det: float, t: float, n: float, d: float, K: float, sigma: float,
    values: Any,
) -> float:  # fmt: skip
    """Return that of one that takes the determinant."""
    return rule(mean, norm, log_det, t, n, d, K, sigma, *values)


def choose_largest(
    t: float, n: float, model: Any, sigma: float, memory: Any, stream: Any, values: Any
) -> int:
    """Return the arm with the largest index."""
    arms, sets = model.means.size, model.log_dets.size  # of a live bandit: the active ones
    K, d = float(arms), float(model.weights.shape[1])
    for i in range(arms):
        log_det = model.log_dets[i if sets > 1 else 0]
        memory[i] = index(model.means[i], model.norms[i], log_det, t, n, d, K, sigma, values)
    return largest(memory[:arms], stream)


place: int


def own_ridge(values: Any) -> float:
    """Return the policy's parameter."""
    return values[place]  # type: ignore[no-any-return]


def unit_ridge(values: Any) -> float:
    """Return the penalty of a policy that has no parameter for it."""
    return 1.0


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> None:
    """Return None: whoever asks for play has checked that arms have features."""


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run."""
    K, d = problem.arms, max(1, problem.features.shape[1])
    own = 0.0 if isinstance(policy.family.rule, LinearIndexRule) else d * (d + K) + d**3 / 3.0
    if problem.rewards.rounds:
        own += K * d**2
    return (20.0 + 3.0 * K + own) * horizon


def slots_of(family: PolicyFamily) -> dict[str, Any]:
    """Return how a policy chooses from a linear model, and the penalty that this has."""
    rule, names = family.rule, list(family.defaults)
    has_ridge = "ridge" in names
    where = {"place": names.index("ridge") + (family.table is not None)} if has_ridge else {}
    ridge_of = specialise(own_ridge if has_ridge else unit_ridge, where, part=True)
    if not isinstance(rule, LinearIndexRule):
        return {"ridge_of": ridge_of, "choose": linear_choice_of(family)}
    takes_log_det = "log_det" in rule.inputs
    template = index_with_log_det if takes_log_det else index_without_log_det
    index = specialise(template, {"rule": rule_of(family)}, inline=True)
    choose = specialise(choose_largest, {"index": index}, part=True)
    return {
        "ridge_of": ridge_of, "index": index, "choose": choose, "takes_log_det": takes_log_det
    }  # fmt: skip


def own_size(family: PolicyFamily, K: int, d: int) -> int:
    """Return how many numbers a policy remembers, or needs to choose."""
    rule = family.rule
    assert isinstance(rule, LinearRule)
    return K if isinstance(rule, LinearIndexRule) else rule.memory_size(K, d)


def plan(family: PolicyFamily, rewards: Rewards) -> Plan:
    """Return how a policy is played."""
    functions = {**run_slots(rewards), **slots_of(family)}
    functions["play_each_once"] = specialise(play_none, {}, part=True)

    def size(game: Game) -> int:
        (rows, d), K = game.features.shape, game.means.size
        return state_size(rows, K, d, own_size(family, K, d))

    way = play_index if isinstance(family.rule, LinearIndexRule) else play_choices
    return Plan(play_contexts if rewards.rounds else way, functions, state_size=size)


ENGINE = Engine("step", LinearRule, obstacle, cost, plan, takes_infinite=True)
