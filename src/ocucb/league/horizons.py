"""Does a policy use the horizon? Found out by trial, on the step engine."""

from __future__ import annotations

import numpy as np

from ..engine import engine_named, kernel_of, new_game, new_outcome
from ..policies import Policy
from ..problems import Problem
from ..random import stream_key

_SAME = 2000  # rounds in which a policy is watched that is told one horizon or the other
_HORIZONS = (_SAME, 4000)


def needs_horizon(policy: Policy, problem: Problem) -> bool:
    """Tell whether a policy plays differently, on the same random numbers, with another horizon.

    Examples
    --------
    >>> import ocucb
    >>> [needs_horizon(family(), ocucb.gap(10, 0.3)) for family in (ocucb.OCUCB, ocucb.UCB)]
    [True, False]
    """
    engine = engine_named("step", policy, problem, _SAME)
    kernel = kernel_of(policy.family, problem.rewards, engine)
    found = []
    for horizon in _HORIZONS:
        rounds = np.unique(np.append(np.arange(1, _SAME + 1), horizon))
        game = new_game(engine, problem, horizon, rounds, forget=policy.forget)
        outcome = new_outcome(16, game)
        stop = np.zeros(1, dtype=np.bool_)
        kernel(policy.arguments(horizon), game, stream_key(1), 0, outcome, stop)
        found.append(outcome.regret[:, :_SAME])
    return bool((found[0] != found[1]).any())
