"""Results: tables, data, files and pictures."""

from __future__ import annotations

import csv
import json
import os

import numpy as np
import pytest

import ocucb
from ocucb.results import SAMPLE_SIZE, Moments


@pytest.fixture(scope="module")
def result() -> ocucb.SimulationResult:
    policies = ["ocucb", "moss:constant=4", "ucb"]
    return ocucb.simulate(policies, ocucb.gap(3, 0.4), 500, 300, rng=11)


def test_merging_blocks_equals_one_block():
    rng = np.random.default_rng(1)
    regret = rng.normal(1e6, 1.0, (1000, 3))  # a large mean, to see cancellation
    pulls = rng.integers(0, 9, (1000, 2))
    whole = Moments.of(regret, pulls)
    parts = Moments.of(regret[:1], pulls[:1])
    for cut in (slice(1, 17), slice(17, 400), slice(400, 1000)):
        parts = parts.merged(Moments.of(regret[cut], pulls[cut]))
    assert parts.runs == 1000
    assert parts.mean == pytest.approx(whole.mean, rel=1e-14)
    assert parts.squares == pytest.approx(whole.squares, rel=1e-9)
    assert parts.pulls == pytest.approx(whole.pulls, rel=1e-12)
    assert (parts.sample == regret[:, -1]).all()


def test_the_sample_is_bounded():
    regret = np.arange(50_000.0)[:, None]
    pulls = np.zeros((50_000, 1), dtype=np.int64)
    merged = Moments.of(regret, pulls).merged(Moments.of(regret, pulls))
    assert merged.sample.size == SAMPLE_SIZE
    assert (merged.sample[50_000:] == regret[: SAMPLE_SIZE - 50_000, 0]).all()
    assert merged.merged(Moments.of(regret, pulls)).sample is merged.sample


def test_table(result):
    lines = result.table().splitlines()
    assert lines[0].split()[:3] == ["policy", "mean", "regret"]
    assert lines[1].startswith("OCUCB ")
    assert lines[2].startswith("MOSS(constant=4) ")
    assert f"{result[0].mean_regret:.1f}" in lines[1]
    assert "seed 11" in lines[-1]
    assert repr(result) == result.table()
    assert "<td>OCUCB</td>" in result._repr_html_()


def test_lookup(result):
    assert result["moss"] is result[1] is result["moss:constant=4"] is result["MOSS(constant=4)"]
    assert len(result) == 3
    with pytest.raises(KeyError, match="no policy 'thompson'"):
        result["thompson"]


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
        "engine",
        "seconds",
    ]
    assert one["policy"] == "ocucb:alpha=3,psi=2"
    assert one["quantiles"]["0.5"] == np.median(result[0].sample)
    assert len(one["mean_pulls"]) == 3


def test_data_frame_and_csv(result, tmp_path):
    frame = result.to_dataframe()
    assert len(frame) == sum(one.checkpoints.size for one in result)
    assert set(frame.policy) == {one.policy for one in result}
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


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is not a simulation"),
        ("[1, 2]", "is not a simulation"),
        ("\x00\xff", "is not a simulation"),
        ('{"format": "other"}', "is not a simulation"),
        ('{"format": "ocucb-simulation", "format_version": 99}', "saved in format 99"),
        ('{"format": "ocucb-simulation", "format_version": 1}', "is damaged"),
    ],
)
def test_files_that_are_not_ours(content, words, tmp_path):
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=words):
        ocucb.SimulationResult.load(path)
    assert path.read_text() == content


def test_plot(result, tmp_path):
    for ending, magic in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")):
        path = tmp_path / f"figure{ending}"
        figure = result.plot(path)
        assert path.read_bytes().startswith(magic)
    axes = figure.axes[0]
    assert [line.get_label() for line in axes.get_lines()] == [one.label for one in result]
    assert (axes.get_lines()[0].get_ydata() == result[0].regret).all()
    with pytest.raises(ValueError, match="ending must be one of"):
        result.plot(tmp_path / "figure.txt")
    ocucb.simulate("ucb", ocucb.gap(), 1, 1, rng=1).plot(tmp_path / "single.png")
