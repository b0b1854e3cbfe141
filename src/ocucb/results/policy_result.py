"""The result for one policy: what users read off it, and how it follows from the moments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._text import to_float, to_floats, with_error
from .._types import Counts, Floats
from . import files, moments
from .control_variates import FEWEST_FITTED
from .moments import UNSEEN, Estimate, Moments, bin_edges

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
FORMAT = 7  # of saved results: raise it with any change to a field


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
    prior: bool  # whether a problem was drawn for each run; means are then averages by rank
    largest_gap: float
    failure_cost: float  # the regret of a run that settles on the wrong arm
    stops: bool  # whether the policy has a rule to stop
    change: int  # the last round from which on means are others, or 0

    def unseen(self, runs: int) -> Floats:
        """Return the standard error at each checkpoint owing to failures that no run has shown.

        Mixtures see to it that some tilted runs fail.
        """
        largest = UNSEEN * self.failure_cost / runs if self.sampling == "plain" else 0.0
        return largest * self.checkpoints / self.horizon


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
    optimal, optimal_stderr : ndarray
        The probability of playing a best arm in the very round of each checkpoint ("% optimal
        action"), and its standard error, which allows for what was not seen.
    control_variates : bool
        Whether mean regrets are corrected for the luck of the arms; if so, the errors of plain runs
        allow for failures that none of them has shown.
    pulls : ndarray
        Mean number of pulls of each arm; not corrected for luck. With a prior, of the best arm of
        a run's problem, of the second best and so on; 0 counts where there is no such arm.
    pulls_deviation, pulls_deviation_stderr : ndarray
        The standard deviation of the number of pulls of each arm, from run to run, and its standard
        error; not corrected for luck, nor for what was not seen.
    coverage, coverage_stderr : ndarray
        The probability that an arm's textbook interval at the horizon, its mean reward ± 1.96
        standard deviations of one reward over the root of its pulls, holds its mean: 0.95, were its
        pulls not chosen in view of rewards. nan with a prior, with means that change, and where the
        deviation of rewards is not known.
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
    wrong : Estimate
        The probability of a wrong recommendation: that the arm whose rewards have the largest mean
        at the end (drawn where several have) is not a best one. A policy that has stopped
        recommends the arm that it stopped for. nan where means change with the round.
    simple_regret : Estimate
        The mean gap of the arm that is recommended.
    stopped : Estimate
        The probability that a policy with a rule to stop does so before the horizon; 0 without one.
    stopping_time : Estimate
        The mean number of rounds until then, counting runs that have not stopped with the horizon.
        Its error does not allow for runs that would not have stopped, if none was seen; that of
        `stopped` does.
    change : int
        The last round from which on the problem's means are others; 0 if they do not change, or
        change all the time.
    since_change : Estimate
        The mean regret from that round on; 0 without one.
    recovery : Estimate
        The mean number of rounds, from that one on, until a best arm gets half of the recent ones,
        weighted by a factor of e less every 25 rounds. Runs in which it never does count with all.
    histogram : ndarray
        Sums of weights, and of squared weights, by final regret; read it with `tail`.
    worst : float
        The largest possible regret: the horizon times the largest gap. With a prior, the largest
        among 1,024 problems; `tail` takes a larger regret for this.

    Examples
    --------
    >>> import ocucb
    >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
    >>> ucb = result["ucb"]
    >>> ucb
    <UCB: mean regret 6.6 ± 3.7 after 100 rounds, 10 runs>
    >>> ucb.label, ucb.runs, ucb.horizon
    ('UCB', 10, 100)
    >>> round(float(ucb.pulls.sum()))
    100
    >>> bool(ucb.quantile(0.5) <= ucb.quantile(0.9)), ucb.cvar(0.9).value > ucb.mean_regret
    (True, True)
    >>> value, stderr = ucb.tail(20.0)
    >>> ucb.tail(1e6)  # more than the worst regret
    Estimate(value=0.0, stderr=0.0)
    >>> regrets, probabilities, errors = ucb.tail_curve()
    >>> float(probabilities[0]), float(probabilities[-1])
    (0.0, 1.0)
    >>> ucb.to_dict()["policy"]
    'ucb:constant=2'
    """

    policy: str = field(metadata=files.TEXT)
    label: str = field(metadata=files.TEXT)
    engine: str = field(metadata=files.TEXT)
    horizon: int = field(metadata=files.COUNT)
    runs: int = field(metadata=files.COUNT)
    checkpoints: Counts = field(metadata=files.ROUNDS)
    regret: Floats = field(metadata=files.AT_CHECKPOINTS)
    stderr: Floats = field(metadata=files.ERRORS)
    optimal: Floats = field(metadata=files.AT_CHECKPOINTS)
    optimal_stderr: Floats = field(metadata=files.ERRORS)
    control_variates: bool = field(metadata=files.TRUTH)
    pulls: Floats = field(metadata=files.PER_ARM)
    pulls_deviation: Floats = field(metadata=files.PER_ARM_IF_KNOWN)
    pulls_deviation_stderr: Floats = field(metadata=files.PER_ARM_IF_KNOWN)
    coverage: Floats = field(metadata=files.PER_ARM_IF_KNOWN)
    coverage_stderr: Floats = field(metadata=files.PER_ARM_IF_KNOWN)
    sample: Floats = field(metadata=files.PER_RUN)
    weights: Floats = field(metadata=files.WEIGHTS)
    seconds: float = field(metadata=files.AMOUNT)
    sampling: str = field(metadata=files.SAMPLING)
    weight: Estimate = field(metadata=files.ESTIMATE)
    deviation: Estimate = field(metadata=files.ESTIMATE)
    failure: Estimate = field(metadata=files.ESTIMATE)
    wrong: Estimate = field(metadata=files.ESTIMATE)
    simple_regret: Estimate = field(metadata=files.ESTIMATE)
    stopped: Estimate = field(metadata=files.ESTIMATE)
    stopping_time: Estimate = field(metadata=files.ESTIMATE)
    change: int = field(metadata=files.ROUND)
    since_change: Estimate = field(metadata=files.ESTIMATE)
    recovery: Estimate = field(metadata=files.ESTIMATE)
    histogram: Floats = field(metadata=files.HISTOGRAM)
    worst: float = field(metadata=files.AMOUNT)

    def __repr__(self) -> str:
        mean = " ".join(mean_with_error(self))
        facts = f"after {self.horizon:,} rounds, {self.runs:,} runs"
        return f"<{self.label}: mean regret {mean} {facts}>"

    @property
    def mean_regret(self) -> float:
        """Mean pseudo-regret at the horizon."""
        return float(self.regret[-1])

    @property
    def instability(self) -> Estimate:
        """The largest standard deviation of an arm's number of pulls, and its standard error."""
        arm = int(np.argmax(self.pulls_deviation))
        return Estimate(float(self.pulls_deviation[arm]), float(self.pulls_deviation_stderr[arm]))

    def quantile(self, level: float | Sequence[float]) -> Any:
        """Return quantiles of the final regret, from the first 65,536 runs.

        Parameters
        ----------
        level : float or list of float
            Probabilities, from 0 to 1.
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
        """How many plain runs, averaged as they are, would give the same standard error."""
        if self.sampling == "plain" and not self.control_variates:
            return self.runs
        with np.errstate(divide="ignore", invalid="ignore"):
            return float((np.float64(self.deviation.value) / self.stderr[-1]) ** 2)

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
        """
        x = to_float(x, "x", "between 0 and 1e308")
        if not x >= 0.0:
            raise ValueError(f"x must be a regret, at least 0, got {x}.")
        _, values, errors = self.tail_curve()
        if x >= self.worst:
            return Estimate(0.0, 0.0)
        octaves = math.log2(self.worst / x) if x > 0.0 else math.inf
        nearest = round(min(moments.BINS_PER_OCTAVE * octaves, moments.BINS - 1.0))
        return Estimate(float(values[nearest]), float(errors[nearest]))

    def tail_curve(self) -> tuple[Floats, Floats, Floats]:
        """Return regrets in decreasing order, the probability of exceeding each, and its error.

        Corrected for the mean weight, but not for luck.
        """
        sums, squares = np.cumsum(self.histogram, axis=1) / self.runs
        values = np.concatenate([[0.0], sums[:-1]])
        seconds = np.concatenate([[0.0], squares[:-1]])
        spread = float(squares[-1] - sums[-1] ** 2)  # of the weights
        products = seconds - values * sums[-1]
        slope, used = np.zeros(values.size), 0
        if self.sampling != "plain" and spread > 0.0 and self.runs >= FEWEST_FITTED:
            slope, used = products / spread, 1
        left = seconds - values**2 - slope * products
        errors = np.sqrt(np.maximum(left, 0.0) / max(1, self.runs - 1 - used))
        edges = bin_edges(self.worst)
        if self.sampling == "plain":
            one_more = np.full(edges.size, UNSEEN)
        else:
            one_more = moments.missing_weight(self.sample, self.weights, values, seconds, edges)
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
        """
        level = to_float(level, "level", "between 0 and 1")
        if not 0.0 <= level < 1.0:
            raise ValueError(f"level must be at least 0 and below 1, got {level}.")
        start = float(self.quantile(level))
        excess = self.weights * np.maximum(self.sample - start, 0.0) / (1.0 - level)
        if excess.size == 1:
            return Estimate(start + float(excess[0]), math.nan)
        limit = self.worst
        if self.sampling != "plain":
            limit = moments.farthest(self.sample, self.weights)
        unseen = float(self.weights.max()) * max(0.0, limit - start) / (1.0 - level)
        mean = float(excess.mean())
        typical = float((excess**2).mean()) / mean if mean > 0.0 else 0.0
        error = float(excess.std(ddof=1)) / math.sqrt(excess.size)
        one_more = max(moments.SKEWED * typical, UNSEEN * unseen)
        return Estimate(start + mean, math.hypot(error, one_more / excess.size))

    def to_dict(self) -> dict[str, Any]:
        """Return the result at the horizon as plain numbers: one object in ``--json``."""
        levels = self.quantile(QUANTILES)
        return {
            "policy": self.policy,
            "horizon": self.horizon,
            "runs": self.runs,
            "mean_regret": self.mean_regret,
            "stderr": files.finite(self.stderr[-1]),
            "quantiles": {f"{q:g}": float(x) for q, x in zip(QUANTILES, levels, strict=True)},
            "mean_pulls": self.pulls.tolist(),
            "pulls_deviation": [files.finite(x) for x in self.pulls_deviation],
            "coverage": [files.finite(x) for x in self.coverage],
            "engine": self.engine,
            "seconds": self.seconds,
            "deviation": _pair(self.deviation),
            "failure": _pair(self.failure),
            "wrong": _pair(self.wrong),
            "simple_regret": _pair(self.simple_regret),
            "stopped": _pair(self.stopped),
            "stopping_time": _pair(self.stopping_time),
            "change": self.change,
            "since_change": _pair(self.since_change),
            "recovery": _pair(self.recovery),
            "sampling": self.sampling,
            "control_variates": self.control_variates,
            "effective_runs": files.finite(self.effective_runs),
            "mean_weight": _pair(self.weight),
        }


def _pair(estimate: Estimate) -> dict[str, float | None]:
    return {name: files.finite(value) for name, value in estimate._asdict().items()}


def _times(share: Estimate, whole: float) -> Estimate:
    return Estimate(share.value * whole, share.stderr * whole)


def policy_result(
    played: Description, merged: Moments, seconds: float, control_variates: bool = True
) -> PolicyResult:
    """Turn the merged blocks of a policy into its result, with or without control variates."""
    curve = merged.curve(played.unseen(merged.runs), control_variates)
    gaps = np.max(played.means) - played.means
    worst = played.horizon * played.largest_gap
    least = float(gaps[gaps > 0.0].min(initial=np.max(gaps)))
    said = ("policy", "label", "engine", "horizon", "checkpoints", "sampling", "change")
    never = Estimate(0.0, 0.0)
    # where means change, nobody can say which arm should have been recommended
    tied = never if played.largest_gap == 0.0 else Estimate(math.nan, math.nan)
    optimal, optimal_stderr = merged.optimal()
    pulls_deviation, pulls_deviation_stderr = merged.pulls_deviation()
    coverage, coverage_stderr = merged.coverage()
    kept = ("runs", "sample", "weights", "weight", "histogram")
    return PolicyResult(
        **{name: getattr(played, name) for name in said},
        **{name: getattr(merged, name) for name in kept},
        regret=curve.regret,
        stderr=curve.stderr,
        optimal=optimal,
        optimal_stderr=optimal_stderr,
        control_variates=curve.corrected,
        pulls=merged.pulls / merged.weight.value,  # so that they add up to the horizon
        pulls_deviation=pulls_deviation,
        pulls_deviation_stderr=pulls_deviation_stderr,
        coverage=coverage,
        coverage_stderr=coverage_stderr,
        seconds=seconds,
        deviation=merged.deviation(worst),
        failure=merged.failure(0.5 * played.horizon * least),
        wrong=merged.share("wrong") if least > 0.0 else tied,
        simple_regret=_times(merged.share("gap"), played.largest_gap) if least > 0.0 else tied,
        stopped=merged.share("stopped") if played.stops else never,
        stopping_time=_times(merged.skewed("rounds"), played.horizon)
        if played.stops
        else Estimate(float(played.horizon), 0.0),
        since_change=_times(merged.skewed("since"), worst) if played.change else never,
        recovery=_times(merged.skewed("recovery"), played.horizon) if played.change else never,
        worst=worst,
    )


def mean_with_error(result: PolicyResult) -> tuple[str, str]:
    """Write the mean regret at the horizon and two standard errors."""
    return with_error(result.mean_regret, 2.0 * float(result.stderr[-1]))
