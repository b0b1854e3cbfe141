"""The summary of a live bandit: what it says, its picture, intervals that hold at all times."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ocucb
from ocucb import Bandit
from ocucb.inference.sequences import normal_interval


def test_summary_says_what_is_known():
    bandit = Bandit(["red", "green", "<blue>"], ocucb.MOSS(), 1000, sigma=2.0, rng=1)
    assert bandit.summary().next == (
        "round 1 of 1,000: MOSS plays 'red', because it has not been played yet."
    )
    bandit.ask(3)
    assert "no arm has a reward yet" in bandit.summary().why
    bandit.tell(["red", "green"], [1.0, 3.0])
    bandit.tell("green", 4.0)
    bandit.retire("red")
    summary = bandit.summary()
    first, second, third = summary.rows()
    assert (first["pulls"], first["open"], first["mean"], first["retired"]) == (1, 0, 1.0, True)
    assert second["mean"] == 3.5
    assert second["share"] == 0.5
    bonus = ocucb.MOSS().bonus(pulls=2, t=5, horizon=1000, arms=2)
    assert second["index"] == 3.5 + 2.0 * bonus
    half = 2.0 * math.sqrt(12 * math.log(12 / (10 * 0.05**2))) / 2
    assert second["low"] == pytest.approx(3.5 - half)
    assert second["high"] == pytest.approx(3.5 + half)
    assert math.isnan(first["index"])
    assert math.isnan(third["mean"])
    assert (third["open"], third["pulls"]) == (1, 0)
    assert summary.next_arm == "green"
    assert summary.why == "its index is the largest"
    assert "red (retired)" in summary.table()
    assert repr(summary) == summary.table()
    assert "&lt;blue&gt;" in summary._repr_html_()
    assert summary._repr_html_().count("<tr>") == 4
    bandit.tell("<blue>", 3.5)
    bandit.ask()  # an open ask of green, or of blue
    bandit.cancel(bandit.ask())
    assert bandit.summary().why


def test_summary_of_ties_samples_and_rules():
    for text, why in [
        ("ocucb", "its index is one of the 2 largest, and ties are broken at random"),
        ("thompson", "its random sample is the largest"),
        ("uniform", "that is its rule (an arm drawn uniformly at random in every round)"),
    ]:
        bandit = Bandit("ab", text, 1000, bounds=(0, 1), rng=4)
        bandit.tell(["a", "b"], [0.5, 0.5])
        for _ in range(20):
            summary = bandit.summary()
            assert summary.why == why or text == "ocucb"
            assert bandit.ask() == summary.next_arm
        assert bandit.summary().next_arm == bandit.summary().next_arm


def test_summary_of_many_arms_shows_the_busiest(tmp_path):
    bandit = Bandit(range(1000), "ocucb", 10**5, bounds=(0, 1))
    bandit.tell([700, 700, 7], [1, 1, 1])
    summary = bandit.summary()
    assert len(summary.rows()) == 1000
    assert summary.shown()[-1] == 700
    assert "and 970 arms with less traffic" in summary.table()
    assert "970 arms" in summary._repr_html_()
    for ending in ("png", "svg"):
        summary.plot(tmp_path / f"picture.{ending}")
        assert (tmp_path / f"picture.{ending}").stat().st_size > 1000
    with pytest.raises(ValueError, match="its ending must be"):
        summary.plot(tmp_path / "picture.doc")


def test_intervals_hold_at_all_times():
    """At level 0.8, in at most 20% of 250 adaptive games does an arm's interval ever miss its mean.

    About 1% do within 60 rounds, so that chance fails this less than once in a million times.
    """
    missed, rng = 0, np.random.default_rng(1)
    for game in range(250):
        bandit = Bandit("ab", "ocucb", 60, sigma=1, rng=game)
        sums, pulls, bad = np.zeros(2), np.zeros(2), False
        for _ in range(60):
            arm = "ab".index(bandit.ask())
            reward = rng.normal()
            bandit.tell("ab"[arm], reward)
            sums[arm] += reward
            pulls[arm] += 1
            if pulls.all():
                low, high = normal_interval(sums / pulls, pulls, 1.0, 0.8)
                bad |= bool(low[0] > 0 or high[0] < 0)
        missed += bad
    assert 0 < missed <= 50, missed


def test_prices_in_names_are_drawn_as_they_are(tmp_path):
    bandit = ocucb.Bandit(["was $10, now $5", "$x_{$"], "ucb", 100, sigma=1)
    figure = bandit.summary().plot(tmp_path / "prices.png")
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert any("was $10, now $5" in label for label in labels)
