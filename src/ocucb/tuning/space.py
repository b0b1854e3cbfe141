"""Where to search: the parameters of a policy as coordinates in the unit cube.

A parameter whose range lies above 0 is searched on a logarithmic scale, any other on a linear one;
of a discount (`forget`), its distance from 1.
Values have three digits: what is measured is what is printed, and more digits would mean nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._text import shown, to_float
from .._types import Floats
from ..policies import Policy, Range
from ..policies._families import FORGET, FORGETTING

_FACTOR = 8.0  # by default, from an eighth of a parameter's value to eight times that
_AROUND_ZERO = 4.0  # by default, as far from a value of 0
_HALVINGS = 60


@dataclass(frozen=True)
class Axis:
    """A parameter and its range."""

    name: str
    low: float
    high: float
    whole: bool  # whether its values are whole numbers

    @property
    def log(self) -> bool:
        """Whether its scale is logarithmic."""
        return self.low > 0.0

    @property
    def fades(self) -> bool:
        """Whether it is a discount, whose distance from 1 has a logarithmic scale."""
        return self.name == FORGET and self.high < 1.0

    def value(self, unit: float) -> float:
        """Return the value at a coordinate between 0 and 1.

        Examples
        --------
        >>> Axis("alpha", 1.0, 100.0, False).value(0.5), Axis("m", 1.0, 100.0, True).value(0.13)
        (10.0, 2.0)
        >>> Axis("forget", 0.9, 0.9999, False).value(0.5)
        0.99684
        """
        if self.fades:
            short, long = 1.0 - self.low, 1.0 - self.high
            value = 1.0 - float(f"{short * (long / short) ** unit:.3g}")
            return min(max(float(f"{value:.12g}"), self.low), self.high)
        if self.log:
            value = self.low * (self.high / self.low) ** unit
        else:
            value = self.low + (self.high - self.low) * unit
        value = float(round(value)) if self.whole else float(f"{value:.3g}")
        return min(max(value, self.low), self.high)

    def unit(self, value: float) -> float:
        """Return the coordinate of a value, which may lie outside the range."""
        if self.low == self.high:
            return 0.5
        if self.fades:
            short, long = 1.0 - self.low, 1.0 - self.high
            return math.log(max(1.0 - value, 1e-9 * long) / short) / math.log(long / short)
        if self.log:
            place = max(value, 1e-9 * self.low)
            return math.log(place / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Space:
    """The parameters of a policy that are searched; the others keep their values."""

    start: Policy
    axes: tuple[Axis, ...]

    def policy(self, place: Floats) -> Policy:
        """Return the policy at a point of the unit cube."""
        values = {axis.name: axis.value(float(u)) for axis, u in zip(self.axes, place, strict=True)}
        # not by a call, which would warn wherever no bound is proved
        return self.start.changed(values)

    def place(self, policy: Policy) -> Floats:
        """Return the point of a policy."""
        values = policy.parameters
        return np.array([axis.unit(values[axis.name]) for axis in self.axes])


def space_of(start: Policy, ranges: Mapping[str, tuple[float, float]] | None) -> Space:
    """Return the space of a policy: all parameters, or those with a range that is given."""
    if not start.parameters:
        raise ValueError(f"{start.family.label} has no parameters to tune.")
    if ranges is None:
        return Space(start, tuple(_default_axis(start, name) for name in start.parameters))
    named = [name for name in start.parameters if name in ranges]
    if not named:
        has = ", ".join(start.parameters)
        raise ValueError(
            f"no range is for a parameter of {start.family.label}, which has {has}; name one."
        )
    return Space(start, tuple(_given_axis(start, name, ranges[name]) for name in named))


def check_ranges(given: Any, policies: list[Policy]) -> dict[str, tuple[float, float]] | None:
    """Return ranges as numbers, or say what is wrong with them."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f'ranges must be a dict such as {{"alpha": (1, 6)}}, got {shown(given)}.')
    known = sorted({name for policy in policies for name in policy.parameters})
    ranges = {}
    for name, ends in given.items():
        if name not in known:
            has = ", ".join(known) or "none"
            raise ValueError(f"no policy has a parameter {shown(name)}; they have {has}.")
        if isinstance(ends, str) or not np.iterable(ends) or len(pair := list(ends)) != 2:
            raise TypeError(f"the range of {name} must be two numbers, got {shown(ends)}.")
        low, high = (to_float(end, f"the range of {name}") for end in pair)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"the range of {name} must go from low to high, got {shown(ends)}.")
        ranges[name] = (low, high)
    return ranges


def _given_axis(start: Policy, name: str, ends: tuple[float, float]) -> Axis:
    low, high = ends
    valid = _valid(start, name, high)
    whole = valid is not None and valid.whole
    if whole:
        low, high = float(math.ceil(low)), float(math.floor(high))
        if low >= high:
            raise ValueError(f"the range of {name} must hold two whole numbers, got {shown(ends)}.")
    for end in (low, high):
        if valid is not None and not valid.holds(end):
            label = start.family.label
            raise ValueError(f"{label}'s {name} must be {valid.text}, but its range has {end:g}.")
    return Axis(name, low, high, whole)


def _valid(start: Policy, name: str, value: float) -> Range | None:
    """Return the values that a parameter can have; with a window, `forget` stays one."""
    if name == FORGET and start.forget is not None:
        return replace(FORGETTING, whole=value >= 1.0)
    return start.family.valid.get(name)


def _default_axis(start: Policy, name: str) -> Axis:
    value = start.parameters[name]
    valid = _valid(start, name, value)
    if name == FORGET and start.forget is not None and value < 1.0:  # a memory 8 times as long
        low, high = max(0.0, 1.0 - _FACTOR * (1.0 - value)), 1.0 - (1.0 - value) / _FACTOR
    elif value == 0.0:
        low, high = -_AROUND_ZERO, _AROUND_ZERO
    else:
        low, high = sorted((value / _FACTOR, value * _FACTOR))
    low, high = _nearest(valid, value, low), _nearest(valid, value, high)
    whole = valid is not None and valid.whole
    if whole:
        low, high = float(math.ceil(low)), float(math.floor(high))
    return Axis(name, low, high, whole)


def _nearest(valid: Range | None, inside: float, end: float) -> float:
    """Return the end of a range, moved towards a valid value until it is valid itself."""
    if valid is None or valid.holds(end):
        return end
    if valid.whole:
        end = float(math.floor(end) if end > inside else math.ceil(end))
        while not valid.holds(end):
            end += math.copysign(1.0, inside - end)
        return end
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + end)
        inside, end = (middle, end) if valid.holds(middle) else (inside, middle)
    return float(f"{inside:.6g}") if valid.holds(float(f"{inside:.6g}")) else inside


def spread(count: int, dimension: int) -> Floats:
    """Return points that cover the unit cube evenly: an additive recurrence.

    Its steps are powers of 1/g, where g is the root of x^(dimension + 1) = x + 1 above 1: for one
    dimension the golden ratio.

    Examples
    --------
    >>> spread(3, 1).round(3).tolist()
    [[0.5], [0.118], [0.736]]
    """
    root = 2.0
    for _ in range(_HALVINGS):
        root = (1.0 + root) ** (1.0 / (dimension + 1))
    steps = root ** -np.arange(1.0, dimension + 1)
    points: Floats = np.mod(0.5 + np.arange(count)[:, None] * steps, 1.0)
    return points
