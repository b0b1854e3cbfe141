"""The league with policies and problems of one's own: named everywhere, compared fairly."""

from __future__ import annotations

import csv
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import ocucb
from helpers import invoke
from ocucb.league import CONTESTS, play_league
from ocucb.league.advice import advise, answer
from ocucb.league.drawing import ratio_map
from ocucb.league.measure import Cell
from ocucb.league.pairs import pair_rows, pairs_of
from ocucb.league.problems import OWN, contest_of
from ocucb.league.questions import FRONTIER, QUESTIONS, Cells, beyond
from ocucb.league.standings import Player, Standings
from ocucb.reports import measure as reports
from ocucb.reports.estimates import Uncertain, margin

PROBLEMS = [contest_of(ocucb.gap(2, gap), 100) for gap in (0.1, 0.2, 0.3, 0.4)]


@ocucb.index_policy(unplayed_index="nonincreasing")
def mine(pulls, t, horizon, arms, constant=3.0):
    return (constant / pulls) ** 0.5


def cell(player: Player, where, mean: float, error: float) -> Cell:
    return Cell(
        where.name, player.name, player.label, where.instances[0][0].name, "skip", "plain", 100,
        1000, 1000.0, Uncertain(mean, error * mean), Uncertain(1.0, 0.01), Uncertain(0.0, 0.0),
        mean, Uncertain(0.1, 0.0), Uncertain(0.9, 0.0), Uncertain(0.0, 0.0), 0.0, 0.0, True, 0.0,
    )  # fmt: skip


def world(levels: dict[str, list[float | None]], error: float = 0.01) -> Standings:
    """Players by name, of whom "x" is somebody's own, with a mean regret for each problem."""
    players = [Player(name, name.upper(), True, own=name == "x") for name in levels]
    cells = [
        cell(player, where, mean, error)
        for player in players
        for where, mean in zip(PROBLEMS, levels[player.name], strict=True)
        if mean is not None
    ]
    return Standings(players, PROBLEMS, {one.key: one for one in cells}, general=False)


def test_pairs_are_geometric_means_over_shared_problems():
    standings = world({"x": [1.0, 2.0, 3.0, 4.0], "a": [2.0, 1.0, 6.0, None]})
    (pair,) = pairs_of(standings, standings.players[0], PROBLEMS)
    logs = np.log([0.5, 2.0, 0.5])
    assert pair.problems == 3
    assert pair.ratio.value == pytest.approx(math.exp(logs.mean()))
    assert pair.ratio.error == pytest.approx(pair.ratio.value * 0.01 * math.sqrt(2 * 3) / 3)
    assert pair.spread == pytest.approx(pair.ratio.value * logs.std(ddof=1) / math.sqrt(3))
    assert (pair.better, pair.worse, pair.verdict) == (2, 1, "lower")
    rows = list(pair_rows(standings))
    assert [row[1:4] for row in rows] == [("x", "a", 3)]
    (back,) = pairs_of(standings, standings.players[1], PROBLEMS)
    assert back.ratio.value == pytest.approx(1.0 / pair.ratio.value)
    assert (back.better, back.worse, back.verdict) == (1, 2, "higher")


def test_significant_means_more_than_chance_among_all_pairs():
    """With ten equal policies, some pair differs by two standard errors in most worlds.

    It may differ by the margin in 2.3% of them: Binomial(200, 0.023) exceeds 14 with probability
    below 1e-4.
    """
    rng = np.random.default_rng(1)
    naive = wrong = 0
    for _ in range(200):
        levels = {f"p{i}": list(np.exp(rng.normal(0.0, 0.1, 4))) for i in range(10)}
        standings = world(levels, error=0.1)
        rows = list(pair_rows(standings))
        wrong += any(row[-1] != "not different" for row in rows)
        naive += any(abs(math.log(row[4])) > 2.0 * row[5] / row[4] for row in rows)
    assert len(rows) == 45
    assert naive > 100
    assert wrong <= 14
    assert margin(45) > 3.0


def test_the_answer_begins_with_yours():
    text = answer(world({"x": [1.0, 2.0, 3.0, 4.0], "a": [2.0, 1.0, 6.0, 8.0], "b": [9.0] * 4}))
    assert text.startswith("Gaussian rewards: X, yours, has 1.189 ± 0.008 times the best of each")
    assert "number 1 of 3; 0.71 ± 0.01 times the regret of A: significantly less." in text
    text = answer(world({"x": [2.0] * 4, "a": [2.0] * 4}))
    assert "times the regret of A: no significant difference." in text
    text = answer(world({"x": [3.0, None, 3.0, 3.0], "a": [1.0] * 4}))
    assert "on 3 of 4 problems; 3.00 ± 0.05 times the regret of A: significantly more." in text


def test_a_part_of_the_league_gives_no_general_advice():
    part = world({"x": [1.0] * 4, "a": [2.0] * 4})
    assert [advice.situation for advice in advise(part)] == [
        "Gaussian rewards, on gap:K=2,gap=0.1, n = 100, gap:K=2,gap=0.2, n = 100, "
        "gap:K=2,gap=0.3, n = 100 and gap:K=2,gap=0.4, n = 100 alone, horizon known"
    ]
    assert "know nothing of your problem" not in answer(part)
    part.general = True
    assert "up to 10 arms" in advise(part)[0].situation
    assert "know nothing of your problem" in answer(part)


