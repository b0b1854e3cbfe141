"""`ocucb tune`."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from .._interrupt import on_interrupt
from . import shared
from .shared import File, Text, check_outputs, count, deliver, option, share


def tune(
    policy: Annotated[
        list[str] | None,
        option(
            "NAME[:KEY=VALUE,...]",
            "Policy to tune, from the parameters given or its defaults; repeat for several. "
            "Default: ocucb.",
            "--policy -p",
        ),
    ] = None,
    means: shared.Means = None,
    problem: Annotated[
        list[str] | None,
        option(
            "NAME:KEY=VALUE,...",
            "What to tune for, instead of --means: gap:K=10,gap=0.3, uniform:K=10, and so on; "
            "repeat for several.",
        ),
    ] = None,
    prior: shared.Prior = None,
    horizon: shared.Horizon = None,
    ranges: Annotated[
        list[str] | None,
        option(
            "NAME=LOW:HIGH",
            "A parameter to tune, and where: alpha=1:6; repeat for several. Default: all, each "
            "from an eighth of its value to eight times that, as far as it is valid.",
            "--range",
        ),
    ] = None,
    objective: Annotated[
        str,
        option(
            "NAME",
            "What to minimise. mean: mean regret, averaged over problems. worst: the largest ratio "
            "of mean regret to that of the best parameters for one problem alone. cvar: mean "
            "regret of the worst runs.",
        ),
    ] = "mean",
    level: Annotated[
        Text, option("SHARE", "For cvar: 95% counts the worst 5% of the runs. Default: 95%.")
    ] = None,
    runs: Annotated[
        Text,
        option(
            "N",
            "Runs on each problem, of each policy, fresh ones for the winner included. "
            "Default: as many as take about two minutes of one core, at most 300000.",
            "--runs -r",
        ),
    ] = None,
    seed: shared.Seed = None,
    rewards: shared.Rewards = "gaussian",
    sigma: shared.Sigma = None,
    engine: Annotated[str, option("NAME", "auto, skip (ahead) or step (by step).")] = "auto",
    workers: shared.Workers = None,
    dask: shared.Dask = None,
    plot: Annotated[
        File,
        option("FILE", "Draw a curve over one parameter, or a map over two (.png, .pdf, .svg)."),
    ] = None,
    csv: Annotated[File, option("FILE", "Write everything that was tried as CSV.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as a JSON object.")
    ] = False,
) -> None:
    """Find the parameters with which policies have the least regret on your problems.

    The winner is measured again with fresh runs, next to the policy as it was given. The table says
    by how much it is better, or that the two cannot be told apart, and how to write the winner in
    Python and here.

    **Examples**

    `ocucb tune -p ocucb --problem gap:K=10,gap=0.3 -n 1e4`

    `ocucb tune -p ocucb -p moss --means 0.5,0.45 --rewards bernoulli -n 1e4 --seed 1`

    `ocucb tune -p ocucb --range alpha=1:6 --problem uniform:K=10 -n 1e4 --plot alpha.png`

    `ocucb tune --problem gap:K=2,gap=1 --problem gap:K=20,gap=0.1 --objective worst -n 1e4`

    `ocucb tune -p ocucb --prior headlines:K=4 -n 14000 -r 20000`

    `ocucb tune -p ucb --problem gap:K=2,gap=0.5 -n 1e4 --objective cvar --level 99%`
    """
    named: list[str | None] = [*problem] if problem else [None]
    arms = [shared.problem_or_prior(means, name, prior, rewards, sigma) for name in named]
    rounds = shared.rounds_of(horizon, arms[0], "1e4")
    check_outputs(csv, pictures=(plot,))

    from ..tuning import TuningInterrupted
    from ..tuning import tune as run

    interrupted = False
    try:
        with on_interrupt(
            signal.default_int_handler
        ):  # from here on there may be something to show
            result = run(
                policy or ["ocucb"],
                arms,
                rounds,
                count(runs, "--runs"),
                ranges=_ranges(ranges),
                objective=objective,
                level=share(level, "--level", 0.95),
                rng=count(seed, "--seed", least=0),
                engine=engine,
                workers=count(workers, "--workers"),
                executor=shared.cluster(dask),
            )
    except TuningInterrupted as interruption:
        if interruption.result is None:
            raise
        result, interrupted = interruption.result, True
    if as_json and seed is None:
        print(f"Note: the seed was {result.seed}.", file=sys.stderr)
    text = result.to_json() if as_json else result.table()
    try:
        deliver(text, (csv, result.to_csv), (plot, result.plot))
    finally:
        if interrupted:
            print("Interrupted: the winner was not measured again.", file=sys.stderr)
            os._exit(130)  # at once: threads may be in the middle of a long run


def _ranges(given: list[str] | None) -> dict[str, tuple[float, float]] | None:
    """Read ranges such as alpha=1:6."""
    from .._text import shown, to_number

    if not given:
        return None
    ranges = {}
    for text in given:
        name, equals, ends = text.partition("=")
        low, colon, high = ends.partition(":")
        if not (name.strip() and equals and colon):
            raise ValueError(f"--range must have the form alpha=1:6, got {shown(text)}.")
        if name.strip() in ranges:
            raise ValueError(f"--range names {shown(name.strip())} twice.")
        what = f"the range of {name.strip()}"
        ranges[name.strip()] = (to_number(low, what), to_number(high, what))
    return ranges
