"""What `simulate` returns: results of policies, as a table, a data frame, a figure or a file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import _docstrings
from .._document import Damaged, damaged, is_object, opened, read_json, take_list
from .._files import replacing
from .._text import html_table, table_of, with_error
from .._types import Floats
from ..importance import FEWEST_TILTED
from ..problems import UNEQUAL
from . import files
from .moments import Estimate, Moments
from .policy_result import FORMAT, Description, PolicyResult, mean_with_error, policy_result
from .records import Records, entry_of

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure


@dataclass(frozen=True, eq=False)
class SimulationResult(Records):
    r"""What `simulate` returns: one `PolicyResult` per policy.

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
    prior : bool
        Whether each run had a problem of its own, drawn from a prior. Then regret is Bayes regret,
        and `means` are those of the best arm, the second best and so on, on average.

    Examples
    --------
    >>> import ocucb
    >>> result = ocucb.simulate("ucb", ocucb.gap(K=2), 100, runs=10, rng=1)
    >>> [policy.label for policy in result]
    ['UCB']
    >>> result["ucb"] is result[0]
    True
    >>> for line in result.table().splitlines()[2:]:
    ...     print(line)
    gap:K=2,gap=0.3, gaussian rewards, sigma = 1, horizon 100, seed 1
    With fewer than 200 plain runs, error bars can miss rare failures.
    >>> row = result.rows()[-1]
    >>> row["policy"], row["t"], row["runs"]
    ('ucb:constant=2', 100, 10)
    >>> int(result.to_dataframe()["t"].max())
    100
    >>> print(result.to_latex().splitlines()[0])
    \begin{tabular}{lr@{\,}lrrrr}
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> result.to_csv(folder.name + "/regret.csv")
    >>> figures = result.plot(folder.name + "/regret.png"), result.plot_tail()
    >>> result.save(folder.name + "/result.json")
    >>> again = ocucb.SimulationResult.load(folder.name + "/result.json")
    >>> again["ucb"].mean_regret == result["ucb"].mean_regret
    True
    """

    policies: list[PolicyResult]
    problem: str = field(metadata=files.TEXT)
    means: Floats = field(metadata=files.NUMBERS)
    rewards: str = field(metadata=files.TEXT)
    sigma: float = field(metadata=files.POSITIVE)
    seed: int = field(metadata=files.SEED)
    version: str = field(metadata=files.TEXT)
    prior: bool = field(metadata=files.TRUTH)

    def __iter__(self) -> Iterator[PolicyResult]:
        return iter(self.policies)

    def __len__(self) -> int:
        return len(self.policies)

    def __getitem__(self, which: int | str) -> PolicyResult:
        return entry_of(self.policies, which, "policy")

    def table(self) -> str:
        """Return the result as text, one line per policy; error bars are two standard errors."""
        return "\n".join([table_of(self, _TABLE, left=_LEFT), *self._notes()])

    def _notes(self) -> list[str]:
        """Return what was played, and what readers of the table should know."""
        place = f"{self.problem}, {self.rewards} rewards, sigma = {self.sigma:g}"
        lines = [
            f"{place}, horizon {self.policies[0].horizon:,}, seed {self.seed}",
            *self._told(),
        ]
        if self.prior:
            lines.append(
                "Bayes regret: each run has a problem of its own, the same for all policies."
            )
        lines += self._since_change()
        helped = [
            player for player in self if player.sampling != "plain" or player.control_variates
        ]
        if helped:
            worth = ", ".join(map(_help, helped))
            lines.append(f"Runs are worth so many plain ones: {worth}.")
        if any(player.sampling == "plain" and player.runs < FEWEST_TILTED for player in self):
            lines.append(
                f"With fewer than {FEWEST_TILTED} plain runs, error bars can miss rare failures."
            )
        return lines

    def _since_change(self) -> list[str]:
        """Return what happened since the means changed, if they did."""
        change = self.policies[0].change
        if not change:
            return []
        told = [
            f"{player.label} {_with_bar(player.since_change)} (recovers in "
            f"{_with_bar(player.recovery)} rounds)"
            for player in self
        ]
        return [f"Regret since the change in round {change:,}: {', '.join(told)}."]

    def _cells(self) -> list[tuple[str, ...]]:
        columns = [title for title in _TABLE if title not in ("engine", "seconds")]
        rows = [tuple(_TABLE[title](player) for title in columns) for player in self]
        return [tuple(columns), *rows]

    def _told(self) -> list[str]:
        """Return what policies were told about the noise, where that is not true of all arms."""
        if UNEQUAL not in self.problem:
            return []
        return [f"Policies were told sigma = {self.sigma:g}, the largest of the arms'."]

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        rows = ([text(player) for text in _TABLE.values()] for player in self)
        return html_table([_TABLE, *rows], self._notes())

    def average_reward(self, which: int | str = 0) -> tuple[Floats, Floats]:
        """Return a policy's mean reward per round, up to each checkpoint, and its standard error.

        It is the best arm's mean minus regret per round, and so free of the noise of rewards.

        Parameters
        ----------
        which : int or str, optional
            A policy, as in ``result[which]``.

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate("ucb", ocucb.bernoulli([0.9, 0.5]), 1000, runs=100, rng=1)
        >>> reward, stderr = result.average_reward("ucb")
        >>> bool(0.8 < reward[-1] < 0.9)
        True
        """
        if self.prior:
            raise ValueError("with a prior, the best mean differs from run to run: use the regret.")
        player = self[which]
        best: float = self.means.max()
        return best - player.regret / player.checkpoints, player.stderr / player.checkpoints

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per policy and checkpoint."""
        return [
            {name: value(self, player, i) for name, value in COLUMNS.items()}
            for player in self
            for i in range(player.checkpoints.size)
        ]

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, ax: matplotlib.axes.Axes | None = None,
        xscale: str | None = None, yscale: str | None = None,
        labels: Sequence[str] | Mapping[str, str] | None = None, title: str | None = None,
    ) -> matplotlib.figure.Figure:  # fmt: skip
        """Plot regret over time, with bands of two standard errors."""
        from ..figures import Look, over_time, written

        return written(over_time(self, Look(ax, xscale, yscale, labels, title)), path)

    def plot_tail(
        self, path: str | os.PathLike[str] | None = None, *, ax: matplotlib.axes.Axes | None = None,
        xscale: str | None = None, yscale: str | None = None,
        labels: Sequence[str] | Mapping[str, str] | None = None, title: str | None = None,
    ) -> matplotlib.figure.Figure:  # fmt: skip
        """Plot the probability that the final regret exceeds x, with bands of two standard errors.

        Both axes are logarithmic; probabilities below 1e-7 are left out. A flat stretch far to the
        right means that runs either go well or fail.
        """
        from ..figures import Look, tail, written

        return written(tail(self, Look(ax, xscale, yscale, labels, title)), path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to `path`, a JSON file that `load` reads."""
        document = {
            "format": "ocucb-simulation",
            "format_version": FORMAT,
            **files.to_document(self),
            "policies": [files.to_document(player) for player in self],
        }
        with replacing(path) as file:
            json.dump(document, file, allow_nan=False)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> SimulationResult:
        """Read the file `path`, written by `save`.

        Raises
        ------
        ValueError
            The file is damaged or was not written by `save`; the message says what is wrong.
        """
        document = opened(read_json(path), "simulation", FORMAT, path)
        try:
            facts = files.from_document(SimulationResult, document)
            policies = take_list(document, "policies", None, is_object, "policies")
            arms = facts["means"].size
            made = [PolicyResult(**files.from_document(PolicyResult, p, arms)) for p in policies]
        except Damaged as error:
            raise damaged(path, error) from None
        return SimulationResult(made, **facts)


_docstrings.complete([SimulationResult.plot, SimulationResult.plot_tail], _docstrings.PLOT)


def _chance(estimate: Estimate) -> str:
    """Write a probability, or an upper bound where its error is larger than half of it."""
    value, stderr = estimate
    if value != value:
        return "–"
    if value < 2.0 * stderr:
        return f"< {100.0 * min(1.0, value + 2.0 * stderr):.2g}%"
    return f"{100.0 * value:.3g}%"


def _with_bar(estimate: Estimate) -> str:
    """Write a number and two standard errors."""
    return " ".join(with_error(estimate.value, 2.0 * estimate.stderr))


def _at_end(player: PolicyResult, i: int, value: float) -> float | None:
    return value if i == player.checkpoints.size - 1 else None


def _average_reward(result: SimulationResult, player: PolicyResult, i: int) -> float | None:
    if result.prior:
        return None
    return float(result.means.max() - player.regret[i] / player.checkpoints[i])


# The columns of tables: the title, and the text for a policy.
_TABLE: dict[str, Callable[[PolicyResult], str]] = {
    "policy": lambda player: player.label,
    "mean regret": lambda player: mean_with_error(player)[0],
    "± 2 s.e.": lambda player: mean_with_error(player)[1],
    "median": lambda player: f"{player.quantile(0.5):.4g}",
    "95%": lambda player: f"{player.quantile(0.95):.4g}",
    "wrong": lambda player: _chance(player.wrong),
    "runs": lambda player: f"{player.runs:,}",
    "engine": lambda player: player.engine,
    "seconds": lambda player: f"{player.seconds:.2f}",
}

_LEFT = ("policy", "± 2 s.e.", "engine")

# The columns of data frames and CSV files: the name, and the value at the i-th checkpoint.
COLUMNS: dict[str, Callable[[SimulationResult, PolicyResult, int], Any]] = {
    "problem": lambda result, player, i: result.problem,
    "policy": lambda result, player, i: player.policy,
    "engine": lambda result, player, i: player.engine,
    "horizon": lambda result, player, i: player.horizon,
    "t": lambda result, player, i: int(player.checkpoints[i]),
    "runs": lambda result, player, i: player.runs,
    "mean_regret": lambda result, player, i: float(player.regret[i]),
    "stderr": lambda result, player, i: float(player.stderr[i]),
    "wrong": lambda result, player, i: _at_end(player, i, player.wrong.value),
    "simple_regret": lambda result, player, i: _at_end(player, i, player.simple_regret.value),
    "optimal": lambda result, player, i: float(player.optimal[i]),
    "optimal_stderr": lambda result, player, i: float(player.optimal_stderr[i]),
    "average_reward": lambda result, player, i: _average_reward(result, player, i),
    "rewards": lambda result, player, i: result.rewards,
    "sigma": lambda result, player, i: result.sigma,
    "sigmas": lambda result, player, i: result.problem.partition(UNEQUAL)[2],
    "seed": lambda result, player, i: result.seed,
}


def result_of(
    played: Description, moments: Moments, seconds: float, control_variates: bool = True
) -> SimulationResult:
    """Turn the merged blocks of one policy into a result."""
    return _result_on(played, [policy_result(played, moments, seconds, control_variates)])


def joined(results: Sequence[SimulationResult]) -> SimulationResult:
    """Put the policies of several results, on one problem, into one result."""
    return _result_on(results[0], [player for result in results for player in result])


def _result_on(a: Description | SimulationResult, policies: list[PolicyResult]) -> SimulationResult:
    facts = a.problem, a.means, a.rewards, a.sigma, a.seed, a.version, a.prior
    return SimulationResult(policies, *facts)


def _help(player: PolicyResult) -> str:
    """Say what a policy's runs are worth, and how far weights are from their mean of 1."""
    worth = f"{player.label} {_worth(player.effective_runs)}"
    if player.sampling == "plain":
        return worth
    weight = " ".join(with_error(player.weight.value, 2 * player.weight.stderr))
    return f"{worth} (tilted, mean weight {weight})"


def _worth(runs: float) -> str:
    """Round a number of runs to two digits, which is more than is known about it."""
    return f"{float(f'{runs:.1e}'):,.0f}" if math.isfinite(runs) else "any number of"
