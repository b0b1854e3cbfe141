"""How likely each arm is to be chosen in the next round: exact, or not known.

- An arm that was never played comes first, with certainty.
- An index policy plays the arm with the largest index; ties are broken uniformly.
- A sampling policy compares normal samples. With one arm that has rewards, there is nothing to
  compare; with two, the difference of the samples is normal; with more, quadrature is needed
  (`ocucb.policies._largest`).
- A choice policy knows its probabilities or does not (`ChoiceRule.probabilities`).
"""

from __future__ import annotations

from math import erfc, hypot, inf, sqrt

import numpy as np

from .._types import Floats
from ..policies import Policy
from ..policies._largest import largest_of_normal
from ..policies._rules import ChoiceRule, IndexRule, SamplingRule
from .decision import State, view_of_choice

Places = np.typing.NDArray[np.int64]


def next_probabilities(policy: Policy, state: State) -> Floats | None:
    """Return the probabilities of all arms, retired ones included, or None if not known.

    The state of an index policy must just have been rebuilt, so that indices are known.
    """
    arms, rule = state.arms, policy.family.rule
    pulls = arms["observed"] + arms["open"]
    chances = np.zeros(arms.size)
    active = np.flatnonzero(arms["active"])
    unplayed = active[pulls[active] == 0.0]
    if unplayed.size:
        chances[unplayed[0]] = 1.0
        return chances
    if isinstance(rule, IndexRule):
        indices = state.evaluated[active]
        if np.isinf(indices).any():  # or NaN
            return None
        best = active[indices == indices.max()]
        chances[best] = 1.0 / best.size
        return chances
    if isinstance(rule, SamplingRule):
        return _of_samples(policy, state, active, chances)
    if not isinstance(rule, ChoiceRule) or rule.probabilities is None:
        return None
    t = min(float(state.clock["rounds"][0]) + 1.0, state.horizon)
    sight = view_of_choice()(arms, policy.family.binary)[:2]
    chances[active] = policy.probabilities(t, state.horizon, *sight, state.sigma, state.memory)
    return chances


def chance_of_choice(policy: Policy, state: State, arm: int) -> float | None:
    """Return how likely `ask` was to choose the arm that it just chose, or None if not known.

    Not for choice policies. It takes no evaluation: `ask` leaves what it compared in the state.
    """
    ties = int(state.clock["ties"][0])
    if ties > 0:
        return 1.0 / ties
    if not isinstance(policy.family.rule, SamplingRule):
        return None
    known = np.flatnonzero(state.arms["active"] & (state.arms["observed"] > 0.0))
    if known.size < 2:
        return 1.0
    chances = _largest(state, known, state.evaluated[known])
    return None if chances is None else float(chances[np.searchsorted(known, arm)])


def _of_samples(policy: Policy, state: State, active: Places, chances: Floats) -> Floats | None:
    arms = state.arms
    known = active[arms["observed"][active] > 0.0]
    if known.size == 0:  # the first arm with the fewest open asks
        chances[active[np.argmin(arms["open"][active])]] = 1.0
    elif known.size == 1:
        chances[known[0]] = 1.0
    else:
        n = state.horizon
        t = min(float(state.clock["rounds"][0]) + 1.0, n)
        counts = np.minimum(arms["observed"][known] + arms["open"][known], n).tolist()
        rule, K = policy.family.function, float(active.size)
        spreads = np.array([state.sigma * rule(T, t, n, K, *state.values) for T in counts])
        found = _largest(state, known, spreads)
        if found is None:
            return None
        chances[known] = found
    return chances


def _largest(state: State, known: Places, spreads: Floats) -> Floats | None:
    """Return how likely each sample, with these standard deviations, is to be the largest."""
    means = state.arms["sum"][known] / state.arms["observed"][known]
    if known.size == 2:
        both = hypot(*spreads.tolist())
        if not 0.0 < both < inf:  # nothing is random, or NaN
            return None
        gap = float(means[0] - means[1]) / both / sqrt(2.0)
        return np.array([0.5 * erfc(-gap), 0.5 * erfc(gap)])
    if not ((spreads > 0.0) & np.isfinite(spreads)).all():
        return None
    chances = np.empty(known.size)
    scale = float(spreads.min())  # so that the sizes of rewards make no difference
    largest_of_normal((means - means.max()) / scale, spreads / scale, chances, 0.0)
    return chances
