"""What a live bandit knows about its arms, and what it would play next: as a table or a figure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _docstrings
from .._text import html_table, table
from .._types import Counts, Flags, Floats
from ..inference.evidence import Evidence
from ..policies import Policy
from ..policies._rules import ChoiceRule, IndexRule, SamplingRule
from .decision import State
from .names import Arm
from .rules import Rules
from .tree import Records

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure


_HIGHEST_INDEX = 1e200  # beyond all rewards: what is above stands for "first"
_MOST_ROWS = 30  # with more arms, tables and figures show those with the most traffic

_COLUMNS = ("arm", "pulls", "open", "mean", "low", "high", "index", "share", "retired")


@dataclass(frozen=True, eq=False)
class Summary:
    """What `Bandit.summary` returns.

    Attributes
    ----------
    arms : list
        Names, in order, retired arms included.
    pulls, open : ndarray
        Rewards observed, and asks still open.
    mean : ndarray
        Mean reward; nan where none was observed.
    low, high : ndarray
        Confidence interval for the arm's true mean, valid however often you look; infinite if there
        is none.
    index : ndarray
        What an index policy compares; nan for other policies, retired arms, and arms without
        a reward; infinite for an arm that comes before all that have an index.
    share : ndarray
        Share of all pulls and open asks that went to the arm.
    retired : ndarray of bool
        Whether the arm is retired.
    level : float
        Level of the confidence intervals.
    simultaneous : bool
        Whether the intervals of all arms hold together with this level, or each by itself.
    assumption : str
        What the intervals assume of rewards.
    policy : str
        The policy's label.
    round, horizon : int
        The next round, and the horizon.
    open_horizon : bool
        Whether the horizon grows whenever it is reached.
    sigma : float or None
        What is known about the rewards; if None, intervals are for normal rewards.
    minimize : bool
        Rewards are losses.
    next_arm : str or int or None
        What the next `ask` returns.
    why : str
        The reason.

    Examples
    --------
    >>> import ocucb
    >>> bandit = ocucb.Bandit(["red", "green"], "ucb", horizon=100, bounds=(0, 1), rng=1)
    >>> bandit.tell(["red", "green"], [0.2, 0.7])
    >>> summary = bandit.summary()
    >>> summary.next_arm, summary.mean
    ('green', array([0.2, 0.7]))
    """

    arms: list[Arm]
    pulls: Counts
    open: Counts
    mean: Floats
    low: Floats
    high: Floats
    index: Floats
    share: Floats
    retired: Flags
    level: float
    simultaneous: bool
    assumption: str
    policy: str
    round: int
    horizon: int
    open_horizon: bool
    sigma: float | None
    minimize: bool
    next_arm: Arm | None
    why: str

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each arm.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit("ab", "ucb", horizon=100, sigma=1)
        >>> [row["arm"] for row in bandit.summary().rows()]
        ['a', 'b']
        """
        columns = (self.arms, *(getattr(self, name).tolist() for name in _COLUMNS[1:]))
        return [dict(zip(_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]

    @property
    def next(self) -> str:
        """What would be played next, and why: one sentence."""
        more = " or more" if self.open_horizon else ""
        place = f"round {self.round:,} of {self.horizon:,}{more}"
        if self.next_arm is None:
            return f"{place}: {self.policy} cannot choose, because {self.why}."
        return f"{place}: {self.policy} plays {self.next_arm!r}, because {self.why}."

    def shown(self) -> list[int]:
        """Return the positions of the arms that tables and figures show, in order."""
        busiest = np.argsort(-self.share, kind="stable")[:_MOST_ROWS]
        return sorted(busiest.tolist())

    def _cells(self) -> list[tuple[str, ...]]:
        """Return the table as text: a header, and a row for each arm that is shown."""
        digits = digits_of(self.high - self.low)
        level = f"{100 * self.level:g}% interval ({'all' if self.simultaneous else 'each'})"
        rows: list[tuple[str, ...]] = [("arm", "pulls", "open", "mean", level, "index", "share")]
        for i in self.shown():
            name = f"{self.arms[i]} (retired)" if self.retired[i] else f"{self.arms[i]}"
            numbers = (self.mean[i], self.low[i], self.high[i], self.index[i])
            mean, low, high, index = (number_text(number, digits) for number in numbers)
            both = f"{low}–{high}" if np.isfinite(self.high[i] - self.low[i]) else ""
            share = f"{100 * self.share[i]:.1f}%"
            rows.append((name, f"{self.pulls[i]:,}", f"{self.open[i]:,}", mean, both, index, share))
        return rows

    def _notes(self) -> list[str]:
        """Return what is said below the table."""
        hidden = len(self.arms) - len(self.shown())
        notes = [f"and {hidden:,} arms with less traffic"] if hidden else []
        if self.sigma is None:
            notes.append("sigma is unknown: intervals hold for normal rewards")
        return [*notes, self.next]

    def table(self) -> str:
        """Return a line for each arm (of many: the 30 with the most traffic) and the next play.

        >>> import ocucb
        >>> bandit = ocucb.Bandit("ab", "ucb", horizon=100, sigma=1)
        >>> print(bandit.summary().table().splitlines()[-1])
        round 1 of 100: UCB plays 'a', because it has not been played yet.
        """
        text = table(self._cells(), left=(0, 4))
        return "\n".join([text, *self._notes()])

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return html_table(self._cells(), self._notes())

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, ax: matplotlib.axes.Axes | None = None,
        xscale: str | None = None, yscale: str | None = None,
        labels: Sequence[str] | Mapping[str, str] | None = None, title: str | None = None,
    ) -> matplotlib.figure.Figure:  # fmt: skip
        """Plot means, intervals, indices and the share of traffic of each arm.

        On the axes that are given, the shares are left out. Labels are those of the arms.

        Examples
        --------
        >>> import ocucb
        >>> figure = ocucb.Bandit("ab", "ucb", horizon=100, sigma=1).summary().plot()
        """
        from ..figures import Look, written
        from .drawing import picture

        return written(picture(self, Look(ax, xscale, yscale, labels, title)), path)


_docstrings.complete([Summary.plot], _docstrings.PLOT)


def evidence_of(rules: Rules, arms: Records) -> Evidence:
    """Return what the rewards of the arms say, losses as losses."""
    observed = arms["observed"].copy()
    mean: Floats = np.full(arms.size, np.nan)
    np.divide(arms["sum"], observed, out=mean, where=observed > 0)
    if rules.minimize:
        mean = rules.zero - mean
    return Evidence(observed, mean, arms["squares"].copy(), rules.bounds, rules.sigma)


def summarize(
    names: list[Arm],
    rules: Rules,
    state: State,
    open_horizon: bool,
    chosen: int,
    level: float,
    simultaneous: bool,
) -> Summary:
    """Return the summary of a state that was just rebuilt, in which `ask` returns `chosen`."""
    arms, index, policy = state.arms, state.evaluated.copy(), rules.policy
    observed, opened, active = arms["observed"], arms["open"], arms["active"]
    evidence = evidence_of(rules, arms)
    low, high = evidence.intervals(level, arms.size if simultaneous else 1)
    index[(observed == 0) | ~active | (not isinstance(policy.family.rule, IndexRule))] = np.nan
    index[index > _HIGHEST_INDEX] = np.inf
    if rules.minimize:
        index = rules.zero - index
    pulls = observed + opened
    return Summary(
        arms=names,
        pulls=observed.astype(np.int64),
        open=opened.astype(np.int64),
        mean=evidence.mean,
        low=low,
        high=high,
        index=index,
        share=pulls / max(1.0, pulls.sum()),
        retired=~active,
        level=level,
        simultaneous=simultaneous,
        assumption=evidence.assumption,
        policy=policy.label,
        round=int(state.clock["rounds"][0]) + 1,
        horizon=int(state.horizon),
        open_horizon=open_horizon,
        sigma=rules.sigma,
        minimize=rules.minimize,
        next_arm=names[chosen] if chosen >= 0 else None,
        why=_explain(policy, state, chosen, rules.minimize),
    )


def _explain(policy: Policy, state: State, chosen: int, minimize: bool) -> str:
    """Return why the policy plays the arm that it chose, as the end of a sentence."""
    if chosen < 0:
        return "its formula fails or returns NaN"
    arm, best = state.arms[chosen], "smallest" if minimize else "largest"
    if arm["observed"] + arm["open"] == 0:
        return "it has not been played yet"
    if arm["observed"] == 0:
        return "no arm has a reward yet and it has the fewest open asks"
    if isinstance(policy.family.rule, SamplingRule):
        return f"its random sample is the {best}"
    if isinstance(policy.family.rule, ChoiceRule):
        return f"that is its rule ({policy.family.formula})"
    ties = int((state.evaluated == state.evaluated[chosen]).sum())
    if ties > 1:
        return f"its index is one of the {ties:,} {best}, and ties are broken at random"
    return f"its index is the {best}"


def digits_of(widths: Floats) -> int:
    """Return how many decimals show the narrowest interval to two digits."""
    known = widths[widths > 0]
    if not known.size:
        return 3
    return int(min(9, max(3, 1 - np.floor(np.log10(known.min())))))


def number_text(value: float, digits: int) -> str:
    if value != value:
        return ""
    return f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.4g}"
