"""Live use: a bandit that makes real choices, one at a time.

`decision` decides (state and kernels), `bandit` is the object that people hold (names, locks,
errors), and `document` is what it is saved as (JSON, versions, checks).
"""

from __future__ import annotations

from .bandit import Bandit
from .summary import Summary

__all__ = ["Bandit", "Summary"]
