"""Live use: a bandit that makes real choices, one at a time.

`decision` decides (state and kernels), `bandit` is the public object (names, locks, errors), and
`document` is the saved form (JSON, versions, checks).
"""

from __future__ import annotations

from .bandit import Bandit
from .summary import Summary

__all__ = ["Bandit", "Summary"]
