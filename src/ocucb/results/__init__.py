"""What comes out of a simulation, in rooms by reader.

`moments` is what a block of runs is reduced to; `policy_result` and `simulation_result` are what
users hold; `stored` lists what a store holds; `files` says how all of it is written.
"""

from __future__ import annotations

from .files import SAMPLINGS
from .moments import SAMPLE_SIZE, UNSEEN, Estimate, Moments, bin_edges
from .policy_result import QUANTILES, Description, PolicyResult
from .simulation_result import COLUMNS, SimulationResult, joined, result_of
from .stored import Stored, listing, to_csv, together

__all__ = [
    "COLUMNS",
    "QUANTILES",
    "SAMPLE_SIZE",
    "SAMPLINGS",
    "UNSEEN",
    "Description",
    "Estimate",
    "Moments",
    "PolicyResult",
    "SimulationResult",
    "Stored",
    "bin_edges",
    "joined",
    "listing",
    "result_of",
    "to_csv",
    "together",
]
