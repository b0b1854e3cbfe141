"""The entry point: how many visitors a wanted certainty takes.

Visitors are rounds. At each number of them the policy is simulated as often as it takes for the
precision; where the probability of a mistake passes the wanted one, more often: there a Newton step
on its normal quantile, which is nearly linear in log n, leads to the number of visitors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from scipy import stats

from .._text import shown, to_count, to_float
from .._version import __version__
from ..engine import choose_engine
from ..league.recommended import recommended
from ..policies import Policy, PolicyFamily, to_policies
from ..problems import Problem, bernoulli
from ..random import to_seed
from ..results import Estimate
from ..simulation import simulate
from .classical import equal_shares, visitors
from .result import PlanPoint, PlanResult

PRECISION = 0.02
_FIRST = 2048  # runs
_MOST = 1 << 20
_AFFORDABLE = 5e9  # nominal nanoseconds for the runs of a point
_DOWN, _UP = 3, 6  # how often visitors are halved, and doubled, from those of equal shares
_STEPS = (3.0, 1.0)  # Newton's: the error that each may have, in units of the wanted one


def plan(
    problem: Problem | None = None,
    *,
    arms: int | None = None,
    rate: float | None = None,
    lift: float | None = None,
    policy: Policy | PolicyFamily | str = "recommend",
    certainty: float = 0.95,
    horizon: Iterable[int] | None = None,
    precision: float = PRECISION,
    rng: Any = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> PlanResult:
    """Measure how many visitors it takes to find the best arm, and what they cost.

    Beside the policy stands the classical test, in which all arms get equal shares: exactly on
    Gaussian rewards and on clicks, and by the central limit theorem on others.

    Parameters
    ----------
    problem : Problem, optional
        What is to be told apart: ``bernoulli([0.03, 0.036])``, ``gap(K=3, gap=0.2)``. One arm must
        be the best.
    arms, rate, lift : int, float, float, optional
        In place of a problem: clicks at the base rate for all arms but one, whose rate is higher by
        the smallest lift worth finding, a share of it: 0.1 is 10%.
    policy : policy, or its name
        Who plays; "recommend" takes one of those that the league advises for such rewards.
    certainty : float
        The wanted probability that the arm recommended is the best.
    horizon : list of int, optional
        Numbers of visitors to look at; by default powers of two times those of the classical test,
        until the policy is certain enough.
    precision : float
        Two standard errors: of probabilities, of regret as a share of itself, and of the number of
        visitors as a share of itself. Slow policies may stay above it; errors say so.
    rng : int, numpy Generator or None
        Seed; None takes a new one, which the result reports.
    workers : int, optional
        Threads; all cores by default.
    progress : bool, optional
        Show progress bars on standard error; by default if that is a terminal.

    Returns
    -------
    PlanResult
        With `table`, `plot` and `to_dict`.

    Examples
    --------
    >>> import ocucb
    >>> plan = ocucb.plan(arms=2, rate=0.3, lift=0.5, certainty=0.9, rng=1)
    >>> plan.label, plan.equal_visitors
    ('KL-OCUCB', 70)
    >>> plan.visitors.value > plan.equal_visitors
    True
    """
    asked = _problem(problem, arms, rate, lift)
    if int((asked.gaps == 0.0).sum()) != 1 or asked.arms == 1:
        raise ValueError("one arm must be better than all others; then there is one to find.")
    wanted = to_float(certainty, "certainty", "between 0 and 1")
    if not 1.0 / asked.arms < wanted < 1.0:
        raise ValueError(
            f"certainty must lie between {1.0 / asked.arms:.2g}, which guessing has, and 1, got "
            f"{shown(certainty)}."
        )
    share = to_float(precision, "precision", "between 0 and 1")
    if not 0.0 < share < 1.0:
        raise ValueError(f"precision must lie between 0 and 1, got {shown(precision)}.")
    who = recommended(asked) if policy == "recommend" else _one(policy)
    seed = to_seed(rng)
    counts = None
    if horizon is not None:
        counts = sorted({to_count(n, "horizon", asked.arms) for n in horizon})
        if not counts:
            raise ValueError("horizon must name at least one number of visitors, got none.")
    how = {"rng": seed, "workers": workers, "progress": progress}
    found = _Plan(who, asked, 1.0 - wanted, share, how)
    classical = visitors(asked, found.wrong)
    found.look(classical, counts)
    count, regret = found.crossing()
    return PlanResult(
        policy=who.name,
        label=who.label,
        problem=asked.name,
        certainty=wanted,
        points=found.points,
        visitors=count,
        regret=regret,
        equal_visitors=classical,
        equal_regret=equal_shares(asked, classical).regret,
        seed=seed,
        version=__version__,
    )


def _problem(
    problem: Problem | None, arms: int | None, rate: float | None, lift: float | None
) -> Problem:
    given = (arms, rate, lift)
    if problem is not None:
        if given != (None, None, None):
            raise ValueError("arms, rate and lift do not go with a problem, which says it all.")
        if not isinstance(problem, Problem):
            raise TypeError(f"problem must be one such as gap(), got {shown(problem)}.")
        return problem
    if None in given:
        raise ValueError("give a problem, or all of arms, rate and lift.")
    K, base = to_count(arms, "arms", 2), to_float(rate, "rate", "between 0 and 1")
    share = to_float(lift, "lift", "above 0")
    if not 0.0 < base < 1.0:
        raise ValueError(f"rate must lie between 0 and 1, got {shown(rate)}.")
    if not 0.0 < base * share <= 1.0 - base:
        raise ValueError(
            f"lift must be above 0 and at most {(1.0 - base) / base:.3g}, where the rate is 1, got "
            f"{shown(lift)}."
        )
    return bernoulli([base * (1.0 + share), *[base] * (K - 1)])


def _one(policy: Any) -> Policy:
    players = to_policies(policy)
    if len(players) != 1:
        raise ValueError(f"a plan is for one policy, got {len(players)}.")
    return players[0]


class _Plan:
    """What has been measured of a policy."""

    def __init__(
        self, who: Policy, problem: Problem, wrong: float, share: float, how: dict[str, Any]
    ) -> None:
        self.wrong = wrong
        self._who, self._problem, self._share, self._how = who, problem, share, how
        self._found: dict[int, PlanPoint] = {}

    @property
    def points(self) -> list[PlanPoint]:
        """The points, by number of visitors."""
        return [self._found[n] for n in sorted(self._found)]

    def look(self, classical: int, counts: list[int] | None) -> None:
        """Measure at some numbers of visitors, or until the policy makes few enough mistakes."""
        for n in counts or ():
            self._measure(n, self._short)
        if counts is None:
            for power in range(-_DOWN, _UP + 1):
                n = max(self._problem.arms, round(classical * 2.0**power))
                point = self._measure(n, self._short)
                if power > 0 and point.wrong.value < 0.5 * self.wrong:
                    break

    def crossing(self) -> tuple[Estimate | None, Estimate | None]:
        """Return the visitors after which mistakes are rare enough, and the regret by then."""
        pair = self._bracket()
        if pair is None:
            return None, None
        low, high = pair
        apart = math.log(high.horizon / low.horizon)
        slope = (_quantile(high) - _quantile(low)) / apart
        goal = float(stats.norm.isf(self.wrong))
        density = float(stats.norm.pdf(goal))
        point, step = low, (goal - _quantile(low)) / slope
        for rough in _STEPS:
            # standard error of the probability
            allowed = 0.5 * rough * self._share * density * slope

            def short(point: PlanPoint, allowed: float = allowed) -> float:
                return max(self._short(point), (point.wrong.stderr / allowed) ** 2)

            point = self._measure(round(point.horizon * math.exp(step)), short)
            step = (goal - _quantile(point)) / slope
        count = point.horizon * math.exp(step)
        error = count * point.wrong.stderr / (density * slope)
        growth = math.log(high.regret.value / low.regret.value) / apart
        factor = math.exp(step * growth)
        regret = Estimate(point.regret.value * factor, point.regret.stderr * factor)
        return Estimate(count, error), regret

    def _bracket(self) -> tuple[PlanPoint, PlanPoint] | None:
        """Return the last point with too many mistakes, and the next."""
        for low, high in reversed(list(itertools.pairwise(self.points))):
            if high.wrong.value <= self.wrong < low.wrong.value:
                return low, high
        return None

    def _short(self, point: PlanPoint) -> float:
        """Return how many times the runs it takes for the precision."""
        goal = 0.5 * self._share
        regret = goal * point.regret.value
        mean = (point.regret.stderr / regret) ** 2 if regret > 0.0 else 0.0
        return max(mean, (point.wrong.stderr / goal) ** 2)

    def _measure(self, n: int, short: Callable[[PlanPoint], float]) -> PlanPoint:
        """Measure at a number of visitors, with more runs as long as they fall short."""
        engine = choose_engine(self._who, self._problem, n, "auto")
        most = int(_AFFORDABLE / engine.cost(self._who, self._problem, n))
        runs = min(_FIRST, max(256, most))
        known = self._found.get(n)
        while True:
            point = self._played(n, runs) if known is None else known
            known = None
            more = min(_MOST, max(most, 256), math.ceil(1.1 * short(point) * point.runs))
            if short(point) <= 1.0 or more <= point.runs:
                self._found[n] = point
                return point
            runs = more

    def _played(self, n: int, runs: int) -> PlanPoint:
        result = simulate(self._who, self._problem, n, runs, checkpoints=[n], **self._how)[0]
        regret = Estimate(result.mean_regret, float(result.stderr[-1]))
        rest = result.wrong, result.simple_regret, result.stopped, result.stopping_time
        return PlanPoint(n, result.runs, regret, *rest, *equal_shares(self._problem, n))


def _quantile(point: PlanPoint) -> float:
    """Return the normal quantile of a probability, away from 0 and 1."""
    least = 0.5 / point.runs
    return float(stats.norm.isf(min(1.0 - least, max(least, point.wrong.value))))
