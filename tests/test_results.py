"""Results: tables, data, files and pictures."""

from __future__ import annotations

import copy
import csv
import html
import json
import math
import multiprocessing
import os
import subprocess
import sys
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest

import ocucb
from ocucb.engine import ADVICE, Outcome
from ocucb.results import SAMPLE_SIZE, Moments, together
from ocucb.results.moments import TERMS


@pytest.fixture(scope="module")
def result() -> ocucb.SimulationResult:
    policies = ["ocucb", "moss:constant=4", "ucb"]
    return ocucb.simulate(policies, ocucb.gap(3, 0.4), 500, 300, rng=11, sampling="plain")


def moments(regret: np.ndarray, pulls: np.ndarray) -> Moments:
    """Reduce plain runs."""
    runs = len(regret)
    outcome = Outcome(regret, pulls, np.zeros((runs, 0)), np.zeros((*regret.shape, 2)))
    outcome = outcome._replace(advice=np.zeros((runs, len(ADVICE))), optimal=np.zeros(regret.shape))
    return Moments.of(outcome, np.ones(runs), np.arange(float(pulls.shape[1])))


def test_merging_blocks_equals_one_block():
    rng = np.random.default_rng(1)
    regret = rng.normal(1e6, 1.0, (1000, 3))  # a large mean, to see cancellation
    pulls = rng.integers(0, 9, (1000, 2))
    whole = moments(regret, pulls)
    parts = moments(regret[:1], pulls[:1])
    for cut in (slice(1, 17), slice(17, 400), slice(400, 1000)):
        parts = parts.merged(moments(regret[cut], pulls[cut]))
    assert parts.deviation(2e6) == pytest.approx(whole.deviation(2e6), rel=1e-9)
    assert whole.deviation(2e6).value == pytest.approx(regret[:, -1].std(ddof=1), rel=1e-9)
    assert parts.runs == 1000
    assert parts.curve_means == pytest.approx(whole.curve_means, rel=1e-14)
    assert parts.curve_products == pytest.approx(whole.curve_products, rel=1e-9, abs=1e-6)
    assert parts.pulls == pytest.approx(whole.pulls, rel=1e-12)
    assert (parts.sample == regret[:, -1]).all()


@pytest.mark.parametrize("exponent", [-340, -280, -208, -100, 100, 192, 300, 330])
def test_errors_do_not_depend_on_the_scale_of_the_regret(exponent):
    """Fourth powers neither overflow nor vanish, whichever blocks lie beyond the bounds."""
    rng = np.random.default_rng(1)
    regret = rng.exponential(2.0**7, (600, 2))  # at 2^-208 and 2^192, blocks differ in their unit
    weights = rng.uniform(0.2, 1.8, 600)
    pulls = rng.integers(0, 9, (600, 2))
    luck = rng.normal(regret[:, None] - 2.0**7, 100.0, (600, 2, 2))
    none, advice = np.zeros((600, 0)), np.ones((600, len(ADVICE)))

    def merged(scale: float) -> Moments:
        parts = [
            Moments.of(
                Outcome(
                    *(scale * regret[cut], pulls[cut], none[cut], luck[cut]),
                    advice=scale * advice[cut],
                    optimal=luck[cut][:, :, 0],
                ),
                weights[cut],
                scale * np.arange(2.0),
            )
            for cut in (slice(0, 3), slice(3, 5), slice(5, 40), slice(40, 600))
        ]
        return reduce(Moments.merged, parts)

    scale = 2.0**exponent
    with np.errstate(all="raise", under="ignore"):
        usual, extreme = merged(1.0), merged(scale)
    worst = 2.0**12
    assert usual.deviation(worst).stderr > 0.0
    assert [x / scale for x in extreme.deviation(worst * scale)] == pytest.approx(
        usual.deviation(worst), rel=1e-9
    )
    assert extreme.failure(scale) == pytest.approx(usual.failure(1.0), rel=1e-9)
    assert extreme.weight == pytest.approx(usual.weight, rel=1e-9)
    assert extreme.curve().regret / scale == pytest.approx(usual.curve().regret, rel=1e-9)
    assert extreme.curve().stderr / scale == pytest.approx(usual.curve().stderr, rel=1e-9)
    assert extreme.kurtosis == pytest.approx(usual.kurtosis, rel=1e-9)


def test_an_error_that_is_unknown_is_not_0():
    known = moments(np.arange(40.0)[:, None], np.ones((40, 2), dtype=np.int64))
    lost = replace(known, term_products=np.full((len(TERMS), len(TERMS)), math.nan))
    assert all(
        math.isnan(estimate.stderr)
        for estimate in (lost.weight, lost.failure(1.0), lost.deviation(40.0))
    )


