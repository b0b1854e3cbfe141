"""How runs are simulated: the engine that plays a policy on a problem, and its compiled kernel.

To add an engine, write a file like `skip.py` that ends with its three answers, and list it here.
"""

from __future__ import annotations

import warnings

from .._memo import cached_while_alive
from .._text import remedy, shown
from ..policies._families import Policy, PolicyFamily
from ..problems import Problem
from ..rewards import Rewards
from . import forgetting, linear, skip, skip_binary, skip_leader, skip_thompson, step
from .base import ADVICE, LUCK, Engine, Game, Outcome, Rows, luck_widths, new_game, new_outcome
from .run import Kernel

__all__ = [
    "ADVICE",
    "ENGINES",
    "LUCK",
    "NUMERICS",
    "Engine",
    "Game",
    "Kernel",
    "Outcome",
    "Rows",
    "block_runs",
    "choose_engine",
    "engine_named",
    "kernel_of",
    "luck_widths",
    "new_game",
    "new_outcome",
]

# Ties in cost go to the first.
ENGINES = (
    *(skip.ENGINE, skip_binary.ENGINE, skip_leader.ENGINE, skip_thompson.ENGINE),
    *(forgetting.ENGINE, linear.ENGINE, step.ENGINE),
)

# Increment whenever a seed gives different numbers than before: stores keep the two apart.
NUMERICS = 1


def choose_engine(policy: Policy, problem: Problem, horizon: int, wanted: str) -> Engine:
    """Return the engine that plays a policy on a problem.

    Parameters
    ----------
    wanted : str
        "auto" for the cheapest, or an engine's name; if that one cannot play, a warning says why
        and the step engine plays.
    """
    names = ("auto", *sorted({engine.name for engine in ENGINES}))
    if wanted not in names:
        raise ValueError(f"unknown engine {shown(wanted)}; {remedy(wanted, names)}")
    policy = policy.on(problem.rewards.unit, problem.rewards.binary)
    rule = policy.family.rule
    asked = [
        engine
        for engine in ENGINES
        if wanted in ("auto", engine.name) and isinstance(rule, engine.rule)
    ]
    obstacles = [engine.obstacle(policy, problem, horizon) for engine in asked]
    able = [engine for engine, text in zip(asked, obstacles, strict=True) if text is None]
    if able:
        return min(able, key=lambda engine: engine.cost(policy, problem, horizon))
    reason = (
        "; ".join(dict.fromkeys(filter(None, obstacles)))
        or f"no {wanted} engine plays {rule.kind} policies"
    )
    warnings.warn(f"{policy.label} runs on the step engine: {reason}.", stacklevel=5)
    return engine_named("step", policy, problem, horizon)


def engine_named(name: str, policy: Policy, problem: Problem, horizon: int) -> Engine:
    """Return the engine called `name` that plays a policy on a problem."""
    policy = policy.on(problem.rewards.unit, problem.rewards.binary)
    for engine in ENGINES:
        mine = engine.name == name and isinstance(policy.family.rule, engine.rule)
        if mine and engine.obstacle(policy, problem, horizon) is None:
            return engine
    raise ValueError(f"no engine {name!r} plays {policy.label} on {problem.rewards.name} rewards.")


def block_runs(nanoseconds: float, arms: int, checkpoints: int) -> int:
    """Return how many runs of a given cost make a block of 0.1 s and at most 32 MB."""
    runs = min(1e8 / nanoseconds, 4e6 / (arms + checkpoints), 8192.0)
    return 1 << max(0, int(runs).bit_length() - 1)


@cached_while_alive
def kernel_of(family: PolicyFamily, rewards: Rewards, engine: Engine) -> Kernel:
    """Return an engine's kernel for a policy and a kind of reward, compiled on first use.

    Compiled code is cached on disk if policy and rewards are part of this package.
    """
    return Kernel(engine.plan(family.form(rewards.unit, rewards.binary), rewards))
