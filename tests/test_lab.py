"""The lab without a browser: states, bits, shares of the processor, limits, and what is refused."""

from __future__ import annotations

import csv
import itertools
import json
import shlex
import threading

import numpy as np
import pytest
from starlette.testclient import TestClient

import ocucb
from helpers import wait_until
from ocucb import cli
from ocucb.lab import payload
from ocucb.lab.app import PRIVATE, PUBLIC, House, create_lab
from ocucb.lab.crew import Account, Crew
from ocucb.lab.race import race_of
from ocucb.lab.rounds import Limits, _extend, _prepared, rungs, sharpen, sharpen_gaps
from ocucb.lab.state import KINDS, Setting, State, code_of, read
from ocucb.lab.stories import STORIES
from ocucb.lab.visitors import Busy, Visitors
from ocucb.policies import FAMILIES

SMALL = "means=0,-0.4&horizon=500&policy=ocucb&policy=ucb&race=60"
QUICK = Limits(precision=0.05, seconds=5.0)


@pytest.fixture
def crew():
    made = Crew(2)
    yield made
    made.end()


def silent(word: str) -> None:
    """Say nothing."""


# Addresses


@pytest.mark.parametrize(
    "query",
    [
        "",
        SMALL,
        "rewards=bernoulli&means=0.02,0.01,0.005&horizon=1000000000&policy=kl-ucb:c=1.5&seed=7",
        "means=0,-0.30000000000000004&sigma=1,2.5&policy=ucb&policy=ucb:constant=8",
        "means=1&rewards2=bernoulli&means2=0.5,0.4&policy=thompson&run=3",
        *(story.address for story in STORIES),
    ],
)
def test_an_address_restores_its_state(query):
    state = read(query)
    assert read(state.address) == state
    assert read(state.address).address == state.address


def test_the_registry_is_all_policies_and_every_slider_is_valid():
    known = payload.registry()
    assert {one["name"] for one in known["policies"]} == {*FAMILIES}
    assert set(known["kinds"]) == {*KINDS}
    for one in known["policies"]:
        for slider in one["parameters"]:
            assert slider["low"] <= slider["default"] <= slider["high"], one
            assert slider["scale"] == "linear" or slider["low"] > 0.0, one
            for end in ("low", "high"):
                valid = FAMILIES[one["name"]].valid.get(slider["name"])
                assert valid is None or valid.holds(slider[end]), (one["name"], slider)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("means=0,-0.3&means=1", "only once"),
        ("mean=0", "did you mean means"),
        ("means=0,x", "must be a number"),
        ("means=nan,0", "must lie between"),
        ("means=1e9", "must lie between"),
        ("means=" + ",".join("0" * 13), "at most 12 arms"),
        ("rewards=bernoulli&means=0.5,1.5", "between 0 and 1"),
        ("rewards=bernoulli&means=0.5,0.4&sigma=1", "does not apply"),
        ("rewards=__import__('os')", "unknown kind"),
        ("sigma=1,2,3", "one for each of the 2 arms"),
        ("sigma=0", "must lie between"),
        ("horizon=1e10", "at most 1,000,000,000"),
        ("horizon=0", "at least 1"),
        ("policy=nobody", "unknown policy"),
        ("policy=ocucb:alpha=-1", "must be > 0"),
        ("policy=ocucb:alpha=inf", "finite"),
        ("policy=ocucb:beta=1", "no parameter"),
        ("policy=open('/etc/passwd')", "must be a name and numbers"),
        ("policy=" + "a" * 101, "must be a name and numbers"),
        ("policy=lin-ucb", "arms with features"),
        ("policy=beta-thompson", "plays Bernoulli rewards only"),
        ("policy=ucb&policy=UCB", "must differ"),
        ("policy=gittins&horizon=100000", "horizons up to 10,000"),
        ("&".join(f"policy=ucb:constant={c}" for c in range(1, 8)), "at most 6 policies"),
        ("seed=-1", "at least 0"),
        ("race=2001", "at most 2,000"),
    ],
)
def test_whatever_cannot_be_played_is_one_sentence(query, words):
    with pytest.raises(ValueError, match=words):
        read(query)


# Bits


def python_of(code, name):
    """Run the printed Python but for its last line, which writes a file."""
    names: dict = {}
    exec(code.python.rpartition("\n")[0], names)
    return names[name]


