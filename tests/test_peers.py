"""What docs/coming-from.md says about other libraries is true of those that are installed here.

Indices are compared at one state of play with three arms, where their formulae are public, and
choices are compared along a run where they are not. `make bench` installs the libraries; without
them, nothing is tested.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from math import log

import numpy as np
import pytest
from scipy import special

import ocucb
from helpers import ROOT

PAGE = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
PULLS, SUMS, N = np.array([40, 25, 35]), np.array([20.0, 10.0, 14.0]), 1000
MEANS = SUMS / PULLS
T = int(PULLS.sum())  # one less than the round
MODULES = {"SMPyBandits": "SMPyBandits", "MABWiser": "mabwiser", "river": "river"}


@pytest.fixture
def old_scipy(monkeypatch):
    """A function that SMPyBandits imports, and that scipy has dropped."""
    monkeypatch.setattr(special, "btdtri", special.betaincinv, raising=False)


@pytest.fixture
def smpy(old_scipy):
    """The policies of SMPyBandits."""
    with redirect_stdout(io.StringIO()):
        pytest.importorskip("SMPyBandits")
        from SMPyBandits import Policies
    return Policies


def bonuses(policy):
    """Return what a policy of SMPyBandits adds to the means when it is to choose."""
    policy.startGame()
    policy.pulls[:], policy.rewards[:], policy.t = PULLS, SUMS, T
    if hasattr(policy, "rewardsSquared"):
        policy.rewardsSquared[:] = SUMS  # rewards of 0 and 1
    policy.computeAllIndex()
    return policy.index - MEANS


def ours(text):
    """Return the bonuses of a policy of ours for rewards in [0, 1], one round earlier."""
    policy = ocucb.parse_policy(text)
    return np.array([0.5 * policy.bonus(pulls, T, N, 3) for pulls in PULLS])


@pytest.mark.parametrize("name", MODULES)
def test_blocks_run(name, old_scipy):
    pytest.importorskip(MODULES[name])
    section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```py\n(.*?)```", section, re.DOTALL)
    with redirect_stdout(io.StringIO()):
        exec(compile(block.replace("range(20)", "range(1)"), name, "exec"), {})


def test_smpybandits_has_our_formulae_under_other_constants(smpy):
    pairs = [
        (smpy.UCB(3), "ucb:constant=8"),
        (smpy.UCBalpha(3, alpha=1), "ucb:constant=2"),
        (smpy.MOSSH(3, horizon=N), "moss:constant=4"),
        (smpy.MOSSAnytime(3), "moss-anytime:alpha=1"),
    ]
    for theirs, text in pairs:
        np.testing.assert_allclose(bonuses(theirs), ours(text), rtol=1e-12, err_msg=text)


def test_smpybandits_kl_policies_have_our_budgets(smpy):
    y = N / (3 * PULLS)
    budgets = [
        (smpy.klUCB(3, tolerance=1e-9), np.full(3, log(T))),
        (smpy.klUCBPlus(3, tolerance=1e-9), np.log(T / PULLS)),
        (smpy.klUCBPlusPlus(3, horizon=N, tolerance=1e-9), np.log(y * (1 + np.log(y) ** 2))),
    ]
    for policy, budget in budgets:
        index = MEANS + bonuses(policy)
        spent = PULLS * (special.rel_entr(MEANS, index) + special.rel_entr(1 - MEANS, 1 - index))
        np.testing.assert_allclose(spent, budget, rtol=1e-5)


def test_smpybandits_plays_something_else(smpy):
    for policy in (
        smpy.OCUCB(3),
        smpy.OCUCBH(3, horizon=N),
        smpy.AOCUCBH(3, horizon=N),
    ):
        np.testing.assert_array_equal(bonuses(policy), bonuses(smpy.UCB(3)))
    switch = smpy.klUCBswitch(3, horizon=N)
    np.testing.assert_array_equal(bonuses(switch), bonuses(smpy.klUCB(3)))
    # the formulae are there, and are not used
    scalar = smpy.OCUCBH(3, horizon=N)
    bonuses(scalar)
    formula = [scalar.computeIndex(arm) for arm in range(3)] - MEANS
    np.testing.assert_allclose(formula, ours("ocucb:alpha=16"), rtol=1e-12)
    with pytest.raises(AssertionError):
        smpy.OCUCBH(3, horizon=N, alpha=0.75)


def test_smpybandits_deviates(smpy):
    variance = MEANS * (1 - MEANS)
    tuned = variance + np.sqrt(2 * log(T) / PULLS)
    assert (tuned > 0.25).all()  # where the cap matters
    np.testing.assert_allclose(bonuses(smpy.UCBVtuned(3)), np.sqrt(log(T) / PULLS * tuned))
    ucb_v = np.sqrt(2 * variance * log(T) / PULLS) + 3 * log(T) / PULLS  # zeta = 1
    np.testing.assert_allclose(bonuses(smpy.UCBV(3)), ucb_v)
    divergence = 0.2 * log(0.2 / 0.5) + 0.8 * log(0.8 / 0.5)
    found = smpy.IMED(2).one_Dinf(0.2, 0.5)
    assert found == pytest.approx(0.5, abs=1e-3)
    assert found != pytest.approx(divergence, abs=0.1)
    from SMPyBandits.Policies.Posterior import Gauss

    posterior = Gauss()
    for _ in range(400):
        posterior.update(0.0)
    assert posterior.sigma == pytest.approx(1 / 400)  # of the mean of 400 rewards it is 1/20
    approximate = smpy.ApproximatedFHGittins(3, horizon=N)
    assert (approximate.alpha, approximate.distortion_horizon) == (0.5, 1.01)


def followed(ask, tell, rounds=300):
    """Play a run, and check that every choice is the largest index of UCB1 with log(t - 1)."""
    rng = np.random.default_rng(1)
    pulls, sums = np.ones(3), np.array([0.0, 1.0, 0.0])
    for t in range(4, rounds):
        indices = sums / pulls + np.sqrt(2 * log(t - 1) / pulls)
        arm = ask()
        assert indices[arm] == pytest.approx(indices.max(), rel=1e-12)
        reward = float(rng.random() < (0.6, 0.5, 0.4)[arm])
        tell(arm, reward)
        pulls[arm] += 1
        sums[arm] += reward


def test_mabwiser():
    mab = pytest.importorskip("mabwiser.mab")
    ucb = mab.LearningPolicy.UCB1(alpha=1)
    play = mab.MAB([0, 1, 2], ucb, seed=1)
    play.fit([0, 1, 2], [0, 1, 0])
    followed(play.predict, lambda arm, reward: play.partial_fit([arm], [reward]))
    lonely = mab.MAB([0, 1, 2], ucb, seed=1)
    lonely.fit([1], [1])
    for _ in range(100):
        assert lonely.predict() == 1  # the others were never played
        lonely.partial_fit([1], [1])
    tied = mab.MAB([0, 1, 2], ucb, seed=1)
    tied.fit([0, 1, 2], [1, 1, 1])
    assert {tied.predict() for _ in range(20)} == {0}
    beta = mab.MAB([0, 1], mab.LearningPolicy.ThompsonSampling(), seed=1)
    beta.fit([0, 0, 0, 1], [1, 1, 0, 0])
    assert beta._imp.arm_to_success_count == {0: 3, 1: 1}
    assert beta._imp.arm_to_fail_count == {0: 2, 1: 2}


def test_river():
    bandit = pytest.importorskip("river.bandit")
    from river import proba

    policy = bandit.UCB(delta=1, seed=1)
    for arm, reward in enumerate((0.0, 1.0, 0.0)):
        policy.update(arm, reward)
    followed(lambda: policy.pull([0, 1, 2]), policy.update)
    greedy = bandit.UCB(delta=1, reward_obj=proba.Gaussian(), seed=1)
    for arm in (0, 0, 1, 1):
        greedy.update(arm, float(arm))
    for _ in range(1000):  # UCB would return to the other arm
        assert greedy.pull([0, 1]) == 1
        greedy.update(1, 1.0)
    thompson = bandit.ThompsonSampling(reward_obj=proba.Gaussian(), seed=1)
    for reward in np.random.default_rng(1).normal(size=10_000):
        thompson.update(0, reward)
    assert thompson._rewards[0].sigma == pytest.approx(1, rel=0.05)  # of the mean: 0.01
    bayes = bandit.BayesUCB(seed=1)
    for reward in (1, 0, 1):
        bayes.update(0, reward)
    assert bayes.compute_index(0) == pytest.approx(special.betaincinv(3, 2, 1 - 1 / 4))


X = np.array([[1.0, 0.5], [1.0, -1.0], [1.0, 0.25]])
PAID = np.array([0.5, 1.0, -0.25])


def model_of(ridge):
    """Return mean and norm at a context, after three rewards of one arm."""
    z = np.array([1.0, 2.0])
    inverse = np.linalg.inv(ridge * np.eye(2) + X.T @ X)
    return z, z @ inverse @ X.T @ PAID, np.sqrt(z @ inverse @ z)


def test_linear_models_of_mabwiser():
    """LinTS: 5,000 samples; their deviation is within a tenth, ten standard errors."""
    mab = pytest.importorskip("mabwiser.mab")
    z, mean, norm = model_of(1.0)
    for policy, index in (("LinUCB", mean + 0.7 * norm), ("LinTS", mean)):
        made = mab.MAB(["a"], getattr(mab.LearningPolicy, policy)(alpha=0.7), seed=1)
        made.fit(["a"] * 3, PAID, X)
        n = 1 if policy == "LinUCB" else 5000
        values = np.array([one["a"] for one in _listed(made, np.tile(z, (n, 1)))])
        assert values.mean() == pytest.approx(index, abs=1e-9 if n == 1 else 0.05 * norm)
        if n > 1:
            assert values.std() == pytest.approx(0.7 * norm, rel=0.1)
    ours = ocucb.LinearBandit(["a"], 2, "lin-ucb:constant=0.7", sigma=1)
    ours.tell(["a"] * 3, PAID, X)
    assert ours.summary().weights[0] @ z == pytest.approx(mean)


def _listed(made, contexts):
    found = made.predict_expectations(contexts)
    return found if isinstance(found, list) else [found]


def test_the_linear_model_of_river():
    bandit = pytest.importorskip("river.bandit")
    policy = bandit.LinUCBDisjoint(alpha=0.5, beta=2.0, seed=1)
    for x, paid in zip(X, PAID, strict=True):
        policy.update("a", dict(enumerate(x)), paid)
    z = np.array([1.0, 2.0])
    covariance = np.linalg.inv(0.5 * np.eye(2) + 2.0 * X.T @ X)
    mean, norm = z @ covariance @ (2.0 * X.T @ PAID), np.sqrt(z @ covariance @ z)
    found = policy._bayes_lin_regs["a"].predict_one(dict(enumerate(z)), with_dist=True)
    assert found.mu == pytest.approx(mean)
    assert found.sigma == pytest.approx(np.sqrt(1 / 2.0 + norm**2))
