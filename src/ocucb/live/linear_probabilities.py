"""How likely each arm of a `LinearBandit` is to be chosen, given the features: exact, or not known.

An index policy plays the arm with the largest index, and ties are broken uniformly; other policies
state their probabilities (`LinearChoiceRule.probabilities`), or do not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._types import Floats
from ..policies import Policy
from ..policies._rules import LinearIndexRule, Model
from .linear_model import ACTIVE, JUST_LOOK, PULLS, ROUNDS, TOTAL, State, parts


def next_probabilities(
    policy: Policy, ask: Callable[..., int], state: State, features: Floats
) -> Floats | None:
    """Return the probabilities of the active arms, or None; the state is changed."""
    if isinstance(policy.family.rule, LinearIndexRule):
        return chances_of_indices(state) if ask(state, features, -1) >= 0 else None
    function = policy.family.code.compiled.get("probabilities")
    if function is None:
        return None
    ask(state, features, JUST_LOOK)
    n, model = int(state.clock[ACTIVE]), parts(state)
    m = 1 if model.weights.shape[0] == 1 else n
    sight = Model(
        features, model.means[:n], model.norms[:n], state.planned[:m], model.weights[:m],
        state.planned_log_dets[:m], model.solved[:n], state.counts[PULLS, :n],
        state.counts[TOTAL, :n],
    )  # fmt: skip
    chances = np.zeros(max(n, model.own.size))
    chances[: model.own.size] = model.own
    t = min(float(state.clock[ROUNDS]) + 1.0, state.horizon)
    function(t, state.horizon, sight, state.sigma, chances, *state.values)
    return None if np.isnan(chances[:n]).any() else chances[:n]


def chances_of_indices(state: State) -> Floats | None:
    """Return the same for an index policy that has just chosen: it leaves its indices there."""
    indices = parts(state).own[: state.clock[ACTIVE]]
    if not np.isfinite(indices).all():
        return None
    best = indices == indices.max()
    chances: Floats = best / best.sum()
    return chances
