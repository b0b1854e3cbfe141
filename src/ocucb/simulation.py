"""The front door: validate, cut the runs into blocks, play them on all cores, merge.

    problem + policies -> simulate -> engine -> results

A block is a pure function of (policy, problem, horizon, seed, first run, number of runs), and
blocks are merged in the order of their runs. So the numbers do not depend on how many threads
there are.
"""

from __future__ import annotations

import hashlib
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from numba.core.errors import NumbaError

from . import __version__
from ._compile import cores
from ._text import to_count
from .engine import ENGINES, block_runs, engine_for, kernel_of
from .policies import Policy, PolicyFamily, parse_policy
from .problems import Problem
from .progress import Meter
from .results import Moments, PolicyResult, SimulationResult

DEFAULT_CHECKPOINTS = 32
MOST_WORKERS = 1024


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during `simulate`; `result` holds the runs that were finished, or None."""

    def __init__(self, result: SimulationResult | None) -> None:
        super().__init__("simulation interrupted")
        self.result = result


def simulate(
    policies: Policy | PolicyFamily | str | Iterable[Policy | PolicyFamily | str],
    problem: Problem,
    horizon: int,
    runs: int = 1000,
    *,
    rng: Any = None,
    checkpoints: Sequence[int] | npt.NDArray[np.integer[Any]] | None = None,
    engine: str = "auto",
    workers: int | None = None,
    progress: bool | None = None,
) -> SimulationResult:
    """Play policies on a problem many times and measure their regret.

    Parameters
    ----------
    policies : policy, name of a policy, or a list of these
        Who plays: ``OCUCB()``, ``"moss:constant=4"``.
    problem : Problem
        What is played: ``gap(K=10, gap=0.3)``, ``bernoulli([0.5, 0.4])``.
    horizon : int
        Rounds in a run, n. Policies that need the horizon are told this number.
    runs : int
        Independent runs of each policy, N.
    rng : int, numpy Generator or None
        Seed. The same seed gives the same numbers, to the last bit, whatever the number of
        workers; None takes a new one, which the result reports. Runs of different policies,
        problems and horizons are independent even when they share a seed.
    checkpoints : list of int, optional
        Rounds after which the regret is measured, besides the horizon; 32 on a logarithmic scale by
        default.
    engine : {"auto", "skip", "step"}
        How runs are simulated. "step" plays one pull at a time; "skip" samples long stretches at
        once, with the same distribution; "auto" takes whichever is faster.
    workers : int, optional
        Threads; all cores by default.
    progress : bool, optional
        Show a progress bar on standard error; by default when that is a terminal.

    Returns
    -------
    SimulationResult
        Means, standard errors, quantiles and pulls, with `table`, `plot`, `to_csv` and `save`.

    Raises
    ------
    SimulationInterrupted
        On Ctrl-C; it is a KeyboardInterrupt with the finished runs in its `result`.

    Examples
    --------
    >>> import ocucb
    >>> result = ocucb.simulate([ocucb.OCUCB(), "ucb"], ocucb.gap(K=2, gap=0.3), 1000, 2000, rng=1)
    >>> result["ocucb"].mean_regret < result["ucb"].mean_regret
    True
    """
    players = _players(policies)
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem such as gap(K=2, gap=0.3), got {problem!r}.")
    horizon = to_count(horizon, "horizon")
    runs = to_count(runs, "runs")
    threads = cores() if workers is None else to_count(workers, "workers")
    if threads > MOST_WORKERS:
        raise ValueError(f"workers must be at most {MOST_WORKERS}, got {threads}.")
    times = _checkpoints(checkpoints, horizon)
    if engine not in ENGINES:
        raise ValueError(f"unknown engine {engine!r}; choose from {', '.join(ENGINES)}.")
    seed = _seed(rng)
    for policy in players:
        only = policy.family.rewards
        if only is not None and only != problem.noise.name:
            raise ValueError(
                f"{policy.label} is made for {only} rewards, and these are {problem.noise.name}."
            )
    engines = [engine_for(policy.family, problem, horizon, engine) for policy in players]

    finished: list[PolicyResult] = []

    def result() -> SimulationResult:
        return SimulationResult(
            finished,
            problem.name,
            problem.means,
            problem.noise.name,
            problem.sigma,
            seed,
            __version__,
        )

    # All are compiled before the first is played: what cannot be played is found out now.
    plays = [
        _player(policy, problem, horizon, times, seed, its_engine)
        for policy, its_engine in zip(players, engines, strict=True)
    ]
    with Meter(progress) as meter:
        for policy, its_engine, play in zip(players, engines, plays, strict=True):
            meter.start(policy.label, runs, horizon)
            size = block_runs(policy.family, problem.arms, horizon, times.size, its_engine)
            blocks = ((first, min(size, runs - first)) for first in range(0, runs, size))
            began = time.perf_counter()
            merged: Moments | None = None
            try:
                for block in _in_order(play, blocks, threads):
                    merged = block if merged is None else merged.merged(block)
                    meter.advance(block.runs)
            except KeyboardInterrupt:
                if merged is not None:
                    seconds = time.perf_counter() - began
                    finished.append(_report(policy, its_engine, horizon, times, merged, seconds))
                raise SimulationInterrupted(result() if finished else None) from None
            assert merged is not None
            seconds = time.perf_counter() - began
            finished.append(_report(policy, its_engine, horizon, times, merged, seconds))
    return result()


def _players(policies: Any) -> list[Policy]:
    """Return a list of policies, whatever form they were given in."""
    if isinstance(policies, Policy | PolicyFamily | str):
        policies = [policies]
    try:
        given = list(policies)
    except TypeError:
        given = [policies]
    if not given:
        raise ValueError("policies must name at least one policy, got none.")
    players = []
    for one in given:
        if isinstance(one, str):
            one = parse_policy(one)
        elif isinstance(one, PolicyFamily):
            one = one()
        if not isinstance(one, Policy):
            raise TypeError(f"a policy must be one such as OCUCB(), or its name, got {one!r}.")
        players.append(one)
    return players


def _checkpoints(given: Any, horizon: int) -> npt.NDArray[np.int64]:
    """Return the rounds to measure at, in order, the horizon last."""
    if given is None:
        given = np.round(np.geomspace(1, horizon, DEFAULT_CHECKPOINTS))
    try:
        if isinstance(given, str | bytes):
            raise TypeError
        rounds = list(given)
    except TypeError:
        raise TypeError(f"checkpoints must be a list of rounds, got {given!r}.") from None
    rounds = [to_count(t, "a checkpoint") for t in rounds]
    for t in rounds:
        if t > horizon:
            raise ValueError(f"a checkpoint must be at most the horizon {horizon}, got {t}.")
    return np.unique(np.array([*rounds, horizon], dtype=np.int64))


def _seed(rng: Any) -> int:
    """Turn whatever numpy takes as a source of randomness into one number that can be reported."""
    if rng is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(11))
    if isinstance(rng, int | np.integer):
        if rng < 0:
            raise ValueError(f"rng must be at least 0, got {rng}.")
        return int(rng)
    try:
        return int(np.random.default_rng(rng).integers(2**53))
    except (TypeError, ValueError):
        raise TypeError(
            f"rng must be a whole number, a numpy Generator or None, got {rng!r}."
        ) from None


def _key(seed: int, *facts: object) -> npt.NDArray[np.uint64]:
    """Return the words from which the runs' streams start, different for different facts."""
    digest = hashlib.sha256("\n".join(map(str, facts)).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    state = np.random.SeedSequence([seed, *words]).generate_state(2, np.uint64)
    return state.astype(np.uint64)


def _player(
    policy: Policy,
    problem: Problem,
    horizon: int,
    checkpoints: npt.NDArray[np.int64],
    seed: int,
    engine: str,
) -> Callable[[int, int], Moments]:
    """Return a function that plays a block of runs; its kernel is compiled now."""
    family = policy.family
    arguments = policy.arguments(horizon)
    key = _key(seed, policy.name, problem.identity, problem.sigma, horizon, engine)

    def play(first: int, runs: int) -> Moments:
        regret = np.empty((runs, checkpoints.size))
        pulls = np.empty((runs, problem.arms), dtype=np.int64)
        kernel(
            arguments,
            problem.means,
            problem.scales,
            problem.gaps,
            problem.sigma,
            horizon,
            checkpoints,
            key,
            first,
            regret,
            pulls,
        )
        if runs and np.isnan(regret).any():
            bad = first + int(np.isnan(regret).any(axis=1).argmax())
            raise ValueError(
                f"{policy.label} could not choose an arm in run {bad}: its formula gave "
                "something that is not a number, or no arm of the problem."
            )
        return Moments.of(regret, pulls) if runs else _NOTHING

    kernel = kernel_of(family, problem.noise, engine)
    try:
        play(0, 0)
    except NumbaError as error:
        told = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in told if not line.startswith("Failed in")), "")
        raise TypeError(
            f"{policy.label} on {problem.noise.name} rewards cannot be compiled by numba: {reason}"
        ) from error
    except (OSError, EOFError, pickle.UnpicklingError):
        # Compiled code on disk that is damaged, or a disk that is full: do without.
        kernel = kernel_of(family, problem.noise, engine, keep=False)
        play(0, 0)
    return play


