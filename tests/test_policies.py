"""The policies: formulae by hand, parameters, and pull-for-pull agreement with the naive twins."""

from __future__ import annotations

import re
import warnings
from math import inf, log, nan, sqrt

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import ocucb
from helpers import ROOT, play_steps
from ocucb import problems
from ocucb.policies import FAMILIES, parse_policy, to_policies
from ocucb.policies._families import names_of, spelled
from ocucb.policies._rules import BonusRule, ChoiceRule, SamplingRule
from policy_table import INDEX, PROBLEMS, SETTINGS, TABLE, entry_of, make


def test_every_policy_has_an_entry():
    assert set(FAMILIES) <= set(TABLE), "write its slow twin in tests/policy_table.py"
    assert set(TABLE) <= set(FAMILIES), "a twin without a policy"


@pytest.mark.parametrize("name", FAMILIES)
def test_entries_say_what_the_families_declare(name):
    """A declaration that is lost, or added, changes what is tested: it must be meant."""
    family, entry = FAMILIES[name], TABLE[name]
    assert entry.rewards == (("bernoulli",) if family.binary else tuple(PROBLEMS))
    rule = family.rule
    if isinstance(rule, ChoiceRule):
        skips = rule.challenger_index is not None
    else:
        skips = isinstance(rule, SamplingRule | BonusRule) and rule.unplayed_index is not None
    assert entry.skips == skips
    assert (entry.unit is not None) == (family.bounded_form is not None)
    assert (entry.varied is not None) == (family.variance_form is not None)
    if entry.like is not None:
        other = FAMILIES[entry.like].rule
        for fact in ("kind", "unplayed_index", "concave"):
            assert getattr(rule, fact, None) == getattr(other, fact, None)
    page = (ROOT / "docs" / "policies.md").read_text()
    row = re.search(rf"^\| `{name}` \|.*", page, re.MULTILINE)
    assert row, f"docs/policies.md needs a row about {name}"
    for parameter, value in family.defaults.items():
        assert f"`{parameter}={value:g}`" in row[0]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [pair for entry in TABLE.values() for pair in entry.by_hand.items()],
)
def test_bonus_by_hand(policy, expected):
    assert make(policy).bonus(4, 100, 1000, 5) == pytest.approx(expected, rel=1e-15)


def test_bonus_in_plain_digits():
    assert ocucb.OCUCB().bonus(1, 1, 1, 1) == pytest.approx(1.4420268, abs=1e-7)  # sqrt(3 log 2)
    assert ocucb.UCB().bonus(2, 10, 99, 2) == pytest.approx(1.5174271, abs=1e-7)  # sqrt(log 10)
    assert ocucb.MOSS().bonus(50, 60, 100, 2) == 0.0
    assert ocucb.AOCUCB().bonus(1, 2, 100, 2) == pytest.approx(3.0348542, abs=1e-7)


def test_formulae_that_agree_on_gaussian_rewards():
    for T, t, n, K in [(1, 3, 10, 2), (7, 60, 100, 5), (40, 900, 1000, 10), (400, 900, 1000, 10)]:
        assert make("kl-ucb").bonus(T, t, n, K) == pytest.approx(make("ucb").bonus(T, t, n, K))
        switch = make("kl-ucb-switch").bonus(T, t, n, K)
        assert switch == pytest.approx(make("moss").bonus(T, t, n, K))
        optimally = make("kl-ocucb").bonus(T, t, n, K)
        assert optimally == pytest.approx(make("ocucb").bonus(T, t, n, K))


@pytest.mark.parametrize("text", SETTINGS)
@settings(max_examples=250, deadline=None, derandomize=True)
@given(data=st.data())
def test_same_arms_as_the_naive_twin(text, data):
    arms = data.draw(st.integers(1, 6), label="arms")
    few = entry_of(text).horizons
    horizon = data.draw(st.sampled_from(few) if few else st.integers(1, 70), label="horizon")
    rewards = data.draw(st.sampled_from(entry_of(text).rewards), label="rewards")
    spread = data.draw(st.sampled_from([0.01, 0.3, 1.0]), label="spread")
    seed = data.draw(st.integers(0, 2**40), label="seed")
    # distinct gaps, so that regret after every round tells which arm was played
    order = np.random.default_rng(seed).permutation(arms)
    means = 0.9 - spread * (order + order**2 / 64) / 12
    problem = PROBLEMS[rewards](means)
    policy = make(text)
    key = np.array([seed, 12345], dtype=np.uint64)
    regret, pulls = play_steps(policy, problem, horizon, key, first=3, runs=2)
    for run in range(2):
        played, _ = naive.play(policy, problem, horizon, key, 3 + run)
        assert np.allclose(regret[run], np.cumsum(problem.gaps[played]), rtol=0, atol=1e-9)
        assert (pulls[run] == np.bincount(played, minlength=arms)).all()


