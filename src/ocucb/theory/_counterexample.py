"""Section 2.1: the conjectured bound Σ (1/Δ_i) log⁺(n/H), and a problem on which it fails.

The means are 1/2, 1/2 - 1/K and 0, …, 0, and n = K². One barely suboptimal arm makes H larger than
n, so the conjecture says that the regret is of order K. But a policy with so little regret pulls
one of the bad arms so rarely that it would not notice if that arm were the best.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._keywords import hinted
from .._text import to_count, to_float
from .._vectors import Numbers
from ..problems import conjecture
from ._quantities import complexity, instance
from ._upper import ocucb_sum

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

DEFAULT_K = (10, 20, 40, 80, 160, 320)


def conjectured(means: Numbers, horizon: float, sigma: float = 1.0) -> float:
    """Return the conjectured order Σ (1/Δ_i) log⁺(n/H), Bubeck and Cesa-Bianchi (2012).

    Examples
    --------
    >>> import ocucb
    >>> from ocucb import theory
    >>> theory.conjectured(ocucb.conjecture(K=100).means, 10_000)  # K + 2 (K - 2): n/H is below 1
    296.0
    """
    problem = instance(means, horizon, sigma)
    if not problem.suboptimal.size:
        return 0.0
    log = max(1.0, math.log(problem.horizon / complexity(means, sigma)))
    return round(sigma * float((1 / problem.suboptimal).sum()) * log, 12)


def necessary(K: int, elsewhere: float) -> float:
    """Return the least regret on `conjecture(K)` of a policy whose regret on μ' is `elsewhere`.

    μ' raises one arm of mean 0 to 1. If x is the regret on μ, some such arm has
    E[T_i] <= 2x/(K-2), and telling the two problems apart requires
    x + elsewhere >= K²/8 exp(-x/(K-2)). The paper has K²/4: it overlooks that the gaps are 1/2.

    Parameters
    ----------
    K : int
        Number of arms, at least 3.
    elsewhere : float
        Regret on μ'.

    Examples
    --------
    >>> from ocucb import theory
    >>> 1000 < theory.necessary(1000, elsewhere=7000.0) < 4000
    True
    """
    from scipy.optimize import brentq

    K = to_count(K, "K", 3)
    elsewhere = to_float(elsewhere, "elsewhere", "between 0 and 1e308")
    if not 0 <= elsewhere < math.inf:
        raise ValueError(f"elsewhere must be a finite regret of at least 0, got {elsewhere:g}.")

    def missing(x: float) -> float:
        return K**2 / 8 * math.exp(-x / (K - 2)) - x - elsewhere

    return float(brentq(missing, 0.0, K**2)) if missing(0.0) > 0 else 0.0


@hinted
def counterexample(
    K: Sequence[int] = DEFAULT_K,
    runs: int = 100,
    *,
    rng: Any = None,
    policies: Sequence[Any] = ("ocucb", "ucb", "moss"),
    workers: int | None = None,
) -> list[dict[str, Any]]:
    """Return one row per K: what was conjectured, what theorem 1 says, what is measured.

    Parameters
    ----------
    K : list of int, optional
        Numbers of arms, each at least 3.
    runs : int, optional
        Runs per policy.
    policies : list of policies, optional
        Who plays.

    Returns
    -------
    list of dict
        ``K``, ``horizon``, ``conjectured`` and ``theorem1`` (orders, not bounds), ``necessary``
        (the least regret of a policy whose regret on μ' is at most theorem 1's order with constant
        1), and ``measured``: the result of each policy.

    Examples
    --------
    >>> from ocucb import theory
    >>> row, = theory.counterexample([10], runs=20, rng=1)
    >>> row["horizon"], row["conjectured"]
    (100, 26.0)
    """
    from ..simulation import simulate

    rows = []
    for arms in K:
        row = _known(arms)
        problem = conjecture(arms)
        result = simulate(policies, problem, row["horizon"], runs, rng=rng, workers=workers)
        rows.append({**row, "measured": list(result)})
    return rows


def _known(K: int) -> dict[str, Any]:
    """Return a row of `counterexample` before anything is measured."""
    problem = conjecture(to_count(K, "K", 3))
    n = problem.arms**2
    raised = problem.means.copy()
    raised[-1] = 1.0
    return {
        "K": problem.arms,
        "horizon": n,
        "conjectured": conjectured(problem.means, n),
        "theorem1": ocucb_sum(instance(problem.means, n)),
        "necessary": necessary(problem.arms, ocucb_sum(instance(raised, n))),
        "measured": [],
    }


def plot_counterexample(
    rows: Sequence[dict[str, Any]], path: str | os.PathLike[str] | None = None, *,
    ax: matplotlib.axes.Axes | None = None, xscale: str | None = None, yscale: str | None = None,
    labels: Sequence[str] | Mapping[str, str] | None = None, title: str | None = None,
) -> matplotlib.figure.Figure:  # fmt: skip
    """Draw the rows of `counterexample`: regret over K against K.

    Whatever needs no simulation is drawn up to 300 times as many arms, where the conjectured order,
    with constant 1, falls below what is necessary.

    Parameters
    ----------
    rows : list of dict
        What `counterexample` returned.

    Examples
    --------
    >>> from ocucb import theory
    >>> figure = theory.plot_counterexample(theory.counterexample([10, 20], runs=5, rng=1))
    """
    from ..figures import Look, written
    from ._figures import conjecture_fails

    if not rows:
        raise ValueError("rows must contain at least one row to draw, got none.")
    arms = [row["K"] for row in rows]
    between = {round(float(K)) for K in np.geomspace(min(arms), 300 * max(arms), 60)}
    known = [_known(K) for K in between - set(arms)]
    look = Look(ax, xscale, yscale, labels, title)
    every = sorted([*rows, *known], key=lambda row: int(row["K"]))
    return written(conjecture_fails(every, look), path)
