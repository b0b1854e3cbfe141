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

import numba

from .._compile import compiled, inlined, specialise
from .._users import is_ours
from ..policies._base import PolicyFamily
from ..problems import GAUSSIAN, Noise, Problem
from ..random import normal
from . import skip, skip_thompson, step

ENGINES = ("auto", "skip", "step")

# Raise it whenever a seed gives other numbers than before: stores keep the two apart.
NUMERICS = 1

# While an arm's bonus falls with its pulls, the step engine may look so far ahead (see `step`).
_LEAP = 1.0 / 64.0


def engine_for(
    family: PolicyFamily,
    problem: Problem,
    horizon: int,
    wanted: str,
    infinite: Callable[[], bool] = lambda: False,
) -> str:
    """Return the engine that plays a policy on a problem: "skip" or "step".

    A policy or a kind of reward that cannot be skipped ahead with runs step by step; if "skip" was
    asked for, a warning says why.

    Parameters
    ----------
    infinite : callable
        Tells whether the policy's bonus may be infinite; asked only when it matters.
    """
    if wanted == "step":
        return "step"
    obstacle = _obstacle(family, problem.noise)
    if obstacle is None and infinite():
        obstacle = "its bonus is infinite in some rounds"
    if obstacle is None:
        return "skip" if wanted == "skip" or _worth_skipping(family, problem, horizon) else "step"
    if wanted == "skip":
        warnings.warn(f"{family.label} runs on the step engine: {obstacle}.", stacklevel=4)
    return "step"


def _obstacle(family: PolicyFamily, noise: Noise) -> str | None:
    """Return why runs cannot be skipped ahead, or None when they can."""
    if noise is not GAUSSIAN:
        return f"skipping ahead needs Gaussian rewards, and these are {noise.name}"
    if family.kind == "choice":
        return "only index and sampling policies can be skipped ahead"
    if family.unplayed_index is None:
        return "it does not declare how the index of an unplayed arm moves (unplayed_index=)"
    if family.kind == "sampling" and family.unplayed_index != "constant":
        return "the deviation of an unplayed arm must be constant"
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
    lazy = family.kind == "index" and family.unplayed_index in ("nonincreasing", "constant")
    nanoseconds = 10.0 * horizon + 50.0 * arms if lazy else (20.0 + 6.0 * arms) * horizon
    if engine == "skip":
        nanoseconds = min(nanoseconds, 2000.0 * arms * math.log(horizon + 1.0))
    runs = min(1e8 / nanoseconds, 4e6 / (arms + checkpoints), 8192.0)
    return 1 << max(0, int(runs).bit_length() - 1)


@functools.cache
def kernel_of(family: PolicyFamily, noise: Noise, engine: str) -> Callable[..., None]:
    """Return an engine's kernel for a policy and a kind of reward, compiled on first use.

    Compiled code is kept on disk where policy and noise are part of this package.
    """
    template, functions = (_skip_kernel if engine == "skip" else _step_kernel)(family, noise)
    return specialise(template, functions, keep=True)


def _step_kernel(family: PolicyFamily, noise: Noise) -> tuple[Callable[..., None], dict[str, Any]]:
    functions: dict[str, Any] = {"draw": noise.draw, "play_each_once": _first_rounds(noise)}
    if family.kind == "choice":
        functions["choose"] = rule_of(family)
        functions["memory_size"] = family.code.compiled.get("memory", _nothing)
        return step.play_choices, functions
    if family.kind == "sampling":
        functions["deviation"] = rule_of(family)
        functions["unplayed_constant"] = family.unplayed_index == "constant"
        return step.play_samples, functions
    functions["bonus"] = rule_of(family)
    if family.unplayed_index not in ("nonincreasing", "constant"):
        return step.play_index, functions
    functions["leap"] = _LEAP if family.concave else 0.0
    functions["select_arm"] = specialise(step.select_arm, functions)
    return step.play_index_lazily, functions


def _skip_kernel(family: PolicyFamily, noise: Noise) -> tuple[Callable[..., None], dict[str, Any]]:
    if family.kind == "sampling":
        functions: dict[str, Any] = {"deviation": rule_of(family)}
        functions["play_each_once"] = _first_rounds(noise)
        functions["compete"] = specialise(skip_thompson.compete, functions)
        functions["lead"] = specialise(skip_thompson.lead, functions)
        return skip_thompson.play_thinned, functions
    functions = {
        "bonus": rule_of(family),
        "concave_until": family.code.compiled.get("concave_until", _never),
        "concave": family.concave,
        "unplayed_constant": family.unplayed_index == "constant",
        "unplayed_rises": family.unplayed_index == "nondecreasing",
        "play_each_once": _first_rounds(_NOISE_ALONE),
    }
    functions["play_leader"] = specialise(skip.play_leader, functions, inline=True)
    if family.unplayed_index != "nondecreasing":
        return skip.play_nonincreasing, functions
    functions["best_challenger"] = specialise(skip.best_challenger, functions, inline=True)
    functions["write_indices"] = specialise(skip.write_indices, functions)
    functions["scan_rounds"] = specialise(skip.scan_rounds, functions)
    return skip.play_nondecreasing, functions


@functools.cache
def _first_rounds(noise: Noise) -> Callable[..., int]:
    return specialise(step.play_each_once, {"draw": noise.draw})


def rule_of(family: PolicyFamily) -> Callable[..., Any]:
    """Return the compiled function of a policy, and make sure that it answers as it must.

    A user's may read arrays of the engine and not write them. So it is compiled for read-only ones,
    and for nothing else: then kernels hand theirs over as such.
    """
    rule: Any = family.function
    if is_ours(family.source):
        return rule  # type: ignore[no-any-return]
    number, numbers = numba.float64, numba.float64[::1]
    seen = numba.types.Array(number, 1, "C", readonly=True)
    state: tuple[Any, ...] = (number, number, number, number)
    if family.kind == "choice":
        state = (number, number, seen, seen, number, numbers, numba.uint64[::1])
    if not rule.overloads:
        table = () if family.table is None else (seen,)
        rule.compile(state + table + (number,) * len(family.defaults))
        rule.disable_compile()
    (answer,) = (one.signature.return_type for one in rule.overloads.values())
    kind, words = numba.types.Number, "a number"
    if family.kind == "choice":
        kind, words = numba.types.Integer, "the number of an arm, an int"
    if not isinstance(answer, kind) or isinstance(answer, numba.types.Complex):
        raise TypeError(f"{family.label} must return {words}, got {answer}.")
    return rule  # type: ignore[no-any-return]


def _draw_noise(mean: float, scale: float, stream: Any) -> float:
    return scale * normal(stream)


_NOISE_ALONE = Noise("noise", _draw_noise)  # the skip engine keeps sums of the noise


@compiled
def _nothing(arms: int) -> int:
    return 0


@inlined
def _never(horizon: float, arms: float, *values: float) -> float:
    return math.inf