def command_of(code, option, path):
    """Run the printed command, which writes CSV to a path in place of a picture."""
    words = shlex.split(code.command)
    place = words.index(option)
    words[place : place + (1 if option == "--json" else 2)] = ["--csv", str(path)]
    cli.app(words[1:], standalone_mode=False)
    return path.read_bytes()


@pytest.mark.parametrize(
    "query",
    [SMALL, f"{SMALL}&sigma=1,0.5", "rewards=bernoulli&means=0.5,0.3&horizon=500&policy=ocucb"],
)
def test_python_and_command_give_each_round_to_the_bit(query, crew, tmp_path, capsys):
    state = read(query)
    rounds = sharpen(state, crew.lane(Account()), Limits(precision=1e-9), silent)
    known = list(itertools.islice((one for one in rounds if one.whole), 3))
    assert [one.runs for one in known[:3]] == [256, 384, 512]
    for number in (0, 2):
        shown = known[number].result
        code = code_of(state, "regret", 0, known[number].runs)
        again = python_of(code, "result")
        for mine, its in zip(shown, again, strict=True):
            for name in ("regret", "stderr", "pulls", "histogram", "optimal"):
                assert np.array_equal(getattr(mine, name), getattr(its, name)), name
    mine, its = tmp_path / "lab.csv", tmp_path / "command.csv"
    shown.to_csv(mine)
    # The name of the problem and the like are the same as well.
    assert command_of(code, "--plot", its) == mine.read_bytes()


def test_rounds_are_whole_blocks():
    """Each ends where a block ends, for every size that blocks may have at most."""
    blocks = ocucb.simulation.specify(
        ocucb.UCB(), ocucb.gap(), 100, np.array([100]), 1, "step"
    ).block_from
    ends, first = {0}, 0
    while first < 65_536:
        first += blocks(first)
        ends.add(first)
    assert {*rungs()} <= ends


def test_rounds_that_cut_blocks_short_are_played_again(crew):
    """As for a fast policy beside a slow one, whose first rounds are small."""
    state = read("means=0,-0.4&horizon=500&policy=ucb")
    job = _prepared(state, state.players[0], state.settings[0].problem)
    for runs in (4, 16, 64, 96, 128):
        _extend([job], runs, crew.lane(Account()))
        plain = ocucb.simulate(
            "ucb", ocucb.gaussian([0.0, -0.4], 1.0), 500, runs, rng=1, sampling="plain"
        )
        assert job.merged.runs == runs
        assert np.array_equal(job.result[0].regret, plain[0].regret)
        assert np.array_equal(job.result[0].stderr, plain[0].stderr)


def test_slow_policies_are_played_plainly_or_refused(crew):
    slow = read("means=0,-0.5&horizon=3000000&policy=uniform")
    assert slow.sampling == "plain"
    assert 'sampling="plain"' in code_of(slow, "regret").python
    assert "--sampling plain" in code_of(slow, "regret").command
    with pytest.raises(ValueError, match="choose a smaller horizon"):
        next(
            sharpen(read("policy=uniform&horizon=1000000000"), crew.lane(Account()), QUICK, silent)
        )


def test_the_curve_over_the_gap_is_that_of_its_python_and_command(crew, tmp_path, capsys):
    state = read("means=0,-0.4&horizon=200&policy=ocucb")
    first = next(sharpen_gaps(state, 0, crew.lane(Account()), QUICK, silent))
    code = code_of(state, "gaps", 0, 256)
    again = python_of(code, "result")
    assert np.array_equal(first.regret, again[0].regret)
    assert np.array_equal(first.stderr, again[0].stderr)
    lines = command_of(code, "--plot", tmp_path / "gaps.csv").decode().splitlines()
    written = [float(row["mean_regret"]) for row in csv.DictReader(lines)]
    assert written == first.regret.tolist()
    assert code_of(read("rewards=bernoulli&means=0.5,0.4"), "gaps").command == ""


