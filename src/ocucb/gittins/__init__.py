"""Finite-horizon Gittins indices: how much an arm's future is worth above its mean.

An arm competes with a safe alternative that pays a known amount per round. With m rounds left,
including the current one, the arm's index is the amount for which an optimal player is indifferent.
With Gaussian rewards under a flat prior it is mean + sigma g(m, T) after T pulls; with rewards of 0
and 1 it is a function of m, successes and failures. docs/gittins.md has the mathematics: the
backward pass over a diagonal d = m + T (`_kernels.backward_pass`), the exact recursion for
Bernoulli rewards (`_bernoulli_kernels.calibrate`), and the tables in which both are interpolated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._text import shown, to_count, to_float, to_floats
from .._types import Floats
from . import _bernoulli, _gaussian, _tables
from ._bernoulli_kernels import bernoulli_index
from ._kernels import EXACT, LOG_STEP, offset, offsets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "approximate_offset", "bernoulli_index", "bernoulli_surrogate", "brownian_limit", "index",
    "offset", "plot", "surrogate",
]  # fmt: skip

MAX_HORIZON = 1_000_000  # 64 points per pass are verified up to here; at 10^7 they break down
MAX_BERNOULLI_HORIZON = 5_000

_MIN_CELLS = 8  # even for a short horizon: interpolation in the last cells is one-sided


def index(m: ArrayLike, T: ArrayLike, sigma: float = 1.0) -> Floats:
    """Gittins offset sigma * g(m, T), the amount added to an arm's mean reward.

    For up to four distinct sums m + T, each is computed to 1e-9 by a backward pass; for more,
    the values come from the surrogate of the smallest sufficient horizon, to 1e-8.

    Parameters
    ----------
    m : array_like of int
        Rounds left, including the current one; at least 1. With one round left, the offset is 0.
    T : array_like of int
        Number of times the arm has been pulled, at least 1. Broadcast against `m`.
    sigma : float, optional
        Standard deviation of the rewards.

    Returns
    -------
    numpy.ndarray
        With the broadcast shape of `m` and `T`.

    Examples
    --------
    >>> from ocucb import gittins
    >>> gittins.index([1, 2, 10, 1000], 1).round(6)
    array([0.      , 0.195183, 0.735341, 2.345216])
    """
    sigma = to_float(sigma, "sigma")
    if not (math.isfinite(sigma) and sigma >= 0):
        raise ValueError(f"sigma must be finite and at least 0, got {sigma}.")
    left, pulls = np.broadcast_arrays(_counts(m, "m"), _counts(T, "T"))
    sums = np.unique(left + pulls)
    if sums.size and sums[-1] > MAX_HORIZON + 1:
        raise ValueError(f"m + T must be at most {MAX_HORIZON + 1}, got {int(sums[-1])}.")
    out = np.empty(left.shape)
    if sums.size <= 4:
        for d in sums.astype(int).tolist():
            on = left + pulls == d
            out[on] = _gaussian.diagonal(d)[left[on].astype(int) - 1]
    else:
        table = surrogate(int(sums[-1]) - 1)
        offsets(left.ravel(), pulls.ravel(), table, out.reshape(-1))
    return sigma * out


def surrogate(horizon: int) -> Floats:
    """Table from which the kernel `offset` evaluates g(m, T) for all m + T <= horizon + 1.

    The table is computed once (a fraction of a second at horizon 10^4, several seconds at 10^6),
    then kept in memory and in the user's cache directory; it takes less than 1 MB. It is shared, so
    do not modify it.

    Parameters
    ----------
    horizon : int
        Number of rounds, from 1 to 1,000,000.

    Returns
    -------
    numpy.ndarray
        One-dimensional; its layout is private to `offset`. Horizons that need the same
        diagonals share one table.

    Examples
    --------
    >>> from ocucb import gittins
    >>> table = gittins.surrogate(1000)
    >>> round(gittins.offset(10, 10, table), 9)
    0.123034752
    """
    horizon = _horizon(horizon, MAX_HORIZON)
    cells = max(_MIN_CELLS, math.ceil(math.log((horizon + 1) / EXACT) / LOG_STEP))
    return _tables.table(f"gittins-gaussian-v2-{cells}", lambda: _gaussian.build(cells))


def approximate_offset(pulls: float, t: float, horizon: float) -> float:
    """Closed-form approximation of the Gittins offset, for unit noise.

    With M = horizon - t it is sqrt(2 log(beta) / T), where

        beta = max{1, min[M / (4 log(M)^(3/2)), M / (4 T log(M/T)^(1/2))]}.

    The formula applies wherever both logarithms are positive. For M <= 1 or M <= T one of
    them is not; then too little time is left for learning to pay off, beta is 1 and the offset 0.
    (Just above M = T the second term grows without bound as its logarithm vanishes, so for
    T < M < 1.066 T the formula has a short bump, the only place where the offset of
    an unplayed arm can rise.)

    Parameters
    ----------
    pulls : float
        Number of times the arm has been pulled, T >= 1.
    t : float
        Current round, counted from 1.
    horizon : float
        Number of rounds.

    Examples
    --------
    >>> from ocucb import gittins
    >>> round(gittins.approximate_offset(10, 1, 10_000), 6)
    0.947995
    >>> gittins.approximate_offset(600, 500, 1000)
    0.0
    """
    left = horizon - t
    if left <= 1.0 or left <= pulls:
        return 0.0
    beta = min(
        left / (4.0 * math.log(left) ** 1.5),
        left / (4.0 * pulls * math.sqrt(math.log(left / pulls))),
    )
    return math.sqrt(2.0 / pulls * math.log(max(1.0, beta)))


def brownian_limit(ratio: ArrayLike) -> Floats:
    """Limit G(m/T) of sqrt(T) g(m, T) as m and T grow at a fixed ratio.

    In the limit the posterior mean is a Brownian motion. To first order, discreteness shifts the
    boundary (the usual continuity correction): g(m, T) = G(m/T) / sqrt(T) - 0.5826 / T
    + ... At a fixed ratio this is a series in d^(-1/2), which is extrapolated to 0 from the
    diagonals 2^12, 2^14 and 2^16. The result is accurate to 1e-6 near ratio 1 and 2e-4 at the ends.

    Parameters
    ----------
    ratio : array_like
        m/T, from 1/256 to 256.

    Returns
    -------
    numpy.ndarray
        With the shape of `ratio`.

    Examples
    --------
    >>> from ocucb import gittins
    >>> gittins.brownian_limit([0.1, 1, 10]).round(3)
    array([0.199, 0.577, 1.284])
    """
    ratios = to_floats(ratio, "ratio", "between 1/256 and 256")
    if not np.all((ratios >= 1 / 256) & (ratios <= 256)):
        raise ValueError(f"ratio must lie between 1/256 and 256, got {shown(ratio)}.")
    logs = np.log(ratios.ravel())
    coarse, middle, fine = (
        _gaussian.along(_gaussian.by_deviation(_gaussian.diagonal(d)), logs)
        for d in (2**12, 2**14, 2**16)
    )
    scaled: Floats = (coarse - 6.0 * middle + 8.0 * fine) / 3.0
    limit: Floats = scaled.reshape(ratios.shape) * np.sqrt(ratios / (1.0 + ratios))
    return limit


def plot(horizon: int = 10_000) -> Figure:
    """Plot g over (m, T), and sqrt(T) g against m/T with its Brownian limit.

    Parameters
    ----------
    horizon : int, optional
        Number of rounds, at least 100.

    Examples
    --------
    >>> from ocucb import gittins
    >>> figure = gittins.plot(1000)
    >>> figure.savefig("gittins.png")  # doctest: +SKIP
    """
    from .._matplotlib import Figure, colormaps

    horizon = to_count(horizon, "horizon", 100)
    table = surrogate(horizon)
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)

    counts = np.unique(np.geomspace(1, horizon, 240).astype(int)).astype(np.float64)
    m, T = np.meshgrid(counts[counts > 1], counts)
    g = np.full(m.shape, np.nan)
    inside = m + T <= horizon + 1
    values = np.empty(int(inside.sum()))
    offsets(m[inside], T[inside], table, values)
    g[inside] = values
    exponents = np.arange(math.floor(np.log10(values.min())), 1.01, 0.25)
    shades = left.contourf(m, T, np.log10(g), levels=exponents, cmap="viridis")
    whole = exponents[np.isclose(exponents, np.rint(exponents))]
    left.contour(m, T, np.log10(g), levels=whole, colors="white", linestyles="solid")
    bar = figure.colorbar(shades, ax=left, ticks=whole, label="offset g(m, T)")
    bar.ax.set_yticklabels([f"$10^{{{int(level)}}}$" for level in whole])
    left.set(xscale="log", yscale="log", xlabel="rounds left m", ylabel="pulls T")
    left.set_title(f"Gittins offset for unit noise, horizon {horizon:,}")

    pulls = [T for T in (1, 3, 10, 30, 100, 1000) if horizon >= 10 * T]
    for k, T_fixed in enumerate(pulls):
        rounds = counts[(counts > 1) & (counts + T_fixed <= horizon + 1)]
        values = np.empty(rounds.size)
        offsets(rounds, np.full(rounds.size, float(T_fixed)), table, values)
        shade = colormaps["viridis"](0.8 * k / len(pulls))
        label = f"T = {T_fixed:,}"
        right.plot(rounds / T_fixed, math.sqrt(T_fixed) * values, color=shade, label=label)
    ratios = np.geomspace(1 / 256, 256, 200)
    right.plot(ratios, brownian_limit(ratios), "k:", label="Brownian limit G(m/T)")
    right.set(xscale="log", xlabel="m / T", ylabel=r"$\sqrt{T}\, g(m, T)$", xlim=(1e-3, horizon))
    right.set_title("The scaling law")
    right.legend(frameon=False)
    return figure


def bernoulli_surrogate(horizon: int, prior: tuple[float, float] = (1.0, 1.0)) -> Floats:
    """Table from which the kernel `bernoulli_index` evaluates the index of a Bernoulli arm.

    It covers all states with m + successes + failures <= horizon, including the unplayed arm. The
    index is exact for m + successes + failures <= 128; beyond that, interpolation has a root mean
    square error of 6e-7 and a largest error of 2e-5 over 377,000 random states at horizon 1000. The
    time grows as the square of the horizon: about 10 s at 1000, for a table of 7 MB. The
    table is kept in memory and in the user's cache directory. It is shared, so do not modify it.

    Parameters
    ----------
    horizon : int
        Number of rounds, from 1 to 5000.
    prior : pair of float, optional
        Parameters of every arm's Beta prior, positive; uniform by default.

    Returns
    -------
    numpy.ndarray
        One-dimensional; its layout is private to `bernoulli_index`.

    Examples
    --------
    >>> from ocucb import gittins
    >>> table = gittins.bernoulli_surrogate(10)
    >>> round(gittins.bernoulli_index(2, 0, 0, table), 6)  # (1/2 + 1/2 * 2/3) / (1 + 1/2)
    0.555556
    """
    horizon = _horizon(horizon, MAX_BERNOULLI_HORIZON)
    parameters = to_floats(prior, "prior")
    if parameters.shape != (2,) or not (np.isfinite(parameters) & (parameters > 0)).all():
        raise ValueError(f"prior must be two positive numbers, got {shown(prior)}.")
    a, b = parameters.tolist()
    name = f"gittins-bernoulli-v2-{horizon}-{a!r}-{b!r}"
    return _tables.table(name, lambda: _bernoulli.build(horizon, a, b))


def _horizon(given: int, most: int) -> int:
    horizon = to_count(given, "horizon")
    if horizon > most:
        raise ValueError(f"horizon must be a whole number from 1 to {most}, got {horizon}.")
    return horizon


def _counts(values: ArrayLike, name: str) -> Floats:
    """Return whole numbers >= 1 as floats, or raise a ValueError naming the first other value."""
    array = to_floats(values, name, f"between 1 and {MAX_HORIZON}")
    bad = array[~((array >= 1) & (array == np.floor(array)) & (array < np.inf))]
    if bad.size:
        raise ValueError(f"{name} must be a whole number >= 1, got {bad.flat[0]:g}.")
    return array
