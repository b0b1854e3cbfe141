"""What a policy would have earned, from decisions that another one made: four estimators.

In round t, arm A was played with propensity p and paid Y. A target gives arm a the weight g(a): 1
for a single arm, the shares of a policy that does not learn, or 1 and -1 for a difference. With the
weight w = g(A) / p and a guess q(a) of the means, from earlier rounds alone:

- *IPS*, inverse propensity scores: the mean of w Y. Unbiased.
- *Self-normalised*: the mean of w Y over the mean of w. For a difference, that of two such numbers.
- *Doubly robust*: the mean of G = sum of g(a) q(a) + w (Y - q(A)). Unbiased; a good guess makes it
  more precise.
- *Adaptively weighted* (V. Hadad, D. Hirshberg, R. Zhan, S. Wager and S. Athey 2021, Confidence
  intervals for policy evaluation in adaptive experiments, PNAS 118(15)): sum of h G over sum of h,
  where h, known before round t, makes the variance of h G constant: h = 1 / sqrt(sum of g(a)^2 /
  e(a)), their constant allocation. e(a) is the propensity of arm a in round t. A log has that of
  the arm that was played, so e(a) is what it was when a was last played, and 1 / K before.

A bandit plays an arm the less the worse its first rewards were. Then the first three need not be
normal, however long the log; the last one is, if propensities do not fall too fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._types import Floats
from .logs import Log


class Point(NamedTuple):
    """An estimate and its standard error."""

    value: float
    stderr: float


def ips(log: Log, target: Floats) -> Point:
    """Return the estimate by inverse propensity scores."""
    return _mean(_weights(log, target) * log.reward)


def self_normalised(log: Log, target: Floats) -> Point:
    """Return the self-normalised estimate; of positive and negative weights, the difference."""
    value, errors = 0.0, np.zeros(log.reward.size)
    for sign in (1.0, -1.0):
        part = np.maximum(sign * target, 0.0)
        if part.any():
            weights = _weights(log, part)
            total = weights.sum()
            one = float((weights * log.reward).sum() / total)
            value += sign * float(part.sum()) * one
            errors += sign * part.sum() * weights * (log.reward - one) / total
    return Point(value, float(np.sqrt((errors**2).sum())))


def doubly_robust(log: Log, target: Floats) -> Point:
    """Return the doubly robust estimate."""
    return _mean(_scores(log, target))


def adaptively_weighted(log: Log, target: Floats) -> Point:
    """Return the adaptively weighted, doubly robust estimate."""
    scores, noise = _scores(log, target), np.zeros(log.reward.size)
    for i in np.flatnonzero(target):
        here = log.arm == i
        noise += target[i] ** 2 / _before(here, log.propensity, 1.0 / target.size)
    weights = 1.0 / np.sqrt(noise)
    value = float((weights * scores).sum() / weights.sum())
    spread = np.sqrt((weights**2 * (scores - value) ** 2).sum())
    return Point(value, float(spread / weights.sum()))


ESTIMATORS: dict[str, Callable[[Log, Floats], Point]] = {
    "adaptively weighted": adaptively_weighted,
    "doubly robust": doubly_robust,
    "self-normalised": self_normalised,
    "ips": ips,
}


def effective_size(log: Log, target: Floats) -> float:
    """Return how many rounds of the target's own would say as much: (sum of w)^2 / sum of w^2."""
    sizes = []
    for sign in (1.0, -1.0):
        weights = _weights(log, np.maximum(sign * target, 0.0))
        if weights.any():
            sizes.append(weights.sum() ** 2 / (weights**2).sum())
        elif (sign * target > 0.0).any():
            return 0.0
    return float(min(sizes))


def mean_weight(log: Log, target: Floats) -> Point:
    """Return the mean of the weights and its standard error; it should be the sum of the target."""
    return _mean(_weights(log, target))


def _weights(log: Log, target: Floats) -> Floats:
    weights: Floats = target[log.arm] / log.propensity
    return weights


def _mean(values: Floats) -> Point:
    return Point(float(values.mean()), float(values.std() / np.sqrt(values.size)))


def _scores(log: Log, target: Floats) -> Floats:
    """Return the doubly robust score of every round."""
    everywhere = np.arange(log.reward.size, dtype=float)
    overall = np.cumsum(log.reward) - log.reward
    overall /= np.maximum(1.0, everywhere)
    scores = np.zeros(log.reward.size)
    for i in np.flatnonzero(target):
        here = log.arm == i
        count = np.cumsum(here) - here
        total = np.cumsum(here * log.reward) - here * log.reward
        guess = np.where(count > 0, total / np.maximum(1, count), overall)
        scores += target[i] * guess
        scores[here] += target[i] / log.propensity[here] * (log.reward - guess)[here]
    return scores


def _before(here: Floats, values: Floats, first: float) -> Floats:
    """Return, for every round, the value in the last of the marked rounds before it."""
    last = np.where(here, np.arange(here.size), -1)
    last = np.maximum.accumulate(np.concatenate([[-1], last[:-1]]))
    return np.where(last >= 0, values[last], first)