@pytest.mark.parametrize("sampling", ["plain", "tilted"])
def test_levels_of_quantiles_lie_between_0_and_1(sampling):
    one = ocucb.simulate("ucb", ocucb.gap(), 100, 100, rng=1, sampling=sampling)[0]
    for wrong in (1.5, -3.0, math.nan):
        for level in (wrong, [0.5, wrong]):
            with pytest.raises(ValueError, match="between 0 and 1") as caught:
                one.quantile(level)
            expected = f"quantile levels must lie between 0 and 1, got {wrong:g}."
            assert str(caught.value) == expected
    assert one.quantile([0, 1]).tolist() == [one.quantile(0), one.quantile(1.0)]


def test_the_sample_is_bounded():
    regret = np.arange(50_000.0)[:, None]
    pulls = np.zeros((50_000, 1), dtype=np.int64)
    merged = moments(regret, pulls).merged(moments(regret, pulls))
    assert merged.sample.size == SAMPLE_SIZE
    assert (merged.sample[50_000:] == regret[: SAMPLE_SIZE - 50_000, 0]).all()
    assert merged.merged(moments(regret, pulls)).sample is merged.sample


def test_table(result):
    lines = result.table().splitlines()
    assert lines[0].split()[:3] == ["policy", "mean", "regret"]
    assert lines[1].startswith("OCUCB ")
    assert lines[2].startswith("MOSS(constant=4) ")
    assert f"{result[0].mean_regret:.1f}" in lines[1]
    assert "seed 11" in lines[4]
    assert repr(result) == result.table()
    assert "<td>OCUCB</td>" in result._repr_html_()


def test_a_saved_file_runs_no_script_in_a_notebook(result, tmp_path):
    result.save(tmp_path / "saved.json")
    document = json.loads((tmp_path / "saved.json").read_text())
    document["problem"] = "<script>problem</script>"
    for key in ("label", "engine"):
        document["policies"][0][key] = f"<script>{key}</script>"
    (tmp_path / "saved.json").write_text(json.dumps(document))
    shown = ocucb.SimulationResult.load(tmp_path / "saved.json")._repr_html_()
    assert "<script>" not in shown
    assert shown.count("&lt;script&gt;") == 3


def test_lookup(result):
    assert result["moss"] is result[1] is result["moss:constant=4"] is result["MOSS(constant=4)"]
    assert len(result) == 3
    with pytest.raises(KeyError, match="no policy 'thompson'"):
        result["thompson"]


def test_lookup_never_guesses():
    policies = ["ocucb", "ocucb:alpha=2", "ucb", "ucb"]
    result = ocucb.simulate(policies, ocucb.gap(), 20, 4, rng=1)
    assert result["OCUCB"] is result["ocucb:alpha=3,psi=2"] is result[0]
    assert result["OCUCB(alpha=2)"] is result["ocucb:alpha=2,psi=2"] is result[1]
    for name, first in (("ocucb", "ocucb:alpha=3,psi=2"), ("UCB", "ucb:constant=2")):
        with pytest.raises(KeyError, match="use the full name or the position") as caught:
            result[name]
        assert f"'{first}', '" in str(caught.value)


def test_one_run_has_no_error_bar():
    single = ocucb.simulate("ucb", ocucb.gap(), 50, 1, rng=1)
    assert np.isnan(single[0].stderr).all()
    assert single[0].to_dict()["stderr"] is None
    assert "±" not in single.table().splitlines()[1]


def test_json_object(result):
    one = json.loads(json.dumps(result[0].to_dict(), allow_nan=False))
    assert list(one) == [
        "policy",
        "horizon",
        "runs",
        "mean_regret",
        "stderr",
        "quantiles",
        "mean_pulls",
        "pulls_deviation",
        "coverage",
        "engine",
        "seconds",
        "deviation",
        "failure",
        "wrong",
        "simple_regret",
        "stopped",
        "stopping_time",
        "change",
        "since_change",
        "recovery",
        "sampling",
        "control_variates",
        "effective_runs",
        "mean_weight",
    ]
    assert one["policy"] == "ocucb:alpha=3,psi=2"
    assert one["quantiles"]["0.5"] == np.median(result[0].sample)
    assert len(one["mean_pulls"]) == 3


