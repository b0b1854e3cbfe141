"""Live bandits that are saved, loaded, copied or killed: nothing lost, nothing damaged taken."""

from __future__ import annotations

import collections
import copy
import enum
import json
import math
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import ocucb
from ocucb import Bandit
from ocucb.live.document import _VERSION, STEPS
from policy_table import SETTINGS, make, needs_clicks, scale

BERNOULLI = "bernoulli-gittins"

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("text", SETTINGS)
def test_goes_on_bit_for_bit_after_a_load(text, tmp_path):
    """With open asks, retired arms and spent random numbers."""
    rng = np.random.default_rng(3)
    bandit = Bandit(["a", "b", 3, "d"], make(text), 60, minimize=True, rng=9, **scale(text))

    def play(bandit, rewards):
        arms = []
        for reward in rewards:
            arms.append(bandit.ask())
            bandit.tell(arms[-1], reward)
        return arms

    rewards = (rng.integers(0, 2, 40) if needs_clicks(text) else rng.normal(size=40)).tolist()
    play(bandit, rewards[:15])
    bandit.retire("b")
    bandit.ask(4)
    bandit.save(tmp_path / "state.json")
    again = Bandit.load(tmp_path / "state.json")
    assert again.to_dict() == bandit.to_dict()
    assert play(again, rewards[15:]) == play(bandit, rewards[15:])
    assert again.to_dict() == bandit.to_dict()
    assert again.summary().table() == bandit.summary().table()


@pytest.mark.parametrize(
    ("name", "then"),
    [
        ("thompson", ["red", "red", "red", "red", "blue", 3, "red", "blue", "red", "red"]),
        ("improved_ucb", list("bcbcbcbcbc")),
        ("ucb", ["red", "blue", "red", "red", "blue", "blue", "blue", 3, 3, 3, 3, 3]),
        ("ucb_v", [3, "red"] * 7),
        ("moss", "blue green blue blue blue blue green blue red blue".split()),
        ("kl_ucb", [3, "red", 3, 3, "red", 3, "red", 3, "green", 3]),
        ("open", ["red", 3, "red", 3, 3, 3, 3, 3, 3, "red", 3, "red"]),
    ],
)
def test_files_of_earlier_versions_are_read(name, then):
    """What earlier versions saved, and what they played next."""
    path = DATA / f"bandit_{name}.json"
    before = path.read_text()
    saved, bandit = json.loads(before), Bandit.load(path)
    new = {"format_version": _VERSION, "seed": str(saved["seed"]), "own_policy": False}
    if "squares" not in saved and saved["bounds"] is not None:  # the largest possible
        low, high = saved["bounds"]
        new["squares"] = [
            pytest.approx((high - sums / n) * (sums / n - low) * n)
            for n, sums in zip(saved["pulls"], saved["sums"], strict=True)
        ]
    assert bandit.to_dict() == saved | new
    if name in ("ucb", "ucb_v", "open"):
        rewards = random.Random(9)
        for arm in then:
            assert bandit.ask() == arm
            bandit.tell(arm, round(rewards.uniform(0.3, 1.5), 3))
    else:
        assert bandit.ask(10) == then
    assert path.read_text() == before


def test_every_older_format_has_a_step_and_a_file():
    """Every format, the present one too, has a file that was saved in it, with what it played."""
    kept = [json.loads(path.read_text()) for path in DATA.glob("bandit_*.json")]
    formats = {document["format_version"] for document in kept}
    assert formats >= set(range(1, _VERSION + 1))
    assert len(STEPS) == _VERSION - 1
    for document in kept:
        for step in STEPS[document["format_version"] - 1 :]:
            before = copy.deepcopy(document)
            stepped = step(document)
            assert document == before
            document = stepped
        present = Bandit.from_dict({**document, "format_version": _VERSION})
        assert present.to_dict() == {**document, "format_version": _VERSION}


@pytest.mark.parametrize("policy", ["mine:a=1", "mine"])
def test_the_first_files_do_not_say_whose_policy_it_is(policy):
    saved = json.loads((DATA / "bandit_ucb.json").read_text())
    with pytest.raises(ValueError, match="was saved with a policy of your own, 'mine"):
        Bandit.from_dict({**saved, "policy": policy})


@pytest.mark.parametrize(
    "change", [{"seed": "one"}, {"seed": -1}, {"seed": 10**5000}, {"policy": 3}]
)
def test_a_damaged_file_of_an_older_format_is_one_sentence(change):
    saved = json.loads((DATA / "bandit_ucb.json").read_text()) | change
    with pytest.raises(ValueError, match=r"^this dictionary [^\n]{,200}\.$"):
        Bandit.from_dict(saved)


