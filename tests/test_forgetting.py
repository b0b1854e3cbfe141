"""Policies that forget: beside twins that weigh all of the past anew in every round; limits."""

from __future__ import annotations

import naive
import numpy as np
import pytest

import ocucb
from helpers import play_steps
from ocucb.engine import choose_engine, forgetting
from ocucb.policies import FAMILIES, parse_policy
from policy_table import TABLE

KEY = np.array([3, 99], dtype=np.uint64)
GAUSSIAN = ocucb.gaussian([0.3, 0.0, -0.4], sigma=[0.5, 0.75, 1.0])
CLICKS = ocucb.bernoulli([0.7, 0.5, 0.2])
RATINGS = ocucb.beta_rewards([0.7, 0.5, 0.2])
FORGETFUL = [name for name, family in FAMILIES.items() if family.can_forget]
N = 150


def compare(name, problem, forget):
    policy = parse_policy(name)
    policy = policy.family(**policy.parameters, forget=forget)
    _, pulls = play_steps(policy, problem, N, KEY, 0, 2)
    for run in range(2):
        arms, _ = naive.play(policy, problem, N, KEY, run)
        assert pulls[run].tolist() == [arms.count(i) for i in range(problem.arms)]


@pytest.mark.parametrize("forget", [0.9, 0.5, 40, 2])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *(("ucb", GAUSSIAN), ("adaucb", GAUSSIAN), ("ucb-v", RATINGS), ("kl-ocucb", CLICKS)),
        *(("thompson", GAUSSIAN), ("beta-thompson", CLICKS), ("imed", GAUSSIAN)),
        *(("oc-thompson", CLICKS), ("moss", GAUSSIAN)),
    ],
)
def test_policies_play_what_their_twins_play(name, problem, forget):
    """With weights that are computed from nothing in every round."""
    compare(name, problem, forget)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [GAUSSIAN, CLICKS, RATINGS], ids=lambda p: p.rewards.name)
@pytest.mark.parametrize("name", FORGETFUL)
def test_all_policies_play_what_their_twins_play(name, problem):
    if problem.rewards.name in TABLE[name].rewards:
        for forget in (0.95, 30):
            compare(name, problem, forget)


@pytest.mark.parametrize("problem", [GAUSSIAN, CLICKS], ids=lambda p: p.rewards.name)
@pytest.mark.parametrize("name", FORGETFUL)
def test_no_other_engine_plays_a_policy_that_forgets(name, problem):
    """Leaps would forget nothing, without a word."""
    if problem.rewards.name in TABLE[name].rewards:
        policy = FAMILIES[name](forget=0.99)
        for horizon in (20, 10_000):
            assert choose_engine(policy, problem, horizon, "auto") is forgetting.ENGINE


def test_who_can_forget():
    """Every index policy and sampling policy without a table, and those that declare it."""
    kinds = {name: family.rule.kind for name, family in FAMILIES.items()}
    tables = {name for name, family in FAMILIES.items() if family.table is not None}
    plain = {name for name, kind in kinds.items() if kind in ("index", "sampling")} - tables
    declared = {"beta-thompson", "imed", "maillard", "kl-maillard", "softmax", "epsilon-greedy"}
    assert plain | declared <= set(FORGETFUL)
    assert set(FORGETFUL) - plain - declared == {"uniform"}


@pytest.mark.parametrize(
    ("name", "problem", "forget"),
    [
        *(("ucb", GAUSSIAN, forget) for forget in (1.0 - 1e-13, 1000, 10**9)),
        *(("thompson", GAUSSIAN, 1.0 - 1e-13), ("moss", GAUSSIAN, 1000)),
        ("kl-ocucb", CLICKS, 1000),  # a discount would part arms with equal clicks
    ],
)
def test_a_memory_of_everything_forgets_nothing(name, problem, forget):
    """A window of the horizon or more, or a discount close to 1: the same pulls."""
    plain, forgetful = (
        play_steps(policy, problem, 1000, KEY, 0, 20)
        for policy in (parse_policy(name), FAMILIES[name](forget=forget))
    )
    np.testing.assert_array_equal(plain[0], forgetful[0])
    np.testing.assert_array_equal(plain[1], forgetful[1])


def test_rounding_does_not_add_up():
    """Weights have been divided by the latest dozens of times; windows slid a thousand times."""
    means = np.array([1e3, 1e3 + 0.3])
    near, far = (ocucb.gaussian(means + shift) for shift in (0.0, -1e3))
    for forget in (0.5, 0.99, 50):
        policy = ocucb.UCB(forget=forget)
        _, one = play_steps(policy, near, 30_000, KEY, 0, 2)
        _, other = play_steps(policy, far, 30_000, KEY, 0, 2)
        assert np.abs(one - other).max() <= 2  # rewards as large as 1000 are rounded differently


