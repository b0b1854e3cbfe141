"""A single run, round by round: to see what a policy does, which no average shows.

The run is played by the step engine and stopped after every round. It is one of those that
`simulate` plays step by step with the same seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _docstrings
from ._compile import translate_numba_errors
from ._keywords import hinted
from ._text import table_of, to_count
from ._types import Counts, Flags, Floats
from .policies import Policy, PolicyFamily, to_policies
from .problems import Problem, not_a_problem
from .random import to_seed
from .results.records import Records
from .simulation import check_rewards, specify

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

MOST = 10_000_000  # numbers that each of the larger arrays of a trace may have
_FIRST, _LAST = 8, 3  # rounds that are printed
_TICKS = 20  # arms whose numbers have room on a figure


@dataclass(frozen=True, eq=False)
class Trace(Records):
    """What `trace` returns: one run, round by round.

    Attributes
    ----------
    policy, problem : str
        What was played, and on what.
    arms : ndarray
        The arm played in each round, counted from 0.
    rewards : ndarray
        The reward in each round, as the difference of sums: rounded like these.
    regret : ndarray
        The pseudo-regret up to each round.
    pulls, means : ndarray
        After each round (rows), how often each arm (columns) has been played, and the mean of its
        rewards; nan before the first.
    best : ndarray
        Whether each arm is a best one.
    seed, run : int
        Which run it is: ``simulate(..., rng=seed, engine="step", sampling="plain")`` plays it, too.

    Examples
    --------
    >>> import ocucb, tempfile
    >>> one = ocucb.trace("ocucb", ocucb.bernoulli([0.6, 0.4]), 100, rng=1)
    >>> one.arms[:2].tolist(), int(one.pulls[-1].sum())
    ([0, 1], 100)
    >>> bool(one.regret[-1] <= 20.0)
    True
    >>> sorted(one.rows()[0])
    ['arm', 'regret', 'reward', 'round']
    >>> int(one.to_dataframe()["round"].max())
    100
    >>> folder = tempfile.TemporaryDirectory()
    >>> one.to_csv(folder.name + "/run.csv")
    >>> print(one.to_latex().splitlines()[2])
    round & arm & reward & regret \\\\
    >>> figure = one.plot()
    """

    policy: str
    problem: str
    arms: Counts
    rewards: Floats
    regret: Floats
    pulls: Counts
    means: Floats
    best: Flags
    seed: int
    run: int

    def __len__(self) -> int:
        return self.arms.size

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per round."""
        columns = self.arms.tolist(), self.rewards.tolist(), self.regret.tolist()
        return [
            {"round": t, "arm": arm, "reward": reward, "regret": regret}
            for t, (arm, reward, regret) in enumerate(zip(*columns, strict=True), 1)
        ]

    def _cells(self) -> list[tuple[str, ...]]:
        rows = (tuple(text(row) for text in _COLUMNS.values()) for row in self.rows())
        return [tuple(_COLUMNS), *rows]

    def __repr__(self) -> str:
        rows = self.rows()
        cut = len(rows) > _FIRST + _LAST
        some = [*rows[:_FIRST], *rows[-_LAST:]] if cut else rows
        lines = table_of(some, _COLUMNS, left=()).splitlines()
        if cut:
            lines.insert(_FIRST + 1, "...")
        played = ", ".join(f"{pulls:,}" for pulls in self.pulls[-1])
        lines.append(f"{self.policy} on {self.problem}, run {self.run} of seed {self.seed}")
        return "\n".join([*lines, f"Pulls of the arms: {played}."])

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, ax: matplotlib.axes.Axes | None = None,
        xscale: str | None = None, yscale: str | None = None,
        labels: Sequence[str] | Mapping[str, str] | None = None, title: str | None = None,
    ) -> matplotlib.figure.Figure:  # fmt: skip
        """Plot which arm was played when, and below it the regret (not if `ax` is given)."""
        from .figures import BLUE, RED, Look, empty_panels, figure_of, legend, round_ticks, written

        look, rounds = Look(ax, xscale, yscale, labels, title), np.arange(1, len(self) + 1)
        whole = ax is None
        panels: list[Any] = empty_panels(2, columns=1, size=(7, 2.4))[1] if whole else [ax]
        kinds = (("a best arm", BLUE, self.best), ("another arm", RED, ~self.best))
        names = look.names([(name, name) for name, _, _ in kinds])
        for name, (_, style, which) in zip(names, kinds, strict=True):
            played = which[self.arms]
            panels[0].plot(
                rounds[played], self.arms[played], "|", color=style.color, markersize=9, label=name
            )
        look.finish(panels[0], f"One run of {self.policy}", self.problem)
        panels[0].set(ylabel="arm", xlabel="" if whole else "round")
        panels[0].set_yticks(range(self.best.size) if self.best.size <= _TICKS else [])
        panels[0].set_ylim(self.best.size - 0.4, -0.6)
        legend(panels[0], loc="upper left", bbox_to_anchor=(1.0, 1.0))
        if whole:
            panels[1].plot(rounds, self.regret, color=BLUE.color, drawstyle="steps-post")
            panels[1].set(xlabel="round", ylabel="regret", xlim=panels[0].get_xlim())
            if xscale is not None:
                panels[1].set_xscale(xscale)
            round_ticks(panels[1])
        return written(figure_of(panels[0]), path)