def test_yours_on_the_page_and_in_the_pictures(tmp_path):
    only = [ocucb.OCUCB(), ocucb.UCB()]
    done = play_league(
        ["short-2"], tmp_path, policies=[mine()], only=only, runs=500, progress=False,
        problems=[(ocucb.bernoulli([0.6, 0.5]), 200), (ocucb.bernoulli([0.6, 0.5]), 300)],
    )  # fmt: skip
    assert [contest.group for contest in done.standings.contests][1:] == [OWN, OWN]
    assert "Clicks: mine, yours, has " in done.answer
    assert not done.standings.general
    text = (tmp_path / "index.html").read_text()
    assert "<b>mine</b>" in text
    assert "<b>OCUCB</b>*" not in text.partition("Tables")[2]
    assert "Yours beside the others" in text
    labels = [label.get_text() for label in ratio_map(done.standings).axes[0].get_yticklabels()]
    assert sorted(labels) == ["OCUCB", "UCB", "★ mine"]
    rows = list(csv.DictReader((tmp_path / "pairs.csv").open(encoding="utf-8")))
    assert len(rows) == 2 * 3, "two kinds of reward, three pairs"


def test_the_name_of_a_problem_is_escaped(tmp_path):
    problem = replace(ocucb.gap(), name='<i onclick="x()">')
    play_league(
        [], tmp_path, only=[ocucb.UCB()], runs=100, progress=False, problems=[(problem, 50)]
    )
    assert "<i onclick" not in (tmp_path / "index.html").read_text()


def test_yours_is_on_the_frontier():
    own = [mine(), ocucb.parse_policy("beta-thompson")]
    plays = QUESTIONS["frontier"].plays(own)
    names = [policy.name for policy, *_ in plays]
    assert names.count("mine:constant=3") == len(FRONTIER)
    assert "beta-thompson" not in str(names), "it does not play Gaussian rewards"
    problem, _ = CONTESTS["two"].instances[0]
    cells = {}
    for policy, its_problem, n in plays:
        if its_problem is problem:
            mean = 1.0 if policy.family.name == "mine" else 2.0
            made = cell(Player(policy.name, policy.label, True), PROBLEMS[0], mean, 0.01)
            made = replace(made, deviation=Uncertain(mean, 0.01))
            cells[policy.name, problem.name, n] = made
    assert beyond(Cells(cells, own), "two") == ["mine"]
    assert beyond(Cells(cells), "two") == []


def test_compiling_is_announced(monkeypatch):
    """After three kernels it is known about how long the others take."""
    policies = ["ocucb", "ucb", "moss", "thompson", "aocucb", "ucb"]
    specifications = [
        reports.Specification(
            ocucb.parse_policy(name), ocucb.gap(), 100, np.array([100]), 1, "step"
        )
        for name in policies
    ]
    clock = itertools.count(0.0, 4.0)
    monkeypatch.setattr(reports.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(reports.Specification, "prepare", lambda specification: None)
    said = []
    forecast = reports._Forecast(specifications, said.append)
    for specification in specifications:
        forecast.prepare(specification)
    assert said == ["compiling 2 more kernels: about 8 s."]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--horizon", "100"], "are for a problem of your own: add --means"),
        (["--means", "0.5,0.4"], "--horizon is missing; set the number of rounds"),
        (["--problem", "gop:K=2", "-n", "100"], "unknown problem 'gop'"),
    ],
)
def test_wrong_input_is_one_sentence(tmp_path, words, sentence):
    done = invoke("league", *words, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_wrong_problems_are_one_sentence(tmp_path):
    for given in ([ocucb.gap()], [(ocucb.gap(), 0)], [("two", 100)]):
        with pytest.raises((TypeError, ValueError), match=r"problems must be|at least 1"):
            play_league([], tmp_path, problems=given)
    same = [(ocucb.gap(2), 100), (replace(ocucb.gap(2, 0.1), name=ocucb.gap(2).name), 100)]
    with pytest.raises(ValueError, match="two problems are called 'gap:K=2,gap=0\\.3'; rename"):
        play_league([], tmp_path, problems=same)


def test_options_make_problems(tmp_path, monkeypatch):
    seen = {}

    def noted(names, out, **facts):
        seen.update(facts, names=names)
        raise ValueError("seen.")

    monkeypatch.setattr("ocucb.league.play_league", noted)
    words = ["--means", "0.5,0.4", "--means", "0.2,0.1", "--rewards", "bernoulli", "-n", "1e3"]
    invoke("league", *words, "--out", tmp_path)
    assert [(problem.rewards.name, n) for problem, n in seen["problems"]] == [
        ("bernoulli", 1000),
        ("bernoulli", 1000),
    ]
    assert seen["names"] == []
    invoke("league", "two", "--prior", "headlines:K=2", "-n", "500", "--out", tmp_path)
    assert [n for _, n in seen["problems"]] == [500]
    assert seen["names"] == ["two"]
