"""Regret along an axis: of problems, which share their runs, of horizons, or of a parameter."""

from .measure import SweepInterrupted, sweep
from .result import Maximum, SweepCurve, SweepResult

__all__ = ["Maximum", "SweepCurve", "SweepInterrupted", "SweepResult", "sweep"]
