"""Priors over problems: what is drawn, what is played on it, and what becomes of the results.

The twins here draw and play in plain Python, run by run, with the library's random numbers.
"""

from __future__ import annotations

import json
import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from math import exp, log, log1p, pi, sqrt

import naive
import numpy as np
import pytest
from scipy import integrate, stats

import ocucb
from helpers import agree, call_kernel, find_kernel, invoke, same
from ocucb import league, simulation
from ocucb.engine import choose_engine
from ocucb.importance import failure_cost
from ocucb.league.problems import disaster_level
from ocucb.policies import parse_policy
from ocucb.random import beta, gamma, normal, start_stream, stream_key, uniform
from ocucb.results import Estimate
from policy_table import twin_of


def one_good(means, stream, gap=0.5):
    for i in range(means.size):
        means[i] = -gap
    means[int(uniform(stream) * means.size)] = 0.0


def noisy(means, scales, stream):
    for i in range(means.size):
        means[i] = 0.3 * normal(stream)
        scales[i] = 0.5 + uniform(stream)


MIXED = [ocucb.gap(2, 0.3), ocucb.gap(5, 0.5, sigma=[1.0, 0.5, 2.0, 1.0, 1.0]), ocucb.gap(2, 1.0)]
PRIORS = {
    "normal": ocucb.prior("normal", K=4, mean=1.0, sd=0.5, sigma=0.7),
    "beta": ocucb.prior("beta", K=3, a=2.0, b=3.0),
    "small beta": ocucb.prior("beta", K=3, a=0.4, b=0.7),
    "headlines": ocucb.prior("headlines"),
    "list": ocucb.prior(MIXED),
    "clicks": ocucb.prior([ocucb.bernoulli([0.5, 0.4]), ocucb.bernoulli([0.1, 0.3, 0.2])]),
    "function": ocucb.prior(one_good, K=5, gap=0.3),
    "scales": ocucb.prior(noisy, K=3),
    "uniform rewards": ocucb.prior(one_good, K=3, rewards="uniform", sigma=0.5),
}
SEED = 7


def specification(policy, prior, n=120, engine="auto", seed=SEED):
    rounds = np.unique([n // 7, n // 2, n])
    return simulation.specify(parse_policy(policy), prior, n, rounds, seed, engine)


# What is drawn.


def draw_by_hand(name: str, stream):
    """Return the means and scales of the prior called `name`, in plain Python."""
    if name == "normal":
        return [1.0 + 0.5 * normal(stream) for _ in range(4)], [0.7] * 4
    if name == "beta":
        return [beta(stream, 2.0, 3.0) for _ in range(3)], [0.5] * 3
    if name == "small beta":
        odds = []
        for _ in range(3):
            x, y = (log(gamma(stream, a + 1.0)) + log1p(-uniform(stream)) / a for a in (0.4, 0.7))
            odds.append(1.0 / (1.0 + exp(y - x)))
        return odds, [0.5] * 3
    if name == "headlines":
        shares = np.cumsum([0, 0.03, 0.04, 0.52, 0.19, 0.18, 0.03, 0.02])
        K = 1 + int(np.sum(uniform(stream) >= shares / shares[-1]))
        rate = 1.0 / (1.0 + exp(4.33 - 0.7 * normal(stream)))
        spread = 0.28 if rate < 0.009 else 0.23 if rate < 0.018 else 0.17
        a = (1.0 - rate) / spread**2 - rate
        return [beta(stream, a, a * (1.0 - rate) / rate) for _ in range(K)], [0.5] * K
    if name in ("list", "clicks"):
        problems = MIXED if name == "list" else [[0.5, 0.4], [0.1, 0.3, 0.2]]
        one = problems[int(uniform(stream) * len(problems))]
        return (one.means, one.scales) if name == "list" else (one, [0.5] * len(one))
    if name == "scales":
        means, scales = np.zeros(3), np.zeros(3)
        noisy(means, scales, stream)
        return means, scales
    K, gap, scale = (5, 0.3, 1.0) if name == "function" else (3, 0.5, 0.5 * sqrt(3.0))
    means = np.zeros(K)
    one_good(means, stream, gap)
    return means, [scale] * K


@pytest.mark.parametrize("name", PRIORS)
def test_problems_are_those_of_a_plain_loop(name):
    prior = PRIORS[name]
    key, stream = stream_key(SEED, "problems", prior.identity), np.empty(4, np.uint64)
    for run, problem in enumerate(prior.problems(40, rng=SEED)):
        start_stream(stream, key, run, 0)
        means, scales = draw_by_hand(name, stream)
        assert problem.means == pytest.approx(means, rel=1e-13)
        assert problem.scales == pytest.approx(scales, rel=1e-13)
        assert problem.rewards is prior.rewards
    later = prior.drawn(SEED, 37, 3)
    assert [prior.problem(later, i).means.tolist() for i in range(3)] == [
        problem.means.tolist() for problem in prior.problems(40, rng=SEED)[37:]
    ]


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("normal:K=3,mean=2,sd=0.1", stats.norm(2.0, 0.1)),
        ("beta:K=3,a=2,b=5", stats.beta(2.0, 5.0)),
        ("beta:K=3,a=0.5,b=0.5", stats.beta(0.5, 0.5)),
        ("beta:K=3,a=0.05,b=2", stats.beta(0.05, 2.0)),
    ],
)
def test_means_have_their_law_and_are_independent(text, law):
    """Four laws, three arms each, and two correlations: a false alarm in one of 50,000 seeds."""
    means = ocucb.prior(text).drawn(3, 0, 200_000).means
    for arm in means.T:
        assert stats.kstest(arm, law.cdf).pvalue > 1e-6
    for i in (1, 2):
        assert stats.spearmanr(means[:, 0], means[:, i]).pvalue > 1e-6


