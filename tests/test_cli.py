"""The command line as people and programs meet it: in a process of its own."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import ocucb
from helpers import run, run_with_folder
from ocucb.cli.shared import report_errors
from ocucb.policies import FAMILIES, LINEAR
from ocucb.specification import Specification


def test_simulate_prints_a_table():
    call = (
        "simulate --policy ocucb --policy moss:constant=4 --means 0,-0.3 --horizon 1e3 --runs 200"
    )
    done = run(*call.split(), "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    expected = ocucb.simulate(
        ["ocucb", "moss:constant=4"], ocucb.gaussian([0, -0.3]), 1000, 200, rng=1
    )
    without_time = re.compile(r"\d+\.\d+$", re.MULTILINE)
    assert without_time.sub("", done.stdout.strip()) == without_time.sub("", expected.table())


def test_the_default_is_the_best_we_know():
    done = run(*"simulate --means 0.03,0.02 --rewards bernoulli -n 50 -r 5 --json".split())
    played = [row["policy"].partition(":")[0] for row in json.loads(done.stdout)]
    assert played == ["kl-ocucb", "ucb", "moss"]
    assert "kl-ocucb" in " ".join(run("simulate", "--help").stdout.split())


def test_what_libraries_tell_each_other_is_no_note(capsys):
    class Deprecated(UserWarning, DeprecationWarning):
        """As pyparsing has it, of which older versions of matplotlib make use."""

    report_errors(lambda: warnings.warn("use the other one", Deprecated, stacklevel=1))()
    report_errors(lambda: warnings.warn("mind the gap", UserWarning, stacklevel=1))()
    assert capsys.readouterr().err == "Note: mind the gap\n"


def test_json_is_one_array_and_nothing_else():
    done = run(
        *"simulate -p ocucb:alpha=1 -p ucb --problem gap:K=3,gap=0.5 -n 500 -r 50 --json".split()
    )
    assert done.returncode == 0
    rows = json.loads(done.stdout)
    assert [row["policy"] for row in rows] == ["ocucb:alpha=1,psi=2", "ucb:constant=2"]
    keys = "policy horizon runs mean_regret stderr quantiles mean_pulls".split()
    keys += "pulls_deviation coverage engine seconds".split()
    keys += "deviation failure wrong simple_regret stopped stopping_time".split()
    keys += (
        "change since_change recovery sampling control_variates effective_runs mean_weight".split()
    )
    assert all(list(row) == keys for row in rows)
    assert rows[0]["horizon"] == 500
    assert rows[0]["runs"] == 50
    assert "Note: OCUCB with alpha = 1" in done.stderr


def test_problems_rewards_and_files(here, tmp_path):
    call = ["simulate", "-p", "ucb", "-r", "20", "--seed", "3", "--json"]

    def means(*more: str) -> dict:
        status, out, err = here(*call, *more)
        assert status == 0, err
        return json.loads(out)[0]

    assert len(means("--problem", "uniform:K=7", "-n", "99")["mean_pulls"]) == 7
    assert means("--problem", "moss-failure:K=6")["horizon"] == 216
    assert means("--problem", "conjecture:K=6")["horizon"] == 36
    assert means("--problem", "conjecture:K=6", "--rewards", "uniform")["horizon"] == 36
    coins = means("--means", "0.5,1/4", "--rewards", "bernoulli", "-n", "200")
    problem = ocucb.bernoulli([0.5, 0.25])
    assert coins["mean_regret"] == ocucb.simulate("ucb", problem, 200, 20, rng=3)[0].mean_regret
    unequal = "simulate -p ucb -r 20 --problem gap:K=2,gap=0.3 --sigma 1,0.2 -n 200"
    assert "Policies were told sigma = 1, the largest of the arms'." in here(*unequal.split())[1]
    even = means("--means", "0,-1", "--rewards", "uniform", "--sigma", "2", "-n", "200")
    problem = ocucb.uniform_rewards([0, -1], 2 * 3**0.5)
    assert even["mean_regret"] == ocucb.simulate("ucb", problem, 200, 20, rng=3)[0].mean_regret
    files = {name: tmp_path / f"out.{name}" for name in ("png", "csv", "json")}
    means(
        *("--means", "0,-1", "--sigma", "1,2", "-n", "200", "--checkpoints", "10,100"),
        *("--plot", str(files["png"]), "--csv", str(files["csv"]), "--save", str(files["json"])),
    )
    assert files["csv"].read_text().count("\n") == 4
    assert ocucb.SimulationResult.load(files["json"])[0].checkpoints.tolist() == [10, 100, 200]
    assert files["png"].stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("-p nope --means 0,1 -n 10", "unknown policy 'nope'; choose from adaucb"),
        ("-p ucb:beta=1 --means 0,1 -n 10", "no parameter 'beta'; it has constant"),
        ("-p ucb:constant=-1 --means 0,1 -n 10", "constant must be > 0, got -1"),
        ("-p ucb --means 0,nan -n 10", "means must be finite, got nan for arm 2"),
        ("-p ucb --means 0,inf -n 10", "means must be finite, got inf for arm 2"),
        ("-p ucb --means 0,x -n 10", "--means must be a number, got 'x'"),
        ("-p ucb --means 0,1 --sigma 0 -n 10", "sigma must be greater than 0, got 0"),
        ("-p ucb --means 0,1 -n 0", "horizon must be at least 1, got 0"),
        ("-p ucb --means 0,1 -n 1e400", "horizon must be at most"),
        ("-p ucb --means 0,1 -n 1e17", "horizon must be at most"),
        ("-p ucb --means 0,1 -n ten", "horizon must be a number, got 'ten'"),
        ("-p ucb --means 0,1 -n 10 --runs 0", "runs must be at least 1, got 0"),
        ("-p ucb --means 0,1 -n 10 --seed -1", "seed must be at least 0, got -1"),
        ("-p ucb --means 0,1.5 -n 10 --rewards bernoulli", "lie in [0, 1], got 1.5 for arm 2"),
        ("-p ucb --means 0,1 -n 10 --rewards pink", "unknown kind of reward 'pink'"),
        ("-p ucb --means 0,1 -n 10 --rewards bernoulli --sigma 1", "--sigma does not apply to"),
        ("-p ucb --means 0,1 -n 10 --engine warp", "unknown engine 'warp'"),
        ("-p ucb --means 0,1", "--horizon is missing"),
        ("-p ucb -n 10", "either with --means 0,-0.3 or with --problem"),
        ("-p ucb --means 0,1 --problem gap:K=2 -n 10", "either with --means"),
        ("-p ucb --problem gap:K=0 -n 10", "K must be at least 1, got 0"),
        ("-p ucb --problem nope -n 10", "unknown problem 'nope'"),
        ("-p ucb --means 0,1 -n 10 --plot x.txt", "ending must be one of"),
        ("-p ucb --means 0,1 -n 10 --csv no/such/dir/x.csv", "does not exist"),
    ],
)
def test_wrong_input_is_one_sentence_and_status_2(arguments, words, here):
    """In this process, for speed; the wrapper that turns errors into sentences is the same."""
    status, out, err = here("simulate", *arguments.split())
    assert (status, out) == (2, "")
    assert re.fullmatch(r"Error: .*\.\n", err), err
    assert words in err


CHEAP = "simulate -p uniform --means 0,-1 -n 10 -r 5 --seed 1".split()
EVERY_OUTPUT = [
    [*CHEAP, "--csv"],
    [*CHEAP, "--save"],
    [*CHEAP, "--plot"],
    ["trace", "-p", "uniform", "--means", "0,-1", "-n", "10", "--plot"],
    ["results", "none.db", "--csv"],
    ["results", "none.db", "--plot"],
    ["gittins", "9", "1", "--plot", "--out"],
    ["theory", "--means", "0,-1", "-n", "10", "--simulate", "--plot"],
    ["reproduce", "psi", "--runs", "2", "--out"],
]


@pytest.mark.parametrize("place", ["folder.png", "none/x.png", "file/x.png", "/proc/x.png"])
@pytest.mark.parametrize("command", EVERY_OUTPUT, ids=lambda words: f"{words[0]} {words[-1]}")
def test_outputs_are_tried_before_anything_is_played(command, place, here, monkeypatch, tmp_path):
    """Even by the superuser, who may write to a folder and yet not make files in /proc."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "file").touch()
    if command[0] == "reproduce":
        place = {"folder.png": "file", "none/x.png": "file/x"}.get(place, place)
    for name in ("prepare", "play"):
        monkeypatch.setattr(Specification, name, lambda *_: pytest.fail("it was played"))
    monkeypatch.setattr("ocucb.gittins.plot", lambda: pytest.fail("it was computed"))
    before = sorted(tmp_path.rglob("*"))
    status, out, err = here(*command, place)
    assert (status, out) == (2, "")
    assert re.fullmatch(rf"Error: {place} [^\n]+\.\n", err), err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("command", "place", "words"),
    [
        ([*CHEAP, "--store", "r.db", "--csv"], "r.db", "store itself"),
        ([*CHEAP, "--store", "r.db", "--save"], "./r.db", "store itself"),
        ([*CHEAP, "--store", "link.png", "--plot"], "link.png", "store itself"),
        ([*CHEAP, "--store", "r.db", "--plot-tail"], "link.png", "store itself"),
        ([*CHEAP, "--store", "new.db", "--csv"], "./new.db", "store itself"),
        (["results", "r.db", "--csv"], "r.db", "store itself"),
        (["results", "r.db", "--plot"], "link.png", "store itself"),
        ([*CHEAP, "--csv", "a.csv", "--save"], "./a.csv", "two outputs"),
        ([*CHEAP, "--plot", "a.png", "--plot-tail"], "a.png", "two outputs"),
        (["results", "r.db", "--plot", "a.png", "--plot-tail"], "a.png", "two outputs"),
        (["reproduce", "psi", "--runs", "2", "--out", "."], "index.html", "store itself"),
        (["league", "two", "--runs", "2", "--out", "."], "index.html", "store itself"),
    ],
)
def test_no_output_replaces_the_store_or_another_output(
    command, place, words, here, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    assert here(*CHEAP, "--store", "results.db")[0] == 0
    for name in ("r.db", "link.png", "index.html"):
        (tmp_path / name).symlink_to("results.db")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("prepare", "play"):
        monkeypatch.setattr(Specification, name, lambda *_: pytest.fail("it was played"))
    folder = command[0] in ("reproduce", "league")
    status, out, err = here(*command, *([] if folder else [place]))
    assert (status, out) == (2, "")
    assert re.fullmatch(rf"Error: {Path(place)} is [^\n]*{words}; [^\n]+\.\n", err), err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_special_file_may_be_named_for_two_outputs():
    done = run(*CHEAP, "--csv", "/dev/stdout", "--save", "/dev/stdout")
    assert (done.returncode, done.stderr) == (0, "")
    assert "mean_regret" in done.stdout
    assert '"policies"' in done.stdout


def test_a_folder_that_is_read_only_is_found_out_before_anything_is_played(tmp_path):
    (tmp_path / "old.csv").write_text("old")
    script = f"""
import sys
from ocucb.specification import Specification
from ocucb.cli import main
Specification.play = None
for name in ("old.csv", "new.csv"):
    sys.argv = ["ocucb", *{CHEAP}, "--csv", name]
    try:
        main()
    except SystemExit as end:
        print(end.code)
"""
    mount = "mount --bind . . && mount -o remount,ro,bind . && cd $PWD"
    done = run_with_folder(tmp_path, mount, script)
    assert done.stdout.split() == ["2", "2"], done.stderr
    for line, name in zip(done.stderr.splitlines(), ("old.csv", "new.csv"), strict=True):
        assert line.startswith(f"Error: {name} cannot be written: ")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_full_disk_costs_one_file_only(as_json, here, monkeypatch, tmp_path):
    picture, saved = tmp_path / "full.png", tmp_path / "saved.json"
    picture.symlink_to("/dev/full")
    files = ["--csv", "/dev/full", "--plot", picture, "--save", saved]
    status, out, err = here(*CHEAP, *files, *["--json"] * as_json)
    assert status == 1
    assert err.splitlines() == [
        f"Error: {name} cannot be written: No space left on device."
        for name in ("/dev/full", picture)
    ]
    result = ocucb.SimulationResult.load(saved)
    assert (
        out == (json.dumps([result[0].to_dict()], indent=1) if as_json else result.table()) + "\n"
    )


def test_a_full_disk_in_every_other_command(here, monkeypatch, tmp_path):
    store, picture, table = tmp_path / "results.db", tmp_path / "full.png", tmp_path / "regret.csv"
    picture.symlink_to("/dev/full")
    here(*CHEAP, "--store", store)
    for command, words in (
        (["results", store, "--plot", picture, "--csv", table], "Uniform"),
        (["theory", "--means", "0,-1", "-n", "10", "--plot", picture], "OCUCB, theorem 1"),
        (["gittins", "2", "1", "--plot", "--out", picture], "0."),
    ):
        status, out, err = here(*command)
        assert status == 1
        assert words in out
        assert err == f"Error: {picture} cannot be written: No space left on device.\n"
    assert table.read_text().count("\n") > 1
    folder = tmp_path / "reproduction"
    folder.mkdir()
    (folder / "psi.csv").symlink_to("/dev/full")
    status, out, err = here("reproduce", "psi", "--runs", 2, "--out", folder)
    assert status == 1
    assert out.splitlines()[-1] == str(folder / "index.html")
    assert err.splitlines()[1:] == [
        f"Error: {folder / 'psi.csv'} cannot be written: No space left on device."
    ]
    for name in ("fig-psi.png", "claims.csv", "index.html"):
        assert (folder / name).stat().st_size > 0


def test_a_file_that_becomes_a_folder_while_it_is_played(here, monkeypatch, tmp_path):
    late, saved = tmp_path / "late.csv", tmp_path / "saved.json"
    original = Specification.play

    def play(self, *arguments):
        late.mkdir(exist_ok=True)
        return original(self, *arguments)

    monkeypatch.setattr(Specification, "play", play)
    status, out, err = here(*CHEAP, "--csv", late, "--save", saved)
    assert status == 1
    assert out.startswith("policy")
    assert err == f"Error: {late} cannot be written: it is a folder.\n"
    assert sorted(tmp_path.iterdir()) == [late, saved]


def test_a_second_control_c_does_not_cost_the_numbers(here, monkeypatch, tmp_path):
    original = ocucb.SimulationResult.to_csv

    def impatient(self, path):
        signal.raise_signal(signal.SIGINT)
        original(self, path)

    monkeypatch.setattr(ocucb.SimulationResult, "to_csv", impatient)
    table = tmp_path / "regret.csv"
    status, out, err = here(*CHEAP, "--csv", table)
    assert (status, err) == (0, "")
    assert out.startswith("policy")
    assert table.exists()


FULL = "Error: standard output cannot be written: No space left on device.\n"


@pytest.mark.parametrize("words", ["policies", "policies --json", "--version", "policies --help"])
def test_standard_output_that_cannot_be_written(words):
    command = [sys.executable, "-m", "ocucb", *words.split()]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, FULL)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_files_are_written_though_standard_output_is_full(tmp_path):
    command = [sys.executable, "-m", "ocucb", *CHEAP, "--csv", str(tmp_path / "regret.csv")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, FULL)
    assert (tmp_path / "regret.csv").read_text().count("\n") > 1


