"""Users' functions: frozen at first use, and compiled under unique names.

A formula can change its meaning without changing its name: it is edited in a notebook, or a
constant that it reads gets a new value, while compiled code keeps the old one. So a user's
functions are frozen in a `Snapshot` at first use. Streams, stores and compiled code all depend on
it; functions whose meaning changes later are refused.
"""

from __future__ import annotations

import dis
import hashlib
import random
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.np.ufunc.dufunc import DUFunc

from ._compile import USER_OPTIONS, inlined, mark_as_users

_GENERATORS = (random.Random, np.random.RandomState, np.random.Generator)
_HERE = str(Path(__file__).parent)
_KNOWN = ("builtins", "math", "numba", "numpy", "ocucb")  # packages known by name
# Through these, compiled code can write to arrays that are read-only.
_WRITERS = (np.nditer, np.ascontiguousarray, np.asfortranarray, np.fill_diagonal)


def is_ours(function: Callable[..., Any]) -> bool:
    """Tell whether a function is part of this package."""
    code = getattr(plain(function), "__code__", None)
    return isinstance(code, CodeType) and code.co_filename.startswith(_HERE)


def plain(function: Any) -> Any:
    """Return the Python function behind a compiled one."""
    return getattr(function, "py_func", function)


class Snapshot:
    """Functions as they were at first use.

    Parameters
    ----------
    functions : dict
        Plain functions by name.

    Attributes
    ----------
    functions : dict
        The functions that were given.
    compiled : dict
        The same functions, compiled for inlining into kernels.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.functions = functions
        self._ours = all(map(is_ours, functions.values()))
        if self._ours:
            self.compiled = {name: inlined(one) for name, one in functions.items()}
        else:
            self._meaning = meaning(functions)
            self.compiled = {
                name: inlined(one)
                if is_ours(one)
                else _compiled_copy(one, numba.jit(**USER_OPTIONS), {})
                for name, one in functions.items()
            }

    @property
    def identity(self) -> str:
        """A hash of what the functions mean; empty for ours, known by their owner's name."""
        return "" if self._ours else hashlib.sha256(self._meaning.text.encode()).hexdigest()

    @property
    def unknown(self) -> Any:
        """Something the functions refer to whose versions cannot be told apart, or None."""
        return None if self._ours else self._meaning.unknown

    def check(self, label: str) -> None:
        """Refuse functions whose meaning has changed."""
        if not self._ours and meaning(self.functions).text != self._meaning.text:
            raise ValueError(
                f"{label} reads a value that has changed since it was first used, but compiled "
                "code keeps the old one: make it a parameter, or redefine the function."
            )


class Meaning(NamedTuple):
    """A text that changes whenever what functions compute may have changed.

    `unknown` is something they refer to that the text cannot describe, or None.
    """

    text: str
    unknown: Any


def meaning(functions: Mapping[str, Callable[..., Any]]) -> Meaning:
    """Describe functions by their bytecode and the constants and functions it refers to."""
    unknown: list[Any] = []
    parts = [f"{name}: {_of_value(one, None, [], unknown)}" for name, one in functions.items()]
    return Meaning("\n".join(parts), unknown[0] if unknown else None)


def _of_value(value: Any, user: CodeType | None, seen: list[Any], unknown: list[Any]) -> str:
    """Describe something that the code `user` refers to by name.

    `seen` holds the code and the modules on the way to it.
    """
    value = plain(getattr(value, "_dispatcher", value))  # made by numba.vectorize and numba.njit

    def of(one: Any) -> str:
        return _of_value(one, user, seen, unknown)

    if isinstance(value, ModuleType):
        if _is_known(value.__name__):
            return value.__name__
        if value in seen:  # two modules that refer to each other
            return f"again {seen.index(value)}"
        used = _names(user) if user is not None else []
        inside = [
            f"{name}={_of_value(getattr(value, name), user, [*seen, value], unknown)}"
            for name in used
            if hasattr(value, name)
        ]
        return f"{value.__name__}[{';'.join(inside)}]"
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{';'.join(map(of, value))}]"
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    if _is_known(name):
        return name
    code = getattr(value, "__code__", None)
    if not isinstance(code, CodeType):
        unknown.append(value)
        return f"{type(value).__module__}.{type(value).__qualname__}"
    if code in seen:  # it calls itself
        return f"again {seen.index(code)}"
    defaults = (value.__defaults__ or (), sorted((value.__kwdefaults__ or {}).items()))
    inputs = of((defaults[0], tuple(defaults[1])))
    return f"{_of_code(code, _space(value), value.__doc__, [*seen, code], unknown)}{inputs}"