def test_headlines_have_the_shape_of_the_archive():
    """Rates of tests, spreads within them, numbers of arms: a false alarm in one of 10^5 seeds."""
    many = ocucb.prior("headlines", K=500).drawn(1, 0, 16_000).means
    rates, spreads = many.mean(axis=1), many.std(axis=1) / many.mean(axis=1)
    # the mean of 500 arms misses the rate by 1%: far less than rates differ
    assert stats.kstest(np.log(rates / (1 - rates)), stats.norm(-4.33, 0.7).cdf).pvalue > 1e-6
    for low, high, spread in ((0.0, 0.009, 0.28), (0.009, 0.018, 0.23), (0.018, 1.0, 0.17)):
        inside = (rates > 1.06 * low) & (rates < high / 1.06)
        assert inside.sum() > 100
        # one spread is known to 3%
        assert spreads[inside].mean() == pytest.approx(spread, rel=0.01)
        assert spreads[inside].std() < 0.05 * spread
    arms = ocucb.prior("headlines").drawn(1, 0, 20_000).arms
    shares = np.array([3, 4, 52, 19, 18, 3, 2]) / 101
    counts = np.bincount(arms, minlength=9)
    assert counts[:2].sum() == 0
    assert stats.chisquare(counts[2:], 20_000 * shares).pvalue > 1e-6


def test_a_list_is_drawn_uniformly():
    """A false alarm in one of a million seeds."""
    drawn = PRIORS["list"].drawn(2, 0, 9000)
    counts = [np.sum(np.nanmax(-drawn.means, axis=1) == gap) for gap in (0.3, 0.5, 1.0)]
    assert stats.chisquare(counts).pvalue > 1e-6


def test_all_policies_engines_and_horizons_meet_the_same_problems():
    """When each arm is played once, the regret is the sum of the gaps."""
    prior = ocucb.prior("normal", K=4)
    gaps = np.array([problem.gaps.sum() for problem in prior.problems(100, rng=5)])
    for engine in ("step", "skip"):
        policies = ["ocucb", "ucb", "thompson"]
        result = ocucb.simulate(policies, prior, 4, 100, rng=5, engine=engine)
        assert all(player.sample == pytest.approx(gaps) for player in result)
    longer = ocucb.simulate("ucb", prior, 50, 100, rng=5, checkpoints=[4])[0]
    assert longer.regret[0] == pytest.approx(gaps.mean())
    other = ocucb.simulate("ucb", prior, 4, 100, rng=6)[0]
    assert not np.isclose(other.sample, gaps).any()


