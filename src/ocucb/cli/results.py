"""`ocucb results`: what a store holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .shared import Csv, File, PlotTail, Text, check_outputs, count, deliver, option


def results(
    path: Annotated[Path, typer.Argument(metavar="STORE", help="A file created by --store.")],
    policy: Annotated[Text, option("TEXT", "Only policies whose name contains this.")] = None,
    problem: Annotated[Text, option("TEXT", "Only problems whose name contains this.")] = None,
    seed: Annotated[Text, option("N", "Only this seed.")] = None,
    csv: Csv = None,
    plot: Annotated[File, option("FILE", "Plot regret over time, one panel per problem.")] = None,
    plot_tail: PlotTail = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON array with one object per simulation.")
    ] = False,
) -> None:
    """List the simulations in a store: policy, problem, runs, mean regret, age.

    **Examples**

    `ocucb results results.db`

    `ocucb results results.db --problem gap --plot regret.png --csv regret.csv`
    """
    from ..results import listing, to_csv, together
    from ..store import Store

    number = count(seed, "--seed", least=0)
    check_outputs(csv, pictures=(plot, plot_tail), store=path)
    with Store(path, read_only=True) as store:
        found = [
            stored
            for stored in store.contents(samples=as_json or plot_tail is not None)
            if (policy or "") in stored.result.policy
            and (problem or "") in stored.problem
            and number in (None, stored.seed)
        ]
    text = listing(found)
    if as_json:
        rows = [
            {"problem": stored.problem, "seed": stored.seed, **stored.result.to_dict()}
            for stored in found
        ]
        text = json.dumps(rows, indent=1, allow_nan=False)
    pictures: list[tuple[Path, Callable[[Path], object]]] = []
    if plot is not None or plot_tail is not None:
        from ..figures import regret_panels, tails, write

        groups = together(found)
        for place, draw in ((plot, regret_panels), (plot_tail, tails)):
            if place is not None:
                pictures.append((place, partial(write, draw(groups))))
    deliver(text, (csv, lambda path: to_csv(found, path)), *pictures)
