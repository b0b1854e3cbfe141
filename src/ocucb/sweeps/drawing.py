"""The picture of a sweep: a curve with its band for each policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from .._matplotlib import Figure
from .._types import Floats
from ..figures import BARS, Look, draw_estimates, figure_of, legend, policy_styles

_SYMBOLS = {
    "gap": r"gap $\Delta$",
    "horizon": "horizon $n$",
    "alpha": r"$\alpha$",
    "psi": r"$\psi$",
}


class SweepCurveLike(Protocol):
    """One line, as a `SweepCurve` has it."""

    @property
    def policy(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def values(self) -> Floats: ...
    @property
    def regret(self) -> Floats: ...
    @property
    def stderr(self) -> Floats: ...


class SweepLike(Protocol):
    """What is drawn, as a `SweepResult` has it."""

    @property
    def axis(self) -> str: ...
    @property
    def problem(self) -> str: ...
    @property
    def seed(self) -> int: ...
    def __iter__(self) -> Iterator[SweepCurveLike]: ...


def picture(result: SweepLike, look: Look) -> Figure:
    """Draw regret against what varies."""
    axes, curves = look.panel(), list(result)
    styles = policy_styles(curve.policy for curve in curves)
    names = look.names((curve.policy, curve.label) for curve in curves)
    for curve, name in zip(curves, names, strict=True):
        style = styles[curve.policy]
        draw_estimates(axes, curve.values, curve.regret, curve.stderr, style, label=name)
    x = curves[0].values
    look.finish(
        axes,
        f"Regret as the {result.axis} varies",
        f"{result.problem}, seed {result.seed}; {BARS}",
        xscale="log" if _spaced_by_ratios(x) else "linear",
    )
    axes.set(xlabel=_SYMBOLS.get(result.axis, result.axis), ylabel="expected regret")
    axes.set_xlim(x[0], x[-1])
    if axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0)
    legend(axes)
    return figure_of(axes)


def _spaced_by_ratios(x: Floats) -> bool:
    """Tell whether somebody chose values that suit a logarithmic axis."""
    return bool(x[0] > 0.0 and x[-1] >= 20.0 * x[0] and np.median(x) < 0.25 * x[-1])
