"""`tune` finds the best parameters, says what they gain, and does not believe in its own luck."""

from __future__ import annotations

import csv
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import ocucb
from helpers import run
from ocucb.policies import Policy
from ocucb.policies._decorators import at_least, between, whole_from
from ocucb.random import uniform
from ocucb.results import Estimate
from ocucb.tuning import Gain, TuningInterrupted
from ocucb.tuning.entry import _contender
from ocucb.tuning.laboratory import Bar, Laboratory
from ocucb.tuning.objective import Objective, combined_logs, score
from ocucb.tuning.space import Axis, space_of, spread
from ocucb.tuning.surface import fitted

ROUNDS = 40
TWO, THREE = ocucb.gaussian([0.0, -1.0]), ocucb.gaussian([0.0, -1.0, -1.0])


@ocucb.choice_policy(valid={"c": at_least(0.01)})
def careless(t, horizon, pulls, sums, sigma, memory, stream, c=1.0, slope=0.3):
    """Play the last arm by mistake: most rarely at c = 2 with two arms, and at c = 8 with three."""
    best = 2.0 if pulls.size == 2 else 8.0
    share = 0.1 + slope * math.log(c / best) ** 2
    return pulls.size - 1 if uniform(stream) < share else 0


def careless_regret(policy, arms=2, rounds=ROUNDS):
    """Return the exact mean regret of `careless` with gaps of 1."""
    c, slope = policy.values
    share = min(1.0, 0.1 + slope * math.log(c / (2.0 if arms == 2 else 8.0)) ** 2)
    return arms - 1 + (rounds - arms) * share


def commit_regret(m, gap, horizon):
    """Return the exact mean regret of explore-then-commit on two arms with sigma 1."""
    return gap * (m + (horizon - 2 * m) * stats.norm.cdf(-gap * math.sqrt(m / 2.0)))


# What is found


def test_a_whole_number_whose_optimum_is_known():
    """Two standard errors of the final are 2% of the regret, so 4% more is found in most seeds."""
    gap, horizon = 0.7, 300
    result = ocucb.tune("explore-then-commit", ocucb.gap(K=2, gap=gap), horizon, runs=40_000, rng=1)
    exact = [commit_regret(m, gap, horizon) for m in range(1, 81)]
    assert result.parameters["m"].is_integer()
    assert exact[int(result.parameters["m"]) - 1] < 1.04 * min(exact)
    assert result.gain.low > 0.05
    m = int(result.parameters["m"])
    true = 1.0 - exact[m - 1] / commit_regret(10, gap, horizon)
    assert result.gain.low < true < result.gain.high


def test_a_users_constant_with_a_known_optimum():
    result = ocucb.tune(careless, TWO, ROUNDS, runs=20_000, rng=1)
    best = careless_regret(careless(c=2))
    assert careless_regret(result.best) < 1.02 * best
    assert 1.5 < result.parameters["c"] < 2.7
    (one,) = result.contenders
    assert abs(one.value.value - careless_regret(one.policy)) < 4 * one.value.stderr
    assert abs(one.start_value.value - careless_regret(one.start)) < 4 * one.start_value.stderr
    assert result.line == repr(result.best)  # a user's policy is not in ocucb
    assert "command line" not in result.table()


def test_parameters_without_a_range_keep_their_values():
    start = careless(slope=0.2)
    result = ocucb.tune(start, TWO, ROUNDS, runs=5000, ranges={"c": (0.5, 4)}, rng=1)
    assert result.parameters["slope"] == 0.2
    assert {trial.policy.parameters["slope"] for trial in result.trials} == {0.2}
    tried = [trial.policy.parameters["c"] for trial in result.trials]
    assert min(tried) >= 0.5
    assert max(tried) <= 4


def test_a_start_outside_the_range_does_not_win():
    result = ocucb.tune(careless(c=2.0), TWO, ROUNDS, runs=5000, ranges={"c": (4, 9)}, rng=1)
    assert 4.0 <= result.parameters["c"] < 5.0
    assert result.gain.high < 0.0
    assert "is worse than" in result.table()
    assert "c = 4 is at the end of its range" in result.table() or result.parameters["c"] > 4.0


