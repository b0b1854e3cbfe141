"""Top-two Thompson sampling: Russo (2016), with the challenger of Shang et al. (2020)."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from ..random import beta, largest, normal, uniform
from ._decorators import choice_policy
from ._stopping import PROBABILITY, bernoulli_cost, least, memory_of_stops, stop


@choice_policy(memory=memory_of_stops, stops=True)
def _on_unit_interval(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    delta: float = 0.05,
) -> int:  # fmt: skip
    arms, scores = pulls.size, memory[2:]
    if memory[0] > 0.0:
        return int(memory[1])
    for i in range(arms):
        scores[i] = min(max(sums[i] / pulls[i], 0.0), 1.0)  # a live bandit may be told more than 1
    leader, evidence = largest(scores, stream), 1e300
    for i in range(arms):
        if i != leader:
            cost = bernoulli_cost(scores[leader], pulls[leader], scores[i], pulls[i])
            evidence = min(evidence, cost)
    if arms == 1 or evidence > log(2.0 * (t - 1.0) * (arms - 1.0) / delta):
        return stop(t, leader, memory)
    for i in range(arms):
        hits = min(max(sums[i], 0.0), pulls[i])
        scores[i] = beta(stream, 1.0 + hits, 1.0 + pulls[i] - hits)
    leader = largest(scores, stream)
    if uniform(stream) < 0.5:
        return leader
    mean = min(max(sums[leader] / pulls[leader], 0.0), 1.0)
    for i in range(arms):
        other = min(max(sums[i] / pulls[i], 0.0), 1.0)
        scores[i] = bernoulli_cost(mean, pulls[leader], other, pulls[i])
    return least(scores, leader)


@choice_policy(
    name="top-two-thompson",
    label="Top-two Thompson",
    formula="Thompson sampling's arm or, with probability 1/2, the challenger j with the least (m "
    "- m_j)^2 / (1 / T + 1 / T_j); stop when for the best mean and all j (m - m_j)^2 / (2 sigma^2 "
    "((T + 1) / T^2 + (T_j + 1) / T_j^2)) > log((K - 1) sqrt((1 + T) (1 + T_j)) / delta)",
    reference="Russo (2016), Simple Bayesian algorithms for best arm identification; Shang, de "
    "Heide, Menard, Kaufmann and Valko (2020) for the challenger (T3C); Garivier and Kaufmann "
    "(2016) for the rule to stop",
    valid={"delta": PROBABILITY},
    memory=memory_of_stops,
    stops=True,
    bounded_form=_on_unit_interval,
)
def TopTwoThompson(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    delta: float = 0.05,
) -> int:  # fmt: skip
    """Thompson sampling that plays its leader in half of the rounds and the challenger in others.

    The challenger is the arm that is hardest to tell from the leader (T3C). Russo's is the first
    other arm that a fresh sample makes the best, which takes longer the surer one is.

    It stops once the evidence against each other arm is large enough, and plays the arm with the
    largest mean to the end; it is not a best one with probability delta at most. On rewards in
    [0, 1] samples are from Beta posteriors, the evidence is the Bernoulli likelihood ratio, and the
    level is log(2 (K - 1) t / delta), t the rounds so far.

    Proved: that probability. For sigma-subgaussian rewards: exp(S^2 / (2 sigma^2 (T + 1))) /
    sqrt(T + 1), S the sum of an arm's noise, is a supermartingale, and so is the product over two
    arms, which Ville's inequality keeps below (K - 1) / delta. For rewards of 0 and 1: Garivier and
    Kaufmann's theorem 10. It does not stop where several arms are best.

    Parameters
    ----------
    delta : float, optional
        The probability of a wrong recommendation that is allowed, above 0 and below 1.

    Examples
    --------
    >>> from ocucb import TopTwoThompson
    >>> TopTwoThompson(delta=0.01)
    TopTwoThompson(delta=0.01)
    """
    arms, scores = pulls.size, memory[2:]
    if memory[0] > 0.0:
        return int(memory[1])
    for i in range(arms):
        scores[i] = sums[i] / pulls[i]
    leader, short = largest(scores, stream), arms == 1
    T = pulls[leader]
    certain = True
    for i in range(arms):
        if i != leader:
            behind = (scores[leader] - scores[i]) / sigma
            other = pulls[i]
            spread = (T + 1.0) / (T * T) + (other + 1.0) / (other * other)
            level = log((arms - 1.0) / delta) + 0.5 * (log(1.0 + T) + log(1.0 + other))
            certain = certain and behind * behind > 2.0 * spread * level
    if short or certain:
        return stop(t, leader, memory)
    for i in range(arms):
        scores[i] += sigma * normal(stream) / sqrt(pulls[i])
    leader = largest(scores, stream)
    if uniform(stream) < 0.5:
        return leader
    mean, T = sums[leader] / pulls[leader], pulls[leader]
    for i in range(arms):
        ahead = max(0.0, mean - sums[i] / pulls[i])
        scores[i] = ahead * ahead / (1.0 / T + 1.0 / pulls[i])
    return least(scores, leader)
