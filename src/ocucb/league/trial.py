"""Try a policy out, on the step engine: does it use the horizon, how long does a decision take?"""

from __future__ import annotations

import time

import numpy as np

from ..engine import engine_named, kernel_of, new_game, new_outcome
from ..policies import Policy
from ..problems import Problem, bernoulli, gap
from ..random import stream_key
from ..specification import Specification
from .entrants import origin
from .standings import Player

_ROUNDS = 2000
_ENOUGH = 0.03  # seconds of play that are timed
_SAME = 2000  # rounds in which a policy is watched that is told one horizon or the other
_HORIZONS = (_SAME, 4000)


def examine(policy: Policy, clicks: bool) -> Player:
    """Return a policy as a player, after a trial with ten arms; `clicks` if it plays nothing else.

    Examples
    --------
    >>> import ocucb
    >>> [examine(family(), False).needs_horizon for family in (ocucb.OCUCB, ocucb.UCB)]
    [True, False]
    """
    problem = bernoulli([0.5] + [0.4] * 9) if clicks else gap(10, 0.3)
    horizon, seconds = needs_horizon(policy, problem), decision_time(policy, problem)
    return Player(policy.name, policy.label, horizon, seconds, origin(policy))


def needs_horizon(policy: Policy, problem: Problem) -> bool:
    """Tell whether a policy plays differently, on the same random numbers, with another horizon."""
    engine = engine_named("step", policy, problem, _ROUNDS)
    kernel = kernel_of(policy.family, problem.rewards, engine)
    found = []
    for horizon in _HORIZONS:
        rounds = np.unique(np.append(np.arange(1, _SAME + 1), horizon))
        game = new_game(engine, problem, horizon, rounds)
        outcome = new_outcome(16, game)
        stop = np.zeros(1, dtype=np.bool_)
        kernel(policy.arguments(horizon), game, stream_key(1), 0, outcome, stop)
        found.append(outcome.regret[:, :_SAME])
    return bool((found[0] != found[1]).any())


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
