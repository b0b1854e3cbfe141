"""The command line as people and programs meet it: in a process of its own."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

import ocucb
from ocucb.policies import FAMILIES


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ocucb", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


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


def test_json_is_one_array_and_nothing_else():
    done = run(
        *"simulate -p ocucb:alpha=1 -p ucb --problem gap:K=3,gap=0.5 -n 500 -r 50 --json".split()
    )
    assert done.returncode == 0
    rows = json.loads(done.stdout)
    assert [row["policy"] for row in rows] == ["ocucb:alpha=1,psi=2", "ucb:constant=2"]
    keys = "policy horizon runs mean_regret stderr quantiles mean_pulls engine seconds".split()
    assert all(list(row) == keys for row in rows)
    assert rows[0]["horizon"] == 500
    assert rows[0]["runs"] == 50
    assert "Note: OCUCB with alpha = 1" in done.stderr


def test_problems_noise_and_files(tmp_path):
    call = ["simulate", "-p", "ucb", "-r", "20", "--seed", "3", "--json"]

    def means(*more: str) -> dict:
        done = run(*call, *more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)[0]

    assert len(means("--problem", "uniform:K=7", "-n", "99")["mean_pulls"]) == 7
    assert means("--problem", "moss-failure:K=6")["horizon"] == 216
    assert means("--problem", "conjecture:K=6")["horizon"] == 36
    coins = means("--means", "0.5,1/4", "--noise", "bernoulli", "-n", "200")
    problem = ocucb.bernoulli([0.5, 0.25])
    assert coins["mean_regret"] == ocucb.simulate("ucb", problem, 200, 20, rng=3)[0].mean_regret
    even = means("--means", "0,-1", "--noise", "uniform", "--sigma", "2", "-n", "200")
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
        ("-p nope --means 0,1 -n 10", "unknown policy 'nope'; choose from ocucb"),
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
        ("-p ucb --means 0,1.5 -n 10 --noise bernoulli", "lie in [0, 1], got 1.5 for arm 2"),
        ("-p ucb --means 0,1 -n 10 --noise pink", "unknown noise 'pink'"),
        ("-p ucb --means 0,1 -n 10 --noise bernoulli --sigma 1", "--sigma does not go with"),
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
def test_wrong_input_is_one_sentence_and_status_2(arguments, words, capfd, monkeypatch):
    """In this process, for speed; the wrapper that turns errors into sentences is the same."""
    from ocucb import cli

    monkeypatch.setattr(sys, "argv", ["ocucb", "simulate", *arguments.split()])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    out, err = capfd.readouterr()
    assert stop.value.code == 2
    assert out == ""
    assert re.fullmatch(r"Error: .*\.\n", err), err
    assert words in err


def test_wrong_input_in_a_process():
    done = run(*"simulate -p nope --means 0,1 -n 10".split())
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: unknown policy 'nope'")
    assert run("simulate", "--nonsense").returncode == 2


def test_policies_lists_every_policy():
    done = run("policies")
    assert done.returncode == 0
    for family in FAMILIES.values():
        assert family.name in done.stdout
        assert family.formula in done.stdout
    rows = json.loads(run("policies", "--json").stdout)
    assert {row["policy"] for row in rows} == set(FAMILIES)


def test_help_teaches_and_imports_nothing_heavy():
    assert not {"numba", "numpy", "matplotlib", "scipy"} & _modules_after_help()
    for command in ("simulate", "policies", "gittins", "reproduce", "theory"):
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


def test_examples_in_the_help_work(tmp_path):
    """Every example of `ocucb simulate --help`, pasted as it stands (with fewer runs)."""
    text = run("simulate", "--help", env={**os.environ, "COLUMNS": "200"}).stdout
    examples = re.findall(r"ocucb (simulate -.*?)\s*$", text, re.MULTILINE)
    assert len(examples) >= 3
    for example in examples:
        done = run(*example.split(), "--runs", "20", cwd=tmp_path)
        assert done.returncode == 0, (example, done.stderr)
    assert (tmp_path / "regret.png").exists()


def test_version():
    assert run("--version").stdout.strip() == f"ocucb {ocucb.__version__}"


def test_control_c_prints_what_was_finished():
    call = "simulate -p ucb -p thompson --means 0,-0.3 -n 1e4 --seed 1 --engine step".split()
    assert run(*call, "-r", "1").returncode == 0  # compiled from here on
    process = subprocess.Popen(
        [sys.executable, "-m", "ocucb", *call, "-r", "100000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        time.sleep(8)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "Stopped" in err
    assert out.splitlines()[1].startswith("UCB ")


def test_progress_only_on_a_terminal():
    call = (
        "simulate -p thompson --problem uniform:K=50 -n 1e4 -r 3000 --engine step --seed 1".split()
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
