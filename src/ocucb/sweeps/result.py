"""What `sweep` returns: curves, as a table, a data frame, a figure or a file, and what they say."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _docstrings
from .._document import (
    Damaged,
    damaged,
    is_amount,
    is_count,
    is_flag,
    is_object,
    is_seed,
    is_text,
    opened,
    read_json,
    take,
    take_floats,
    take_list,
)
from .._files import replacing
from .._text import table, with_error
from .._types import Floats
from ..results import Estimate
from ..results.records import Records, entry_of
from .estimates import BATCHES, jackknife

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

FORMAT = 1  # of saved sweeps: raise it with any change to a field


class Maximum(NamedTuple):
    """Where a curve is largest, and how large it is there.

    Attributes
    ----------
    where : Estimate
        The value on the axis.
    regret : Estimate
        The mean regret.

    Examples
    --------
    >>> import ocucb
    >>> gaps = [0.05, 0.1, 0.15, 0.2, 0.3]
    >>> top = ocucb.sweep("ucb", [ocucb.gap(2, d) for d in gaps], 1000, rng=1)[0].maximum()
    >>> 0.1 < top.where.value < 0.2, top.regret.stderr > 0
    (True, True)
    """

    where: Estimate
    regret: Estimate


@dataclass(frozen=True, eq=False)
class SweepCurve:
    """The regret of one policy along an axis.

    Attributes
    ----------
    policy, label : str
        Its name with its parameters, and its short name for tables.
    axis : str
        What varies.
    values : ndarray
        The values of what varies, in increasing order.
    regret, stderr : ndarray
        Mean regret at these, and its standard error. Errors of neighbours are correlated where
        runs are pooled.
    left_out : ndarray
        The curve without each of 32 batches of runs: what the errors of maxima, ratios and
        crossings come from.
    runs : int
        Runs at each point.
    pooled : bool
        Whether runs count for their neighbours too.
    seconds : float
        Time spent on its runs, summed over workers, excluding pilots and compilation.

    Examples
    --------
    >>> import ocucb
    >>> problems = [ocucb.gap(2, d) for d in (0.2, 0.4, 0.6)]
    >>> curve = ocucb.sweep("ucb", problems, 1000, runs=256, rng=1)["ucb"]
    >>> curve.values.tolist(), curve.runs, curve.pooled
    ([0.2, 0.4, 0.6], 256, True)
    >>> curve.maximum().where.value < 0.3
    True
    """

    policy: str
    label: str
    axis: str
    values: Floats
    regret: Floats
    stderr: Floats
    left_out: Floats
    runs: int
    pooled: bool
    seconds: float

    def maximum(self) -> Maximum:
        """Return where the curve is largest and how large it is there, with jackknife errors.

        The top of the cubic spline through the points. At an end of the axis the curve may rise
        beyond. Where points share no runs and lie closer together than their errors tell apart, the
        largest is so by chance: take fewer points there, or more runs.
        """
        where = self._estimate(lambda curve: _top(self.values, curve)[0])
        return Maximum(where, self._estimate(lambda curve: _top(self.values, curve)[1]))

    def _estimate(self, statistic: Callable[[Floats], float]) -> Estimate:
        return jackknife(statistic, (self.regret, self.left_out))


def _top(x: Floats, y: Floats) -> tuple[float, float]:
    """Return the top of the cubic spline through points."""
    from scipy.interpolate import CubicSpline  # takes a while to import

    spline = CubicSpline(x, y)
    turns = spline.derivative().roots(extrapolate=False)
    places = np.concatenate([x, turns[np.isfinite(turns)]])
    heights = spline(places)
    top = int(heights.argmax())
    return float(places[top]), float(heights[top])


def _sign_change(x: Floats, y: Floats) -> float:
    """Return where y, linear between points, changes its sign between the first and the last.

    Where it does so several times, noise makes it: what is returned is the first point plus the
    length on which the sign is the first one's.
    """
    same = y * np.sign(y[0])
    before, after = same[:-1], same[1:]
    high, low = np.maximum(before, after), np.minimum(before, after)
    partly = np.divide(high, high - low, out=np.ones(high.size), where=high > low)
    share = np.where(low >= 0.0, 1.0, np.where(high <= 0.0, 0.0, partly))
    return float(x[0] + (share * np.diff(x)).sum())


@dataclass(frozen=True, eq=False)
class SweepResult(Records):
    """What `sweep` returns: one curve per policy.

    Index it by name, ``result["ocucb"]``, or position, ``result[0]``.

    Attributes
    ----------
    curves : list of SweepCurve
        One per policy, in the order of the call.
    axis : str
        What varies.
    problem : str
        The problem's name, or those at the two ends.
    seed : int
        ``rng=seed`` reproduces the numbers.
    version : str
        The version of ocucb that produced it.

    Examples
    --------
    >>> import ocucb, tempfile
    >>> problems = [ocucb.gap(2, d) for d in (0.1, 0.2, 0.4, 0.8)]
    >>> result = ocucb.sweep(["ocucb", "ucb"], problems, 1000, rng=1)
    >>> result.axis, [curve.label for curve in result]
    ('gap', ['OCUCB', 'UCB'])
    >>> ratio, stderr = result.ratio("ocucb", "ucb")
    >>> bool((ratio < 1).all()), result.crossings("ocucb", "ucb")
    (True, [])
    >>> int(result.to_dataframe()["runs"].max()), len(result.rows()), result.to_dict()["axis"]
    (1024, 8, 'gap')
    >>> print(result.table().splitlines()[0])
    gap  OCUCB  ± 2 s.e.     UCB  ± 2 s.e.
    >>> folder = tempfile.TemporaryDirectory()
    >>> result.to_csv(folder.name + "/curves.csv")
    >>> figure = result.plot(folder.name + "/curves.png")
    >>> result.save(folder.name + "/curves.json")
    >>> again = ocucb.SweepResult.load(folder.name + "/curves.json")
    >>> bool((again["ucb"].regret == result["ucb"].regret).all())
    True
    """

    curves: list[SweepCurve]
    axis: str
    problem: str
    seed: int
    version: str

    def __iter__(self) -> Iterator[SweepCurve]:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def __getitem__(self, which: int | str) -> SweepCurve:
        return entry_of(self.curves, which, "curve")

    def ratio(self, one: int | str, other: int | str) -> tuple[Floats, Floats]:
        """Return the ratio of the regrets of two policies at each point, and its standard error.

        Parameters
        ----------
        one, other : int or str
            Names or positions of the curves: the first is divided by the second.
        """
        pair = self._pair(one, other)

        def at(i: int) -> Callable[[Floats, Floats], float]:
            return lambda a, b: float(a[i] / b[i])

        with np.errstate(divide="ignore", invalid="ignore"):
            found = [jackknife(at(i), *pair) for i in range(self.curves[0].values.size)]
        values, errors = np.array(found).T
        return values, errors

    def crossings(self, one: int | str, other: int | str) -> list[Estimate]:
        """Return where two curves cross, with jackknife errors.

        A crossing lies between points where the difference is beyond two standard errors, with
        opposite signs. Between points, curves are taken to be straight.

        Parameters
        ----------
        one, other : int or str
            Names or positions of the curves.
        """
        a, b = self[one], self[other]
        difference = a.regret - b.regret
        clear = np.flatnonzero(np.abs(difference) > 2.0 * np.hypot(a.stderr, b.stderr))
        found = []
        for start, end in pairwise(clear):
            if difference[start] * difference[end] < 0.0:
                place = slice(int(start), int(end) + 1)

                def zero(one: Floats, other: Floats, place: slice = place) -> float:
                    return _sign_change(a.values[place], one[place] - other[place])

                found.append(jackknife(zero, *self._pair(one, other)))
        return found

    def _pair(self, one: int | str, other: int | str) -> list[tuple[Floats, Floats]]:
        return [(self[which].regret, self[which].left_out) for which in (one, other)]

    def table(self) -> str:
        """Return the curves as text, one line per point; error bars are two standard errors."""
        rows = self._cells()
        lines = [table(rows, tuple(range(2, len(rows[0]), 2))), f"{self.problem}, seed {self.seed}"]
        for curve in self:
            how = ", each of which counts for its neighbours" if curve.pooled else ""
            lines.append(f"{curve.label}: {curve.runs:,} runs at each point{how}")
        return "\n".join(lines)

    def _cells(self) -> list[tuple[str, ...]]:
        heading = [self.axis]
        for curve in self:
            heading += [curve.label, "± 2 s.e."]
        rows = [tuple(heading)]
        for i, value in enumerate(self.curves[0].values):
            row = [f"{value:g}"]
            for curve in self:
                row += with_error(float(curve.regret[i]), 2.0 * float(curve.stderr[i]))
            rows.append(tuple(row))
        return rows

    def __repr__(self) -> str:
        return self.table()

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per policy and point."""
        return [
            {
                "policy": curve.policy,
                self.axis: float(curve.values[i]),
                "mean_regret": float(curve.regret[i]),
                "stderr": float(curve.stderr[i]),
                "runs": curve.runs,
            }
            for curve in self
            for i in range(curve.values.size)
        ]

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, ax: matplotlib.axes.Axes | None = None,
        xscale: str | None = None, yscale: str | None = None,
        labels: Sequence[str] | Mapping[str, str] | None = None, title: str | None = None,
    ) -> matplotlib.figure.Figure:  # fmt: skip
        """Plot the curves, with bands of two standard errors."""
        from ..figures import Look, written
        from .drawing import picture

        return written(picture(self, Look(ax, xscale, yscale, labels, title)), path)

    def to_dict(self) -> dict[str, Any]:
        """Return the curves as plain numbers: the object that ``--json`` prints."""
        return {
            "axis": self.axis,
            "problem": self.problem,
            "seed": self.seed,
            "curves": [
                {
                    "policy": curve.policy,
                    "values": curve.values.tolist(),
                    "mean_regret": curve.regret.tolist(),
                    "stderr": curve.stderr.tolist(),
                    "runs": curve.runs,
                    "pooled": curve.pooled,
                    "seconds": curve.seconds,
                }
                for curve in self
            ],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to `path`, a JSON file that `load` reads."""
        own = {name: getattr(self, name) for name in _FACTS}
        curves = [
            {
                each.name: value.tolist() if isinstance(value, np.ndarray) else value
                for each in fields(curve)
                for value in [getattr(curve, each.name)]
                if each.name != "axis"
            }
            for curve in self
        ]
        document = {"format": "ocucb-sweep", "format_version": FORMAT, **own, "curves": curves}
        with replacing(path) as file:
            json.dump(document, file, allow_nan=False)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> SweepResult:
        """Read the file `path`, written by `save`.

        Raises
        ------
        ValueError
            The file is damaged or was not written by `save`; the message says what is wrong.
        """
        document = opened(read_json(path), "sweep", FORMAT, path)
        try:
            facts = {name: take(document, name, *how) for name, how in _FACTS.items()}
            found = take_list(document, "curves", None, is_object, "curves")
            curves = [_curve_from(saved, facts["axis"]) for saved in found]
            if len({tuple(curve.values) for curve in curves}) > 1:
                raise Damaged("'values' must be the same for all curves")
        except Damaged as error:
            raise damaged(path, error) from None
        return SweepResult(curves, **facts)


_docstrings.complete([SweepResult.plot], _docstrings.PLOT)

_FACTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "axis": (is_text, "text"),
    "problem": (is_text, "text"),
    "seed": (is_seed, "a whole number, at least 0"),
    "version": (is_text, "text"),
}


def _curve_from(document: dict[str, Any], axis: str) -> SweepCurve:
    values = take_floats(document, "values")
    if values.size < 2 or (np.diff(values) <= 0.0).any():
        raise Damaged("'values' must be a list of increasing numbers")
    size = values.size
    errors = take_list(document, "stderr", size, is_amount, "finite numbers, at least 0")

    def is_row(given: Any) -> bool:
        return type(given) is list and len(given) == size and all(map(_is_finite, given))

    rows = take_list(document, "left_out", BATCHES, is_row, f"lists of {size} finite numbers")
    return SweepCurve(
        policy=take(document, "policy", is_text, "text"),
        label=take(document, "label", is_text, "text"),
        axis=axis,
        values=values,
        regret=take_floats(document, "regret", size),
        stderr=np.array(errors, dtype=np.float64),
        left_out=np.array(rows, dtype=np.float64),
        runs=take(document, "runs", is_count, "a whole number from 1 to 2^53"),
        pooled=take(document, "pooled", is_flag, "true or false"),
        seconds=float(take(document, "seconds", is_amount, "a number, at least 0")),
    )


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