# What is played.


@pytest.mark.parametrize("policy", ["ocucb", "ucb-tuned", "thompson", "epsilon-greedy"])
@pytest.mark.parametrize("name", ["normal", "headlines", "list", "scales", "uniform rewards"])
def test_runs_play_what_a_plain_loop_plays_on_their_problems(policy, name):
    """Pull for pull, on the step engine: with the regret of every round."""
    prior, n = PRIORS[name], 60
    every = np.arange(1, n + 1)
    made = parse_policy(policy)
    spec = simulation.specify(made, prior, n, every, SEED, "step")
    outcome = spec.outcome(3, 8)
    for row, problem in enumerate(prior.problems(11, rng=SEED)[3:]):
        arms, _ = naive.play(made, problem, n, spec._key, 3 + row)
        assert outcome.regret[row] == pytest.approx(np.cumsum(problem.gaps[arms]))
        pulls = np.bincount(arms, minlength=problem.arms)[np.argsort(-problem.means, kind="stable")]
        assert outcome.pulls[row].tolist() == [*pulls, *[0] * (prior.arms - problem.arms)]


CASES = [
    ("ocucb", "normal"), ("ocucb", "headlines"), ("ocucb", "list"), ("ocucb", "scales"),
    ("thompson", "list"), ("thompson", "normal"), ("imed", "list"), ("imed", "clicks"),
    ("kl-ucb-plus", "clicks"), ("kl-ucb-plus", "headlines"),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "name"), CASES)
@pytest.mark.parametrize("engine", ["skip", "step"])
def test_each_run_is_that_of_its_problem_alone(policy, name, engine):
    """The same bits as a kernel that plays one fixed problem, whatever the other runs have."""
    prior, n = PRIORS[name], 500
    spec = specification(policy, prior, n, engine)
    assert spec.engine == engine
    outcome = spec.outcome(5, 30)
    for row, problem in enumerate(prior.problems(35, rng=SEED)[5:]):
        playing = find_kernel(engine, spec.policy, problem, n)
        regret, pulls = call_kernel(
            playing, spec.policy, problem, n, spec.checkpoints, spec._key, 5 + row, 1
        )
        assert outcome.regret[row].tolist() == regret[0].tolist()
        order = np.argsort(-problem.means, kind="stable")
        assert outcome.pulls[row, : problem.arms].tolist() == pulls[0, order].tolist()
        assert not outcome.pulls[row, problem.arms :].any()


@pytest.mark.parametrize("engine", ["skip", "step"])
def test_a_list_of_one_problem_is_that_problem(engine):
    """Comparisons of two samples of 4,000 regrets: a false alarm in one of 100,000 seeds."""
    problem = ocucb.gaussian([0.0, -0.2, -0.7], sigma=[1.0, 0.5, 1.0])
    call = {"horizon": 500, "runs": 4000, "sampling": "plain", "engine": engine}
    fixed = ocucb.simulate("ocucb", problem, rng=1, **call)[0]
    drawn = ocucb.simulate("ocucb", ocucb.prior([problem]), rng=1, **call)[0]
    assert stats.ks_2samp(fixed.sample, drawn.sample).pvalue > 1e-5
    assert drawn.pulls == pytest.approx(fixed.pulls, rel=0.1)
    assert (drawn.worst, fixed.worst) == (350.0, 350.0)
    assert drawn.failure.value == pytest.approx(fixed.failure.value, abs=0.02)


# Bayes regret that is known.


@pytest.mark.parametrize(("K", "largest"), [(2, 1 / sqrt(pi)), (3, 1.5 / sqrt(pi))])
def test_bayes_regret_of_one_round_for_each_arm(K, largest):
    """K times the expected largest of K normals; a false alarm in one of 8,000 seeds."""
    prior = ocucb.prior("normal", K=K, mean=3.0, sd=2.0)
    result = ocucb.simulate("ucb", prior, K, 20_000, rng=1)[0]
    found = Estimate(result.mean_regret, float(result.stderr[-1]))
    assert agree(found, 2.0 * K * largest)


