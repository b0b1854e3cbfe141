"""What an entry of policy_table.py holds, and the table that it goes into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import ocucb
from ocucb import problems

PROBLEMS: dict[str, Callable[..., ocucb.Problem]] = {
    "gaussian": lambda means: problems.gaussian(means, sigma=0.5 + np.arange(len(means)) / 4),
    "bernoulli": problems.bernoulli,
    "uniform": lambda means: problems.uniform_rewards(means, halfwidth=0.25),
    "beta": lambda means: problems.beta_rewards(means, concentration=1.5 + np.arange(len(means))),
}


@dataclass(frozen=True)
class Entry:
    """What tests know about a family of policies."""

    twin: Any
    settings: tuple[str, ...]  # as on the command line; the first is enough where one is
    rewards: tuple[str, ...]  # kinds that it is tested on, by their name in PROBLEMS
    skips: bool  # the skip engine can play it
    like: str | None  # has the declarations of another, so that fewer comparisons are enough
    logarithmic: bool  # its regret grows like log n
    reference: bool  # data/regret.csv has rows of it
    unit: Any  # the twin on rewards in [0, 1], where it is another: a whole index, or a class
    varied: Any  # the twin on those that may be other than 0 and 1, where it is yet another
    by_hand: dict[str, float]  # settings, and the bonus for T = 4, t = 100, n = 1000, K = 5
    horizons: tuple[int, ...]  # the few that it is tested at; none: any
    largest_horizon: float


TABLE: dict[str, Entry] = {}


def entry(
    *settings: str,
    rewards: tuple[str, ...] = tuple(PROBLEMS),
    skips: bool = False,
    like: str | None = None,
    logarithmic: bool = True,
    reference: bool = False,
    unit: Any = None,
    varied: Any = None,
    by_hand: dict[str, float] | None = None,
    horizons: tuple[int, ...] = (),
    largest_horizon: float = 2.0**53,
) -> Callable[[Any], Any]:
    """Enter a twin into the table under the name of its family."""

    def register(twin: Any) -> Any:
        name = settings[0].partition(":")[0]
        skipping = (skips, like, logarithmic)
        other = varied or getattr(unit, "varied", None)
        facts = (*skipping, reference, unit, other, by_hand or {}, horizons, largest_horizon)
        TABLE[name] = Entry(twin, settings, rewards, *facts)
        return twin

    return register
