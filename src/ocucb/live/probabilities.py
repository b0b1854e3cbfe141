"""How likely each arm is to be chosen in the next round: exact, or not known.

- An arm that was never played comes first, with certainty.
- An index policy plays the arm with the largest index; ties are broken uniformly.
- A sampling policy compares normal samples. With one arm that has rewards, there is nothing to
  compare; with two, the difference of the samples is normal; with more, there is no closed form.
- A choice policy knows its probabilities or does not (`PolicyFamily.probabilities`).
"""

from __future__ import annotations

from math import erfc, hypot, inf, sqrt

import numpy as np

from .._types import Floats
from ..policies import Policy
from .decision import State, seen_by_choice


def next_probabilities(policy: Policy, state: State) -> Floats | None:
    """Return the probabilities of all arms, retired ones included, or None if not known.

    Parameters
    ----------
    policy : Policy
        Who chooses.
    state : State
        The state before the choice, just rebuilt, so that ceilings are indices.
    """
    arms, family = state.arms, policy.family
    pulls = arms["observed"] + arms["open"]
    chances = np.zeros(arms.size)
    active = np.flatnonzero(arms["active"])
    unplayed = active[pulls[active] == 0.0]
    if unplayed.size:
        chances[unplayed[0]] = 1.0
        return chances
    if family.kind == "index":
        ceilings = state.ceilings[active]
        if np.isinf(ceilings).any():  # an index that is not a number, or infinite
            return None
        best = active[ceilings == ceilings.max()]
        chances[best] = 1.0 / best.size
        return chances
    if family.kind == "sampling":
        return _of_samples(policy, state, active, chances)
    if family.probabilities is None:
        return None
    t = min(float(state.clock["rounds"][0]) + 1.0, state.horizon)
    seen = seen_by_choice(arms[active], family.binary)
    chances[active] = policy.probabilities(t, state.horizon, *seen, state.sigma, state.memory)
    return chances


def _of_samples(
    policy: Policy, state: State, active: np.typing.NDArray[np.int64], chances: Floats
) -> Floats | None:
    arms = state.arms
    known = active[arms["observed"][active] > 0.0]
    if known.size > 2:
        return None
    if known.size == 0:  # the first arm with the fewest open asks
        chances[active[np.argmin(arms["open"][active])]] = 1.0
    elif known.size == 1:
        chances[known[0]] = 1.0
    else:
        n = state.horizon
        t = min(float(state.clock["rounds"][0]) + 1.0, n)
        K = float(active.size)
        means = arms["sum"][known] / arms["observed"][known]
        counts = np.minimum(arms["observed"][known] + arms["open"][known], n).tolist()
        rule = policy.family.function
        spreads = [state.sigma * rule(count, t, n, K, *state.values) for count in counts]
        both = hypot(*spreads)
        if not 0.0 < both < inf:  # nothing is random, or it is not a number
            return None
        gap = float(means[0] - means[1]) / both / sqrt(2.0)
        chances[known] = 0.5 * erfc(-gap), 0.5 * erfc(gap)
    return chances
