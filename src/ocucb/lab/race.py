"""One run as a race: the indices of the arms before each round, beside the means and the pulls.

A trace says which arm was played; here the policy's formula is evaluated again on what it knew.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._types import Floats
from ..engine.arm_counts import effective_arms
from ..policies import Policy
from ..policies._divergence import kl_upper
from ..policies._rules import BernoulliKLRule, BonusRule, GaussianKLRule, IndexRule, WholeIndexRule
from ..problems import Problem
from ..tracing import Trace, trace
from .state import State


def race_of(state: State, number: int, policy: int) -> tuple[Trace, Floats | None]:
    """Return a run of a policy, and the indices before each round, if it has any."""
    problem, player = state.settings[number].problem, state.players[policy]
    run = trace(player, problem, state.race, run=state.run, rng=state.seed)
    return run, indices(player, problem, run)


def indices(player: Policy, problem: Problem, run: Trace) -> Floats | None:
    """Return the index of each arm (columns) before each round (rows); nan before it is played.

    None for a policy that compares no indices.
    """
    form = player.on(problem.rewards.unit, problem.rewards.binary)
    rule = form.family.rule
    if not isinstance(rule, IndexRule):
        return None
    rounds, arms = run.pulls.shape
    formula, values = form.family.function, form.arguments(rounds)
    squares = np.zeros((rounds, arms))
    squares[np.arange(rounds), run.arms] = run.rewards**2
    squares = np.cumsum(squares, axis=0)
    found = np.full((rounds, arms), math.nan)
    for t in range(arms + 1, rounds + 1):  # each arm has been played once
        pulls, means = run.pulls[t - 2].astype(np.float64), run.means[t - 2]
        for i in range(arms):
            T, mean = float(pulls[i]), float(means[i])
            count = effective_arms(pulls, i, T) if rule.takes_effective_arms else float(arms)
            told: tuple[Any, ...] = (T, float(t), float(rounds), count)
            if isinstance(rule, WholeIndexRule):
                spread = max(0.0, squares[t - 2, i] / T - mean**2)
                seen = (mean, spread) if rule.takes_variance else (mean,)
                index = formula(*seen, *told, problem.sigma, *values)
            elif isinstance(rule, BernoulliKLRule):
                index = kl_upper(mean, formula(*told, *values) / T)
            elif isinstance(rule, GaussianKLRule):
                index = mean + problem.sigma * math.sqrt(2.0 * formula(*told, *values) / T)
            else:
                assert isinstance(rule, BonusRule)
                index = mean + problem.sigma * formula(*told, *values)
            found[t - 1, i] = index
    return found
