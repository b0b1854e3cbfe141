"""What commands share: options, conversions, error reporting and output.

Nothing heavy is imported at the top: `ocucb --help` must be fast.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from .._files import check_writable, noting, unwritable
from .._interrupt import on_interrupt, stop

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..priors import AnyProblem
    from ..problems import Problem

Text = str | None
File = Path | None


def option(metavar: str, help: str, names: str = "") -> Any:
    """Declare an option that takes a value; without names, it is called as its parameter."""
    return typer.Option(*names.split(), metavar=metavar, help=help)


# Options of several commands.
Rewards = Annotated[
    str, option("KIND", "Kind of reward: gaussian, bernoulli, uniform, beta or exponential.")
]
Sigma = Annotated[
    Text, option("LIST", "Standard deviation of the rewards: one number, or one per arm.")
]
_SAME = "Seed: the same one gives the same numbers. Default: a new one, which is printed"
Seed = Annotated[Text, option("N", f"{_SAME}.")]
SeedOfStored = Annotated[Text, option("N", f"{_SAME}; with --store, 0.")]
Means = Annotated[Text, option("LIST", "Expected rewards of the arms: 0,-0.3")]
Instance = Annotated[
    Text,
    option(
        "NAME:KEY=VALUE,...",
        "One of the paper's instances, instead of --means: gap:K=10,gap=0.3, "
        "uniform:K=10, moss-failure:K=50, conjecture:K=50. Or arms with features: "
        "sphere:d=5,K=20,seed=1, unit-vectors:K=10,gap=0.3, end-of-optimism:epsilon=0.01,reach=8. "
        "Or means that change: switch:K=2,gap=0.3,at=5000, drifting:K=5,step=0.01, "
        "seasonal:K=3,amplitude=0.3,period=1000.",
    ),
]
Prior = Annotated[
    Text,
    option(
        "NAME:KEY=VALUE,...",
        "Draw a problem for each run, instead of --means or --problem, and report Bayes regret: "
        "normal:K=10,sd=0.5, beta:K=4,a=1,b=9, headlines:K=4, headlines.",
    ),
]
Horizon = Annotated[
    Text,
    option(
        "N",
        "Rounds per run: 100000 or 1e5. Default: K^3 for moss-failure, K^2 for conjecture.",
        "--horizon -n",
    ),
]
Workers = Annotated[Text, option("N", "Threads. Default: all cores.")]
Dask = Annotated[
    Text,
    option("ADDRESS", "Run on a Dask cluster: tcp://scheduler:8786 (pip install 'ocucb[dask]')."),
]
PlotTail = Annotated[
    File,
    option(
        "FILE",
        "Plot the probability that regret exceeds x, against x, down to 1e-7.",
        "--plot-tail",
    ),
]
Csv = Annotated[File, option("FILE", "Write regret at the checkpoints as CSV.")]


def count(text: str | None, name: str, least: int = 1) -> Any:
    """Return the whole number that was given for an option, or None."""
    from .._text import to_count

    return None if text is None else to_count(text, name, least)


def share(text: str | None, name: str, default: float | None = None) -> Any:
    """Return the share that was given for an option, or the default."""
    from .._text import to_share

    return default if text is None else to_share(text, name)


def rounds_of(horizon: str | None, problem: AnyProblem, example: str) -> int:
    """Return the number of rounds that was given, or the paper's for the problem."""
    from .._text import to_count

    rounds: Any = problem.typical.paper_horizon if horizon is None else horizon
    if rounds is None:
        raise ValueError(f"--horizon is missing; set the number of rounds, for example {example}.")
    return to_count(rounds, "--horizon")


def problem_of(means: str | None, problem: str | None, rewards: str, sigma: str | None) -> Problem:
    """Build the problem that the options describe."""
    from .. import instances, problems
    from .._text import to_number

    if (means is None) == (problem is None):
        raise ValueError(
            "specify the arms either with --means 0,-0.3 or with --problem gap:K=2,gap=0.3."
        )
    spread: Any = None
    if sigma is not None:
        spread = [to_number(part, "--sigma") for part in sigma.split(",")]
        spread = spread[0] if len(spread) == 1 else spread
        if not problems.takes_sigma(rewards):
            raise ValueError(f"--sigma does not apply to {rewards} rewards, which have their own.")
    if problem is None:
        assert means is not None
        vector = [to_number(part, "--means") for part in means.split(",")]
        return problems.of_kind(rewards, vector, spread)
    made = instances.parse_problem(problem)
    if made.rewards.rounds:
        if rewards != "gaussian":
            raise ValueError(f"--rewards {rewards} does not go with --problem {problem}.")
        return made if spread is None else instances.parse_problem(problem, spread)
    other = problems.of_kind(rewards, made.means, spread)
    _, unequal, sigmas = other.name.partition(problems.UNEQUAL)
    name = f"{made.name}{unequal}{sigmas}"
    return replace(other, name=name, paper_horizon=made.paper_horizon, features=made.features)


