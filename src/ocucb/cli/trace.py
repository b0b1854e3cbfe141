"""`ocucb trace`."""

from __future__ import annotations

from typing import Annotated

from . import shared
from .shared import File, check_outputs, count, deliver, option


def trace(
    policy: Annotated[
        str, option("NAME[:KEY=VALUE,...]", "Policy to play.", "--policy -p")
    ] = "kl-ocucb",
    means: shared.Means = None,
    problem: shared.Instance = None,
    horizon: shared.Horizon = None,
    run: Annotated[str, option("N", "Which of the runs with this seed.")] = "0",
    seed: shared.Seed = None,
    rewards: shared.Rewards = "gaussian",
    sigma: shared.Sigma = None,
    plot: Annotated[File, option("FILE", "Plot which arm was played when, and the regret.")] = None,
    csv: Annotated[File, option("FILE", "Write one line per round as CSV.")] = None,
) -> None:
    """Play a single run, and print what happened round by round.

    **Example**

    `ocucb trace -p ocucb --means 0,-0.3 -n 1000 --seed 1 --plot run.png`
    """
    arms = shared.problem_of(means, problem, rewards, sigma)
    rounds = shared.rounds_of(horizon, arms, "1000")
    check_outputs(csv, pictures=(plot,))

    from ..tracing import trace as play

    found = play(
        policy, arms, rounds, run=count(run, "--run", least=0), rng=count(seed, "--seed", least=0)
    )
    deliver(repr(found), (csv, found.to_csv), (plot, found.plot))
