"""How a run is simulated: which engine plays a policy on a problem, and its compiled kernel.

An engine is a set of kernels with one signature (see `step`); it reads what policies declare
about themselves. To add an engine, write its kernels and give it a line in `kernel_of`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._compile import compiled, specialise
from ..policies._base import PolicyFamily
from ..problems import Noise, Problem
from . import step

ENGINES = ("auto", "step")

# While an arm's bonus falls with its pulls, the step engine may look so far ahead (see `step`).
_LEAP = 1.0 / 64.0


@functools.cache
def _first_rounds(noise: Noise) -> Callable[..., int]:
    return specialise(step.play_each_once, {"draw": noise.draw})


def _nothing(arms: int) -> int:
    return 0


def engine_for(family: PolicyFamily, problem: Problem, horizon: int, wanted: str) -> str:
    """Return the engine that plays a policy on a problem."""
    return "step"


def block_runs(family: PolicyFamily, arms: int, horizon: int, checkpoints: int, engine: str) -> int:
    """Return how many runs make a block of about a tenth of a second and at most 32 MB.

    It must not depend on the machine: where blocks begin decides how sums are rounded.
    """
    lazy = family.kind == "index" and family.waiting_arms in ("fall", "still")
    nanoseconds = 10.0 * horizon + 50.0 * arms if lazy else (20.0 + 6.0 * arms) * horizon
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
    functions: dict[str, Any] = {"draw": noise.draw, "play_each_once": _first_rounds(noise)}
    template: Callable[..., None]
    if family.kind == "index":
        functions["bonus"] = family.function
        if family.waiting_arms in ("fall", "still"):
            functions["leap"] = _LEAP if family.concave else 0.0
            functions["elect"] = specialise(step.elect, functions)
            template = step.play_index_lazily
        else:
            template = step.play_index
    elif family.kind == "sampling":
        functions["deviation"] = family.function
        functions["still"] = family.waiting_arms == "still"
        template = step.play_samples
    else:
        functions["choose"] = family.function
        functions["room"] = compiled(family.memory or _nothing)
        template = step.play_choices
    return specialise(
        template,
        functions,
        name=f"{family.name}-{noise.name}",
        keep=keep and _ours(family.function) and _ours(noise.draw),
    )


def _ours(function: Callable[..., Any]) -> bool:
    return function.__module__.partition(".")[0] == __name__.partition(".")[0]
