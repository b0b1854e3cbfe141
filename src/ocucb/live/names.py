"""Names of arms: checked, and looked up in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from .._text import MOST_DIGITS, is_truth, shown

Arm = str | int
NAMES = (str, int, np.integer)  # types of a single arm
_LARGEST = 10**MOST_DIGITS  # from here on, a name cannot be written
_TRUTHS = (bool, np.bool_)  # equal to 0 and 1, but no names


class Positions:
    """The position of each arm in a list of names: 8 to 16 bytes an arm, where a dict takes 80.

    An open-addressing table of positions.
    """

    __slots__ = ("_mask", "_names", "_slots")

    def __init__(self, names: list[Arm]) -> None:
        size = 1 << max(3, (2 * len(names) - 1).bit_length())
        self._names, self._mask = names, size - 1
        self._slots = array("i", [-1]) * size
        self._put(0)

    def _put(self, first: int) -> None:
        """Enter the names from position `first` on."""
        slots, names, mask = self._slots, self._names, self._mask
        for i in range(first, len(names)):
            slot = hash((names[i],)) & mask  # of a tuple, because hash(int) does not scatter
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = i

    def find(self, name: Any) -> int:
        """Return the position of a name, or -1."""
        if isinstance(name, _TRUTHS):
            return -1
        slots, names, mask = self._slots, self._names, self._mask
        try:
            slot = hash((name,)) & mask
        except TypeError:  # a list, perhaps
            return -1
        while (i := slots[slot]) >= 0 and names[i] != name:
            slot = (slot + 1) & mask
        return i

    def extended(self, names: list[Arm]) -> Positions:
        """Return the table for a longer list that begins with the same names."""
        if 2 * len(names) > len(self._slots):
            return Positions(names)
        longer = object.__new__(Positions)
        longer._names, longer._mask, longer._slots = names, self._mask, self._slots[:]
        longer._put(len(self._names))
        return longer


def to_names(arms: Any) -> list[Arm]:
    """Return a list of distinct names, or say what is wrong with them."""
    try:
        names = list(arms)
    except TypeError:
        raise TypeError(f"arms must be a list of names, got {shown(arms)}.") from None
    if not names:
        raise ValueError("there must be at least one arm, got none.")
    for i, name in enumerate(names):
        if isinstance(name, str):
            names[i] = str.__str__(name)  # the value of an enumeration's member
        elif not isinstance(name, int | np.integer) or is_truth(name):
            raise TypeError(f"an arm's name must be a string or a whole number, got {shown(name)}.")
        elif abs(name) >= _LARGEST:
            raise ValueError(
                f"an arm's name must have at most {MOST_DIGITS} digits, got {shown(name)}."
            )
        else:
            names[i] = int(name)
    if len(set(names)) < len(names):
        seen: set[Arm] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"arms must have different names, got {shown(twice)} twice.")
    return names


def is_list(value: Any) -> bool:
    """Tell whether a value may hold several arms: it has an order, so no dictionary and no set."""
    if isinstance(value, (*NAMES, Mapping, Set)):
        return False
    try:
        iter(value)
    except TypeError:
        return False
    return True
