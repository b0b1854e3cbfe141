"""Pooling: what a run of one problem says about its neighbours, exactly, through its likelihood.

A policy does not know the means, so in the likelihood of a run its choices cancel: a run drawn from
problem k has under problem j a likelihood that is larger by the factor

    log p_j / p_k = sum over arms of a_j X + b_j T,        X: summed noise, T: pulls,

which is linear in both for every kind of reward whose sum determines it. Runs of the sources j in a
window around point i, as many from each, drawn from mixtures with densities p_j q_j (see
`importance`), estimate the mean regret at i by the *balance heuristic* of Veach and Guibas (1995):

    mean of W_i regret_i,        W_i = p_i / (average over the window of p_j q_j).

No other problem outside the window enters, so this is exact for any window. Control variates with
known means, whose coefficients are fitted, make it precise (Owen and Zhou 2000): W_i itself, W_i
times the luck of the best arms at i and of the others, and p_j / (average ...) for two neighbours
(1, which explains nothing, where there is none).

What is added up for each point is one row of `COLUMNS` numbers, whatever the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Any, NamedTuple

import numpy as np

from ._compile import specialise
from ._memo import cached_property
from ._types import Counts, Flags, Floats
from .importance import Mixture
from .problems import Problem

TERMS = 6  # regret, weight, luck of others, luck of best, the neighbours: each times a weight
KNOWN = np.array([1.0, 0.0, 0.0, 1.0, 1.0])  # the means of all but the first
PAIRS = TERMS * (TERMS + 1) // 2
COLUMNS = 1 + TERMS + PAIRS  # number of runs, sums, products of deviations within a source
_LARGE = 300.0  # cap on the logarithm of a likelihood ratio, as in `importance`
_LIMIT = 4.5  # divergence of neighbours that still share runs: three standard deviations
MOST_NEIGHBOURS = 32  # on either side


def heard(problem: Problem, horizon: int) -> Flags:
    """Return the arms whose noise is not drowned by rounding, and so has the mean 0."""
    return problem.scales > 2.0**-50 * horizon * np.abs(problem.means)


def obstacle(problems: Sequence[Any], horizon: int) -> str | None:
    """Return a clause saying why runs on these problems cannot be pooled, or None if they can."""
    first = problems[0]
    if not all(isinstance(problem, Problem) for problem in problems):
        return "each run has a problem of its own"
    rewards = first.rewards
    if rewards.log_likelihood_ratio is None or rewards.divergence is None:
        return f"{rewards.name} rewards have no likelihood ratio for another mean"
    for problem in problems[1:]:
        if problem.rewards is not rewards or problem.arms != first.arms:
            return "they have different arms"
        if problem.sigma != first.sigma or not np.array_equal(problem.scales, first.scales):
            return "their arms differ in more than the means"
        if not np.array_equal(problem.features, first.features):
            return "their arms have different features"
    if not all(heard(problem, horizon).all() for problem in problems):
        return "rounding drowns the noise of some arms"
    return None


def windows_of(problems: Sequence[Problem], pulls: Floats, keys: Sequence[int]) -> Counts:
    """Return the first and the last source of each point, from the mean pulls of each arm.

    Points share runs only if their `keys` are the same and the runs of one are not too unlikely at
    the other: the Kullback-Leibler divergence of a whole run is at most `_LIMIT` both ways.
    """
    means = np.stack([problem.means for problem in problems])
    count = len(problems)
    windows = np.stack([np.arange(count)] * 2, axis=1)
    for i in range(count):
        for step, side in ((-1, 0), (1, 1)):
            j = i + step
            while 0 <= j < count and abs(j - i) <= MOST_NEIGHBOURS and keys[j] == keys[i]:
                there = _divergence(problems[0], means[i], means[j], pulls[i])
                back = _divergence(problems[0], means[j], means[i], pulls[j])
                if not max(there, back) <= _LIMIT:
                    break
                windows[i, side] = j
                j += step
    return windows


def _divergence(problem: Problem, means: Floats, others: Floats, pulls: Floats) -> float:
    """Return the divergence of a run with so many pulls of arms with these means from others."""
    kind = problem.rewards.divergence
    assert kind is not None
    return sum(
        float(pulls[arm]) * kind(float(means[arm]), float(others[arm]), float(problem.scales[arm]))
        for arm in np.flatnonzero(means != others)
    )


def arm_groups(problems: Sequence[Problem]) -> Counts:
    """Return the group of each arm: arms of a group have the same mean and scale everywhere."""
    columns = np.stack([*(problem.means for problem in problems), problems[0].scales], axis=1)
    groups = np.unique(columns, axis=0, return_inverse=True)[1]
    return np.asarray(groups, dtype=np.int64).reshape(-1)


class Chart(NamedTuple):
    """What the kernel needs to know about a source: see `chart_of` and `_add_runs`."""

    slopes: Floats
    offsets: Floats
    densities: Counts
    shares: Floats
    tilt_slopes: Floats
    tilt_offsets: Floats
    tilt_marks: Counts
    tilt_lengths: Floats
    starts: Counts
    ends: Counts
    places: Counts
    lefts: Counts
    rights: Counts
    gaps: Floats
    shifts: Floats
    best: Floats


@dataclass(frozen=True, eq=False)
class Pool:
    """An axis of problems that share runs: sources with their mixtures, and windows of sources."""

    problems: tuple[Problem, ...]
    mixtures: tuple[Mixture, ...]
    windows: Counts

    @cached_property
    def group_of_arms(self) -> Counts:
        """The group of each arm."""
        return arm_groups(self.problems)

    @cached_property
    def _identities(self) -> list[str]:
        return [mixture.identity for mixture in self.mixtures]

    def only(self, points: Counts) -> Pool:
        """Return the pool of some of the points: sums of the one add up with sums of the other."""
        low, high = self.windows[points].T
        windows = np.searchsorted(points, low), np.searchsorted(points, high, "right") - 1
        problems, mixtures = (
            tuple(all_of[i] for i in points) for all_of in (self.problems, self.mixtures)
        )
        return Pool(problems, mixtures, np.stack(windows, axis=1))

    def targets(self, source: int) -> Counts:
        """Return the points whose window includes a source."""
        return np.flatnonzero((self.windows[:, 0] <= source) & (source <= self.windows[:, 1]))

    def chart(self, source: int) -> Chart:
        """Return what the kernel needs to know about a source."""
        groups = self.group_of_arms
        members = [int(np.flatnonzero(groups == g)[0]) for g in range(int(groups.max()) + 1)]
        targets = self.targets(source)
        start, end = self.windows[targets, 0].min(), self.windows[targets, 1].max() + 1
        around = range(int(start), int(end))
        here = self.problems[source]
        means = np.stack([self.problems[j].means[members] for j in around])
        scales, own = here.scales[members], here.means[members]
        slopes, offsets = _linear(here, own, means, scales)
        lower, upper = self.windows[targets].T
        lefts = np.where(lower < targets, targets - (targets - lower + 1) // 2 - start, -1)
        rights = np.where(upper > targets, targets + (upper - targets + 1) // 2 - start, -1)
        gaps = np.stack([self.problems[i].gaps[members] for i in targets])
        shifts = np.stack([self.problems[i].means[members] - own for i in targets])
        places = lower - start, upper + 1 - start, targets - start, lefts, rights
        best = (gaps == 0.0).astype(np.float64)
        tilts = self._tilts(source, around)
        return Chart(*(slopes, offsets, *tilts, *places, gaps, shifts, best))

    def _tilts(self, source: int, around: range) -> tuple[Any, ...]:
        """Return the density of each source's mixture, as sums of exponentials of linear terms.

        Sources with the same mixture and the same mean of its arm share one.
        """
        arm = self.mixtures[source].arm
        if arm < 0:
            nothing = np.zeros((1, 1))
            numbers = np.zeros(len(around), np.int64)
            return numbers, np.ones((1, 1)), nothing, nothing, np.zeros((1, 1), np.int64), nothing
        found: dict[tuple[str, float], int] = {}
        rows: list[tuple[Any, ...]] = []
        numbers = np.empty(len(around), np.int64)
        own = self.problems[source].means[arm]
        for place, j in enumerate(around):
            mixture, problem = self.mixtures[j], self.problems[j]
            mean = problem.means[arm]
            which = (self._identities[j], float(mean))
            if which not in found:
                found[which] = len(rows)
                used = mixture.shares > 0.0
                lowered = mean - mixture.shifts[used]
                same = np.full(lowered.size, mean)
                scale = np.full(lowered.size, problem.scales[arm])
                slopes, offsets = _linear(problem, same, lowered[None], scale)
                rows.append(
                    (
                        mixture.shares[used],
                        slopes[0],
                        offsets[0] + slopes[0] * (own - mean),
                        np.searchsorted(mixture.marks, mixture.lengths[used]),
                        mixture.lengths[used].astype(np.float64),
                    )
                )
            numbers[place] = found[which]
        width = max(row[0].size for row in rows)
        padded = [
            np.stack([np.pad(row[part], (0, width - row[part].size)) for row in rows])
            for part in range(5)
        ]
        return (numbers, *padded)


def _linear(problem: Problem, own: Floats, others: Floats, scales: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of noise and pulls in the logarithm of p_other / p_own.

    `own` are means, and so is each row of `others`; arms whose means are the same do not matter.
    """
    ratio = problem.rewards.log_likelihood_ratio
    assert ratio is not None
    slopes, offsets = np.zeros(others.shape), np.zeros(others.shape)
    for row, arm in np.argwhere(others != own):
        given = float(own[arm]), float(others[row, arm]), float(scales[arm])
        slopes[row, arm], offsets[row, arm] = -ratio(1.0, 0.0, *given), -ratio(0.0, 1.0, *given)
    return slopes, offsets


