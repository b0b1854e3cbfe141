"""The league: advice that follows from numbers, honest runs, the same files however it went."""

from __future__ import annotations

import base64
import math
import re
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ocucb
from helpers import ROOT, invoke, killed_after, read_on_desk_and_phone
from ocucb.league import CONTESTS, Contest, load_policy, play_league
from ocucb.league import measure as measuring
from ocucb.league.advice import advise, answer, safe
from ocucb.league.entrants import origin, registered, suits
from ocucb.league.measure import BUDGET, RARE, Cell, Skipped, Task, make_task, read_cell
from ocucb.league.page import Report
from ocucb.league.problems import DISASTER, HEADLINES, KINDS, disaster_level, select
from ocucb.league.questions import (
    ALPHAS,
    GAPS,
    LONG,
    QUESTIONS,
    TOTALS,
    Cells,
    beyond,
    epochs,
    prices,
    restarted,
)
from ocucb.league.questions import ocucb as ocucb_with
from ocucb.league.report import write_report
from ocucb.league.standings import Player, Standings, by_mean
from ocucb.league.trial import needs_horizon
from ocucb.reports.estimates import Uncertain
from ocucb.reports.measure import whole_blocks
from ocucb.scheduler import Job, run_jobs


def test_problems_are_those_of_the_issue():
    assert 22 <= len(CONTESTS) <= 48
    assert {contest.kind for contest in CONTESTS.values()} == KINDS.keys()
    assert {contest.group for contest in CONTESTS.values()} == {
        "two arms",
        "many arms",
        "needle in a haystack",
        "uniform arms",
        "unbalanced",
        "clicks at 50%",
        "clicks at 2%",
        "headlines",
        "ratings",
        "unequal variances",
        "short horizon",
        "long horizon",
        "worst case over Δ",
    }
    names = [problem.name for contest in CONTESTS.values() for problem, _ in contest.instances]
    keys = {(p.name, n) for contest in CONTESTS.values() for p, n in contest.instances}
    assert len(keys) == len(names), "a cell is known by the problem's name and the horizon"
    for name in ("worst-2-1e3", "worst-2-1e5", "worst-10-1e4"):
        problems = [problem for problem, _ in CONTESTS[name].instances]
        n = CONTESTS[name].instances[0][1]
        unit = math.sqrt(problems[0].arms / n)
        assert [p.gaps.max() / unit for p in problems] == pytest.approx([1, 2, 4, 8, 16])
    with pytest.raises(ValueError, match="no problem is called 'three'; choose from two-easy"):
        select(["three"])


def test_who_plays_what():
    everybody = {policy.family.name: policy for policy in registered()}
    absent = ocucb.policies.FAMILIES.keys() - everybody.keys()
    assert absent == {
        *("ucb1", "softmax", "gradient", "optimistic", "decaying-epsilon", "exp3"),  # textbooks'
        *("successive-elimination", "lucb", "top-two-thompson"),  # not made for regret
    }
    gaussian, clicks, ratings = CONTESTS["two"], CONTESTS["rare-2"], CONTESTS["ratings-2"]
    normal = {"ocucb-normal", "normal-thompson"}
    for policy in everybody.values():
        assert suits(policy, clicks) == (policy.family.name not in normal)
        assert suits(policy, ratings) == (not policy.family.binary)
    assert suits(everybody["ocucb"], gaussian)
    assert suits(everybody["ocucb-normal"], CONTESTS["noisy-2"])
    assert not suits(everybody["bernoulli-gittins"], gaussian)
    # Gaussian rewards make these MOSS, AOCUCB, AdaUCB and OCUCB, which play already
    for one, same in (
        ("kl-moss", "moss"),
        ("kl-ucb-h-plus", "aocucb"),
        ("kl-adaucb", "adaucb"),
        ("kl-ocucb", "ocucb"),
    ):
        assert not suits(everybody[one], gaussian)
        state = {"pulls": 7, "t": 300, "horizon": 1000, "arms": 3}
        assert everybody[one].bonus(**state) == pytest.approx(everybody[same].bonus(**state))


