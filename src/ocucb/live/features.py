"""The features of a `LinearBandit`: their names, whose they are, and the values that users give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._text import shown, to_count
from .._types import Floats
from ..linear_problems import MOST_FEATURES, PLACE, to_matrix
from ..policies import Policy
from ..policies._rules import LinearRule
from .linear_model import ACTIVE, LARGEST_FEATURE, State
from .names import Arm, is_list

_MOST_NUMBERS = 10_000_000  # of an inverse for each set of weights: 80 MB, of which there are three


@dataclass(frozen=True)
class Features:
    """What never changes about the features.

    >>> features, _ = to_features(["age", "night"], False, arms=3)
    >>> features.count, features.shared, features.fixed
    (2, False, False)
    """

    names: tuple[str, ...]
    shared: bool  # whether arms have features of their own, and share their weights
    fixed: bool  # whether features stay the same

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.names)

    def check(self, policy: Policy) -> None:
        """Refuse a policy that needs features that stay the same, if they do not."""
        rule = policy.family.rule
        assert isinstance(rule, LinearRule)
        if rule.fixed_actions and not self.fixed:
            raise ValueError(
                f"{policy.label} needs features that stay the same: pass features= as an array."
            )

    def check_size(self, arms: int) -> None:
        """Refuse models that take too much memory."""
        sets = 1 if self.shared else arms
        if sets * self.count**2 > _MOST_NUMBERS:
            raise ValueError(
                f"{sets:,} sets of weights for {self.count:,} features take too much memory; use "
                "fewer features, or shared=True."
            )

    def matrix(self, x: Any, state: State, names: list[Arm]) -> Floats:
        """Return the features of the active arms as rows; a single row if it is the context."""
        active = int(state.clock[ACTIVE])
        if self.fixed:
            self._refuse(x)
            return state.features[:active]
        if self.shared and isinstance(x, Mapping):
            missing = [name for name in names[:active] if name not in x]
            if missing:
                raise ValueError(f"features of arm {missing[0]!r} are missing.")
            x = [x[name] for name in names[:active]]
        rows = active if self.shared else 1
        array = self._array(x)
        if not self.shared and array.shape == (self.count,):
            array = array.reshape(1, -1)
        if array.shape != (rows, self.count):
            raise self._wrong_shape(array, f"{rows} x {self.count}" if self.shared else self.count)
        return array

    def row(self, x: Any, state: State, i: int) -> Floats:
        """Return the features of arm i."""
        if self.fixed:
            self._refuse(x)
            own: Floats = state.features[i]
            return own
        array = self._array(x)
        if array.shape != (self.count,):
            raise self._wrong_shape(array, self.count)
        if not self.fit(array):
            raise self.wrong(array)
        return array

    def more(self, features: Any, count: int) -> Floats | None:
        """Return the features of arms that are added; None if they come with each ask."""
        if not self.fixed:
            self._refuse(features, "each ask brings features")
            return None
        rows = to_matrix(features, "features")
        if rows.shape != (count, self.count):
            raise self._wrong_shape(rows, f"{count} x {self.count}")
        return rows

    def fit(self, array: Floats) -> bool:
        """Tell whether all values are finite and not too large."""
        return bool((np.abs(array) <= LARGEST_FEATURE).all())

    def wrong(self, array: Floats) -> ValueError:
        """Return the error for values that do not fit."""
        at = np.argwhere(~(np.abs(array) <= LARGEST_FEATURE))[0]
        value = array[tuple(at)]
        return ValueError(
            f"feature {self.names[at[-1]]!r} must lie {PLACE}, got {value:g}; rescale features."
        )

    def _refuse(self, x: Any, why: str = "the arms' features stay the same") -> None:
        if x is not None:
            raise ValueError(f"{why}, so none can be given here, got {shown(x)}.")

    def _array(self, x: Any) -> Floats:
        if type(x) is np.ndarray and x.dtype == np.float64 and x.flags.c_contiguous:
            return x
        try:
            array = np.asarray(x)
        except ValueError:
            array = np.empty(0, dtype=object)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"features must be numbers, got {shown(x)}.")
        return np.ascontiguousarray(array, dtype=np.float64)

    def _wrong_shape(self, array: Floats, wanted: object) -> ValueError:
        got = " x ".join(map(str, array.shape))
        return ValueError(f"features must be {wanted} numbers, got {got}.")


def to_features(given: Any, shared: bool, arms: int) -> tuple[Features, Floats | None]:
    """Return the features, and their values if they stay the same, or say what is wrong."""
    fixed = None
    names: list[Any]
    if is_list(given) and np.ndim(given) == 2:
        fixed = to_matrix(given, "features")
        if len(fixed) != arms:
            raise ValueError(f"features must have a row for each of {arms} arms, got {len(fixed)}.")
        names = [f"x{i + 1}" for i in range(fixed.shape[1])]
    elif is_list(given):
        names = list(given)
        for name in names:
            if not isinstance(name, str) or not name or not name.isprintable():
                raise TypeError(f"a feature's name must be one line of text, got {shown(name)}.")
        if len(set(names)) < len(names) or not names:
            raise ValueError(f"features must have different names, got {shown(names)}.")
    else:
        names = [f"x{i + 1}" for i in range(to_count(given, "features"))]
    if len(names) > MOST_FEATURES:
        raise ValueError(f"there must be at most {MOST_FEATURES} features, got {len(names)}.")
    found = Features(tuple(names), shared or fixed is not None, fixed is not None)
    found.check_size(arms)
    return found, fixed
