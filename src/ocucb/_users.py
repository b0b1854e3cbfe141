"""Users' functions: frozen at first use, and compiled under unique names.

A formula can change its meaning without changing its name: it is edited in a notebook, or a
constant that it reads gets a new value, while compiled code keeps the old one. So a user's
functions are frozen in a `Snapshot` at first use. Streams, stores and compiled code all depend on
it; functions whose meaning changes later are refused.
"""

from __future__ import annotations

import dis
import enum
import hashlib
import inspect
import random
import sys
import uuid
from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import CellType, CodeType, EllipsisType, FunctionType, ModuleType, NoneType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher, cpu_target
from numba.np.ufunc.dufunc import DUFunc

from ._compile import USER_OPTIONS, compiled_rule, mark_as_users

_Space = Mapping[str, Any]  # what names stand for
_GENERATORS = (random.Random, np.random.RandomState, np.random.Generator)
_HERE = Path(__file__).parent
_KNOWN = ("builtins", "math", "numba", "numpy", "ocucb", "scipy")  # packages known by name
# Where to look for what does not say where it is defined: numba's types, scipy's ufuncs.
_PLACES = ("numba.core.types", "scipy.special")
_PLAIN = (NoneType, EllipsisType, bool, int, str, bytes)  # whose repr tells all
# Through these, compiled code can write to arrays that are read-only.
_WRITERS = (np.nditer, np.ascontiguousarray, np.asfortranarray, np.fill_diagonal)


def is_ours(function: Callable[..., Any]) -> bool:
    """Tell whether a function is part of this package."""
    code = getattr(plain(function), "__code__", None)
    return isinstance(code, CodeType) and Path(code.co_filename).is_relative_to(_HERE)


def plain(function: Any) -> Any:
    """Return the Python function behind a compiled one."""
    return getattr(function, "py_func", function)


