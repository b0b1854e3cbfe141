"""The proof of theorem 1 at work: its lemmas checked one by one, on random walks and on real runs.

A lemma makes a promise: a probability that is not exceeded, a constant that suffices, a sum that is
large enough. Beside each promise, `check_lemmas` puts what is found:

- *Algebra* (lemmas 3 to 5, 14, 17, 18): both sides are computed.
- *Concentration* (lemmas 6 to 10): how often the events fail, by importance sampling, since plain
  walks never show it. A walk is drawn from a mixture in which one arm's first rewards drift to the
  boundary, and weighted by its likelihood ratio.
- *The algorithm* (lemmas 11 to 13, and 15): OCUCB is played, and at every round we ask how large
  the constants c_2, c_6, c_7 and c_9 would have to be for the lemma to hold in this run. The
  proof's own constants are far larger.

The lemmas about δ and u hold for any c_6, c_9, c_10 and γ, so small ones are used: with the
constants that the whole proof needs, u exceeds every horizon that can be played, and there
would be nothing to see.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._keywords import hinted
from .._text import table, to_count, to_float
from .._types import Counts, Floats
from .._vectors import Numbers
from ..random import to_generator
from ._constants import c_gamma, constants
from ._proof import Proof, proof
from ._quantities import in_range
from ._upper import ocucb_sum

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

# constants that are small enough for something to be seen
_LEAN_GAMMA, _LEAN_C6, _LEAN_C9, _LEAN_C10 = 1.4, 1.0, 8.0, 1.5
_WALKS = 100  # times the runs: walks are cheap
_PLAIN = 0.2  # share of the mixture that is not tilted
_CHUNK = 2_000_000  # rewards that are drawn at a time


@dataclass(frozen=True)
class LemmaCheck:
    """A lemma's promise, and what is found.

    Attributes
    ----------
    lemma : str
        Its number, with the part that is checked.
    says : str
        The promise.
    kind : {"algebra", "probability", "constant"}
        What the two numbers are: the sides of an inequality, probabilities, or the constant of the
        proof and the one that the runs need.
    promised, found : float
        The lemma holds if `found` is at most `promised`.
    error : float
        The standard error of `found`; 0 if it is exact.

    Examples
    --------
    >>> from ocucb import theory
    >>> found = theory.check_lemmas([0.0, -0.5, -1.0], 500, runs=20, rng=1)
    >>> found.checks[0].holds
    True
    """

    lemma: str
    says: str
    kind: str
    promised: float
    found: float
    error: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the promise is kept, up to two standard errors."""
        return self.found - 2.0 * self.error <= self.promised * (1.0 + 1e-9)

    @property
    def generosity(self) -> float:
        """How many times more is promised than needed."""
        return math.inf if self.found <= 0.0 else self.promised / self.found


