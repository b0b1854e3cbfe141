"""Means that change with the round: paths beside slow twins, dynamic regret, results, mistakes."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from math import cos, pi

import naive
import numpy as np
import pytest
from typer.testing import CliRunner

import ocucb
from helpers import play_steps
from ocucb.cli import app
from ocucb.policies import parse_policy
from ocucb.random import normal, uniform

KEY = np.array([7, 12345], dtype=np.uint64)
N = 300


def hop(means, t, stream):
    for i in range(means.size):
        means[i] += 0.2 * (uniform(stream) - 0.5)
    if t == 100.0:
        means[0] = 1.0


def hopping(means, t, stream):
    means = [mean + 0.2 * (uniform(stream) - 0.5) for mean in means]
    return [1.0 if t == 100 and i == 0 else mean for i, mean in enumerate(means)]


def walking(means, t, stream, step=0.05, low=-1.0, high=2.0):
    if t == 1:
        return [low + (high - low) * uniform(stream) for _ in means]
    moved = []
    for mean in means:
        mean += step * normal(stream)
        while not low <= mean <= high:  # reflect, as often as it takes
            mean = 2 * low - mean if mean < low else 2 * high - mean
        moved.append(mean)
    return moved


def turning(means, t, stream):
    K = len(means)
    return [0.5 + 0.4 * cos(2 * pi * ((t - 1) / 80 - i / K)) for i in range(K)]


def in_parts(means, t, stream):
    return [0.1, 0.5, 0.3] if t < 70 else [0.9, 0.2, 0.1] if t < 71 else [0.6, 0.6, 0.9]


PARTS = {1: [0.1, 0.5, 0.3], 71: [0.6, 0.6, 0.9], 70: [0.9, 0.2, 0.1]}
CASES = {
    "segments": (ocucb.changing(PARTS), in_parts),
    "clicks": (ocucb.changing(PARTS, rewards="bernoulli"), in_parts),
    "walk": (ocucb.drifting(3, 0.05, -1, 2), walking),
    "far": (ocucb.drifting(2, 3, -1, 2), lambda *given: walking(*given, step=3)),
    "season": (ocucb.seasonal(4, 0.4, 80, 0.5), turning),
    "ratings": (ocucb.seasonal(4, 0.4, 80, 0.5, rewards="beta"), turning),
    "own": (ocucb.changing(hop, 3, sigma=0.3, changes=[100]), hopping),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["ucb", "kl-ocucb", "thompson", "adaucb", "epsilon-greedy"])
def test_runs_are_those_of_the_twin(case, name):
    """Arms and dynamic regret of every round."""
    problem, path = CASES[case]
    policy, told = parse_policy(name), []

    def noted(means, t, stream):
        told.append(path(means, t, stream))
        return told[-1]

    regret, pulls = play_steps(policy, problem, N, KEY, 5, 3)
    for run in range(3):
        told.clear()
        arms, _ = naive.play(policy, problem, N, KEY, 5 + run, path=noted)
        lost = np.cumsum([max(means) - means[arm] for means, arm in zip(told, arms, strict=True)])
        np.testing.assert_allclose(regret[run], lost, rtol=1e-9, atol=1e-9)
        assert pulls[run].tolist() == [arms.count(i) for i in range(problem.arms)]


def recovery_of(best: list[bool]) -> int:
    """Return the rounds until a weighted share of these reaches a half, or all."""
    for t in range(1, len(best) + 1):
        weights = [(1 - 1 / 25) ** (t - 1 - s) / 25 for s in range(t)]
        if sum(w for w, good in zip(weights, best, strict=False) if good) >= 0.5:
            return t
    return len(best)


@pytest.mark.parametrize("name", ["ucb", "greedy"])
def test_regret_since_the_last_change_and_time_to_recover(name):
    """Means of a few runs, found from their arms."""
    problem, runs = ocucb.changing({1: [0, 1, 0.5], 60: [1, 0, 0.5], 900: [0, 0, 1]}), 12
    one = ocucb.simulate(name, problem, N, runs, rng=3, checkpoints=range(1, N + 1))[0]
    assert (one.change, one.horizon) == (60, N)
    spec = ocucb.simulation.specify(parse_policy(name), problem, N, np.arange(1, N + 1), 3, "step")
    outcome = spec.outcome(0, runs)
    lost = np.diff(outcome.regret, axis=1, prepend=0.0)
    since = lost[:, 59:].sum(axis=1)
    recovered = [recovery_of((row[59:] < 1e-9).tolist()) for row in lost]
    assert one.since_change.value == pytest.approx(since.mean())
    assert one.since_change.stderr >= since.std(ddof=1) / runs**0.5 * (1 - 1e-9)
    assert one.recovery.value == pytest.approx(np.mean(recovered))
    assert min(recovered) < N - 59
    assert one.optimal == pytest.approx((lost < 1e-9).mean(axis=0))
    assert one.to_dict()["recovery"]["value"] == one.recovery.value


def test_the_earliest_recovery_takes_17_rounds():
    """With one arm, which is always a best one."""
    one = ocucb.simulate("greedy", ocucb.changing({1: [0], 11: [1]}), 40, 2, rng=1)[0]
    assert one.recovery.value == 17.0
    assert one.mean_regret == one.since_change.value == 0.0
    assert (1 - 1 / 25) ** 17 < 0.5 < (1 - 1 / 25) ** 16


def test_means_that_stay_are_those_of_the_plain_problem():
    """Neither the rewards' kind nor the engine knows; runs have the same streams if keys do."""
    changing, plain = ocucb.changing({1: [0.0, -0.5]}), ocucb.gaussian([0.0, -0.5])
    for name in ("ucb", "ocucb", "thompson", "imed"):
        one, other = (play_steps(parse_policy(name), p, N, KEY, 0, 20) for p in (changing, plain))
        np.testing.assert_allclose(one[0], other[0], rtol=1e-12)
        assert (one[1] == other[1]).all()