_NOTHING = Moments(0, np.empty(0), np.empty(0), np.empty(0), np.empty(0))


def _in_order(
    play: Callable[[int, int], Moments], blocks: Iterator[tuple[int, int]], threads: int
) -> Iterator[Moments]:
    """Play blocks in threads and yield their outcomes in order, few at a time in memory."""
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Moments]] = deque()
    try:
        while True:
            while len(waiting) < 2 * threads and (block := next(blocks, None)) is not None:
                waiting.append(pool.submit(play, *block))
            if not waiting:
                return
            yield waiting.popleft().result()
    finally:
        # Do not wait for blocks that nobody wants any more.
        pool.shutdown(wait=False, cancel_futures=True)


def _report(
    policy: Policy,
    engine: str,
    horizon: int,
    checkpoints: npt.NDArray[np.int64],
    merged: Moments,
    seconds: float,
) -> PolicyResult:
    """Turn merged moments into means and standard errors."""
    runs = merged.runs
    variance = merged.squares / (runs - 1) if runs > 1 else np.full(checkpoints.size, np.nan)
    return PolicyResult(
        policy=policy.name,
        label=policy.label,
        engine=engine,
        horizon=horizon,
        runs=runs,
        checkpoints=checkpoints,
        regret=merged.mean,
        stderr=np.sqrt(variance / runs),
        pulls=merged.pulls,
        sample=merged.sample,
        seconds=seconds,
    )