@dataclass(frozen=True, eq=False)
class LemmaReport:
    """The lemmas of the proof for one problem, as `check_lemmas` returns them.

    Attributes
    ----------
    proof : Proof
        The quantities of the proof.
    gap : float
        The Δ at which probabilities are compared.
    checks : list of LemmaCheck
    walk : array
        The running means of the best arm's noise in one run, for the picture.

    Examples
    --------
    >>> from ocucb import theory
    >>> found = theory.check_lemmas([0.0, -0.5, -1.0], 500, runs=20, rng=1)
    >>> found["3"].lemma
    '3'
    >>> found.table().split()[:2]
    ['lemma', 'says']
    >>> figure = found.plot()
    """

    proof: Proof
    gap: float
    checks: list[LemmaCheck]
    walk: Floats

    def __getitem__(self, lemma: str) -> LemmaCheck:
        """Return the check of a lemma."""
        return next(check for check in self.checks if check.lemma == lemma)

    def table(self) -> str:
        """Return the report as text."""
        rows = [("lemma", "says", "promised", "found", "generous by")]
        for c in self.checks:
            bar = f" ± {2.0 * c.error:.1g}" if c.error else ""
            by = f"{c.generosity:.3g}" if c.holds else "does not hold"
            rows.append((c.lemma, c.says, f"{c.promised:.3g}", f"{c.found:.3g}{bar}", by))
        return table(rows, left=(0, 1))

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, ax: matplotlib.axes.Axes | None = None,
        xscale: str | None = None, yscale: str | None = None,
        labels: Sequence[str] | Mapping[str, str] | None = None, title: str | None = None,
    ) -> matplotlib.figure.Figure:  # fmt: skip
        """Draw a walk within its boundary, and promises beside findings.

        On the axes that are given, the walk is left out. Labels are those of the lemmas.
        """
        from ..figures import Look, written
        from ._figures import lemmas_at_work

        look = Look(ax, xscale, yscale, labels, title)
        t = np.unique(np.geomspace(1, self.walk.size, 200).astype(np.int64))
        names = {"F": "failure event"}
        rows = [
            (names.get(c.lemma, f"lemma {c.lemma}"), c.kind, c.promised, c.found)
            for c in self.checks
        ]
        edges = {beta: _boundary(self.proof, t, self.gap, beta) for beta in (1.0, 2.0)}
        return written(lemmas_at_work(rows, t, self.walk[t - 1], edges, look), path)


@hinted
def check_lemmas(
    means: Numbers,
    horizon: float,
    runs: int = 400,
    *,
    rng: Any = None,
    gap: float | None = None,
    alpha: float = 3.0,
    psi: float = 2.0,
    given: Proof | None = None,
) -> LemmaReport:
    """Check every lemma of the proof of theorem 1 for one problem, and along simulated runs.

    Parameters
    ----------
    horizon : int
        Rounds, n. All rewards that any arm could ever pay are drawn, Gaussian with standard
        deviation 1, so it should be some thousands at most.
    runs : int, optional
        Runs of OCUCB; a hundred times as many walks are drawn for the probabilities.
    gap : float, optional
        The Δ at which probabilities are compared; the smallest gap by default.
    given : Proof, optional
        The quantities of the proof, as from `proof`; by default with small constants.

    Examples
    --------
    >>> from ocucb import theory
    >>> found = theory.check_lemmas([0.0, -0.5, -1.0], 500, runs=20, rng=1)
    >>> all(check.holds for check in found.checks)
    True
    """
    quantities = given or proof(
        means, horizon, gamma=_LEAN_GAMMA, c6=_LEAN_C6, c9=_LEAN_C9, c10=_LEAN_C10
    )
    problem = quantities.problem
    runs = to_count(runs, "runs", 2)
    if problem.best_arms > 1 or not problem.suboptimal.size:
        raise ValueError("the lemmas are about one best arm and at least one other.")
    at = float(problem.suboptimal[0]) if gap is None else in_range(gap, "gap")
    alpha, psi = to_float(alpha, "alpha"), to_float(psi, "psi")
    streams = to_generator(rng)
    checks = _algebra(quantities, at)
    checks += _concentration(quantities, at, _WALKS * runs, streams)
    played, walk = _algorithm(quantities, runs, streams, alpha, psi)
    return LemmaReport(quantities, at, checks + played, walk)


# --- algebra ------------------------------------------------------------------------------------