@pytest.mark.parametrize("text", SETTINGS)
def test_goes_on_bit_for_bit_from_stored_parts(text):
    """Without a file, from plain numbers as a database returns them."""
    rules = {"minimize": True, "strict": True, "rng": 9, **scale(text)}
    bandit = Bandit(["a", "b", 3, "d"], make(text), 60, **rules)
    bandit.tell(bandit.ask(6), [0, 1, 1, 0, 1, 1])
    bandit.retire("b")
    bandit.ask(4)
    parts = bandit.to_parts()
    rows = {name: parts[name].tolist() for name in "pulls open sums active stream memory".split()}
    again = Bandit.from_parts(**parts | rows)
    assert again.to_dict() == bandit.to_dict()
    played = bandit.ask(20)
    assert again.rounds == 10  # nothing is shared
    assert again.ask(20) == played
    assert again.to_dict() == bandit.to_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pulls": [1, 2]}, "pulls must hold 3 numbers, got an array of shape (2,)."),
        ({"pulls": [1, 0.5, 1]}, "pulls must hold whole numbers from 0 to 2^53."),
        ({"pulls": [1, math.nan, 1]}, "pulls must hold whole numbers from 0 to 2^53."),
        ({"open": [0, -1, 0]}, "open must hold whole numbers from 0 to 2^53."),
        ({"open": ["many"] * 3}, "open must be a list of numbers, got ['many', 'many', 'many']."),
        ({"sums": [0.5, 0.5, 1.0]}, "sums must be finite, and 0 where there are no pulls."),
        ({"sums": [math.nan, 0.0, 1.0]}, "sums must be finite, and 0 where there are no pulls."),
        ({"rounds": 2}, "rounds must be at least the pulls and open asks of all arms."),
        ({"rounds": 3.5}, "rounds must be a whole number, got 3.5."),
        ({"stream": [0, 0, 0, 0]}, "stream must not be all zeros."),
        ({"stream": [1, 2, 3]}, "stream must hold 4 numbers, got an array of shape (3,)."),
        ({"stream": [1, 2, 3, "x"]}, "stream must be a list of numbers, got [1, 2, 3, 'x']."),
        ({"active": [False] * 3}, "at least one arm must be active."),
        ({"memory": [math.nan] * 6}, "memory must hold finite numbers."),
        ({"memory": [0.0]}, "memory must hold 6 numbers, got an array of shape (1,)."),
        ({"horizon": 0}, "horizon must be at least 1, got 0."),
    ],
)
def test_parts_that_do_not_fit_are_one_sentence(change, message):
    parts = Bandit.from_dict(saved()).to_parts()
    with pytest.raises((TypeError, ValueError)) as caught:
        Bandit.from_parts(**parts | change)
    assert str(caught.value) == message


def test_parts_of_a_policy_that_counts_successes():
    parts = Bandit("ab", BERNOULLI, 60, bounds=(0, 1)).to_parts()
    parts |= {"pulls": [3, 1], "rounds": 4}
    assert Bandit.from_parts(**parts | {"sums": [2, 1]}).rounds == 4
    for sums in ([2.5, 1], [-1, 1], [2, 2]):
        with pytest.raises(ValueError, match=r"^sums must be numbers of successes, at most"):
            Bandit.from_parts(**parts | {"sums": sums})


ALONE = """
import sys, ocucb
ocucb.Bandit("ab", "ucb", 10, sigma=1)
parts = {name.split(".")[1] for name in sys.modules if name.startswith("ocucb.")}
print(*sorted(parts & {"simulation", "blocks", "scheduler", "store", "results", "paper", "theory"}))
"""


def test_a_bandit_needs_no_simulation():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_policy_of_your_own_is_saved_by_name(tmp_path):
    @ocucb.choice_policy(memory=lambda arms: 2)
    def stubborn(t, horizon, pulls, sums, sigma, memory, stream, share=0.5):
        memory[0] = math.inf
        memory[1] += 1.0
        return int(memory[1]) % pulls.size

    path = tmp_path / "own.json"
    bandit = Bandit("ab", stubborn(share=0.25), 10, sigma=1)
    bandit.ask(5)
    bandit.save(path)
    with pytest.raises(ValueError, match=r"policy of your own, 'stubborn:share=0\.25'"):
        Bandit.load(path)
    with pytest.raises(ValueError, match=r"not 'stubborn:share=0\.5'"):
        Bandit.load(path, policy=stubborn)
    again = Bandit.load(path, policy=stubborn(share=0.25))
    assert again.to_dict() == bandit.to_dict()
    assert again.ask(4) == bandit.ask(4)


