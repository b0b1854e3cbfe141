"""Features and means that are drawn anew in each round, or change with it.

One of these fills the slot `next_round` of the scaffold: it writes the features that policies are
told (`run.features`) and each arm's mean in that round (`run.drawn`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._compile import kernel_part, specialise
from .._types import Floats, Words
from ..random import below
from ..rewards import Rewards

# Declared here, filled in by `specialise`.
contexts: Callable[[Floats, float, Words], None]
path: Callable[..., None]


@kernel_part
def loss(means: Floats, arm: int) -> float:
    """Return what the arm's mean lacks to the best."""
    best = means[0]
    for i in range(1, means.size):
        best = max(best, means[i])
    lost: float = best - means[arm]
    return lost


# Places in `Run.rounds`, where means change: the first three of `run`; whether the arm that played
# last was a best one; of the time since the last change, the regret, the share of best arms (see
# `note_round`), and the rounds until it had recovered.
PLAYED, LOST, NEXT, BEST, SINCE, SHARE, RECOVERED = range(7)
MEMORY = 25.0  # rounds


@kernel_part
def note_round(rounds: Floats, lost: float, t: float, change: int) -> None:
    """Add up what was lost, in all and since the last change; note when play has recovered.

    It has once a best arm gets half of the recent rounds, that is, of rounds with weights that fall
    by a factor of e every `MEMORY` rounds: 17 rounds after the change at the earliest.
    """
    rounds[LOST] += lost
    rounds[BEST] = 1.0 if lost == 0.0 else 0.0
    if change > 0 and t >= change:
        rounds[SINCE] += lost
        if rounds[RECOVERED] == 0.0:
            rounds[SHARE] += (rounds[BEST] - rounds[SHARE]) / MEMORY
            if rounds[SHARE] >= 0.5:
                rounds[RECOVERED] = t - change + 1.0


def no_round(game: Any, run: Any, t: float) -> None:
    """Leave features and means as they are."""


def shared_round(game: Any, run: Any, t: float) -> None:
    """Draw features for each arm, whose means are their products with theta, the table."""
    x = run.features
    contexts(x, t, run.reward_rng)
    for i in range(x.shape[0]):
        run.drawn[i] = 0.0
        for j in range(x.shape[1]):
            run.drawn[i] += x[i, j] * game.table[j]


def disjoint_round(game: Any, run: Any, t: float) -> None:
    """Draw one context, whose products with each arm's own theta are the means."""
    x = run.features
    contexts(x, t, run.reward_rng)
    for i in range(run.drawn.size):
        run.drawn[i] = 0.0
        for j in range(x.shape[1]):
            run.drawn[i] += x[0, j] * game.table[i * x.shape[1] + j]


def data_round(game: Any, run: Any, t: float) -> None:
    """Draw a row of data: features, and what each arm would pay."""
    x, K = run.features, run.drawn.size
    width = x.size + K
    start = below(run.reward_rng, game.table.size // width) * width
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = game.table[start + i * x.shape[1] + j]
    for i in range(K):
        run.drawn[i] = game.table[start + x.size + i]


def path_round(game: Any, run: Any, t: float) -> None:
    """Go on along a path of means that the table describes."""
    path(run.drawn, t, game.table, run.reward_rng)


def own_round(game: Any, run: Any, t: float) -> None:
    """Go on along a user's path of means."""
    path(run.drawn, t, run.reward_rng)


_WAYS = {
    "": no_round,
    "shared": shared_round,
    "disjoint": disjoint_round,
    "rows": data_round,
    "path": path_round,
    "own path": own_round,
}


def round_of(rewards: Rewards) -> Callable[[Any, Any, float], None]:
    """Return how a kind of reward draws the next round."""
    return specialise(_WAYS[rewards.rounds], rewards.code.compiled, part=True)
