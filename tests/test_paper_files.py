"""Data files of a reproduction, read back: what was written, or nothing if a file is damaged."""

from __future__ import annotations

from ocucb.paper import reproduce
from ocucb.paper.reproduction import read_points


def test_points_are_read_as_they_were_written(tmp_path):
    reproduce(["work"], tmp_path, runs=2, progress=False)
    path = tmp_path / "work.csv"
    lines = path.read_text().splitlines()
    points = read_points(path, "work", seed=1)
    assert len(points) == len(lines) - 1
    first = points[0]
    assert (first.panel, first.line, first.engine) == ("work", "OCUCB, K = 10", "heap")
    assert (first.x, first.horizon, first.runs, first.sampling) == (30.0, 300, 2, "plain")
    found = (first.mean, first.stderr, first.deviation, first.deviation_error)
    assert ",".join(map(str, found)) in lines[1]
    assert len(first.quantiles) == sum(name.startswith("q") for name in lines[0].split(","))
    assert read_points(path, "work", seed=2) == []
    # a row that lost some of its cells, and ends with the seed nevertheless
    path.write_text("\n".join([*lines[:-1], "30.0,OCUCB,1"]))
    assert read_points(path, "work", seed=1) == []