def whole_ucb(mean, pulls, t, horizon, arms, sigma):
    return mean + sigma * sqrt(2.0 / pulls * log(t))


def whole_moss(mean, pulls, t, horizon, arms, sigma):
    return mean + sigma * sqrt(2.0 / pulls * log(max(1.0, horizon / (pulls * arms))))


def with_variance(mean, variance, pulls, t, horizon, arms, sigma, constant=2.0):
    return mean + sqrt(constant * variance * log(t) / pulls) + 0.3 * sigma * log(t) / pulls


def with_falling_variance(mean, variance, pulls, t, horizon, arms, sigma):
    return mean + sqrt(3.0 * (variance + 0.1) / pulls * log(2.0 * horizon / t))


@pytest.mark.parametrize("rewards", PROBLEMS)
@pytest.mark.parametrize(
    ("formula", "facts"),
    [
        (with_falling_variance, {"unplayed_index": "nonincreasing"}),
        (whole_ucb, {}),
        (whole_moss, {"unplayed_index": "constant"}),
        (with_variance, {"unplayed_index": "nondecreasing"}),
        (with_variance, {}),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_an_index_may_see_mean_and_variance(formula, facts, rewards):
    """The same arms as in plain Python; where it is a bonus in disguise, those of the bonus."""
    policy = ocucb.index_policy(**facts)(formula)()
    problem = PROBLEMS[rewards]([0.6, 0.5, 0.4])
    key = np.array([3, 4], dtype=np.uint64)
    regret, pulls = play_steps(policy, problem, 500, key, first=0, runs=4)
    for run in range(4):
        played, _ = naive.play(policy, problem, 500, key, run, formula)
        assert np.allclose(regret[run], np.cumsum(problem.gaps[played]), rtol=0, atol=1e-9)
    bonus = {"whole_ucb": ocucb.UCB, "whole_moss": ocucb.MOSS}.get(formula.__name__)
    if bonus is not None:
        assert (pulls == play_steps(bonus(), problem, 500, key, first=0, runs=4)[1]).all()


def test_ocucb_normal_in_odd_places():
    """Few pulls, equal rewards, powers that overflow, rewards of any size."""
    index = ocucb.OCUCBNormal.source
    first = [index(0.3, 1.0, T, 10.0, 1e4, 5.0, 1.0) for T in (1.0, 2.0, 3.0)]
    assert first[0] > first[1] > 1e299 > first[2] == pytest.approx(0.3 + sqrt(1.5 * (2000**3 - 1)))
    # equal rewards: (n / K)^(2/3) = 100 pulls, and rounding is no variance
    for rounding in (0.0, 1e-34, -1e-34):
        assert index(0.1, rounding, 99.0, 600.0, 5000.0, 5.0, 1.0) > 1e297
        assert index(0.1, rounding, 100.0, 600.0, 5000.0, 5.0, 1.0) == pytest.approx(0.1)
    assert index(0.1, 1e-9, 99.0, 600.0, 5000.0, 5.0, 1.0) < 1
    huge = index(1e100, 1e200, 3.0, 10.0, 1e15, 5.0, 1.0, 400.0)
    assert 1e200 < huge < index(0.0, 1.0, 2.0, 10.0, 1e15, 5.0, 1.0)
    # of arms with as many pulls, the better comes first, whatever the size of the rewards
    for size in (1e-6, 1.0, 1e6, 1e90):
        low, middle, high = (index(size * x, 1.0, 2.0, 9.0, 99.0, 3.0, 1.0) for x in (-1, 1, 1.01))
        assert low < middle < high


@pytest.mark.parametrize("name", ["ocucb-normal", "normal-thompson"])
def test_constant_rewards_are_told_apart(name):
    """Some rounds are spent on waiting for a variance, no more than 3 (n / K)^(2/3)."""
    constant = problems.custom_rewards(lambda mean, scale, stream: mean, [0.1, 0.7, 0.3], 1.0)
    result = ocucb.simulate(name, constant, 3000, runs=5, rng=1)[0]
    assert (result.pulls[[0, 2]] <= 101).all()
    assert result.pulls[1] >= 2798


@pytest.mark.parametrize("name", [name for name, one in FAMILIES.items() if not one.binary])
def test_policies_that_need_no_sigma(name):
    """Told another sigma, they play the same arms; the others do not."""

    def arms(sigma: float) -> list[int]:
        bandit = ocucb.Bandit(range(4), name, 400, sigma=sigma, rng=1)
        rng, played = np.random.default_rng(1), []
        for _ in range(300):
            played.append(bandit.ask())
            bandit.tell(played[-1], rng.normal(0.3 * played[-1]))
        return played

    assert (arms(0.3) == arms(3.0)) == (not FAMILIES[name].needs_sigma)


@pytest.mark.parametrize("alpha", [-0.5, 0.5])
def test_samples_of_normal_thompson_have_the_posterior(alpha):
    """How often each of two arms is chosen: Student's t, integrated. Fails once in 15,000 times."""
    pulls, sums, squares = np.array([5.0, 9.0]), np.array([1.0, 3.0]), np.array([3.0, 2.0])
    freedom = pulls - 1 + 2 * alpha
    laws = stats.t(freedom, sums / pulls, np.sqrt(squares / (pulls * freedom)))
    grid = np.linspace(-60, 60, 200_001)
    first = np.trapezoid(laws.pdf(grid[:, None])[:, 0] * laws.cdf(grid[:, None])[:, 1], grid)
    stream, memory = np.random.SeedSequence(1).generate_state(4, np.uint64), np.zeros(2)
    choose = ocucb.NormalThompson.function
    draws = 40_000
    hits = sum(
        choose(20.0, 100.0, pulls, sums, squares, 1.0, memory, stream, alpha) == 0
        for _ in range(draws)
    )
    assert abs(hits / draws - first) < 4 * sqrt(first * (1 - first) / draws)


def test_samples_of_oc_thompson_on_the_unit_interval():
    """The same for Beta posteriors, early and late. Fails once in 8,000 times."""
    pulls, sums = np.array([4.0, 9.0]), np.array([1.0, 4.0])
    choose = ocucb.OCThompson.form(True).function
    stream, memory = np.random.SeedSequence(1).generate_state(4, np.uint64), np.zeros(2)
    draws, grid = 40_000, np.linspace(0, 1, 20_001)
    for t in (14.0, 1000.0):
        w = min(1, 0.3 * log(2 * 1000 / t))
        laws = stats.beta(1 + sums / w, 1 + (pulls - sums) / w)
        first = np.trapezoid(laws.pdf(grid[:, None])[:, 0] * laws.cdf(grid[:, None])[:, 1], grid)
        hits = sum(
            choose(t, 1000.0, pulls, sums, 0.5, memory, stream, 0.3, 2.0) == 0 for _ in range(draws)
        )
        assert abs(hits / draws - first) < 4 * sqrt(first * (1 - first) / draws)


def test_a_choice_may_see_squares():
    """The squared deviations of each arm; skip-ahead, which does not keep them, says so."""

    @ocucb.choice_policy(challenger_index=lambda mean, pulls, leader_pulls, sigma: mean)
    def calmest(t, horizon, pulls, sums, squares, sigma, memory, stream):
        return np.argmin(squares / pulls)

    class Calmest:
        def __init__(self, K: int, n: int) -> None:
            pass

        def choose(self, t, T, S, V, sigma, stream) -> int:
            return V.index(min(V)) if min(T) > 0 else 0

    problem = PROBLEMS["gaussian"]([0.6, 0.5, 0.4])
    key = np.array([3, 4], dtype=np.uint64)
    _, pulls = play_steps(calmest(), problem, 60, key, first=0, runs=3)
    for run in range(3):
        played, _ = naive.play(calmest(), problem, 60, key, run, Calmest)
        assert (pulls[run] == np.bincount(played, minlength=3)).all()
    with pytest.warns(UserWarning, match="leaps do not keep the squares that it takes"):
        ocucb.simulate(calmest, problem, 60, runs=2, rng=1, engine="skip")


def test_a_variance_does_not_cancel():
    """Rewards near 1e8 with deviation 1: their squares have no digits left for the variance."""

    @ocucb.index_policy
    def least_variance(mean, variance, pulls, t, horizon, arms, sigma):
        return -variance + sigma / pulls

    problem = problems.gaussian([1e8, 1e8 - 0.1], sigma=[0.5, 2.0])
    pulls = play_steps(least_variance(), problem, 2000, np.array([1, 2], np.uint64), 0, 20)[1]
    assert (pulls[:, 0] > 1800).all()


def test_a_whole_index_is_checked_like_a_bonus():
    @ocucb.index_policy(unplayed_index="constant")
    def rises(mean, pulls, t, horizon, arms, sigma):
        return mean + sqrt(log(t) / pulls)

    with pytest.raises(ValueError, match='declares unplayed_index="constant", but its formula ris'):
        ocucb.simulate(rises, ocucb.gap(), 100, 5, rng=1)
    with pytest.raises(TypeError, match="declares concave, which is for policies stated as a bonu"):
        ocucb.index_policy(concave=True)(whole_ucb)
    with pytest.warns(UserWarning, match="needs an index that is the mean plus a bonus"):
        ocucb.simulate(ocucb.index_policy(whole_ucb), ocucb.gap(), 50, 5, rng=1, engine="skip")


LONG = {
    "gaussian": problems.gaussian([0.1, 0.0, 0.05, -0.2, 0.02], sigma=[1, 0.8, 1, 1, 0.5]),
    "uniform": problems.uniform_rewards([0.6, 0.5, 0.55, 0.3, 0.52], halfwidth=0.25),
}
RISING = ["ucb", "moss-anytime", "ocucb-n"]  # in windows, where skip-ahead does not play


@pytest.mark.parametrize(
    ("text", "rewards"),
    [*((text, "gaussian") for text in INDEX), *((text, "uniform") for text in RISING)],
)
def test_same_arms_as_the_naive_twin_in_long_runs(text, rewards):
    """Long enough for the engine's look-ahead, changes of leader and MOSS's zero bonus."""
    problem = LONG[rewards]
    key = np.array([7, 8], dtype=np.uint64)
    regret, pulls = play_steps(make(text), problem, 4000, key, first=0, runs=3)
    for run in range(3):
        played, _ = naive.play(make(text), problem, 4000, key, run)
        assert (pulls[run] == np.bincount(played, minlength=5)).all()
        assert np.allclose(regret[run], np.cumsum(problem.gaps[played]), rtol=0, atol=1e-8)


@pytest.mark.parametrize("text", [*INDEX, "bernoulli-gittins", "epsilon-greedy:epsilon=0"])
def test_ties_are_broken_evenly(text):
    """Three equal arms that always pay 1: at round 4 all indices are equal.

    Chi-square with 2 degrees of freedom; 20.7 is exceeded once in 30,000 times.
    """
    problem, runs = problems.bernoulli([1.0, 1.0, 1.0]), 3000
    key = np.array([5, 6], dtype=np.uint64)
    _, pulls = play_steps(make(text), problem, 4, key, 0, runs)
    counts = np.bincount(pulls.argmax(axis=1), minlength=3)
    assert ((counts - runs / 3) ** 2 / (runs / 3)).sum() < 20.7


def test_imed_breaks_ties_that_rounding_would_part():
    """1 failure in 1 and 2 successes in 3 have the index log(3), in different digits.

    Binomial(200, 1/2) leaves 60 to 140 with probability 1e-8.
    """
    chosen = []
    for seed in range(200):
        bandit = ocucb.Bandit("ab", "imed", 100, bounds=(0, 1), rng=seed)
        bandit.tell(["a", "b", "b", "b"], [0, 1, 1, 0])
        chosen.append(bandit.ask())
    assert 60 <= chosen.count("a") <= 140


def test_arms_that_tie_take_turns_in_improved_ucb():
    """Nobody is dropped."""
    key = np.array([5, 6], dtype=np.uint64)
    _, pulls = play_steps(make("improved-ucb"), problems.bernoulli([1.0] * 3), 200, key, 0, 3000)
    assert pulls.max() - pulls.min() <= 1


def test_user_policy_runs_on_the_engine_like_ours():
    @ocucb.index_policy(unplayed_index="nonincreasing", concave=True)
    def mine(pulls, t, horizon, arms, alpha=3.0, psi=2.0):
        return sqrt(alpha / pulls * log(psi * horizon / t))

    @ocucb.index_policy
    def unknown(pulls, t, horizon, arms, alpha=3.0, psi=2.0):
        return sqrt(alpha / pulls * log(psi * horizon / t))

    problem = problems.gap(K=4, gap=0.4)
    key = np.array([1, 2], dtype=np.uint64)
    theirs = play_steps(ocucb.OCUCB(), problem, 500, key, 0, 20)
    for family in (mine, unknown):
        ours = play_steps(family(), problem, 500, key, 0, 20)
        assert (ours[0] == theirs[0]).all()
        assert (ours[1] == theirs[1]).all()


def test_user_policy_from_a_cell_without_a_module():
    cell = """
import ocucb
@ocucb.index_policy(unplayed_index="constant")
def mine(pulls, t, horizon, arms, width=1.0):
    return width / pulls
result = ocucb.simulate(mine, ocucb.gap(), 100, 10, rng=1)
"""
    names: dict = {}
    exec(cell, names)
    first = names["result"][0].mean_regret
    exec(cell.replace("width / pulls", "5 * width / pulls"), names)
    assert names["result"][0].mean_regret != first


def test_user_choice_and_sampling_policies():
    @ocucb.choice_policy
    def last_arm(t, horizon, pulls, sums, sigma, memory, stream):
        return pulls.size - 1

    @ocucb.sampling_policy
    def wide(pulls, t, horizon, arms, width=1.0):
        return width / sqrt(pulls)

    problem = problems.gap(K=3, gap=0.5)
    result = ocucb.simulate([last_arm, wide(width=1.0), "thompson"], problem, 300, 3000, rng=3)
    assert result[0].pulls.tolist() == [1, 1, 298]
    difference = result[1].mean_regret - result[2].mean_regret
    assert abs(difference) < 4 * sqrt(result[1].stderr[-1] ** 2 + result[2].stderr[-1] ** 2)


def test_user_policy_that_fails_says_so():
    @ocucb.index_policy(unplayed_index="nonincreasing")
    def undefined(pulls, t, horizon, arms):
        return nan if t > 50 else 1.0 / pulls

    @ocucb.index_policy
    def undefined_scan(pulls, t, horizon, arms):
        return nan

    @ocucb.choice_policy
    def outside(t, horizon, pulls, sums, sigma, memory, stream):
        return 99

    @ocucb.index_policy
    def raising(pulls, t, horizon, arms):
        if t > 50:
            raise ValueError("too late")
        return 1.0 / pulls

    @ocucb.index_policy
    def not_compilable(pulls, t, horizon, arms):
        return pulls.nope

    problem = problems.gap()
    for family in (undefined, undefined_scan, outside):
        with pytest.raises(ValueError, match="could not choose an arm in run 0"):
            ocucb.simulate(family, problem, 100, 3, rng=1)
    with pytest.raises(
        ValueError, match=r"raising could not choose an arm: its formula raised ValueError: too lat"
    ):
        ocucb.simulate(raising, problem, 100, 3, rng=1)
    with pytest.raises(
        TypeError, match=r"not_compilable on gaussian rewards cannot be compiled.*nope"
    ):
        ocucb.simulate(not_compilable, problem, 100, 3, rng=1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ocucb.OCUCB(alpha=0), ValueError, "alpha must be > 0, got 0"),
        (lambda: ocucb.OCUCB(psi=0.5), ValueError, "psi must be >= 1, got 0.5"),
        (lambda: ocucb.OCUCB(alpha=inf), ValueError, "alpha must be finite, got inf"),
        (lambda: ocucb.OCUCB(alpha=10**400), ValueError, "alpha must lie between -1e308 and 1e308"),
        (lambda: parse_policy("ucb:self=1"), TypeError, "no parameter 'self'"),
        (lambda: ocucb.OCUCB(alpha="big"), TypeError, "alpha must be a number, got 'big'"),
        (lambda: ocucb.OCUCB(beta=1), TypeError, "no parameter 'beta'; it has alpha, psi"),
        (lambda: ocucb.AOCUCB(alpha=1), TypeError, "no parameter 'alpha'; it has none"),
        (lambda: ocucb.UCB(1, 2), TypeError, "takes 1 parameter, got 2"),
        (lambda: ocucb.UCB(1, constant=2), TypeError, "got parameter 'constant' twice"),
        (lambda: ocucb.ExploreThenCommit(m=2.5), ValueError, "m must be a whole number >= 1"),
        (lambda: ocucb.EpsilonGreedy(epsilon=2), ValueError, "between 0 and 1, got 2"),
        (lambda: parse_policy("nope"), ValueError, "unknown policy 'nope'; choose from adaucb"),
        (lambda: parse_policy("ucb:constant"), ValueError, "must have the form key=value"),
        (lambda: parse_policy("ucb:constant=x"), ValueError, "must be a number, got 'x'"),
        (lambda: parse_policy("ucb:constant=1,constant=2"), ValueError, "appears twice"),
    ],
)
def test_wrong_parameters(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_parameters_outside_the_theorem_only_warn():
    for alpha in (1, 2):
        with pytest.warns(UserWarning, match=f"alpha = {alpha}: its regret bound is proved"):
            ocucb.OCUCB(alpha=alpha)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ocucb.OCUCB(alpha=2.1, psi=2)


def test_wrong_functions_are_refused():
    with pytest.raises(TypeError, match="must take the arguments pulls, t, horizon, arms"):
        ocucb.index_policy(lambda pulls: 1.0)
    with pytest.raises(TypeError, match="'a' needs a default value"):
        ocucb.index_policy(lambda pulls, t, horizon, arms, a: 1.0)
    with pytest.raises(TypeError, match="is not stated as a bonus"):
        ocucb.ThompsonSampling().bonus(1, 2, 3, 4)


def test_names_that_people_type():
    """As tables print them, as Python writes them, or as they are called elsewhere."""
    for family in FAMILIES.values():
        for name in (family.label, family.label.upper(), family.source.__name__, *family.aliases):
            assert make(name).family is family, name
    spellings = [name for family in FAMILIES.values() for name in {*map(spelled, names_of(family))}]
    assert len(spellings) == len({*spellings}), "two policies share a name"
    for text in SETTINGS:
        assert make(make(text).label) == make(repr(make(text))) == make(text)
    assert make("UCB1").bonus(3, 50, 100, 2) == make("ucb:constant=8").bonus(3, 50, 100, 2)
    assert make("\N{GREEK SMALL LETTER EPSILON}-greedy").name == "epsilon-greedy:epsilon=0.1"
    assert make("KL-UCB++").name == "kl-ucb-plus-plus"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("ucbb", ValueError, r"unknown policy 'ucbb'; did you mean ucb( or [\w-]+)?\?"),
        ("thomson", ValueError, r"did you mean thompson\?"),
        ("ocucb:alhpa=2", TypeError, r"OCUCB has no parameter 'alhpa'; did you mean alpha\?"),
        (lambda pulls: 1.0, TypeError, "got the function <lambda>: decorate it with @ocucb.index_"),
    ],
)
def test_what_was_meant(given, error, words):
    with pytest.raises(error, match=words):
        to_policies(given)


