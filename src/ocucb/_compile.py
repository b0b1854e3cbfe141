"""How kernels are compiled and where compiled code is kept: every numba option lives here.

A kernel is written once, as a plain function that calls names such as ``bonus`` or ``draw``
which its module only declares. `specialise` makes a copy of it in which these names are a
policy's formula and a problem's noise, and compiles the copy: a user's own formula is built into
the loop just like one of ours.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import llvmlite.binding
import numba
from numba.core.errors import NumbaError

F = TypeVar("F", bound=Callable[..., Any])

# nogil: blocks of runs share the cores as threads. The numpy error model drops Python's test for
# division by zero from inner loops; the mathematics never divides by zero.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def compiled(function: F) -> F:
    """Compile a helper that kernels call now and then."""
    return numba.njit(**_OPTIONS)(function)  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """Compile a small helper that becomes part of every loop that calls it.

    Left to itself the compiler may call it instead, which costs a normal number 6 ns on top of 2.
    """
    return numba.njit(forceinline=True, **_OPTIONS)(function)  # type: ignore[no-any-return]


@functools.cache
def _fingerprint() -> str:
    """Name of everything that compiled code depends on: our sources, numba, the processor.

    numba checks only the file that holds the kernel itself, and may mix up two versions that are
    saved at the same time under one name (its issue 4807); with this in the name, one file
    only ever holds one thing.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    processor = llvmlite.binding.get_host_cpu_name()
    features = llvmlite.binding.get_host_cpu_features().flatten()
    digest.update(f"{numba.__version__} {platform.machine()} {processor} {features}".encode())
    return digest.hexdigest()[:16]


def specialise(
    template: Callable[..., Any],
    functions: dict[str, Callable[..., Any]],
    *,
    inline: bool = False,
    name: str = "",
    keep: bool = False,
) -> Callable[..., Any]:
    """Compile a copy of `template` with `functions` put in place of the names that it declares.

    Parameters
    ----------
    template : function
        A kernel, or a part of one, whose module declares the names to be filled in.
    functions : dict
        Compiled functions by the name under which the template calls them.
    inline : bool
        Make the copy a part of every loop that calls it (see `inlined`).
    name : str
        What distinguishes this copy on disk, for example ``"ocucb-gaussian"``.
    keep : bool
        Keep the compiled code on disk for the next process. Only where all of `functions` are
        part of this package: of any other nobody knows when it changes.

    Returns
    -------
    function
        The compiled copy. Where it is kept it must always be called with the same types.
    """
    assert isinstance(template, FunctionType)
    copy = FunctionType(template.__code__, {**template.__globals__, **functions})
    copy.__module__ = template.__module__
    copy.__qualname__ = f"{template.__name__}-{name}-{_fingerprint()}"
    if inline:
        return inlined(copy)
    if keep:
        try:
            return numba.njit(cache=True, **_OPTIONS)(copy)  # type: ignore[no-any-return]
        except RuntimeError:  # there is no folder that we may write to: compile every time
            pass
    return compiled(copy)


def direct(kernel: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Return the machine code with which a compiled kernel answered a call with such arguments.

    It does not look at the types of its arguments again, which takes a third of a microsecond:
    as long as a short kernel itself. So it must be called with the very same types.
    """
    types = tuple(numba.typeof(argument) for argument in arguments)
    return kernel.overloads[types].entry_point  # type: ignore[attr-defined, no-any-return]


def complaint(error: NumbaError) -> str:
    """Return the line of numba's error that says what is wrong."""
    told = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in told if not line.startswith("Failed in")), "")


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