KILL = """
import json, os, random, signal, sys, time
from contextlib import contextmanager
import ocucb, ocucb.live.base

path, atomic = sys.argv[1], sys.argv[2] == "atomic"
if not atomic:
    @contextmanager
    def plain(path):
        with open(path, "w") as file:
            yield file
    ocucb.live.base.replacing = plain
ocucb.Bandit(range(1500), "ocucb", 10**6, sigma=1, rng=1).save(path)
chance, torn, moved, last = random.Random(4), 0, 0, 0
for _ in range(40 if atomic else 15):
    saves, saved = os.pipe()
    child = os.fork()
    if child == 0:
        bandit = ocucb.Bandit.load(path)
        while True:
            for arm in bandit.ask(50):
                bandit.tell(arm, 0.5)
            bandit.save(path)
            os.write(saved, b".")
    os.read(saves, 1)  # it saves over and over; any moment will do
    time.sleep(chance.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(saves)
    os.close(saved)
    try:
        bandit = ocucb.Bandit.load(path)
    except ValueError:
        torn += 1
        ocucb.Bandit(range(1500), "ocucb", 10**6, sigma=1, rng=1).save(path)
        last = 0
        continue
    state = bandit.to_dict()
    assert sum(state["pulls"]) == state["rounds"] >= last and state["rounds"] % 50 == 0, state
    moved += state["rounds"] > last
    last = state["rounds"]
print(json.dumps({"torn": torn, "moved": moved}))
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="the killer forks")
def test_a_kill_leaves_the_old_or_the_new_file(tmp_path):
    """40 kills at random moments; a writer that is not atomic is caught by the same test."""
    outcomes = {}
    for kind in ("atomic", "plain"):
        done = subprocess.run(
            [sys.executable, "-c", KILL, tmp_path / "state.json", kind],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        outcomes[kind] = json.loads(done.stdout)
    assert outcomes["atomic"]["torn"] == 0
    assert outcomes["atomic"]["moved"] == 40
    assert outcomes["plain"]["torn"] > 0


def saved():
    bandit = Bandit(["a", "b", "c"], ocucb.ImprovedUCB(), 100, bounds=(0, 1), rng=1)
    bandit.ask(2)
    bandit.tell(["a", "c"], [0.5, 1])
    bandit.retire("c")
    return bandit.to_dict()


DAMAGE = [
    {"policy": 7},
    {"policy": "ocucb:alpha=-1"},
    {"horizon": 0},
    {"horizon": "many"},
    {"bounds": None, "sigma": None},
    {"bounds": [1, 0]},
    {"bounds": [0]},
    {"bounds": None, "sigma": -1.0},
    {"minimize": "yes"},
    {"seed": "one"},
    {"rounds": 1},
    {"rounds": 2.5},
    {"stream": ["0", "0", "0", "0"]},
    {"stream": ["1", "2", "3"]},
    {"stream": ["1", "2", "3", "10000000000000000"]},
    {"memory": [0.0]},
    {"memory": ["nan"] * 6},
    {"arms": ["a", "a", "c"]},
    {"arms": "abc"},
    {"arms": [True, "b", "c"]},
    {"arms": ["a", "b"]},
    {"pulls": [1, -1, 1]},
    {"pulls": [1, 0.5, 1]},
    {"pulls": [0, 0, 0]},
    {"pulls": 3},
    {"open": [0, 1]},
    {"sums": [0.5, math.nan, 1.0]},
    {"sums": ["0.5", 0.0, 1.0]},
    {"sums": [0.5, 0.5, 1.0]},
    {"sums": None},
    {"retired": ["d"]},
    {"retired": ["a", "b", "c"]},
    {"policy": BERNOULLI, "memory": [0.0] * 2, "horizon": 60},
]


@pytest.mark.parametrize("change", DAMAGE, ids=str)
def test_damaged_state_is_one_sentence(change, tmp_path):
    path = tmp_path / "state.json"
    text = json.dumps({**saved(), **change})
    path.write_text(text)
    with pytest.raises(ValueError, match=r"state\.json is damaged: [^\n]+\.$"):
        Bandit.load(path)
    assert path.read_text() == text


def test_other_files_are_one_sentence(tmp_path):
    path = tmp_path / "state.json"
    document = saved()
    whole = json.dumps(document).encode()
    for key in document:
        rest = {name: value for name, value in document.items() if name != key}
        if key != "version":
            with pytest.raises(ValueError, match=r"^this dictionary [^\n]+\.$"):
                Bandit.from_dict(rest)
    wrong = [whole[:cut] for cut in range(0, len(whole), 7)]
    wrong += [b"\xff\xfe", b"[]", b"3", b"null", b'{"format": "ocucb-simulation"}', b"[" * 10**5]
    for data in wrong:
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"is not a bandit that ocucb saved[^\n]*\.$"):
            Bandit.load(path)
        assert path.read_bytes() == data
    for wrong, words in ((5, "it, or a newer one"), (0, "it"), (True, "it"), ("3", "it")):
        path.write_text(json.dumps({**document, "format_version": wrong}))
        reads = f"saved in format {wrong!r}, and this ocucb reads formats 1 to 4"
        with pytest.raises(ValueError, match=f"{reads}; use the version that saved {words}\\.$"):
            Bandit.load(path)
    with pytest.raises(ValueError, match="saved in format a whole number of about 5001 digits, "):
        Bandit.from_dict({**document, "format_version": 10**5000})
    with pytest.raises(FileNotFoundError):
        Bandit.load(tmp_path / "nothing.json")


def test_a_save_that_fails_leaves_the_old_file(tmp_path):
    bandit = Bandit("ab", "ocucb", 100, sigma=1)
    bandit.save(tmp_path / "state.json")
    before = (tmp_path / "state.json").read_text()
    bandit._rules = None  # something that cannot be saved
    with pytest.raises(AttributeError):
        bandit.save(tmp_path / "state.json")
    assert (tmp_path / "state.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("arm", [True, False, np.True_], ids=repr)
def test_a_truth_value_is_no_arm(arm):
    bandit = Bandit([0, 1, 2], "ocucb", 100, sigma=1)
    before = bandit.to_dict()
    told = [lambda: bandit.tell(arm, 0.5), lambda: bandit.tell([2, arm], [0.5, 0.5])]
    for wrong in (*told, lambda: bandit.play(arm), lambda: bandit.cancel(arm)):
        words = rf"^unknown arm {bool(arm)}; this bandit has 0, 1, 2\.$"
        with pytest.raises(ValueError, match=words):
            wrong()
    assert bandit.to_dict() == before
    bandit.tell(np.int64(1), 0.5)
    assert bandit.to_dict()["pulls"] == [0, 1, 0]


def test_names_of_many_kinds():
    class Colour(str, enum.Enum):  # noqa: UP042 - whose text is not its value
        RED = "red"

    class Number(enum.IntEnum):
        ONE = 1

    bandit = ocucb.Bandit([Colour.RED, Number.ONE], "ucb", 100, sigma=1)
    assert [type(name) for name in bandit.arms] == [str, int]
    bandit.tell(Colour.RED, 1.0)
    bandit.tell("red", 1.0)
    bandit.tell(Number.ONE, 1.0)
    bandit.tell(collections.deque(["red", 1]), range(2))
    assert bandit.summary().pulls.tolist() == [3, 2]
    with pytest.raises(ValueError, match="unknown arm array"):
        bandit.tell(np.array(7), [1.0])


def test_new_files_get_the_permissions_of_new_files(tmp_path):
    bandit = ocucb.Bandit("ab", "ucb", 100, sigma=1)
    old = os.umask(0o027)
    try:
        bandit.save(tmp_path / "new.json")
    finally:
        os.umask(old)
    assert (tmp_path / "new.json").stat().st_mode & 0o777 == 0o640
    (tmp_path / "new.json").chmod(0o600)
    bandit.save(tmp_path / "new.json")
    assert (tmp_path / "new.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["kl-ucb", "kl-ucb-plus-plus", "imed", "kl-maillard"])
def test_losses_in_the_unit_interval_survive_a_load_bit_for_bit(text):
    """Such losses are kept as 1 - loss; saved as losses and back, no sum may round."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        bandit = ocucb.Bandit("abc", text, 5000, bounds=(0, 1), minimize=True, rng=seed)
        for _ in range(200):
            losses = rng.choice([0.99, 0.9, 0.3, 1e-9, 1 / 3, 1.7, -0.2])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # some lie outside
                bandit.tell(bandit.ask(), float(losses))
        again = ocucb.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
        assert again._state.arms["sum"].tolist() == bandit._state.arms["sum"].tolist()
        assert again.ask(50) == bandit.ask(50)