def exact_bayes_regret(policy, n, a, b):
    """Return the Bayes regret on two arms with Beta means, by the tree of all rewards.

    The expected reward of an arm is its posterior mean, so nothing is integrated but the largest
    of the two means.
    """
    index, parameters = twin_of(policy, True), policy.parameters

    def gain(arm, S, T):
        p = (a + S[arm]) / (a + b + T[arm])
        total = p
        more = tuple(T[i] + (i == arm) for i in (0, 1))
        for x, share in ((1, p), (0, 1.0 - p)):
            total += share * future(tuple(S[i] + x * (i == arm) for i in (0, 1)), more)
        return total

    @cache
    def future(S, T):
        t = sum(T) + 1
        if t > n:
            return 0.0
        if t <= 2:
            return gain(t - 1, S, T)
        values = [index(S[i] / T[i], T[i], t, n, 2, 0.5, **parameters) for i in (0, 1)]
        best = [i for i in (0, 1) if values[i] == max(values)]
        return sum(gain(arm, S, T) for arm in best) / len(best)

    law = stats.beta(a, b)
    largest = integrate.quad(lambda x: 1.0 - law.cdf(x) ** 2, 0.0, 1.0, epsabs=1e-10)[0]
    return n * largest - future((0, 0), (0, 0))


@pytest.mark.parametrize("engine", ["skip", "step"])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.5, 2.0)])
def test_bayes_regret_of_clicks_is_that_of_the_tree_of_all_rewards(engine, a, b):
    """Four comparisons at 4 standard errors: a false alarm in one of 4,000 seeds."""
    prior, policy = ocucb.prior("beta", K=2, a=a, b=b), parse_policy("kl-ucb-plus")
    result = ocucb.simulate(policy, prior, 14, 40_000, rng=2, engine=engine)[0]
    assert result.engine == engine
    truth = exact_bayes_regret(policy, 14, a, b)
    assert agree(Estimate(result.mean_regret, float(result.stderr[-1])), truth)
    assert abs(1.15 * truth - result.mean_regret) > 4.0 * result.stderr[-1], "it can fail"


# What becomes of the results.


def test_pulls_are_those_of_the_best_arm_the_second_best_and_so_on():
    prior = PRIORS["list"]
    result = ocucb.simulate("ucb", prior, 200, 300, rng=1)
    one = result[0]
    assert one.pulls.size == result.means.size == 5
    assert one.pulls.sum() == pytest.approx(200.0)
    assert one.pulls[0] == max(one.pulls)
    assert result.means == pytest.approx([0.0, -0.6, -0.5, -0.5, -0.5], rel=1e-5)
    spec = specification("ucb", prior, 30)
    outcome = spec.outcome(0, 256)
    fails = 2 * outcome.pulls[:, 0] < 30
    assert 0.1 < fails.mean() < 0.9
    assert spec.play(0, 256).failure(1.0).value == pytest.approx(fails.mean())


@pytest.mark.parametrize("name", ["headlines", "list", "function"])
def test_the_same_bits_for_any_workers(name):
    call = {"policies": ["ocucb", "thompson"], "problem": PRIORS[name], "horizon": 300}
    call |= {"runs": 700, "rng": 3}
    one = ocucb.simulate(**call, workers=1)
    assert same(one, ocucb.simulate(**call, workers=3))
    with ThreadPoolExecutor(2) as threads:
        assert same(one, ocucb.simulate(**call, executor=threads))
    more = ocucb.simulate(**{**call, "runs": 1000})
    assert (more[0].sample[:700] == one[0].sample).all()


def test_the_same_bits_in_other_processes():
    prior = ocucb.prior(one_good, K=3, gap=0.2)
    call = {"policies": "ocucb", "problem": prior, "horizon": 200, "runs": 300, "rng": 3}
    with ProcessPoolExecutor(2) as processes:
        assert same(ocucb.simulate(**call), ocucb.simulate(**call, executor=processes))