def test_an_arm_that_is_forgotten_comes_first():
    """Greedy in a window: it returns to every arm when nothing of it is left."""
    one = ocucb.simulate("greedy:forget=20", ocucb.gaussian([1, 0], sigma=1e-6), 401, 1, rng=1)[0]
    assert one.pulls.tolist() == [401 - 20, 20]  # rounds 2, 23, 44, ...


def test_it_pays_where_means_change_and_costs_where_they_do_not():
    """The errors are a tenth of the differences."""
    for problem, better in ((ocucb.switch(at=1001), True), (ocucb.gap(2, 0.3), False)):
        plain, forgetful = ocucb.simulate(
            ["kl-ocucb", "kl-ocucb:forget=0.998"], problem, 4000, 400, rng=1
        )
        assert (forgetful.mean_regret < plain.mean_regret) is better


def test_names_labels_and_identity(tmp_path):
    policy = ocucb.OCUCB(alpha=2.5, forget=0.999)
    assert policy.name == "ocucb:alpha=2.5,psi=2,forget=0.999"
    assert policy.label == repr(policy).replace(", psi=2", "") == "OCUCB(alpha=2.5, forget=0.999)"
    assert parse_policy(policy.name) == parse_policy(policy.label) == policy
    assert policy != ocucb.OCUCB(alpha=2.5)
    assert ocucb.UCB(forget=500).name == "ucb:constant=2,forget=500"
    assert ocucb.UCB().forget is None
    given = (ocucb.gap(), 200, 64)
    for name in ("ucb", "ucb:forget=0.99", "ucb:forget=100"):
        ocucb.simulate(name, *given, rng=1, store=tmp_path / "runs.db")
    with ocucb.Store(tmp_path / "runs.db") as store:
        assert len({found.result.mean_regret for found in store.contents()}) == 3


def test_policies_of_your_own():
    """A formula; a function whose memory is room to work in says so, any other cannot forget."""
    compare_own = ocucb.simulate(
        [mine(forget=0.99), ocucb.UCB(forget=0.99)], GAUSSIAN, 300, 20, rng=4, sampling="plain"
    )
    assert compare_own[0].label == "mine(forget=0.99)"
    assert compare_own[0].mean_regret > 0
    assert rows(forget=9).forget == 9.0
    with pytest.raises(ValueError, match="keeper cannot forget"):
        keeper(forget=9)


@ocucb.index_policy
def mine(pulls, t, horizon, arms):
    return np.sqrt(2 * np.log(t) / pulls)


@ocucb.choice_policy(memory=lambda arms: arms, forgets=True)
def rows(t, horizon, pulls, sums, sigma, memory, stream):
    return 0


@ocucb.choice_policy(memory=lambda arms: arms)
def keeper(t, horizon, pulls, sums, sigma, memory, stream):
    return 0


def test_sweeps_and_tuning_know_it():
    players = [ocucb.UCB(forget=forget) for forget in (0.99, 0.999, 0.9999)]
    (curve,) = ocucb.sweep(players, ocucb.gap(), 300, over="forget", runs=256, rng=1).curves
    assert curve.values.tolist() == [0.99, 0.999, 0.9999]
    players = [ocucb.UCB(constant=constant, forget=99) for constant in (1, 2)]
    (curve,) = ocucb.sweep(players, ocucb.gap(), 300, over="constant", runs=256, rng=1).curves
    assert curve.policy == "ucb:forget=99"
    found = ocucb.tune(
        ocucb.UCB(forget=0.99),
        ocucb.switch(2, 1.0, 500),
        1000,
        ranges={"forget": (0.9, 0.9999)},
        runs=2000,
        rng=1,
    )
    assert 0.9 <= found.parameters["forget"] <= 0.9999


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ocucb.UCB(forget=1), "a discount between 0 and 1, or a window of 2 rounds or"),
        (lambda: ocucb.UCB(forget=0), "UCB's forget must be"),
        (lambda: ocucb.UCB(forget=2.5), "got 2.5"),
        (lambda: ocucb.UCB(forget="x"), "UCB's forget must be a number"),
        (lambda: ocucb.UCB(forget=float("nan")), "got nan"),
        (lambda: parse_policy("tsallis-inf:forget=0.9"), "Tsallis-INF cannot forget"),
        (lambda: parse_policy("gittins:forget=0.9"), "cannot forget"),
        (lambda: parse_policy("lin-ucb:forget=0.9"), "cannot forget"),
    ],
)
def test_mistakes(make, text):
    with pytest.raises((TypeError, ValueError)) as caught:
        make()
    assert text in str(caught.value)


def test_skip_ahead_says_why_not():
    with pytest.warns(UserWarning, match="runs on the step engine: it forgets"):
        ocucb.simulate("ucb:forget=9", ocucb.gap(), 100, 2, rng=1, engine="skip")