def test_gittins_for_clicks_plays_several_problems():
    gittins, clicks = (
        ocucb.BernoulliGittins(),
        [contest for contest in CONTESTS.values() if contest.kind == "clicks"],
    )
    long = [contest for contest in clicks if not contest.short]
    assert len(clicks) - len(long) >= 4
    for contest in long:
        for instance in contest.instances:
            assert isinstance(make_task("", gittins, *instance, 1), Skipped)
    assert isinstance(make_task("", gittins, *CONTESTS["half-short"].instances[0], 1), Task)


def test_every_policy_says_where_its_parameters_come_from():
    found = {policy.family.name: origin(policy) for policy in registered()}
    assert set(found.values()) == {"theorem", "paper", "ours", "–"}
    assert {policy.family.name for policy in registered() if not policy.parameters} == {
        name for name, where in found.items() if where == "–"
    }
    assert (found["ocucb-n"], found["mots"], found["moss"]) == ("ours", "theorem", "paper")


def test_horizon_is_needed_by_those_who_play_otherwise_without_it():
    problem = ocucb.gap(10, 0.3)
    for name, needed in (("ocucb", True), ("moss", True), ("ucb", False), ("thompson", False)):
        assert needs_horizon(ocucb.parse_policy(name), problem) == needed, name


# Advice, in artificial worlds.


def contest(name: str, clicks: bool = False, arms: int = 2) -> Contest:
    problem = ocucb.bernoulli([0.5] + [0.4] * (arms - 1)) if clicks else ocucb.gap(arms)
    return Contest(name, "", name, ((replace(problem, name=name), 100),))


FEW = [contest("few1"), contest("few2", arms=10)]
MANY = [contest("many1", arms=50), contest("many2", arms=100)]
CLICKS = [contest("click1", True), contest("click2", True, 10)]
EVERY = [*FEW, *MANY, *CLICKS]


def cell(policy, where, mean, error=0.001, bound=0.001, deviation=1.0, **more) -> Cell:
    facts = {
        "sampling": "plain",
        "engine": "skip",
        "runs": 1000,
        "effective_runs": 1000.0,
        "failure": Uncertain(0.0, 0.0),
        "median": mean,
        "instability": Uncertain(0.1, 0.01),
        "coverage": Uncertain(0.9, 0.01),
        "disaster": Uncertain(bound / 2, 0.0),
        "disaster_bound": bound,
        "disasters": 20.0,
        "reached": True,
        "seconds": 0.0,
    }
    return Cell(
        place=where.name,
        policy=policy,
        label=policy.upper(),
        problem=where.name,
        horizon=100,
        mean=Uncertain(mean, error * mean),
        deviation=Uncertain(deviation, 0.01),
        **{**facts, **more},
    )


def world(levels, anytime=("b",), contests=EVERY, **more) -> Standings:
    """Players by name, each with a mean regret for every contest; None where it did not play."""
    players = [Player(name, name.upper(), name not in anytime) for name in levels]
    cells = [
        cell(name, where, mean, **{key: value.get(name, 0.001) for key, value in more.items()})
        for name, means in levels.items()
        for where, mean in zip(contests, means, strict=True)
        if mean is not None
    ]
    return Standings(players, contests, {known.key: known for known in cells})


CLEAR = {"a": [1.0, 1, 3, 3, 2, 2], "b": [1.5, 1.5, 3.3, 3.3, 1, 1], "c": [3.5, 3.5, 1, 1, 4, 4]}


def picks(standings) -> dict[str, str]:
    return {advice.situation: advice.pick.player.name for advice in advise(standings)}


def test_advice_in_a_clear_world():
    found = list(picks(world(CLEAR)).items())
    assert [name for _, name in found] == ["a", "b", "c", "b", "b", "b", "b", "a", "b"]
    assert all(not advice.equals for advice in advise(world(CLEAR)))
    text = answer(world(CLEAR))
    assert text.startswith(
        "Gaussian rewards, up to 10 arms, horizon known: A (1.00 times the best of each problem on "
        "average, 1.00 at worst). "
    )
    assert "A is never worse than 3.00 ± 0.01 times the best (many1)." in text