class Sums:
    """What is added up of one source's runs: for each of its points, terms and their products.

    Terms are taken relative to those of the first run, which keeps the products accurate.
    """

    def __init__(self, targets: int) -> None:
        self.runs = 0
        self.first = np.zeros((targets, TERMS))
        self.totals = np.zeros((targets, TERMS))
        self.products = np.zeros((targets, PAIRS))

    def add(self, terms: Floats) -> None:
        """Add ``terms[run, target, term]``: the slow and simple way."""
        if self.runs == 0 and len(terms):
            self.first[:] = terms[0]
        away = terms - self.first
        self.totals += away.sum(axis=0)
        rows, columns = np.tril_indices(TERMS)
        self.products += (away[:, :, rows] * away[:, :, columns]).sum(axis=0)
        self.runs += len(terms)

    def add_runs(self, chart: Chart, pulls: Floats, noise: Floats, at_marks: Floats) -> None:
        """Add runs of a pooled source: pulls and noise of groups of arms, and noise at marks.

        The last column of `at_marks` has the pulls of the tilted arm.
        """
        density = np.zeros(len(chart.shares))
        likely, tilted = np.zeros(len(chart.slopes)), np.zeros(len(chart.slopes) + 1)
        _add_runs(
            *(chart, pulls, noise, at_marks, density, likely, tilted, np.zeros(TERMS)),
            *(self.runs, self.first, self.totals, self.products),
        )
        self.runs += len(pulls)

    def rows(self) -> Floats:
        """Return a row of `COLUMNS` numbers for each point.

        Products of deviations from this source's mean are scaled so that the expectation of their
        sum is the number of runs times the variance.
        """
        rows = np.zeros((len(self.first), COLUMNS))
        rows[:, 0] = self.runs
        rows[:, 1 : 1 + TERMS] = self.totals + self.runs * self.first
        i, j = np.tril_indices(TERMS)
        centred = self.products - self.totals[:, i] * self.totals[:, j] / self.runs
        rows[:, 1 + TERMS :] = centred * (self.runs / (self.runs - 1.0))
        return rows


