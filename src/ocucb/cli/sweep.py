"""`ocucb sweep`."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._interrupt import on_interrupt
from . import shared
from .shared import File, Text, check_outputs, count, deliver, end_interrupted, option, share
from .simulate import DEFAULT_POLICIES

if TYPE_CHECKING:
    from ..problems import Problem


def sweep(
    over: Annotated[
        str,
        option(
            "NAME=VALUES",
            "What varies: a parameter of the problem (gap, K), `horizon`, or a parameter of the "
            "policies (alpha). Values are a list, 0.1,0.2,0.5; a range with the number of points, "
            "0.01:1:100; or one spaced by ratios, 1e2:1e5:20:log.",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        option(
            "NAME[:KEY=VALUE,...]",
            "Policy to play, one curve each; repeat for several. Default: kl-ocucb, ucb and moss.",
            "--policy -p",
        ),
    ] = None,
    means: shared.Means = None,
    problem: shared.Instance = None,
    horizon: shared.Horizon = None,
    runs: Annotated[
        Text,
        option(
            "N",
            "Runs at each point, at least 256. Default: 1024; with --precision, at most 2^20.",
            "--runs -r",
        ),
    ] = None,
    precision: Annotated[
        Text,
        option(
            "SHARE",
            "Run until, at every point, two standard errors are below this fraction of the curve's "
            "largest mean regret: 1% or 0.01.",
        ),
    ] = None,
    seed: shared.SeedOfStored = None,
    rewards: shared.Rewards = "gaussian",
    sigma: shared.Sigma = None,
    workers: shared.Workers = None,
    dask: shared.Dask = None,
    store: Annotated[
        File,
        option("FILE", "Keep finished runs in this file and resume from those it holds."),
    ] = None,
    plot: Annotated[
        File,
        option("FILE", "Plot the curves, with bands of two standard errors."),
    ] = None,
    csv: Annotated[File, option("FILE", "Write one line per policy and point as CSV.")] = None,
    save: Annotated[
        File, option("FILE", "Save the result, for SweepResult.load in Python.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object with one curve per policy.")
    ] = False,
) -> None:
    """Measure regret along an axis: one curve per policy, with error bars.

    Along an axis of problems that differ in their means alone (Gaussian or Bernoulli rewards),
    every run also counts for its neighbours, weighted by its likelihood there. So curves are
    smooth, and a hundred points take about a tenth of the time that as many simulations would.
    Along the horizon, policies that ignore it play once for all. Along a parameter of a policy,
    each point has runs of its own.

    **Examples**

    `ocucb sweep -p ocucb -p ucb --problem gap:K=2 --over gap=0.01:1:100 -n 1e4 --plot gaps.png`

    `ocucb sweep --problem gap:K=10,gap=0.3 --over horizon=1e2:1e5:12:log --csv horizons.csv`

    `ocucb sweep -p ocucb --problem gap:K=2,gap=0.3 --over alpha=2:4:9 -n 1e4 --precision 1%`
    """
    name, values = values_of(over)
    players: Any = policy or DEFAULT_POLICIES
    check_outputs(csv, save, pictures=(plot,), store=store)

    from ..instances import INSTANCES

    problems: Any
    rounds: Any
    parameter = None
    family = "" if problem is None else problem.partition(":")[0].strip()
    if name == "horizon":
        if horizon is not None:
            raise ValueError("--horizon does not go with --over horizon=..., which sets it.")
        problems = shared.problem_of(means, problem, rewards, sigma)
        rounds = sorted({round(value) for value in values})
    elif family in INSTANCES and name in _parameters(family):
        assert problem is not None
        problems = [_with(problem, name, value, rewards, sigma) for value in values]
        rounds = shared.rounds_of(horizon, problems[-1], "1e4")
    else:
        problems = shared.problem_of(means, problem, rewards, sigma)
        rounds = shared.rounds_of(horizon, problems, "1e4")
        players, parameter = _policies_over(players, name, values, family), name

    from ..sweeps import SweepInterrupted
    from ..sweeps import sweep as run

    if store is not None and seed is None:
        seed = "0"  # resuming from a store needs the same seed again
    interrupted = False
    try:
        with on_interrupt(signal.default_int_handler):  # from here on there may be curves to show
            result = run(
                players,
                problems,
                rounds,
                over=parameter,
                runs=count(runs, "--runs", 256),
                precision=share(precision, "--precision"),
                rng=count(seed, "--seed", least=0),
                workers=count(workers, "--workers"),
                executor=shared.cluster(dask),
                store=store,
            )
    except SweepInterrupted as interruption:
        if interruption.result is None:
            raise
        result, interrupted = interruption.result, True
    text = result.table()
    if as_json:
        text = json.dumps(result.to_dict(), indent=1, allow_nan=False)
        if seed is None:
            print(f"Note: the seed was {result.seed}.", file=sys.stderr)
    try:
        deliver(text, (csv, result.to_csv), (save, result.save), (plot, result.plot))
    finally:
        if interrupted:
            end_interrupted(store)


def values_of(text: str) -> tuple[str, list[float]]:
    """Return the name and the values that --over gives.

    >>> values_of("gap=0.1:0.5:3"), values_of("horizon=10:1000:3:log"), values_of("K=2,5")
    (('gap', [0.1, 0.3, 0.5]), ('horizon', [10.0, 100.0, 1000.0]), ('K', [2.0, 5.0]))
    """
    import numpy as np

    from .._text import in_full, shown, to_count, to_number

    name, equals, rest = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"--over must have the form NAME=VALUES, got {shown(text)}.")
    parts = rest.split(":")
    if len(parts) == 1:
        values = [to_number(part, "--over") for part in rest.split(",")]
        for value in values:
            if values.count(value) > 1:
                raise ValueError(f"the values in --over must differ, got {in_full(value)} twice.")
        return name.strip(), values
    if len(parts) not in (3, 4) or parts[3:] not in ([], ["log"]):
        raise ValueError(
            f"a range in --over must be FROM:TO:POINTS or FROM:TO:POINTS:log, got {shown(rest)}."
        )
    low, high = (to_number(part, "--over") for part in parts[:2])
    points = to_count(parts[2], "the number of points in --over", 2)
    if parts[3:] and not min(low, high) > 0.0:
        raise ValueError(f"a range with :log must be above 0, got {shown(rest)}.")
    if low == high:
        raise ValueError(f"a range in --over must have two different ends, got {shown(rest)}.")
    spaced = np.geomspace if parts[3:] else np.linspace
    # as people would write them: 0.3, not 0.30000000000000004
    return name.strip(), [float(f"{value:.12g}") for value in spaced(low, high, points)]


def _parameters(family: str) -> list[str]:
    import inspect

    from ..instances import INSTANCES

    return [name for name in inspect.signature(INSTANCES[family]).parameters if name != "sigma"]


def _with(problem: str, name: str, value: float, rewards: str, sigma: str | None) -> Problem:
    """Return a problem with another value of a parameter."""
    from .._text import split_specification

    family, numbers = split_specification(problem)
    given = ",".join(f"{key}={number!r}" for key, number in {**numbers, name: value}.items())
    return shared.problem_of(None, f"{family}:{given}", rewards, sigma)


def _policies_over(players: list[str], name: str, values: list[float], family: str) -> list[Any]:
    """Return every policy with every value of a parameter."""
    from .._text import listed
    from ..policies import family_named, parse_policy, to_policies

    made = []
    for policy in to_policies([parse_policy(text) for text in players]):
        if name not in policy.parameters:
            has = listed(policy.parameters) or "none"
            of_problem = listed(_parameters(family)) if family else "none"
            raise ValueError(
                f"--over {name}=...: {policy.label} has no parameter {name!r} (it has {has}), and "
                f"neither has the problem (it has {of_problem})."
            )
        made += [family_named(policy.family.name)(**{**policy.parameters, name: v}) for v in values]
    return made
