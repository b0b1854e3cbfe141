"""Simulation results: means, error bars and quantiles, as a table, a figure or a file."""

from __future__ import annotations

import csv
import html
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._document import (
    Damaged,
    damaged,
    is_amount,
    is_count,
    is_object,
    is_seed,
    is_text,
    opened,
    read_json,
    take,
    take_floats,
    take_list,
)
from ._files import replacing
from ._text import shown, table, to_float, to_floats
from ._types import Counts, Floats
from .engine import Outcome
from .importance import FEWEST_TILTED, MOST_WEIGHT

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
SAMPLE_SIZE = 65_536  # runs whose individual regrets are kept, for quantiles
_BINS_PER_OCTAVE = 32
BINS = 30 * _BINS_PER_OCTAVE  # down to 1e-9 of the worst regret
_VERSION = 2  # of the format of saved files
_TRUTHS = np.array([1.0, 0.0, 0.0])  # what the control variates w, w a and w b have as mean
CONTROLS = _TRUTHS.size
_FEWEST = 64  # runs: with fewer, fitted control variates do more harm than good
_COLLINEAR = 1e-9  # share of a control variate that the others must leave
# What was not seen counts as this many runs, as a standard error: an event with an expectation of
# 3 occurrences is missed with probability 5%, and k ± 2 sqrt(k + 1.5^2) covers Poisson means.
UNSEEN = 1.5
_SKEWED = 4.0  # the same where contributions differ in size: weights, squares
SAMPLINGS = ("plain", "tilted")
_ROUNDS = "increasing rounds that ends with the horizon"

_COLUMNS = ("problem", "policy", "engine", "horizon", "t", "runs", "mean_regret", "stderr")


class Description(NamedTuple):
    """What was played, in plain values: as results report it and stores keep it."""

    policy: str
    label: str
    engine: str
    problem: str
    means: Floats
    rewards: str
    sigma: float
    horizon: int
    checkpoints: Counts
    seed: int
    version: str
    sampling: str


class Estimate(NamedTuple):
    """A number and its standard error.

    Probabilities, deviations and `PolicyResult.cvar` have a standard error that allows for runs
    that might have been seen but were not. Where it is larger than half the value, read
    ``value + 2 * stderr`` as an upper bound.

    Attributes
    ----------
    value : float
        The estimate.
    stderr : float
        Its standard error.

    Examples
    --------
    >>> import ocucb
    >>> estimate = ocucb.Estimate(12.3, 0.4)
    >>> f"{estimate.value} ± {2 * estimate.stderr}"
    '12.3 ± 0.8'
    """

    value: float
    stderr: float


