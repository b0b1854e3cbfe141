"""Which asks of a `LinearBandit` are open: an arm and the features with which it was chosen.

A model needs no more of them than the sum of x x' for each set of weights, whose owner is an arm,
or None if all arms share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from .._types import Floats
from .names import Arm


class OpenAsks:
    """One by one, so that a reward closes the ask that it belongs to.

    >>> asks = OpenAsks(shared=False)
    >>> asks.add("red", np.array([1.0, 2.0]))
    >>> asks.sum("red", 2)
    array([[1., 2.],
           [2., 4.]])
    >>> asks.close("red", np.array([1.0, 2.0])), asks.close("red", np.array([1.0, 2.0]))
    (True, False)
    """

    def __init__(self, shared: bool) -> None:
        self._shared = shared
        self._counts: Counter[tuple[Arm, bytes]] = Counter()

    def add(self, arm: Arm, x: Floats, count: int = 1) -> None:
        """Note that an arm was chosen with these features."""
        self._counts[arm, x.tobytes()] += count

    def close(self, arm: Arm, x: Floats) -> bool:
        """Forget an open ask, and return whether there was one."""
        key = arm, x.tobytes()
        count = self._counts.get(key, 0)
        if count > 1:
            self._counts[key] = count - 1
        elif count:
            del self._counts[key]
        return count > 0

    def sum(self, owner: Arm | None, d: int) -> Floats:
        """Return the sum of x x' over the open asks of a set of weights."""
        total = np.zeros((d, d))
        for arm, x, count in self:
            if self._shared or arm == owner:
                total += count * np.outer(x, x)
        return total

    def __iter__(self) -> Iterator[tuple[Arm, Floats, int]]:
        for (arm, text), count in self._counts.items():
            yield arm, np.frombuffer(text), count

    def __len__(self) -> int:
        return len(self._counts)


class SummedAsks:
    """Only the sums: for whoever knows which ask a reward belongs to.

    >>> asks = SummedAsks(shared=True)
    >>> asks.add("red", np.array([1.0]))
    >>> asks.close("red", np.array([1.0])), asks.sum(None, 1)
    (True, array([[0.]]))
    """

    def __init__(self, shared: bool) -> None:
        self._shared = shared
        self.sums: dict[Arm | None, Floats] = {}

    def add(self, arm: Arm, x: Floats) -> None:
        """Note that an arm was chosen with these features."""
        owner = None if self._shared else arm
        self.sums[owner] = self.sum(owner, x.size) + np.multiply.outer(x, x)

    def close(self, arm: Arm, x: Floats) -> bool:
        """Forget an open ask."""
        owner = None if self._shared else arm
        self.sums[owner] = self.sum(owner, x.size) - np.multiply.outer(x, x)
        return True

    def sum(self, owner: Arm | None, d: int) -> Floats:
        """Return the sum of x x' over the open asks of a set of weights."""
        return self.sums.get(owner, np.zeros((d, d)))
