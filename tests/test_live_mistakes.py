"""Live bandits: rewards, the horizon, formulas that fail, and mistakes in one sentence."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import ocucb
from ocucb import Bandit
from policy_table import SETTINGS, make, needs_clicks, scale

BERNOULLI = "bernoulli-gittins"


def test_bounds_and_sigma_say_the_same():
    """Half the width is sigma, wherever the bounds lie."""
    rng = np.random.default_rng(2)
    for low, high in ((0.0, 1.0), (-3.0, 5.0)):
        one = Bandit("abc", "ocucb", 1000, bounds=(low, high), rng=1)
        two = Bandit("abc", "ocucb", 1000, sigma=(high - low) / 2, rng=1)
        for _ in range(300):
            arm = one.ask()
            assert arm == two.ask()
            reward = rng.uniform(low, high)
            one.tell(arm, reward)
            two.tell(arm, reward)


@pytest.mark.parametrize("text", ["ocucb", "thompson", "epsilon-greedy", BERNOULLI])
def test_minimizing_losses_is_maximizing_what_is_left(text):
    one = Bandit("abc", text, 60, bounds=(0, 1), rng=1)
    two = Bandit("abc", text, 60, bounds=(0, 1), rng=1, minimize=True)
    rng = np.random.default_rng(1)
    for _ in range(50):
        arm = one.ask()
        assert arm == two.ask()
        gain = float(rng.random() < {"a": 0.2, "b": 0.5, "c": 0.7}[arm])
        one.tell(arm, gain)
        two.tell(arm, 1 - gain)
    gains, losses = one.summary(), two.summary()
    assert np.allclose(gains.mean, 1 - losses.mean)
    assert np.allclose(gains.low, 1 - losses.high)
    assert losses.next_arm == gains.next_arm


def test_reward_outside_the_bounds_warns_once_or_is_refused():
    bandit = Bandit("ab", "ocucb", 100, bounds=(0, 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bandit.tell("a", 1.5)
        bandit.tell("a", -2)
    assert [str(warning.message) for warning in caught] == [
        "reward 1.5 lies outside the bounds 0 and 1; such rewards are taken as they are."
    ]
    assert caught[0].filename == __file__
    assert bandit.to_dict()["sums"] == [-0.5, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh = Bandit("ab", "ocucb", 100, bounds=(0, 1))
        with pytest.raises(UserWarning):
            fresh.tell("a", 1.5)
    assert fresh.rounds == 0
    strict = Bandit("ab", "ocucb", 100, bounds=(0, 1), strict=True)
    with pytest.raises(ValueError, match="outside the bounds"):
        strict.tell(["a", "b"], [0.5, 1.5])
    assert strict.rounds == 0
    whole = Bandit("ab", BERNOULLI, 60, bounds=(0, 1))
    with pytest.raises(ValueError, match=r"takes rewards of 0 and 1, got 0\.5"):
        whole.tell("a", 0.5)
    with pytest.raises(ValueError, match="takes rewards of 0 and 1, got 2"):
        whole.tell("a", 2)


@pytest.mark.parametrize("text", SETTINGS)
def test_beyond_the_horizon(text):
    """Warn once, keep the last bonus; a new horizon may be passed, too."""
    bandit = Bandit("abc", make(text), 60, **scale(text))
    index = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t in range(200):
            arm = bandit.ask()
            bandit.tell(arm, float(t % 2))
            if t >= 59:
                summary = bandit.summary()
                index.append((summary.index - summary.mean) * np.sqrt(summary.pulls))
    assert [str(warning.message) for warning in caught] == [
        "round 61 lies beyond the horizon 60, and is played like the last one before it; "
        "extend(horizon) sets a new one."
    ]
    if text.partition(":")[0] == "ocucb":  # sigma sqrt(alpha log psi), for at most 60 pulls
        p = make(text).parameters
        expected = 0.7 * math.sqrt(p["alpha"] * math.log(p["psi"]))
        assert np.allclose(index[0], expected)
    if not needs_clicks(text):
        bandit.extend(10**4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bandit.ask(100)


def test_group_spreads_out_and_late_rewards_bring_it_back():
    bandit = Bandit("abc", "ocucb", 1000, sigma=1)
    assert sorted(bandit.ask(9)) == list("aaabbbccc")
    bandit.tell("b", 5.0)
    assert bandit.ask(3) == ["b", "b", "b"]  # the others have no reward to compare


def test_a_formula_that_fails_leaves_all_as_it_was():
    @ocucb.index_policy(unplayed_index="nonincreasing")
    def undefined(pulls, t, horizon, arms):
        return math.nan if t > 8 else 1.0 / pulls

    @ocucb.choice_policy(memory=lambda arms: 1)
    def lost(t, horizon, pulls, sums, sigma, memory, stream):
        memory[0] = t
        return 0 if ocucb.random.uniform(stream) < 2.0 and t < 8 else -1

    for policy in (undefined(), lost()):
        bandit = Bandit("abc", policy, 100, sigma=1, rng=3)
        bandit.tell(["a", "b", "c"], [0.0, 0.0, 0.0])
        before = bandit.to_dict()
        for count in (50, 50):
            with pytest.raises(ValueError, match=r"could not choose an arm in round [89]"):
                bandit.ask(count)
            assert bandit.to_dict() == before
        bandit.ask(4)
        assert bandit.summary().next_arm is (None if policy.name == "lost" else bandit.ask())


def raising(kind, facts):
    """Return a bandit for three arms whose formula fails from round 6 on."""
    if kind is ocucb.choice_policy:

        def formula(t, horizon, pulls, sums, sigma, memory, stream):
            memory[0] = t
            if ocucb.random.uniform(stream) < 2.0 and t > 5.0:
                raise ValueError("too late.")
            return 0
    else:

        def formula(pulls, t, horizon, arms):
            if t > 5.0:
                raise ValueError("too late.")
            return 1.0 / pulls

    bandit = Bandit("abc", kind(check=False, **facts)(formula)(), 100, sigma=1, rng=3)
    bandit.tell(["a", "b", "c"], [0.0, 0.0, 0.0])
    return bandit


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        (ocucb.index_policy, {}),
        (ocucb.index_policy, {"unplayed_index": "constant"}),
        (ocucb.index_policy, {"unplayed_index": "nonincreasing"}),
        (ocucb.kl_policy, {"unplayed_index": "nonincreasing"}),
        (ocucb.sampling_policy, {}),
        (ocucb.choice_policy, {"memory": lambda arms: 1}),
    ],
)
def test_a_formula_that_raises_leaves_all_as_it_was(kind, facts):
    bandit = raising(kind, facts)
    words = (
        r"^formula could not choose an arm in round 6: its formula raised ValueError: too late\.$"
    )
    before = bandit.to_dict()
    with pytest.raises(ValueError, match=words):
        bandit.ask(9)
    assert bandit.to_dict() == before
    bandit.ask(2)
    before = bandit.to_dict()
    for count in (None, 3):
        with pytest.raises(ValueError, match=words):
            bandit.ask(count)
        assert bandit.to_dict() == before
    assert bandit.summary().next_arm is None
    assert bandit.to_dict() == before
    assert Bandit.from_dict(before, policy=bandit.policy).to_dict() == before
    # what is observed is noted all the same
    bandit.tell(["a", "b", "b"], [1.0, 0.0, 0.0])
    bandit.play("c")
    bandit.cancel("c")
    assert bandit.to_dict()["pulls"] == [2, 3, 1]


def test_infinite_bonuses_mean_always_and_never():
    def bonus(pulls, t, horizon, arms):
        return math.inf if pulls < 2.0 else -math.inf if pulls > 5.0 else 1.0 / pulls

    bandit = Bandit("abc", ocucb.index_policy(unplayed_index="constant")(bonus)(), 100, sigma=1)
    for t, pulls in ((6, [2, 2, 2]), (18, [6, 6, 6])):
        while bandit.rounds < t:
            bandit.tell(bandit.ask(), float(bandit.rounds % 3))
        assert bandit.to_dict()["pulls"] == pulls
    bandit.ask(5)  # one has to be played


def test_policy_that_numba_cannot_compile():
    @ocucb.index_policy
    def strange(pulls, t, horizon, arms):
        return open("file")

    with pytest.raises(TypeError, match="strange cannot be compiled by numba"):
        Bandit("ab", strange, 10, sigma=1)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"arms": []}, ValueError, "there must be at least one arm, got none."),
        ({"arms": 3}, TypeError, "arms must be a list of names, got 3."),
        ({"arms": ["a", "b", "a"]}, ValueError, "different names, got 'a' twice."),
        ({"arms": ["a", 1.5]}, TypeError, "a string or a whole number, got 1.5."),
        ({"arms": ["a", None]}, TypeError, "a string or a whole number, got None."),
        ({"policy": 3}, TypeError, "a policy must be one such as OCUCB()"),
        ({"policy": "nothing"}, ValueError, "unknown policy 'nothing'"),
        ({"horizon": 0}, ValueError, "horizon must be at least 1, got 0."),
        ({"horizon": 10**7, "policy": "gittins"}, ValueError, "Gittins"),
        ({"sigma": 1.0}, ValueError, "got both."),
        ({"bounds": None}, ValueError, "OCUCB has to know how much rewards vary: pass bounds"),
        ({"policy": "gittins", "horizon": None}, ValueError, "a table for its horizon: pass hori"),
        ({"bounds": (1, 1)}, ValueError, "the lower one first, got 1 and 1."),
        ({"bounds": 3}, TypeError, "a pair (low, high), got 3."),
        ({"bounds": (0, math.inf)}, ValueError, "must be finite"),
        ({"bounds": None, "sigma": 0}, ValueError, "greater than 0 and finite, got 0."),
        ({"bounds": None, "sigma": math.nan}, ValueError, "greater than 0 and finite, got nan."),
        ({"bounds": None, "sigma": 1e-200}, ValueError, "at least 1e-100 and at most 1e100, got"),
        ({"bounds": None, "sigma": 1e200}, ValueError, "at least 1e-100 and at most 1e100, got"),
        ({"bounds": (0, 1e-200)}, ValueError, "at least 2e-100 apart, got 0 and 1e-200."),
        ({"bounds": (0, 1e200)}, ValueError, "between -1e100 and 1e100"),
        ({"bounds": None, "sigma": "1"}, TypeError, "sigma must be a number, got '1'."),
        ({"policy": BERNOULLI, "bounds": (0, 2)}, ValueError, "pass bounds=(0, 1)."),
        ({"rng": -1}, ValueError, "rng must be at least 0, got -1."),
    ],
)
def test_mistakes_at_the_start(change, kind, message):
    given = {"arms": "abc", "policy": "ocucb", "horizon": 100, "bounds": (0, 1), **change}
    with pytest.raises(kind) as caught:
        Bandit(**given)
    assert message in str(caught.value)


def test_mistakes_on_the_way_change_nothing():
    bandit = Bandit(["a", "b", 3], "thompson", 100, bounds=(0, 1), rng=1)
    bandit.ask(4)
    bandit.tell("a", 0.5)
    bandit.retire("b")
    before = bandit.to_dict()
    for kind, message, action in [
        (ValueError, "reward must be finite, got nan.", lambda: bandit.tell("a", math.nan)),
        (ValueError, "reward must be finite, got -inf.", lambda: bandit.tell("a", -math.inf)),
        (ValueError, "between -1e100 and 1e100", lambda: bandit.tell("a", 1e300)),
        (ValueError, "between -1e100 and 1e100", lambda: bandit.tell("a", 10**400)),
        (TypeError, "reward must be a number, got None.", lambda: bandit.tell("a", None)),
        (TypeError, "reward must be a number, got '1'.", lambda: bandit.tell("a", "1")),
        (ValueError, "unknown arm 'z'; this bandit has 'a', 'b', 3.", lambda: bandit.tell("z", 1)),
        (ValueError, "unknown arm {}", lambda: bandit.tell({}, 1)),
        (ValueError, "2 arms and 1 rewards.", lambda: bandit.tell(["a", 3], [1])),
        (TypeError, "needs a list of rewards, got 1.", lambda: bandit.tell(["a", 3], 1)),
        (ValueError, "unknown arm 'z'", lambda: bandit.tell(["a", "z"], [1, 1])),
        (ValueError, "arm 'a' is already active.", lambda: bandit.add(["new", "a"])),
        (TypeError, "a string or a whole number", lambda: bandit.add([1.5])),
        (ValueError, "arm 'b' is already retired.", lambda: bandit.retire("b")),
        (ValueError, "the last active arm cannot be retired", lambda: bandit.retire(["a", 3])),
        (ValueError, "unknown arm 'z'", lambda: bandit.retire("z")),
        (ValueError, "above the present one, 100, got 100.", lambda: bandit.extend(100)),
        (ValueError, "count must be at least 1, got 0.", lambda: bandit.ask(0)),
        (ValueError, "count must be a number, got 'many'.", lambda: bandit.ask("many")),
        (TypeError, "count must be a whole number, got [2].", lambda: bandit.ask([2])),
        (ValueError, "level must lie between 0 and 1, got 1.", lambda: bandit.summary(1)),
    ]:
        with pytest.raises(kind) as caught:
            action()
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        assert bandit.to_dict() == before
    bandit.cancel("b")
    before = bandit.to_dict()
    with pytest.raises(ValueError, match="arm 'b' has no open ask to cancel"):
        bandit.cancel("b")
    assert bandit.to_dict() == before


def test_rules_cannot_be_changed_behind_its_back():
    bandit = Bandit("ab", "ucb", 100, bounds=(0, 1), rng=7)
    bandit.ask()
    before = bandit.to_dict()
    rules = "policy bounds sigma minimize strict seed horizon open_horizon arms retired rounds"
    for name in rules.split():
        old = getattr(bandit, name)
        with pytest.raises(AttributeError, match=rf"^{name} of a bandit cannot be set; [^\n]+\.$"):
            setattr(bandit, name, old)
        with pytest.raises(AttributeError):
            delattr(bandit, name)
    with pytest.raises(AttributeError):
        bandit.nonsense = 1
    assert bandit.to_dict() == before


def test_saving_into_no_folder_names_it(tmp_path):
    bandit = Bandit("ab", "ucb", 100, sigma=1)
    with pytest.raises(FileNotFoundError, match=r"the folder does not exist: '.*nodir'"):
        bandit.save(tmp_path / "nodir" / "x")


def test_policies_that_share_a_name_with_ours(tmp_path):
    @ocucb.index_policy
    def moss(pulls, t, horizon, arms, constant=2.0):
        return 1000.0 * pulls

    bandit = ocucb.Bandit("abc", moss(), 100, sigma=1)
    with pytest.raises(ValueError, match="saved with a policy of your own, 'moss:constant=2'"):
        ocucb.Bandit.from_dict(bandit.to_dict())
    assert ocucb.Bandit.from_dict(bandit.to_dict(), policy=moss).policy == moss()


def test_rounding_never_decides_in_silence():
    with pytest.raises(ValueError, match="rounding swamps rewards between 1000000000000000"):
        ocucb.Bandit("ab", "ucb", 5000, bounds=(1e15, 1e15 + 1))
    bandit = ocucb.Bandit("ab", "ucb", 5000, sigma=0.5)
    with pytest.warns(UserWarning, match="rounding swamps rewards as large as 1000000"):
        bandit.tell("a", 1e15)
    strict = ocucb.Bandit("ab", "ucb", 5000, sigma=0.5, strict=True)
    with pytest.raises(ValueError, match="subtract a constant from all rewards"):
        strict.tell("a", 1e15)
    assert strict.rounds == 0