def test_data_frame_and_csv(result, tmp_path):
    frame = result.to_dataframe()
    assert len(frame) == sum(player.checkpoints.size for player in result)
    assert set(frame.policy) == {player.policy for player in result}
    result.to_csv(tmp_path / "regret.csv")
    with open(tmp_path / "regret.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["mean_regret"]) for row in rows] == frame.mean_regret.tolist()
    assert list(rows[0]) == list(frame.columns)


def test_save_and_load(result, tmp_path):
    path = tmp_path / "result.json"
    result.save(path)
    back = ocucb.SimulationResult.load(path)
    assert back.table() == result.table()
    assert (back.means == result.means).all()
    for a, b in zip(result, back, strict=True):
        assert (a.regret == b.regret).all()
        assert (a.sample == b.sample).all()
        assert (a.checkpoints == b.checkpoints).all()
        assert a.to_dict() == b.to_dict()
    assert os.listdir(tmp_path) == ["result.json"]


def test_saving_replaces_whole_files_only(result, tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    result.save(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        args[1].write("{")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json, "dump", fail)
    with pytest.raises(OSError, match="No space left"):
        result.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["result.json"]


def test_links_permissions_and_devices(result, tmp_path, capfd):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    result.to_csv(link)
    assert link.is_symlink()
    assert target.read_text().startswith("problem,policy")
    assert target.stat().st_mode & 0o777 == 0o640
    fresh = tmp_path / "fresh.csv"
    result.to_csv(fresh)
    plain = tmp_path / "plain"
    plain.touch()
    assert fresh.stat().st_mode == plain.stat().st_mode
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    result.to_csv(pipe)
    assert os.read(reader, 7) == b"problem"
    os.close(reader)
    assert pipe.is_fifo()


DRAFT = """
import sys
from ocucb._files import replacing
with replacing(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def writer(path) -> subprocess.Popen[str]:
    """A process in the middle of writing a file; it goes on when its standard input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRAFT, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "writing\n"
    return process


def drafts(folder) -> set[str]:
    return {name for name in os.listdir(folder) if name.startswith(".ocucb-")}


def test_what_killed_processes_left_is_removed_and_nothing_else(result, tmp_path):
    killed = [writer(tmp_path / "a.csv"), writer(tmp_path / "b.csv")]
    for process in killed:
        process.kill()
        process.communicate(timeout=60)
    left = drafts(tmp_path)
    assert len(left) == 2
    alive = writer(tmp_path / "c.csv")
    try:
        (living,) = drafts(tmp_path) - left
        foreign = [tmp_path / ".ocucb-notes", tmp_path / f".ocucb-{'0' * 16}"]
        foreign[0].touch()
        foreign[1].symlink_to(tmp_path / "nowhere")
        result.to_csv(tmp_path / "d.csv")
        assert drafts(tmp_path) == {living, *(path.name for path in foreign)}
        alive.communicate(timeout=60)
    finally:
        alive.kill()
    assert alive.returncode == 0
    assert (tmp_path / "c.csv").read_text() == "half"
    assert drafts(tmp_path) == {path.name for path in foreign}


def test_processes_that_save_at_once_leave_each_other_alone(tmp_path, monkeypatch):
    """Each removes what it takes for left behind, a thousand times."""
    from ocucb._files import replacing

    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # the disk is not what is tested

    def save_often(name):
        for i in range(1000):
            with replacing(tmp_path / ("shared" if i % 2 else name)) as file:
                file.write(f"{i}\n" * 100)

    context = multiprocessing.get_context("fork")
    children = [context.Process(target=save_often, args=(f"own{i}",)) for i in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0] * 4
    assert sorted(os.listdir(tmp_path)) == ["own0", "own1", "own2", "own3", "shared"]
    for path in tmp_path.iterdir():
        assert len(path.read_text().splitlines()) == 100


def test_a_draft_that_is_taken_for_left_behind_is_made_anew(tmp_path, monkeypatch):
    """Another process may sweep between the making of a draft and its locking."""
    from ocucb import _files

    lock, swept = _files.fcntl.flock, []

    def late(descriptor, how):
        if not swept:
            (name,) = drafts(tmp_path)
            os.unlink(tmp_path / name)
            swept.append(name)
        lock(descriptor, how)

    monkeypatch.setattr(_files.fcntl, "flock", late)
    with _files.replacing(tmp_path / "file") as file:
        file.write("whole")
    assert swept
    assert (tmp_path / "file").read_text() == "whole"
    assert os.listdir(tmp_path) == ["file"]


def test_saving_into_no_folder_says_so(result, tmp_path):
    (tmp_path / "folder.png").mkdir()
    for save in (result.save, result.to_csv, result.plot):
        with pytest.raises(FileNotFoundError, match=r"the folder does not exist: '.*nodir'"):
            save(tmp_path / "nodir" / "file.png")
        with pytest.raises(IsADirectoryError, match="it is a folder"):
            save(tmp_path / "folder.png")
    for save in (result.save, result.to_csv):
        with pytest.raises(IsADirectoryError, match="it is a folder"):
            save("")


def test_a_picture_that_cannot_be_written_leaves_the_old_one(result, tmp_path, monkeypatch):
    path = tmp_path / "figure.svg"
    path.write_text("old")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        result.plot(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["figure.svg"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is not a simulation"),
        ("[1, 2]", "is not a simulation"),
        ("\x00\xff", "is not a simulation"),
        ('{"format": "other"}', "is not a simulation"),
        ('{"format": "ocucb-simulation", "format_version": 99}', "saved in format 99"),
        ('{"format": "ocucb-simulation", "format_version": true}', "saved in format True"),
        ('{"format": "ocucb-simulation", "format_version": 3}', "saved in format 3"),
        ('{"format": "ocucb-simulation", "format_version": 7}', "is damaged"),
        ("[" * 10**5, "is not a simulation"),
        ("9" * 10**4, "is not a simulation"),
    ],
)
def test_files_that_are_not_ours(content, words, tmp_path):
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=words):
        ocucb.SimulationResult.load(path)
    assert path.read_text() == content


WRONG = [
    None,
    True,
    -1,
    2.5,
    1e999,
    math.nan,
    10**400,
    "text",
    "",
    {},
    [],
    [[]],
    [None],
    [True],
    ["1"],
    [math.nan],
    [10**400],
]


def test_damaged_files_are_one_sentence_with_the_key(result, tmp_path):
    """Every key is removed, and set to everything that it must not be."""
    path = tmp_path / "result.json"
    result.save(path)
    document = json.loads(path.read_text())
    right = dict.fromkeys(("problem", "rewards", "version", "policy", "label", "engine"), str)
    right |= {"sigma": float, "seconds": float, "worst": float, "seed": int, "weights": list}
    right |= dict.fromkeys(("prior", "control_variates"), bool)
    tried = 0
    for find in (lambda whole: whole, lambda whole: whole["policies"][1]):
        for key in sorted(find(document).keys() - {"format", "format_version"}):
            for wrong in [..., *WRONG]:
                if type(wrong) is right.get(key) and wrong in ("", "text", 2.5, 10**400, [], True):
                    continue
                changed = copy.deepcopy(document)
                if wrong is ...:
                    del find(changed)[key]
                else:
                    find(changed)[key] = wrong
                path.write_text(json.dumps(changed))
                with pytest.raises(ValueError, match=rf"^{path} is damaged: '{key}' [^\n]+\.$"):
                    ocucb.SimulationResult.load(path)
                tried += 1
    assert tried > 280


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda one: one["checkpoints"].reverse(), "checkpoints"),
        (lambda one: one["checkpoints"].insert(0, 0), "checkpoints"),
        (lambda one: one["checkpoints"].pop(), "checkpoints"),
        (lambda one: one["checkpoints"].__setitem__(0, 1.0), "checkpoints"),
        (lambda one: one.update(horizon=501), "checkpoints"),
        (lambda one: one["regret"].pop(), "regret"),
        (lambda one: one["regret"].__setitem__(0, math.inf), "regret"),
        (lambda one: one["stderr"].append(None), "stderr"),
        (lambda one: one["stderr"].__setitem__(0, -1.0), "stderr"),
        (lambda one: one["pulls"].append(0.0), "pulls"),
        (lambda one: one["sample"].clear(), "sample"),
        (lambda one: one.update(runs=299), "sample"),
        (lambda one: one["sample"].__setitem__(7, "0"), "sample"),
        (lambda one: one["weights"].append(1.0), "weights"),
        (lambda one: one.update(sampling="tilted"), "weights"),
        (lambda one: one["deviation"].pop(), "deviation"),
        (lambda one: one["failure"].__setitem__(0, -1.0), "failure"),
        (lambda one: one["histogram"].append([5, 1.0]), "histogram"),
        (lambda one: one["histogram"].append([-1, 1.0, 1.0]), "histogram"),
        (lambda one: one["histogram"].append([960, 1.0, 1.0]), "histogram"),
    ],
)
def test_parts_that_do_not_fit_together(result, tmp_path, change, key):
    path = tmp_path / "result.json"
    result.save(path)
    document = json.loads(path.read_text())
    change(document["policies"][2])
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=rf"is damaged: '{key}' must be [^\n]+\.$"):
        ocucb.SimulationResult.load(path)