def _algebra(p: Proof, gap: float) -> list[LemmaCheck]:
    from scipy.integrate import quad

    problem, widths = p.problem, p.problem.suboptimal
    u = p.u[problem.best_arms :]
    extra = max(0.0, -math.log(p.c6 * p.c9 * math.log(p.c10 / p.most)))
    factor = p.c9 * (1 + math.log(p.c10) + extra)
    first, u_first = float(widths[0]), float(u[0])
    integral = quad(lambda x: p.u_at(1 / x) / x**2, 1e-9, 1 / first, limit=200)[0]
    other = 2.0 * first
    rows = [
        ("3", "Σ Δ_i u_i <= c_9 (1 + log c_10) Σ log⁺(n/H_i)/Δ_i",
         factor * ocucb_sum(problem), float((widths * u).sum())),
        ("4", "δ_S <= δ_T S/T, for S = u_2, T = 1", p.delta(1.0) * u_first, p.delta(u_first)),
        ("5", "δ̃_Δ <= c_5/n (…)", p.delta_tilde_bound(gap), p.delta_tilde(gap)),
        ("14", "∫ u_Δ over Δ > Δ_2 <= c_9/Δ_2 (2 + log(c_10/δ_2))",
         p.c9 / first * (2 + math.log(p.c10 / p.delta_at(first))), float(integral)),
        ("17", "δ at Δ_2 over δ at 2 Δ_2 <= 4", 4.0, p.delta_at(first) / p.delta_at(other)),
        ("18", "u at Δ_2 over u at 2 Δ_2 <= 4", 4.0, p.u_at(first) / p.u_at(other)),
    ]  # fmt: skip
    return [LemmaCheck(lemma, says, "algebra", a, b) for lemma, says, a, b in rows]


# --- concentration ------------------------------------------------------------------------------


def _boundary(p: Proof, t: Counts, gap: float, beta: float = 1.0) -> Floats:
    """Return the boundary of lemma 6 for the mean of t rewards."""
    logs = np.log(1 / np.array([p.delta(float(s)) for s in t]))
    edge: Floats = np.sqrt(2 * p.gamma * beta / t * logs) + math.sqrt(2) * p.gamma * gap
    return edge


def _length(p: Proof, gap: float) -> int:
    """Return after how many pulls no boundary is reached any more, but with probability 1e-12."""
    slope = math.sqrt(2) * p.gamma * gap
    return min(p.problem.horizon, math.ceil(60.0 / slope**2))


