"""Skip-ahead on rewards of 0 and 1: the distribution of the step engine, ties included.

Thirty problems (1 to 50 arms, probabilities from 0 to 1, equal arms) are played on both engines
with independent seeds by every index policy that can skip. Ten things are compared, each at level
1e-8 (`helpers.assert_same`), some 2100 in all: with random seeds this would raise a false alarm
about once in 50,000 times. For horizons of up to 12 the law of what is played is enumerated and
compared at level 1e-6, a hundred times: a false alarm in 10,000. The seeds are fixed.

That the comparisons can fail is tested by breaking leaps and ties.
"""

from __future__ import annotations

import hashlib
import inspect
import linecache
from collections import defaultdict
from dataclasses import replace
from functools import cache
from math import exp, log
from types import FunctionType

import numpy as np
import pytest
from scipy import stats

import ocucb
from helpers import Case, assert_same, find_kernel, standing, steep, steep_rising
from ocucb import problems
from ocucb._compile import specialise
from ocucb.engine import Kernel, choose_engine, new_game, new_outcome, skip_binary
from ocucb.rewards import BERNOULLI
from policy_table import (
    INDEX,
    SKIPPING,
    TABLE,
    THOROUGH,
    entry_of,
    is_whole,
    make,
    reduced,
    twin_of,
)

# Bonuses that are the arm's own affair, on these rewards, too.
TEXTS = [
    text
    for text in SKIPPING
    if text.partition(":")[0] in INDEX
    and entry_of(text).unit is None
    and not make(text).family.rule.takes_effective_arms
]
KL = [
    "kl-ucb", "kl-ucb-plus", "kl-ucb-h-plus", "kl-ucb-plus-plus", "kl-ucb-switch", "kl-moss",
    "kl-adaucb", "kl-ocucb",
]  # fmt: skip
FIRST = [text for text in TEXTS if ":" not in text and text in THOROUGH]


def case(means: list[float], horizon: int, runs: int) -> Case:
    return Case(problems.bernoulli(means), horizon, runs)


CASES = {
    "K=1": case([0.3], 50, 500),
    "K=2, sure": case([1.0, 0.0], 50, 2000),
    "K=2, all fail": case([0.0, 0.0], 50, 4000),
    "K=2, all succeed": case([1.0, 1.0], 50, 4000),
    "K=2, one fails": case([0.1, 0.0], 300, 4000),
    "K=2, one succeeds": case([1.0, 0.9], 300, 4000),
    "K=2, equal": case([0.5, 0.5], 300, 6000),
    "K=2, equal and rare": case([0.02, 0.02], 1000, 4000),
    "K=2, equal and frequent": case([0.97, 0.97], 300, 4000),
    "K=2, short": case([0.6, 0.5], 50, 10_000),
    "K=2, small gap": case([0.52, 0.5], 1000, 5000),
    "K=2, gap 0.1": case([0.6, 0.5], 1000, 8000),
    "K=2, gap 0.3": case([0.7, 0.4], 1000, 6000),
    "K=2, gap 0.3, long": case([0.7, 0.4], 20_000, 1000),
    "K=2, large gap": case([0.9, 0.1], 1000, 4000),
    "K=2, high": case([0.95, 0.9], 1000, 8000),
    "K=2, low": case([0.1, 0.08], 1000, 5000),
    "K=2, rare": case([0.03, 0.02], 4000, 2000),
    "K=3, all fail": case([0.0] * 3, 50, 4000),
    "K=3, all succeed": case([1.0] * 3, 50, 4000),
    "K=3, equal": case([0.3] * 3, 300, 5000),
    "K=3, worst first": case([0.2, 0.5, 0.8], 1000, 4000),
    "K=5, rare": case([0.03] + [0.02] * 4, 4000, 1000),
    "K=5, sure ones": case([1.0, 0.5, 0.0, 1.0, 0.5], 300, 4000),
    "K=7, staircase": case([0.1 * i for i in range(1, 8)], 1000, 3000),
    "K=10, all fail": case([0.0] * 10, 300, 2000),
    "K=10, gap 0.1": case([0.6] + [0.5] * 9, 1000, 3000),
    "K=10, high": case([0.99] + [0.9] * 9, 1000, 3000),
    "K=50, equal": case([0.5] * 50, 300, 2000),
    "K=50, few rounds": case([0.9] + [0.2] * 49, 300, 2000),
}  # fmt: skip


