"""The entry point: validate the arguments, have the runs played, report.

    problem + policies -> simulate -> engine -> results

A `Specification` says what is played, the scheduler decides who plays it when, and a `Store` may
keep what is finished.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from ._compile import cores
from ._keywords import hinted
from ._text import remedy, shown, to_count, to_float
from ._types import Counts
from ._users import is_ours
from ._waiting import Interrupts, interruptible
from .engine import choose_engine
from .importance import FEWEST_TILTED
from .policies import LinearRule, Policy, PolicyFamily, to_policies
from .policies._declarations import check_declarations
from .priors import AnyProblem, Prior
from .problems import Problem, not_a_problem
from .progress import Compiling, Meter
from .random import to_seed
from .results import SAMPLINGS, SimulationResult, joined
from .samplers import check_sampler
from .scheduler import Job, run_jobs, tilt
from .specification import Specification
from .store import Store, StoreError

DEFAULT_CHECKPOINTS = 32
DEFAULT_RUNS = 1000
MOST_RUNS = 1_000_000  # the ceiling if a precision is given but no number of runs
MOST_WORKERS = 1024
_ROUNDING = 0.03  # rounding of summed rewards, as a share of their noise, that merits a warning


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during `simulate`; `result` holds the finished runs, or None.

    Parameters
    ----------
    result : SimulationResult or None
        The finished runs; None if there are none. It becomes an attribute.

    Examples
    --------
    >>> import ocucb
    >>> try:
    ...     result = ocucb.simulate("ucb", ocucb.gap(), 100, runs=10, rng=1)
    ... except ocucb.SimulationInterrupted as stopped:  # Ctrl-C
    ...     result = stopped.result
    """

    def __init__(self, result: SimulationResult | None) -> None:
        super().__init__("simulation interrupted")
        self.result = result


