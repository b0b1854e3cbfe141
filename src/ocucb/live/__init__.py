"""Live use: a bandit that makes real choices, one at a time.

`bandit` is the public object, `rules` what never changes about it, `decision` decides (state and
kernels), `saving` takes it apart and rebuilds it, `document` is the saved form (JSON, versions),
`looking` says what it has learnt. `linear` and its modules are the same for arms with features.
"""

from __future__ import annotations

from ..inference.verdict import Verdict
from .bandit import Bandit
from .linear import LinearBandit
from .linear_summary import LinearSummary
from .summary import Summary

__all__ = ["Bandit", "LinearBandit", "LinearSummary", "Summary", "Verdict"]