def _add_runs_template(
    chart: Chart,
    pulls: Floats,
    noise: Floats,
    at_marks: Floats,
    density: Floats,
    likely: Floats,
    tilted: Floats,
    terms: Floats,
    before: int,
    first: Floats,
    totals: Floats,
    products: Floats,
) -> None:
    """Add the terms of runs to those of each point.

    ``likely[j]`` is p_j up to a factor, and ``tilted[j]`` the sum of p q over the sources before j:
    a window is a difference of two. The run's own source is in every window, and with probability
    1 - e it is no less likely than e times the others, so that little is lost to rounding.
    """
    groups, marks = pulls.shape[1], at_marks.shape[1] - 1
    for run in range(pulls.shape[0]):
        for d in range(chart.shares.shape[0]):
            density[d] = 0.0
            for c in range(chart.shares.shape[1]):
                count = min(at_marks[run, marks], chart.tilt_lengths[d, c])
                power = chart.tilt_slopes[d, c] * at_marks[run, chart.tilt_marks[d, c]]
                power += chart.tilt_offsets[d, c] * count
                density[d] += chart.shares[d, c] * exp(min(power, _LARGE))
        top = -np.inf
        for j in range(likely.size):
            power = 0.0
            for g in range(groups):
                power += chart.slopes[j, g] * noise[run, g] + chart.offsets[j, g] * pulls[run, g]
            likely[j] = power
            top = max(top, power)
        tilted[0] = 0.0
        for j in range(likely.size):
            likely[j] = exp(likely[j] - top)
            tilted[j + 1] = tilted[j] + likely[j] * density[chart.densities[j]]
        for i in range(chart.places.size):
            start, end = chart.starts[i], chart.ends[i]
            mixed = (tilted[end] - tilted[start]) / (end - start)
            weight = likely[chart.places[i]] / mixed
            regret = luck = best_luck = 0.0
            for g in range(groups):
                regret += chart.gaps[i, g] * pulls[run, g]
                extra = noise[run, g] - chart.shifts[i, g] * pulls[run, g]
                best_luck += chart.best[i, g] * extra
                luck += (1.0 - chart.best[i, g]) * extra
            terms[0], terms[1] = weight * regret, weight
            terms[2], terms[3] = weight * luck, weight * best_luck
            terms[4] = likely[chart.lefts[i]] / mixed if chart.lefts[i] >= 0 else 1.0
            terms[5] = likely[chart.rights[i]] / mixed if chart.rights[i] >= 0 else 1.0
            place = 0
            for a in range(terms.size):
                if before + run == 0:
                    first[i, a] = terms[a]
                terms[a] -= first[i, a]
                totals[i, a] += terms[a]
                for b in range(a + 1):
                    products[i, place] += terms[a] * terms[b]
                    place += 1


_add_runs: Any = specialise(_add_runs_template, {}, keep=True)