@hinted
def simulate(
    policies: Policy | PolicyFamily | str | Iterable[Policy | PolicyFamily | str],
    problem: AnyProblem,
    horizon: int,
    runs: int | None = None,
    *,
    precision: float | None = None,
    rng: Any = None,
    checkpoints: Sequence[int] | npt.NDArray[np.integer[Any]] | None = None,
    engine: str = "auto",
    sampling: str = "auto",
    control_variates: bool = True,
    workers: int | None = None,
    executor: Executor | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> SimulationResult:
    """Play policies on a problem many times and measure their regret.

    Parameters
    ----------
    policies : policy, name of a policy, or a list of these
        The policies to play: ``OCUCB()``, ``"moss:constant=4"``.
    problem : Problem or Prior
        The problem to play: ``gap(K=10, gap=0.3)``, ``bernoulli([0.5, 0.4])``. With a `Prior`, such
        as ``prior("normal", K=10)``, a problem is drawn for each run, the same for all policies,
        and regret is Bayes regret.
    horizon : int
        Rounds in a run, n. Policies that need the horizon are told this number.
    runs : int, optional
        Independent runs of each policy, N: 1000 by default. With `precision`, the maximum:
        1,000,000 by default.
    precision : float, optional
        Continue until two standard errors are at most this share of the mean regret, for each
        policy: 0.01 for one percent. At least 1000 runs are played; a warning says so if the
        maximum comes first. Plain runs that have not failed also continue until a failure rarer
        than they can show would not matter. Stopping when an error bar looks small makes it
        slightly too small on average.
    rng : int, numpy Generator or None
        Seed. The same seed gives the same numbers, to the last bit, regardless of the number
        of workers; None takes a new one, which the result reports. Runs of different policies,
        problems and horizons are independent even if they share a seed, except that runs with the
        same number draw the same problem from a prior.
    checkpoints : list of int, optional
        Rounds after which regret is measured, besides the horizon; 32 on a logarithmic scale by
        default.
    engine : {"auto", "skip", "step"}
        How runs are simulated. "step" plays one pull at a time; "skip" samples long stretches at
        once, with the same distribution; "auto" takes whichever is faster.
    sampling : {"auto", "plain", "tilted"}
        How runs are drawn. "plain": as the problem says, independent and unweighted. "tilted": by
        importance sampling, which makes bad first rewards of the best arm frequent and weights runs
        accordingly, so that rare failures are measured with far fewer runs. "auto" tilts if at
        least 200 runs are asked for and a pilot of 256 runs finds that it does no harm. Runs on a
        prior are plain: the best arm, whose rewards would be tilted, differs from run to run.
    control_variates : bool
        Whether mean regret is corrected for the luck of the arms, the sum of their noise, whose
        mean is known to be 0 and which explains most of the variation among runs that do not fail.
        It is where this makes error bars shorter, and from 64 runs on; those of plain runs then
        allow for failures that none of them has shown. False: means of the runs as they are.
    workers : int, optional
        Threads; all cores by default. With an executor, its number of workers: it is given four
        tasks per worker at a time, of about half a second each; 64 tasks by default.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads: a `ProcessPoolExecutor`, loky's, Dask's
        ``client.get_executor()``, mpi4py's. The numbers stay the same. It is left open.
    store : path or Store, optional
        An SQLite file for finished blocks of runs. A later call with the same specification resumes
        where this one stopped, and one with more runs extends it. Requires a seed, `rng`.
    progress : bool, optional
        Show a progress bar on standard error; by default if that is a terminal.

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
    players = to_policies(policies)
    if not isinstance(problem, Problem | Prior):
        raise not_a_problem(problem)
    horizon = to_count(horizon, "horizon")
    share = None if precision is None else to_float(precision, "precision", "between 0 and 1")
    if share is not None and not 0.0 < share < 1.0:
        raise ValueError(f"precision must lie between 0 and 1, got {shown(precision)}.")
    if runs is None:
        runs = DEFAULT_RUNS if share is None else MOST_RUNS
    runs = to_count(runs, "runs")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {shown(executor)}.")
    threads = to_workers(workers)
    times = _checkpoints(checkpoints, horizon)
    if sampling not in ("auto", *SAMPLINGS):
        known = remedy(sampling, ("auto", *SAMPLINGS))
        raise ValueError(f"unknown sampling {shown(sampling)}; {known}")
    if not isinstance(store, Store | str | os.PathLike | None):
        raise TypeError(f"store must be a path or a Store, got {shown(store)}.")
    if store is not None and rng is None:
        raise ValueError("a store needs a seed to resume from: pass rng=, for example rng=1.")
    seed = to_seed(rng)
    for policy in players:
        check_rewards(policy, problem)
    jobs = []
    for policy in players:
        specification = specify(policy, problem, horizon, times, seed, engine)
        if store is not None:
            specification.check_identity()
        jobs.append(Job(specification, runs, share, control_variates=control_variates))

    def prepare(note: Compiling) -> None:
        for job in jobs:
            note.begin(job.specification.policy.label)
            job.specification.prepare()

    with ExitStack() as open_now:
        try:
            # All are compiled before the first is played, so that errors surface now.
            with Compiling(progress) as note:
                interruptible(lambda: prepare(note))
            keeper = store
            if keeper is not None and not isinstance(keeper, Store):
                keeper = open_now.enter_context(Store(keeper))
            meter = open_now.enter_context(Meter(progress))
            with Interrupts() as interrupts:
                if sampling == "tilted" or (sampling == "auto" and runs >= FEWEST_TILTED):
                    for job in jobs:
                        job.specification = tilt(
                            job.specification,
                            threads,
                            executor,
                            always=sampling == "tilted",
                            stored=keeper is not None,
                            interrupts=interrupts,
                        )
                for job in run_jobs(
                    jobs,
                    threads=threads,
                    executor=executor,
                    in_flight=None if workers is None else 4 * threads,
                    store=keeper,
                    watch=meter.watch,
                    interrupts=interrupts,
                ):
                    _warn_if_short(job)
        except KeyboardInterrupt:
            raise SimulationInterrupted(_result(jobs)) from None
        except StoreError as error:
            error.result = _result(jobs)
            raise
    result = _result(jobs)
    assert result is not None
    return result


def check_rewards(policy: Policy, problem: AnyProblem) -> None:
    """Refuse a problem that a policy does not play, and warn if it may not know what it could."""
    rewards = problem.rewards
    if (
        rewards.bounds is None
        and not is_ours(rewards.sample)
        and policy.family.bounded_form is not None
    ):
        warnings.warn(
            f"{policy.label} plays as on Gaussian rewards, since nothing says where those of "
            f"{rewards.name} lie: if it is between 0 and 1, pass bounds=(0, 1).",
            stacklevel=4,
        )
    if policy.family.binary and not problem.rewards.binary:
        kind = problem.rewards.name
        raise ValueError(f"{policy.label} plays Bernoulli rewards only, but these are {kind}.")
    if isinstance(policy.family.rule, LinearRule) and not problem.typical.features.size:
        raise ValueError(
            f"{policy.label} plays arms with features only: make some with ocucb.linear."
        )
    if getattr(policy.family.rule, "fixed_actions", False) and problem.rewards.rounds:
        raise ValueError(
            f"{policy.label} needs features that stay the same, but these change every round."
        )


def specify(
    policy: Policy, problem: AnyProblem, horizon: int, checkpoints: Counts, seed: int, engine: str
) -> Specification:
    """Return what is to be played and on which engine, or say what is wrong with it."""
    policy, problem = policy.retaken(), problem.retaken()
    rewards = problem.rewards
    for arms in sorted({problem.typical.arms, problem.arms}):
        check_declarations(policy.on(rewards.unit, rewards.binary), horizon, arms)
    check_sampler(problem.typical)
    chosen = choose_engine(policy, problem.typical, horizon, engine)
    if chosen.sums_rewards:
        _check_rounding(policy, problem, horizon)
    specification = Specification(policy, problem, horizon, checkpoints, seed, chosen.name)
    specification.check()
    if (thing := specification.unknown) is not None:
        warnings.warn(
            f"{policy.label} on {problem.rewards.name} rewards gives other numbers each time, "
            f"whatever the seed, because versions of {thing} cannot be told apart: use plain "
            "functions, numbers and arrays in a formula.",
            stacklevel=4,
        )
    return specification


def _check_rounding(policy: Policy, problem: AnyProblem, horizon: int) -> None:
    """Refuse or warn if sums of rewards are so large that rounding drowns their noise."""
    largest = float(np.abs(problem.means).max())
    share = largest * horizon * 2.0**-53 / problem.sigma
    if share > _ROUNDING:
        advice = "only differences of means matter, so subtract a constant from all of them"
        place = f"means as large as {largest:g} over {horizon:,} rounds"
        place += f", with sigma {problem.sigma:g}"
        if share > 1.0:
            raise ValueError(f"{policy.label}: rounding swamps the noise with {place}; {advice}.")
        warnings.warn(f"{policy.label}: rounding matters with {place}; {advice}.", stacklevel=5)


def _result(jobs: list[Job]) -> SimulationResult | None:
    """Return the result so far, or None if no run is finished."""
    results = [result for job in jobs if (result := job.result) is not None]
    return joined(results) if results else None


def _warn_if_short(job: Job) -> None:
    """Warn if the ceiling was reached before the precision."""
    if job.merged is None or job.precision is None:
        return
    mean = job.mean.value
    if job.half_width > job.precision * mean > 0.0:
        warnings.warn(
            f"{job.specification.policy.label}: {job.merged.runs:,} runs give the mean regret to "
            f"{_percent(job.half_width / mean)}, not to {_percent(job.precision)}; allow "
            "more runs.",
            stacklevel=4,
        )


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"


def to_workers(given: Any) -> int:
    """Return a number of workers: all cores if none is given."""
    threads = cores() if given is None else to_count(given, "workers")
    if threads > MOST_WORKERS:
        raise ValueError(f"workers must be at most {MOST_WORKERS}, got {threads}.")
    return threads


def _checkpoints(given: Any, horizon: int) -> Counts:
    """Return the rounds to measure after, sorted, the horizon last."""
    if given is None:
        given = np.round(np.geomspace(1, horizon, DEFAULT_CHECKPOINTS))
    try:
        if isinstance(given, str | bytes):
            raise TypeError
        rounds = list(given)
    except TypeError:
        raise TypeError(f"checkpoints must be a list of rounds, got {shown(given)}.") from None
    rounds = [to_count(t, "a checkpoint") for t in rounds]
    for t in rounds:
        if t > horizon:
            raise ValueError(f"a checkpoint must be at most the horizon {horizon}, got {t}.")
    return np.unique(np.array([*rounds, horizon], dtype=np.int64))