@dataclass(frozen=True)
class Moments:
    """What is kept of a block of runs, or of many blocks.

    Blocks are merged in the order of the runs, so the result is the same to the last bit no matter
    how they were computed. In what follows, w is the weight of a run (1 if it is plain), y its
    regret, and a and b the luck of the suboptimal arms and of the best (0 if it is plain).

    The means of w, w a and w b are known: 1, 0 and 0. How far their sample means miss these values
    tells much about how far that of the regret misses its own, which linear regression corrects
    (control variates). The coefficients come from the same runs, which biases estimates by about
    one part in sqrt(`runs`) of a standard error.

    Attributes
    ----------
    runs : int
    mean, squares : ndarray
        At each checkpoint the mean of w y, and its summed squared deviation.
    products : ndarray
        The summed products of deviations of w, w a and w b, one row each, with w y.
    pulls : ndarray
        The mean of w times the pulls of each arm.
    centre : float
        A number close to the mean final regret.
    powers : ndarray
        The means of w, w a, w b, w d, w d^2 and w f, where d is the final regret minus `centre`, in
        units of `unit`, and f is 1 if the run failed.
    power_products : ndarray
        Their summed products of deviations, 6 by 6.
    histogram : ndarray
        The sums of w and of w^2 over the runs in each bin of the final regret, see `bin_edges`.
    sample, weights, luck : ndarray
        The final regrets, the weights, and a and b of the first `SAMPLE_SIZE` runs.
    """

    runs: int
    mean: Floats
    squares: Floats
    products: Floats
    pulls: Floats
    centre: float
    powers: Floats
    power_products: Floats
    histogram: Floats
    sample: Floats
    weights: Floats
    luck: Floats

    @staticmethod
    def of(outcome: Outcome, weights: Floats, gaps: Floats, first: int = 0) -> Moments:
        """Reduce the outcome of a kernel.

        Parameters
        ----------
        outcome : Outcome
        weights : ndarray
            The weight of each run.
        gaps : ndarray
            The arms' gaps.
        first : int
            The number of the first run.
        """
        final = outcome.regret[:, -1]
        weighted = outcome.regret * weights[:, None]
        mean = weighted.mean(axis=0)
        off = weighted - mean
        centre = float(final.mean())
        d = (final - centre) / _unit(centre)
        # A run fails if the best arms get less than half of its rounds.
        failed = 2 * outcome.pulls[:, gaps == 0.0].sum(axis=1) < outcome.pulls.sum(axis=1)
        powers = weights * np.stack([np.ones(d.size), *outcome.luck.T, d, d**2, failed])
        means = powers.mean(axis=1)
        powers -= means[:, None]
        worst = float(gaps.max()) * float(outcome.pulls[0].sum())
        bins = _bin_numbers(final, worst)
        size = max(0, SAMPLE_SIZE - first)
        return Moments(
            len(final),
            mean,
            (off**2).sum(axis=0),
            np.stack([(off * one[:, None]).sum(axis=0) for one in powers[:CONTROLS]]),
            (outcome.pulls * weights[:, None]).mean(axis=0),
            centre,
            means,
            # sums rather than a matrix product, whose last bits depend on threads and alignment
            (powers[:, None] * powers).sum(axis=2),
            np.stack([np.bincount(bins, weights**k, BINS) for k in (1, 2)]),
            final[:size].copy(),
            weights[:size].copy(),
            outcome.luck[:size].copy(),
        )

    @property
    def unit(self) -> float:
        """What `powers` are measured in: 1, unless fourth powers could overflow or vanish."""
        return _unit(self.centre)

    @property
    def regret(self) -> Floats:
        """Estimated mean regret at each checkpoint."""
        slopes, _ = self._fit(self.products)
        return self.mean - self._excess(slopes)

    @property
    def stderr(self) -> Floats:
        """Standard errors of these estimates; nan after a single run."""
        if self.runs == 1:
            return np.full(self.mean.size, np.nan)
        slopes, used = self._fit(self.products)
        left = np.maximum(self.squares - (slopes * self.products).sum(axis=0), 0.0)
        errors: Floats = np.sqrt(left / (self.runs - 1 - used) / self.runs)
        return errors

    def _fit(self, products: Floats) -> tuple[Floats, int]:
        """Regress quantities on the first control variates, given their products with these.

        Returns the coefficients, one row for each control variate, and how many of these are used.
        By elimination rather than with LAPACK, whose last bits depend on the machine.
        """
        size, used = len(products), 0
        if self.runs < _FEWEST:
            return np.zeros(products.shape), used
        square, right = self.power_products[:size, :size].copy(), products.copy()
        for k in range(size):
            if not square[k, k] > _COLLINEAR * self.power_products[k, k]:
                right[k] = square[k] = square[:, k] = 0.0
                continue
            used += 1
            right[k], square[k] = right[k] / square[k, k], square[k] / square[k, k]
            for i in range(size):
                if i != k:
                    right[i] -= square[i, k] * right[k]
                    square[i] -= square[i, k] * square[k]
        return right, used

    def _excess(self, slopes: Floats) -> Floats:
        """Return by how much estimates are too large because the control variates are."""
        size = len(slopes)
        excess: Floats = (slopes * (self.powers[:size] - _TRUTHS[:size])[:, None]).sum(axis=0)
        return excess

    @property
    def weight(self) -> Estimate:
        """The mean weight; its expectation is 1."""
        return Estimate(float(self.powers[0]), self._error(float(self.power_products[0, 0])))

    def failure(self, least: float) -> Estimate:
        """Return the probability of a failure, which costs `least` or more; if 0, no run fails."""
        if not least > 0.0:
            return Estimate(0.0, 0.0)
        (*_, share), products, used = self._powers()
        value = min(_not_negative(float(share)), 1.0)
        error = self._error(float(products[-1, -1]), used)
        weighted = float(self.powers[-1])
        squares = float(self.power_products[-1, -1]) / self.runs + weighted**2
        one_more = UNSEEN
        if not _plain(self.weights):
            one_more = float(_one_more(self.sample, self.weights, weighted, squares, least))
        return Estimate(value, math.hypot(error, one_more / self.runs))

    def deviation(self, worst: float) -> Estimate:
        """Return the standard deviation of the final regret, which is `worst` at most.

        Two things may be missing: more contributions like those that were seen, and, in plain
        runs, one of the worst regret. With tilted ones, what makes the best arm fail was sought,
        and the largest regret of a run that might as well be plain takes its place.
        """
        (first, second, _), products, used = self._powers()
        variance = float(second - first**2) * self.runs / max(1, self.runs - 1)
        if self.runs == 1:
            return Estimate(math.nan, math.nan)
        deviation = math.sqrt(_not_negative(variance))
        # the delta method: the variance depends on two means
        slope = np.array([-2.0 * first, 1.0])
        error = self._error(float((slope[:, None] * slope * products[:2, :2]).sum()), used)
        mean = self.centre + self.unit * float(first)
        (*_, average, _), squares = self._centred_at(mean)
        if average > 0.0:
            typical = float(squares[-2, -2] / self.runs / average + average)
            typical *= (_unit(mean) / self.unit) ** 2
            error = math.hypot(error, _SKEWED * typical / self.runs)
        seen = error / (2.0 * deviation) if deviation > 0.0 else 0.0
        farthest = worst if _plain(self.weights) else _farthest(self.sample, self.weights)
        away = (farthest - mean) / self.unit
        more = 2.0 * UNSEEN * float(self.weights.max()) * away**2 / self.runs
        unseen = 0.5 * (math.hypot(deviation, math.sqrt(more)) - deviation)
        return Estimate(deviation * self.unit, math.hypot(seen, unseen) * self.unit)

    def _powers(self) -> tuple[Floats, Floats, int]:
        """Return the means of w d, w d^2 and w f, corrected, and what is left of their products.

        They are corrected for the mean weight, as tails are: luck says little about failures. The
        last is the number of control variates used.
        """
        cross = self.power_products[:1, CONTROLS:]
        slopes, used = self._fit(cross)
        values = self.powers[CONTROLS:] - self._excess(slopes)
        explained = (slopes[:, :, None] * cross[:, None, :]).sum(axis=0)
        return values, self.power_products[CONTROLS:, CONTROLS:] - explained, used

    def _error(self, squares: float, used: int = 0) -> float:
        if self.runs == 1:
            return math.nan
        return math.sqrt(_not_negative(squares) / (self.runs - 1 - used) / self.runs)

    @property
    def kurtosis(self) -> float:
        """Fourth central moment over the squared variance of what is averaged, from `sample`."""
        slopes, _ = self._fit(self.products)
        known = self.weights[:, None] * np.column_stack([np.ones(self.weights.size), self.luck])
        values = self.weights * self.sample - (slopes[:, -1] * (known - _TRUTHS)).sum(axis=1)
        squares = ((values - values.mean()) / self.unit) ** 2
        variance = float(squares.mean())
        # at least 1 by Jensen's inequality, despite rounding
        return max(1.0, float((squares**2).mean()) / variance**2) if variance > 0.0 else 1.0

    def merged(self, later: Moments) -> Moments:
        """Return the combined moments (Chan, Golub and LeVeque 1979)."""
        runs = self.runs + later.runs
        share = later.runs / runs
        factor = share * self.runs
        shift = later.mean - self.mean
        powers, products = later._centred_at(self.centre)
        jump = powers - self.powers
        capacity = max(0, SAMPLE_SIZE - self.sample.size)
        return Moments(
            runs,
            self.mean + share * shift,
            self.squares + later.squares + shift**2 * factor,
            self.products + later.products + jump[:CONTROLS, None] * shift * factor,
            self.pulls + share * (later.pulls - self.pulls),
            self.centre,
            self.powers + share * jump,
            self.power_products + products + jump[:, None] * jump * factor,
            self.histogram + later.histogram,
            np.concatenate([self.sample, later.sample[:capacity]]) if capacity else self.sample,
            np.concatenate([self.weights, later.weights[:capacity]]) if capacity else self.weights,
            np.concatenate([self.luck, later.luck[:capacity]]) if capacity else self.luck,
        )

    def _centred_at(self, centre: float) -> tuple[Floats, Floats]:
        """Return `powers` and `power_products` as they are with another centre, and its unit."""
        unit = _unit(centre)
        move, ratio = (self.centre - centre) / unit, self.unit / unit
        turn = np.diag([*np.ones(CONTROLS), ratio, ratio**2, 1.0])
        first, second = CONTROLS, CONTROLS + 1  # the rows of d and d^2
        turn[first, 0], turn[second, 0], turn[second, first] = move, move**2, 2.0 * move * ratio
        powers = (turn * self.powers).sum(axis=1)
        half = (turn[:, :, None] * self.power_products).sum(axis=1)
        return powers, (half[:, None, :] * turn).sum(axis=2)