def test_gambling_is_seen_through():
    """With few plain runs OCUCB(alpha=1) often looks as good as OCUCB, but has 4 times its regret.

    The best of a fine grid, measured with 40,000 tilted runs, has a mean regret of 19.9.
    """
    problem = ocucb.gap(K=2, gap=0.3)
    result = ocucb.tune("ocucb", problem, 10_000, runs=20_000, rng=3)
    assert 2.2 < result.parameters["alpha"] < 4.5
    again = ocucb.simulate(result.best, problem, 10_000, 20_000, rng=1, sampling="tilted")[0]
    assert again.mean_regret < 1.04 * 19.9
    assert result.winner.value.stderr < 0.2  # 4,000 plain runs leave more than 1


def test_several_policies_and_problems():
    problems = [ocucb.gap(K=2, gap=0.5), ocucb.gap(K=3, gap=1.0)]
    result = ocucb.tune(["ucb", "moss"], problems, 300, runs=5000, rng=1)
    assert [contender.start.family.name for contender in result.contenders] == ["ucb", "moss"]
    assert result["moss"] is result[1]
    assert result.winner.policy == result.best
    assert result.line.startswith(("ocucb.UCB(constant=", "ocucb.MOSS(constant="))
    one = result["ucb"]
    assert one.value.value == pytest.approx(np.mean([value for value, _ in one.values]))
    lines = result.table().splitlines()
    assert lines[0].split("  ")[-1].strip() == "gap:K=3,gap=1"
    assert len([line for line in lines if line.startswith(("UCB", "MOSS"))]) == 6
    with pytest.raises(KeyError, match="choose from"):
        result["greedy"]


# Honesty


def outcomes(start, seeds, exact):
    """Tune many times; return gains with the exact one of what was found."""
    found = []
    for seed in range(seeds):
        result = ocucb.tune(start, TWO, ROUNDS, runs=2000, ranges={"c": (0.5, 8)}, rng=seed)
        one = result[0]
        found.append((one, 1.0 - exact(one.policy) / exact(one.start)))
    return found


def test_the_interval_of_the_gain_covers():
    """Of 60 intervals with a coverage of 95%, 10 or more miss with probability 0.03%."""
    missed = 0
    for one, true in outcomes(careless(), 60, careless_regret):
        missed += not one.gain.low <= true <= one.gain.high
        assert one.gain.low > 0.0
    assert missed < 10


def test_a_parameter_that_does_not_matter_gains_nothing():
    """A winner that is judged by the runs that made it the winner would gain 2% on average.

    Here the mean gain is 0 ± 0.3%, so it is above four standard errors once in 30,000 times. Of 60
    intervals, 10 or more leave out 0 with probability 0.03%.
    """
    found = [one for one, _ in outcomes(careless(slope=0.0), 60, careless_regret)]
    gains = np.array([tuned.gain.value for tuned in found if tuned.policy != tuned.start])
    assert len(gains) > 20
    assert abs(gains.mean()) < 4.0 * gains.std(ddof=1) / math.sqrt(gains.size)
    assert gains.std() < 0.03  # or the line above would prove nothing
    assert sum(tuned.gain.distinguishable for tuned in found) < 10


def test_the_best_start_is_not_beaten():
    result = ocucb.tune(careless(c=2.0), TWO, ROUNDS, runs=10_000, ranges={"c": (1, 4)}, rng=1)
    text = result.table()
    assert not result.gain.low > 0.0
    assert "not distinguishable from" in text or "Nothing better than" in text


def test_what_is_measured_again_is_measured_with_other_random_numbers():
    result = ocucb.tune("ucb", TWO, ROUNDS, runs=4000, rng=1)
    fresh = {t.policy: t for t in result.trials if t.stage == "fresh"}
    assert set(fresh) == {result.best, ocucb.UCB()}
    for policy, trial in fresh.items():
        assert trial.runs == 800
        others = [t for t in result.trials if t.policy == policy and t is not trial]
        assert others
        assert all(t.values != trial.values for t in others)