@pytest.mark.parametrize("name", ["headlines", "list", "function"])
def test_a_store_resumes_and_tells_priors_apart(name, tmp_path):
    path = tmp_path / "a.db"
    call = {"policies": "ocucb", "horizon": 100, "rng": 3}
    prior = PRIORS[name]
    ocucb.simulate(problem=prior, runs=300, store=path, **call)
    again = ocucb.simulate(problem=prior, runs=700, store=path, **call)
    assert same(again, ocucb.simulate(problem=prior, runs=700, **call))
    with ocucb.Store(path) as store:
        (kept,) = store.contents()
        assert same(kept, again)
        assert (kept.prior, kept.problem, kept.result.worst) == (True, prior.name, again[0].worst)
        spec = specification("ocucb", prior, 100, seed=3)
        spec = replace(spec, checkpoints=again[0].checkpoints)
        assert store.runs(spec) == 700
        others = [ocucb.prior("headlines", K=4), ocucb.prior(MIXED[:2]), ocucb.prior(MIXED[0:1])]
        others += [ocucb.prior(one_good, K=5, gap=0.31), ocucb.prior(one_good, K=4, gap=0.3)]
        others += [ocucb.prior(one_good, K=5, gap=0.3, sigma=2.0), ocucb.gap(5, 0.3)]
        assert [store.runs(replace(spec, problem=other)) for other in others] == [0] * len(others)
    assert len({other.identity for other in others} | {prior.identity}) == len(others) + 1


def test_results_are_saved_written_and_drawn(tmp_path):
    result = ocucb.simulate(["ocucb", "ucb"], PRIORS["headlines"], 300, 100, rng=3)
    assert "Bayes regret" in result.table()
    assert "prior headlines, bernoulli rewards" in repr(result)
    result.save(tmp_path / "a.json")
    again = ocucb.SimulationResult.load(tmp_path / "a.json")
    assert again.prior
    assert same(again, result)
    assert (again.means == result.means).all()
    result.to_csv(tmp_path / "a.csv")
    assert 'prior headlines,"ocucb:alpha=3,psi=2",skip,300' in (tmp_path / "a.csv").read_text()
    assert set(result.to_dataframe()["problem"]) == {"prior headlines"}
    result.plot(tmp_path / "a.png")
    result.plot_tail(tmp_path / "b.png")
    fixed = ocucb.simulate("ucb", ocucb.gap(), 100, 10, rng=1)
    assert not fixed.prior
    assert "Bayes" not in fixed.table()


def test_error_bars_cover_the_bayes_regret():
    """Of 200 seeds, 95% within two standard errors: fewer than 175 in one of a million."""
    truth = 2.0 / sqrt(pi)
    prior = ocucb.prior("normal", K=2)
    found = [ocucb.simulate("ucb", prior, 2, 250, rng=seed)[0] for seed in range(200)]
    inside = [abs(result.mean_regret - truth) < 2 * result.stderr[-1] for result in found]
    assert sum(inside) >= 175


def test_precision_is_reached_and_what_was_not_seen_counts():
    prior = ocucb.prior("normal", K=3)
    result = ocucb.simulate("ucb", prior, 500, precision=0.05, rng=1)[0]
    assert 1000 <= result.runs < 100_000
    assert 2.0 * result.stderr[-1] <= 0.05 * result.mean_regret
    costs = [failure_cost(prior.problem(prior.examples, i), 500) for i in range(1024)]
    assert failure_cost(prior, 500) == pytest.approx(np.mean(costs))
    assert failure_cost(ocucb.prior(MIXED), 500) == pytest.approx(500 * 0.6)


def test_runs_are_plain_and_say_why():
    prior = PRIORS["normal"]
    with pytest.warns(UserWarning, match="without tilting: each run has a problem of its own"):
        result = ocucb.simulate("ocucb", prior, 100, 300, rng=1, sampling="tilted")
    assert result[0].sampling == "plain"
    assert same(result, ocucb.simulate("ocucb", prior, 100, 300, rng=1))