def _of_code(
    code: CodeType,
    space: dict[str, Any],
    doc: str | None,
    seen: list[Any],
    unknown: list[Any],
) -> str:
    _refuse_misuse(code, space)
    parts = [code.co_code.hex(), ",".join(code.co_names)]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            parts.append(_of_code(constant, space, None, seen, unknown))
        else:
            parts.append(repr(None if constant == doc else constant))
    for name in (*code.co_names, *code.co_freevars):
        if name in space:
            parts.append(_of_value(space[name], code, seen, unknown))
    return "(" + ";".join(parts) + ")"


def _refuse_misuse(code: CodeType, space: dict[str, Any]) -> None:
    """Refuse foreign generators, which know neither seed nor run, and ways to read-only arrays."""
    loaded: Any = None
    for step in dis.get_instructions(code):
        if step.opname.startswith(("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME")):
            loaded = space.get(step.argval)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            loaded = getattr(loaded, step.argval, None) if loaded is np else None
            if step.argval == "flat":
                _refuse_writer(code, "flat")
        owner = getattr(loaded, "__self__", loaded)
        if owner is np.random or owner is random or isinstance(owner, _GENERATORS):
            raise ValueError(
                f"{code.co_name} must draw from ocucb.random with its stream; no seed controls "
                "numpy.random or random."
            )
        if any(loaded is one for one in _WRITERS):
            _refuse_writer(code, loaded.__name__)


def _refuse_writer(code: CodeType, name: str) -> None:
    raise ValueError(
        f"{code.co_name} must not use {name}, which can write to read-only arrays; use a loop."
    )


def _is_known(name: str) -> bool:
    return name.partition(".")[0] in _KNOWN


def _space(function: FunctionType) -> dict[str, Any]:
    """Return the current values of a function's names."""
    inside = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            inside[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return {**function.__globals__, **inside}


def _names(code: CodeType) -> list[str]:
    """Return the names that code, nested code included, refers to."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [*code.co_names, *(name for one in inner for name in _names(one))]


def _compiled_copy(function: Any, compiler: Callable[..., Any], seen: dict[Any, Any]) -> Any:
    """Compile a copy under a unique name, with the current values of what it refers to.

    Helpers are copied too: one that was compiled earlier may hold old values.
    """
    names = set(_names(function.__code__))
    cells = tuple(CellType() for _ in function.__closure__ or ())
    space: dict[str, Any] = {}
    copy = FunctionType(
        function.__code__, space, function.__name__, function.__defaults__, cells or None
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__name__}-{uuid.uuid4().hex}"
    mark_as_users(copy)
    seen[function] = compiler(copy)
    space.update(function.__globals__)
    for name in names & space.keys():
        space[name] = _taken(space[name], names, seen)
    for old, new in zip(function.__closure__ or (), cells, strict=True):
        try:
            new.cell_contents = _taken(old.cell_contents, names, seen)
        except ValueError:  # not assigned yet
            continue
    return seen[function]


def _taken(value: Any, names: set[str], seen: dict[Any, Any]) -> Any:
    """Freeze something that a function refers to."""
    if isinstance(value, Dispatcher) and not is_ours(value):
        if value.py_func not in seen:
            options = {**value.targetoptions, "boundscheck": True}
            _compiled_copy(value.py_func, numba.jit(**options), seen)
        return seen[value.py_func]
    if isinstance(value, DUFunc):  # made by numba.vectorize
        function = value._dispatcher.py_func
        return seen.get(function) or _compiled_copy(function, numba.vectorize, seen)
    if type(value) is tuple:
        return tuple(_taken(one, names, seen) for one in value)
    if isinstance(value, ModuleType) and not _is_known(value.__name__):
        if value not in seen:
            seen[value] = module = ModuleType(value.__name__)
            module.__dict__.update(value.__dict__)
            for name in names & value.__dict__.keys():
                module.__dict__[name] = _taken(value.__dict__[name], names, seen)
        return seen[value]
    return value