def test_no_two_measurements_share_a_seed(monkeypatch):
    """For the worst ratio: a search on each problem alone, one on both, and fresh runs."""
    measurements, original = [], Laboratory.measure
    seeds, simulate = [], ocucb.tuning.laboratory.simulate

    def measure(self, *arguments):
        seeds.clear()
        trials = original(self, *arguments)
        (seed,) = set(seeds)  # the problems of a measurement share it
        measurements.append(seed)
        return trials

    def noted(*arguments, **more):
        seeds.append(more["rng"])
        return simulate(*arguments, **more)

    monkeypatch.setattr(Laboratory, "measure", measure)
    monkeypatch.setattr(ocucb.tuning.laboratory, "simulate", noted)
    ocucb.tune("ucb", [TWO, THREE], ROUNDS, runs=2000, objective="worst", rng=1)
    assert len(measurements) >= 3 * 5 + 1
    assert len(set(measurements)) == len(measurements)


def test_a_rare_failure_does_not_bias_a_fit():
    """Means over 100 runs, of which 1% fail and cost 100 times as much: their mean is 1.99.

    The mean of their logarithms is that of 1.78. The fit's average is 1.99 ± 0.01 (one standard
    error), apart from a small bias because it is a ratio.
    """
    rng = np.random.default_rng(1)
    places, runs = np.linspace(0.0, 1.0, 25)[:, None], np.full(25, 100.0)
    heights, logs = [], []
    for _ in range(400):
        values = 1.0 + 99.0 * rng.binomial(100, 0.01, 25) / 100.0
        surface = fitted(places, values, runs, np.array([0.5]), 0.5)
        heights.append(float(np.exp(surface.at(places)).mean()))
        logs.append(float(np.log(values).mean()))
    assert abs(np.mean(heights) - 1.99) < 0.06
    assert np.exp(np.mean(logs)) < 1.85


def test_a_fit_finds_a_quadratic_and_its_error():
    rng = np.random.default_rng(2)
    places = spread(200, 2)
    logs = 1.0 + 2.0 * (places[:, 0] - 0.4) ** 2 + (places[:, 1] - 0.7) ** 2 - places.prod(axis=1)
    exact = fitted(places, np.exp(logs), np.ones(200), np.array([0.5, 0.5]), 0.5)
    assert exact.at(places) == pytest.approx(logs, abs=1e-6)
    here, runs = np.array([[0.45, 0.6]]), rng.choice([100.0, 1600.0], 200)
    estimates, errors = [], []
    for _ in range(1000):
        noisy = np.exp(logs) * (1.0 + rng.normal(0.0, 1.0, 200) / np.sqrt(runs))
        surface = fitted(places, noisy, runs, np.array([0.5, 0.5]), 0.4)
        estimates.append(float(surface.at(here)[0]))
        errors.append(float(surface.errors(here)[0]))
    # the deviation of 1000 estimates is known to 2.2%
    assert np.std(estimates) == pytest.approx(np.mean(errors), rel=0.09)


# What is minimised


def laboratory(problems, level=None):
    return Laboratory(problems, 100, 1, level, "auto", 1, None, Bar(False))


def test_the_mean_of_the_worst_runs():
    """Against raw regrets, of fewer runs than are tilted."""
    (trial,) = laboratory([TWO], level=0.9).measure([ocucb.UCB()], 190, "race")
    seed = np.random.SeedSequence((1, 1)).generate_state(1, np.uint64)[0]
    raw = ocucb.simulate("ucb", TWO, 100, 190, rng=int(seed), checkpoints=[100])[0].sample
    worst = np.sort(raw)[-19:]
    assert trial.values[0].value == pytest.approx(worst.mean(), rel=0.02)
    (mean,) = laboratory([TWO]).measure([ocucb.UCB()], 190, "race")
    assert mean.values[0].value == pytest.approx(raw.mean())
    # failures that so few plain runs cannot show are in the error bar
    assert mean.values[0].stderr > raw.std(ddof=1) / math.sqrt(190)


def test_cvar_prefers_safety():
    """OCUCB with the best alpha for the mean fails too often for the worst 1% of the runs."""
    problem, calls = ocucb.gap(K=2, gap=0.5), {"ranges": {"alpha": (0.5, 10)}, "rng": 1}
    mean = ocucb.tune("ocucb", problem, 1000, 20_000, **calls)
    tail = ocucb.tune("ocucb", problem, 1000, 20_000, objective="cvar", level=0.99, **calls)
    assert tail.parameters["alpha"] > 1.2 * mean.parameters["alpha"]
    assert tail.measure == "mean regret of the worst 1%"
    assert "mean regret of the worst 1%" in tail.table()