def test_engines_are_chosen_for_a_typical_problem():
    assert PRIORS["list"].typical.arms == 2
    assert PRIORS["list"].typical.means == pytest.approx([0.0, -0.65])
    assert PRIORS["headlines"].typical.arms == 4
    for name, engine in (("normal", "skip"), ("uniform rewards", "step")):
        chosen = choose_engine(parse_policy("ocucb"), PRIORS[name].typical, 10_000, "auto")
        assert chosen.name == engine
        assert ocucb.simulate("ocucb", PRIORS[name], 10_000, 2, rng=1)[0].engine == engine
    with pytest.warns(UserWarning, match="runs on the step engine"):
        ocucb.simulate("ocucb", PRIORS["uniform rewards"], 100, 2, engine="skip")


def test_policies_are_told_the_sigma_of_the_problem_they_play():
    """Rewards in other units, problem by problem: the same arms are played."""
    small = [ocucb.gaussian([0.0, -0.3]), ocucb.gaussian([0.0, -0.3])]
    mixed = [small[0], ocucb.gaussian([0.0, -3.0], sigma=10.0)]
    pulls = []
    for problems in (small, mixed):
        spec = specification("ocucb", ocucb.prior(problems), 400, "step")
        vars(spec)["_key"] = np.array([1, 2], np.uint64)  # of rewards: the same for both
        pulls.append(spec.outcome(0, 50).pulls)
    assert (pulls[0] == pulls[1]).all()
    assert ocucb.prior(mixed).sigma == 5.5
    assert PRIORS["scales"].problems(1, rng=1)[0].sigma == max(
        PRIORS["scales"].problems(1, rng=1)[0].scales
    )


# On the command line, and in the league.


def test_the_command_line_takes_a_prior():
    done = invoke("simulate", "-p", "ucb", "--prior", "normal:K=3,sd=2", "-n", "50", "-r", "100")
    assert done.exit_code == 0
    assert "prior normal:K=3,mean=0,sd=2, gaussian rewards" in done.stdout
    words = ("simulate", "-p", "ucb", "--prior", "headlines", "-n", "50", "-r", "20", "--seed", "1")
    done = invoke(*words, "--json")
    (found,) = json.loads(done.stdout)
    assert len(found["mean_pulls"]) == 8
    for more in (("--means", "0,1"), ("--problem", "gap"), ("--sigma", "2")):
        done = invoke(*words, *more)
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"{more[0]} does not go with --prior" in done.stderr
    done = invoke(*words, "--rewards", "uniform")
    assert "--rewards uniform does not go with --prior headlines" in done.stderr
    done = invoke("simulate", "--prior", "normal", "-n", "50")
    assert "needs the number of arms, for example K=10" in done.stderr
    done = invoke("simulate", "--prior", "normal:K=2")
    assert "--horizon is missing" in done.stderr


def test_the_league_plays_a_prior(monkeypatch, tmp_path):
    contests = [
        league.Contest("tests", "clicks", "headlines", ((ocucb.prior("headlines"), 2000),)),
        league.Contest(
            "spread", "normal means", "normal means, worst sd",
            tuple((ocucb.prior("normal", K=3, sd=sd), 300) for sd in (0.1, 0.3)),
        ),
    ]  # fmt: skip
    for contest in contests:
        monkeypatch.setitem(league.CONTESTS, contest.name, contest)
    only = [ocucb.OCUCB(), ocucb.UCB()]
    for runs in (None, 64):
        out = tmp_path / str(runs)
        done = league.play_league(["tests", "spread"], out, only=only, runs=runs, workers=1)
        assert not done.failures
        found = done.standings
        assert {contest.name for contest in found.contests} == {"tests", "spread"}
        assert all(row.complete for row in found.table(found.contests))
        rows = (out / "cells.csv").read_text().splitlines()
        assert len(rows) == 1 + 2 * 3
        assert all(",plain," in row for row in rows[1:])
        assert "prior normal:K=3,mean=0,sd=0.1" in "".join(rows)
    level = disaster_level(ocucb.prior("normal", K=3), 300)
    assert level == pytest.approx(3.0 * sqrt(3 * 300))
    assert disaster_level(ocucb.prior("normal", K=3, sd=0.01), 300) == math.inf
    rare = ocucb.prior("normal", K=3, sd=0.12)  # only in its harder problems
    assert disaster_level(rare.typical, 300) == math.inf
    assert disaster_level(rare, 300) == pytest.approx(level)
    rate = ocucb.prior("headlines").typical.means[0]
    many = disaster_level(ocucb.prior("headlines"), 10**6)
    assert many == pytest.approx(3.0 * sqrt(rate * (1 - rate)) * sqrt(4 * 10**6))


