"""`ocucb theory`: bounds on the regret."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Annotated

import typer

from .._interrupt import on_interrupt
from . import shared
from .shared import File, Text, check_outputs, count, deliver, option


def theory(
    means: shared.Means = None,
    problem: shared.Instance = None,
    horizon: shared.Horizon = None,
    rewards: shared.Rewards = "gaussian",
    sigma: Annotated[Text, option("NUMBER", "Subgaussian parameter of the noise.")] = None,
    measure: Annotated[
        bool, typer.Option("--simulate", help="Also measure the regret of policies.")
    ] = False,
    policy: Annotated[
        list[str] | None,
        option(
            "NAME[:KEY=VALUE,...]",
            "With --simulate: policy to play; repeat for several. Default: ocucb, and "
            "UCB and MOSS with the constants for which their bounds are proved.",
            "--policy -p",
        ),
    ] = None,
    runs: Annotated[Text, option("N", "With --simulate: runs. Default: 1000.", "--runs -r")] = None,
    seed: Annotated[Text, option("N", "With --simulate: the seed.")] = None,
    plot: Annotated[
        File, option("FILE", "Plot regret against n, with the bounds as bands.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead.")] = False,
) -> None:
    """Print upper and lower bounds on the regret and, on request, measured regret.

    A *bound* holds exactly as printed; a *shape* is known only up to a constant factor; a *limit*
    holds as n → ∞. Bounds whose conditions fail are listed with the reason.

    **Examples**

    `ocucb theory --means 0,-0.1,-0.5 --horizon 1e5`

    `ocucb theory --means 0.03,0.02 --rewards bernoulli --horizon 1e6`

    `ocucb theory --means 0,-0.5 --horizon 1e6 --simulate --seed 1 --plot theory.png`
    """
    arms = shared.problem_of(means, problem, rewards, sigma)
    rounds = shared.rounds_of(horizon, arms, "1e5")
    for name, given in (("--policy", policy), ("--runs", runs), ("--seed", seed)):
        if given and not measure:
            raise ValueError(f"{name} needs --simulate.")
    check_outputs(pictures=[plot])

    from .. import theory as bounds
    from ..theory import DEFAULT_POLICIES as with_bounds

    with on_interrupt(signal.default_int_handler):  # let the progress bar clean up
        report = bounds.report(
            arms,
            rounds,
            policies=(policy or with_bounds) if measure else (),
            runs=count(runs or "1000", "--runs"),
            rng=count(seed, "--seed", least=0),
            curve=plot is not None,
        )

    def draw(path: Path) -> None:
        from ..figures import write

        write(report.plot(), path)

    text = json.dumps(report.to_dict(), indent=1, allow_nan=False) if as_json else report.table()
    deliver(text, (plot, draw))
