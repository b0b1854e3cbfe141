"""`ocucb simulate`."""

from __future__ import annotations

import json
import signal
import sys
from typing import Annotated

import typer

from .._interrupt import on_interrupt
from . import shared
from .shared import File, Text, check_outputs, count, deliver, end_interrupted, option, share

DEFAULT_POLICIES = ["kl-ocucb", "ucb", "moss"]


def simulate(
    policy: Annotated[
        list[str] | None,
        option(
            "NAME[:KEY=VALUE,...]",
            "Policy to play; repeat for several. `ocucb policies` lists them. "
            "Default: kl-ocucb, the best we know (on Gaussian rewards it is OCUCB), with ucb and "
            "moss to compare.",
            "--policy -p",
        ),
    ] = None,
    means: shared.Means = None,
    problem: shared.Instance = None,
    prior: shared.Prior = None,
    horizon: shared.Horizon = None,
    runs: Annotated[
        Text,
        option(
            "N",
            "Independent runs of each policy. Default: 1000; with --precision, at most 1e6.",
            "--runs -r",
        ),
    ] = None,
    precision: Annotated[
        Text,
        option(
            "SHARE",
            "Run until two standard errors are below this fraction of the mean regret: 1% or 0.01.",
        ),
    ] = None,
    seed: shared.SeedOfStored = None,
    rewards: shared.Rewards = "gaussian",
    sigma: shared.Sigma = None,
    engine: Annotated[str, option("NAME", "auto, skip (ahead) or step (by step).")] = "auto",
    sampling: Annotated[
        str,
        option(
            "NAME",
            "auto, plain or tilted. Tilted sampling makes bad first rewards of the best arm far "
            "more frequent and weights runs accordingly, so that rare failures, which dominate "
            "mean and variance, take far fewer runs to measure. auto tilts unless that does harm, "
            "from 200 runs on.",
        ),
    ] = "auto",
    control_variates: Annotated[
        bool,
        typer.Option(
            help="Correct mean regret for the arms' luck, which explains most of the variation "
            "among runs that do not fail."
        ),
    ] = True,
    checkpoints: Annotated[
        Text, option("LIST", "Rounds at which to measure regret: 100,1000,10000")
    ] = None,
    workers: shared.Workers = None,
    dask: shared.Dask = None,
    store: Annotated[
        File,
        option(
            "FILE",
            "Keep finished runs in this file and resume from those it holds; "
            "`ocucb results FILE` shows them.",
        ),
    ] = None,
    plot: Annotated[File, option("FILE", "Plot regret over time (.png, .pdf, .svg).")] = None,
    plot_tail: shared.PlotTail = None,
    csv: shared.Csv = None,
    save: Annotated[
        File, option("FILE", "Save the result, for SimulationResult.load in Python.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON array with one object per policy.")
    ] = False,
) -> None:
    """Play policies on a problem many times and print their regret with error bars.

    **Examples**

    `ocucb simulate -p ocucb -p moss:constant=4 --means 0,-0.3 --horizon 1e5 --runs 10000 --seed 1`

    `ocucb simulate --problem uniform:K=10 --horizon 1e4 --plot regret.png`

    `ocucb simulate -p ocucb -p ucb --means 0.5,0.4 --rewards bernoulli -n 1e4 --json`

    `ocucb simulate -p ocucb -p kl-ucb-plus --prior headlines:K=4 -n 14000 -r 500`

    `ocucb simulate -p ocucb -p moss --means 0,-0.3 -n 1e4 -r 20000 --plot-tail tails.png`

    `ocucb simulate --problem gap:K=10,gap=0.3 -n 1e5 --precision 1% --seed 1 --store results.db`
    """
    arms = shared.problem_or_prior(means, problem, prior, rewards, sigma)
    rounds = shared.rounds_of(horizon, arms, "1e4")
    check_outputs(csv, save, pictures=(plot, plot_tail), store=store)

    from ..simulation import SimulationInterrupted
    from ..simulation import simulate as run
    from ..store import StoreError

    times = None
    if checkpoints is not None:
        times = [count(text, "a checkpoint") for text in checkpoints.split(",")]
    interrupted = False
    failures: list[str] = []
    if store is not None and seed is None:
        seed = "0"  # resuming from a store needs the same seed again
    try:
        with on_interrupt(signal.default_int_handler):  # from here on there may be numbers to show
            result = run(
                policy or DEFAULT_POLICIES,
                arms,
                rounds,
                count(runs, "--runs"),
                precision=share(precision, "--precision"),
                rng=count(seed, "--seed", least=0),
                checkpoints=times,
                engine=engine,
                sampling=sampling,
                control_variates=control_variates,
                workers=count(workers, "--workers"),
                executor=shared.cluster(dask),
                store=store,
            )
    except SimulationInterrupted as interruption:
        if interruption.result is None:
            raise
        result, interrupted = interruption.result, True
    except StoreError as error:  # a full disk, perhaps: what was played is still shown
        if error.result is None:
            raise
        result, failures = error.result, [str(error)]
    text = result.table()
    if as_json:
        text = json.dumps([player.to_dict() for player in result], indent=1, allow_nan=False)
        if seed is None:
            print(f"Note: the seed was {result.seed}.", file=sys.stderr)
    try:
        files = (csv, result.to_csv), (save, result.save), (plot, result.plot)
        deliver(text, *files, (plot_tail, result.plot_tail), failures=failures)
    finally:
        if interrupted:
            end_interrupted(store)