def _concentration(
    p: Proof, gap: float, runs: int, streams: np.random.Generator
) -> list[LemmaCheck]:
    K, length = p.problem.arms, _length(p, gap)
    t = np.arange(1, length + 1)
    edge = _boundary(p, t, gap)
    lengths = 2 ** np.arange(int(math.log2(length)) + 1)
    shifts = edge[lengths - 1]  # the drift that leads to the boundary in so many pulls
    found: list[Floats] = []
    for first in range(0, runs, max(1, _CHUNK // (K * length))):
        count = min(runs - first, max(1, _CHUNK // (K * length)))
        noise = streams.standard_normal((count, K, length))
        tilted = streams.random(count) >= _PLAIN
        arm, part = streams.integers(K, size=count), streams.integers(lengths.size, size=count)
        sign = streams.choice([-1.0, 1.0], size=count)
        for r in np.flatnonzero(tilted):
            noise[r, arm[r], : lengths[part[r]]] += sign[r] * shifts[part[r]]
        sums = noise.cumsum(axis=2)
        at = sums[:, :, lengths - 1]
        exponents = shifts * at - lengths * shifts**2 / 2
        ratios = np.exp(exponents) + np.exp(exponents - 2 * shifts * at)
        share = (1 - _PLAIN) / (2 * K * lengths.size)
        weights = 1 / (_PLAIN + share * ratios.sum(axis=(1, 2)))
        found.append(np.column_stack([weights, p.beta(sums / t, gap)]))
    both = np.concatenate(found)
    weights, beta = both[:, 0], both[:, 1:]
    events = failure_events(p, beta, gap)
    promised = p.delta_tilde(gap)
    rows = [
        ("6", "P{β_1 > 2} <= δ̃/4", promised / 4, beta[:, 0] > 2),
        ("7", "P{β_1 > 1} <= δ̃", promised, beta[:, 0] > 1),
        ("8", "P{not (C2)} <= 2 δ̃", 2 * promised, events["C2"]),
        ("9", "P{not (C3)} <= 24 δ̃", 24 * promised, events["C3"]),
        ("10", "P{not (C4)} <= 13 δ̃", 13 * promised, events["C4"]),
        ("F", "P{F_Δ} <= 41 δ̃", 41 * promised, np.any(list(events.values()), axis=0)),
    ]
    checks = []
    for lemma, says, most, event in rows:
        values = weights * event
        error = float(values.std() / math.sqrt(values.size))
        checks.append(LemmaCheck(lemma, says, "probability", most, float(values.mean()), error))
    return checks


def failure_events(p: Proof, beta: Floats, gap: float, c8: float = 1.0) -> dict[str, Any]:
    """Tell which of (C1) to (C4) fail, for β_{i,Δ} of every arm in every run.

    Parameters
    ----------
    p : Proof
        The quantities of the proof.
    beta : numpy.ndarray
        Runs by arms, as from `Proof.beta`, with arms in order of increasing gaps.
    gap : float
        Δ.
    c8 : float, optional
        (C2) is about arms with gaps of at least c_8 Δ.

    Returns
    -------
    dict
        For "C1", "C2", "C3" and "C4", whether it failed in each run.

    Examples
    --------
    >>> import numpy as np
    >>> from ocucb import theory
    >>> quantities = theory.proof([0.0, -0.5], 1000)
    >>> failed = theory.failure_events(quantities, np.array([[1.0, 1.0], [1.5, 1.0]]), 0.5)
    >>> failed["C1"].tolist(), failed["C4"].tolist()
    ([False, True], [False, False])
    """
    u, widths = p.u, p.problem.gaps
    # Ratios of sums of min(u_i, T) are monotone in T between the u_i, and constant beyond.
    levels = np.concatenate([[1.0], u[np.isfinite(u)], [2e3 * u[np.isfinite(u)].max()]])
    least = np.minimum.outer(levels, u)  # (levels, arms)
    total = least.sum(axis=1)
    far = widths >= c8 * gap
    cost = np.where(far, widths * np.where(np.isfinite(u), u, 0.0), 0.0)
    return {
        "C1": beta[:, 0] > 1.0,
        "C2": (beta * cost).sum(axis=1) > 2.0 * cost.sum(),
        "C3": (((beta == 1.0) @ least.T) < 0.2 * total).any(axis=1),
        "C4": ((beta @ least.T) > 67.0 * total).any(axis=1),
    }


# --- the algorithm ------------------------------------------------------------------------------


def _algorithm(
    p: Proof, runs: int, streams: np.random.Generator, alpha: float, psi: float
) -> tuple[list[LemmaCheck], Floats]:
    """Play OCUCB with all rewards drawn beforehand, and ask what constants its lemmas need."""
    problem, n = p.problem, p.problem.horizon
    K, widths = problem.arms, problem.gaps
    size = max(2, _CHUNK // (K * n))
    needs = dict.fromkeys(("c2", "c6", "c7", "c9"), 0.0)
    enough = p.most * n / K  # from this c_6 on, δ is at its cap and there is nothing to prove
    lost: list[float] = []
    walk = np.zeros(0)
    T = np.arange(n + 1)
    total = np.minimum.outer(T.astype(float), p.u).sum(axis=1)
    delta = np.minimum(p.most, p.c6 / n * total)
    for first in range(0, runs, size):
        count = min(size, runs - first)
        noise = streams.standard_normal((count, K, n))
        running = noise.cumsum(axis=2)
        centred = running / T[1:]
        if first == 0:
            walk = centred[0, 0].copy()
        failure = np.array([_last_failure(p, centred[r : r + 1]) for r in range(count)])
        beta = np.array([p.beta(centred[r], d) for r, d in enumerate(failure)])
        u_failure = np.array([p.u_at(d) if d > 0 else math.inf for d in failure])
        cap = np.minimum(p.u, u_failure[:, None])  # min(u_i, u at Δ̃)
        far = widths >= failure[:, None]
        pulls = np.ones((count, K), dtype=np.int64)
        each = np.arange(count)
        sums = running[:, :, 0] - widths
        history = np.empty((n - K, count), dtype=np.int32)
        for t in range(K + 1, n + 1):
            index = sums / pulls + np.sqrt(alpha / pulls * math.log(psi * n / t))
            played = index.argmax(axis=1)
            mine = pulls[each, played][:, None] / beta[each, played][:, None]
            sure = (beta == 1.0) & (pulls < cap) & (psi * n / t * delta[pulls] >= 1.0)
            needs["c2"] = max(needs["c2"], float(np.where(sure, mine / pulls, 0.0).max()))
            history[t - K - 1] = played
            asked = np.where(far, psi * n * delta[pulls] / (beta * t), 0.0)
            needs["c7"] = max(needs["c7"], float(asked.max()))
            sums[each, played] += noise[each, played, pulls[each, played]] - widths[played]
            pulls[each, played] += 1
        for r in range(count):
            while needs["c6"] < enough and not _waits_enough(
                replace(p, c6=max(needs["c6"], p.c6)), centred[r], history[:, r], psi
            ):
                needs["c6"] = min(enough, 1.25 * max(needs["c6"], p.c6))
        used = np.where(far & (widths > 0), (pulls - 1) / (beta * p.u), 0.0)
        needs["c9"] = max(needs["c9"], p.c9 * float(used.max()))
        lost += [float(d) if d >= widths[1] else 0.0 for d in failure]
    whole = constants(alpha, psi)
    rows = [
        ("11", "c_2 that keeps arm j waiting", whole.c2, needs["c2"]),
        ("13, 1", "c_6 with which t <= ψ n δ at T_i", whole.c6, needs["c6"]),
        ("13, 2", "c_7 with which c_7 β_j t >= ψ n δ at T_j", whole.c7, needs["c7"]),
        ("12, 13", "c_9 with which T_j <= β_j u_j + 1", whole.c9, needs["c9"]),
    ]
    checks = [LemmaCheck(lemma, says, "constant", a, b) for lemma, says, a, b in rows]
    u = p.u[problem.best_arms :]
    cost = float((problem.suboptimal * u).sum())
    mean, error = n * float(np.mean(lost)), n * float(np.std(lost)) / math.sqrt(runs)
    says = "n E[Δ̃ 1{Δ̃ >= Δ_2}] <= c_11 Σ Δ_i u_i"
    peeled = p.c6 * c_gamma(p.gamma, p.most) * (2 * p.gamma - 1) / (p.gamma - 1)
    promised = 41.0 * 7.0 * peeled * cost  # the paper's c_11 with c_8 = 1, times P{F}
    checks.append(LemmaCheck("15", says, "algebra", promised, mean, error))
    return checks, walk


def _waits_enough(p: Proof, centred: Floats, history: Any, psi: float) -> bool:
    """Tell whether statement 1 in the proof of lemma 13 holds throughout a run.

    For every arm with β = 1 and T < min(u, u at Δ̃), the round is at most ψ n δ_T.
    """
    problem, n = p.problem, p.problem.horizon
    failure = _last_failure(p, centred[None])
    beta = p.beta(centred, failure)
    most = p.u_at(failure) if failure > 0 else math.inf
    for i in np.flatnonzero(beta == 1.0):
        # the last round with T pulls is that in which the arm is pulled again
        last = np.append(np.flatnonzero(history == i) + problem.arms + 1, n)
        T = np.arange(1, last.size + 1)
        small = min(float(p.u[i]), most) > T
        delta = np.array([p.delta(float(x)) for x in T[small]])
        if (last[small] > psi * n * delta).any():
            return False
    return True


def _last_failure(p: Proof, centred: Floats) -> float:
    """Return Δ̃, the largest Δ at which (C1), (C3) or (C4) fails; 0 if they never do.

    They are monotone: as Δ grows, β falls. (C2) is not, and is not needed (docs/slips.md).
    """

    def fails(gap: float) -> bool:
        events = failure_events(p, p.beta(centred, gap)[:1].reshape(1, -1), gap)
        return bool(events["C1"][0] or events["C3"][0] or events["C4"][0])

    if not fails(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while fails(high):
        low, high = high, 2.0 * high
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fails(middle) else (low, middle)
    return high
