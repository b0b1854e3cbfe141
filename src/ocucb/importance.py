"""Importance sampling: rare failures are made common, and runs are weighted accordingly.

A run is drawn from a *defensive mixture*: with probability ``shares[0]`` it is plain, and with
probability ``shares[j]`` the first ``lengths[j]`` rewards of the best arm have a mean that is lower
by ``shifts[j]``. The weight of a run is the likelihood ratio

    weight = 1 / sum_j shares[j] * ratio_j,

where ratio_j, which is 1 for j = 0, says how much likelier those rewards are in component j than
in a plain run. A pilot chooses the shares (`improved`): EM steps towards the mixture that minimises
the variance of what remains after a regression on luck, whose mean is known (`results.Moments`).
docs/rare-failures.md says why, and has the sources.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ._types import Counts, Floats
from .priors import AnyProblem, Prior
from .problems import Problem

# Shifts beyond the gap, in standard errors of the first rewards. Bonuses are as large as the last
# one at horizons of 10^9.
_DEPTHS = (0.75, 1.5, 2.5, 3.5, 5.0, 7.0)
_LONGEST = 1024  # pulls of the best arm that may be tilted
_PLAIN = 0.4  # smallest share of plain runs, before small ones are raised: 0.3 then
_STEPS = 4  # EM steps: many more would fit the noise of the pilot
_BROAD = 0.125  # share of runs drawn from the first mixture's tilted components
_PARTS = 1024.0  # shares are multiples of 1 / _PARTS, and at least that
_LARGE = 300.0  # cap on the logarithm of a likelihood ratio: its square must not overflow
_RARE = 1e-30  # relative variance of the regret that is none
PILOT_RUNS = 256
FEWEST_TILTED = 200  # runs from which on weighted error bars cover
MOST_WEIGHT = 1.0 / 0.3  # of a run
MARKS = 3  # the row of `Mixture.table` that has the marks
HARMLESS = 0.9  # gain from which runs are tilted: tails and error bars gain anyway


class Mixture(NamedTuple):
    """The distribution that runs are drawn from."""

    arm: int  # whose first rewards are tilted, -1 if none is
    shares: Floats  # probabilities of the components; the first is plain
    shifts: Floats  # by how much each lowers the arm's mean
    lengths: Counts  # for how many pulls
    marks: Counts  # the lengths, each once, in increasing order

    @property
    def sampling(self) -> str:
        """What results say about it."""
        return "plain" if self.arm < 0 else "tilted"

    @property
    def identity(self) -> str:
        """A text that two mixtures share only if they are the same."""
        shares, shifts = ([x.hex() for x in part.tolist()] for part in (self.shares, self.shifts))
        return f"mixture {self.arm} {shares} {shifts} {self.lengths.tolist()}"

    def table(self) -> Floats:
        """Return shares, shifts, lengths and marks (and then inf) as rows, for kernels."""
        marks = np.full(self.shares.size, math.inf)
        marks[: self.marks.size] = self.marks
        return np.stack([self.shares, self.shifts, self.lengths.astype(np.float64), marks])


PLAIN = Mixture(-1, np.ones(1), np.zeros(1), np.zeros(1, np.int64), np.zeros(0, np.int64))


def obstacle(problem: AnyProblem, horizon: int) -> str | None:
    """Return a clause saying why runs stay plain, or None if they can be tilted."""
    if isinstance(problem, Prior):
        return "each run has a problem of its own, with another best arm to tilt"
    rewards, best = problem.rewards, int(problem.means.argmax())
    if rewards.log_likelihood_ratio is None or rewards.deviation is None:
        return f"{rewards.name} rewards have no likelihood ratio for another mean"
    if problem.arms == 1 or horizon <= problem.arms:
        return "nothing is chosen"
    if np.sum(problem.gaps == 0.0) > 1:
        return "several arms are best, so none of them can fail alone"
    if _spread(problem, best) == 0.0:
        return "the best arm always pays the same"
    return None


def failure_cost(problem: AnyProblem, horizon: int) -> float:
    """Return the regret of a run that settles on the wrong arm: the nearest that is worse.

    Its gap exceeds the standard error of a mean over the horizon, if that of any arm does. To
    settle on an arm that is much worse takes so much more bad luck that it costs less on average.
    Of a prior, this is the average over its problems.

    Examples
    --------
    >>> import ocucb
    >>> failure_cost(ocucb.gaussian([0.0, -1e-9, -0.25, -1.0]), 1000)
    250.0
    """
    if isinstance(problem, Prior):
        drawn = problem.examples
        costs = [
            failure_cost(problem.problem(drawn, row), horizon) for row in range(drawn.arms.size)
        ]
        return math.fsum(costs) / len(costs)
    gaps = problem.gaps
    matter = gaps[gaps > problem.sigma / math.sqrt(horizon)]
    return horizon * float(matter.min() if matter.size else gaps.max())


def _spread(problem: Problem, arm: int) -> float:
    """Return the standard deviation of an arm's rewards."""
    assert problem.rewards.deviation is not None
    return problem.rewards.deviation(float(problem.means[arm]), float(problem.scales[arm]))