@pytest.mark.parametrize(
    "query", [SMALL, "rewards=bernoulli&means=0.5,0.3&horizon=500&policy=kl-ocucb&race=60"]
)
def test_the_arm_with_the_largest_index_is_played(query):
    """In every round but those with ties, for a bonus and for a budget of Bernoulli rewards."""
    state = read(query)
    for number, _ in enumerate(state.players):
        run, found = race_of(state, 0, number)
        assert found is not None
        assert np.isnan(found[:2]).all()
        for row, arm in zip(found[2:], run.arms[2:], strict=True):
            assert row[arm] == row.max(), "the engine's choice"
    assert race_of(read("policy=uniform&horizon=50"), 0, 0)[1] is None


def test_the_race_is_that_of_its_python_and_command(tmp_path, capsys):
    state = read(SMALL)
    run = race_of(state, 0, 1)[0]
    code = code_of(state, "race", policy=1)
    assert np.array_equal(python_of(code, "run").rewards, run.rewards)
    run.to_csv(tmp_path / "lab.csv")
    written = command_of(code, "--plot", tmp_path / "command.csv")
    assert written == (tmp_path / "lab.csv").read_bytes()


# Shares of the processor


def test_a_free_thread_plays_for_whoever_has_had_the_least():
    """While one thread is held, two visitors queue; the one who has had less is served first."""
    crew, served, hold = Crew(1), [], threading.Event()
    greedy, modest = Account(), Account()
    greedy.add(100.0)
    flag = np.zeros(1, dtype=np.bool_)
    lanes = {"greedy": crew.lane(greedy), "modest": crew.lane(modest)}
    lanes["greedy"].submit(lambda stop: hold.wait(30), flag)
    tasks = [
        lanes[name].submit(lambda name, stop: served.append(name), name, flag)
        for name in ("greedy", "greedy", "modest", "modest")
    ]
    hold.set()
    for task in tasks:
        task.result(30)
    assert served == ["modest", "modest", "greedy", "greedy"]
    assert greedy.recent > 50.0
    crew.end()


def test_closing_a_lane_stops_what_is_played_and_drops_the_rest():
    """The task would otherwise go on until the test fails."""
    crew, began = Crew(1), threading.Event()
    lane, flag = crew.lane(Account()), np.zeros(1, dtype=np.bool_)

    def endless(stop):
        began.set()
        while not stop[0]:
            pass

    running, waiting = lane.submit(endless, flag), lane.submit(endless, flag)
    assert began.wait(30)
    lane.close()
    running.result(30)
    assert waiting.cancelled()
    assert lane.submit(endless, flag).cancelled(), "nothing more is taken"
    crew.end()


def test_cancelling_frees_the_processor():
    """A state that takes minutes: kernels stop in the middle of a run."""
    crew = Crew(2)
    lane, said = crew.lane(Account()), []
    state = read("means=0,-0.5&horizon=100000000&policy=uniform")
    ended = threading.Event()

    def play():
        try:
            for _ in sharpen(state, lane, Limits(), said.append):
                pass
        except BaseException as error:
            said.append(error)
        ended.set()

    threading.Thread(target=play, daemon=True).start()
    wait_until(
        lambda: (
            (any("first runs" in str(word) for word in said) and not lane.waiting) or ended.is_set()
        ),
        "play",
    )
    lane.close()
    assert ended.wait(30)
    crew.end()  # joins its threads, so they are free
    assert isinstance(said[-1], BaseException)


# Limits


def test_visitors_have_limits():
    visitors = Visitors(each=2, most=3, rate=1.0)
    with visitors.visit("a"), visitors.visit("a"):
        with pytest.raises(Busy, match="too many of your pages"), visitors.visit("a"):
            pass
        with visitors.visit("b"):
            assert visitors.streams == 3
            with pytest.raises(Busy, match="full"), visitors.visit("c"):
                pass
    assert visitors.streams == 0
    fast = Visitors(each=2, most=3, rate=1e-9)
    with pytest.raises(Busy, match="faster"), fast.visit("a"):
        pass


def test_memory_of_visitors_is_bounded():
    visitors = Visitors(each=2, most=3, rate=10.0)
    for number in range(5000):
        with visitors.visit(str(number)):
            pass
    assert len(visitors._known) == 4096
    assert not visitors._open


# HTTP


@pytest.fixture(scope="module")
def client():
    with TestClient(create_lab(House(QUICK))) as made:
        yield made