def test_advice_follows_only_from_differences_larger_than_their_errors():
    """Errors of 60% on two problems leave a difference of 50% open, and say so."""
    errors = {"error": {"a": 0.6, "b": 0.6, "c": 0.6}}
    first = advise(world(CLEAR, **errors))[0]
    assert (first.pick.player.name, first.equals) == ("a", ("B", "C"))
    assert "B and C are not significantly worse" in first.sentence
    one_noisy = advise(world(CLEAR, error={"a": 0.001, "b": 0.6, "c": 0.001}))[0]
    assert one_noisy.equals == ("B",)
    unknown = advise(world(CLEAR, error={"a": math.nan, "b": math.nan, "c": math.nan}))[0]
    assert unknown.equals == ("B", "C")
    close = advise(world({"a": [1.0] * 6, "b": [1.005] * 6}))[0]
    assert close.equals == ("B",), "nobody needs to care about half a percent"


def test_many_rivals_need_a_wider_margin():
    """Of forty policies with equal regret, one is excluded by chance in at most 2.3% of worlds.

    Binomial(200, 0.023) exceeds 14 with probability below 1e-4; with two standard errors for each
    difference, most worlds would exclude one.
    """
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        levels = {f"p{i}": list(np.exp(rng.normal(0, 0.1, 2))) for i in range(40)}
        errors = {"error": dict.fromkeys(levels, 0.1)}
        (first, *_) = advise(world(levels, anytime=(), contests=FEW, **errors))
        wrong += len(first.equals) < 39
    assert wrong <= 14


def test_whoever_did_not_play_everywhere_is_not_advised():
    levels = {**CLEAR, "a": [1.0, None, 3, 3, 2, 2]}
    standings = world(levels)
    assert next(iter(picks(standings).values())) == "b"
    last = standings.table(EVERY)[-1]
    assert (last.player.name, last.played, last.complete) == ("a", 5, False)
    assert by_mean(standings.table(EVERY))[-1].player.name == "a"


def test_disasters_exclude():
    bounds = {"bound": {"a": 0.001, "b": 0.001, "c": 2 * RARE}}
    standings = world(CLEAR, **bounds)
    assert {entrant.name for entrant in safe(standings, EVERY)} == {"a", "b"}
    assert list(picks(standings).values())[-2] == "a"
    bad = world(CLEAR, bound=dict.fromkeys(CLEAR, 2 * RARE))
    assert len(advise(bad)) == 7
    assert "Clicks: no policy is known to be free of disasters" in answer(bad)


def test_disasters_that_are_not_known_are_named():
    """C would be the choice for many arms; its bound is too large, but so is its error."""
    levels = {"a": [2.0] * 6, "b": [3.0] * 6, "c": [1.0] * 6}
    vague = {"a": Uncertain(0.001, 0.0), "b": Uncertain(0.001, 0.0), "c": Uncertain(0.004, 0.003)}
    bounds = {"a": 0.001, "b": 0.001, "c": 0.012}
    standings = world(levels, bound=bounds, disaster=vague)
    found = advise(standings)[-2]
    assert (found.pick.player.name, found.unknown) == ("a", ("C",))
    assert "not known of C" in found.sentence
    certain = world(levels, bound=bounds, disaster={**vague, "c": Uncertain(0.012, 0.0)})
    assert advise(certain)[-2].unknown == ()


def test_all_instances_of_a_worst_case_enter_the_disasters():
    """The gap with the largest mean has none, another one has."""
    several = Contest("w", "", "w, worst Δ", (*FEW[0].instances, *FEW[1].instances))
    cells = [cell("a", FEW[0], 9.0, bound=0.001), cell("a", FEW[1], 5.0, bound=0.03)]
    player = Player("a", "A", False)
    standings = Standings([player], [several], {known.key: known for known in cells})
    row = standings.row(player, [several])
    assert standings.cell(player, several).mean.value == 9.0
    assert (row.disaster_bound, row.disaster.value) == (0.03, 0.015)
    assert row.disaster.where == "w, Δ = 0.3"
    assert safe(standings, [several]) == []