def test_wrong_input_in_a_process():
    done = run(*"simulate -p nope --means 0,1 -n 10".split())
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: unknown policy 'nope'")
    assert run("simulate", "--nonsense").returncode == 2


def test_policies_lists_every_policy():
    done = run("policies")
    assert done.returncode == 0
    everything = FAMILIES | LINEAR
    for family in everything.values():
        assert family.name in done.stdout
        assert family.formula in done.stdout
    rows = json.loads(run("policies", "--json").stdout)
    assert {row["policy"] for row in rows} == set(everything)


def test_help_teaches_and_imports_nothing_heavy():
    assert not {"numba", "numpy", "matplotlib", "scipy"} & _modules_after_help()
    for command in "simulate trace policies gittins reproduce league theory analyse lab".split():
        text = run(command, "--help", env={**os.environ, "COLUMNS": "200"}).stdout
        assert "Example" in text
        assert f"ocucb {command}" in text


def _modules_after_help() -> set[str]:
    script = (
        "import sys\n"
        "sys.argv = ['ocucb', '--help']\n"
        "import ocucb.cli\n"
        "try:\n    ocucb.cli.main()\n"
        "except SystemExit:\n    print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    return set(done.stderr.split())


def test_examples_in_the_help_work(here, tmp_path, monkeypatch):
    """Every example of `ocucb simulate --help`, pasted as it stands (with fewer runs)."""
    monkeypatch.chdir(tmp_path)
    text = run("simulate", "--help", env={**os.environ, "COLUMNS": "200"}).stdout
    examples = re.findall(r"ocucb (simulate -.*?)\s*$", text, re.MULTILINE)
    assert len(examples) >= 3
    for example in examples:
        status, _, err = here(*example.split(), "--runs", "20")
        assert status == 0, (example, err)
    assert (tmp_path / "regret.png").exists()


def test_version():
    assert run("--version").stdout.strip() == f"ocucb {ocucb.__version__}"


ANNOUNCED = """
import os, runpy
from ocucb.specification import Specification
play = Specification.play
def announced(*arguments):
    os.write(2, b"playing\\n")  # whole lines, from several threads
    return play(*arguments)
Specification.play = announced
runpy.run_module("ocucb", run_name="__main__")
"""


def test_control_c_prints_what_was_finished():
    call = "simulate -p ucb -p thompson --means 0,-0.3 -n 1e4 --seed 1 --engine step".split()
    assert run(*call, "-r", "1").returncode == 0  # compiled from here on
    process = subprocess.Popen(
        [sys.executable, "-c", ANNOUNCED, *call, "-r", "100000000", "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for _ in range(12):  # two at a time: when the twelfth begins, some are finished
            assert process.stderr.readline() == "playing\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "Interrupted" in err
    assert out.splitlines()[1].startswith("UCB ")


NOTHING = "Interrupted before any run finished.\n"


@pytest.mark.parametrize("module", ["typer", "numpy", "numba"])
@pytest.mark.parametrize("way", ["module", "script"])
def test_control_c_during_imports_is_one_sentence(way, module, tmp_path):
    """A module of that name presses Ctrl-C when it is imported."""
    script = Path(sys.executable).with_name("ocucb")
    if way == "script" and not script.exists():
        pytest.skip("needs ocucb to be installed beside this Python")
    (tmp_path / f"{module}.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\nsignal.pause()\n"
    )
    command = [str(script)] if way == "script" else [sys.executable, "-m", "ocucb"]
    done = subprocess.run(
        [*command, *CHEAP],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", NOTHING)


@pytest.mark.parametrize("command", ["simulate", "theory", "reproduce"])
@pytest.mark.parametrize("moment", ["prepare", "play"])
def test_control_c_before_the_first_run_is_one_sentence(moment, command, tmp_path):
    words = {
        "simulate": [*CHEAP, "--csv", "regret.csv", "--store", "results.db"],
        "theory": "theory --means 0,-1 -n 10 --simulate -p uniform".split(),
        "reproduce": "reproduce psi --runs 2".split(),
    }[command]
    script = f"""
import os, runpy, signal, sys
from ocucb.specification import Specification
def interrupted(*_):
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
Specification.{moment} = interrupted
sys.argv[1:] = {words}
runpy.run_module("ocucb", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", NOTHING)
    assert not (tmp_path / "regret.csv").exists()


def test_control_c_in_a_reproduction_that_has_runs(tmp_path):
    """It says that they are kept."""
    assert run("reproduce", "psi", "--runs", "1", cwd=tmp_path).returncode == 0
    script = """
import runpy, signal, sys
from ocucb.specification import Specification
Specification.prepare = lambda self: signal.raise_signal(signal.SIGINT)
sys.argv[1:] = "reproduce psi --runs 2".split()
runpy.run_module("ocucb", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == (
        "Interrupted: the finished runs are kept in reproduction; the same command resumes.\n"
    )


def test_progress_only_on_a_terminal():
    call = (
        "simulate -p thompson --problem uniform:K=50 -n 1e4 -r 1200 --engine step --seed 1".split()
    )
    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ocucb", *call], stdout=subprocess.PIPE, stderr=secondary, text=True
    )
    os.close(secondary)
    shown = b""
    while True:
        try:
            piece = os.read(primary, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    out, _ = process.communicate(timeout=60)
    os.close(primary)
    assert b"Thompson sampling" in shown
    assert b"pulls/s" in shown
    assert "Thompson sampling" in out
    assert run(*call).stderr == ""


def test_tails_and_sampling(here, tmp_path):
    picture, drawn = tmp_path / "tail.png", tmp_path / "again.svg"
    store = str(tmp_path / "results.db")
    command = "simulate -p ocucb --means 0,-0.3 -n 500 -r 100 --seed 1 --sampling".split()
    status, out, _ = here(*command, "tilted", "--plot-tail", str(picture), "--store", store)
    assert status == 0
    assert "(tilted, mean weight" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "tilted" not in here(*command, "plain")[1]
    assert here("results", store, "--plot-tail", str(drawn))[0] == 0
    assert drawn.read_bytes().startswith(b"<?xml")
    status, _, err = here(*command, "often")
    assert (status, err.count("\n")) == (2, 1)
    assert "choose from auto, plain, tilted" in err


@pytest.mark.parametrize("command", [CHEAP, ["results", "none.db"]], ids=" ".join)
def test_the_picture_of_tails_is_tried_before_anything_is_played(command, here, monkeypatch):
    monkeypatch.setattr(Specification, "prepare", lambda self: pytest.fail("it was played"))
    for place, words in (("x.txt", "ending must be one of"), ("/nowhere/x.png", "/nowhere")):
        status, _, err = here(*command, "--plot-tail", place)
        assert status in (1, 2)
        assert words in err
