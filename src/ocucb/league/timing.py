"""How long a decision takes: processor time of the step engine, which decides round by round."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ..engine import engine_named
from ..policies import Policy
from ..problems import Problem, bernoulli, gap
from ..specification import Specification

_ROUNDS = 2000
_ENOUGH = 0.03  # seconds of play that are timed


def problem_for(policy: Policy, clicks_only: bool) -> Problem:
    """Return what decisions are timed on: ten arms."""
    clicks = bernoulli([0.5] + [0.4] * 9)
    return clicks if clicks_only or policy.family.binary else gap(10, 0.3)


def decision_time(policy: Policy, problem: Problem) -> float:
    """Return the seconds of processor time that a decision takes, its reward included.

    Runs are played one by one until they add up; the fastest half counts, since whatever else the
    machine does only makes them slower.
    """
    engine_named("step", policy, problem, _ROUNDS)
    specification = Specification(policy, problem, _ROUNDS, np.array([_ROUNDS]), 1, "step")
    specification.prepare()
    times: list[float] = []
    while sum(times) < _ENOUGH or len(times) < 2:
        began = time.thread_time()
        specification.play(len(times), 1)
        times.append(time.thread_time() - began)
    return _fast(times) / _ROUNDS


def _fast(times: Sequence[float]) -> float:
    half = sorted(times)[: (len(times) + 1) // 2]
    return sum(half) / len(half)