def test_jackknife_over_contests():
    """The textbook's formula, and its order: for KL-UCB+ on clicks it was four times the runs'."""
    row = world(CLEAR).row(Player("a", "A", True), EVERY)
    logs = np.log([1.0, 1.0, 3.0, 3.0, 2.0, 2.0])
    parts = np.array([np.delete(logs, i).mean() for i in range(6)])
    error = math.sqrt(5 / 6 * ((parts - parts.mean()) ** 2).sum())
    assert row.spread == pytest.approx(error * row.mean.value)
    assert math.isnan(world(CLEAR).row(Player("a", "A", True), EVERY[:1]).spread)


def test_who_wins_without_a_problem():
    """A wins by one problem alone; without it, B does."""
    three = [*FEW, contest("few3")]
    levels = {"a": [1.0, 1.2, 1.2], "b": [2.0, 1.0, 1.0]}
    found = advise(world(levels, contests=three))[0]
    assert found.pick.player.name == "a"
    assert found.without == (("few1", "B"),)
    assert (found.kept, found.others) == ("2 of 3", "B without few1")
    missing = {**levels, "c": [None, 0.1, 0.1]}
    found = advise(world(missing, contests=three))[0]
    assert found.without == (("few1", "C"),), "who missed only that one plays all others"
    assert advise(world(CLEAR))[0].kept == "2 of 2"


def test_ratios_and_means():
    standings = world(CLEAR)
    a = standings.players[0]
    row = standings.row(a, EVERY)
    assert row.worst.value == pytest.approx(3.0)
    assert row.worst.where in ("many1", "many2")
    assert row.mean.value == pytest.approx((1 * 1 * 3 * 3 * 2 * 2) ** (1 / 6))
    ratio = standings.ratio(a, CLICKS[0])
    assert ratio.error == pytest.approx(2.0 * math.hypot(0.001, 0.001))
    several = Contest("w", "", "w", (*FEW[0].instances, *MANY[0].instances))
    cells = {played.key: played for played in (cell("a", FEW[0], 2.0), cell("a", MANY[0], 5.0))}
    assert Standings([a], [several], cells).cell(a, several).mean.value == 5.0
    del cells["a", "few1", 100]
    assert Standings([a], [several], cells).cell(a, several) is None


# Runs.


def played(task, runs):
    (job,) = run_jobs([Job(task.specification(), runs)], threads=1)
    return job


def test_a_disaster_is_the_same_for_all_policies():
    """Uniform play is one disaster after the other; a good median does not make a run one."""
    problem = ocucb.gap(2, 0.3)
    level = disaster_level(problem, 10_000)
    assert level == pytest.approx(DISASTER * math.sqrt(2 * 10_000))
    clicks = ocucb.bernoulli([0.1, 0.01])
    assert disaster_level(clicks, 10_000) == pytest.approx(DISASTER * 0.3 * math.sqrt(20_000))
    task = make_task("", ocucb.UniformRandom(), problem, 10_000, 1, runs=64)
    uniform = read_cell(task, played(task, 64))
    assert (uniform.disaster.value, uniform.disaster_bound) == (1.0, 1.0)
    assert uniform.mean.value / uniform.median < 1.1
    # n Δ below the level: whatever is played, nothing is at stake
    hard = make_task("", ocucb.UniformRandom(), ocucb.gap(2, 0.03), 10_000, 1, runs=64)
    harmless = read_cell(hard, played(hard, 64))
    assert (harmless.disaster.value, harmless.disaster_bound) == (0.0, 0.0)
    # in every situation with advice about disasters, uniform play has some
    for kind in ("gaussian", "clicks"):
        levels = [
            disaster_level(problem, n) / (n * problem.gaps.mean())
            for contest in CONTESTS.values()
            if contest.kind == kind and contest.group != HEADLINES
            for problem, n in contest.instances
        ]
        assert min(levels) < 0.9


