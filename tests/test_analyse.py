"""Estimates from logs: slow twins, coverage, refusals, files; the logs of the package obp."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ocucb
from helpers import invoke
from ocucb.inference.estimators import ESTIMATORS, effective_size
from ocucb.inference.logs import Log
from ocucb.serve.models import DecisionsRequest, RewardItem
from ocucb.serve.service import Service
from serving import log_lines, rules

RATES = np.array([0.6, 0.5, 0.4])


def played(games, rounds, rates, floor, seed):
    """Return arms, rewards and propensities of games of Maillard sampling with a floor."""
    rng, K = np.random.default_rng(seed), len(rates)
    sums, pulls = np.ones((games, K)), np.full((games, K), 2.0)
    log = [np.empty((games, rounds)) for _ in range(3)]
    rows = np.arange(games)
    for t in range(rounds):
        means = sums / pulls
        chances = np.exp(-2 * pulls * (means.max(axis=1, keepdims=True) - means) ** 2)
        chances = floor + (1 - K * floor) * chances / chances.sum(axis=1, keepdims=True)
        arm = (rng.random(games)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(0, K - 1)
        reward = (rng.random(games) < rates[arm]).astype(float)
        for column, values in zip(log, (arm, reward, chances[rows, arm]), strict=True):
            column[:, t] = values
        sums[rows, arm] += reward
        pulls[rows, arm] += 1
    return [
        Log(list("abc"), arm.astype(int), reward, propensity)
        for arm, reward, propensity in zip(*log, strict=True)
    ]


TARGETS = {
    "value": np.array([0.0, 0.0, 1.0]),
    "difference": np.array([1.0, 0.0, -1.0]),
    "policy": np.array([0.2, 0.5, 0.3]),
}


# The same, term by term


def slow(log, target):
    """All four, as their definitions read."""
    n, K = log.reward.size, target.size
    rows = list(zip(log.arm.tolist(), log.reward.tolist(), log.propensity.tolist(), strict=True))
    weights = [target[a] / p for a, _, p in rows]
    found = {}
    terms = [w * y for w, (_, y, _) in zip(weights, rows, strict=True)]
    found["ips"] = np.mean(terms), np.std(terms) / sqrt(n)
    scores, noise = [], []
    counts, totals, last = [0] * K, [0.0] * K, [1.0 / K] * K
    for t, (arm, y, p) in enumerate(rows):
        overall = sum(totals) / t if t else 0.0
        guess = [totals[a] / counts[a] if counts[a] else overall for a in range(K)]
        scores.append(sum(target[a] * guess[a] for a in range(K)) + weights[t] * (y - guess[arm]))
        noise.append(sum(target[a] ** 2 / last[a] for a in range(K)))
        counts[arm] += 1
        totals[arm] += y
        last[arm] = p
    found["doubly robust"] = np.mean(scores), np.std(scores) / sqrt(n)
    h = [1 / sqrt(variance) for variance in noise]
    value = sum(a * b for a, b in zip(h, scores, strict=True)) / sum(h)
    spread = sqrt(sum(a * a * (b - value) ** 2 for a, b in zip(h, scores, strict=True)))
    found["adaptively weighted"] = value, spread / sum(h)
    value, errors = 0.0, [0.0] * n
    for sign in (1, -1):
        part = [max(0.0, sign * g) for g in target]
        if any(part):
            w = [part[a] / p for a, _, p in rows]
            one = sum(x * y for x, (_, y, _) in zip(w, rows, strict=True)) / sum(w)
            value += sign * sum(part) * one
            for t, (_, y, _) in enumerate(rows):
                errors[t] += sign * sum(part) * w[t] * (y - one) / sum(w)
    found["self-normalised"] = value, sqrt(sum(e * e for e in errors))
    return found


@pytest.mark.parametrize("name", TARGETS)
def test_estimators_are_their_definitions(name):
    (log,) = played(1, 150, RATES, 0.05, 1)
    expected = slow(log, TARGETS[name])
    assert set(expected) == set(ESTIMATORS)
    for key, estimator in ESTIMATORS.items():
        assert estimator(log, TARGETS[name]) == pytest.approx(expected[key], rel=1e-9), key


def test_effective_sizes():
    log = Log(["a", "b"], np.array([0, 0, 1, 1]), np.ones(4), np.array([0.5, 0.1, 0.5, 0.5]))
    assert effective_size(log, np.array([1.0, 0.0])) == pytest.approx(144 / 104)
    assert effective_size(log, np.array([0.0, 1.0])) == 2
    assert effective_size(log, np.array([1.0, -1.0])) == pytest.approx(144 / 104)
    only = Log(["a", "b"], np.array([0, 0]), np.ones(2), np.array([0.5, 0.5]))
    assert effective_size(only, np.array([1.0, -1.0])) == 0.0


def test_intervals_of_a_thousand_logs_cover():
    """Of 1,000 logs of 3,000 decisions, at least 93% of the intervals at 95% hold.

    Of 1,500 others, 94.3 to 96.1% did: chance would fail one of these 12 numbers for about one seed
    in twenty, and this one is fixed. With a floor of 5%, 93.1 to 95.9% did.
    """
    logs = played(1000, 3000, RATES, 0.1, 13)
    for name, target in TARGETS.items():
        true = float(target @ RATES)
        for key, estimator in ESTIMATORS.items():
            found = np.array([estimator(log, target) for log in logs])
            covered = np.abs(found[:, 0] - true) <= 1.96 * found[:, 1]
            assert covered.mean() >= 0.93, (name, key, covered.mean())


def test_sample_means_are_biased_where_these_are_not():
    """Means of the arms lie too low; those of the scores do not (4 standard errors)."""
    logs = played(1000, 300, np.array([0.5, 0.5, 0.5]), 0.02, 4)
    target = np.array([1.0, 0.0, 0.0])
    naive = np.array([log.reward[log.arm == 0].mean() for log in logs])
    robust = np.array([ESTIMATORS["doubly robust"](log, target).value for log in logs])
    error = 1 / sqrt(1000)
    assert naive.mean() < 0.5 - 4 * naive.std() * error
    assert abs(robust.mean() - 0.5) < 4 * robust.std() * error


# What is said, and refused


def columns(log):
    return {
        "arm": [log.arms[i] for i in log.arm],
        "reward": log.reward,
        "propensity": log.propensity,
    }


def test_what_is_reported():
    (log,) = played(1, 2000, RATES, 0.1, 5)
    found = ocucb.analyse(columns(log), control="c", policy="a=0.75,b=0.25")
    kinds = [(finding.kind, finding.name) for finding in found.findings]
    assert sorted(kinds[:3]) == [("value", name) for name in "abc"]
    assert ("difference", "a − c") in kinds
    assert kinds[-1] == ("policy", "a=0.75,b=0.25")
    for finding in found.findings:
        assert finding.refusal is None
        assert list(finding.estimates) == list(ESTIMATORS)
    policy = found.findings[-1].estimates["adaptively weighted"]
    assert policy["low"] < 0.75 * 0.6 + 0.25 * 0.5 < policy["high"]
    table = found.table()
    assert "2,000 decisions; 95% intervals, each by itself" in table
    assert repr(found) == table
    json.dumps(found.to_dict(), allow_nan=False)
    narrow = ocucb.analyse(columns(log), level=0.5).findings[0].estimates["ips"]
    wide = ocucb.analyse(columns(log), level=0.99).findings[0].estimates["ips"]
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]
    assert narrow["high"] - narrow["value"] == pytest.approx(0.67449 * narrow["stderr"], rel=1e-4)


def test_too_little_is_refused_with_the_reason():
    (log,) = played(1, 2000, RATES, 0.02, 5)
    strict = ocucb.analyse(columns(log), least=1e6).findings
    assert all("effective sample size is" in finding.refusal for finding in strict)
    assert all(finding.estimates == {} for finding in strict)
    rare = columns(log) | {"reward": [1.0] * 5 + [0.0] * 1995}
    (common,) = [finding for finding in ocucb.analyse(rare).findings if finding.name == "a"]
    assert "rewards differ from 0" in common.refusal
    assert "refused, because only" in ocucb.analyse(rare).table()
    wrong = columns(log) | {"propensity": 0.5 * log.propensity}
    (common,) = [finding for finding in ocucb.analyse(wrong).findings if finding.name == "a"]
    assert re.match(r"weights are (1\.9\d*|2|2\.0\d*) on average and should be 1:", common.refusal)


def test_what_is_left_out_is_counted():
    (log,) = played(1, 800, RATES, 0.1, 6)
    rows = columns(log)
    rewards, chances = rows["reward"].tolist(), rows["propensity"].tolist()
    rewards[:7], chances[7:12], chances[12:15] = [None] * 7, [None] * 5, [1.0] * 3
    found = ocucb.analyse(rows | {"reward": rewards, "propensity": chances})
    assert found.decisions == 785
    assert list(found.left_out.values()) == [7, 5, 3]
    assert "left out: 5 without a propensity" in found.table()
    with pytest.raises(ValueError, match="has no decision with a reward and a propensity below 1"):
        ocucb.analyse(rows | {"propensity": [1.0] * 800})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"control": "z"}, "control must be an arm of the log, got 'z'; it has "),
        ({"policy": "a=0.5"}, r"shares of a policy must add up to 1, got 0\.5\."),
        ({"policy": "a"}, 'policy must be "uniform" or ARM=SHARE,…, got'),
        ({"policy": {"a": "much"}}, "the share of 'a' must be a number"),
        ({"least": 1}, r"least must be at least 2, got 1\."),
        ({"level": 1}, r"level must lie between 0 and 1, got 1\."),
        ({"reward": "paid"}, "the log has no column 'paid'; it has arm, reward, propensity"),
        ({"log": {"arm": ["a"], "reward": [1], "propensity": [1.5]}}, "must lie between 0 and 1"),
        ({"log": {"arm": ["a"], "reward": ["x"], "propensity": [1]}}, "must be numbers"),
        ({"log": {"arm": ["a"], "reward": [1, 2], "propensity": [1]}}, "as many rewards and"),
        ({"log": "rows.parquet"}, r"must end in \.csv, \.ndjson or \.jsonl\."),
    ],
)
def test_mistakes(change, sentence):
    (log,) = played(1, 50, RATES, 0.1, 6)
    arguments = {"log": columns(log)} | change
    with pytest.raises(ValueError, match=sentence):
        ocucb.analyse(**arguments)
    with pytest.raises(TypeError, match="log must be a file, a data frame or columns, got 3"):
        ocucb.analyse(3)


# Where logs come from


def test_files_and_frames(tmp_path):
    (log,) = played(1, 900, RATES, 0.1, 7)
    rows = {"item": columns(log)["arm"], "click": log.reward, "p": log.propensity}
    names = {"arm": "item", "reward": "click", "propensity": "p"}
    expected = ocucb.analyse(columns(log), control="a").to_dict()
    frame = pd.DataFrame(rows)
    assert ocucb.analyse(frame, control="a", **names).to_dict() == expected
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    assert ocucb.analyse(path, control="a", **names).to_dict() == expected
    options = [word for key, name in names.items() for word in (f"--{key}", name)]
    done = invoke("analyse", path, "--control", "a", "--json", *options)
    assert json.loads(done.stdout) == expected
    assert "adaptively weighted" in invoke("analyse", path, *options).stdout
    done = invoke("analyse", path)
    assert done.exit_code == 2
    assert "has no column 'arm'; it has item, click, p." in done.stderr
    bad = tmp_path / "log.ndjson"
    bad.write_text('{"kind": "decision"}\n')
    assert "line 1: not an entry of the log" in invoke("analyse", bad).stderr


def test_the_log_of_the_service(sqlite_storage, tmp_path):
    """Decisions and rewards are joined; open ones are left out, expired ones count as told."""
    service, rng = Service(sqlite_storage), np.random.default_rng(8)
    service.create("x", rules(policy="thompson", floor=0.1, arms=["a", "b", "c"]))
    told = []
    for k in range(400):
        (one,) = service.decide("x", DecisionsRequest()).result(60)
        reward = float(rng.random() < RATES["abc".index(one["arm"])])
        if k % 10:
            service.reward("x", [RewardItem(decision=one["id"], reward=reward)]).result(60)
            told.append((one["arm"], reward, one["propensity"]))
    with sqlite_storage.reading() as connection:
        lines = log_lines(connection, "x", 0, 10_000)
    service.close()
    path = tmp_path / "x.ndjson"
    path.write_text(lines)
    arms, rewards, propensities = zip(*told, strict=True)
    expected = ocucb.analyse({"arm": arms, "reward": rewards, "propensity": propensities}, least=20)
    found = ocucb.analyse(path, least=20)
    assert found.left_out["without a reward"] == 40
    by_name = [sorted(map(repr, each.findings)) for each in (found, expected)]
    assert by_name[0] == by_name[1]


def obp_folder():
    spec = find_spec("obp")
    place = None if spec is None else Path(spec.submodule_search_locations[0]) / "dataset" / "obd"
    if place is None or not place.exists():
        pytest.skip("needs the logs that a package ships: pip install --no-deps obp==0.4.1")
    return place


def test_real_logs():
    """10,000 uniform rows say nothing about 80 single arms, but something about all of them."""
    columns = {"arm": "item_id", "reward": "click", "propensity": "propensity_score"}
    uniform = ocucb.analyse(
        obp_folder() / "random" / "all" / "all.csv", policy="uniform", **columns
    )
    assert uniform.decisions == 10_000
    *arms, policy = uniform.findings
    assert all(arm.refusal is not None for arm in arms)
    assert policy.refusal is None
    assert policy.effective == pytest.approx(10_000)
    path = obp_folder() / "bts" / "women" / "women.csv"
    refused = ocucb.analyse(path, policy="uniform", **columns).findings[-1]
    assert refused.refusal == "the effective sample size is 2.08, below 100"
