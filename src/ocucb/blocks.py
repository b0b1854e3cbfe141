"""A simulation cut into blocks of runs: what is played, block by block, on any machine.

A `Specification` says everything that the numbers depend on. A block of it is a pure function of
(specification, first run, number of runs) that returns small statistics, its `Moments`. Where
blocks begin depends on the specification alone, and blocks are always merged in order: so it makes
no difference which thread, process or machine played them, or when.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, ModuleType
from typing import Any

import cloudpickle
import numpy as np
import numpy.typing as npt
from numba.core.errors import NumbaError

from . import __version__
from ._compile import complaint
from .engine import NUMERICS, block_runs, is_ours, kernel_of
from .policies import Policy
from .problems import Problem
from .results import SAMPLE_SIZE, Moments

_SMALLEST = 64  # runs in the first blocks


@dataclass(frozen=True, eq=False)
class Specification:
    """One policy on one problem: all that decides the outcome of run number 0, 1, 2 and so on.

    Attributes
    ----------
    policy : Policy
    problem : Problem
    horizon : int
    checkpoints : ndarray
        Rounds after which regret is measured; the last is the horizon.
    seed : int
    engine : {"skip", "step"}
    """

    policy: Policy
    problem: Problem
    horizon: int
    checkpoints: npt.NDArray[np.int64]
    seed: int
    engine: str

    def __reduce__(self) -> tuple[Any, ...]:
        mine = (self.policy, self.problem, self.horizon, self.checkpoints, self.seed, self.engine)
        return Specification, mine

    @cached_property
    def identity(self) -> str:
        """A name for everything that changes the numbers, and nothing else."""
        family = self.policy.family
        facts: list[object] = [
            f"numerics {NUMERICS}",
            self.policy.name,
            self.problem.identity,
            self.problem.sigma.hex(),
            self.horizon,
            self.checkpoints.tolist(),
            self.seed,
            self.engine,
            self._largest,
            _meaning(self.problem.noise.draw),
        ]
        if not is_ours(family.function):
            facts += [family.kind, family.waiting_arms, family.concave]
            functions = (family.function, family.cut, family.memory, family.table)
            facts += [_meaning(one) for one in functions if one is not None]
        return hashlib.sha256("\n".join(map(str, facts)).encode()).hexdigest()

    @cached_property
    def _largest(self) -> int:
        return block_runs(
            self.policy.family,
            self.problem.arms,
            self.horizon,
            self.checkpoints.size,
            self.engine,
        )

    def block_from(self, first: int) -> int:
        """Return how many runs the block has that begins with run `first`.

        The first ones are small, and none has more than an eighth of the runs before it: whoever
        asks for more runs later finds most of the old ones in whole blocks.

        Examples
        --------
        >>> import ocucb
        >>> spec = Specification(ocucb.UCB(), ocucb.gap(), 100, np.array([100]), 1, "step")
        >>> spec.block_from(0), spec.block_from(512), spec.block_from(1024), spec.block_from(10**6)
        (64, 64, 128, 8192)
        """
        eighth = 1 << max(0, (first >> 3).bit_length() - 1)
        return min(max(_SMALLEST, eighth), self._largest)

    def play(self, first: int, runs: int) -> Moments:
        """Play some runs; of the very first ones the final regret is kept one by one."""
        regret, pulls = self._outcome(first, runs)
        if np.isnan(regret).any():
            bad = first + int(np.isnan(regret).any(axis=1).argmax())
            raise ValueError(
                f"{self.policy.label} could not choose an arm in run {bad}: its formula gave "
                "something that is not a number, or no arm of the problem."
            )
        return Moments.of(regret, pulls, sample=max(0, SAMPLE_SIZE - first))

    def _outcome(
        self, first: int, runs: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return ``regret[run, checkpoint]`` and ``pulls[run, arm]``."""
        problem = self.problem
        regret = np.empty((runs, self.checkpoints.size))
        pulls = np.empty((runs, problem.arms), dtype=np.int64)
        self._kernel(
            self._arguments,
            problem.means,
            problem.scales,
            problem.gaps,
            problem.sigma,
            self.horizon,
            self.checkpoints,
            self._key,
            first,
            regret,
            pulls,
        )
        return regret, pulls

    @cached_property
    def _arguments(self) -> tuple[Any, ...]:
        return self.policy.arguments(self.horizon)

    @cached_property
    def _key(self) -> npt.NDArray[np.uint64]:
        """The words from which the runs' streams start."""
        problem = self.problem
        what = (self.policy.name, problem.identity, problem.sigma, self.horizon, self.engine)
        return stream_key(self.seed, *what)

    @cached_property
    def _kernel(self) -> Callable[..., None]:
        return kernel_of(self.policy.family, self.problem.noise, self.engine)

    @cached_property
    def package(self) -> bytes:
        """The specification in a form that any process with the same ocucb can play."""
        try:
            inside = cloudpickle.dumps(self)
        except Exception as error:  # pickling calls whatever code a user's objects bring along
            raise TypeError(
                f"{self.policy.label} cannot be sent to other processes: {error}"
            ) from error
        package = pickle.dumps((NUMERICS, __version__, inside))
        _keep(package, self)  # for executors whose workers are threads of this process
        return package

    def prepare(self) -> None:
        """Compile what is needed, so that what cannot be played is found out now."""
        try:
            self._outcome(0, 0)
        except NumbaError as error:
            raise TypeError(
                f"{self.policy.label} on {self.problem.noise.name} rewards cannot be compiled by "
                f"numba: {complaint(error)}"
            ) from error
        except (OSError, EOFError, pickle.UnpicklingError):
            # Compiled code on disk that is damaged, or a disk that is full: do without.
            self.__dict__["_kernel"] = kernel_of(
                self.policy.family, self.problem.noise, self.engine, keep=False
            )
            self._outcome(0, 0)


