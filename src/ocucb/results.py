"""Simulation results: means, error bars and quantiles, as a table, a figure or a file."""

from __future__ import annotations

import csv
import json
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
from ._text import table
from ._types import Counts, Floats
from .engine import Outcome

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
SAMPLE_SIZE = 65_536  # runs whose individual regrets are kept, for quantiles
_VERSION = 1  # of the format of saved files
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


@dataclass(frozen=True)
class Moments:
    """Number of runs, mean and summed squared deviation at each checkpoint, and mean pulls.

    Blocks of runs are reduced to these and merged in the order of the runs, so the
    result is the same to the last bit no matter how the blocks were computed.
    """

    runs: int
    mean: Floats
    squares: Floats
    pulls: Floats
    sample: Floats

    @staticmethod
    def of(outcome: Outcome, sample: int = SAMPLE_SIZE) -> Moments:
        """Reduce the outcome of a kernel.

        The final regrets of the first `sample` runs are kept individually.
        """
        regret = outcome.regret
        mean = regret.mean(axis=0)
        squares = ((regret - mean) ** 2).sum(axis=0)
        return Moments(
            len(regret), mean, squares, outcome.pulls.mean(axis=0), regret[:, -1][:sample].copy()
        )

    @property
    def stderr(self) -> Floats:
        """Standard errors of the means; nan after a single run."""
        if self.runs == 1:
            return np.full(self.mean.size, np.nan)
        errors: Floats = np.sqrt(self.squares / (self.runs - 1) / self.runs)
        return errors

    @property
    def kurtosis(self) -> float:
        """Fourth central moment over the squared variance, from `sample`."""
        squares = (self.sample - self.sample.mean()) ** 2
        variance = float(squares.mean())
        # at least 1 by Jensen's inequality, despite rounding
        return max(1.0, float((squares**2).mean()) / variance**2) if variance > 0.0 else 1.0

    def merged(self, later: Moments) -> Moments:
        """Return the combined moments (Chan, Golub and LeVeque 1979)."""
        runs = self.runs + later.runs
        share = later.runs / runs
        shift = later.mean - self.mean
        capacity = max(0, SAMPLE_SIZE - self.sample.size)
        return Moments(
            runs,
            self.mean + share * shift,
            self.squares + later.squares + shift**2 * (share * self.runs),
            self.pulls + share * (later.pulls - self.pulls),
            np.concatenate([self.sample, later.sample[:capacity]]) if capacity else self.sample,
        )


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
        Mean number of pulls of each arm.
    sample : ndarray
        Individual final regrets of the first 65,536 runs.
    seconds : float
        Time spent on its runs, summed over workers, excluding compilation.
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
    seconds: float

    @property
    def mean_regret(self) -> float:
        """Mean pseudo-regret at the horizon."""
        return float(self.regret[-1])

    def quantile(self, level: float | Sequence[float]) -> Any:
        """Return quantiles of the final regret, from the first 65,536 runs.

        Examples
        --------
        >>> import ocucb
        >>> result = ocucb.simulate(ocucb.UCB(), ocucb.gap(), 100, runs=10, rng=1)
        >>> bool(result["ucb"].quantile(0.5) <= result["ucb"].quantile(0.9))
        True
        """
        return np.quantile(self.sample, level)

    def to_dict(self) -> dict[str, Any]:
        """Return the result at the horizon as plain numbers: one object in ``--json``."""
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
        }


def _number(value: float) -> float | None:
    """Return a value that JSON can represent: None instead of nan."""
    return None if value != value else float(value)


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
            raise KeyError(f"no policy {which!r}; choose from {[one.policy for one in self]}.")
        if len(found) > 1:
            raise KeyError(
                f"{which!r} matches {[one.policy for one in found]}; use the full name or the "
                "position."
            )
        return found[0]

    def table(self) -> str:
        """Return the result as text, one line per policy; error bars are two standard errors."""
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
        return table(rows, left=(0, 2, 6)) + "\n" + last

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{one.label}</td><td>{one.mean_regret:.4g} ± {2 * one.stderr[-1]:.2g}</td>"
            f"<td>{one.runs:,}</td><td>{one.engine}</td></tr>"
            for one in self
        )
        head = "<tr><th>policy</th><th>mean regret</th><th>runs</th><th>engine</th></tr>"
        return f"<table><caption>{self.problem}</caption>{head}{rows}</table>"

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per policy and checkpoint."""
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
        """Return `rows` as a pandas data frame (``pip install ocucb[pandas]``)."""
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "to_dataframe needs pandas: pip install 'ocucb[pandas]', or use to_csv."
            ) from None
        return pandas.DataFrame(self.rows(), columns=list(_COLUMNS))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `rows` to a CSV file."""
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
        """
        from .figures import regret_panels, write

        figure = regret_panels([self])
        if path is not None:
            write(figure, path)
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file that `load` reads."""
        document = {
            "format": "ocucb-simulation",
            "format_version": _VERSION,
            "version": self.version,
            "problem": self.problem,
            "means": self.means.tolist(),
            "noise": self.rewards,  # the name of version 1
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
                    "seconds": one.seconds,
                }
                for one in self
            ],
        }
        with replacing(path) as file:
            json.dump(document, file, allow_nan=False)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> SimulationResult:
        """Read a file written by `save`.

        Raises
        ------
        ValueError
            The file is damaged or was not written by `save`; the message says what is wrong.
        """
        document = opened(read_json(path), "simulation", _VERSION, path)
        try:
            means = take_floats(document, "means")
            policies = take_list(document, "policies", None, is_object, "policies")
            return SimulationResult(
                [_restored(one, means.size) for one in policies],
                take(document, "problem", is_text, "text"),
                means,
                take(document, "noise", is_text, "text"),
                float(take(document, "sigma", _is_positive, "a number greater than 0")),
                take(document, "seed", is_seed, "a whole number, at least 0"),
                take(document, "version", is_text, "text"),
            )
        except Damaged as error:
            raise damaged(path, error) from None


def result_of(played: Description, moments: Moments, seconds: float) -> SimulationResult:
    """Turn the merged blocks of one policy into a result."""
    one = PolicyResult(
        policy=played.policy,
        label=played.label,
        engine=played.engine,
        horizon=played.horizon,
        runs=moments.runs,
        checkpoints=played.checkpoints,
        regret=moments.mean,
        stderr=moments.stderr,
        pulls=moments.pulls,
        sample=moments.sample,
        seconds=seconds,
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
        sample=take_floats(document, "sample", min(runs, SAMPLE_SIZE)),
        seconds=float(take(document, "seconds", is_amount, "a number, at least 0")),
    )


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


def _digits(half_width: float) -> int:
    """Return the number of decimals that shows two digits of an error bar."""
    if not half_width > 0 or not np.isfinite(half_width):
        return 2
    return int(min(9, max(0, 1 - np.floor(np.log10(half_width)))))