# Mistakes.


def unfinished(means, stream):
    means[0] = 0.0


def too_long(means, stream):
    means[means.size] = 0.0


def too_large(means, stream):
    for i in range(means.size):
        means[i] = 2.0 * uniform(stream)


def raising(means, stream):
    raise ValueError("no luck today")


def backwards(stream, means):
    means[0] = 0.0


def unset(means, stream, spread):
    means[:] = spread


def negative(means, scales, stream):
    means[:] = 0.0
    scales[:] = -1.0


def foreign(means, stream):
    means[:] = np.random.standard_normal(means.size)


def wordy(means, stream):
    means[:] = "a"


def problem_of(kind, **more):
    return lambda: ocucb.simulate("ucb", ocucb.prior(kind, **more), 10, 2)


GAP = ocucb.gap()
MISTAKES = [
    (problem_of("normal"), ValueError, "the prior 'normal' needs the number of arms.*K=10"),
    (problem_of("gauss", K=2), ValueError, "unknown prior 'gauss'; choose from normal, beta, head"),
    (problem_of("normal", K=2, a=1), ValueError, "has no parameter 'a'; it has K, mean, sd, sigma"),
    (problem_of("normal:K=2", K=3), ValueError, "K is given twice"),
    (problem_of("normal:K=2,sd=1", sd=3), ValueError, "sd is given twice"),
    (problem_of("normal:K=2,sigma=1", sigma=3), ValueError, "sigma is given twice"),
    (problem_of("normal", K=0), ValueError, "K must be at least 1, got 0"),
    (problem_of("normal", K=2.5), ValueError, "K must be a whole number"),
    (problem_of("normal", K=10**9), ValueError, "K must be at most"),
    (problem_of("normal", K=2, sd=0.0), ValueError, "sd must be greater than 0, got 0"),
    (problem_of("normal", K=2, mean=math.nan), ValueError, "mean must be finite"),
    (problem_of("normal", K=2, mean=1e200), ValueError, "must lie between -1e.100 and 1e.100"),
    (problem_of("normal", K=2, sigma=-1.0), ValueError, "sigma must be greater than 0"),
    (problem_of("beta", K=2, a=-1), ValueError, "a must be greater than 0, got -1"),
    (problem_of("beta", K=2, sigma=1.0), ValueError, "sigma does not apply to bernoulli"),
    (problem_of("beta", K=2, rewards="gaussian"), ValueError, "'beta' has its own kind"),
    (problem_of(one_good), ValueError, "needs the number of arms"),
    (problem_of(one_good, K=2, rewards="poisson"), ValueError, "unknown kind of reward 'poisson'"),
    (problem_of(one_good, K=2, rewards="bernoulli"), ValueError, "drew -0.5 as the mean of arm"),
    (problem_of(unset, K=2), ValueError, "needs its parameter spread"),
    (problem_of(backwards, K=2), TypeError, "must take the arguments means, stream or means, sc"),
    (problem_of(unfinished, K=2), ValueError, "drew nan as the mean of arm 2 in run 0"),
    (problem_of(too_long, K=2), ValueError, "beyond the end of an array; means has 2 numbers"),
    (problem_of(too_large, K=2, rewards="bernoulli"), ValueError, "must lie between 0 and 1"),
    (problem_of(too_large, K=2, rewards="beta"), ValueError, "must lie strictly between 0 and 1"),
    (problem_of(GAP), TypeError, "a prior needs a list of problems, even of one"),
    (
        problem_of([ocucb.empirical([[0, 0.5], [1, 0.2]])]),
        ValueError,
        "depend on an arm's mean alone",
    ),
    (problem_of(raising, K=2), ValueError, "could not draw a problem: no luck today"),
    (problem_of(negative, K=2), ValueError, "drew -1 as the scale of arm 1 in run 0"),
    (problem_of(negative, K=2, rewards="uniform"), ValueError, "scales can be drawn for Gaussian"),
    (problem_of(foreign, K=2), ValueError, "foreign must draw from ocucb.random"),
    (problem_of(wordy, K=2), TypeError, "prior wordy:K=2 cannot be compiled"),
    (problem_of([]), TypeError, "a name such as 'normal', a function or a list of problems, got"),
    (problem_of([GAP, 3]), TypeError, "a list of problems, got 3"),
    (problem_of(5), TypeError, "a list of problems, got 5"),
    (problem_of([GAP], K=2), ValueError, "K is for functions and names"),
    (
        problem_of([GAP, ocucb.bernoulli([0.5])]),
        ValueError,
        "one kind of reward, got bernoulli and",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), MISTAKES)
