"""How many visitors a wanted certainty takes: a policy beside the classical test."""

from __future__ import annotations

from .entry import plan
from .result import PlanPoint, PlanResult

__all__ = ["PlanPoint", "PlanResult", "plan"]