def test_combining_problems_by_hand():
    values = [Estimate(2.0, 0.1), Estimate(6.0, 0.3)]
    assert score(values) == (4.0, pytest.approx(math.hypot(0.1, 0.3) / 2))
    assert score(values, np.log([1.0, 4.0])) == pytest.approx((2.0, 0.1))
    a, b, c = ocucb.UCB(1), ocucb.UCB(2), ocucb.UCB(3)
    measured = {
        (a, 0): Estimate(2.0, 0.1), (a, 1): Estimate(6.0, 0.3),
        (b, 0): Estimate(3.0, 0.2), (b, 1): Estimate(5.0, 0.1),
        (c, 1): Estimate(4.0, 0.2),
    }  # fmt: skip
    mean = Objective("mean", 2)
    assert mean.estimate(a, measured) == pytest.approx(score(values))
    worst = Objective("worst", 2, best=(a, c))
    # of a: 1 and 1.5; of b: 1.5 and 1.25
    assert worst.estimate(a, measured) == pytest.approx((1.5, 1.5 * math.hypot(0.05, 0.05)))
    assert worst.estimate(b, measured) == pytest.approx((1.5, 1.5 * math.hypot(0.2 / 3, 0.05)))
    ratio = worst.combined(b, measured) - worst.combined(a, measured)
    assert ratio.log == pytest.approx(0.0)
    parts = (0.2 / 3, 0.05, 0.05, 0.05)  # b and a on the first, a and c on the second
    assert ratio.error(measured) == pytest.approx(math.hypot(*parts))
    same = Objective("worst", 2, best=(a, a))
    assert same.estimate(a, measured) == (1.0, 0.0)  # whatever its errors: it is the best itself
    logs = np.log([[2.0, 6.0], [3.0, 5.0]])
    assert np.exp(combined_logs(logs)) == pytest.approx([4.0, 4.0])
    assert np.exp(combined_logs(logs, np.log([2.0, 4.0]))) == pytest.approx([1.5, 1.5])


def test_the_interval_is_two_standard_errors_of_the_logarithm():
    a, b = ocucb.UCB(1), ocucb.UCB(2)
    measured = {(a, 0): Estimate(3.0, 0.03), (b, 0): Estimate(4.0, 0.08)}
    one = _contender(a, space_of(b, None), Objective("mean", 1), measured)
    error = 2.0 * math.hypot(0.01, 0.02)
    ends = [1.0 - 0.75 * math.exp(move) for move in (0.0, error, -error)]
    assert one.gain == pytest.approx(ends)
    assert (one.value, one.start_value) == (pytest.approx((3.0, 0.03)), pytest.approx((4.0, 0.08)))


def test_the_worst_ratio_is_a_compromise():
    """Against a fine grid of exact regrets: c is best at 2 for one problem, at 8 for the other."""
    result = ocucb.tune(
        careless, [TWO, THREE], ROUNDS, runs=20_000, ranges={"c": (0.5, 30)},
        objective="worst", rng=1,
    )  # fmt: skip

    def ratio(c):
        policy = careless(c=c)
        return max(
            careless_regret(policy, arms) / careless_regret(careless(c=best), arms)
            for arms, best in ((2, 2.0), (3, 8.0))
        )

    least = min(map(ratio, np.geomspace(0.5, 30, 2000)))
    assert ratio(result.parameters["c"]) < 1.03 * least
    value = result.winner.value
    assert abs(value.value - ratio(result.parameters["c"])) < 4 * value.stderr + 0.02
    alone = [policy.parameters["c"] for policy in result.references]
    assert alone == pytest.approx([2.0, 8.0], rel=0.3)
    assert result.table().count("alone: careless(c=") == 2
    mean = ocucb.tune(careless, [TWO, THREE], ROUNDS, runs=5000, ranges={"c": (0.5, 30)}, rng=1)
    assert mean.references == ()


# The same bits


def test_workers_and_executors_do_not_matter():
    calls = {"runs": 4000, "objective": "worst", "rng": 5}
    results = [
        ocucb.tune("ocucb", [TWO, ocucb.gap(K=3)], 200, workers=workers, **calls)
        for workers in (1, 2)
    ]
    with ThreadPoolExecutor(2) as executor:
        results.append(ocucb.tune("ocucb", [TWO, ocucb.gap(K=3)], 200, executor=executor, **calls))
    first, *others = results
    for other in others:
        assert other.rows() == first.rows()
        assert other.to_json() == first.to_json()
        assert other.table() == first.table()
    different = ocucb.tune("ocucb", [TWO, ocucb.gap(K=3)], 200, runs=4000, rng=6)
    assert different.rows() != first.rows()