def test_mistakes_are_one_sentence(call, error, text):
    with pytest.raises(error, match=text) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_rewards_of_0_and_1_are_needed_where_they_are_for_a_problem():
    with pytest.raises(ValueError, match="plays Bernoulli rewards only"):
        ocucb.simulate("beta-thompson", PRIORS["normal"], 10, 2)


def test_means_so_large_that_rounding_decides_are_refused():
    huge = ocucb.prior("normal", K=2, mean=1e15)
    with pytest.raises(ValueError, match="rounding swamps the noise"):
        ocucb.simulate("ucb", huge, 1000, 2, engine="step")


def test_a_function_has_one_meaning():
    width = np.array([0.5])

    def spread_out(means, stream):
        for i in range(means.size):
            means[i] = width[0] * i

    prior = ocucb.prior(spread_out, K=2)
    first = ocucb.simulate("ucb", prior, 2, 5, rng=1)[0]
    assert (first.sample == 0.5).all()
    width[0] = 1.0
    with pytest.raises(ValueError, match="reads a value that has changed"):
        ocucb.simulate("ucb", prior, 2, 5, rng=1)


def test_a_function_that_cannot_be_described_is_taken_anew_each_time(tmp_path):
    import numba
    from numba.experimental import jitclass

    @jitclass([("width", numba.float64)])
    class Holder:
        def __init__(self):
            self.width = 1.0

    def strange(means, stream):
        for i in range(means.size):
            means[i] = Holder().width * normal(stream)

    prior = ocucb.prior(strange, K=2)
    with pytest.warns(UserWarning, match="gives other numbers each time"):
        first = ocucb.simulate("ucb", prior, 2, 20, rng=1)[0]
    with pytest.warns(UserWarning, match="gives other numbers each time"):
        again = ocucb.simulate("ucb", prior, 2, 20, rng=1)[0]
    assert not (first.sample == again.sample).any()
    with (
        pytest.warns(UserWarning, match="gives other numbers each time"),
        pytest.raises(ValueError, match="a store cannot tell"),
    ):
        ocucb.simulate("ucb", prior, 2, 20, rng=1, store=tmp_path / "a.db")


def test_bounds_that_a_policy_may_know_are_part_of_a_prior():
    def coin(mean, scale, stream):
        return 1.0 if uniform(stream) < mean else 0.0

    known = ocucb.custom_rewards(coin, [0.3, 0.2], bounds=(0, 1))
    unknown = ocucb.custom_rewards(coin, [0.3, 0.2], sigma=0.5)
    assert ocucb.prior([known]).identity != ocucb.prior([unknown]).identity
    with pytest.raises(ValueError, match="rewards with the same bounds"):
        ocucb.prior([known, unknown])
