"""The table behind the index of Bernoulli arms: exact states and interpolation nodes.

docs/gittins.md explains the mathematics.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .._compile import cores
from .._types import Counts, Floats
from ._bernoulli_kernels import (
    ANGLES,
    EXACT,
    GRID_START,
    HEADER,
    HORIZON,
    M_NODES,
    M_STENCIL,
    PRIOR_A,
    PRIOR_B,
    ROW_NODES,
    ROW_START,
    ROW_STENCIL,
    SMALL,
    STENCIL,
    T_STENCIL,
    sweep,
)
from ._numerics import lagrange_weights

_EXACT = 128  # states with m + T up to here are stored individually


def build(horizon: int, a: float, b: float) -> Floats:
    """Compute the packed table that `bernoulli_index` reads."""
    exact = min(horizon, _EXACT)
    # A row needs m + T > exact with T < SMALL; the grid needs T >= SMALL and any m >= 2.
    row_nodes = _geometric(max(2, exact - SMALL), horizon, per_octave=12)
    m_nodes = np.concatenate([np.arange(2, 16), _geometric(16, horizon, per_octave=4)])
    total_nodes = (SMALL + a + b) * 2.0 ** (np.arange(-1, 4 * 20) / 4)
    total_nodes = total_nodes[: np.searchsorted(total_nodes, horizon + a + b) + 3]
    means = np.sin(0.5 * np.pi * np.arange(1, ANGLES) / ANGLES) ** 2

    def block(T: int) -> Floats:
        s = np.arange(T + 1, dtype=np.float64)
        return _scaled(np.arange(2, exact - T + 1), a + s, b + T - s, 1e-14)

    def rows(T: int) -> Floats:
        s = np.arange(T + 1, dtype=np.float64)
        return _scaled(row_nodes, a + s, b + T - s)

    def grid(node: int) -> Floats:
        # Nodes in m that no state within the horizon uses stay 0, and so do the two ends of
        # the angle, where the arm is certain.
        total = total_nodes[node]
        longest = horizon - (total_nodes[max(node - 2, 0)] - a - b)
        used = int(np.searchsorted(m_nodes, max(longest, 2.0))) + 3
        out = np.zeros((m_nodes.size, ANGLES + 1))
        out[:used, 1:-1] = _scaled(m_nodes[:used], total * means, total * (1.0 - means)).T
        return out

    parts = [np.zeros(HEADER)]
    header = parts[0]
    header[[HORIZON, PRIOR_A, PRIOR_B, EXACT]] = horizon, a, b, exact

    def append(entry: int, part: Floats) -> None:
        header[entry] = sum(earlier.size for earlier in parts)
        parts.append(part.ravel())

    with ThreadPoolExecutor(cores()) as pool:
        parts += [part.ravel() for part in pool.map(block, range(exact - 1))]
        if horizon > exact:
            every_m = np.arange(horizon + 1)
            append(ROW_STENCIL, _stencils(np.log(row_nodes), np.log(np.maximum(every_m, 1))))
            append(ROW_START, np.concatenate(list(pool.map(rows, range(SMALL)))))
            append(M_STENCIL, _stencils(np.log(m_nodes), np.log(np.maximum(every_m, 1))))
            append(T_STENCIL, _stencils(np.log(total_nodes), np.log(every_m + a + b)))
            append(GRID_START, np.array(list(pool.map(grid, range(total_nodes.size)))))
            header[[ROW_NODES, M_NODES]] = row_nodes.size, m_nodes.size
    return np.concatenate(parts)


def _scaled(rounds: Counts, a: Floats, b: Floats, tolerance: float = 1e-7) -> Floats:
    """Return the scaled offsets of Beta(a[i], b[i]) with rounds[j] rounds left, at [i, j]."""
    out = np.empty((a.size, rounds.size))
    sweep(rounds, a, b, tolerance, out)
    return out


def _geometric(first: int, last: int, per_octave: int) -> Counts:
    """Return distinct whole numbers at a constant ratio, from `first` to two beyond `last`."""
    octaves = math.log2(last / first)
    steps = np.arange(math.ceil(octaves * per_octave) + 3)
    return np.unique(np.rint(first * 2.0 ** (steps / per_octave)).astype(np.int64))


def _stencils(nodes: Floats, at: Floats) -> Floats:
    """Return, for every point, the first of the four nodes around it and their Lagrange weights."""
    first = np.clip(np.searchsorted(nodes, at, side="right") - 2, 0, nodes.size - 4)
    out = np.empty((at.size, STENCIL))
    out[:, 0] = first
    out[:, 1:] = lagrange_weights(nodes[first + np.arange(4)[:, None]], at).T
    return out