# Where is searched


def test_default_ranges():
    def ends(policy):
        return [(axis.low, axis.high) for axis in space_of(policy, None).axes]

    assert ends(ocucb.OCUCB()) == [(0.375, 24.0), (1.0, 16.0)]  # psi from 1 on
    assert ends(ocucb.EpsilonGreedy()) == [(0.0125, 0.8)]
    assert ends(ocucb.EpsilonGreedy(0.5)) == [(0.0625, 1.0)]
    assert ends(ocucb.KLUCB()) == [(0.0, 4.0)]  # around 0, and at least 0
    ((low, high),) = ends(Policy(ocucb.MOSSAnytime, (-0.5,)))  # above -1; a call would warn
    assert -1.0 < low < -0.9999
    assert high == -0.0625
    axis = space_of(ocucb.ExploreThenCommit(), None).axes[0]
    assert axis == Axis("m", 2.0, 80.0, whole=True)
    assert {axis.value(u) for u in np.linspace(0, 1, 2000)} == set(map(float, range(2, 81)))
    assert space_of(ocucb.ExploreThenCommit(1), None).axes[0] == Axis("m", 1.0, 8.0, whole=True)
    assert not space_of(ocucb.KLUCB(), None).axes[0].log


def test_values_have_three_digits_and_stay_in_range():
    space = space_of(ocucb.OCUCB(psi=7), {"alpha": (1.2345, 2)})
    policies = [space.policy(u) for u in spread(500, 1)]
    alphas = [policy.parameters["alpha"] for policy in policies]
    assert min(alphas) >= 1.2345
    assert max(alphas) <= 2.0
    assert all(a == float(f"{a:.3g}") for a in alphas if a > 1.2345)
    assert {policy.parameters["psi"] for policy in policies} == {7.0}
    for policy in policies:
        assert space.policy(space.place(policy)) == policy


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_points_are_spread_evenly(dimension):
    """Every box of a regular partition holds about its share, as random points would not."""
    points = spread(4**dimension * 8, dimension)
    boxes = np.unique((4 * points).astype(int), axis=0, return_counts=True)[1]
    assert boxes.size == 4**dimension
    assert boxes.min() >= 4
    assert boxes.max() <= 12


@pytest.mark.parametrize(
    ("policies", "more", "sentence"),
    [
        ("thompson", {}, "Thompson sampling has no parameters to tune."),
        (["ucb", "thompson"], {}, "Thompson sampling has no parameters to tune."),
        ("ucb", {"ranges": {"alpha": (1, 2)}}, "no policy has a parameter 'alpha'; they have"),
        (["ucb", "ocucb"], {"ranges": {"alpha": (1, 2)}}, "no range is for a parameter of UCB"),
        ("ocucb", {"ranges": {"psi": (0.5, 2)}}, "OCUCB's psi must be >= 1, but its range has 0.5"),
        ("ocucb", {"ranges": {"psi": (3, 2)}}, "range of psi must go from low to high"),
        ("ocucb", {"ranges": {"psi": (3, math.inf)}}, "range of psi must go from low to high"),
        ("ocucb", {"ranges": {"psi": 3}}, "range of psi must be two numbers, got 3"),
        ("ocucb", {"ranges": {"psi": "12"}}, "range of psi must be two numbers, got '12'"),
        ("ocucb", {"ranges": [1, 6]}, "ranges must be a dict such as"),
        ("explore-then-commit", {"ranges": {"m": (1.2, 2.9)}}, "must hold two whole numbers"),
        ("ucb", {"objective": "median"}, "unknown objective 'median'; choose from mean, worst"),
        ("ucb", {"objective": "cvar", "level": 1.0}, "level must be at least 0 and below 1, got 1"),
        ("ucb", {"runs": 100}, "runs must be at least 2000, got 100."),
        ("ucb", {"workers": 0}, "workers must be at least 1"),
        ("ucb", {"engine": "warp"}, "unknown engine 'warp'"),
        ("beta-thompson", {}, "no parameters to tune"),
    ],
)
def test_mistakes_are_one_sentence(policies, more, sentence):
    with pytest.raises((ValueError, TypeError), match=re.escape(sentence)) as caught:
        ocucb.tune(policies, TWO, ROUNDS, **more)
    assert "\n" not in str(caught.value)


