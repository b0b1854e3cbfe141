"""The section of the lab: how soon numbers appear, and how soon they are sharp."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

CHANGES = 20  # of which the time until the first numbers is measured
VISITORS, TURNS = 10, 5
THREE = "means=0,-0.3,-0.3,-0.5,-0.8&horizon=1000000&policy=ocucb&policy=ucb&policy=moss"


@contextmanager
def serving(**environment: str) -> Iterator[tuple[str, int]]:
    """Start `ocucb lab`, and give its address and process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ocucb", "lab", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[1].rstrip("/"), process.pid
    finally:
        process.terminate()
        process.wait(60)


def events(url: str) -> Iterator[tuple[float, str, Any]]:
    """Yield the events of a stream with the seconds since it was asked for."""
    began, kind = time.perf_counter(), ""
    with urlopen(url, timeout=300) as answer:
        for line in answer:
            name, _, rest = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = rest
            elif name == "data":
                yield time.perf_counter() - began, kind, json.loads(rest)


def first(url: str, wanted: str = "numbers") -> float:
    """Return the seconds until the first event of a kind; then leave."""
    return next(seconds for seconds, kind, _ in events(url) if kind == wanted)


def processor(process: int) -> float:
    """Return the seconds of a processor that a process has had."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(process: int, url: str) -> str:
    """Measure the time until the first numbers, and what part of it the server computed."""
    before = processor(process)
    return f"{first(url):.1f} s ({processor(process) - before:.1f} s of a processor)"


def sharp(url: str, share: float) -> float:
    """Return the seconds until two standard errors of every mean are below a share of it."""
    for seconds, kind, found in events(url):
        if kind == "numbers" and found["whole"]:
            ends = [(one["stderr"][-1], one["regret"][-1]) for one in found["policies"]]
            if all(2.0 * stderr <= share * mean for stderr, mean in ends):
                return seconds
    raise RuntimeError("the bars are still wide")


def weight(url: str) -> int:
    """Return the bytes of the page and all that it loads."""
    page = urlopen(f"{url}/").read()
    waiting = re.findall(rb'(?:src|href)="(/(?:charts|shared|static)/[^"]+)"', page)
    seen: dict[bytes, bytes] = {}
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen[path] = urlopen(url + path.decode()).read()
            if path.endswith(b".js") and b"charts/" not in path:
                waiting += re.findall(rb'from "(/[^"]+)"', seen[path])
                waiting += [
                    b"/static/" + one for one in re.findall(rb'from "\./([^"]+)"', seen[path])
                ]
    return len(page) + sum(map(len, seen.values()))


def section() -> list[str]:
    """Return the section of the table."""
    with tempfile.TemporaryDirectory() as home, serving(NUMBA_CACHE_DIR=home) as (url, process):
        word = first(f"{url}/runs?{THREE}", "word")
        empty = cost(process, f"{url}/runs?{THREE}&seed=2")
    with serving() as (url, process):
        fresh = cost(process, f"{url}/runs?{THREE}")
        warm = [first(f"{url}/runs?{THREE}&seed={seed}") for seed in range(CHANGES)]
        bars = [sharp(f"{url}/runs?{THREE}&seed={seed}", 0.02) for seed in range(5)]
        before = processor(process)
        with ThreadPoolExecutor(VISITORS) as pool:
            crowd = [
                seconds
                for turn in range(TURNS)
                for seconds in pool.map(
                    first, [f"{url}/runs?{THREE}&seed={100 * turn + i}" for i in range(VISITORS)]
                )
            ]
        share = (processor(process) - before) / len(crowd)
        size = weight(url)
    rows = [
        ("first numbers after a change, p95", f"{np.quantile(warm, 0.95):.2f} s", "0.5 s"),
        ("first numbers of a server that has just started", fresh, "5 s"),
        ("first numbers with no compiled code on disk", empty, ""),
        ("  the word that says so", f"{word:.2f} s", ""),
        ("two standard errors below 2% of each mean", f"{max(bars):.2f} s", "5 s"),
        (
            f"{VISITORS} visitors at once: first numbers, p95",
            f"{np.quantile(crowd, 0.95):.2f} s ({share:.2f} s of a processor each)",
            "2 s",
        ),
        ("page, scripts and chart library", f"{size / 1e6:.2f} MB", "1.5 MB"),
    ]
    load = os.getloadavg()[0]
    return [
        "## Lab",
        "",
        "OCUCB, UCB and MOSS on five arms, n = 10^6, over HTTP on this machine, "
        f"{os.cpu_count()} cores; at the end {load:.0f} processes wanted to run.",
        "",
        "| what | measured | goal |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