def first_mixture(problem: Problem, horizon: int) -> Mixture:
    """Return a broad mixture to start from: many lengths and shifts, with equal shares."""
    best = int(problem.means.argmax())
    mean, spread = float(problem.means[best]), _spread(problem, best)
    gap = float(np.min(problem.gaps[problem.gaps > 0.0]))
    least = -math.inf
    if problem.rewards.bounds is not None:
        least, _ = problem.rewards.bounds(mean, float(problem.scales[best]))
    lengths, shifts = [0], [0.0]
    length = 1
    while length <= min(_LONGEST, horizon // 2):
        wanted = (gap + depth * spread / math.sqrt(length) for depth in _DEPTHS)
        # at most nearly down to the smallest reward
        found = sorted({min(shift, 0.98 * (mean - least)) for shift in wanted})
        shifts += found
        lengths += [length] * len(found)
        length *= 2
    shares = np.full(len(shifts), (1.0 - _PLAIN) / (len(shifts) - 1))
    shares[0] = _PLAIN
    return _mixture(best, shares, np.array(shifts), np.array(lengths))


def _mixture(arm: int, shares: Floats, shifts: Floats, lengths: Counts) -> Mixture:
    return Mixture(arm, shares, shifts, lengths, np.unique(lengths[lengths > 0]))


class Pilot(NamedTuple):
    """Runs from the first mixture: final regret, noise and pulls of the mixture's arm, luck."""

    regret: Floats
    noise: Floats
    pulls: Counts
    luck: Floats


def run_weights(mixture: Mixture, problem: AnyProblem, noise: Floats, pulls: Counts) -> Floats:
    """Return the weight of each run, from ``noise[run, mark]`` and pulls of the mixture's arm."""
    if mixture.arm < 0 or isinstance(problem, Prior):
        return np.ones(len(noise))
    return 1.0 / _density(mixture.shares, _likelihood_ratios(mixture, problem, noise, pulls))


def _likelihood_ratios(mixture: Mixture, problem: Problem, noise: Floats, pulls: Counts) -> Floats:
    """Return, for each component and run, how much likelier the run is there than plain."""
    ratio = problem.rewards.log_likelihood_ratio
    assert ratio is not None
    mean, scale = float(problem.means[mixture.arm]), float(problem.scales[mixture.arm])
    at_marks = noise.T[np.searchsorted(mixture.marks, mixture.lengths)]
    count = np.minimum(pulls, mixture.lengths[:, None])
    logs = -ratio(at_marks, count, mean, mean - mixture.shifts[:, None], scale)
    ratios: Floats = np.exp(np.minimum(logs, _LARGE))
    return ratios


def _density(shares: Floats, ratios: Floats) -> Floats:
    """Return how much likelier each run is in the mixture than plain.

    A sum rather than a matrix product, whose last bits depend on threads and alignment.
    """
    density: Floats = (shares[:, None] * ratios).sum(axis=0)
    return density


def improved(mixture: Mixture, problem: Problem, pilot: Pilot) -> tuple[Mixture, float]:
    """Return a better mixture, and how many plain runs, corrected for luck, its runs are worth.

    With weights w of the pilot's runs, the part r of their regrets that luck does not explain, and
    the shares s of a new mixture, what is minimised is the mean of w r^2 / sum_j s_j ratio_j, which
    bounds the variance. Each EM step multiplies s_j by the derivative with respect to it.
    """
    ratios = _likelihood_ratios(mixture, problem, pilot.noise, pilot.pulls)
    weights = 1.0 / _density(mixture.shares, ratios)
    variance = float((weights * _unexplained(pilot, weights) ** 2).sum())
    least = _RARE * float((weights * pilot.regret**2).sum())
    if not variance > least:
        return PLAIN, 1.0
    shares = mixture.shares
    for _ in range(_STEPS):
        density = _density(shares, ratios)
        squares = weights * _unexplained(pilot, weights / density) ** 2
        if not squares.sum() > least:
            return PLAIN, 1.0
        shares = shares * np.array([(squares * ratio / density**2).sum() for ratio in ratios])
        shares /= shares.sum()
        if shares[0] < _PLAIN:
            shares *= (1.0 - _PLAIN) / (1.0 - shares[0])
            shares[0] = _PLAIN
    # Every component keeps a share: deviations and tails need failures that are too rare to matter
    # for the mean. Rounded, so that the last bits of exponentials do not matter.
    tilted = mixture.shares[1:] / mixture.shares[1:].sum()
    shares = (1.0 - _BROAD) * shares + _BROAD * np.concatenate([[0.0], tilted])
    shares = np.maximum(np.round(shares * _PARTS), 1.0) / _PARTS
    shares[0] = 1.0 - shares[1:].sum()
    final = weights / _density(shares, ratios)
    left = float((final * _unexplained(pilot, final) ** 2).sum())
    return mixture._replace(shares=shares), variance / left if left > 0.0 else 1.0


def _unexplained(pilot: Pilot, weights: Floats) -> Floats:
    """Return what remains of the regrets after a weighted linear regression on luck."""
    left, done = pilot.regret, list[Floats]()
    for part in (np.ones(left.size), *pilot.luck.T):
        for x in done:
            part = part - x * ((weights * x * part).sum() / (weights * x**2).sum())
        if (weights * part**2).sum() > 0.0:
            left = left - part * ((weights * part * left).sum() / (weights * part**2).sum())
            done.append(part)
    return left
