"""Tuning: parameters of policies for a problem or several, searched for and then measured afresh.

`space` says where to search and `surface` fits what was measured there; `laboratory` plays,
`search` spends the runs, and `objective` says what is minimised. `entry` has `tune`; `contender`,
`result` and `drawing` are what people see.
"""

from __future__ import annotations

from .contender import Contender, Gain
from .entry import TuningInterrupted, tune
from .laboratory import Trial
from .result import TuningResult

__all__ = ["Contender", "Gain", "Trial", "TuningInterrupted", "TuningResult", "tune"]
