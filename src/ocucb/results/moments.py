"""What a block of runs is reduced to, and how blocks are merged.

Each statistic is declared once, as a field of `Moments`: its shape in a store, how it is computed
from runs, and how those of two blocks are merged. What is averaged at the horizon, with a standard
error, is an entry of `TERMS`. After any change, raise `FORMAT`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from .._types import Counts, Floats
from ..engine import LUCK, Outcome
from ..importance import MOST_WEIGHT
from . import control_variates
from .control_variates import FEWEST_FITTED, Curve

FORMAT = 8  # of stores, which hold moments
SAMPLE_SIZE = 65_536  # runs whose individual regrets are kept, for quantiles
BINS_PER_OCTAVE = 32
BINS = 30 * BINS_PER_OCTAVE  # down to 1e-9 of the worst regret
# What was not seen counts as this many runs, as a standard error: an event with an expectation of
# 3 occurrences is missed with probability 5%, and k ± 2 sqrt(k + 1.5^2) covers Poisson means.
UNSEEN = 1.5
NORMAL_95 = 1.959963984540054  # standard errors to either side of a textbook interval
SKEWED = 4.0  # the same where contributions differ in size: weights, squares


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


class Runs:
    """A block of runs, and what its statistics are computed from.

    `curve` has the weighted regret of each run and its control variates at each checkpoint, and
    `terms` the weighted `TERMS`: both as deviations from their means.
    """

    def __init__(
        self,
        outcome: Outcome,
        weights: Floats,
        gaps: Floats,
        first: int,
        largest_gap: float,
        spread: Floats | None = None,
    ) -> None:
        self.weights, self.pulls = weights, outcome.pulls
        self.pull_centres: Floats = np.rint(outcome.pulls.mean(axis=0))
        self.pull_powers = _pull_powers(outcome.pulls - self.pull_centres, weights)
        self.covered = _covered(outcome, weights, spread)
        self.luck = np.zeros((len(weights), len(LUCK)))
        self.luck[:, : outcome.luck.shape[2]] = outcome.luck[:, -1]
        self.kept = slice(max(0, SAMPLE_SIZE - first))
        self.final = outcome.regret[:, -1]
        self.centre = float(self.final.mean())
        self.excess = (self.final - self.centre) / _unit(self.centre)
        self.horizon = max(1.0, float(outcome.pulls[0].sum()))
        self.advice = outcome.advice.T
        self.largest_gap = largest_gap if largest_gap > 0.0 else 1.0
        self.best_pulls = np.where(gaps == 0.0, outcome.pulls, 0).sum(axis=1)
        self.bins = _bin_numbers(self.final, largest_gap * self.horizon)
        self.curve_means, self.curve_products = _curve_terms(outcome, weights)
        played = [
            weights[:, None] * outcome.optimal,
            weights[:, None] * np.ones(outcome.regret.shape),
        ]
        self.optimal_means = np.stack([part.mean(axis=0) for part in played], axis=1)
        apart = [part - part.mean(axis=0) for part in played]
        self.optimal_products = np.array([[(a * b).sum(axis=0) for b in apart] for a in apart]).T
        terms = weights * np.stack([formula(self) for formula in TERMS.values()])
        self.term_means = terms.mean(axis=1)
        self.terms = terms - self.term_means[:, None]


def _curve_terms(outcome: Outcome, weights: Floats) -> tuple[Floats, Floats]:
    """Return means and summed products of deviations, at each checkpoint, of what is averaged.

    That is the regret and its control variates, see `control_variates`. Sums rather than matrix
    products, whose last bits depend on threads and alignment.
    """
    checkpoints = outcome.regret.shape[1]
    shape = (checkpoints, control_variates.TERMS, control_variates.TERMS)
    means, products = np.zeros(shape[:2]), np.zeros(shape)
    values = [outcome.regret, np.ones((1, 1)), *np.moveaxis(outcome.luck, 2, 0)]
    terms = [weights[:, None] * value for value in values]
    for i, term in enumerate(terms):
        means[:, i] = term.mean(axis=0)
        term -= means[0 if term.shape[1] == 1 else slice(None), i]
        for j, other in enumerate(terms[: i + 1]):
            products[:, i, j] = products[:, j, i] = (term * other).sum(axis=0)
    return means, control_variates.packed(products)


def _pull_powers(away: Floats, weights: Floats) -> Floats:
    """Return sums of w^j d^k for each arm, d the pulls minus the centre; j is 1, 2, k 0 to 4."""
    powers = away[:, :, None] ** np.arange(5)
    return np.stack([(powers * weights[:, None, None] ** j).sum(axis=0) for j in (1, 2)], axis=1)


def _moved(powers: Floats, by: Floats) -> Floats:
    """Return such sums with centres that are higher by `by`."""
    moved = np.zeros(powers.shape)
    for k in range(5):
        for i in range(k + 1):
            moved[:, :, k] += math.comb(k, i) * (-by[:, None]) ** (k - i) * powers[:, :, i]
    return moved


def _covered(outcome: Outcome, weights: Floats, spread: Floats | None) -> Floats:
    """Return sums of w^j for each arm over runs that played it, and over those that cover it.

    These are runs in which its mean lies within 1.96 standard errors of the mean of its rewards,
    whose deviation is known. Skip-ahead may leave out the very last reward of a run.
    """
    if spread is None:
        return np.zeros((outcome.pulls.shape[1], 2, 2))
    played = outcome.pulls > 0
    held = played & (np.abs(outcome.arm_noise) <= NORMAL_95 * spread * np.sqrt(outcome.pulls))
    power = np.stack([weights, weights**2])
    sums = [(power[:, :, None] * which).sum(axis=1).T for which in (played, held)]
    return np.stack(sums, axis=2)


# What is averaged over runs at the horizon, times their weights. The excess is the regret minus
# `Moments.centre`, in units of `Moments.unit`. A run fails if the best arms get less than half of
# its rounds. Of the arm that it recommends (`engine.ADVICE`), the gap is a share of the largest,
# and the rounds until it stops are one of the horizon. So are regret and rounds since a change.
TERMS: dict[str, Callable[[Runs], Any]] = {
    "weight": lambda runs: np.ones(runs.final.size),
    "excess": lambda runs: runs.excess,
    "excess squared": lambda runs: runs.excess**2,
    "failure": lambda runs: 2 * runs.best_pulls < runs.pulls.sum(axis=1),
    "wrong": lambda runs: runs.advice[0],
    "gap": lambda runs: runs.advice[1] / runs.largest_gap,
    "stopped": lambda runs: runs.advice[2] < runs.horizon,
    "rounds": lambda runs: runs.advice[2] / runs.horizon,
    "since": lambda runs: runs.advice[3] / runs.largest_gap / runs.horizon,
    "recovery": lambda runs: runs.advice[4] / runs.horizon,
}
_ROW = {name: row for row, name in enumerate(TERMS)}


_Merge = Callable[["Moments", "Moments", str], Any]  # the earlier block, the later, the statistic


def _jump(earlier: Moments, later: Moments, name: str) -> Any:
    return getattr(later, name) - getattr(earlier, name)


def _averaged(earlier: Moments, later: Moments, name: str) -> Any:
    share = later.runs / (earlier.runs + later.runs)
    return getattr(earlier, name) + share * _jump(earlier, later, name)


def _added(earlier: Moments, later: Moments, name: str) -> Any:
    return getattr(earlier, name) + getattr(later, name)


def _appended(earlier: Moments, later: Moments, name: str) -> Any:
    """Keep the first `SAMPLE_SIZE`."""
    known = getattr(earlier, name)
    room = SAMPLE_SIZE - len(known)
    return np.concatenate([known, getattr(later, name)[:room]]) if room > 0 else known


def _earlier(earlier: Moments, later: Moments, name: str) -> Any:
    return getattr(earlier, name)


def _recentred(earlier: Moments, later: Moments, name: str) -> Any:
    by = earlier.pull_centres - later.pull_centres
    return getattr(earlier, name) + _moved(getattr(later, name), by)


def _products(means: str, packed: bool = False) -> _Merge:
    """Add summed products of deviations from means, of which there may be several rows.

    See Chan, Golub and LeVeque (1979).
    """

    def merge(earlier: Moments, later: Moments, name: str) -> Any:
        jump = _jump(earlier, later, means)
        jumps = jump[..., :, None] * jump[..., None, :]
        factor = later.runs / (earlier.runs + later.runs) * earlier.runs
        jumps = control_variates.packed(jumps) if packed else jumps
        return _added(earlier, later, name) + jumps * factor

    return merge


def _kept(of: Callable[[Runs], Any], merge: _Merge, *shape: int | str) -> dict[str, Any]:
    """Declare how a statistic is computed and merged, and its sizes or their names."""
    return {"of": of, "merge": merge, "shape": shape}


@dataclass(frozen=True)
class Moments:
    """What is kept of a block of runs, or of many blocks.

    Blocks are merged in the order of the runs, so the result is the same to the last bit no matter
    how they were computed. In what follows, w is the weight of a run (1 if it is plain).
    """

    runs: int
    # at each checkpoint, the regret and its control variates times w: means, summed products
    curve_means: Floats = field(
        metadata=_kept(lambda r: r.curve_means, _averaged, "checkpoints", control_variates.TERMS)
    )
    curve_products: Floats = field(
        metadata=_kept(
            lambda r: r.curve_products,
            _products("curve_means", packed=True),
            *("checkpoints", control_variates.PAIRS),
        )
    )
    # at each checkpoint, whether a best arm was played in that round, and 1, both times w
    optimal_means: Floats = field(
        metadata=_kept(lambda r: r.optimal_means, _averaged, "checkpoints", 2)
    )
    optimal_products: Floats = field(
        metadata=_kept(
            lambda r: r.optimal_products, _products("optimal_means"), *("checkpoints", 2, 2)
        )
    )
    # mean of w times the pulls of each arm, and a number close to the mean final regret
    pulls: Floats = field(
        metadata=_kept(lambda r: (r.pulls * r.weights[:, None]).mean(axis=0), _averaged, "arms")
    )
    centre: float = field(metadata=_kept(lambda r: r.centre, _earlier))
    # of each arm, a number close to its mean pulls, and sums of w^j d^k, d the pulls minus that
    pull_centres: Floats = field(metadata=_kept(lambda r: r.pull_centres, _earlier, "arms"))
    pull_powers: Floats = field(
        metadata=_kept(lambda r: r.pull_powers, _recentred, *("arms", 2, 5))
    )
    # of each arm, sums of w^j over runs that played it, and over those that cover its mean
    covered: Floats = field(metadata=_kept(lambda r: r.covered, _added, *("arms", 2, 2)))
    # means of `TERMS` times w, and their summed products of deviations
    term_means: Floats = field(metadata=_kept(lambda r: r.term_means, _averaged, len(TERMS)))
    term_products: Floats = field(
        metadata=_kept(
            # sums rather than a matrix product, whose last bits depend on threads and alignment
            lambda r: (r.terms[:, None] * r.terms).sum(axis=2),
            _products("term_means"),
            *(len(TERMS), len(TERMS)),
        )
    )
    # sums of w and of w^2 over the runs in each bin of the final regret, see `bin_edges`
    histogram: Floats = field(
        metadata=_kept(
            lambda r: np.stack([np.bincount(r.bins, r.weights**k, BINS) for k in (1, 2)]),
            _added,
            *(2, BINS),
        )
    )
    # of the first `SAMPLE_SIZE` runs: final regrets, weights, luck
    sample: Floats = field(metadata=_kept(lambda r: r.final[r.kept].copy(), _appended, "kept"))
    weights: Floats = field(metadata=_kept(lambda r: r.weights[r.kept].copy(), _appended, "kept"))
    luck: Floats = field(
        metadata=_kept(lambda r: r.luck[r.kept].copy(), _appended, "kept", len(LUCK))
    )

    @staticmethod
    def of(
        outcome: Outcome,
        weights: Floats,
        gaps: Floats,
        first: int = 0,
        largest_gap: float | None = None,
        spread: Floats | None = None,
    ) -> Moments:
        """Reduce the outcome of a kernel, given runs' weights, arms' gaps and the first run.

        Gaps may differ from run to run, a row each; then the largest has to be given. `spread` is
        the standard deviation of one reward of each arm, where it and the arms' noise are known.
        """
        largest = float(gaps.max()) if largest_gap is None else largest_gap
        runs = Runs(outcome, weights, gaps, first, largest, spread)
        values = {each.name: each.metadata["of"](runs) for each in _STATISTICS}
        return Moments(len(weights), **values)

    def merged(self, later: Moments) -> Moments:
        """Return the combined moments."""
        later = later._centred_at(self.centre)
        values = {each.name: each.metadata["merge"](self, later, each.name) for each in _STATISTICS}
        return Moments(self.runs + later.runs, **values)

    def numbers(self) -> Floats:
        """Return all statistics as one array, as stores keep them."""
        return np.concatenate([np.ravel(getattr(self, each.name)) for each in _STATISTICS])

    @staticmethod
    def from_numbers(
        numbers: Floats, first: int, runs: int, checkpoints: int, arms: int
    ) -> Moments | None:
        """Return the moments of a block from their `numbers`; None if these are too few or many."""
        sizes = {"checkpoints": checkpoints, "arms": arms}
        sizes["kept"] = max(0, min(runs, SAMPLE_SIZE - first))
        values: dict[str, Any] = {}
        for each in _STATISTICS:
            shape = [sizes.get(size, size) for size in each.metadata["shape"]]
            part, numbers = np.split(numbers, [math.prod(shape)])
            if part.size != math.prod(shape):
                return None
            values[each.name] = part.reshape(shape) if shape else float(part[0])
        return None if numbers.size else Moments(runs, **values)

    @property
    def unit(self) -> float:
        """What the excess is measured in: 1, unless fourth powers could overflow or vanish."""
        return _unit(self.centre)

    def curve(self, unseen: Floats | float = 0.0, corrected: bool = True) -> Curve:
        """Return the mean regret at each checkpoint, corrected where that is more precise.

        `unseen` is the standard error owing to failures that no run has shown, at each of them.
        """
        runs = np.full(len(self.curve_means), float(self.runs))
        given = runs, self.curve_means, self.curve_products
        if not corrected:
            return Curve(*control_variates.plain(*given), False)
        return control_variates.curve(*given, np.broadcast_to(unseen, runs.shape))

    def _term(self, name: str) -> tuple[float, float]:
        """Return the mean of a term, and the summed squares of its deviations."""
        row = _ROW[name]
        return float(self.term_means[row]), float(self.term_products[row, row])

    def _corrected(self, *names: str) -> tuple[Floats, Floats, int]:
        """Return the means of terms, corrected, and what is left of their products.

        They are corrected for the mean weight, as tails are: luck says little about failures. The
        last is the number of control variates used.
        """
        rows = [_ROW[name] for name in names]
        spread, cross = self.term_products[0, 0], self.term_products[0, rows]
        used = int(spread > 0.0 and self.runs >= FEWEST_FITTED)
        slopes = cross / spread if used else np.zeros(len(rows))
        values = self.term_means[rows] - slopes * (self.term_means[0] - 1.0)
        left = self.term_products[np.ix_(rows, rows)] - slopes[:, None] * cross
        return values, left, used

    def _error(self, squares: float, used: int = 0) -> float:
        if self.runs == 1:
            return math.nan
        return math.sqrt(_not_negative(squares) / (self.runs - 1 - used) / self.runs)

    def estimate(self, name: str) -> Estimate:
        """Return the mean of a term, corrected, as the runs that were seen have it."""
        (value,), products, used = self._corrected(name)
        return Estimate(float(value), self._error(float(products[0, 0]), used))

    @property
    def weight(self) -> Estimate:
        """The mean weight; its expectation is 1."""
        mean, squares = self._term("weight")
        return Estimate(mean, self._error(squares))

    def failure(self, least: float) -> Estimate:
        """Return the probability of a failure, which costs `least` or more; if 0, no run fails."""
        return self._share("failure", least) if least > 0.0 else Estimate(0.0, 0.0)

    def share(self, name: str) -> Estimate:
        """Return the mean of a term between 0 and 1, whatever regret the runs have that make it."""
        return self._share(name, 0.0)

    def skewed(self, name: str) -> Estimate:
        """Return the mean of a term that is not negative, where a few runs with most are missing.

        These are taken to contribute what those that were seen do.
        """
        value, error = self.estimate(name)
        mean, squares = self._term(name)
        typical = squares / self.runs / mean + mean if mean > 0.0 else 0.0
        return Estimate(value, math.hypot(error, SKEWED * typical / self.runs))

    def _share(self, name: str, least: float) -> Estimate:
        value, error = self.estimate(name)
        mean, squares = self._term(name)
        missing = UNSEEN
        if not _plain(self.weights):
            second = squares / self.runs + mean**2
            missing = float(missing_weight(self.sample, self.weights, mean, second, least))
        return Estimate(min(_not_negative(value), 1.0), math.hypot(error, missing / self.runs))

    def optimal(self) -> tuple[Floats, Floats]:
        """Return the probability of playing a best arm in the round of each checkpoint.

        And its standard error, which allows for what was not seen. As with tails, it is corrected
        for the mean weight.
        """
        means, products = self.optimal_means, self.optimal_products
        used = int(not _plain(self.weights) and self.runs >= FEWEST_FITTED)
        spread = products[:, 1, 1]
        slopes = used * np.divide(
            products[:, 0, 1], spread, out=np.zeros(spread.shape), where=spread > 0.0
        )
        values = means[:, 0] - slopes * (means[:, 1] - 1.0)
        left = np.maximum(products[:, 0, 0] - slopes * products[:, 0, 1], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.sqrt(left / (self.runs - 1.0 - used) / self.runs)
        unseen = UNSEEN * float(self.weights.max()) / self.runs
        return np.clip(values, 0.0, 1.0), np.hypot(errors, unseen)

    def deviation(self, worst: float) -> Estimate:
        """Return the standard deviation of the final regret, which is `worst` at most.

        Two things may be missing: more contributions like those that were seen, and, in plain
        runs, one of the worst regret. With tilted ones, what makes the best arm fail was sought,
        and the largest regret of a run that might as well be plain takes its place.
        """
        if self.runs == 1:
            return Estimate(math.nan, math.nan)
        (first, second), products, used = self._corrected("excess", "excess squared")
        variance = float(second - first**2) * self.runs / (self.runs - 1)
        deviation = math.sqrt(_not_negative(variance))
        # the delta method: the variance depends on two means
        slope = np.array([-2.0 * first, 1.0])
        error = self._error(float((slope[:, None] * slope * products).sum()), used)
        mean = self.centre + self.unit * float(first)
        average, squares = self._centred_at(mean)._term("excess squared")
        if average > 0.0:
            typical = squares / self.runs / average + average
            typical *= (_unit(mean) / self.unit) ** 2
            error = math.hypot(error, SKEWED * typical / self.runs)
        seen = error / (2.0 * deviation) if deviation > 0.0 else 0.0
        limit = worst if _plain(self.weights) else farthest(self.sample, self.weights)
        away = (limit - mean) / self.unit
        more = 2.0 * UNSEEN * float(self.weights.max()) * away**2 / self.runs
        unseen = 0.5 * (math.hypot(deviation, math.sqrt(more)) - deviation)
        return Estimate(deviation * self.unit, math.hypot(seen, unseen) * self.unit)

    def pulls_deviation(self) -> tuple[Floats, Floats]:
        """Return the standard deviation of each arm's pulls, and its standard error.

        Sums are divided by the sum of the weights, so the error is that of a ratio.
        """
        if self.runs == 1:
            nothing = np.full(self.pulls.size, math.nan)
            return nothing, nothing
        mean = self.pull_powers[:, 0, 1] / self.pull_powers[:, 0, 0]
        first, second = np.moveaxis(_moved(self.pull_powers, mean), 1, 0)
        variance = first[:, 2] / first[:, 0]
        spread = second[:, 4] - 2.0 * variance * second[:, 2] + variance**2 * second[:, 0]
        error = np.sqrt(np.maximum(spread, 0.0)) / first[:, 0]
        deviation = np.sqrt(np.maximum(variance, 0.0) * self.runs / (self.runs - 1))
        half = np.divide(error, 2.0 * deviation, out=np.zeros(mean.size), where=deviation > 0.0)
        return deviation, half

    def coverage(self) -> tuple[Floats, Floats]:
        """Return how often the textbook interval of each arm holds, and the standard error."""
        (played, held), (squares, of_held) = np.moveaxis(self.covered, (1, 2), (0, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = held / played
            spread = of_held * (1.0 - 2.0 * share) + share**2 * squares
            return share, np.sqrt(np.maximum(spread, 0.0)) / played

    @property
    def kurtosis(self) -> float:
        """Fourth central moment over the squared variance of what is averaged, from `sample`."""
        values = self.weights * self.sample
        if self.curve().corrected:
            slopes = control_variates.coefficients(self.curve_products[-1:])[0]
            known = self.weights[:, None] * np.column_stack([np.ones(values.size), self.luck])
            values = values - (slopes * (known - control_variates.KNOWN)).sum(axis=1)
        squares = ((values - values.mean()) / self.unit) ** 2
        variance = float(squares.mean())
        # at least 1 by Jensen's inequality, despite rounding
        return max(1.0, float((squares**2).mean()) / variance**2) if variance > 0.0 else 1.0

    def _centred_at(self, centre: float) -> Moments:
        """Return the same moments with another centre, and its unit."""
        unit = _unit(centre)
        move, ratio = (self.centre - centre) / unit, self.unit / unit
        weight, excess, squared = (_ROW[name] for name in ("weight", "excess", "excess squared"))
        turn = np.eye(len(TERMS))
        turn[excess, [weight, excess]] = move, ratio
        turn[squared, [weight, excess, squared]] = move**2, 2.0 * move * ratio, ratio**2
        means = (turn * self.term_means).sum(axis=1)
        half = (turn[:, :, None] * self.term_products).sum(axis=1)
        products = (half[:, None, :] * turn).sum(axis=2)
        return replace(self, centre=centre, term_means=means, term_products=products)


_STATISTICS = [each for each in fields(Moments) if each.metadata]


def _plain(weights: Floats) -> bool:
    return bool((weights == 1.0).all())


def farthest(sample: Floats, weights: Floats) -> float:
    """Return the largest regret of a run that is as likely plain as in the mixture, or likelier."""
    return float(sample[weights >= 1.0].max(initial=0.0))


def missing_weight(sample: Floats, weights: Floats, values: Any, squares: Any, x: Any) -> Any:
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
    largest = farthest(sample, weights) if sample.size else math.inf
    ratio = np.divide(largest, x, out=np.full(x.shape, math.inf), where=x > 0.0)
    rarer = np.where(values > 0.0, np.minimum(1.0, ratio**2), 1.0)
    heaviest = float(weights.max()) if weights.size else MOST_WEIGHT
    return np.maximum(SKEWED * typical, UNSEEN * heaviest * rarer)


def _unit(centre: float) -> float:
    """Return 1, or the power of two near a number whose fourth power is out of range."""
    exponent = math.frexp(centre)[1]
    return 1.0 if abs(exponent) <= 200 else math.ldexp(1.0, exponent)


def _not_negative(value: float) -> float:
    """Raise what rounding made negative to 0; nan stays nan, which `max` might turn into 0."""
    return 0.0 if value <= 0.0 else value


def bin_edges(worst: float) -> Floats:
    """Return the edges of the bins of the histogram: the worst regret, then 2% less each time."""
    edges: Floats = worst * 0.5 ** (np.arange(BINS) / BINS_PER_OCTAVE)
    return edges


def _bin_numbers(regret: Floats, worst: float) -> Counts:
    """Return the bin of each regret: bin b holds what lies above edge b + 1, not above edge b."""
    with np.errstate(divide="ignore", invalid="ignore"):
        octaves = np.log2(worst / regret)
    bins = np.floor(BINS_PER_OCTAVE * np.nan_to_num(octaves, nan=math.inf, posinf=1e9))
    numbers: Counts = np.clip(bins, 0, BINS - 1).astype(np.int64)
    return numbers
