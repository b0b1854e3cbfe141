"""`ocucb plan`."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from . import shared
from .shared import File, Text, check_outputs, count, deliver, option, share


def plan(
    arms: Annotated[Text, option("K", "Number of arms, with --rate and --lift.")] = None,
    rate: Annotated[
        Text, option("SHARE", "Click rate of all arms but the best: 3% or 0.03.")
    ] = None,
    lift: Annotated[
        Text,
        option("SHARE", "The smallest lift worth finding, relative to the base rate: 10% or 0.1."),
    ] = None,
    means: shared.Means = None,
    problem: shared.Instance = None,
    rewards: shared.Rewards = "gaussian",
    sigma: shared.Sigma = None,
    policy: Annotated[
        str,
        option(
            "NAME[:KEY=VALUE,...]",
            "Policy to play. Default: one that the league advises for such rewards.",
            "--policy -p",
        ),
    ] = "recommend",
    certainty: Annotated[
        str, option("SHARE", "Wanted probability of recommending the best arm.", "--certainty -c")
    ] = "95%",
    horizon: Annotated[
        Text,
        option(
            "LIST",
            "Numbers of visitors to look at: 1000,1e4. Default: around those that it takes.",
            "--horizon -n",
        ),
    ] = None,
    precision: Annotated[
        str, option("SHARE", "Two standard errors of what is measured, as a share: 2% or 0.02.")
    ] = "2%",
    seed: shared.Seed = None,
    workers: shared.Workers = None,
    plot: Annotated[
        File, option("FILE", "Plot certainty and regret against the number of visitors.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Plan an experiment: how many visitors find the best arm, and what do they cost?

    For a policy, beside the classical A/B test with equal shares: the expected regret, the
    probability of recommending a wrong arm at the end, and how much worse the arm recommended is on
    average, for several numbers of visitors, and the number that the wanted certainty takes.

    **Examples**

    `ocucb plan --arms 2 --rate 3% --lift 20%`

    `ocucb plan --arms 4 --rate 3% --lift 20% --certainty 90% --plot plan.png`

    `ocucb plan --means 0,-0.2 --sigma 1 --policy thompson --json`
    """
    check_outputs(pictures=(plot,))

    from .._text import to_count
    from ..planning import plan as run

    rounds = None
    if horizon is not None:
        rounds = [to_count(n, "--horizon") for n in horizon.split(",")]

    asked = None
    if not (arms is None and rate is None and lift is None):
        if means is not None or problem is not None:
            raise ValueError("--arms, --rate and --lift do not go with --means or --problem.")
    else:
        if means is None and problem is None:
            raise ValueError(
                "specify what to tell apart with --arms 2 --rate 3% --lift 10%, or with --means."
            )
        asked = shared.problem_of(means, problem, rewards, sigma)
    result = run(
        asked,
        arms=count(arms, "--arms", 2),
        rate=share(rate, "--rate"),
        lift=share(lift, "--lift"),
        policy=policy,
        certainty=share(certainty, "--certainty"),
        horizon=rounds,
        precision=share(precision, "--precision"),
        rng=count(seed, "--seed", least=0),
        workers=count(workers, "--workers"),
    )
    text = result.table()
    if as_json:
        text = json.dumps(result.to_dict(), indent=1, allow_nan=False)
        if seed is None:
            print(f"Note: the seed was {result.seed}.", file=sys.stderr)
    deliver(text, (plot, result.plot))
