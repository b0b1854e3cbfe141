"""How kernels are compiled: every numba option lives here.

A kernel is written once, as a plain function that calls names such as ``bonus`` or ``draw``
that its module only declares. `specialise` makes a copy in which these names are bound to a
policy's formula and a problem's rewards, and compiles the copy: a user's formula is built into the
loop just like one of ours.

Names matter. numba names machine code after the function, a counter that restarts in every process,
and types. Code cached by another process may therefore share its name with different code in this
one, and the linker silently takes one for the other (numba issues 5128, 10128 and 10486). So a
copy's name covers everything bound into it, down to the last helper: equal names mean equal code. A
user's function gets a name that is never reused.
"""

from __future__ import annotations

import hashlib
import os
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, TypeVar

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError

from ._code_cache import CodeCache

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
_PLAIN_HELPER = re.compile(r"Untyped global name '(\w+)': .*<class 'function'>")

# nogil: threads play blocks of runs in parallel. The numpy error model drops Python's check for
# division by zero from inner loops; the formulas never divide by zero. Nothing is called from C.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Kernels and their parts allocate nothing, so they count no references, which would take longer
# than the rest of a short loop (_nrt: numba's runtime, which counts them). What may allocate says
# so: it would inherit the option from the first kernel that calls it.
_ALLOCATING: dict[str, Any] = {"_nrt": True, **_OPTIONS}
_COUNTING_NOTHING: dict[str, Any] = {"_nrt": False, **_OPTIONS}
_INLINED: dict[str, Any] = {"forceinline": True, "nopython": True, **_COUNTING_NOTHING}
_RULE: dict[str, Any] = {**_INLINED, "_nrt": True}
# A user's function may index out of bounds.
USER_OPTIONS: dict[str, Any] = {"boundscheck": True, **_RULE}


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The optimised code of a part, to be linked into the kernels that call it.

    These become machine code. Making it of each part as well would take an eighth of the time.
    Nothing enters a part from Python, so it needs neither a pointer nor an environment.
    """

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _PartLibrary:
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing: machine code would have a place for the environment."""


class _PartCompiler(Compiler):  # type: ignore[misc]
    """Compiles a part."""

    def define_pipelines(self) -> Any:
        """Return the usual passes, for a library that is linked and never entered."""
        name = self.state.func_id.func_qualname
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), name)
        return super().define_pipelines()


_PART: dict[str, Any] = {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler}

# numba's lock: the thread that holds it may compile, and may take it again; the others wait. So it
# must not wait for any of them meanwhile.
compiling = global_compiler_lock

# Functions that are a user's or contain one: they are not cached on disk.
_USERS: weakref.WeakSet[Callable[..., Any]] = weakref.WeakSet()


class _Assembler(Compiler):  # type: ignore[misc]
    """Compiles a kernel that only calls its parts, which have been optimised already.

    To optimise all of them again would take as long as the first time, and make no run faster.
    """

    def define_pipelines(self) -> Any:
        """Return the usual passes, for a library that is linked and left as it is."""
        library = self.state.targetctx.codegen().create_library(self.state.func_id.func_qualname)
        library.enable_object_caching()
        library._optimize_final_module = lambda: None
        self.state.library = library
        return super().define_pipelines()


def compiled(function: F) -> F:
    """Compile a helper that kernels call occasionally."""
    return numba.njit(**_ALLOCATING)(function)  # type: ignore[no-any-return]


def compiled_rule(function: F) -> F:
    """Compile a function of a policy or a kind of reward, to be inlined like a small helper."""
    return numba.jit(**_RULE)(function)  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """Compile a small helper to be inlined into every loop that calls it.

    Left to itself, the compiler may emit a call: 6 ns on top of the 2 ns of a normal variate.
    """
    return numba.jit(**_INLINED)(function)  # type: ignore[no-any-return]


def kernel_part(function: F) -> F:
    """Compile a small helper like `inlined`, but for kernels alone, in half the time.

    There is nothing that Python could call: a call crashes the process. `py_func` can be called.
    """
    return numba.jit(**_PART, **_INLINED)(function)  # type: ignore[no-any-return]


def rare_part(function: F) -> F:
    """Compile a helper that kernels alone call, and only occasionally (see `kernel_part`)."""
    return numba.jit(**_PART, **_COUNTING_NOTHING)(function)  # type: ignore[no-any-return]


def mark_as_users(function: Callable[..., Any]) -> None:
    """Mark a function as a user's; its name must never be reused."""
    _USERS.add(function)


