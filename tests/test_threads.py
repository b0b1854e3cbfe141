"""Threads that come first at the same time: all get the same, and none waits for ever."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ocucb
from helpers import ROOT
from ocucb._memo import cache, cached_property
from ocucb.engine import kernel_of
from ocucb.engine.formulas import rule_of
from ocucb.live.decision import _kernels_of
from ocucb.specification import Specification

LONG = 120.0  # seconds: far more than any of this takes


def at_once(*work: Callable[[], Any]) -> list[Any]:
    """Return what functions return that begin together, each in a thread of its own."""
    start = threading.Barrier(len(work))

    def begin(one: Callable[[], Any]) -> Any:
        start.wait(LONG)
        return one()

    pool = ThreadPoolExecutor(len(work))
    try:
        futures = [pool.submit(begin, task) for task in work]
        return [future.result(LONG) for future in futures]
    finally:
        pool.shutdown(wait=False)


def fresh_index():
    @ocucb.index_policy(unplayed_index="constant")
    def fresh(pulls, t, horizon, arms, width=2.0):
        return width / pulls

    return fresh


def fresh_deviation():
    @ocucb.sampling_policy(unplayed_index="constant")
    def fresh(pulls, t, horizon, arms):
        return 1.0 / pulls

    return fresh


def fresh_choice():
    @ocucb.choice_policy(memory=lambda arms: 1)
    def fresh(t, horizon, pulls, sums, sigma, memory, stream):
        memory[0] += 1.0
        return int(memory[0]) % pulls.size

    return fresh


def fresh_sampler():
    def sample(mean, scale, stream):
        return mean + scale * (ocucb.random.uniform(stream) - 0.5)

    return sample


def regret(policy, sample) -> float:
    problem = ocucb.custom_rewards(sample, [0.5, 0.0], sigma=1)
    return ocucb.simulate(policy, problem, 100, 20, rng=1, engine="step")[0].mean_regret


def play_live(policy) -> list[str]:
    bandit = ocucb.Bandit("abc", policy, 100, sigma=1, rng=1)
    asked = []
    for _ in range(20):
        asked.append(bandit.ask())
        bandit.tell(asked[-1], 0.5)
    return asked


@pytest.mark.parametrize("make", [fresh_index, fresh_deviation, fresh_choice])
def test_one_fresh_policy_is_simulated_and_played_live_at_once(make):
    policy, sample = make(), fresh_sampler()
    simulated = [functools.partial(regret, policy, sample)] * 3
    live = [functools.partial(play_live, policy)] * 3
    results = at_once(*simulated, *live)
    assert results == [regret(policy, sample)] * 3 + [play_live(policy)] * 3


def test_threads_share_kernels():
    """Nothing is compiled twice: each of four would take as long as the one that all need."""
    policy, problem = fresh_index()(), ocucb.gap()
    specifications = [
        Specification(policy, problem, 100, np.array([100]), 1, "step") for _ in range(4)
    ]
    kernels = at_once(*((lambda spec=spec: spec._kernel) for spec in specifications))
    assert len(set(kernels)) == 1
    assert kernels[0] is kernel_of(policy.family, problem.rewards, specifications[0]._engine)
    assert len(set(at_once(*[lambda: _kernels_of(policy.family)] * 4))) == 1


def test_a_bonus_may_be_asked_for_while_the_policy_is_compiled():
    for _ in range(5):
        policy = fresh_index()(width=3.0)
        bonus = functools.partial(policy.bonus, 2, 10, 100, 2)
        rule, *bonuses = at_once(functools.partial(rule_of, policy.family), *[bonus] * 3)
        assert rule is policy.family.function
        assert bonuses == [1.5] * 3


def test_a_table_may_be_made_by_simulations_in_other_threads():
    """A lock held while a specification computes its table would make these wait for it."""

    def table(horizon):
        if horizon == 100:
            return [2.0]
        with ThreadPoolExecutor(1) as pool:
            inner = pool.submit(ocucb.simulate, steered, ocucb.gap(), 100, 20, rng=1)
            return [inner.result(LONG)[0].mean_regret]

    @ocucb.index_policy(unplayed_index="constant", table=table)
    def steered(pulls, t, horizon, arms, table):
        return table[0] / pulls

    assert ocucb.simulate(steered, ocucb.gap(), 200, 20, rng=1)[0].mean_regret > 0.0


def test_no_thread_makes_a_table_again():
    """One may be slow, or not made for threads: those that play blocks share the first."""
    made = []

    def table(horizon):
        made.append(horizon)
        return [2.0]

    @ocucb.index_policy(unplayed_index="constant", table=table)
    def tabular(pulls, t, horizon, arms, table):
        return table[0] / pulls

    def times(sampling):
        made.clear()
        ocucb.simulate(tabular, ocucb.gap(), 1000, 200, rng=1, workers=4, sampling=sampling)
        return len(made)

    assert times("tilted") == times("plain")


class Slow:
    """Computes only when `threads` threads compute at once."""

    def __init__(self, threads: int) -> None:
        self.together = threading.Barrier(threads)

    @cached_property
    def value(self) -> object:
        self.together.wait(LONG)
        return object()


def test_threads_that_compute_at_once_get_the_same():
    slow = Slow(4)
    assert len(set(at_once(*[lambda: slow.value] * 4))) == 1
    together = threading.Barrier(4)

    @cache
    def value(number: int) -> object:
        together.wait(LONG)
        return object()

    assert len(set(at_once(*[lambda: value(1)] * 4))) == 1


def test_properties_are_cached_by_memo_alone():
    sources = {path.name: path.read_text() for path in (ROOT / "src" / "ocucb").rglob("*.py")}
    memo = sources.pop("_memo.py")
    assert "functools.cached_property" in memo
    assert [
        name
        for name, text in sources.items()
        if re.search(r"functools(\.| import .*)cached_property", text)
    ] == []