def test_disasters_are_counted_and_bounded():
    """Among plain runs, those above the level; none seen means at most 3 / N."""
    task = make_task("", ocucb.OCUCB(), ocucb.gap(2, 0.3), 10_000, 1, runs=4096)
    job = played(task, 4096)
    found = read_cell(task, job)
    sample = job.result[0].sample
    many = int((sample > disaster_level(ocucb.gap(2, 0.3), 10_000)).sum())
    assert many > 0
    assert found.disasters == pytest.approx(many, abs=1)
    assert found.disaster.value == pytest.approx(many / 4096, abs=1.01 / 4096)
    assert found.effective_runs == 4096
    assert found.reached
    task = make_task("", ocucb.UCB(), ocucb.gap(2, 0.3), 1000, 1, runs=640)
    none = read_cell(task, played(task, 640))
    assert (none.disasters, none.disaster.value) == (0.0, 0.0)
    assert none.disaster_bound == pytest.approx(3 / 640)


def test_rare_failures_are_seen():
    """Deviation and P(failure) of OCUCB with α = 5 in 4096 runs, of which plain ones see none.

    131,072 runs with another seed say 18.09 ± 0.07 and (1.11 ± 0.02)e-5. Five standard errors:
    fails in one of a million seeds.
    """
    task = make_task("", ocucb_with(alpha=5.0), ocucb.gap(2, 0.3), 10_000, 1)
    found = read_cell(task, played(task, 4096))
    assert found.sampling == "tilted"
    assert abs(found.deviation.value - 18.09) < 5 * found.deviation.error < 5.0
    assert abs(found.failure.value - 1.11e-5) < 5 * found.failure.error < 4e-5
    assert found.disaster_bound == found.disaster.value + 2 * found.disaster.error


def test_runs_are_asked_for_until_mean_and_disasters_are_known():
    task = make_task("", ocucb.OCUCB(), ocucb.gap(2, 0.3), 10_000, 1)
    task = replace(task, most=100_000, limit=100_000)
    where = contest("x")
    precise = cell("a", where, 10.0, error=0.024, bound=RARE, reached=False)
    assert max(measuring._lacking(precise, 0.05, 0.0)) < 1.0
    assert measuring._lacking(precise, 0.05, 1.0)[0] == pytest.approx(4.0), "unseen failures"
    noisy = replace(precise, mean=Uncertain(10.0, 0.5))
    assert task.more(noisy).runs >= 4 * task.runs
    assert task.more(replace(noisy, reached=True)) is None
    assert replace(task, most=task.runs).more(noisy) is None
    vague = replace(precise, disaster=Uncertain(0.03, 0.015), disaster_bound=0.07)
    assert 3.9 * task.runs < task.more(vague).runs < 5 * task.runs
    assert replace(task, most=task.runs).more(vague).runs == task.more(vague).runs
    assert replace(task, limit=task.runs).more(vague) is None
    unseen = replace(precise, disaster=Uncertain(0.0, 1.5 * RARE), disaster_bound=3 * RARE)
    assert 3 * task.runs <= task.more(unseen).runs < 3.6 * task.runs
    few = replace(precise, disaster=Uncertain(0.03, 0.001), disasters=5.0, disaster_bound=0.04)
    assert 2 * task.runs <= task.more(few).runs < 2.4 * task.runs, "too few to believe the error"


def test_runs_are_asked_for_until_disasters_are_rare_or_not():
    """MOSS, n = 10^5, Δ = 0.0179: 0.73 ± 0.16% is known to a quarter, and may be above 1%."""
    found = cell("a", contest("x"), 10.0, bound=0.0105, disaster=Uncertain(0.0073, 0.0016))
    assert measuring._lacking(found, 0.05, 0.0)[1] == pytest.approx(32 / 27)
    doubtful = replace(found, disaster=Uncertain(0.0125, 0.0025), disaster_bound=0.02)
    assert measuring._lacking(doubtful, 0.05, 0.0)[1] == pytest.approx(4.0)
    certain = replace(found, disaster=Uncertain(0.02, 0.002), disaster_bound=0.03)
    assert measuring._lacking(certain, 0.05, 0.0)[1] <= 1.0