def test_there_are_thirty():
    assert len(CASES) == 30


# For a policy with the declarations of another.
THREE = ("K=2, equal and frequent", "K=5, rare", "K=10, gap 0.1")


@pytest.mark.parametrize(("text", "name"), reduced(TEXTS, CASES, THREE))
def test_same_distribution(text, name):
    policy, one = make(text), CASES[name]
    assert choose_engine(policy, one.problem, one.horizon, "skip") is skip_binary.ENGINE
    assert_same(find_kernel("skip", policy, one.problem, one.horizon), policy, one)


FEW = ("K=1", "K=2, one fails", "K=2, high", "K=3, equal", "K=5, sure ones", "K=10, gap 0.1")


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("text", [*KL, "imed"])
def test_same_distribution_of_other_forms(text, name):
    policy, one = make(text), replace(CASES[name], runs=2000)
    assert choose_engine(policy, one.problem, one.horizon, "skip").name == "skip"
    assert_same(find_kernel("skip", policy, one.problem, one.horizon), policy, one)


@pytest.mark.parametrize("name", ["K=7, staircase", "K=50, few rounds"])
def test_same_distribution_where_arms_catch_up(name):
    """The leader's formula changes whenever it has been played as often as another arm."""
    policy, one = make("kl-adaucb"), CASES[name]
    assert_same(find_kernel("skip", policy, one.problem, one.horizon), policy, one)


@pytest.mark.parametrize("means", [[0.6, 0.5], [0.05, 0.02], [0.98, 0.95]])
@pytest.mark.parametrize("text", ["ocucb", "moss", "ucb", "kl-ucb-plus-plus"])
def test_same_distribution_with_long_leaps(text, means):
    """Long enough for leaps that Chernoff's bound allows."""
    policy, one = make(text), case(means, 100_000, 400)
    assert_same(find_kernel("skip", policy, one.problem, one.horizon), policy, one)


@pytest.mark.parametrize("name", ["K=2, gap 0.1", "K=3, all fail", "K=5, rare", "K=10, high"])
@pytest.mark.parametrize(
    "family", [steep, steep_rising, standing, ocucb.Greedy], ids=lambda f: f.name
)
def test_policies_of_a_user(family, name):
    """And greedy, which has ties of arms with different pulls: 1 of 2 and 2 of 4."""
    policy, one = family(), CASES[name]
    assert_same(find_kernel("skip", policy, one.problem, one.horizon), policy, one)


# Against the exact law


def indices_of(policy: ocucb.Policy, t: int, n: int, pulls: tuple, sums: tuple, sigma: float):
    """Return all arms' indices, by the policy's twin if there is one."""
    K, p, family = len(pulls), policy.parameters, policy.family
    means = [s / T for s, T in zip(sums, pulls, strict=True)]
    if family.name not in TABLE:
        bonuses = [
            family.function(float(T), float(t), float(n), float(K), *policy.values) for T in pulls
        ]
        return [mean + sigma * bonus for mean, bonus in zip(means, bonuses, strict=True)]
    twin = TABLE[family.name].twin
    others = pulls if family.rule.takes_effective_arms else K
    if is_whole(policy, unit=True) and not family.rule.takes_variance:
        twin = twin_of(policy, unit=True)
        return [twin(means[i], pulls[i], t, n, others, sigma, **p) for i in range(K)]
    if family.rule.takes_variance:
        known = [(mean, mean * (1 - mean)) for mean in means]
        return [twin(*known[i], pulls[i], t, n, K, sigma, **p) for i in range(K)]
    return [means[i] + sigma * twin(pulls[i], t, n, others, **p) for i in range(K)]


