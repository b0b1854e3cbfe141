"""Plans: the classical test in closed form, and how many visitors a wanted certainty takes."""

from __future__ import annotations

import itertools
import json
import math

import pytest
from scipy import stats

import ocucb
from helpers import ROOT, agree, invoke
from ocucb.league import advice, problems, standings, tables
from ocucb.league.recommended import NAMES, recommended
from ocucb.planning.classical import equal_shares, visitors

SETTINGS = [
    ocucb.gaussian([0.0, -0.4, -0.4, -1.0], sigma=[1.0, 2.0, 2.0, 0.5]),
    ocucb.bernoulli([0.5, 0.3, 0.3]),
]


def by_hand(problem: ocucb.Problem, m: int) -> tuple[float, float]:
    """Return the chance of a mistake on rewards of 0 and 1, and its cost: all sums of all arms."""
    wrong = lost = 0.0
    for sums in itertools.product(range(m + 1), repeat=problem.arms):
        chance = math.prod(
            stats.binom.pmf(k, m, p) for k, p in zip(sums, problem.means, strict=True)
        )
        gaps = [gap for k, gap in zip(sums, problem.gaps, strict=True) if k == max(sums)]
        wrong += chance * sum(gap > 0 for gap in gaps) / len(gaps)
        lost += chance * sum(gaps) / len(gaps)
    return wrong, lost


def test_equal_shares_of_clicks_by_enumeration():
    problem = ocucb.bernoulli([0.5, 0.3, 0.3])
    for m in (1, 2, 9):
        found = equal_shares(problem, 3 * m + 1)  # a share is rounded down
        assert (found.wrong, found.simple_regret) == pytest.approx(by_hand(problem, m), rel=1e-9)
        assert found.regret == pytest.approx((3 * m + 1) * 0.4 / 3)


@pytest.mark.parametrize("problem", SETTINGS)
def test_equal_shares_as_simulated(problem):
    m = 20
    n = m * problem.arms
    one = ocucb.simulate(f"explore-then-commit:m={m}", problem, n, 20_000, rng=1)[0]
    found = equal_shares(problem, n)
    assert agree(one.wrong, found.wrong)
    assert agree(one.simple_regret, found.simple_regret)
    assert one.mean_regret == pytest.approx(found.regret)


def test_visitors_of_equal_shares_are_the_fewest():
    for problem in SETTINGS:
        n = visitors(problem, 0.1)
        assert equal_shares(problem, n).wrong <= 0.1
        assert equal_shares(problem, n - problem.arms).wrong > 0.1
    # the textbook's: a normal quantile, times sigma sqrt(2), over the gap, squared
    quantile = float(stats.norm.isf(0.05))
    n = visitors(ocucb.gap(2, 0.1), 0.05)
    assert abs(n / 2 - (quantile * math.sqrt(2) / 0.1) ** 2) <= 1


def test_the_number_of_visitors_is_right():
    """At the number that a plan gives, fresh runs make as many mistakes as were allowed."""
    plan = ocucb.plan(ocucb.gap(2, 0.5), policy="ucb", certainty=0.9, rng=1)
    assert plan.visitors is not None
    assert plan.regret is not None
    assert 2 * plan.visitors.stderr < 0.025 * plan.visitors.value
    n = round(plan.visitors.value)
    one = ocucb.simulate("ucb", ocucb.gap(2, 0.5), n, 60_000, rng=7)[0]
    # an error of 2% in visitors is one of 0.3% in probability; n is whole
    assert abs(one.wrong.value - 0.1) < 0.006
    assert plan.regret.value == pytest.approx(one.mean_regret, rel=0.03)
    assert plan.visitors.value > plan.equal_visitors
    for point in plan.points:
        assert 2 * point.wrong.stderr <= 0.021
        assert 2 * point.regret.stderr <= 0.021 * point.regret.value
    errors = [point.wrong.value for point in plan.points]
    assert errors[0] > 0.1 > errors[-1]


def test_a_number_out_of_reach_is_said_to_be():
    plan = ocucb.plan(ocucb.gap(2, 0.5), policy="uniform", horizon=[10, 20], rng=1)
    assert (plan.visitors, plan.regret) == (None, None)
    assert "takes more than 20 visitors" in plan.table()
    assert [point.horizon for point in plan.points] == [10, 20]
    assert json.loads(json.dumps(plan.to_dict(), allow_nan=False))["visitors"] is None


def test_rules_to_stop_have_columns():
    plan = ocucb.plan(ocucb.gap(2, 2.0), policy="lucb", horizon=[200], rng=1)
    point = plan.points[0]
    assert point.stopped.value > 0.9
    assert point.stopping_time.value < 200
    assert "stopped" in plan.table().splitlines()[0]


def test_the_command_line(tmp_path):
    picture = tmp_path / "plan.png"
    options = "--arms 2 --rate 30% --lift 50% --certainty 0.8 --precision 5% --seed 1"
    done = invoke("plan", *options.split(), "--json", "--plot", str(picture))
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    plan = ocucb.plan(arms=2, rate=0.3, lift=0.5, certainty=0.8, precision=0.05, rng=1)
    assert found == json.loads(json.dumps(plan.to_dict()))
    assert found["policy"].startswith("kl-ocucb")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "specify what to tell apart"),
        ("--arms 2 --rate 3%", "all of arms, rate and lift"),
        ("--arms 2 --rate 3% --lift 10% --means 0,1", "do not go with --means"),
        ("--arms 2 --rate 60% --lift 100%", "at most 0.667"),
        ("--means 1,1,0", "one arm must be better"),
        ("--means 1,0 --certainty 40%", "certainty must lie between 0.5"),
        ("--means 1,0 --policy nobody", "unknown policy"),
        ("--means 1,0 --horizon 1", "horizon"),
    ],
)
def test_mistakes_are_one_sentence(options, words):
    done = invoke("plan", *options.split())
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_recommended_is_what_the_league_advises():
    """By the data of the documentation: the pick, or one that is not significantly worse."""
    folder = ROOT / "tests" / "data" / "league"
    players = tables.read_players(folder / "policies.csv")
    cells = {cell.key: cell for cell in tables.read_cells(folder / "cells.csv")}
    found = advice.advise(standings.Standings(players, [*problems.CONTESTS.values()], cells))
    starts = {
        "gaussian": ("Gaussian rewards, up to", "Gaussian rewards, more than"),
        "unequal": ("Variances unknown",),
        "clicks": ("Clicks, horizon", "Tests of headlines"),
        "ratings": ("Ratings",),
    }
    assert set(starts) == set(NAMES) == set(problems.KINDS)
    checked = 0
    for kind, places in starts.items():
        label = ocucb.parse_policy(NAMES[kind]).label
        for line in found:
            if line.situation.startswith(places) and "horizon unknown" not in line.situation:
                assert label in (line.pick.player.label, *line.equals), line.situation
                checked += 1
    assert checked >= 6
    assert recommended(ocucb.gap(2, 0.3)).family.name == "ocucb"
    assert recommended(ocucb.beta_rewards([0.5, 0.4])).family.name == NAMES["ratings"]
    assert recommended(SETTINGS[0]).family.name == NAMES["unequal"]