class Snapshot:
    """Plain functions, by name, as they were at first use.

    Ours are known by the name of what they belong to. `compiled` has them compiled, for inlining
    into kernels.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]], ours: bool) -> None:
        self.functions = functions
        self._meaning = None if ours else meaning(functions)
        self.compiled = {
            name: compiled_rule(function) if is_ours(function) else _frozen(function)
            for name, function in functions.items()
        }

    @property
    def identity(self) -> str:
        """A hash of what the functions mean; empty for ours."""
        told = self._meaning
        return "" if told is None else hashlib.sha256(told.text.encode()).hexdigest()

    @property
    def unknown(self) -> Any:
        """Something the functions refer to whose versions cannot be told apart, or None.

        Then no other snapshot has the same identity.
        """
        return None if self._meaning is None else self._meaning.unknown

    def check(self, label: str) -> None:
        """Refuse functions whose meaning has changed; one that is unknown is always taken anew."""
        if self._meaning is None or self.unknown is not None:
            return
        if meaning(self.functions).text != self._meaning.text:
            raise ValueError(
                f"{label} reads a value that has changed since it was first used, but compiled "
                "code keeps the old one: make it a parameter, or redefine the function."
            )


class Meaning(NamedTuple):
    """A text that changes whenever what functions compute may have changed.

    `unknown` is something they refer to that the text cannot describe, or None; then the text is
    like no other.
    """

    text: str
    unknown: Any


def meaning(functions: Mapping[str, Callable[..., Any]]) -> Meaning:
    """Describe functions by their bytecode and the constants and functions it refers to."""
    unknown: list[Any] = []
    parts = [f"{name}: {_of_value(code, None, [], unknown)}" for name, code in functions.items()]
    return Meaning("\n".join(parts), unknown[0] if unknown else None)


def _of_value(value: Any, user: CodeType | None, seen: list[Any], unknown: list[Any]) -> str:
    """Describe something that the code `user` refers to, completely, or note that it is unknown.

    `seen` holds the functions, modules and containers on the way to it. Types are compared exactly:
    a subclass may mean anything.
    """
    kind = type(value)

    def of(inside: Any) -> str:
        return _of_value(inside, user, [*seen, value], unknown)

    if kind in _PLAIN:
        return repr(value)
    if kind in (float, complex) or (isinstance(value, np.generic) and kind is value.dtype.type):
        number = np.asarray(value)
        if not number.dtype.hasobject:
            return f"{kind.__name__} {number.dtype!r} {number.tobytes().hex()}"
    if (name := _known_name(value)) is not None:
        return name
    for i, before in enumerate(seen):
        if before is value:  # a function that calls itself, modules that refer to each other
            return f"again {i}"
    if isinstance(value, ModuleType):
        used = _names(user) if user is not None else []
        inside = [f"{name}={of(getattr(value, name))}" for name in used if hasattr(value, name)]
        return f"{value.__name__!r}[{';'.join(inside)}]"
    if kind is np.ndarray and not value.dtype.hasobject:
        return f"{value.dtype!r} {value.shape} {value.strides} {value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return repr(value)
    if kind in (tuple, list):
        return f"{kind.__name__}[{';'.join(map(of, value))}]"
    if kind in (set, frozenset):
        return f"{kind.__name__}[{';'.join(sorted(map(of, value)))}]"
    if kind is dict:
        return f"dict[{';'.join(f'{of(key)}={of(item)}' for key, item in value.items())}]"
    if _is_plain_named_tuple(value):
        return f"named tuple {value._fields} {of(value._field_defaults)}"
    if _is_plain_enum(value):
        members = {name: member.value for name, member in value.__members__.items()}
        return f"{value.__bases__[0].__name__} {of(members)}"
    if _is_plain_named_tuple(kind):
        return f"{of(kind)}{of(tuple(value))}"
    if _is_plain_enum(kind):
        return f"{of(kind)}.{value.name}"
    if kind is CPUDispatcher and value._compiler.pipeline_class is Compiler:
        options = {**value.targetoptions, "locals": value.locals}
        return f"compiled{of(options)}{_fixed_types(value)}{of(value.py_func)}"
    if kind is DUFunc:
        inner = value._dispatcher
        options = {**inner.targetoptions, "locals": inner.locals, "identity": value.identity}
        return f"vectorized{of(options)}{_fixed_types(value)}{of(inner.py_func)}"
    if kind is FunctionType and (user is None or not _is_overloaded(value)):
        given = (value.__defaults__, value.__kwdefaults__, vars(value))
        space = (value.__globals__, _cells(value))
        return of(given) + _of_code(value.__code__, *space, [*seen, value], unknown)
    unknown.append(value)
    return f"unknown {uuid.uuid4().hex}"


def _known_name(value: Any) -> str | None:
    """Return the name under which a known package has this very object, or None."""
    if isinstance(value, ModuleType):
        name = value.__name__
        return name if _is_known(name) and sys.modules.get(name) is value else None
    home = getattr(value, "__module__", None)
    for place in (home, *_PLACES):
        if isinstance(place, str) and _is_known(place) and place in sys.modules:
            for name, known in vars(sys.modules[place]).items():
                if known is value:
                    return f"{place}.{name}"
    return None


class _Tuple(NamedTuple):
    field: int


class _Enum(enum.Enum):
    MEMBER = 1


class _IntEnum(enum.IntEnum):
    MEMBER = 1


def _is_plain_named_tuple(value: Any) -> bool:
    """Tell whether something is a class of named tuples with fields, defaults and nothing else."""
    if not isinstance(value, type) or value.__bases__ != (tuple,) or not hasattr(value, "_fields"):
        return False
    return vars(value).keys() <= vars(_Tuple).keys() | set(value._fields)


def _is_plain_enum(value: Any) -> bool:
    """Tell whether something is an enumeration with members and nothing else."""
    if type(value) is not enum.EnumMeta:
        return False
    kind = next((like for like in (_Enum, _IntEnum) if like.__bases__ == value.__bases__), None)
    return kind is not None and vars(value).keys() <= vars(kind).keys() | set(value.__members__)


def _is_overloaded(function: FunctionType) -> bool:
    """Tell whether compiled code calls something else instead, which numba compiles only once."""
    context = cpu_target.typing_context
    context.refresh()
    return context._lookup_global(function) is not None


def _of_code(
    code: CodeType, space: _Space, cells: _Space, seen: list[Any], unknown: list[Any]
) -> str:
    """Describe code: its arguments, its instructions, and what its names stand for."""
    _refuse_misuse(code, ChainMap(cells, space))  # type: ignore[arg-type]
    arguments = inspect.getargs(code)
    kinds = (code.co_posonlyargcount, code.co_kwonlyargcount)
    errors = getattr(code, "co_exceptiontable", b"")  # new in Python 3.11
    parts = [f"{arguments} {kinds} {code.co_names} {errors.hex()}"]
    for step in dis.get_instructions(code):
        given = str(step.arg)
        if step.arg is not None and step.opcode in dis.hasconst:
            constant = code.co_consts[step.arg]  # not step.argval, which lacks keywords in 3.11
            if isinstance(constant, CodeType):
                given = _of_code(constant, space, cells, seen, unknown)
            else:
                given = _of_value(constant, code, seen, unknown)
        parts.append(f"{step.opcode} {given}")
    values = [space[name] for name in _globals_of(code) if name in space]
    values += [cells[name] for name in code.co_freevars if name in cells]
    parts += [_of_value(value, code, seen, unknown) for value in values]
    return "(" + ";".join(parts) + ")"


def _refuse_misuse(code: CodeType, space: Mapping[str, Any]) -> None:
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
        if any(loaded is writer for writer in _WRITERS):
            _refuse_writer(code, loaded.__name__)


def _refuse_writer(code: CodeType, name: str) -> None:
    raise ValueError(
        f"{code.co_name} must not use {name}, which can write to read-only arrays; use a loop."
    )


def _is_known(name: str) -> bool:
    return name.partition(".")[0] in _KNOWN


def _cells(function: FunctionType) -> dict[str, Any]:
    """Return the current values of the variables around a function."""
    inside = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            inside[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return inside


def _nested(code: CodeType) -> list[CodeType]:
    """Return code and all code inside it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [code, *(deeper for part in inner for deeper in _nested(part))]