def problem_or_prior(
    means: str | None, problem: str | None, prior: str | None, rewards: str, sigma: str | None
) -> AnyProblem:
    """Build the problem or the prior that the options describe."""
    if prior is None:
        return problem_of(means, problem, rewards, sigma)
    from ..priors import prior as prior_of

    for name, given in (("means", means), ("problem", problem), ("sigma", sigma)):
        if given is not None:
            raise ValueError(f"--{name} does not go with --prior, which says it all.")
    made = prior_of(prior)
    if rewards not in ("gaussian", made.rewards.name):
        raise ValueError(f"--rewards {rewards} does not go with --prior {prior}.")
    return made


def cluster(address: str | None) -> Executor | None:
    """Return an executor for the workers of a Dask scheduler, if one was named."""
    if address is None:
        return None
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--dask needs Dask: pip install 'ocucb[dask]'.") from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(
            f"no Dask scheduler answers at {address!r}; start one with 'dask scheduler'."
        ) from error
    executor: Executor = client.get_executor()
    return executor


def _fail(message: object, status: int = 2) -> typer.Exit:
    """Print a one-sentence error and return the matching exit."""
    print(f"Error: {message}", file=sys.stderr)
    return typer.Exit(status)


def report_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn invalid input into one sentence and status 2, and warnings into notes."""

    def note(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        print(f"Note: {message}", file=sys.stderr)

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("once", UserWarning)
            # some that libraries give each other are UserWarnings as well, as those of pyparsing
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.showwarning = note
            try:
                command(*args, **kwargs)
            except typer.Exit:  # a RuntimeError, but no error
                raise
            except (ValueError, TypeError) as error:
                raise _fail(error) from None
            except KeyboardInterrupt:
                stop()
            except RuntimeError as error:  # an unusable store or dead workers
                raise _fail(error, 1) from None
            except OSError as error:
                place = f"{error.filename}: " if error.filename else ""
                raise _fail(f"{place}{error.strerror or error}.", 1) from None
            except MemoryError:
                raise _fail("not enough memory; use fewer arms.", 1) from None

    return run


@contextmanager
def standard_output() -> Iterator[None]:
    """Turn a failure to write to standard output into one sentence and status 1."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        # Discard what is left in the buffer, or Python would complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # else: the reader has seen enough
            print(f"Error: {unwritable('standard output', error)}", file=sys.stderr)
        sys.exit(1)


def check_outputs(
    *files: Path | None, pictures: Iterable[Path | None] = (), store: Path | None = None
) -> None:
    """Raise, before anything is computed, if a file could not be written afterwards.

    Or if it would replace the store or another file of the same command.
    """
    drawn = [picture for picture in pictures if picture is not None]
    if drawn:
        from ..figures import check_ending

        for picture in drawn:
            check_ending(picture)
    check_writable(*files, *drawn, store=store)


def end_interrupted(store: Path | None) -> NoReturn:
    """Say that what was printed is not all that was asked for, and end."""
    print("Interrupted: the numbers are those of the finished runs.", file=sys.stderr)
    if store is not None:
        print(f"They are kept in {store}; the same command resumes.", file=sys.stderr)
    os._exit(130)  # at once: threads may be in the middle of a long run


def deliver(
    text: str, *files: tuple[Path | None, Callable[[Path], object]], failures: Iterable[str] = ()
) -> None:
    """Print `text` and write files; one that fails does not stop the others.

    Each file comes with the function that writes it. `failures` are sentences about files that
    could not be written earlier.
    """
    said = list(failures)
    with on_interrupt(signal.SIG_IGN):  # a second Ctrl-C must not lose what the first one left
        try:
            with standard_output():
                print(text)
        finally:
            for path, write in files:
                if path is not None:
                    with noting(said, path):
                        write(path)
            for sentence in said:
                print(f"Error: {sentence}", file=sys.stderr)
    if said:
        sys.exit(1)