def _plain(weights: Floats) -> bool:
    return bool((weights == 1.0).all())


def _farthest(sample: Floats, weights: Floats) -> float:
    """Return the largest regret of a run that is as likely plain as in the mixture, or likelier."""
    return float(sample[weights >= 1.0].max(initial=0.0))


def _one_more(sample: Floats, weights: Floats, values: Any, squares: Any, x: Any) -> Any:
    """Return what one more tilted run with a regret above x may weigh, times how many are missing.

    Such runs have the mean weight `values` and mean squared weight `squares`, which say how much
    one weighs that is like those that were seen. Mixtures make the best arm fail, so what else
    leads to regrets above x shows only in runs that might as well be plain, and these have the
    largest weight. Their mean has a standard error that is believed: those that were not seen do
    not add more to their second moment than a few of the largest regret that was. So by Markov's
    inequality, regrets above x are rarer than these by the square of the ratio. That says nothing
    where no run shows that x is reached, or where single runs were not kept.
    """
    values, squares, x = (np.asarray(part, dtype=np.float64) for part in (values, squares, x))
    typical = np.divide(squares, values, out=np.zeros(values.shape), where=values > 0.0)
    with np.errstate(divide="ignore"):
        ratio = (_farthest(sample, weights) if sample.size else math.inf) / x
    rarer = np.where(values > 0.0, np.minimum(1.0, ratio**2), 1.0)
    largest = float(weights.max()) if weights.size else MOST_WEIGHT
    return np.maximum(_SKEWED * typical, UNSEEN * largest * rarer)


