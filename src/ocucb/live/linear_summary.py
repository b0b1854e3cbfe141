"""What a `LinearBandit` knows: its arms, and their weights with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._text import html_table, table
from .._types import Counts, Flags, Floats
from ..inference.linear import LeastSquares, LinearEvidence
from .features import Features
from .linear_model import ACTIVE, OBSERVED, OPEN, ROUNDS, SUM, State, parts
from .names import Arm
from .rules import Rules
from .summary import digits_of, number_text

_MOST_ROWS = 40  # of a table; those of the busiest arms come first


@dataclass(frozen=True, eq=False)
class LinearSummary:
    """What `LinearBandit.summary` returns.

    Attributes
    ----------
    arms : list
        Names: active arms in order, then retired ones.
    pulls, open : ndarray
        Rewards observed, and asks still open.
    mean : ndarray
        Mean reward, whatever the features; nan where none was observed.
    share : ndarray
        Share of all pulls and open asks that went to the arm.
    retired : ndarray of bool
        Whether the arm is retired.
    features : list of str
        Names of the features.
    shared : bool
        Whether all arms share their weights.
    weights : ndarray
        The weights that the policy uses: a row for each arm, or a single row if they are shared.
    low, high : ndarray
        Confidence intervals for the true weights, valid at all times and together for a row;
        infinite where the features so far say nothing.
    level : float
        Their level, for each row.
    assumption : str
        What they assume of rewards.
    policy : str
        The policy's label.
    round, horizon : int
        The next round, and the horizon.
    open_horizon : bool
        Whether the horizon grows whenever it is reached.

    Examples
    --------
    >>> import ocucb
    >>> bandit = ocucb.LinearBandit(["red", "green"], features=["evening"], sigma=1)
    >>> bandit.tell(["red", "green"], [1.0, 0.2], [[1], [1]])
    >>> bandit.summary().weights
    array([[0.5],
           [0.1]])
    """

    arms: list[Arm]
    pulls: Counts
    open: Counts
    mean: Floats
    share: Floats
    retired: Flags
    features: list[str]
    shared: bool
    weights: Floats
    low: Floats
    high: Floats
    level: float
    assumption: str
    policy: str
    round: int
    horizon: int
    open_horizon: bool

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each weight, and its arm (None if arms share the weights).

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.LinearBandit("ab", features=2, sigma=1)
        >>> [(row["arm"], row["feature"]) for row in bandit.summary().rows()]
        [('a', 'x1'), ('a', 'x2'), ('b', 'x1'), ('b', 'x2')]
        """
        owners = [None] if self.shared else self.arms
        return [
            {"arm": arm, "feature": name, "weight": weight, "low": low, "high": high}
            for arm, *row in zip(owners, self.weights, self.low, self.high, strict=True)
            for name, weight, low, high in zip(
                self.features, *(part.tolist() for part in row), strict=True
            )
        ]

    def _tables(self) -> list[list[tuple[str, ...]]]:
        """Return two tables as text: of the arms, and of the weights."""
        busiest = np.argsort(-self.share, kind="stable")[:_MOST_ROWS].tolist()
        arms: list[tuple[str, ...]] = [("arm", "pulls", "open", "mean", "share")]
        for i in sorted(busiest):
            name = f"{self.arms[i]} (retired)" if self.retired[i] else f"{self.arms[i]}"
            counts = f"{self.pulls[i]:,}", f"{self.open[i]:,}"
            arms.append(
                (name, *counts, number_text(self.mean[i], 3), f"{100 * self.share[i]:.1f}%")
            )
        digits = digits_of(self.high - self.low)
        level = f"{100 * self.level:g}% interval ({'all' if self.shared else 'of an arm'})"
        weights: list[tuple[str, ...]] = [("arm", "feature", "weight", level)]
        order = [0] if self.shared else busiest
        for i in order:
            for name, weight, low, high in zip(
                self.features, self.weights[i], self.low[i], self.high[i], strict=True
            ):
                known = np.isfinite(high - low)
                both = f"{low:.{digits}f}–{high:.{digits}f}" if known else ""
                owner = "all" if self.shared else str(self.arms[i])
                weights.append((owner, name, number_text(weight, digits), both))
        return [arms, weights[: _MOST_ROWS + 1]]

    def _notes(self) -> list[str]:
        """Return what is said below the tables."""
        more = " or more" if self.open_horizon else ""
        hidden = self.weights.size - _MOST_ROWS
        notes = [f"and {hidden:,} more weights"] if hidden > 0 else []
        return [*notes, f"round {self.round:,} of {self.horizon:,}{more}, {self.policy}"]

    def table(self) -> str:
        """Return a line for each arm and each weight, or for the first 40.

        >>> import ocucb
        >>> print(ocucb.LinearBandit("ab", features=1, sigma=1).summary().table())
        arm  pulls  open  mean  share
        a        0     0         0.0%
        b        0     0         0.0%
        <BLANKLINE>
        arm  feature  weight  95% interval (of an arm)
        a    x1        0.000
        b    x1        0.000
        round 1 of 1,000 or more, LinOCUCB
        """
        arms, weights = self._tables()
        return "\n".join([table(arms), "", table(weights, left=(0, 1, 3)), *self._notes()])

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        arms, weights = self._tables()
        return html_table(arms) + html_table(weights, self._notes())


