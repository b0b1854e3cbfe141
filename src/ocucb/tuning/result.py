"""What `tune` returns: the best policy, what it gains, and everything that was tried."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _docstrings
from .._text import listed, table, with_error
from .._types import Floats
from ..policies import Policy
from ..results import Estimate
from ..results.files import finite
from ..results.records import Records
from .contender import Contender, Gain
from .laboratory import Trial

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure


@dataclass(frozen=True)
class TuningResult(Records):
    """What `tune` returns.

    Index it by name or position for one of several policies: ``result["ocucb"]``.

    Attributes
    ----------
    contenders : list of Contender
        Each policy before and after tuning, measured with fresh runs.
    best : Policy
        The best of them according to the search, whose runs are not those of `contenders`.
    objective : str
        What was minimised: "mean", "worst" or "cvar".
    level : float
        The level of "cvar".
    problems : list of str
        Names of the problems.
    horizon, runs, seed : int
        As for `tune`; ``rng=seed`` reproduces the numbers.
    trials : list of Trial
        Everything that was tried, in order.
    scores : list of Estimate
        The objective of each trial.
    references : tuple of Policy
        For "worst", the best policy found for each problem alone.
    best_logs : ndarray or None
        For "worst", the logarithms of their mean regrets, as the search had them.
    interrupted : bool
        Whether Ctrl-C came before the fresh runs.

    Examples
    --------
    >>> import ocucb
    >>> result = ocucb.tune("ucb", ocucb.gap(K=2), 1000, runs=5000, rng=1)
    >>> result.best
    UCB(constant=1.09)
    >>> result.line, result.command
    ('ocucb.UCB(constant=1.09)', 'ucb:constant=1.09')
    >>> result.parameters, result.gain.low > 0.1
    ({'constant': 1.09}, True)
    >>> print(result.verdict(result.winner))
    UCB(constant=1.09) has 21% less than UCB in mean regret (95% interval: 18% to 23%).
    >>> result.rows()[0]["stage"], "UCB(constant=1.09)" in result.table()
    ('race', True)
    >>> len(result.to_json()) > 99
    True
    >>> bool(result.to_dataframe()["runs"].sum() > 1000)
    True
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> result.to_csv(folder.name + "/trials.csv")
    >>> figure = result.plot(folder.name + "/tuning.png")
    >>> result.to_dict()["best"]
    'ucb:constant=1.09'
    """

    contenders: list[Contender]
    best: Policy
    objective: str
    level: float
    problems: list[str]
    horizon: int
    runs: int
    seed: int
    trials: list[Trial]
    scores: list[Estimate]
    references: tuple[Policy, ...] = ()
    best_logs: Floats | None = None
    interrupted: bool = False

    def __getitem__(self, which: int | str) -> Contender:
        if not isinstance(which, str):
            return self.contenders[which]
        for contender in self.contenders:
            if which in (contender.start.family.name, contender.start.name):
                return contender
        names = [contender.start.name for contender in self.contenders]
        raise KeyError(f"no policy {which!r}; choose from {names}.")

    @property
    def winner(self) -> Contender:
        """The contender that is `best`."""
        return next(contender for contender in self.contenders if contender.policy == self.best)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters of the best policy."""
        return self.best.parameters

    @property
    def gain(self) -> Gain:
        """What the best policy gains over the same policy as it was given."""
        return self.winner.gain

    @property
    def line(self) -> str:
        """The best policy, to paste into Python."""
        return f"ocucb.{self.best!r}" if self.best.is_ours else repr(self.best)

    @property
    def command(self) -> str:
        """The best policy, to paste after ``-p`` on the command line."""
        return self.best.name

    @property
    def measure(self) -> str:
        """What was minimised, in a few words."""
        if self.objective == "worst":
            return "worst ratio"
        worst = f" of the worst {100 * (1 - self.level):.3g}%" * (self.objective == "cvar")
        return f"mean regret{worst}"

    def verdict(self, one: Contender) -> str:
        """Say what the fresh runs say about a contender, in one sentence.

        Parameters
        ----------
        one : Contender
            One of `contenders`.
        """
        policy, start = one.policy.label, one.start.label
        if math.isnan(one.value.value):
            return f"{policy} is the best so far, but was not measured again."
        if one.policy == one.start:
            return f"Nothing better than {start} was found."
        low, high = (f"{100 * end:.2g}%" for end in (one.gain.low, one.gain.high))
        if not one.gain.distinguishable:
            return (
                f"{policy} is not distinguishable from {start}: its gain in {self.measure} is "
                f"between {low} and {high} (95% interval)."
            )
        if one.gain.high < 0.0:
            return f"{policy} is worse than {start}: its gain is between {low} and {high}."
        return (
            f"{policy} has {100 * one.gain.value:.2g}% less than {start} in {self.measure} "
            f"(95% interval: {low} to {high})."
        )

    def table(self) -> str:
        """Return the result as text: each policy before and after, and what that means."""
        cells = self._cells()
        text = tuple(i for i, title in enumerate(cells[0]) if title in ("policy", "± 2 s.e."))
        lines = [table(cells, text)]
        place = f"{listed(self.problems)}, horizon {self.horizon:,}, seed {self.seed}"
        lines.append(place + ("; error bars are from fresh runs" * (not self.interrupted)))
        for p, best in enumerate(self.references):
            lines.append(f"best found for {self.problems[p]} alone: {best.label}")
        for contender in self.contenders:
            lines += [self.verdict(contender), *contender.notes]
        lines.append(f"Python: {self.line}")
        if self.best.is_ours:
            lines.append(f"command line: -p {self.command}")
        return "\n".join(lines)

    def _cells(self) -> list[tuple[str, ...]]:
        rows = [row for contender in self.contenders for row in _rows_of(contender)]
        columns: dict[str, Callable[[_Row], str]] = {
            "policy": lambda row: row.policy.label,
            self.measure: lambda row: _pair(row.value)[0],
            "± 2 s.e.": lambda row: _pair(row.value)[1],
        }
        if len(self.problems) > 1:
            for p, name in enumerate(self.problems):
                columns[name] = lambda row, p=p: _pair(row.values[p])[0]  # type: ignore[misc]
        return [tuple(columns), *(tuple(text(row) for text in columns.values()) for row in rows)]

    def __repr__(self) -> str:
        return self.table()

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per trial and problem, fresh runs included."""
        rows = []
        for trial, score in zip(self.trials, self.scores, strict=True):
            for name, (value, stderr) in zip(self.problems, trial.values, strict=True):
                rows.append(
                    {
                        "policy": trial.policy.name,
                        **trial.policy.parameters,
                        "stage": trial.stage,
                        "problem": name,
                        "runs": trial.runs,
                        "regret": value,
                        "stderr": finite(stderr),
                        "objective": score.value,
                    }
                )
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values: the object of ``--json``."""
        return {
            "best": self.best.name,
            "line": self.line,
            "objective": self.objective,
            "level": self.level if self.objective == "cvar" else None,
            "problems": self.problems,
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "interrupted": self.interrupted,
            "contenders": [
                {
                    "policy": contender.policy.name,
                    "parameters": contender.policy.parameters,
                    "start": contender.start.name,
                    "value": _json(contender.value),
                    "start_value": _json(contender.start_value),
                    "values": [_json(value) for value in contender.values],
                    "start_values": [_json(value) for value in contender.start_values],
                    "gain": {k: finite(v) for k, v in contender.gain._asdict().items()},
                    "distinguishable": contender.gain.distinguishable,
                    "verdict": self.verdict(contender),
                }
                for contender in self.contenders
            ],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, ax: matplotlib.axes.Axes | None = None,
        xscale: str | None = None, yscale: str | None = None,
        labels: Sequence[str] | Mapping[str, str] | None = None, title: str | None = None,
    ) -> matplotlib.figure.Figure:  # fmt: skip
        """Plot what was found: a curve over one parameter, a map over two.

        Every policy gets a panel, or on the axes that are given only the best one.
        """
        from ..figures import Look, written
        from .drawing import picture

        return written(picture(self, Look(ax, xscale, yscale, labels, title)), path)


_docstrings.complete([TuningResult.plot], _docstrings.PLOT)


class _Row(NamedTuple):
    policy: Policy
    value: Estimate
    values: tuple[Estimate, ...]


def _rows_of(one: Contender) -> list[_Row]:
    start = _Row(one.start, one.start_value, one.start_values)
    tuned = _Row(one.policy, one.value, one.values)
    return [start] if one.policy == one.start else [start, tuned]


def _pair(estimate: Estimate) -> tuple[str, str]:
    if math.isnan(estimate.value):
        return "", ""
    return with_error(estimate.value, 2.0 * estimate.stderr)


def _json(estimate: Estimate) -> dict[str, float | None]:
    return {name: finite(value) for name, value in estimate._asdict().items()}