def test_problems_that_cannot_be_tuned_for():
    with pytest.raises(TypeError, match="problem must be a Problem"):
        ocucb.tune("ucb", [TWO, 7], ROUNDS)
    with pytest.raises(ValueError, match="at least one problem"):
        ocucb.tune("ucb", [], ROUNDS)
    with pytest.raises(ValueError, match="has no regret on means 0: nothing to tune"):
        ocucb.tune("ucb", ocucb.gaussian([0.0]), ROUNDS)


def test_whole_numbers_are_declared():
    assert whole_from(1).whole
    assert not between(0, 1).whole


# What people see


def test_notes_say_where_the_winner_lies():
    problem = ocucb.gap(K=2, gap=0.5)
    result = ocucb.tune("ocucb", problem, 1000, 5000, ranges={"alpha": (4, 9)}, rng=1)
    assert result.parameters["alpha"] == 4.0
    assert "OCUCB's alpha = 4 is at the end of its range: a wider one" in result.table()
    free = ocucb.tune("ocucb", problem, 1000, 5000, ranges={"psi": (1, 1.001)}, rng=1)
    assert "at the end" not in free.table() or free.parameters["psi"] > 1.0  # nothing below 1
    assert "OCUCB's regret bound is proved for psi >= 2, not for 1" in free.table()