def law_of_plays(policy: ocucb.Policy, problem: ocucb.Problem, n: int, order: bool) -> dict:
    """Return the law of the arms played: all rewards and all ways to break ties, by enumeration.

    If their order does not matter, it is the law of the final pulls, with far fewer states.
    """
    K, sigma = problem.arms, problem.sigma
    twin = twin_of(policy, unit=True) if policy.family.rule.kind == "choice" else None

    @cache  # many orders of play lead to the same statistics
    def chances(pulls: tuple[int, ...], sums: tuple[int, ...], t: int) -> list[float]:
        """Return the probability with which each arm is played."""
        if t <= K:
            return [float(i == t - 1) for i in range(K)]
        if hasattr(twin, "weights"):
            weights = twin(K, n).weights(pulls, sums, sigma)
            return [weight / sum(weights) for weight in weights]
        if hasattr(twin, "values"):
            indices = twin(K, n).values(pulls, sums, sigma)
        else:
            indices = indices_of(policy, t, n, pulls, sums, sigma)
        tied = [i for i in range(K) if indices[i] == max(indices)]
        return [(i in tied) / len(tied) for i in range(K)]

    states = {((), (0,) * K, (0,) * K): 1.0}
    for t in range(1, n + 1):
        then: dict[tuple, float] = defaultdict(float)
        for (played, pulls, sums), weight in states.items():
            for i, share in enumerate(chances(pulls, sums, t)):
                if share == 0.0:
                    continue
                more = (*pulls[:i], pulls[i] + 1, *pulls[i + 1 :])
                for reward, chance in ((1, problem.means[i]), (0, 1 - problem.means[i])):
                    paid = (*sums[:i], sums[i] + reward, *sums[i + 1 :])
                    now = (*played, i) if order else ()
                    then[now, more, paid] += weight * chance * share
        states = then
    law: dict[tuple, float] = defaultdict(float)
    for (played, pulls, _), weight in states.items():
        law[played if order else pulls] += weight
    return {key: weight for key, weight in law.items() if weight > 0}


def p_value(
    playing, policy: ocucb.Policy, means: list[float], n: int, order: bool, runs: int = 100_000
) -> float:
    """Return the p-value of a chi-square test of a kernel's plays; rare ones share a cell."""
    problem = problems.bernoulli(means)
    # Each arm's gap is its number, and so regret shows which arm was played in which round.
    engine, kernel = playing
    game = new_game(engine, problem, n, np.arange(1, n + 1))
    gaps = np.arange(float(len(means)))
    gaps.flags.writeable = False  # as in a problem: no kernel is compiled for another type
    game = game._replace(gaps=gaps)
    outcome = new_outcome(runs, game)
    key, stop = np.array([n, 7], dtype=np.uint64), np.zeros(1, dtype=np.bool_)
    kernel(policy.arguments(n), game, key, 0, outcome, stop)
    arms = np.diff(outcome.regret, axis=1, prepend=0.0).astype(int)
    assert (arms.sum(axis=1) == outcome.pulls @ np.arange(len(means))).all()
    found: dict[tuple, int] = defaultdict(int)
    for row in (arms if order else outcome.pulls).tolist():
        found[tuple(row)] += 1
    law = law_of_plays(policy, problem, n, order)
    if not found.keys() <= law.keys():
        return 0.0
    often = [key for key, weight in law.items() if weight * runs >= 5]
    observed = np.array([found[key] for key in often])
    expected = np.array([law[key] * runs for key in often])
    if runs - expected.sum() >= 5:
        observed, expected = (np.append(x, runs - x.sum()) for x in (observed, expected))
    chi = ((observed - expected) ** 2 / expected).sum()
    return float(stats.chi2(max(1, len(observed) - 1)).sf(chi))


SMALL = [
    ([0.6, 0.5], 8, True), ([0.5, 0.5], 7, True), ([0.0, 0.0], 8, True), ([1.0, 1.0], 8, True),
    ([0.3, 0.9], 8, True), ([1.0, 0.4, 1.0], 7, True), ([0.3] * 3, 6, True), ([0.0] * 3, 7, True),
    ([0.6, 0.5], 12, False), ([0.03, 0.02], 12, False), ([0.9, 0.8, 0.8], 12, False),
]  # fmt: skip


FEW_SMALL = (SMALL[1], SMALL[5], SMALL[10])
USERS = {policy.name: policy for policy in (standing, steep_rising)}


