"""Live bandits that are told nothing but their arms: policy, horizon and scale follow."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
import warnings

import numpy as np
import pytest

import ocucb
from helpers import play_steps
from ocucb import Bandit, problems
from ocucb.live import rules
from ocucb.policies import FAMILIES
from ocucb.random import CHOICES, REWARDS, start_stream

PLANNED = [1000, 31_622, 5_623_206, 13_334_477_120]  # each the one before, to the power of 1.5


def playing(bandit, rng, rounds, means=(0.0, 0.5, 1.0), sigmas=(1.0, 3.0, 0.2)):
    """Play rounds with normal rewards, and return the arms."""
    arms = []
    for _ in range(rounds):
        arms.append(bandit.ask())
        i = bandit.arms.index(arms[-1]) % len(means)
        bandit.tell(arms[-1], float(rng.normal(means[i], sigmas[i])))
    return arms


# What follows from what is told


@pytest.mark.parametrize(
    ("told", "policy", "sigma"),
    [
        ({}, "ocucb-normal", None),
        ({"bounds": (0, 1)}, "kl-ocucb", 0.5),
        ({"bounds": (-1, 3)}, "kl-ocucb", 2.0),
        ({"sigma": 2}, "kl-ocucb", 2.0),
        ({"policy": "moss", "sigma": 2}, "moss", 2.0),
        ({"policy": "uniform"}, "uniform", None),
        ({"policy": "ocucb-normal", "bounds": (0, 1)}, "ocucb-normal", 0.5),
    ],
)
def test_what_plays_if_nobody_says(told, policy, sigma):
    for horizon in (None, 500):
        bandit = Bandit("abc", horizon=horizon, **told)
        assert (bandit.policy.family.name, bandit.sigma) == (policy, sigma)
        assert (bandit.horizon, bandit.open_horizon) == (horizon or 1000, horizon is None)
        end = "1,000 or more" if horizon is None else "500"
        assert repr(bandit).endswith(f"round 0 of {end}>")
        assert bandit.to_dict()["policy"] == bandit.policy.name


@pytest.mark.parametrize("name", FAMILIES)
def test_only_policies_that_need_sigma_ask_for_it(name):
    family = FAMILIES[name]
    if family.binary or family.needs_sigma:
        with pytest.raises(ValueError, match=r"^[^\n]+ (has to know|needs rewards of 0)[^\n]+\.$"):
            Bandit("ab", name, 100)
    else:
        assert Bandit("ab", name, 100).sigma is None


def test_a_policy_that_needs_no_sigma_sees_none():
    """Of your own, too; and what it was never told cannot decide."""

    @ocucb.index_policy(needs_sigma=False)
    def honest(mean, variance, pulls, t, horizon, arms, sigma):
        return mean if sigma == 0.0 else math.nan

    bandit = Bandit("abc", honest)
    playing(bandit, np.random.default_rng(1), 30)
    with pytest.raises(ValueError, match="formula returned NaN"):
        playing(Bandit("abc", honest, sigma=1.0), np.random.default_rng(1), 30)


@pytest.mark.parametrize("text", ["ocucb-normal", "ocucb-normal:alpha=2", "greedy", "uniform"])
def test_the_arms_of_the_simulator_without_sigma(text):
    """Pull for pull, with arms whose sigmas differ."""
    problem = problems.gaussian([0.5, 0.4, 0.1, 0.3], sigma=[1.0, 0.5, 2.0, 0.01])
    for seed in range(5):
        key = np.array([seed, 6], dtype=np.uint64)
        pulls = play_steps(ocucb.parse_policy(text), problem, 700, key, first=5, runs=1)[1]
        parts = Bandit(range(4), text, 700).to_parts()
        rewards = np.empty(4, dtype=np.uint64)
        start_stream(rewards, key, 5, REWARDS)
        start_stream(parts["stream"], key, 5, CHOICES)
        bandit = Bandit.from_parts(**parts)
        for _ in range(700):
            arm = bandit.ask()
            bandit.tell(arm, problem.rewards.draw(problem.means[arm], problem.scales[arm], rewards))
        assert bandit.to_parts()["pulls"].tolist() == pulls[0].tolist()


def test_losses_are_negative_rewards():
    one, two = Bandit("abc", rng=3), Bandit("abc", rng=3, minimize=True)
    rng = np.random.default_rng(4)
    for _ in range(1500):
        arm, reward = one.ask(), float(rng.normal())
        assert two.ask() == arm
        one.tell(arm, reward)
        two.tell(arm, -reward)
    gains, losses = one.summary(), two.summary()
    assert np.array_equal(gains.low, -losses.high)
    assert np.array_equal(gains.index, -losses.index)


# An open horizon


def test_how_far_is_planned():
    assert rules.horizons(None, 0)[:4] == PLANNED
    for n, following in itertools.pairwise(PLANNED):
        assert following**2 <= n**3 < (following + 1) ** 2
        assert rules.horizons(None, n - 1)[0] == n
        assert rules.horizons(None, n)[0] == following
    for rounds in (2**53 - 1, 2**53):
        assert rules.horizons(None, rounds) == [2**53]
    assert rules.horizons(77, 500) == [77]


POLICIES = ["ocucb-normal", "kl-ocucb", "moss", "ucb", "thompson", "improved-ucb", "uniform"]


@pytest.fixture
def soon(monkeypatch):
    """Open horizons of 60, 464 and 9,994."""
    monkeypatch.setattr(rules, "_FIRST_HORIZON", 60)


def known(text):
    return {"sigma": 1.0} if FAMILIES[text].needs_sigma else {}


@pytest.mark.parametrize("text", POLICIES)
def test_it_grows_as_if_extended_by_hand(text, soon):
    """Asked one by one, in groups, told more, played: the same arms, and no word of warning."""
    ours = Bandit("abc", text, rng=1, **known(text))
    other = Bandit("abc", text, 60, rng=1, **known(text))
    rng = np.random.default_rng(2)

    def extend():
        if other.rounds >= other.horizon:
            other.extend(math.isqrt(other.horizon**3))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while ours.rounds < 700:
            what, reward = rng.random(), float(rng.normal())
            arms = [ours.ask()] if what < 0.8 else ours.ask(3)
            assert arms == [(other.ask(), extend())[0] for _ in arms]
            for bandit in (ours, other):
                bandit.tell(arms[0], reward)
            if what < 0.1:
                for bandit in (ours, other):
                    bandit.tell("b", reward)
                extend()
            elif what < 0.2:
                for bandit in (ours, other):
                    bandit.play("c")
                extend()
            assert ours.horizon == other.horizon
    assert ours.horizon == 9994
    one, two = ours.to_dict(), other.to_dict()
    assert (one.pop("horizon"), two.pop("horizon")) == (None, 9994)
    assert one == two


@pytest.mark.parametrize("how", ["ask", "tell", "play", "decide", "play by decision"])
def test_whatever_reaches_the_horizon_makes_it_grow(how, soon):
    bandit = Bandit("abc", rng=1)
    playing(bandit, np.random.default_rng(2), 59)
    assert bandit.horizon == 60
    {
        "ask": bandit.ask,
        "tell": lambda: bandit.tell("a", 0.5),
        "play": lambda: bandit.play("a"),
        "decide": bandit._decide,
        "play by decision": lambda: bandit._decide(1),
    }[how]()
    assert bandit.horizon == 464
    index = bandit.summary().index
    bandit.extend(464)  # the same, told
    assert bandit.summary().index.tolist() == index.tolist()


@pytest.mark.parametrize("text", POLICIES)
def test_it_goes_on_bit_for_bit_wherever_it_is_saved(text, soon):
    """Right before the horizon is reached, when it is, and after; as a file, pickled, copied."""
    rng = np.random.default_rng(5)
    bandit = Bandit("abc", text, rng=1, **known(text))
    for rounds in (58, 59, 60, 61, 463, 464, 465):
        playing(bandit, rng, rounds - bandit.rounds)
        document = bandit.to_dict()
        twins = [
            Bandit.from_dict(json.loads(json.dumps(document))),
            pickle.loads(pickle.dumps(bandit)),
            copy.deepcopy(bandit),
            Bandit.from_parts(**bandit.to_parts()),
        ]
        after = playing(copy.copy(bandit), np.random.default_rng(rounds), 500)
        for twin in twins:
            assert twin.to_dict() == document
            assert (twin.horizon, twin.open_horizon) == (bandit.horizon, True)
            assert twin.summary().table() == bandit.summary().table()
            assert playing(twin, np.random.default_rng(rounds), 500) == after


@pytest.mark.parametrize("kind", [ocucb.index_policy, ocucb.choice_policy])
def test_a_group_that_fails_beyond_the_horizon_is_taken_back(kind, soon):
    """Horizon and memory, too."""
    if kind is ocucb.choice_policy:

        @kind(memory=lambda arms: 1)
        def fails(t, horizon, pulls, sums, sigma, memory, stream):
            memory[0] += 1.0
            return -1 if t > 64.0 else int(memory[0]) % 3
    else:

        @kind(check=False)
        def fails(pulls, t, horizon, arms):
            return math.nan if t > 64.0 else 1.0 / pulls

    bandit = Bandit("abc", fails, sigma=1.0, rng=1)
    playing(bandit, np.random.default_rng(1), 57)
    before, arms = bandit.to_dict(), copy.copy(bandit).ask(7)
    for _ in range(2):
        with pytest.raises(ValueError, match="could not choose an arm in round 65"):
            bandit.ask(8)
        assert bandit.to_dict() == before
        assert bandit.horizon == 60
    assert bandit.ask(7) == arms
    assert bandit.horizon == 464


@pytest.mark.parametrize("text", ["ocucb-normal", "thompson", "epsilon-greedy"])
def test_decisions_know_their_probability_when_the_horizon_is_reached(text, soon):
    bandit = Bandit("ab", text, rng=1, **known(text))
    rng = np.random.default_rng(3)
    for _ in range(70):
        other = copy.copy(bandit)
        chances = other.probabilities()
        i, chance = bandit._decide()
        assert other.ask() == "ab"[i]
        assert chance == pytest.approx(chances["ab"[i]], abs=1e-15)
        bandit.tell("ab"[i], float(rng.normal()))
    assert bandit.horizon == 464


def test_a_horizon_that_is_told_later_is_no_longer_open():
    bandit = Bandit("abc", rng=1)
    playing(bandit, np.random.default_rng(1), 300)
    before = bandit.to_dict()
    with pytest.raises(ValueError, match=r"^the new horizon must be above the rounds so far, 300,"):
        bandit.extend(300)
    assert bandit.to_dict() == before
    bandit.extend(800)  # less than what was planned for
    assert (bandit.horizon, bandit.open_horizon) == (800, False)
    assert bandit.to_dict() == before | {"horizon": 800}
    told = Bandit.from_dict(before | {"horizon": 800})
    assert playing(told, np.random.default_rng(2), 400) == playing(
        bandit, np.random.default_rng(2), 400
    )
    with pytest.raises(ValueError, match=r"above the present one, 800, got 800\.$"):
        bandit.extend(800)
    playing(bandit, np.random.default_rng(2), 100)
    with pytest.warns(UserWarning, match="round 801 lies beyond the horizon 800"):
        bandit.ask()


def test_declarations_are_checked_for_all_that_will_be_planned():
    @ocucb.index_policy(unplayed_index="nonincreasing")
    def until(pulls, t, horizon, arms):
        return (1.0 if horizon <= 10**6 and arms <= 3 else t) / pulls

    Bandit("abc", until, 10**6, sigma=1.0)
    with pytest.raises(ValueError, match='declares unplayed_index="nonincreasing", but its form'):
        Bandit("abc", until, sigma=1.0)

    @ocucb.index_policy(unplayed_index="nonincreasing", concave=True)
    def mine(pulls, t, horizon, arms):
        return math.sqrt(3.0 / pulls * math.log(2.0 * horizon / t))

    Bandit("abc", mine, sigma=1.0)


# What is odd about rewards of which nothing is known


def told_by(bandit, draw, rounds=300):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t in range(rounds):
            bandit.tell(bandit.ask(), draw(t))
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("minimize", [False, True])
def test_rewards_of_0_and_1_are_noticed(minimize):
    rng = np.random.default_rng(6)

    def clicks(t):
        return float(rng.random() < 0.2)

    (text,) = told_by(Bandit("abc", minimize=minimize), clicks)
    assert text.startswith("all rewards so far are 0 or 1, and ")
    assert "; pass bounds=(0, 1), " in text
    for quiet in (Bandit("abc", bounds=(0, 1)), Bandit("abc", "uniform"), Bandit("abc", sigma=0.5)):
        assert told_by(quiet, clicks) == []
    for other in (
        lambda t: float(rng.normal()),
        lambda t: float(rng.integers(0, 3)),
        lambda t: float(rng.choice([0.5, 1.0])),
        lambda t: 0.1,
        lambda t: 0.0,
        lambda t: 1e12 * (1 + t % 2),
        lambda t: -float(t % 2),
    ):
        assert told_by(Bandit("abc", minimize=minimize), other) == []


@pytest.mark.parametrize("minimize", [False, True])
def test_what_was_noticed_of_rewards_survives_a_load(minimize):
    """A bandit that is saved and loaded after every reward warns when one that stays does."""
    told = {
        "clicks": [0.0, 1.0, 0.0] * 8,
        "late": [0.0] * 20 + [1.0, 0.0],
        "ratings": [0.5] + [0.0, 1.0] * 12,
        "balanced": [-1.0, 2.0, 0.0] + [0.0, 1.0] * 12,
        "equal": [0.1] * 24,
        "large": [1e15, 1e15 + 1.0] * 12,
    }

    def warned(rewards, load):
        bandit, found = Bandit("abc", minimize=minimize, rng=1), []
        for t, reward in enumerate(rewards):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                bandit.tell(bandit.ask(), reward)
            found += [(t, str(warning.message)[:20]) for warning in caught]
            if load(t):
                bandit = Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
        return found

    for name, rewards in told.items():
        stays = warned(rewards, lambda t: False)
        clicks = {"clicks": [(15, "all rewards so far a")], "late": [(20, "all rewards so far a")]}
        if name == "large":
            assert stays
            assert warned(rewards, lambda t: t == 1), "16 more are looked at"
        else:
            assert stays == clicks.get(name, [])
            assert warned(rewards, lambda t: True) == stays, name


def test_rounding_that_swamps_rewards_is_noticed():
    rng = np.random.default_rng(7)
    (text,) = told_by(Bandit("abc", rng=1), lambda t: 1e15 + float(rng.normal()))
    assert text.startswith("rounding swamps rewards as large as 1e+15 that differ by ")
    assert told_by(Bandit("abc", rng=1), lambda t: 1e6 + float(rng.normal())) == []
    bandit = Bandit("abc")
    with pytest.raises(ValueError, match="reward must be between -1e100 and 1e100, got 1e"):
        bandit.tell("a", 1e101)
    assert bandit.rounds == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bandit = Bandit("abc")
        bandit.tell(["a", "b", "c"] * 5, [0.0, 1.0, 0.0] * 5)
        before = bandit.to_dict()
        with pytest.raises(UserWarning, match="all rewards so far are 0 or 1"):
            bandit.tell(["a", "b"], [1.0, 0.0])
        assert bandit.to_dict() == before


# Intervals


def test_the_summary_does_not_pretend_to_know_sigma(tmp_path):
    bandit = Bandit(["red", "green", "blue", "new"], rng=1)
    bandit.tell(["red"] * 6, [1.0, 2.0, 1.5, 0.5, 1.1, 1.2])
    bandit.tell(["green"] * 8, [3.0] * 8)
    bandit.tell(["blue"] * 2, [1.0, 2.0])
    summary = bandit.summary()
    assert (summary.sigma, summary.open_horizon) == (None, True)
    assert np.isfinite(summary.high[0] - summary.low[0])
    assert summary.low[1:3].tolist() == [-math.inf] * 2, "equal rewards, or few, say nothing"
    assert summary.high[1:3].tolist() == [math.inf] * 2
    assert np.isnan(summary.low[3])
    assert summary.index[2] == math.inf, "it comes before those that have been played more"
    for text in (summary.table(), summary._repr_html_()):
        assert "sigma is unknown: intervals hold for normal rewards" in text
        assert "round 17 of 1,000 or more: OCUCB-normal plays &#x27;new" in text.replace(
            "'", "&#x27;"
        )
        assert "inf" not in text.replace("sigma", "").replace(">inf<", "").replace("  inf  ", "")
    summary.plot(tmp_path / "unknown.png")
    told = Bandit(["red"], horizon=100, sigma=1.0)
    told.tell(["red"] * 3, [1.0, 2.0, 3.0])
    assert "unknown" not in told.summary().table()
    assert np.isfinite(told.summary().low[0])


@pytest.mark.parametrize("text", ["uniform", "greedy", "ocucb-normal"])
def test_intervals_survive_a_load(text):
    """Also of policies that do not look at variances."""
    bandit = Bandit("abc", text, rng=1)
    playing(bandit, np.random.default_rng(9), 100)
    again = Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
    assert again.summary().table() == bandit.summary().table()
    parts = bandit.to_parts()
    with pytest.raises(ValueError, match=r"pass squares=\.$"):
        Bandit.from_parts(**{**parts, "squares": None})