def summarize(
    names: list[Arm],
    features: Features,
    rules: Rules,
    state: State,
    open_horizon: bool,
    level: float,
) -> LinearSummary:
    """Return the summary of a state."""
    model, counts = parts(state), state.counts
    observed, pending = counts[OBSERVED], counts[OPEN]
    sign = -1.0 if rules.minimize else 1.0
    mean: Floats = np.full(observed.size, np.nan)
    np.divide(sign * counts[SUM], observed, out=mean, where=observed > 0)
    learnt = learnt_from(rules, state, sign)
    sets, d = model.weights.shape
    each = np.repeat(np.arange(sets), d)
    low, high = learnt.intervals(np.tile(np.eye(d), (sets, 1)), each, level)
    pulls = observed + pending
    return LinearSummary(
        arms=names,
        pulls=observed.astype(np.int64),
        open=pending.astype(np.int64),
        mean=mean,
        share=pulls / max(1.0, pulls.sum()),
        retired=np.arange(observed.size) >= state.clock[ACTIVE],
        features=list(features.names),
        shared=features.shared,
        weights=sign * model.weights + 0.0,
        low=low.reshape(sets, d),
        high=high.reshape(sets, d),
        level=level,
        assumption=learnt.assumption,
        policy=rules.policy.label,
        round=int(state.clock[ROUNDS]) + 1,
        horizon=int(state.horizon),
        open_horizon=open_horizon,
    )


def learnt_from(rules: Rules, state: State, sign: float) -> LeastSquares:
    """Return what rewards, or losses, say about the weights."""
    model, ridge = parts(state), rules.policy.parameters.get("ridge", 1.0)
    return LeastSquares.of(model.gram, sign * model.response, ridge, state.sigma)


def evidence_of(rules: Rules, state: State, features: Floats) -> LinearEvidence:
    """Return what rewards say about the means of the active arms, losses as losses."""
    model, n = parts(state), int(state.clock[ACTIVE])
    shared = model.weights.shape[0] == 1
    x = np.broadcast_to(features, (n, features.shape[1]))
    sets = np.zeros(n, np.int64) if shared else np.arange(n)
    sign = -1.0 if rules.minimize else 1.0
    squares = np.einsum("ai,aij,aj->a", x, model.inverse[sets], x)
    pulls = np.zeros(n)
    if state.counts[OBSERVED].any():
        np.divide(1.0, squares, out=pulls, where=squares > 0.0)
    return LinearEvidence(
        pulls,
        sign * np.einsum("ai,ai->a", x, model.weights[sets]),
        np.zeros(n),
        sigma=state.sigma,
        independent=not shared or n == 1,
        model=learnt_from(rules, state, sign),
        features=x,
        sets=sets,
    )