def test_classes_of_other_libraries_are_pointed_to_the_decorators():
    class Mine:
        def select(self) -> int:
            return 0

        def update(self, arm: int, reward: float) -> None:
            pass

    words = "got the class Mine: write its select as a function that returns an arm, and decorate"
    for player in (Mine, Mine(), [Mine()]):
        with pytest.raises(TypeError, match=words):
            ocucb.simulate(player, problems.gap(), 10, 5)


def test_labels_are_written_as_in_papers():
    """Words or acronyms, never the name of a function."""
    joined = [family.label for family in FAMILIES.values() if re.search("[a-z][A-Z]", family.label)]
    assert sorted(joined) == ["AdaUCB", "KL-AdaUCB"]
    assert make("explore-then-commit:m=5").label == "Explore-then-commit(m=5)"
    assert repr(make("explore-then-commit:m=5")) == "ExploreThenCommit(m=5)"


def test_names_round_trip():
    for text in SETTINGS:
        policy = make(text)
        assert make(policy.name) == policy
        assert policy.family is FAMILIES[text.partition(":")[0]]
    assert make("ocucb:alpha=2.5").label == "OCUCB(alpha=2.5)"
    assert make("ocucb").label == "OCUCB"


@pytest.mark.parametrize(
    ("value", "written"),
    [(3.0000001, "3.0000001"), (1e6, "1e+06"), (1234567.0, "1234567"), (2.5, "2.5")],
)
def test_labels_tell_parameters_apart(value, written):
    policy = ocucb.OCUCB(psi=value)
    assert policy.label == f"OCUCB(psi={written})"
    assert repr(policy) == f"OCUCB(alpha=3, psi={written})"
