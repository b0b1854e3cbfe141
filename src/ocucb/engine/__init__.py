"""How a run is simulated: which engine plays a policy on a problem, and its compiled kernel.

An engine is a set of kernels with one signature (see `step`); it reads what policies declare
about themselves. To add an engine, write its kernels, say in `_obstacle` what it cannot play, and
give it a function like `_skip_kernel`.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from .._compile import compiled, inlined, specialise
from ..policies._base import PolicyFamily
from ..problems import GAUSSIAN, Noise, Problem
from ..random import normal
from . import skip, step, thin

ENGINES = ("auto", "skip", "step")

# Raise it whenever a seed gives other numbers than before: stores keep the two apart.
NUMERICS = 1

# While an arm's bonus falls with its pulls, the step engine may look so far ahead (see `step`).
_LEAP = 1.0 / 64.0


def engine_for(family: PolicyFamily, problem: Problem, horizon: int, wanted: str) -> str:
    """Return the engine that plays a policy on a problem: "skip" or "step".

    A policy or a kind of reward that cannot be skipped ahead with runs step by step; if "skip" was
    asked for, a warning says why.
    """
    if wanted == "step":
        return "step"
    obstacle = _obstacle(family, problem.noise)
    if obstacle is None:
        return "skip" if wanted == "skip" or _worth_skipping(family, problem, horizon) else "step"
    if wanted == "skip":
        warnings.warn(f"{family.label} runs on the step engine: {obstacle}.", stacklevel=3)
    return "step"


def _obstacle(family: PolicyFamily, noise: Noise) -> str | None:
    """Return why runs cannot be skipped ahead, or None when they can."""
    if noise is not GAUSSIAN:
        return f"skipping ahead needs Gaussian rewards, and these are {noise.name}"
    if family.kind == "choice":
        return "only index and sampling policies can be skipped ahead"
    if family.waiting_arms is None:
        return 'it does not declare what waiting arms do (waiting_arms="fall", "still" or "rise")'
    if family.kind == "sampling" and family.waiting_arms != "still":
        return "the deviation of a waiting arm must stand still"
    return None


def _worth_skipping(family: PolicyFamily, problem: Problem, horizon: int) -> bool:
    """Tell which engine is faster, by measurement (`python bench/run.py choice`).

    For index policies skip-ahead is never slower to speak of: where skipping does not pay it steps.
    Thompson sampling needs some rounds before one arm leads.
    """
    if family.kind == "index" or horizon >= 1000:
        return True
    gap = problem.gaps[problem.gaps > 0].min(initial=math.inf) / problem.sigma
    return math.isfinite(gap) and horizon * gap**2 >= 20.0 * (1.0 + problem.arms)


def block_runs(family: PolicyFamily, arms: int, horizon: int, checkpoints: int, engine: str) -> int:
    """Return how many runs make a block of about a tenth of a second and at most 32 MB.

    It must not depend on the machine: where blocks begin decides how sums are rounded.
    """
    lazy = family.kind == "index" and family.waiting_arms in ("fall", "still")
    nanoseconds = 10.0 * horizon + 50.0 * arms if lazy else (20.0 + 6.0 * arms) * horizon
    if engine == "skip":
        nanoseconds = min(nanoseconds, 2000.0 * arms * math.log(horizon + 1.0))
    runs = min(1e8 / nanoseconds, 4e6 / (arms + checkpoints), 8192.0)
    return 1 << max(0, int(runs).bit_length() - 1)


@functools.cache
def kernel_of(
    family: PolicyFamily, noise: Noise, engine: str, keep: bool = True
) -> Callable[..., None]:
    """Return an engine's kernel for a policy and a kind of reward, compiled on first use.

    Parameters
    ----------
    keep : bool
        Keep the compiled code on disk if policy and noise are part of this package.
    """
    template, functions = (_skip_kernel if engine == "skip" else _step_kernel)(family, noise)
    return specialise(
        template,
        functions,
        name=f"{family.name}-{noise.name}",
        keep=keep and is_ours(family.function) and is_ours(noise.draw),
    )


def _step_kernel(family: PolicyFamily, noise: Noise) -> tuple[Callable[..., None], dict[str, Any]]:
    functions: dict[str, Any] = {"draw": noise.draw, "play_each_once": _first_rounds(noise)}
    if family.kind == "choice":
        functions["choose"] = family.function
        functions["room"] = compiled(family.memory or _nothing)
        return step.play_choices, functions
    if family.kind == "sampling":
        functions["deviation"] = family.function
        functions["still"] = family.waiting_arms == "still"
        return step.play_samples, functions
    functions["bonus"] = family.function
    if family.waiting_arms not in ("fall", "still"):
        return step.play_index, functions
    functions["leap"] = _LEAP if family.concave else 0.0
    functions["elect"] = specialise(step.elect, functions)
    return step.play_index_lazily, functions


def _skip_kernel(family: PolicyFamily, noise: Noise) -> tuple[Callable[..., None], dict[str, Any]]:
    if family.kind == "sampling":
        functions: dict[str, Any] = {"deviation": family.function}
        functions["play_each_once"] = _first_rounds(noise)
        functions["compete"] = specialise(thin.compete, functions)
        functions["lead"] = specialise(thin.lead, functions)
        return thin.play_thinned, functions
    functions = {
        "bonus": family.function,
        "cut": inlined(family.cut or _never),
        "concave": family.concave,
        "still": family.waiting_arms == "still",
        "rising": family.waiting_arms == "rise",
        "play_each_once": _first_rounds(_NOISE_ALONE),
    }
    functions["lead"] = specialise(skip.lead_on, functions, inline=True)
    if family.waiting_arms != "rise":
        return skip.play_falling, functions
    functions["look"] = specialise(skip.look_at, functions, inline=True)
    functions["measure"] = specialise(skip.measure_all, functions)
    functions["scan"] = specialise(skip.scan_rounds, functions)
    return skip.play_rising, functions


@functools.cache
def _first_rounds(noise: Noise) -> Callable[..., int]:
    return specialise(step.play_each_once, {"draw": noise.draw})


@inlined
def _draw_noise(mean: float, scale: float, stream: Any) -> float:
    return scale * normal(stream)


_NOISE_ALONE = Noise("noise", _draw_noise)  # the skip engine keeps sums of the noise


def _nothing(arms: int) -> int:
    return 0


def _never(horizon: float, arms: float, *values: float) -> float:
    return math.inf


def is_ours(function: Callable[..., Any]) -> bool:
    """Tell whether a function is part of this package."""
    # a function made by exec may belong to no module
    return (function.__module__ or "").partition(".")[0] == __name__.partition(".")[0]