def test_what_is_not_measured_says_so(tmp_path):
    result = ocucb.simulate("ucb", ocucb.seasonal(2), 200, 10, rng=1)
    one = result[0]
    assert one.change == 0
    assert one.recovery == one.since_change == (0.0, 0.0)
    assert np.isnan(one.wrong.value)
    assert "–" in result.table()
    assert "since the change" not in result.table()
    changed = ocucb.simulate("ucb", ocucb.switch(at=50), 200, 10, rng=1)
    assert "Regret since the change in round 50: UCB " in changed.table()
    changed.save(tmp_path / "result.json")
    again = ocucb.SimulationResult.load(tmp_path / "result.json")
    assert again[0].recovery == changed[0].recovery
    assert again[0].change == 50
    assert again.table() == changed.table()


def test_no_two_problems_are_taken_for_one():
    problems = [
        *(ocucb.switch(3, 0.3, 50), ocucb.switch(3, 0.3, 51), ocucb.switch(3, 0.4, 50)),
        *(ocucb.gap(3, 0.3), ocucb.changing({1: [0, -0.3, -0.3]})),
        *(ocucb.drifting(3), ocucb.drifting(3, 0.02), ocucb.drifting(3, high=2)),
        *(ocucb.seasonal(3), ocucb.seasonal(3, period=1001), ocucb.seasonal(3, level=0.1)),
        ocucb.changing({1: [0.5, 0.4], 9: [0, 1]}),
        ocucb.changing({1: [0.5, 0.4], 9: [0, 1]}, rewards="bernoulli"),
        *(ocucb.changing(hop, 3), ocucb.changing(hop, 3, changes=[7]), ocucb.changing(hop, 2)),
        ocucb.changing(lambda means, t, stream: None, 3),
    ]
    assert len({problem.identity for problem in problems}) == len(problems)
    assert ocucb.switch(3, 0.3, 50).identity == problems[0].identity