def specialise(
    template: Callable[..., Any],
    functions: dict[str, Any],
    *,
    inline: bool = False,
    part: bool = False,
    forced: bool = False,
    keep: bool = False,
    assembled: bool = False,
) -> Callable[..., Any]:
    """Compile a copy of `template` with `functions` bound to the names that it declares.

    Parameters
    ----------
    template : function
        A kernel, or a part of one, whose module declares the names to bind.
    functions : dict
        Compiled functions and constants, by the name that the template uses; those that it does
        not use are ignored.
    inline : bool
        Inline the copy into its callers before compilation: this may halve the time to compile a
        small one with one caller, and increases it with several.
    part : bool
        Only kernels call the copy, as in `rare_part`.
    forced : bool
        And it is inlined into every loop that calls it, as in `kernel_part`.
    keep : bool
        It is a kernel, which allocates nothing, either. Its compiled code is cached on disk for the
        next process, unless some of it is a user's, such as an engine from outside the package.
    assembled : bool
        And it does no more than call parts that are optimised on their own.

    Returns
    -------
    function
        The compiled copy.
    """
    assert isinstance(template, FunctionType)
    bound = {name: functions[name] for name in template.__code__.co_names if name in functions}
    copy = FunctionType(template.__code__, {**template.__globals__, **bound})
    copy.__module__ = template.__module__
    facts = [f"{name}={_identity(value)}" for name, value in sorted(bound.items())]
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:32]
    copy.__qualname__ = f"{template.__name__}-{digest}"
    parts = [template, *(value.py_func for value in bound.values() if hasattr(value, "py_func"))]
    users = any(part in _USERS or not _is_inside(part) for part in parts)
    if users:
        mark_as_users(copy)
    if inline:
        options = {"inline": "always", **_PART, **_INLINED}
        return numba.jit(**options)(copy)  # type: ignore[no-any-return]
    if part:
        return kernel_part(copy) if forced else rare_part(copy)
    if not keep:
        return compiled(copy)
    how = {"pipeline_class": _Assembler} if assembled else {}
    function: Any = numba.jit(**how, **_COUNTING_NOTHING)(copy)
    if not users:
        function._cache = CodeCache(f"{copy.__module__}.{copy.__qualname__}")
    return function  # type: ignore[no-any-return]


def _is_inside(function: FunctionType) -> bool:
    """Tell whether a function is part of this package: the name of the cache covers only that."""
    return function.__code__.co_filename.startswith(os.path.dirname(__file__) + os.sep)


def _identity(value: Any) -> str:
    """Return a text that two values share only if they are the same code or constant."""
    function = getattr(value, "py_func", None)
    if function is None:
        assert isinstance(value, bool | int | float), f"{value!r} cannot be bound into a kernel"
        return repr(value)
    # The cache keeps versions of the package apart; within one, the name of a module-level function
    # identifies it.
    name: str = function.__qualname__
    assert "<" not in name or function in _USERS, f"{name} has no unique name"
    return f"{function.__module__}.{name}"


def entry_point(kernel: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Return the machine code of a kernel that has been called with such arguments.

    It skips the check of argument types, which takes a third of a microsecond: as long as a short
    kernel itself. So it must be called with exactly the same types.
    """
    types = tuple(numba.typeof(argument) for argument in arguments)
    with compiling:  # the thread that compiled it may still be noting that it has
        return kernel.overloads[types].entry_point  # type: ignore[attr-defined, no-any-return]


@contextmanager
def translate_numba_errors(what: str) -> Iterator[None]:
    """Say in one sentence why `what` cannot be compiled."""
    if numba.config.DISABLE_JIT:
        raise RuntimeError(
            f"{what} cannot be played with NUMBA_DISABLE_JIT: loops rely on compiled code; unset "
            "it, and debug a formula by calling it as Python (`source` of a policy)."
        )
    try:
        yield
    except (NumbaError, AttributeError) as error:
        # numba fails with the latter on `array += 1` where the array is read-only
        if "readonly" in str(error) or str(error).endswith("no attribute 'args'"):
            why = "it writes to a read-only array (only memory is writable)."
        else:
            told = [line.strip() for line in str(error).splitlines() if line.strip()]
            why = next((line for line in told if not line.startswith("Failed in")), "")
            helper = _PLAIN_HELPER.match(why)
            if helper:
                why = f"{helper[1]} is a plain Python function; decorate it with @numba.njit."
        raise TypeError(f"{what} cannot be compiled by numba: {why}") from error


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
