"""The simulation that the tests of stores keep and repeat."""

from __future__ import annotations

import numpy as np

import ocucb
from ocucb.specification import Specification

PROBLEM = ocucb.gap(2, 0.3)
CALL = {"policies": "ocucb", "problem": PROBLEM, "horizon": 2000, "rng": 1}


def specification(**change) -> Specification:
    """Return what is played by the simulation above, with changes."""
    facts = {
        "policy": ocucb.OCUCB(),
        "problem": PROBLEM,
        "horizon": 2000,
        "checkpoints": np.array([2000]),
        "seed": 1,
        "engine": "step",
        **change,
    }
    return Specification(**facts)