def _names(code: CodeType) -> list[str]:
    """Return the names that code, nested code included, refers to."""
    return [name for part in _nested(code) for name in part.co_names]


def _globals_of(code: CodeType) -> dict[str, None]:
    """Return the names of the globals that code reads."""
    steps = dis.get_instructions(code)
    return {step.argval: None for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


def _frozen(function: Callable[..., Any]) -> Any:
    """Compile a copy of a user's function as it is now, with all that it refers to."""
    seen: dict[Any, Any] = {}
    copy = _compiled_copy(function, function, numba.jit(**USER_OPTIONS), seen)
    # Only now do all copies find each other; those that others call were made last.
    for helper, its_copy in reversed(seen.items()):
        if isinstance(helper, CPUDispatcher | DUFunc):
            _fix_types(its_copy, _fixed_types(helper))
    return copy


def _compiled_copy(
    original: Any, function: Any, compiler: Callable[..., Any], seen: dict[Any, Any]
) -> Any:
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
    seen[original] = compiler(copy)
    # Nothing else: the policy itself may be among the globals, and compiled code outlive it.
    read = {name for part in _nested(function.__code__) for name in _globals_of(part)}
    for name in {"__builtins__", "__name__", *read} & function.__globals__.keys():
        space[name] = _taken(function.__globals__[name], names, seen)
    for old, new in zip(function.__closure__ or (), cells, strict=True):
        try:
            new.cell_contents = _taken(old.cell_contents, names, seen)
        except ValueError:  # not assigned yet
            continue
    return seen[original]


def _taken(value: Any, names: set[str], seen: dict[Any, Any]) -> Any:
    """Freeze something that a function refers to."""
    if type(value) is CPUDispatcher and not is_ours(value):
        options = {**value.targetoptions, "boundscheck": True, "locals": value.locals}
        return seen.get(value) or _compiled_copy(value, value.py_func, numba.jit(**options), seen)
    if type(value) is DUFunc:  # made by numba.vectorize
        inner = value._dispatcher
        options = {**inner.targetoptions, "locals": inner.locals}
        compiler = partial(DUFunc, identity=value.identity, targetoptions=options)
        return seen.get(value) or _compiled_copy(value, inner.py_func, compiler, seen)
    if type(value) is tuple:
        return tuple(_taken(item, names, seen) for item in value)
    if _is_plain_named_tuple(type(value)):
        return value._make(_taken(item, names, seen) for item in value)
    if isinstance(value, ModuleType) and _known_name(value) is None:
        if value not in seen:
            seen[value] = module = ModuleType(value.__name__)
            module.__dict__.update(value.__dict__)
            for name in names & value.__dict__.keys():
                module.__dict__[name] = _taken(value.__dict__[name], names, seen)
        return seen[value]
    return value


def _fixed_types(helper: CPUDispatcher | DUFunc) -> list[Any]:
    """Return the signatures to which a user restricted a helper: arguments are converted."""
    if isinstance(helper, DUFunc):
        made = helper._dispatcher.overloads.values() if helper._frozen else ()
    else:
        made = () if helper._can_compile else helper.overloads.values()
    return [overload.signature for overload in made]


def _fix_types(helper: CPUDispatcher | DUFunc, signatures: list[Any]) -> None:
    """Restrict a helper likewise, unless it takes arrays: ours are read-only."""
    numbers = (numba.types.Number, numba.types.Boolean)
    if signatures and all(isinstance(kind, numbers) for given in signatures for kind in given.args):
        add = helper.add if isinstance(helper, DUFunc) else helper.compile
        for given in signatures:
            add(given)
        helper.disable_compile()