def test_files_and_pictures(tmp_path):
    from matplotlib.figure import Figure

    result = ocucb.tune("ocucb", TWO, ROUNDS, runs=3000, rng=1)
    result.to_csv(tmp_path / "trials.csv")
    with open(tmp_path / "trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(result.trials)
    assert list(rows[0]) == [
        *("policy", "alpha", "psi", "stage", "problem", "runs", "regret", "stderr", "objective")
    ]
    assert float(rows[3]["objective"]) == result.scores[3].value
    assert result.to_dataframe().shape == (len(rows), len(rows[0]))
    assert json.loads(result.to_json())["contenders"][0]["gain"]["low"] == result.gain.low
    figure = result.plot(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000
    assert [axes.get_xlabel() for axes in figure.axes][:1] == ["alpha"]
    own = Figure().add_subplot()
    assert result.plot(ax=own) is own.figure
    both = ocucb.tune(["ucb", "moss"], [TWO, THREE], ROUNDS, 2000, objective="worst", rng=1)
    assert len(both.plot().axes) == 2
    both.to_csv(tmp_path / "both.csv")
    (only,) = both.plot(ax=Figure().add_subplot()).axes
    assert only.get_ylabel() == "worst ratio"


def test_a_picture_of_three_parameters_is_refused():
    @ocucb.index_policy(unplayed_index="constant")
    def three(pulls, t, horizon, arms, a=1.0, b=1.0, c=1.0):
        return (a + b + c) / math.sqrt(pulls)

    result = ocucb.tune(three, TWO, ROUNDS, runs=4000, rng=1)
    with pytest.raises(ValueError, match="one or two parameters, but three was tuned in 3"):
        result.plot()


def test_gains():
    assert Gain(0.1, 0.05, 0.15).distinguishable
    assert Gain(-0.1, -0.15, -0.05).distinguishable
    assert not Gain(0.1, -0.05, 0.25).distinguishable
    assert not Gain(math.nan, math.nan, math.nan).distinguishable


# Ctrl-C, and the command line


@pytest.mark.parametrize("finished", [0, 1, 3, 5])
def test_control_c_leaves_what_is_known(finished, monkeypatch, tmp_path):
    """Two halves of the race, two boxes, the final, fresh runs: six measurements."""
    original, calls = Laboratory.measure, []

    def measure(self, *arguments):
        calls.append(arguments)
        if len(calls) > finished:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(Laboratory, "measure", measure)
    with pytest.raises(TuningInterrupted) as caught:
        ocucb.tune("ucb", TWO, ROUNDS, runs=2000, rng=1)
    result = caught.value.result
    if finished == 0:
        assert result is None
        return
    assert result.interrupted
    assert len({trial.runs for trial in result.trials}) <= finished
    assert "is the best so far, but was not measured again." in result.table()
    assert json.loads(result.to_json())["contenders"][0]["value"]["value"] is None
    result.to_csv(tmp_path / "trials.csv")
    result.plot(tmp_path / "curve.png")


def test_the_command(tmp_path):
    call = "tune -p ucb --means 0,-0.5 -n 200 -r 3000 --seed 1 --range constant=0.2:4".split()
    done = run(*call, "--csv", str(tmp_path / "a.csv"), "--plot", str(tmp_path / "a.png"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    expected = ocucb.tune(
        "ucb", ocucb.gaussian([0, -0.5]), 200, 3000, ranges={"constant": (0.2, 4)}, rng=1
    )
    assert done.stdout.strip() == expected.table()
    assert f"command line: -p {expected.command}" in done.stdout
    assert (tmp_path / "a.csv").read_text().startswith("policy,constant,stage")
    assert (tmp_path / "a.png").stat().st_size > 10_000
    again = run(*call, "--json")
    assert json.loads(again.stdout) == expected.to_dict()
    assert ocucb.parse_policy(expected.command) == expected.best


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--range", "alpha"], "--range must have the form alpha=1:6, got 'alpha'."),
        (["--range", "alpha=1:x"], "the range of alpha must be a number, got 'x'."),
        (["--range", "psi=1:2", "--range", "psi=2:3"], "--range names 'psi' twice."),
        (["--problem", "gap"], "specify the arms either with --means 0,-0.3 or with"),
        (["-p", "greedy"], "Greedy has no parameters to tune."),
    ],
)
def test_mistakes_on_the_command_line(more, sentence, here):
    status, out, err = here("tune", "--means", "0,-0.3", "-n", "100", *more)
    assert (status, out) == (2, "")
    assert err.startswith(f"Error: {sentence}")
    assert err.count("\n") == 1


# Priors, and a fine grid


def test_a_prior_is_tuned_for():
    """On a prior that is one problem, what is best there is best; error bars know of failures."""
    alone = ocucb.prior([TWO])
    result = ocucb.tune(careless, alone, ROUNDS, runs=20_000, rng=1)
    assert careless_regret(result.best) < 1.02 * careless_regret(careless(c=2))
    (one,) = result.contenders
    assert abs(one.value.value - careless_regret(one.policy)) < 4 * one.value.stderr
    assert one.value.stderr > 1.5 * ROUNDS / 4000  # one failure in 4,000 runs, half as much again
    both = ocucb.tune("ucb", [ocucb.prior("normal", K=3), TWO], 100, runs=4000, rng=1)
    assert both.problems == ["prior normal:K=3,mean=0,sd=1", TWO.name]


def test_a_prior_on_the_command_line():
    call = "tune -p ucb --prior normal:K=3 -n 100 -r 2000 --seed 1".split()
    done = run(*call)
    assert done.returncode == 0, done.stderr
    prior = ocucb.prior("normal", K=3)
    assert done.stdout.strip() == ocucb.tune("ucb", prior, 100, 2000, rng=1).table()


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [ocucb.gap(K=2, gap=0.3), ocucb.uniform_arms(K=5), ocucb.prior("normal", K=2)],
    ids=lambda problem: problem.name,
)
def test_a_fine_grid_is_not_much_better(problem):
    """At most 2% more regret than the best of 189 points, apart from three standard errors."""
    horizon, points = 5000, []
    for alpha in np.geomspace(0.375, 24.0, 27):
        points += [Policy(ocucb.OCUCB, (float(alpha), psi)) for psi in (1, 1.4, 2, 2.8, 4, 8, 16)]
    for runs, kept in ((1024, 24), (8192, 4), (65_536, 1)):
        found = ocucb.simulate(points, problem, horizon, runs, rng=runs, checkpoints=[horizon])
        points = [points[i] for i in np.argsort([result.mean_regret for result in found])[:kept]]
    tuned = ocucb.tune("ocucb", problem, horizon, rng=1)
    best, mine = ocucb.simulate([points[0], tuned.best], problem, horizon, 65_536, rng=2)
    error = math.hypot(*(result.stderr[-1] / result.mean_regret for result in (best, mine)))
    assert mine.mean_regret / best.mean_regret < 1.02 + 3.0 * error
