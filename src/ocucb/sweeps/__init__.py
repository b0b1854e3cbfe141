"""Regret along an axis: of problems, which share their runs, of horizons, or of a parameter."""

from .result import Maximum, SweepCurve, SweepResult
from .sweep import sweep

__all__ = ["Maximum", "SweepCurve", "SweepResult", "sweep"]