@pytest.mark.parametrize("name", ["ucb", "kl-ucb-plus", "ocucb-n", "bayes-ucb", "uniform"])
def test_every_cell_may_have_enough_runs_to_exclude_disasters(name):
    """They had 192 runs or fewer on 100 arms; no disaster in these leaves more than 1% open."""
    task = make_task("needle", ocucb.parse_policy(name), *CONTESTS["needle"].instances[0], 1)
    assert task.limit >= 3 / RARE
    unseen = Uncertain(0.0, 1.5 / task.runs)
    none = cell(name, contest("x"), 10.0, disaster=unseen, bound=3 / task.runs)
    assert task.more(replace(none, reached=False)).runs >= 3 / RARE


def test_slow_policies_get_fewer_runs_or_none_and_say_so():
    fast = make_task("two", ocucb.OCUCB(), *CONTESTS["two"].instances[0], 1)
    slow = make_task("groups", ocucb.EpsilonGreedy(), *CONTESTS["groups"].instances[0], 1)
    assert slow.most < fast.most
    assert slow.runs == slow.most
    assert whole_blocks(slow.specification(), 0, slow.most) == slow.most
    never = make_task("x", ocucb.EpsilonGreedy(), ocucb.gap(100), 10**6, 1)
    assert never == Skipped("x", "epsilon-greedy:epsilon=0.1", never.reason)
    assert re.fullmatch(
        rf"64 runs would take \d+ s, and a cell may take {BUDGET:g} s", never.reason
    )
    far = make_task("x", ocucb.Gittins(), ocucb.gap(2), 10**8, 1)
    assert isinstance(far, Skipped)
    assert "Gittins" in far.reason


SOME = [ocucb.OCUCB(), ocucb.MOSS(), ocucb.UCB()]


def contents(folder: Path) -> dict[str, bytes]:
    """Everything that a league wrote, times left out."""
    found = {
        path.name: path.read_bytes() for path in folder.iterdir() if "results.db" not in path.name
    }
    text = found["index.html"].decode()
    for fact in ("Time taken", "Created"):
        text, count = re.subn(rf"<th>{fact}</th><td>.*?</td>", "", text)
        assert count == 1
    text = re.sub(r'<span class="time">.*?</span>', "", text)
    found["index.html"] = text.encode()
    found["policies.csv"] = re.sub(rb",[^,]*\n", b"\n", found["policies.csv"])
    return found


def test_stopped_and_resumed_it_writes_the_same_bytes(tmp_path, begun, monkeypatch):
    def go(folder, **more):
        names = ["short-2", "two", "worst-2-1e3"]
        play_league(names, tmp_path / folder, only=SOME, progress=False, **more)

    go("straight", workers=2)
    monkeypatch.setattr("ocucb.store._PAUSE", 0.0)  # commit whatever is finished
    for blocks in (10, 80):
        assert killed_after(blocks, begun, lambda: go("stopped"))
    go("stopped", workers=1)
    straight, stopped = contents(tmp_path / "straight"), contents(tmp_path / "stopped")
    assert set(straight) == set(stopped)
    assert {"cells.csv", "league.csv", "ratios.svg", "index.html"} <= set(straight)
    for name in straight:
        assert straight[name] == stopped[name], name
    rows = straight["cells.csv"].decode().splitlines()
    assert len(rows) == 1 + 3 * (1 + 1 + 5)
    assert "tilted" in straight["cells.csv"].decode()


MINE = """
from math import log, sqrt
import ocucb

@ocucb.index_policy(unplayed_index="nonincreasing")
def mine(pulls, t, horizon, arms, constant=3.0):
    return sqrt(constant / pulls * log(2 * horizon / t))

number = 3
"""


