"""Live bandits: the arms of the simulator, the arms of a slow model; their size."""

from __future__ import annotations

import copy
import ctypes
import json
import math
import pickle
import re
import tracemalloc
import warnings
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from naive_live import NaiveBandit
from scipy import stats

import ocucb
from helpers import play_steps
from ocucb import Bandit, problems
from ocucb.live import rules
from ocucb.random import CHOICES, REWARDS, start_stream
from policy_table import SETTINGS, entry_of, make, needs_clicks, scale


def words(key, run, stream):
    state = np.empty(4, dtype=np.uint64)
    start_stream(state, key, run, stream)
    return state


# The arms of the simulator


@pytest.mark.parametrize("text", SETTINGS)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_same_arms_as_the_simulator(text, data):
    """Pull for pull, on rewards and random numbers of a run of the step engine."""
    arms = data.draw(st.integers(1, 6), label="arms")
    few = entry_of(text).horizons
    horizon = data.draw(st.sampled_from(few) if few else st.integers(1, 90), label="horizon")
    seed = data.draw(st.integers(0, 2**40), label="seed")
    order = np.random.default_rng(seed).permutation(arms)
    means = 0.9 - (order + order**2 / 64) / 12  # distinct gaps: regret tells the arm
    problem = problems.bernoulli(means)  # few values: ties
    key = np.array([seed, 777], dtype=np.uint64)
    regret, pulls = play_steps(make(text), problem, horizon, key, first=5, runs=1)
    document = Bandit(range(arms), make(text), horizon, bounds=(0, 1)).to_dict()
    document["stream"] = [f"{word:x}" for word in words(key, 5, CHOICES)]
    bandit = Bandit.from_dict(document)
    rewards = words(key, 5, REWARDS)
    played = []
    for _ in range(horizon):
        arm = bandit.ask()
        played.append(arm)
        bandit.tell(arm, problem.rewards.draw(means[arm], problem.scales[arm], rewards))
    assert np.allclose(regret[0], np.cumsum(problem.gaps[played]), rtol=0, atol=1e-9)
    assert bandit.to_dict()["pulls"] == pulls[0].tolist()


# The arms of the model


def agree(bandit, model):
    document = bandit.to_dict()
    assert document["rounds"] == model.rounds
    assert document["arms"] == [arm.name for arm in model.all]
    assert document["pulls"] == [arm.rewards for arm in model.all]
    assert document["open"] == [arm.open for arm in model.all]
    assert document["sums"] == [arm.sum for arm in model.all]
    assert document["retired"] == [arm.name for arm in model.all if not arm.active]
    assert [int(word, 16) for word in document["stream"]] == model.stream.tolist()


