"""Try a policy out, on the step engine: does it use the horizon, how long does a decision take?"""

from __future__ import annotations

import time

import numpy as np

from ..policies import Policy
from ..problems import Problem, bernoulli, gap
from ..specification import Specification
from .entrants import origin
from .horizons import needs_horizon
from .standings import Player

_ROUNDS = 2000
_ENOUGH = 0.03  # seconds of play that are timed


def examine(policy: Policy, bounded: bool, own: bool = False) -> Player:
    """Return a policy as a player, after a trial with ten arms; `bounded` if it plays [0, 1] only.

    Examples
    --------
    >>> import ocucb
    >>> [examine(family(), False).needs_horizon for family in (ocucb.OCUCB, ocucb.UCB)]
    [True, False]
    """
    problem = bernoulli([0.5] + [0.4] * 9) if bounded else gap(10, 0.3)
    horizon, seconds = needs_horizon(policy, problem), decision_time(policy, problem)
    return Player(policy.name, policy.label, horizon, seconds, origin(policy), own)


def decision_time(policy: Policy, problem: Problem) -> float:
    """Return the seconds of processor time that a decision takes, its reward included.

    Runs are played one by one until they add up; the fastest half counts, since whatever else the
    machine does only makes them slower.
    """
    specification = Specification(policy, problem, _ROUNDS, np.array([_ROUNDS]), 1, "step")
    specification.prepare()
    times: list[float] = []
    while sum(times) < _ENOUGH or len(times) < 2:
        began = time.thread_time()
        specification.play(len(times), 1)
        times.append(time.thread_time() - began)
    half = sorted(times)[: (len(times) + 1) // 2]
    return sum(half) / len(half) / _ROUNDS