@pytest.mark.parametrize(
    ("text", "case"),
    [*reduced(TEXTS, SMALL, FEW_SMALL), *((user, problem) for user in USERS for problem in SMALL)],
)
def test_enumeration(text, case):
    means, n, order = case
    policy = USERS[text]() if text in USERS else make(text)
    kernel = find_kernel("skip", policy, problems.bernoulli(means), n)
    assert p_value(kernel, policy, means, n, order) > 1e-6


@pytest.mark.parametrize(("means", "n", "order"), SMALL[1:8:3] + SMALL[8:10])
@pytest.mark.parametrize("text", [*KL, "imed", "bayes-ucb", "maillard", "kl-maillard"])
def test_enumeration_of_other_forms(text, means, n, order):
    """What cannot skip is played step by step."""
    if text == "kl-moss":  # of 12 rounds, 1 in 3 and 4 in 6 both give 2/3: digits would decide
        n = min(n, 11)
    policy, problem = make(text), problems.bernoulli(means)
    engine = choose_engine(policy, problem, 10**5, "auto").name
    assert engine == ("skip" if text in KL or text == "imed" else "step")
    kernel = find_kernel(engine, policy, problem, n)
    assert p_value(kernel, policy, means, n, order, runs=30_000) > 1e-6


@pytest.mark.parametrize("case", FEW_SMALL)
@pytest.mark.parametrize("text", ["adaucb", "ocucb-n", "ucb-v", "ucb-tuned", "ocucb-normal"])
def test_enumeration_of_what_is_stepped(text, case):
    """Policies that no engine skips on rewards of 0 and 1."""
    means, n, order = case
    kernel = find_kernel("step", make(text), problems.bernoulli(means), n)
    assert p_value(kernel, make(text), means, n, order) > 1e-6


# That these can fail


def mutant(text: str, part: str, old: str, new: str):
    """Return a kernel with one piece of the source of one part replaced."""
    plan = skip_binary.plan(make(text).family.form(True), BERNOULLI)
    function = plan.play_run if part == "play" else getattr(skip_binary, part)
    source = inspect.getsource(function)
    assert source.count(old) == 1
    name = f"mutant_{hashlib.sha256(f'{part} {new}'.encode()).hexdigest()[:16]}"
    source = source.replace(old, new).replace(f"def {function.__name__}(", f"def {name}(")
    space = dict(vars(skip_binary))
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), space)
    if part == "play":
        return skip_binary.ENGINE, Kernel(plan._replace(play_run=space[name]))
    plan.slots[part] = specialise(space[name], plan.slots)
    return skip_binary.ENGINE, Kernel(plan)


LEAP = "count = max(1.0, min(held, safe_pulls(height, fall)))"
TOO_LONG = ("play_leader", LEAP, LEAP.replace("safe", "1.0 + safe"))
ALL_ARMS = ("play", "counted_arms(pulls, leader, T)", "float(arms)")
TIES_KEPT = ("play_leader", "while top > rival", "while top >= rival")


@pytest.mark.parametrize(
    ("text", "means", "n", "order", "change"),
    [
        ("moss", [0.6, 0.5], 12, False, TOO_LONG),
        ("ocucb", [0.1, 0.05], 24, False, TOO_LONG),
        ("moss", [0.5, 0.5], 8, True, TIES_KEPT),
        ("aocucb", [0.6, 0.5], 8, True, TIES_KEPT),
        (
            "moss",
            [0.5] * 3,
            6,
            True,
            ("play", "pick(tree[arms:], rival, run.choice_rng)", "leader"),
        ),
        (
            "ocucb",
            [0.5] * 3,
            6,
            True,
            ("play", "pick(tree[arms:], rival, run.choice_rng)", "leader"),
        ),
        ("kl-adaucb", [0.9, 0.8, 0.8], 12, False, ALL_ARMS),
        (
            "ucb",
            [0.5] * 3,
            6,
            True,
            ("scan_rounds", "largest(now, run.choice_rng)", "now.argmax()"),
        ),
        ("ucb", [0.5] * 3, 12, False, ("play", "if best == max(second, top):", "if best < top:")),
    ],
)
def test_a_mutant_does_not_have_the_law(text, means, n, order, change):
    assert p_value(mutant(text, *change), make(text), means, n, order) < 1e-6


