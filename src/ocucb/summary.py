"""What a live bandit knows: by arm, as a table, a notebook's table or a picture, and what is next.

The confidence interval of an arm with T rewards is

    mean ± sigma * sqrt((T + r) * log((T + r) / (r * delta^2))) / T,  r = 10,

for level 1 - delta: a normal mixture bound (H. Robbins 1970, Statistical methods related to the law
of the iterated logarithm, Annals of Mathematical Statistics 41(5)). It holds for all T at once, so
it remains true when the policy decides by the rewards how often to play, and whenever one looks.
It is made for each arm by itself, and for sigma-subgaussian rewards.
"""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .engine.online import ACTIVE, OPEN, TOLD
from .policies import Policy

if TYPE_CHECKING:
    import matplotlib.figure

Floats = npt.NDArray[np.float64]

_MIXTURE = 10.0  # r: tightest for about 100 rewards
_MOST_ROWS = 30  # a table or a picture of more arms shows those with the most traffic

_COLUMNS = ("arm", "pulls", "open", "mean", "low", "high", "index", "share", "retired")


def interval(mean: Floats, pulls: Floats, sigma: float, level: float) -> tuple[Floats, Floats]:
    """Return both ends of the arms' confidence intervals; nan where there is no reward yet.

    Examples
    --------
    >>> low, high = interval(np.array([0.5]), np.array([100.0]), 0.5, 0.95)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.348, 0.652)
    """
    T = np.where(pulls > 0, pulls, np.nan)
    delta = 1.0 - level
    reach = (T + _MIXTURE) * (np.log((T + _MIXTURE) / _MIXTURE) - 2.0 * np.log(delta))
    half = sigma * np.sqrt(reach) / T
    return mean - half, mean + half


def explain(policy: Policy, table: Floats, index: Floats, chosen: int, minimize: bool) -> str:
    """Return why the policy plays the arm that it chose, as the end of a sentence.

    Parameters
    ----------
    policy : Policy
        Who chose.
    table, index : ndarray
        The arms as `ocucb.engine.online` keeps them, and their indices, before the choice.
    chosen : int
        The arm.
    minimize : bool
        The user speaks of losses, so the largest index is the smallest.
    """
    if chosen < 0:
        return "its formula gave something that is not a number"
    if table[chosen, TOLD] + table[chosen, OPEN] == 0:
        return "it has not been played yet"
    if table[chosen, TOLD] == 0:
        return "no arm has a reward yet and it has the fewest open asks"
    if policy.family.kind == "sampling":
        return f"its random sample is the {'smallest' if minimize else 'largest'}"
    if policy.family.kind == "choice":
        return f"that is its rule ({policy.family.formula})"
    best = "smallest" if minimize else "largest"
    active = table[:, ACTIVE] > 0
    ties = int((index[active] == index[chosen]).sum())
    if ties > 1:
        return f"its index is one of the {ties:,} {best}, and ties are broken at random"
    return f"its index is the {best}"


@dataclass(frozen=True, eq=False)
class Summary:
    """What `Bandit.summary` returns.

    Attributes
    ----------
    arms : list
        Names, in order, retired arms included.
    pulls, open : ndarray
        Rewards that came, and asks whose reward is open.
    mean : ndarray
        Mean reward; nan where none came yet.
    low, high : ndarray
        Confidence interval of the arm's true mean (see the module), within the bounds.
    index : ndarray
        What an index policy compares; nan for other policies, retired arms, and arms without
        a reward.
    share : ndarray
        Part of all pulls and open asks that went to the arm.
    retired : ndarray of bool
        Whether the arm is retired.
    level : float
        Level of the confidence intervals.
    policy : str
        The policy's label.
    round, horizon : int
        The round that comes next, and the horizon.
    minimize : bool
        Rewards are losses.
    next_arm : str or int or None
        What the next `ask` would give.
    why : str
        The reason.
    """

    arms: list[str | int]
    pulls: npt.NDArray[np.int64]
    open: npt.NDArray[np.int64]
    mean: Floats
    low: Floats
    high: Floats
    index: Floats
    share: Floats
    retired: npt.NDArray[np.bool_]
    level: float
    policy: str
    round: int
    horizon: int
    minimize: bool
    next_arm: str | int | None
    why: str

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each arm."""
        columns = (
            self.arms,
            *(getattr(self, name).tolist() for name in _COLUMNS[1:]),
        )
        return [dict(zip(_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]

    @property
    def next(self) -> str:
        """What would be played next and why, as a sentence."""
        place = f"round {self.round:,} of {self.horizon:,}"
        if self.next_arm is None:
            return f"{place}: {self.policy} cannot choose, because {self.why}."
        return f"{place}: {self.policy} plays {self.next_arm!r}, because {self.why}."

    def shown(self) -> list[int]:
        """Return the places of the arms that a table or a picture shows, in order."""
        if len(self.arms) <= _MOST_ROWS:
            return list(range(len(self.arms)))
        busiest = np.argsort(-self.share, kind="stable")[:_MOST_ROWS]
        return sorted(busiest.tolist())

    def _cells(self) -> list[list[str]]:
        """Return the table as text, a head and a row for each arm that is shown."""
        digits = _digits(self.high - self.low)
        level = f"{100 * self.level:g}% interval"
        rows = [["arm", "pulls", "open", "mean", level, "index", "share"]]
        for i in self.shown():
            rows.append(
                [
                    f"{self.arms[i]}" + (" (retired)" if self.retired[i] else ""),
                    f"{self.pulls[i]:,}",
                    f"{self.open[i]:,}",
                    _text(self.mean[i], digits),
                    f"{_text(self.low[i], digits)}–{_text(self.high[i], digits)}"
                    if self.pulls[i]
                    else "",
                    _text(self.index[i], digits),
                    f"{100 * self.share[i]:.1f}%",
                ]
            )
        return rows

    def _hidden(self) -> str:
        hidden = len(self.arms) - len(self.shown())
        return f"and {hidden:,} arms with less traffic" if hidden else ""

    def table(self) -> str:
        """Return a line for each arm (of many: the 30 with the most traffic), and what is next."""
        cells = self._cells()
        widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
        lines = [
            "  ".join(
                text.ljust(width) if column in (0, 4) else text.rjust(width)
                for column, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join(filter(None, [*lines, self._hidden(), self.next]))

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
            for row in rows
        )
        titles = "".join(f"<th>{html.escape(text)}</th>" for text in head)
        notes = "".join(
            f"<p>{html.escape(text)}</p>" for text in (self._hidden(), self.next) if text
        )
        return f"<table><tr>{titles}</tr>{body}</table>{notes}"

    def plot(self, path: str | os.PathLike[str] | None = None) -> matplotlib.figure.Figure:
        """Draw means, intervals and indices, and the share of traffic, by arm.

        Parameters
        ----------
        path : path, optional
            Where to write it; the ending (.png, .pdf, .svg) says how.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from .figures import live_summary, write

        figure = live_summary(self)
        if path is not None:
            write(figure, path)
        return figure


def _digits(widths: Floats) -> int:
    """Return how many decimals show the narrowest interval to two digits."""
    known = widths[widths > 0]
    if not known.size:
        return 3
    return int(min(9, max(3, 1 - np.floor(np.log10(known.min())))))


def _text(value: float, digits: int) -> str:
    if value != value:
        return ""
    return f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.4g}"
