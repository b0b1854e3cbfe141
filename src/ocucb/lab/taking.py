"""Figures to take away: the files that the printed lines of Python would write."""

from __future__ import annotations

import csv
import io
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .._text import remedy
from ..figures.palette import policy_styles
from ..figures.panels import empty_panels, legend, set_title, write
from ..results import SimulationResult

ENDINGS = {"png": "image/png", "svg": "image/svg+xml", "csv": "text/csv"}
_drawing = threading.Lock()  # settings of matplotlib are shared by all threads


class Shelf:
    """The newest results, so that figures are drawn without playing again."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def put(self, key: tuple[Any, ...], thing: Any) -> None:
        """Keep something in place of whatever is oldest."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = thing
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def get(self, key: tuple[Any, ...]) -> Any:
        """Return what is kept, or None."""
        with self._lock:
            return self._kept.get(key)


def file_of(figure: str, ending: str, thing: Any) -> bytes:
    """Return a figure as a file; `thing` is the result that it shows."""
    if ending not in ENDINGS:
        raise ValueError(f"unknown ending {ending!r}; {remedy(ending, ENDINGS)}")
    if figure == "shares" and ending == "csv":
        return _shares_as_text(thing)
    writers: dict[str, Callable[[str], Any]] = {
        "shares": lambda path: write(_draw_shares(thing), path),
        "tails": lambda path: thing.plot_tail(path),
    }
    as_picture: Callable[[str], Any] = writers.get(figure, thing.plot)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"{figure}.{ending}")
        if ending == "csv":
            thing.to_csv(path)
        else:
            with _drawing:
                as_picture(path)
        with open(path, "rb") as file:
            return file.read()


def _shares_as_text(result: SimulationResult) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["policy", "arm", "mean", "pulls", "share"])
    for player in result:
        for arm, (mean, pulls) in enumerate(zip(result.means, player.pulls, strict=True), 1):
            row = [float(mean), float(pulls), float(pulls / player.horizon)]
            rows.writerow([player.policy, arm, *map(repr, row)])
    return text.getvalue().encode()


def _draw_shares(result: SimulationResult) -> Any:
    """Draw each arm's share of the rounds, a bar for each policy."""
    figure, (axes,) = empty_panels(1)
    styles, width = policy_styles(player.policy for player in result), 0.8 / len(result)
    places = np.arange(result.means.size) + 1.0
    for i, player in enumerate(result):
        at = places - 0.4 + (i + 0.5) * width
        share = player.pulls / player.horizon
        axes.bar(at, share, width, color=styles[player.policy].color, label=player.label)
    axes.set(xlabel="arm", ylabel="share of the rounds", xticks=places, ylim=(0.0, 1.0))
    set_title(axes, result.problem, f"{result[0].runs:,} runs, seed {result.seed}")
    legend(axes)
    return figure