def test_stores_and_other_processes(tmp_path):
    """A store resumes; a worker in another process plays the same bits."""
    given = (["ucb", "thompson"], ocucb.changing(hop, 3, changes=[100]), 200)
    few = ocucb.simulate(*given, 64, rng=2, store=tmp_path / "runs.db")
    more = ocucb.simulate(*given, 128, rng=2, store=tmp_path / "runs.db")
    plain = ocucb.simulate(*given, 128, rng=2)
    assert (more[1].sample == plain[1].sample).all()
    assert few[1].recovery != more[1].recovery
    assert more[1].recovery == plain[1].recovery
    with ocucb.Store(tmp_path / "runs.db") as store:
        assert {found.result.change for found in store.contents()} == {100}
    with ProcessPoolExecutor(1) as executor:
        other = ocucb.simulate(*given, 128, rng=2, executor=executor)
    assert (other[0].sample == plain[0].sample).all()


def test_the_command_line_knows_them():
    for name in ("switch:K=3,gap=0.5,at=50", "drifting:K=2,step=0.1", "seasonal:K=2,period=40"):
        given = ["simulate", "-p", "ucb", "--problem", name, "-n", "100", "-r", "5", "--json"]
        answer = CliRunner().invoke(app, [*given, "--seed", "1"])
        assert answer.exit_code == 0, answer.output
        (one,) = json.loads(answer.stdout)
        assert one["change"] == (50 if name.startswith("switch") else 0)
        assert one["wrong"]["value"] is None
        assert ocucb.parse_problem(name).name.startswith(name.partition(",")[0])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ocucb.changing({2: [0, 1]}), "means must say how it begins, in round 1, got"),
        (lambda: ocucb.changing({1: [0, 1], 9: [0]}), "got 1 from round 9 and 2 before"),
        (lambda: ocucb.changing({0: [0, 1]}), "must be at least 1, got 0"),
        (lambda: ocucb.changing({1: [0, 1.5]}, rewards="bernoulli"), "got 1.5 for arm 2"),
        (lambda: ocucb.changing({1: [0.0]}, rewards="beta"), "strictly between 0 and 1"),
        (lambda: ocucb.changing({1: [0.0]}, 2), "a dict of means says it all"),
        (lambda: ocucb.changing([0, 1]), "means must be a dict such as"),
        (lambda: ocucb.changing(hop), "arms is missing"),
        (lambda: ocucb.changing(lambda t: 0, 2), "must take the arguments means, t, stream, got t"),
        (lambda: ocucb.changing(too_far, 2), "too_far, round 3: means of gaussian rewards must"),
        (lambda: ocucb.changing(hop, 2, changes=[1]), "a change must be at least 2, got 1"),
        (lambda: ocucb.changing(hop, 2, rewards="cauchy"), "unknown kind of reward 'cauchy'"),
        (lambda: ocucb.changing({1: [1]}, rewards="exponential"), "rewards cannot change"),
        (lambda: ocucb.switch(1), "K must be at least 2"),
        (lambda: ocucb.drifting(step=0), "step must be above 0"),
        (lambda: ocucb.drifting(low=1), "low must be below high"),
        (lambda: ocucb.drifting(high=2, rewards="bernoulli"), "must lie between 0 and 1, got 2"),
        (lambda: ocucb.seasonal(period=1), "period must be at least 2"),
        (lambda: ocucb.seasonal(amplitude=-1), "amplitude must be at least 0"),
        (lambda: ocucb.parse_problem("switch:rewards=1"), "'switch' has no parameter"),
        (lambda: ocucb.prior([ocucb.switch()]), "must have means that stay the same"),
        (lambda: ocucb.trace("ucb", ocucb.switch(), 9), "arms whose means stay the same"),
    ],
)  # fmt: skip
def test_mistakes(make, text):
    with pytest.raises((TypeError, ValueError)) as caught:
        make()
    assert text in str(caught.value)


def too_far(means, t, stream):
    means[0] = 1e7 if t == 3.0 else 0.0