def test_a_policy_of_yours(tmp_path, monkeypatch):
    """It is OCUCB under another name, so it has about the same regret, from other streams."""
    monkeypatch.setattr(sys.modules["ocucb.league.report"], "registered", lambda: SOME)
    (tmp_path / "mypolicy.py").write_text(MINE)
    here = f"{tmp_path}/mypolicy.py"
    words = "league", "short-2", "--runs", 2000, "--out", tmp_path / "out"
    done = invoke(*words, "--policy", f"{here}:mine", "-p", "ocucb:alpha=2.5")
    assert done.exit_code == 0, done.stderr
    assert "runs for 5 cells: about" in done.stderr
    assert done.stdout.splitlines()[-1].endswith("index.html")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "mine" in page
    assert "OCUCB(alpha=2.5)" in page
    rows = (tmp_path / "out" / "cells.csv").read_text().splitlines()[1:]
    means = {row.split('"')[1] if '"' in row else row.split(",")[1]: row for row in rows}
    mine, ours = (
        [float(x) for x in means[name].split(",plain,")[1].split(",")[1:3]]
        for name in ("mine:constant=3", "ocucb:alpha=3,psi=2")
    )
    assert mine[0] != ours[0]
    assert abs(mine[0] - ours[0]) < 4 * math.hypot(mine[1], ours[1])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["three"], "no problem or question is called 'three'; choose from two-easy"),
        (["--runs", "3", "--precision", "0.1"], "use only one of --precision and --runs"),
        (["--precision", "2"], "precision must be between 0 and 1, got 2."),
        (["--runs", "0"], "runs must be at least 1, got 0."),
        (["--policy", "nobody"], "unknown policy 'nobody'"),
        (["--policy", "missing.py:mine"], "there is no file 'missing.py' with a policy."),
        (["--policy", "{file}"], "must name a policy in the file"),
        (["--policy", "{file}:other"], "has no policy 'other'; it has mine."),
        (["--policy", "{file}:number"], "has no policy 'number'; it has mine."),
        (["--policy", "{broken}:mine"], "cannot be read: ZeroDivisionError: division by zero."),
        (["--policy", "ucb"], "two policies are called 'ucb:constant=2'; give yours another name"),
    ],
)
def test_wrong_input_is_one_sentence(tmp_path, words, sentence):
    places = {"file": tmp_path / "mypolicy.py", "broken": tmp_path / "broken.py"}
    places["file"].write_text(MINE)
    places["broken"].write_text("1 / 0")
    out = tmp_path / "out"
    done = invoke("league", *(word.format(**places) for word in words), "--out", out)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not out.exists()


def test_policies_with_parameters_are_loaded():
    assert load_policy("moss:constant=4").name == "moss:constant=4"


# Open questions.


def test_restarts_add_up():
    assert epochs(TOTALS[0]) == [64, 128, 256, 512]
    assert [sum(epochs(n)) for n in TOTALS] == list(TOTALS)
    policy, problem = ocucb.OCUCB(), GAPS["two arms"]
    where = contest(problem.name)
    cells = {}
    for n, mean in ((64, 3.0), (128, 4.0), (256, 5.0), (512, 6.0), (TOTALS[0], 10.0)):
        one = replace(cell(policy.name, where, mean, error=0.1), horizon=n)
        cells[one.key] = one
    found = restarted(Cells(cells), policy, problem, TOTALS[0])
    assert found.value == 18.0
    assert found.error == pytest.approx(math.sqrt(0.3**2 + 0.4**2 + 0.5**2 + 0.6**2))
    ((ratio,),) = prices(Cells(cells), problem, ("ocucb", "ocucb-n")).values()
    assert ratio.value == pytest.approx(1.8)
    assert restarted(Cells(cells), policy, problem, TOTALS[1]) is None


def test_beyond_the_frontier():
    """Only those that no α or ψ matches in mean and deviation."""
    where = contest("two")
    cells = {}

    def add(policy, mean, deviation, error=0.001):
        one = cell(policy.name, where, mean, error=error, deviation=deviation)
        cells[one.key] = replace(one, horizon=10_000, label=policy.label)
        cells[policy.name, "two", 10_000] = cells[one.key]

    for alpha in ALPHAS:
        add(ocucb_with(alpha=alpha), 10 + alpha, 100 / alpha)
    add(ocucb.MOSS(), 12.0, 20.0)  # better than α = 2 in both
    add(ocucb.UCB(), 40.0, 4.0)  # steadier than all
    add(ocucb.ThompsonSampling(), 20.0, 50.0)  # worse than α = 4 in both
    assert beyond(Cells(cells), "two") == ["MOSS", "UCB"]
    add(ocucb.MOSS(), 12.0, 20.0, error=0.5)
    assert beyond(Cells(cells), "two") == ["UCB"]