def test_unknown_error_bars_are_kept(tmp_path):
    single = ocucb.simulate("ucb", ocucb.gap(), 50, 1, rng=2**70)
    single.save(tmp_path / "single.json")
    back = ocucb.SimulationResult.load(tmp_path / "single.json")
    assert np.isnan(back[0].stderr).all()
    assert back.seed == 2**70


def test_plot(result, tmp_path):
    for ending, magic in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")):
        path = tmp_path / f"figure{ending}"
        figure = result.plot(path)
        assert path.read_bytes().startswith(magic)
    axes = figure.axes[0]
    assert [line.get_label() for line in axes.get_lines()] == [player.label for player in result]
    assert (axes.get_lines()[0].get_ydata() == result[0].regret).all()
    with pytest.raises(ValueError, match="ending must be one of"):
        result.plot(tmp_path / "figure.txt")
    ocucb.simulate("ucb", ocucb.gap(), 1, 1, rng=1).plot(tmp_path / "single.png")


def test_plot_tail(result, tmp_path):
    path = tmp_path / "tail.png"
    (axes,) = result.plot_tail(path).axes
    assert path.read_bytes().startswith(b"\x89PNG")
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert [line.get_label() for line in axes.get_lines()] == [player.label for player in result]
    for line, one in zip(axes.get_lines(), result, strict=True):
        x, p = line.get_xdata(), line.get_ydata()
        assert one.tail(float(x[0])).value == p[0] > 0.0
        assert (p[1:] >= p[:-1]).all()  # towards smaller regret
    with pytest.raises(ValueError, match="ending must be one of"):
        result.plot_tail(tmp_path / "tail.txt")