def test_a_mutant_has_another_distribution():
    """If the index exceeds 1, successes lower the height as well."""
    policy, one = make("ocucb"), case([0.99, 0.9], 300, 60_000)
    kernel = mutant("ocucb", "play_leader", " + gain * max(0.0, fall - 1.0)", "")
    with pytest.raises(AssertionError):
        assert_same(kernel, policy, one)


@pytest.mark.parametrize(
    ("height", "fall", "mean"),
    [(30.0, 0.6, 0.6), (30.0, 0.7, 0.6), (30.0, 0.59, 0.6), (8.0, 0.03, 0.03), (20.0, 1.1, 0.97)],
)
def test_pulls_that_are_all_but_safe(height, fall, mean):
    """For a chance of 5% in place of 1e-18: the bound holds, and fails for thrice the pulls."""
    function = skip_binary.all_but_safe_pulls.py_func
    bound = FunctionType(function.__code__, {**function.__globals__, "RARE": 3.0})
    count = int(bound(height, fall, mean))
    rng = np.random.default_rng(1)
    lost = []
    for pulls in (count, 3 * count):
        low = [
            (np.cumsum(rng.random(pulls) < mean) - fall * np.arange(1, pulls + 1)).min()
            for _ in range(4000)
        ]
        lost.append((np.array(low) <= -height).mean())
    assert lost[0] < exp(-3.0) < lost[1]


# Edges


@pytest.mark.parametrize("text", FIRST)
def test_checkpoints_do_not_change_a_run(text):
    problem = ocucb.bernoulli([0.6, 0.5, 0.3])
    result = ocucb.simulate(text, problem, 5000, 50, rng=1, engine="skip")[0]
    assert result.engine == "skip"
    assert (np.diff(result.regret) >= 0).all()
    assert result.regret[-1] == pytest.approx(result.pulls @ problem.gaps)
    bare = ocucb.simulate(text, problem, 5000, 50, rng=1, engine="skip", checkpoints=[])[0]
    assert (bare.sample == result.sample).all()


@pytest.mark.parametrize("text", [text for text in FIRST if text != "gittins"])
def test_long_horizons_and_many_arms(text):
    long = ocucb.simulate(text, ocucb.bernoulli([0.6, 0.5]), 10**9, 5, rng=1, engine="skip")[0]
    assert long.pulls.sum() == pytest.approx(1e9)
    if entry_of(text).logarithmic:
        assert 1 < long.mean_regret < 200
    means = [0.9] + [0.1] * 1999
    many = ocucb.simulate(text, ocucb.bernoulli(means), 10_000, 1, rng=1, engine="skip")[0]
    assert many.pulls.sum() == 10_000
    assert many.pulls.min() >= 1


@pytest.mark.parametrize("text", FIRST)
def test_the_same_bits_for_any_number_of_threads(text):
    problem = ocucb.bernoulli([0.5, 0.4, 0.4])
    one, two = (
        ocucb.simulate(text, problem, 1000, 5000, rng=4, engine="skip", workers=workers)[0]
        for workers in (1, 4)
    )
    assert (one.regret == two.regret).all()
    assert (one.sample == two.sample).all()


@pytest.mark.parametrize("declared", ["nonincreasing", "nondecreasing"])
def test_an_index_that_is_not_a_number(declared):
    @ocucb.index_policy(unplayed_index=declared, check=False)
    def gives_up(pulls, t, horizon, arms):
        return 1.0 / pulls if pulls < 20.0 else log(-pulls)

    with pytest.raises(ValueError, match=r"could not choose an arm in run 0: .* not finite"):
        ocucb.simulate(gives_up, ocucb.bernoulli([0.6, 0.5]), 4000, 5, rng=1, engine="skip")


def test_auto_takes_it_where_it_pays():
    coins = ocucb.bernoulli([0.6, 0.5])
    for text, horizon, name in (
        ("ocucb", 100, "skip"), ("ucb", 1000, "step"), ("ucb", 10_000, "skip"),
        ("thompson", 10_000, "step"),
    ):  # fmt: skip
        assert choose_engine(make(text), coins, horizon, "auto").name == name