class AgainstModel(RuleBasedStateMachine):
    """Whatever is done, the bandit does what the model does."""

    @initialize(
        text=st.sampled_from([*SETTINGS, "ocucb", "moss", "aocucb", "gittins"]),
        arms=st.sampled_from([1, 2, 3, 5, 40]),
        horizon=st.one_of(st.none(), st.integers(3, 60)),
        told=st.booleans(),
        seed=st.integers(0, 2**32),
    )
    def start(self, text, arms, horizon, told, seed):
        policy = make(text)
        self.bernoulli = needs_clicks(text)
        if self.bernoulli:  # a table takes a second
            horizon = 60
        elif policy.family.table is not None:
            horizon = horizon or 30
        needed = self.bernoulli or policy.family.needs_sigma
        known = scale(text) if told or needed else {}
        rules._FIRST_HORIZON = 7  # then 18 and 76
        self.bandit = Bandit(range(arms), policy, horizon, rng=seed, **known)
        stream = self.bandit.to_dict()["stream"]
        self.model = NaiveBandit(
            list(range(arms)), policy, horizon, self.bandit.sigma, stream, first=7
        )
        self.rng = np.random.default_rng(seed)

    def teardown(self):
        rules._FIRST_HORIZON = 1000

    def reward(self, choice):
        if self.bernoulli:
            return float(choice % 2)
        return (0.0, 1.0, 0.5, -0.25, float(self.rng.normal()))[choice % 5]

    def quietly(self, action, *arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return action(*arguments)

    def some(self, arms, choice):
        return arms[choice % len(arms)]

    @rule(choice=st.integers(0, 100))
    def ask_and_tell(self, choice):
        for k in range(5):
            arm = self.quietly(self.bandit.ask)
            assert arm == self.model.ask()
            reward = self.reward(choice + k)
            self.bandit.tell(arm, reward)
            self.model.tell(arm, reward)

    @rule()
    def ask(self):
        assert self.quietly(self.bandit.ask) == self.model.ask()

    @rule(count=st.integers(1, 50))
    def ask_for_many(self, count):
        assert self.quietly(self.bandit.ask, count) == [self.model.ask() for _ in range(count)]

    def waiting(self):
        return [arm.name for arm in self.model.all if arm.open]

    @precondition(lambda self: self.waiting())
    @rule(choice=st.integers(0, 1000))
    def tell_late(self, choice):
        arm, reward = self.some(self.waiting(), choice), self.reward(choice)
        self.bandit.tell(arm, reward)
        self.model.tell(arm, reward)

    @precondition(lambda self: self.waiting())
    @rule(choice=st.integers(0, 1000))
    def tell_all_that_is_open(self, choice):
        arms = [arm.name for arm in self.model.all for _ in range(arm.open)]
        arms = [arms[i] for i in np.random.default_rng(choice).permutation(len(arms))]
        rewards = [self.reward(choice + k) for k in range(len(arms))]
        self.bandit.tell(arms, rewards)
        for arm, reward in zip(arms, rewards, strict=True):
            self.model.tell(arm, reward)

    @rule(choice=st.integers(0, 1000))
    def tell_about_any(self, choice):
        arm, reward = self.some(self.model.all, choice).name, self.reward(choice)
        self.bandit.tell(arm, reward)
        self.model.tell(arm, reward)

    @precondition(lambda self: self.waiting())
    @rule(choice=st.integers(0, 1000))
    def cancel(self, choice):
        arm = self.some(self.waiting(), choice)
        self.bandit.cancel(arm)
        self.model.cancel(arm)

    @rule(choice=st.integers(0, 1000))
    def play(self, choice):
        arm = self.some(self.model.all, choice).name
        self.bandit.play(arm)
        self.model.play(arm)

    @rule(count=st.integers(1, 3))
    def add(self, count):
        names = [f"arm {len(self.model.all) + k}" for k in range(count)]
        self.bandit.add(names)
        for name in names:
            self.model.add(name)

    @precondition(lambda self: len(self.model.active) > 1)
    @rule(choice=st.integers(0, 1000))
    def retire(self, choice):
        arm = self.some(self.model.active, choice).name
        self.bandit.retire(arm)
        self.model.retire(arm)

    @precondition(lambda self: self.bandit.retired)
    @rule(choice=st.integers(0, 1000))
    def bring_back(self, choice):
        arm = self.some(self.bandit.retired, choice)
        self.bandit.add(arm)
        self.model.add(arm)

    @precondition(lambda self: not self.bernoulli)
    @rule(more=st.integers(1, 60))
    def extend(self, more):
        self.bandit.extend(self.model.n + more)
        self.model.extend(self.model.n + more)

    @rule()
    def save_and_load(self):
        text = json.dumps(self.bandit.to_dict(), allow_nan=False)
        self.bandit = Bandit.from_dict(json.loads(text))

    @rule()
    def look(self):
        next_arm = self.bandit.summary().next_arm
        chances = self.bandit.probabilities()
        agree(self.bandit, self.model)
        if chances is not None:
            assert sum(chances.values()) == pytest.approx(1)
            assert chances[next_arm] > 0
        assert self.quietly(self.bandit.ask) == next_arm == self.model.ask()

    @rule(which=st.integers(0, 8))
    def mistake(self, which):
        bandit, known = self.bandit, self.model.all[0].name
        action, arguments = [
            (bandit.tell, ("nobody", 1.0)),
            (bandit.tell, (known, math.nan)),
            (bandit.tell, ([known, "nobody"], [1.0, 1.0])),
            (bandit.tell, ([known, known], [1.0, math.inf])),
            (bandit.add, (["new", "new"],)),
            (bandit.add, (["new", self.model.active[0].name],)),
            (bandit.retire, ([arm.name for arm in self.model.active],)),
            (bandit.extend, (self.model.rounds if self.model.open else self.model.n,)),
            (bandit.ask, (0,)),
        ][which]
        with pytest.raises(ValueError, match=r"^[^\n]*\.$"):
            action(*arguments)

    @invariant()
    def nothing_is_lost(self):
        if hasattr(self, "model"):
            agree(self.bandit, self.model)
            planned = (self.bandit.horizon, self.bandit.open_horizon)
            assert planned == (self.model.n, self.model.open)


AgainstModel.TestCase.settings = settings(
    max_examples=120,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestAgainstModel = AgainstModel.TestCase


@pytest.mark.parametrize(
    ("text", "rewards"),
    [
        ("ocucb", [[0.5, 0.5], [0.5, 0.5], [0.2, 0.3]]),
        ("uniform", [[0.1], [0.2], [0.3]]),
        ("epsilon-greedy:epsilon=0.4", [[0.5], [0.5], [0.1, 0.2]]),
        ("thompson", [[0.2, 0.4, 0.1], [0.5]]),
        ("maillard", [[0.2, 0.4, 0.1], [0.5], [0.1]]),
    ],
)
def test_probabilities_are_frequencies(text, rewards):
    """Of 400 choices from one state, with other random numbers: chance fails once in 10^5."""
    names = list(range(len(rewards)))
    bandit = Bandit(names, make(text), 100, sigma=1)
    for arm, paid in enumerate(rewards):
        for reward in paid:
            bandit.tell(arm, reward)
    bandit.play(names[-1])
    bandit.tell(names[-1], 0.1)
    chances = np.array(list(bandit.probabilities().values()))
    parts, rng = bandit.to_parts(), np.random.default_rng(3)
    counts = np.zeros(len(names))
    for _ in range(400):
        parts["stream"] = rng.integers(1, 2**63, 4).astype(np.uint64)
        counts[Bandit.from_parts(**parts).ask()] += 1
    possible = chances > 0
    assert counts[~possible].sum() == 0
    assert possible.sum() > 1
    assert stats.chisquare(counts[possible], 400 * chances[possible]).pvalue > 1e-5


def test_probabilities_that_are_not_known():
    bandit = Bandit("abc", "thompson", 100, sigma=1)
    assert bandit.probabilities() == {"a": 1, "b": 0, "c": 0}, (
        "arms that were never played come first"
    )
    bandit.ask(3)
    bandit.retire("a")
    assert bandit.probabilities() == {"b": 1, "c": 0}, "no rewards: the first of those left"
    bandit.add("a")
    bandit.tell(["a", "b", "c"], [0.1, 0.2, 0.3])
    assert sum(bandit.probabilities().values()) == pytest.approx(1.0)
    bandit = Bandit("abc", "mots", 100, sigma=1)
    for arm in "abc":
        bandit.tell(arm, 0.1)
    assert bandit.probabilities() is None, "of a clipped sample nothing is known"
    assert Bandit("ab", "improved-ucb", 100, sigma=1).probabilities() == {"a": 1, "b": 0}


def whole(mean, pulls, t, horizon, arms, sigma):
    return mean + sigma * sqrt(2.0 / pulls * log(max(1.0, horizon / (pulls * arms))))


def scattered(mean, variance, pulls, t, horizon, arms, sigma):
    return mean + sqrt(2.0 * variance * log(t) / pulls) + 0.3 * sigma * log(t) / pulls


@pytest.mark.parametrize(
    ("formula", "facts"), [(whole, {}), (whole, {"unplayed_index": "constant"}), (scattered, {})]
)
def test_an_index_of_mean_and_variance(formula, facts, tmp_path):
    """The same arms as the step engine, also after a save and a load in the middle."""
    policy = ocucb.index_policy(**facts)(formula)()
    problem = problems.gaussian([0.5, 0.4, 0.1], sigma=[1.0, 0.5, 2.0])
    key = np.array([5, 6], dtype=np.uint64)
    pulls = play_steps(policy, problem, 300, key, first=5, runs=1)[1]
    bandit = Bandit(range(3), policy, 300, sigma=problem.sigma)
    rewards = words(key, 5, REWARDS)
    for t in range(300):
        if t == 150:
            bandit.save(tmp_path / "state.json")
            bandit = Bandit.load(tmp_path / "state.json", policy=policy)
        arm = bandit.ask()
        bandit.tell(arm, problem.rewards.draw(problem.means[arm], problem.scales[arm], rewards))
    assert (bandit.summary().pulls == pulls[0]).all()


def test_declarations_are_checked_for_a_new_horizon_and_new_arms():
    @ocucb.index_policy(unplayed_index="constant")
    def until(pulls, t, horizon, arms):
        return (1.0 if horizon <= 100 and arms <= 3 else t) / pulls

    bandit = Bandit("ab", until, 100, sigma=1.0, rng=1)
    before = bandit.to_dict()
    for change in (lambda: bandit.extend(200), lambda: bandit.add(["c", "d"])):
        with pytest.raises(ValueError, match='declares unplayed_index="constant", but its formula'):
            change()
        assert bandit.to_dict() == before
    bandit.add("c")


def test_squares_are_checked():
    policy = ocucb.index_policy(scattered)()
    parts = Bandit("ab", policy, 100, sigma=1.0).to_parts()
    for squares, sentence in (
        (None, "scattered takes the variance: pass squares=."),
        ([0.0, -1.0], "squares must be finite and at least 0."),
        ([0.0, np.nan], "squares must be finite and at least 0."),
    ):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            Bandit.from_parts(**{**parts, "squares": squares})
    assert "squares" not in Bandit("ab", "ucb", 100, sigma=1.0).to_dict()


@pytest.mark.parametrize("text", ["ocucb", "moss", "gittins"])
@pytest.mark.parametrize("rewards", ["clicks", "normal"])
def test_many_arms_against_the_model(text, rewards):
    """Several blocks of the tree, ties by the hundred, groups and late rewards."""
    rng = np.random.default_rng(5)
    bandit = Bandit(range(170), make(text), 5000, sigma=0.5, rng=2)
    model = NaiveBandit(
        list(range(170)), make(text), 5000, bandit.sigma, bandit.to_dict()["stream"]
    )
    waiting = []
    for _ in range(400):
        count = int(rng.integers(1, 4))
        group = bandit.ask(count)
        assert group == [model.ask() for _ in range(count)]
        waiting += group
        while len(waiting) > 20 or (waiting and rng.random() < 0.6):
            arm = waiting.pop(int(rng.integers(len(waiting))))
            good = 0.3 + 0.4 * (arm % 7 == 0)
            reward = float(rng.random() < good) if rewards == "clicks" else rng.normal(good, 0.5)
            bandit.tell(arm, reward)
            model.tell(arm, reward)
    agree(bandit, model)


def coarse(pulls, t, horizon, arms):
    """A bonus with few values, so that arms of different states tie and part again."""
    return math.floor(8.0 * math.sqrt(3.0 / pulls * math.log(2.0 * horizon / t))) / 8.0


def varied(mean, variance, pulls, t, horizon, arms, sigma):
    """The same for an index of the variance: arms of one mean and another variance tie and part."""
    bonus = math.sqrt((variance + 0.05) * 9.0 / pulls * math.log(2.0 * horizon / t))
    return mean + math.floor(4.0 * bonus) / 4.0


def optimal_budget(pulls, t, horizon, arms):
    return 1.5 * math.log(2.0 * horizon / t)


@pytest.mark.parametrize(
    ("state", "formula", "scale"),
    [
        (ocucb.index_policy, coarse, {"sigma": 0.5}),
        (ocucb.index_policy, varied, {"sigma": 0.5}),
        (ocucb.kl_policy, optimal_budget, {"bounds": (0, 1)}),
    ],
)
def test_the_tree_finds_what_a_scan_finds(state, formula, scale):
    """The lazy kernel against the same formula, of which nothing is declared."""
    lazy, plain = state(unplayed_index="nonincreasing")(formula), state(formula)
    rng = np.random.default_rng(7)
    kinds = {"clicks": [0, 0, 1], "stars": [0, 0.25, 0.5, 0.75, 1], "any": rng.random(10_000)}
    cases = [(1500, 7000, "clicks"), (100, 3000, "stars"), (1500, 3000, "any")]
    # here an index of 1 is rounded, and falls from about round 40 on, or it is a mean of 1
    cases += [(20, 14 * 10**11, "clicks")]
    for arms, horizon, kind in cases:
        ours = Bandit(range(arms), lazy(), horizon, **scale, rng=1)
        other = Bandit(range(arms), plain(), horizon, **scale, rng=1)
        for t in range(min(horizon, 7000)):
            arm = ours.ask()
            assert arm == other.ask(), t
            reward = 1.0 if arm == 0 and arms == 20 else float(rng.choice(kinds[kind]))
            ours.tell(arm, reward)
            other.tell(arm, reward)


# Size


@pytest.mark.parametrize("text", ["ocucb", "ucb", "thompson"])
def test_at_most_100_bytes_an_arm(text):
    """Beside the names, which are made before."""
    Bandit("ab", text, 100, sigma=1)
    for count in (100_000, 131_073):
        names = [f"arm {i}" for i in range(count)]
        tracemalloc.start()
        bandit = Bandit(names, text, 10**6, sigma=1)
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(bandit) == count
        assert size / count <= 100


def test_names_are_found_whatever_they_are():
    names = ["a", "1", 1, -1, 0, 2**70, "ü", "", *range(2**21, 2**27, 2**21), *range(10, 200)]
    bandit = Bandit(names, "ocucb", 1000, sigma=1)
    more = [f"more {i}" for i in range(500)]
    bandit.add(more)
    assert bandit.ask(len(names) + 500) == names + more
    for name in names + more:
        bandit.tell(name, 1.0)
    assert sum(bandit.to_dict()["open"]) == 0
    assert Bandit.from_dict(json.loads(json.dumps(bandit.to_dict()))).arms == names + more
    assert Bandit(np.arange(3), "ocucb", 10, sigma=1).ask() == 0
    bandit.tell(np.int64(1), np.float32(0.5))


LOOKS = 0


@ctypes.CFUNCTYPE(None)
def count_look():
    global LOOKS
    LOOKS += 1


@ocucb.index_policy(unplayed_index="nonincreasing", check=False)
def counted(pulls, t, horizon, arms):
    """OCUCB, counting how often an index is worked out."""
    count_look()
    return math.sqrt(3.0 / pulls * math.log(2.0 * horizon / t))


def looks_of(action, repeats):
    """Return how many indices are worked out, each time; the first may put the tree in order."""
    global LOOKS
    found = []
    for _ in range(repeats):
        LOOKS = 0
        action()
        found.append(LOOKS)
    return found[1:]


def test_clicks_that_come_late_are_no_slower():
    """Arms with the same pulls and mean are looked at together, however many rewards are out.

    One by one, as arms of different history, they were a thousand looks each time.
    """
    K = 2000
    bandit = ocucb.Bandit(range(K), counted, 10**7, bounds=(0, 1), rng=1)
    bandit.tell(range(K), [1.0] * K)
    half = bandit.ask(K // 2)
    bandit.tell(half, [1.0] * (K // 2))
    bandit.ask(K // 2)
    assert 1 <= max(looks_of(lambda: bandit.tell(bandit.ask(), 1.0), 100)) <= 10


@ocucb.kl_policy(unplayed_index="nonincreasing", check=False)
def counted_kl(pulls, t, horizon, arms):
    """KL-OCUCB, counting the same."""
    count_look()
    return 1.5 * math.log(2.0 * horizon / t)


def test_arms_that_always_paid_are_looked_at_together():
    """However many pulls each of them has: their index is 1."""
    K = 2000
    bandit = ocucb.Bandit(range(K), counted_kl, 10**7, bounds=(0, 1), rng=1)
    bandit.tell(range(K), [1.0] * K)
    bandit.tell(range(0, K, 3), [1.0] * len(range(0, K, 3)))
    assert 1 <= max(looks_of(lambda: bandit.tell(bandit.ask(), 1.0), 100)) <= 10


def test_cancelling_the_last_arm_without_rewards_looks_at_few():
    K = 50_000
    bandit = ocucb.Bandit(range(K), counted, 10**7, sigma=1, rng=1)
    bandit.tell(range(K - 1), np.linspace(0, 1, K - 1))
    assert max(looks_of(lambda: bandit.cancel(bandit.ask()), 50)) <= 10
    assert bandit.ask() == K - 1


def test_copies_go_their_own_way():
    bandit = ocucb.Bandit("abc", "thompson", 100, sigma=1, rng=1)
    bandit.tell(list("abc"), [0.1, 0.2, 0.3])
    twins = [copy.copy(bandit), copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))]
    played = bandit.ask(20)
    assert all(twin.rounds == 3 for twin in twins)
    assert all(twin.ask(20) == played for twin in twins)
    own = ocucb.Bandit("abc", ocucb.index_policy(coarse)(), 100, sigma=1)
    assert copy.deepcopy(own).policy == copy.copy(own).policy == own.policy