@pytest.mark.parametrize("means", [[0.0, -0.3], [0.0, 0.0]])
def test_plot_tail_with_next_to_nothing_to_draw(means, tmp_path):
    for horizon, runs in ((1, 1), (2, 1), (50, 3)):
        result = ocucb.simulate("ucb", ocucb.gaussian(means), horizon, runs, rng=1)
        result.plot_tail(tmp_path / "tail.svg")


def test_the_table_says_what_tilted_runs_are_worth():
    def footer(sampling):
        result = ocucb.simulate(
            ["ocucb", "uniform"], ocucb.gap(), 1000, 1000, rng=1, sampling=sampling
        )
        return result, result.table().splitlines()[4:]

    result, (line,) = footer("tilted")
    assert line.startswith("Runs are worth so many plain ones: OCUCB ")
    assert line.count("(tilted, mean weight ") == sum(
        player.sampling == "tilted" for player in result
    )
    assert ", Uniform " in line
    assert abs(result["ocucb"].weight.value - 1.0) < 5.0 * result["ocucb"].weight.stderr
    plain, (line,) = footer("plain")
    worth = float(f"{plain['ocucb'].effective_runs:.1e}")
    assert line == f"Runs are worth so many plain ones: OCUCB {worth:,.0f}."


def test_estimates_have_a_value_and_an_error():
    assert ocucb.Estimate(1.0, 0.5).stderr == 0.5


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (ocucb.gaussian([0, -1], sigma=[1, 2]), "2"),
        (ocucb.gap(K=3, sigma=[0.5, 0.25, 0.25]), "0.5"),
        (ocucb.uniform_rewards([0, -1], halfwidth=[1, 3]), "1.73205"),
        (ocucb.gaussian([0, -1], sigma=[2, 2]), None),
        (ocucb.gap(K=3), None),
        (ocucb.bernoulli([0.5, 0.4]), None),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_tables_say_what_policies_were_told(problem, told, tmp_path):
    """Where arms differ, once, also after a load, and beside results of equal arms in a store."""
    played = ocucb.simulate("ucb", problem, 50, 250, rng=1, store=tmp_path / "store.db")
    played.save(tmp_path / "result.json")
    for result in (played, ocucb.SimulationResult.load(tmp_path / "result.json")):
        for text in (result.table(), html.unescape(result._repr_html_())):
            sentence = f"Policies were told sigma = {told}, the largest of the arms'."
            assert text.count(sentence) == (told is not None)
            assert ("Policies were told" in text) == (told is not None)
    equal = ocucb.gaussian(problem.means, sigma=problem.sigma)
    ocucb.simulate("ucb", equal, 50, 250, rng=1, store=tmp_path / "store.db")
    with ocucb.Store(tmp_path / "store.db", read_only=True) as store:
        groups = together(store.contents())
    assert len(groups) == len({instance.identity for instance in (problem, equal)})