_docstrings.complete([Trace.plot], _docstrings.PLOT)

# The columns of the table: the title, and the text for a round.
_COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "round": lambda row: f"{row['round']:,}",
    "arm": lambda row: str(row["arm"]),
    "reward": lambda row: f"{row['reward']:.4g}",
    "regret": lambda row: f"{row['regret']:.4g}",
}


@hinted
def trace(
    policy: Policy | PolicyFamily | str,
    problem: Problem,
    horizon: int,
    *,
    run: int = 0,
    rng: Any = None,
) -> Trace:
    """Play one run, and keep what happened in each round.

    Parameters
    ----------
    policy : policy, or name of a policy
        Who plays: ``OCUCB()``, ``"moss:constant=4"``.
    problem : Problem
        What is played: ``gap(K=10, gap=0.3)``, ``bernoulli([0.5, 0.4])``.
    horizon : int
        Rounds. All arms in all rounds are kept, so horizon times arms must be at most 10,000,000.
    run : int, optional
        Which of the runs with this seed.
    rng : int, numpy Generator or None
        Seed, as in `simulate`.

    Returns
    -------
    Trace
        Arm, reward and regret in each round, with `plot`, `rows`, `to_dataframe` and `to_csv`.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.trace("ucb", ocucb.bernoulli([0.9, 0.1]), 200, rng=1).pulls[-1]
    array([197,   3])
    """
    players = to_policies(policy)
    if len(players) != 1:
        raise ValueError(f"a trace is of one policy, got {len(players)}.")
    player = players[0]
    if not isinstance(problem, Problem):
        raise not_a_problem(problem)
    horizon, number = to_count(horizon, "horizon"), to_count(run, "run", 0)
    if horizon * problem.arms > MOST:
        raise ValueError(
            f"a trace keeps all arms in all rounds: horizon times arms must be at most {MOST:,}, "
            f"got {horizon * problem.arms:,}."
        )
    check_rewards(player, problem)
    if problem.rewards.rounds:
        raise ValueError("a trace is of arms whose means stay the same, but these change.")
    seed = to_seed(rng)
    specification = specify(player, problem, horizon, np.array([horizon]), seed, "step")
    with translate_numba_errors(f"{player.label} on {problem.rewards.name} rewards"):
        regret, pulls, sums = specification.round_by_round(number)
    before = np.zeros((1, problem.arms))
    arms = np.diff(pulls, axis=0, prepend=before).argmax(axis=1)
    gains = np.diff(sums, axis=0, prepend=before)
    with np.errstate(invalid="ignore"):
        means = sums / pulls
    return Trace(
        policy=player.label,
        problem=problem.name,
        arms=arms,
        rewards=gains[np.arange(horizon), arms],
        regret=regret,
        pulls=pulls.astype(np.int64),
        means=means,
        best=problem.gaps == 0.0,
        seed=seed,
        run=number,
    )