def stream_key(seed: int, *facts: object) -> npt.NDArray[np.uint64]:
    """Return the words from which streams start, different for different seeds and facts."""
    digest = hashlib.sha256("\n".join(map(str, facts)).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    state = np.random.SeedSequence([seed, *words]).generate_state(2, np.uint64)
    return state.astype(np.uint64)


@dataclass(frozen=True)
class Block:
    """A finished block: its first run, its outcome, and the seconds that it took."""

    first: int
    moments: Moments
    seconds: float


def play_here(specification: Specification, first: int, runs: int) -> Block:
    """Play a block in this process."""
    began = time.perf_counter()
    moments = specification.play(first, runs)
    return Block(first, moments, time.perf_counter() - began)


Spans = list[tuple[int, int]]  # first run and number of runs of blocks


def play_all_here(specification: Specification, spans: Spans) -> list[Block]:
    """Play some blocks in this process."""
    return [play_here(specification, first, runs) for first, runs in spans]


def play_there(package: bytes, spans: Spans) -> list[Block]:
    """Play some blocks of a packed specification: what executors are given to do."""
    return play_all_here(_unpacked(package), spans)


_RECEIVED: dict[bytes, Specification] = {}
_RECEIVING = threading.Lock()


def _unpacked(package: bytes) -> Specification:
    """Return a specification that was sent; it is compiled when its first block comes."""
    with _RECEIVING:
        known = _RECEIVED.get(package)
    if known is not None:
        return known
    numerics, version, inside = pickle.loads(package)
    if numerics != NUMERICS:
        raise RuntimeError(
            f"a worker has ocucb {__version__} and was sent work by ocucb {version}, which "
            "gives other numbers; install the same version everywhere."
        )
    specification: Specification = pickle.loads(inside)
    specification.prepare()
    _keep(package, specification)
    return specification


def _keep(package: bytes, specification: Specification) -> None:
    with _RECEIVING:
        while len(_RECEIVED) >= 64:
            del _RECEIVED[next(iter(_RECEIVED))]
        _RECEIVED[package] = specification


_KNOWN = ("builtins", "math", "numba", "numpy", "ocucb")  # packages whose versions we trust


def _meaning(function: Any) -> str:
    """Return a text that changes when what a function computes may change.

    Of our own functions the name is enough (`NUMERICS` says when their numbers change). Of a user's
    it covers the bytecode and whatever constants and functions that refers to.
    """
    function = getattr(function, "py_func", function)
    return _meaning_of_function(function, [])


def _meaning_of_function(function: Any, seen: list[CodeType]) -> str:
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    code = getattr(function, "__code__", None)
    if name.partition(".")[0] in _KNOWN:
        return name
    if not isinstance(code, CodeType):
        raise ValueError(
            f"{function!r} cannot be told from another version of it, which a store must: use "
            "plain functions, numbers and arrays in a formula, or do without the store."
        )
    if code in seen:  # it calls itself
        return f"again {seen.index(code)}"
    cells = function.__closure__ or ()
    inside = dict(zip(code.co_freevars, (cell.cell_contents for cell in cells), strict=True))
    return _meaning_of_code(
        code, {**function.__globals__, **inside}, function.__doc__, [*seen, code]
    )


def _meaning_of_code(
    code: CodeType, known: dict[str, Any], doc: str | None, seen: list[CodeType]
) -> str:
    parts = [code.co_code.hex(), ",".join(code.co_names)]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            parts.append(_meaning_of_code(constant, known, None, seen))
        else:
            parts.append(repr(None if constant == doc else constant))
    for name in (*code.co_names, *code.co_freevars):
        if name in known:
            parts.append(_meaning_of_value(known[name], code, seen))
    return "(" + ";".join(parts) + ")"


def _meaning_of_value(value: Any, user: CodeType, seen: list[CodeType]) -> str:
    """Return the meaning of something that a function refers to by name."""
    value = getattr(value, "_dispatcher", value)  # of numba.vectorize
    value = getattr(value, "py_func", value)
    if isinstance(value, ModuleType):
        if value.__name__.partition(".")[0] in _KNOWN:
            return value.__name__
        used = [getattr(value, name) for name in user.co_names if hasattr(value, name)]
        return f"{value.__name__}[{';'.join(_meaning_of_value(one, user, seen) for one in used)}]"
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{';'.join(_meaning_of_value(one, user, seen) for one in value)}]"
    if callable(value):
        defaults = getattr(value, "__defaults__", None) or ()
        inputs = ";".join(_meaning_of_value(one, user, seen) for one in defaults)
        return _meaning_of_function(value, seen) + f"[{inputs}]"
    return _meaning_of_function(value, seen)  # says that it cannot be done
