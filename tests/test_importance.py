"""Importance sampling: tilted runs estimate what plain runs estimate; wrong weights are caught.

Comparisons with a truth or with plain runs allow 4 standard errors, so that a true one fails with
probability 6e-5 if normal. With test_importance_bars.py and test_importance_results.py there are
about 300 of them: with random seeds they would raise a false alarm once in 50 times. The seeds are
fixed.

That the comparisons can fail is tested too, by breaking weights and kernels (`KERNELS`).
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from math import exp, log, sqrt

import naive
import numpy as np
import pytest

import ocucb
from helpers import Playing, agree, enumerated, find_kernel, weighted_runs
from ocucb import importance, scheduler
from ocucb._compile import compiled, specialise
from ocucb.engine import Kernel, skip, skip_binary, skip_thompson
from ocucb.engine import run as engine_run
from ocucb.importance import Mixture, first_mixture
from ocucb.policies import parse_policy, to_policies
from ocucb.results import Estimate, Moments
from ocucb.simulation import specify
from ocucb.specification import run_pilot
from policy_table import TABLE

KEY = np.array([5, 14], dtype=np.uint64)


@ocucb.index_policy(unplayed_index="nonincreasing")
def steep(pulls, t, horizon, arms):
    """Not concave times pulls: skip-ahead uses its looser line."""
    return 2.0 * exp(-pulls / 10.0) + sqrt(log(2.0 * horizon / t)) / pulls


@ocucb.index_policy
def careful(mean, variance, pulls, t, horizon, arms, sigma):
    """Take the variance, as UCB-V does."""
    return mean + sqrt(2.0 * variance * log(t) / pulls) + log(t) / pulls


@ocucb.choice_policy
def commit(t, horizon, pulls, sums, sigma, memory, stream):
    """Try each arm eight times, then keep to the better one."""
    best = 0
    for i in range(len(pulls)):
        if pulls[i] < 8:
            return i
        if sums[i] / pulls[i] > sums[best] / pulls[best]:
            best = i
    return best


@dataclass(frozen=True)
class Case:
    policy: object
    problem: ocucb.Problem
    horizon: int
    engines: tuple[str, ...] = ("step", "skip")


BY_ARM = ocucb.gaussian([-0.2, 0.3, 0.1], [0.5, 1.0, 2.0])  # the best arm is not the first
CASES = {
    "OCUCB, K=2": Case("ocucb", ocucb.gap(2, 0.5), 500),
    "OCUCB(1), sigma by arm": Case("ocucb:alpha=1", BY_ARM, 300),
    "AOCUCB, K=10": Case("aocucb", ocucb.uniform_arms(10, sigma=0.5), 300),
    "UCB(0.5), K=2": Case("ucb:constant=0.5", ocucb.gap(2, 0.5), 300),
    "MOSS, K=10": Case("moss:constant=0.5", ocucb.gap(10, 1.0), 300),
    "Thompson, K=2": Case("thompson", ocucb.gap(2, 0.5), 500),
    "Thompson, K=20": Case("thompson", ocucb.gap(20, 1.0), 400),
    "steep, K=3": Case(steep, BY_ARM, 300),
    "coins, OCUCB": Case("ocucb:alpha=1", ocucb.bernoulli([0.4, 0.3, 0.6]), 300),
    "coins, UCB": Case("ucb:constant=0.5", ocucb.bernoulli([0.6, 0.5]), 1000),
    "coins, Thompson": Case("thompson", ocucb.bernoulli([0.9, 0.5]), 300, ("step",)),
    "coins, careful": Case(careful, ocucb.bernoulli([0.2, 0.5]), 300, ("step",)),
    "epsilon-greedy": Case("epsilon-greedy", ocucb.gap(3, 0.5), 300, ("step",)),
    "commit": Case(commit, ocucb.gap(2, 0.5), 300, ("step",)),
}
PAIRS = [(name, engine) for name, case in CASES.items() for engine in case.engines]


def policy_of(case: Case) -> ocucb.Policy:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small alpha
        return to_policies(case.policy)[0]


def assert_means_agree(name: str, engine: str, plain_runs: int, tilted_runs: int) -> None:
    case = CASES[name]
    call = policy_of(case), case.problem, case.horizon
    options = {"engine": engine, "checkpoints": [case.horizon // 5]}
    plain = ocucb.simulate(*call, plain_runs, rng=1, sampling="plain", **options)[0]
    tilted = ocucb.simulate(*call, tilted_runs, rng=2, sampling="tilted", **options)[0]
    assert (plain.engine, tilted.engine) == (engine, engine)
    assert (plain.sampling, tilted.sampling) == ("plain", "tilted")
    assert agree(tilted.weight, 1.0)
    for mean, error, other, bar in zip(
        tilted.regret, tilted.stderr, plain.regret, plain.stderr, strict=True
    ):
        assert agree(Estimate(mean, error), other, bar)
    assert agree(tilted.deviation, *plain.deviation)
    assert agree(tilted.failure, *plain.failure)
    for x in (0.5 * tilted.mean_regret, 2.0 * tilted.mean_regret):
        assert agree(tilted.tail(x), *plain.tail(x))


@pytest.mark.parametrize(("name", "engine"), PAIRS)
def test_means_agree_with_plain_runs(name, engine):
    """Failures are frequent enough here for the bars of plain runs to be right."""
    assert_means_agree(name, engine, 20_000, 5000)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "engine"), PAIRS)
def test_means_agree_with_a_million_plain_runs(name, engine):
    assert_means_agree(name, engine, 1_000_000, 200_000)


# The weights


TWINS = {  # policies with a twin in policy_table.py, and problems on which they play
    "ocucb": ocucb.gaussian([0.0, 0.5, 0.2], [1.0, 0.5, 2.0]),
    "moss": ocucb.bernoulli([0.5, 0.8]),
    "thompson": ocucb.gap(2, 0.5),
    "bernoulli-gittins": ocucb.bernoulli([0.3, 0.6, 0.4]),
    "epsilon-greedy": ocucb.bernoulli([0.3, 0.6, 0.4]),
    "improved-ucb": ocucb.gap(2, 0.5),
}


def luck_of(problem: ocucb.Problem, arms: list[int], gains: list[float]) -> np.ndarray:
    """Add up noise round by round; at each half and the end of a run."""
    ways = 2 if np.unique(problem.gaps).size == 2 else 4
    luck = np.zeros((2, ways))
    for t, (arm, gain) in enumerate(zip(arms, gains, strict=True)):
        noise = (gain - problem.means[arm]) / problem.sigma
        gap = problem.gaps[arm] / problem.sigma
        for row, n in enumerate((len(arms) // 2, len(arms))):
            if t < n:
                luck[row, int(gap == 0.0)] += noise
                if ways == 4:
                    luck[row, 2] += gap * noise
                    width = sqrt(2.0 * problem.arms * log(n) / n)
                    luck[row, 3] += gap / (gap + width) * noise
    return luck


@pytest.mark.parametrize("text", TWINS)
def test_runs_and_weights_are_those_of_the_twin(text):
    """The twin draws the same mixture and multiplies densities reward by reward."""
    policy, problem = parse_policy(text), TWINS[text]
    n = max(TABLE[text].horizons, default=60)
    mixture = first_mixture(problem, n)
    playing = find_kernel("step", policy, problem, n)
    call = policy, problem, n, np.array([n // 2, n]), KEY, 0, 60, mixture
    outcome, weights = weighted_runs(playing, *call)
    for run in range(60):
        arms, gains = naive.play(policy, problem, n, KEY, run, mixture=mixture)
        assert outcome.pulls[run].tolist() == np.bincount(arms, minlength=problem.arms).tolist()
        assert weights[run] == pytest.approx(naive.weight(mixture, problem, arms, gains), rel=1e-9)
        assert outcome.luck[run] == pytest.approx(luck_of(problem, arms, gains), abs=1e-9)
    assert weights.max() <= 1.0 / mixture.shares[0]
    assert np.unique(weights).size > 20


LUCKY = {
    **{name: CASES[name] for name in ("OCUCB, K=2", "Thompson, K=20", "steep, K=3", "commit")},
    "UCB": Case("ucb", ocucb.gaussian([0.5, 1.0], [0.5, 2.0]), 300),
    "IMED": Case("imed", ocucb.gaussian([0.5, 1.0, 0.2]), 300),
    "coins, MOSS": Case("moss", ocucb.bernoulli([0.4, 0.3, 0.6]), 60),
    "coins, UCB": Case("ucb", ocucb.bernoulli([0.8, 0.7]), 300),
    "coins, KL-UCB": Case("kl-ucb", ocucb.bernoulli([0.8, 0.7]), 60),
    "coins, IMED": Case("imed", ocucb.bernoulli([0.8, 0.7]), 60),
    "coins, UCB-V": Case("ucb-v", ocucb.bernoulli([0.8, 0.7]), 60, ("step",)),
}


def assert_luck_is_fair(playing: Playing, case: Case, runs: int = 20_000) -> None:
    """Nobody is lucky on average: the weighted mean of luck is 0, in each way, at any time."""
    n, mixture = case.horizon, first_mixture(case.problem, case.horizon)
    call = policy_of(case), case.problem, n, np.array([n // 3, n]), KEY, 0, runs, mixture
    outcome, weights = weighted_runs(playing, *call)
    by_time = np.moveaxis(outcome.luck, 1, 0)
    for part in (*by_time[0].T, *by_time[1].T, by_time[1, :, :2].sum(axis=1)):
        values = weights * part
        error = values.std() / sqrt(runs)
        assert error > 0.0
        assert agree(Estimate(float(values.mean()), error), 0.0)


@pytest.mark.parametrize(
    ("name", "engine"), [(name, kind) for name, case in LUCKY.items() for kind in case.engines]
)
def test_luck_is_fair(name, engine):
    case = LUCKY[name]
    playing = find_kernel(engine, policy_of(case), case.problem, case.horizon)
    assert_luck_is_fair(playing, case)


def _last_reward_forgotten(game, run, arm, rounds):
    return run.sums[arm]


@pytest.mark.parametrize("name", ["coins, MOSS", "coins, UCB"])
def test_unfair_luck_is_caught(name):
    """An arm is played at the end, and its reward is not counted."""
    case = LUCKY[name]
    plan = skip_binary.plan(policy_of(case).family, case.problem.rewards)
    plan.slots["play_rest"] = compiled(_last_reward_forgotten)
    playing = skip_binary.ENGINE, Kernel(plan)
    with pytest.raises(AssertionError):
        assert_luck_is_fair(playing, case)


def test_rounding_is_no_luck():
    """What rounding does to an arm without noise grows with its pulls: regression would use it."""
    problem = ocucb.gaussian([0.3, 0.5], [1e-15, 1.0])
    plain, tilted = (
        ocucb.simulate("thompson", problem, 300, runs, rng=1, sampling=sampling, engine="step")[0]
        for sampling, runs in (("plain", 20_000), ("tilted", 5000))
    )
    found = Estimate(tilted.mean_regret, tilted.stderr[-1])
    assert agree(found, plain.mean_regret, plain.stderr[-1])


def test_the_pilot_allows_for_luck():
    problem, n = ocucb.gap(2, 0.3), 10_000
    first = first_mixture(problem, n)
    plain = specify(parse_policy("ucb"), problem, n, np.array([n]), 1, "skip")
    pilot = run_pilot(replace(plain, mixture=first), 0, 256)
    blind = pilot._replace(luck=np.zeros_like(pilot.luck))
    seeing, unseeing = (importance.improved(first, problem, runs)[1] for runs in (pilot, blind))
    assert seeing > 5.0 * unseeing


def check(playing: Playing, case: Case, mixture: Mixture) -> None:
    """Check the mean weight, and means, against plain runs; two horizons, for marks at the end."""
    policy, problem = policy_of(case), case.problem
    for n, runs in ((case.horizon, 4000), (34, 8000)):
        call = policy, problem, n, np.array([n // 4, n]), KEY, 0
        outcome, weights = weighted_runs(playing, *call, runs, mixture)
        bare = outcome._replace(luck=np.zeros((runs, 2, 2)))  # weights alone
        moments = Moments.of(bare, weights, problem.gaps)
        assert agree(moments.weight, 1.0)
        mean, error = _plain(case, n)
        curve = moments.curve()
        assert (np.abs(curve.regret - mean) <= 4.0 * np.hypot(curve.stderr, error)).all()


@cache
def _plain(case: Case, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    one = ocucb.simulate(
        policy_of(case), case.problem, horizon, 20_000, rng=9, sampling="plain", engine="step",
        checkpoints=[horizon // 4],
    )[0]  # fmt: skip
    return one.regret, one.stderr


# What could be wrong in a kernel, under the name of the part that it replaces


@compiled
def _mark_forgotten(game, run, arm, t, done, outcome, row):
    done = engine_run.pass_marks(game, run, arm, t, done, outcome, row)
    outcome.noise[row, :] = 0.0
    return done


@compiled
def _leaps_over_marks(tilted, mark, pulls):
    return np.inf


@compiled
def _last_rewards_forgotten(game, run, able, outcome, row):
    for i in range(run.pulls.size):
        outcome.pulls[row, i] = np.int64(run.pulls[i])


@compiled
def _tilts_forever(game, run, arm, t, done, outcome, row):
    lowered = run.drawn[game.tilted]
    done = engine_run.pass_marks(game, run, arm, t, done, outcome, row)
    run.drawn[game.tilted] = lowered
    return done


def _drift_not_tilted(
    values, game, pulls, leader, arm_count, edge, trend, scale, lag, lead, last, rewards
):
    return play_leader(  # noqa: F821
        values, game, pulls, leader, arm_count, edge, 0.0, scale, lag, lead, last, rewards
    )


KERNELS = {
    "mark forgotten": {"pass_marks": _mark_forgotten},
    "leaps over marks": {"rounds_to_mark": _leaps_over_marks},
    "last rewards forgotten": {"finish_run": _last_rewards_forgotten},
    "tilts forever": {"pass_marks": _tilts_forever},
    "drift not tilted": {"play_leader": _drift_not_tilted},
}
# Only leaps are harmed. UCB and Thompson sampling leap later, where the weight hardly depends on
# what is recorded: their tilted runs are compared above and, with those of UCB, in test_skip.py.
HARMED = {"ocucb": (CASES["OCUCB, K=2"], tuple(KERNELS))}


def harmed(case: Case, parts: dict[str, object]) -> Playing:
    """Return a skip kernel with other parts."""
    family = policy_of(case).family
    module = skip_thompson if family.rule.kind == "sampling" else skip
    plan = module.plan(family, case.problem.rewards)
    slots = plan.slots
    if "play_leader" in parts:
        parts = {
            "play_leader": specialise(_drift_not_tilted, {"play_leader": slots["play_leader"]})
        }
    slots |= parts
    slots["leapt"] = specialise(engine_run.leapt, slots, part=True)
    for name in ("scan_rounds", "compete", "lead"):
        if name in slots:
            slots[name] = specialise(getattr(module, name), slots)
    return module.ENGINE, Kernel(plan)


@pytest.mark.parametrize("name", HARMED)
def test_sound_kernels_pass(name):
    case, _ = HARMED[name]
    for engine in case.engines:
        playing = find_kernel(engine, policy_of(case), case.problem, case.horizon)
        check(playing, case, first_mixture(case.problem, case.horizon))


@pytest.mark.parametrize(("name", "harm"), [(n, harm) for n in HARMED for harm in HARMED[n][1]])
def test_broken_kernels_are_caught(name, harm):
    case, _ = HARMED[name]
    with pytest.raises(AssertionError):
        check(harmed(case, KERNELS[harm]), case, first_mixture(case.problem, case.horizon))


def _wrong_sign(mixture, problem, noise, pulls):
    return _RATIOS(mixture, problem, -noise, pulls)


def _one_pull_more(mixture, problem, noise, pulls):
    longer = mixture._replace(lengths=mixture.lengths + 1, marks=mixture.marks + 1)
    return _RATIOS(longer, problem, noise, pulls)


def _length_ignores_pulls(mixture, problem, noise, pulls):
    return _RATIOS(mixture, problem, noise, np.full(pulls.size, 10**6))


def _first_mark_for_all(mixture, problem, noise, pulls):
    return _RATIOS(mixture, problem, np.repeat(noise[:, :1], noise.shape[1], axis=1), pulls)


def _inverted(mixture, problem, noise, pulls):
    return [1.0 / ratio for ratio in _RATIOS(mixture, problem, noise, pulls)]


_RATIOS = importance._likelihood_ratios


@pytest.mark.parametrize("name", ["OCUCB, K=2", "coins, OCUCB"])
@pytest.mark.parametrize(
    "wrong",
    [_wrong_sign, _one_pull_more, _length_ignores_pulls, _first_mark_for_all, _inverted],
    ids=lambda function: function.__name__.strip("_"),
)
def test_wrong_likelihood_ratios_are_caught(wrong, name, monkeypatch):
    case = CASES[name]
    playing = find_kernel(case.engines[-1], policy_of(case), case.problem, case.horizon)
    mixture = first_mixture(case.problem, 34)
    check(playing, case, mixture)
    monkeypatch.setattr(importance, "_likelihood_ratios", wrong)
    with pytest.raises(AssertionError):
        check(playing, case, mixture)


# Exact values


@pytest.mark.parametrize(
    ("text", "means", "n"),
    [
        ("ocucb:alpha=3,psi=2", [0.7, 0.4], 12),
        ("ocucb:alpha=1,psi=2", [0.3, 0.8], 12),
        ("ucb:constant=0.5", [0.5, 0.6], 11),
        ("moss:constant=0.5", [0.9, 0.5], 12),
        ("aocucb", [0.2, 0.6, 0.4], 9),
    ],
)
@pytest.mark.parametrize("engine", ["step", "skip"])
@pytest.mark.filterwarnings("ignore:OCUCB with alpha")
def test_exact_values(text, means, n, engine, monkeypatch):
    """With the broad mixture, whose weights vary far more than those of a mixture that pays."""
    monkeypatch.setattr(scheduler, "improved", lambda mixture, problem, pilot: (mixture, 2.0))
    policy, problem = parse_policy(text), ocucb.bernoulli(means)
    outcomes: dict[tuple[int, ...], float] = defaultdict(float)
    for (pulls, _), chance in enumerated(policy, problem, n).items():
        outcomes[pulls] += chance
    assert sum(outcomes.values()) == pytest.approx(1.0)
    regret = np.array([np.dot(pulls, problem.gaps) for pulls in outcomes])
    chance = np.array(list(outcomes.values()))
    best = int(problem.means.argmax())
    failed = np.array([2 * pulls[best] < n for pulls in outcomes])
    mean = float(regret @ chance)
    one = ocucb.simulate(policy, problem, n, 60_000, rng=4, sampling="tilted", engine=engine)[0]
    assert (one.sampling, one.engine) == ("tilted", engine)
    assert one.weights.std() > 0.3
    assert agree(one.weight, 1.0)
    assert agree(Estimate(one.mean_regret, one.stderr[-1]), mean)
    assert agree(one.deviation, sqrt(float((regret - mean) ** 2 @ chance)))
    assert agree(one.failure, float(failed @ chance))
    assert one.pulls == pytest.approx(np.array(list(outcomes)).T @ chance, abs=0.1)
    values = np.unique(np.round(regret, 9))
    for x in 0.5 * (values[1:] + values[:-1]):
        above = float(chance[regret > x].sum())
        if above * one.runs > 1.0:  # what is rarer, and not the best arm's fault, may be missed
            assert agree(one.tail(x), above)
    # P(regret <= q) reaches the level at the quantile q, or at a neighbour of it.
    for level in (0.1, 0.5, 0.9, 0.99):
        q = one.quantile(level)
        assert chance[regret < q - 1e-9].sum() <= level + 0.02
        assert chance[regret <= q + problem.gaps.max()].sum() >= level - 0.02
    for level in (0.0, 0.5, 0.9):
        # max over q of q + E(regret - q)+ / (1 - level) is where it is smallest
        exact = min(q + float(np.maximum(regret - q, 0.0) @ chance) / (1.0 - level) for q in values)
        found = one.cvar(level)
        assert agree(found, exact) or abs(found.value - exact) < 0.01 * exact