def events(answer) -> list[tuple[str, object]]:
    parts = [part.split("\n") for part in answer.text.strip().split("\n\n")]
    return [(a.removeprefix("event: "), json.loads(b.removeprefix("data: "))) for a, b in parts]


def test_numbers_arrive_as_they_sharpen_and_can_be_taken_away(client):
    found = events(client.get(f"/runs?{SMALL}"))
    kinds = [kind for kind, _ in found]
    assert kinds[0] == "about"
    assert kinds[-1] == "done"
    state = read(SMALL)
    assert found[0][1]["address"] == state.address
    numbers = [content for kind, content in found if kind == "numbers"]
    assert [len(one["policies"]) for one in numbers[:3]] == [1, 1, 2], "first one by one"
    last = numbers[-1]
    again = python_of(code_of(state, "regret", 0, last["runs"]), "result")
    assert last["policies"][1]["regret"] == again[1].regret.tolist()
    for figure in ("regret", "tails", "shares"):
        for ending, head in (("csv", b"p"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
            place = f"/take/{figure}/0/{last['runs']}/{figure}.{ending}?{state.address}"
            file = client.get(place)
            assert file.status_code == 200, file.text
            assert file.content.startswith(head)
    gone = client.get(f"/take/regret/0/77/regret.csv?{state.address}")
    assert gone.status_code == 410


def test_the_shares_as_text_add_up(client):
    state = read(SMALL)
    runs = [content for kind, content in events(client.get(f"/runs?{SMALL}")) if kind == "numbers"]
    text = client.get(f"/take/shares/0/{runs[-1]['runs']}/shares.csv?{state.address}").text
    rows = [line.split(",") for line in text.splitlines()[1:]]
    assert sum(float(row[-1]) for row in rows if row[0].startswith("ucb")) == pytest.approx(1.0)


def test_what_is_refused_is_an_event_or_a_status(client):
    assert events(client.get("/runs?policy=nobody"))[-1][0] == "refused"
    assert client.get("/about?policy=nobody").status_code == 422
    assert client.get(f"/race/1/0?{SMALL}").status_code == 422
    assert client.get(f"/race/0/5?{SMALL}").status_code == 422
    assert client.get(f"/take/regret/0/256/../../passwd?{SMALL}").status_code in (404, 422)
    assert client.get(f"/take/secret/0/256/secret.csv?{SMALL}").status_code == 422
    assert client.get("/openapi.json").status_code == 404


def test_every_answer_has_the_strict_policy_and_the_page_has_no_inline_script(client):
    for path in ("/", "/registry", "/static/lab.js", "/shared/page.css", "/nowhere"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    page = client.get("/").text
    assert page.count("<script") == 2
    assert page.count("<script src=") + page.count('<script type="module" src=') == 2
    assert " style=" not in page
    assert " onclick=" not in page


def test_page_and_scripts_are_small(client):
    """Below 1.5 MB, the chart library included."""
    files = ["", "charts/Chart.bundle.js", "shared/page.css", "shared/page.js", "static/lab.css"]
    files += [f"static/{name}.js" for name in "lab state stream bars controls charts race".split()]
    assert sum(len(client.get(f"/{name}").content) for name in files) < 1_500_000


def test_the_public_house_is_stricter():
    assert PUBLIC.limits.seconds < PRIVATE.limits.seconds
    assert PUBLIC.limits.longest_run < PRIVATE.limits.longest_run
    assert PUBLIC.rate < PRIVATE.rate
    with TestClient(create_lab(House(QUICK, each=2, most=2, rate=0.2))) as small:
        statuses = [small.get(f"/race/0/0?{SMALL}").status_code for _ in range(4)]
        assert statuses == [200, 200, 429, 429]


def test_other_machines_need_public(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.app(["lab", "--host", "0.0.0.0"])
    assert ended.value.code == 2
    assert "--public" in capsys.readouterr().err


def test_bounds_are_those_of_the_theory():
    state = State((Setting(means=(0.0, -0.5)),), 10_000)
    found = {one["statement"]: one["value"] for one in payload.bounds(state, 0)}
    assert found["lai_robbins"] == ocucb.theory.lai_robbins([0.0, -0.5], 10_000).value
    unequal = State((Setting(sigma=(1.0, 2.0)),))
    assert payload.bounds(unequal, 0) == []