def test_long_horizons_are_judged_by_their_errors():
    policy = ocucb.parse_policy("ocucb-loglog")

    def said(mean, error):
        cells = {}
        for problem in GAPS.values():
            for n in LONG:
                for one, level in ((policy, mean), (ocucb_with(), 2.0), (ocucb_with(2.0), 2.0)):
                    made = cell(one.name, contest(problem.name), level, error=error)
                    made = replace(made, horizon=n)
                    cells[made.key] = made
        return QUESTIONS["loglog"].answer(Cells(cells))

    assert "better than α = 3 from n = 10³ on" in said(1.0, 0.001)
    assert "not better than α = 3 there" in said(1.0, 0.6)
    assert "not better than α = 3 there" in said(3.0, 0.001)


def test_questions_without_cells_say_so():
    for question in QUESTIONS.values():
        assert question.answer(Cells({})) == "It was not played."


# What was kept.

TEXT = runpy.run_path(str(ROOT / "docs" / "scripts" / "league_text.py"))


@pytest.mark.parametrize("page", TEXT["PAGES"], ids=lambda page: page.name)
def test_texts_are_those_of_the_kept_league(page):
    """If this fails because the league changed: python docs/scripts/league_text.py."""
    text = page.read_text(encoding="utf-8")
    assert TEXT["rendered"](text) == text
    assert "<!-- league-" in text or "<!-- question-" in text


def test_kept_cells_are_those_of_the_league():
    """Some cheap cells again: the numbers of the pages are those that the command gives."""
    kept = {cell.key: cell for cell in TEXT["kept_report"]().cells}
    problem, horizon = CONTESTS["two"].instances[0]
    for policy in (ocucb_with(), ocucb_with(alpha=6.0), ocucb.MOSS()):
        same = kept[policy.name, problem.name, horizon]
        task = make_task("frontier", policy, problem, horizon, 1)
        again = read_cell(task, played(task, same.runs))
        assert (again.engine, again.sampling) == (same.engine, same.sampling)
        for found in ("mean", "deviation", "failure", "disaster"):
            mine, theirs = getattr(again, found), getattr(same, found)
            assert (mine.value, mine.error) == pytest.approx((theirs.value, theirs.error), rel=1e-4)


def full_report() -> Report:
    """Return the kept questions, and artificial tables of three policies, of which one is slow."""
    players = [Player(name, name.upper(), name != "b", 1e-7) for name in "abc"]
    cells = {}
    for number, where in enumerate(CONTESTS.values()):
        for problem, horizon in where.instances:
            for i, one in enumerate(players):
                made = cell(one.name, where, 1.0 + (i + number) % 3, bound=0.01 * i)
                made = replace(made, problem=problem.name, horizon=horizon, reached=one.name != "c")
                cells[made.key] = made
    skipped = [Skipped("two", "d", "too slow")]
    standings = Standings(players, list(CONTESTS.values()), cells)
    kept = TEXT["kept_report"]()
    return replace(kept, standings=standings, skipped=skipped, questions=list(QUESTIONS))


def test_the_page_in_a_browser(browser, tmp_path):
    """A page with everything on it: on a desk, a phone, in print."""
    report, failures = full_report(), []
    page = write_report(tmp_path, report, failures)[-1]
    assert not failures
    for _ in read_on_desk_and_phone(browser, page, 1 + len(QUESTIONS)):
        found = browser.find_elements("tag name", "details")
        assert len(found) == len(CONTESTS)
        text = browser.find_element("tag name", "body").text
        assert answer(report.standings) in text
        assert text.count("100 ns") == 3 * len(KINDS)
        for question in QUESTIONS.values():
            assert question.title.removesuffix("?") in text
            assert question.answer(report.answers) in text
    assert "d: not played, too slow" in page.read_text()
    assert "(budget)" in page.read_text()
    printed = base64.b64decode(browser.print_page())
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 14