def _unit(centre: float) -> float:
    """Return 1, or the power of two near a number whose fourth power is out of range."""
    exponent = math.frexp(centre)[1]
    return 1.0 if abs(exponent) <= 200 else math.ldexp(1.0, exponent)


def _not_negative(value: float) -> float:
    """Raise what rounding made negative to 0; nan stays nan, which `max` might turn into 0."""
    return 0.0 if value <= 0.0 else value


def bin_edges(worst: float) -> Floats:
    """Return the edges of the bins of the histogram: the worst regret, then 2% less each time."""
    edges: Floats = worst * 0.5 ** (np.arange(BINS) / _BINS_PER_OCTAVE)
    return edges


def _bin_numbers(regret: Floats, worst: float) -> Counts:
    """Return the bin of each regret: bin b holds what lies above edge b + 1, not above edge b."""
    with np.errstate(divide="ignore", invalid="ignore"):
        octaves = np.log2(worst / regret)
    bins = np.floor(_BINS_PER_OCTAVE * np.nan_to_num(octaves, nan=math.inf, posinf=1e9))
    numbers: Counts = np.clip(bins, 0, BINS - 1).astype(np.int64)
    return numbers


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """The result for one policy.

    Attributes
    ----------
    policy, label : str
        Its name with all parameters, and its short name for tables.
    engine : str
        The engine that simulated it.
    horizon, runs : int
        Rounds per run, and number of runs.
    checkpoints : ndarray
        Rounds after which regret was measured; the last is the horizon.
    regret, stderr : ndarray
        Mean pseudo-regret at the checkpoints, and its standard error (nan after a single run).
    pulls : ndarray
        Mean number of pulls of each arm; not corrected for luck.
    sample, weights : ndarray
        Individual final regrets of the first 65,536 runs, and their weights.
    seconds : float
        Time spent on its runs, summed over workers, excluding compilation.
    sampling : str
        How runs were drawn: "plain", or "tilted" (with importance sampling).
    weight : Estimate
        The mean weight of the runs and its standard error; the truth is 1.
    deviation : Estimate
        The standard deviation of the final regret.
    failure : Estimate
        The probability of a failure: the best arms get less than half of the rounds.
    histogram : ndarray
        Sums of weights, and of squared weights, by final regret; read it with `tail`.
    worst : float
        The largest possible regret: the horizon times the largest gap.

    Examples
    --------
    >>> import ocucb
    >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
    >>> one = result["ucb"]
    >>> one.label, one.runs, one.horizon
    ('UCB', 10, 100)
    >>> round(float(one.pulls.sum()))
    100
    """

    policy: str
    label: str
    engine: str
    horizon: int
    runs: int
    checkpoints: Counts
    regret: Floats
    stderr: Floats
    pulls: Floats
    sample: Floats
    weights: Floats
    seconds: float
    sampling: str
    weight: Estimate
    deviation: Estimate
    failure: Estimate
    histogram: Floats
    worst: float

    @property
    def mean_regret(self) -> float:
        """Mean pseudo-regret at the horizon."""
        return float(self.regret[-1])

    def quantile(self, level: float | Sequence[float]) -> Any:
        """Return quantiles of the final regret, from the first 65,536 runs.

        Parameters
        ----------
        level : float or list of float
            Probabilities, from 0 to 1.

        Returns
        -------
        float or numpy.ndarray
            One quantile for each level.

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate(ocucb.UCB(), ocucb.gap(), 100, runs=10, rng=1)
        >>> bool(result["ucb"].quantile(0.5) <= result["ucb"].quantile(0.9))
        True
        """
        levels = to_floats(level, "quantile levels", "between 0 and 1")
        for wrong in levels[~((levels >= 0.0) & (levels <= 1.0))].flat:
            raise ValueError(f"quantile levels must lie between 0 and 1, got {wrong:g}.")
        if self.sampling == "plain":
            return np.quantile(self.sample, level)
        order = np.argsort(self.sample, kind="stable")
        share = np.cumsum(self.weights[order]) - 0.5 * self.weights[order]
        return np.interp(level, share / self.weights.sum(), self.sample[order])

    @property
    def effective_runs(self) -> float:
        """How many plain runs would give the same standard error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.float64(self.deviation.value) / self.stderr[-1]
        return self.runs if self.sampling == "plain" else float(ratio**2)

    def tail(self, x: float) -> Estimate:
        """Return the probability that the final regret exceeds x, with its standard error.

        It comes from a histogram with bins 2% wide: x is rounded to the nearest edge. The standard
        error allows for what was not seen: without a regret above x in N plain runs, 0 ± 3/N
        remains. With tilted runs it is smaller far out, where only a failure of the best arm, which
        they seek, leads.

        Parameters
        ----------
        x : float
            A regret, at least 0.

        Returns
        -------
        Estimate

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(), 100, runs=1000, rng=1)["ucb"]
        >>> value, stderr = result.tail(20.0)
        >>> value + 2 * stderr < 0.2
        True
        >>> result.tail(1e6)  # more than the worst regret
        Estimate(value=0.0, stderr=0.0)
        """
        x = to_float(x, "x", "between 0 and 1e308")
        if not x >= 0.0:
            raise ValueError(f"x must be a regret, at least 0, got {x}.")
        _, values, errors = self.tail_curve()
        if x >= self.worst:
            return Estimate(0.0, 0.0)
        octaves = math.log2(self.worst / x) if x > 0.0 else math.inf
        nearest = round(min(_BINS_PER_OCTAVE * octaves, BINS - 1.0))
        return Estimate(float(values[nearest]), float(errors[nearest]))

    def tail_curve(self) -> tuple[Floats, Floats, Floats]:
        """Return regrets in decreasing order, the probability of exceeding each, and its error.

        Corrected for the mean weight, but not for luck.

        Returns
        -------
        tuple of numpy.ndarray
            Regrets, probabilities and their standard errors.

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
        >>> regrets, probabilities, errors = result["ucb"].tail_curve()
        >>> float(probabilities[0]), float(probabilities[-1])
        (0.0, 1.0)
        """
        sums, squares = np.cumsum(self.histogram, axis=1) / self.runs
        values = np.concatenate([[0.0], sums[:-1]])
        seconds = np.concatenate([[0.0], squares[:-1]])
        spread = float(squares[-1] - sums[-1] ** 2)  # of the weights
        products = seconds - values * sums[-1]
        slope, used = np.zeros(values.size), 0
        if self.sampling != "plain" and spread > 0.0 and self.runs >= _FEWEST:
            slope, used = products / spread, 1
        left = seconds - values**2 - slope * products
        errors = np.sqrt(np.maximum(left, 0.0) / max(1, self.runs - 1 - used))
        edges = bin_edges(self.worst)
        if self.sampling == "plain":
            one_more = np.full(edges.size, UNSEEN)
        else:
            one_more = _one_more(self.sample, self.weights, values, seconds, edges)
        errors = np.hypot(errors, one_more / self.runs)
        errors[0] = 0.0  # nothing exceeds the worst regret
        values = np.clip(values - slope * (sums[-1] - 1.0), 0.0, 1.0)
        return edges, values, errors

    def cvar(self, level: float = 0.95) -> Estimate:
        """Return the mean of the final regret over the worst ``1 - level`` of the runs.

        The conditional value at risk, from the first 65,536 runs.

        Parameters
        ----------
        level : float, optional
            At least 0 and below 1.

        Returns
        -------
        Estimate

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(), 100, runs=1000, rng=1)["ucb"]
        >>> result.cvar(0.9).value > result.mean_regret
        True
        """
        level = to_float(level, "level", "between 0 and 1")
        if not 0.0 <= level < 1.0:
            raise ValueError(f"level must be at least 0 and below 1, got {level}.")
        start = float(self.quantile(level))
        excess = self.weights * np.maximum(self.sample - start, 0.0) / (1.0 - level)
        if excess.size == 1:
            return Estimate(start + float(excess[0]), math.nan)
        farthest = self.worst if self.sampling == "plain" else _farthest(self.sample, self.weights)
        unseen = float(self.weights.max()) * max(0.0, farthest - start) / (1.0 - level)
        mean = float(excess.mean())
        typical = float((excess**2).mean()) / mean if mean > 0.0 else 0.0
        error = float(excess.std(ddof=1)) / math.sqrt(excess.size)
        one_more = max(_SKEWED * typical, UNSEEN * unseen)
        return Estimate(start + mean, math.hypot(error, one_more / excess.size))

    def to_dict(self) -> dict[str, Any]:
        """Return the result at the horizon as plain numbers: one object in ``--json``.

        Returns
        -------
        dict

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
        >>> result["ucb"].to_dict()["policy"]
        'ucb:constant=2'
        """
        levels = self.quantile(QUANTILES)
        return {
            "policy": self.policy,
            "horizon": self.horizon,
            "runs": self.runs,
            "mean_regret": self.mean_regret,
            "stderr": _number(self.stderr[-1]),
            "quantiles": {f"{q:g}": float(x) for q, x in zip(QUANTILES, levels, strict=True)},
            "mean_pulls": self.pulls.tolist(),
            "engine": self.engine,
            "seconds": self.seconds,
            "deviation": _numbers(self.deviation),
            "failure": _numbers(self.failure),
            "sampling": self.sampling,
            "effective_runs": _number(self.effective_runs),
            "mean_weight": _numbers(self.weight),
        }


def _number(value: float) -> float | None:
    """Return a value that JSON can represent: None instead of nan."""
    return float(value) if math.isfinite(value) else None


def _numbers(estimate: Estimate) -> dict[str, float | None]:
    return {"value": _number(estimate.value), "stderr": _number(estimate.stderr)}


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """What `simulate` returns: one `PolicyResult` per policy.

    Index it by name, ``result["ocucb"]``, or position, ``result[0]``. If several policies share a
    short name, use the full one: ``result["ocucb:alpha=3,psi=2"]``.

    Attributes
    ----------
    policies : list of PolicyResult
        One per policy, in the order of the call.
    problem : str
        The problem's name.
    means : ndarray
        The arms' expected rewards.
    rewards : str
        The kind of reward.
    sigma : float
        What the policies were told about the noise.
    seed : int
        ``rng=seed`` reproduces the numbers.
    version : str
        The version of ocucb that produced it.

    Examples
    --------
    >>> import ocucb
    >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
    >>> [one.label for one in result]
    ['UCB']
    >>> result["ucb"] is result[0]
    True
    """

    policies: list[PolicyResult]
    problem: str
    means: Floats
    rewards: str
    sigma: float
    seed: int
    version: str

    def __iter__(self) -> Iterator[PolicyResult]:
        return iter(self.policies)

    def __len__(self) -> int:
        return len(self.policies)

    def __getitem__(self, which: int | str) -> PolicyResult:
        if not isinstance(which, str):
            return self.policies[which]
        exact = [one for one in self if which in (one.policy, one.label)]
        found = exact or [one for one in self if which == one.policy.partition(":")[0]]
        if not found:
            raise KeyError(f"no policy {shown(which)}; choose from {[one.policy for one in self]}.")
        if len(found) > 1:
            raise KeyError(
                f"{which!r} matches {[one.policy for one in found]}; use the full name or the "
                "position."
            )
        return found[0]

    def table(self) -> str:
        """Return the result as text, one line per policy; error bars are two standard errors.

        Returns
        -------
        str

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
        >>> for line in result.table().splitlines()[2:]:
        ...     print(line)
        gap:K=2,gap=0.3, gaussian rewards, sigma = 1, horizon 100, seed 1
        With fewer than 200 plain runs, error bars can miss rare failures.
        """
        rows = [("policy", "mean regret", "± 2 s.e.", "median", "95%", "runs", "engine", "seconds")]
        for one in self:
            half_width = 2 * float(one.stderr[-1])
            median, high = one.quantile([0.5, 0.95])
            rows.append(
                (
                    one.label,
                    *with_half_width(one.mean_regret, half_width),
                    f"{median:.4g}",
                    f"{high:.4g}",
                    f"{one.runs:,}",
                    one.engine,
                    f"{one.seconds:.2f}",
                )
            )
        horizon = f"{self.policies[0].horizon:,}"
        rewards = f"{self.rewards} rewards, sigma = {self.sigma:g}"
        last = f"{self.problem}, {rewards}, horizon {horizon}, seed {self.seed}"
        lines = [table(rows, left=(0, 2, 6)), last]
        for one in self:
            if one.sampling != "plain":
                weight = " ".join(with_half_width(one.weight.value, 2 * one.weight.stderr))
                lines.append(
                    f"{one.label}: {one.sampling} sampling, worth "
                    f"{_worth(one.effective_runs)} plain runs; mean weight {weight}"
                )
        if any(one.sampling == "plain" and one.runs < FEWEST_TILTED for one in self):
            lines.append(
                f"With fewer than {FEWEST_TILTED} plain runs, error bars can miss rare failures."
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(one.label)}</td>"
            f"<td>{one.mean_regret:.4g} ± {2 * one.stderr[-1]:.2g}</td>"
            f"<td>{one.runs:,}</td><td>{html.escape(one.engine)}</td></tr>"
            for one in self
        )
        head = "<tr><th>policy</th><th>mean regret</th><th>runs</th><th>engine</th></tr>"
        return f"<table><caption>{html.escape(self.problem)}</caption>{head}{rows}</table>"

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per policy and checkpoint.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
        >>> row = result.rows()[-1]
        >>> row["policy"], row["t"], row["runs"]
        ('ucb:constant=2', 100, 10)
        """
        return [
            dict(
                zip(
                    _COLUMNS,
                    (
                        self.problem,
                        one.policy,
                        one.engine,
                        one.horizon,
                        int(t),
                        one.runs,
                        float(mean),
                        float(error),
                    ),
                    strict=True,
                )
            )
            for one in self
            for t, mean, error in zip(one.checkpoints, one.regret, one.stderr, strict=True)
        ]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return `rows` as a pandas data frame (``pip install ocucb[pandas]``).

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
        >>> int(result.to_dataframe()["t"].max())
        100
        """
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "to_dataframe needs pandas: pip install 'ocucb[pandas]', or use to_csv."
            ) from None
        return pandas.DataFrame(self.rows(), columns=list(_COLUMNS))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `rows` to a CSV file.

        Parameters
        ----------
        path : path
            The file to write.

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> result.to_csv(folder.name + "/regret.csv")
        """
        write_rows(self.rows(), path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> matplotlib.figure.Figure:
        """Plot regret over time, with bands of two standard errors.

        Parameters
        ----------
        path : path, optional
            File to write; its ending (.png, .pdf, .svg) determines the format.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
        >>> figure = result.plot()
        """
        from .figures import regret_panels, write

        figure = regret_panels([self])
        if path is not None:
            write(figure, path)
        return figure

    def plot_tail(self, path: str | os.PathLike[str] | None = None) -> matplotlib.figure.Figure:
        """Plot the probability that the final regret exceeds x, with bands of two standard errors.

        Both axes are logarithmic; probabilities below 1e-7 are left out. A flat stretch far to the
        right means that runs either go well or fail.

        Parameters
        ----------
        path : path, optional
            File to write; its ending (.png, .pdf, .svg) determines the format.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
        >>> figure = result.plot_tail()
        """
        from .figures import tails, write

        figure = tails([self])
        if path is not None:
            write(figure, path)
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file that `load` reads.

        Parameters
        ----------
        path : path
            The file to write.

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> result.save(folder.name + "/result.json")
        >>> ocucb.SimulationResult.load(folder.name + "/result.json").seed
        1
        """
        document = {
            "format": "ocucb-simulation",
            "format_version": _VERSION,
            "version": self.version,
            "problem": self.problem,
            "means": self.means.tolist(),
            "rewards": self.rewards,
            "sigma": self.sigma,
            "seed": self.seed,
            "policies": [
                {
                    "policy": one.policy,
                    "label": one.label,
                    "engine": one.engine,
                    "horizon": one.horizon,
                    "runs": one.runs,
                    "checkpoints": one.checkpoints.tolist(),
                    "regret": one.regret.tolist(),
                    "stderr": [_number(error) for error in one.stderr],
                    "pulls": one.pulls.tolist(),
                    "sample": one.sample.tolist(),
                    "weights": one.weights.tolist() if one.sampling != "plain" else [],
                    "seconds": one.seconds,
                    "sampling": one.sampling,
                    "weight": [_number(x) for x in one.weight],
                    "deviation": [_number(x) for x in one.deviation],
                    "failure": [_number(x) for x in one.failure],
                    "histogram": [
                        [int(b), *one.histogram[:, b].tolist()]
                        for b in np.flatnonzero(one.histogram[0])
                    ],
                    "worst": one.worst,
                }
                for one in self
            ],
        }
        with replacing(path) as file:
            json.dump(document, file, allow_nan=False)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> SimulationResult:
        """Read a file written by `save`.

        Parameters
        ----------
        path : path
            The file to read.

        Returns
        -------
        SimulationResult

        Raises
        ------
        ValueError
            The file is damaged or was not written by `save`; the message says what is wrong.

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> result.save(folder.name + "/result.json")
        >>> again = ocucb.SimulationResult.load(folder.name + "/result.json")
        >>> again["ucb"].mean_regret == result["ucb"].mean_regret
        True
        """
        document = opened(read_json(path), "simulation", _VERSION, path)
        try:
            means = take_floats(document, "means")
            policies = take_list(document, "policies", None, is_object, "policies")
            return SimulationResult(
                [_restored(one, means.size) for one in policies],
                take(document, "problem", is_text, "text"),
                means,
                take(document, "rewards", is_text, "text"),
                float(take(document, "sigma", _is_positive, "a number greater than 0")),
                take(document, "seed", is_seed, "a whole number, at least 0"),
                take(document, "version", is_text, "text"),
            )
        except Damaged as error:
            raise damaged(path, error) from None


def result_of(played: Description, moments: Moments, seconds: float) -> SimulationResult:
    """Turn the merged blocks of one policy into a result."""
    gaps = np.max(played.means) - played.means
    worst = played.horizon * float(np.max(gaps))
    least = float(gaps[gaps > 0.0].min(initial=np.max(gaps)))
    one = PolicyResult(
        policy=played.policy,
        label=played.label,
        engine=played.engine,
        horizon=played.horizon,
        runs=moments.runs,
        checkpoints=played.checkpoints,
        regret=moments.regret,
        stderr=moments.stderr,
        pulls=moments.pulls / moments.weight.value,  # so that they add up to the horizon
        sample=moments.sample,
        weights=moments.weights,
        seconds=seconds,
        sampling=played.sampling,
        weight=moments.weight,
        deviation=moments.deviation(worst),
        failure=moments.failure(0.5 * played.horizon * least),
        histogram=moments.histogram,
        worst=worst,
    )
    return _result_on(played, [one])


def joined(results: Sequence[SimulationResult]) -> SimulationResult:
    """Put the policies of several results, on one problem, into one result."""
    return _result_on(results[0], [one for result in results for one in result])


def _result_on(a: Description | SimulationResult, policies: list[PolicyResult]) -> SimulationResult:
    return SimulationResult(policies, a.problem, a.means, a.rewards, a.sigma, a.seed, a.version)


def _restored(document: dict[str, Any], arms: int) -> PolicyResult:
    """Return the result of one policy."""
    count = "a whole number from 1 to 2^53"
    horizon: int = take(document, "horizon", is_count, count)
    runs: int = take(document, "runs", is_count, count)
    rounds = take_list(document, "checkpoints", None, is_count, _ROUNDS)
    if any(t >= later for t, later in pairwise(rounds)) or rounds[-1] != horizon:
        raise Damaged(f"'checkpoints' must be a list of {_ROUNDS}")
    amounts = "finite numbers, at least 0"
    sampling = take(document, "sampling", lambda x: x in SAMPLINGS, " or ".join(SAMPLINGS))
    kept = min(runs, SAMPLE_SIZE)
    listed = 0 if sampling == "plain" else kept
    weights = np.array(take_list(document, "weights", listed, is_amount, amounts), dtype=np.float64)
    return PolicyResult(
        policy=take(document, "policy", is_text, "text"),
        label=take(document, "label", is_text, "text"),
        engine=take(document, "engine", is_text, "text"),
        horizon=horizon,
        runs=runs,
        checkpoints=np.array(rounds, dtype=np.int64),
        regret=take_floats(document, "regret", len(rounds)),
        stderr=np.array(  # null, after a single run, becomes nan
            take_list(
                document, "stderr", len(rounds), lambda x: x is None or is_amount(x), amounts
            ),
            dtype=np.float64,
        ),
        pulls=np.array(take_list(document, "pulls", arms, is_amount, amounts), dtype=np.float64),
        sample=take_floats(document, "sample", kept),
        weights=weights if listed else np.ones(kept),
        seconds=float(take(document, "seconds", is_amount, "a number, at least 0")),
        sampling=sampling,
        weight=_estimate(document, "weight"),
        deviation=_estimate(document, "deviation"),
        failure=_estimate(document, "failure"),
        histogram=_histogram(document),
        worst=float(take(document, "worst", is_amount, "a number, at least 0")),
    )


def _estimate(document: dict[str, Any], key: str) -> Estimate:
    words = "a number and its standard error"
    value, error = take_list(document, key, 2, lambda x: x is None or is_amount(x), words)
    return Estimate(*(math.nan if x is None else float(x) for x in (value, error)))


def _histogram(document: dict[str, Any]) -> Floats:
    def is_bin(one: Any) -> bool:
        whole = isinstance(one, list) and len(one) == 3 and type(one[0]) is int
        return whole and 0 <= one[0] < BINS and all(map(is_amount, one[1:]))

    histogram = np.zeros((2, BINS))
    for b, *sums in take_list(document, "histogram", None, is_bin, "bins with two sums each"):
        histogram[:, b] = sums
    return histogram


def _is_positive(value: Any) -> bool:
    return is_amount(value) and value > 0


def write_rows(
    rows: list[dict[str, Any]], path: str | os.PathLike[str], more: tuple[str, ...] = ()
) -> None:
    """Write rows from `SimulationResult.rows`, with any extra columns in `more`, to a CSV file."""
    with replacing(path) as file:
        writer = csv.DictWriter(file, (*_COLUMNS, *more), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def with_half_width(mean: float, half_width: float) -> tuple[str, str]:
    """Format a number and its error bar with a sensible number of decimals."""
    digits = _digits(half_width)
    return f"{mean:.{digits}f}", f"± {half_width:.{digits}f}" if half_width == half_width else ""


def _worth(runs: float) -> str:
    """Round a number of runs to two digits, which is more than is known about it."""
    return f"{float(f'{runs:.1e}'):,.0f}" if math.isfinite(runs) else "any number of"


def _digits(half_width: float) -> int:
    """Return the number of decimals that shows two digits of an error bar."""
    if not half_width > 0 or not np.isfinite(half_width):
        return 2
    return int(min(9, max(0, 1 - np.floor(np.log10(half_width)))))
