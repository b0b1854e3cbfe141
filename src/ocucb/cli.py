"""The command line: parse, call, print. Everything heavy is imported inside the commands."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._files import check_writable, noting, unwritable
from ._interrupt import stop

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from .problems import Problem

app = typer.Typer(
    name="ocucb",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Finite-armed stochastic bandits: simulate policies, reproduce the paper *Optimally "
        "Confident UCB*, compute its bounds, and serve decisions.\n\n"
        "Try: `ocucb simulate --policy ocucb --policy ucb --means 0,-0.3 --horizon 1e4`"
    ),
)

DEFAULT_POLICIES = ["ocucb", "ucb", "moss"]

# Options of several commands.
_Rewards = Annotated[
    str, typer.Option(metavar="KIND", help="Kind of reward: gaussian, bernoulli or uniform.")
]
_Means = Annotated[
    str | None, typer.Option(metavar="LIST", help="Expected rewards of the arms: 0,-0.3")
]
_Instance = Annotated[
    str | None,
    typer.Option(
        metavar="NAME:KEY=VALUE,...",
        help="One of the paper's instances, instead of --means: gap:K=10,gap=0.3, "
        "uniform:K=10, moss-failure:K=50, conjecture:K=50.",
    ),
]
_Horizon = Annotated[
    str | None,
    typer.Option(
        "--horizon",
        "-n",
        metavar="N",
        help="Rounds per run: 100000 or 1e5. "
        "Defaults to K^3 for moss-failure and K^2 for conjecture.",
    ),
]
_Workers = Annotated[str | None, typer.Option(metavar="N", help="Threads. Default: all cores.")]
_Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on a Dask cluster: tcp://scheduler:8786 (pip install 'ocucb[dask]').",
    ),
]
_PlotTail = Annotated[
    Path | None,
    typer.Option(
        "--plot-tail",
        metavar="FILE",
        help="Plot the probability that regret exceeds x, against x, down to 1e-7.",
    ),
]
_Csv = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write regret at the checkpoints as CSV.")
]


def _fail(message: object, status: int = 2) -> typer.Exit:
    """Print a one-sentence error and return the matching exit."""
    print(f"Error: {message}", file=sys.stderr)
    return typer.Exit(status)


def _report_errors(command: Callable[..., None]) -> Callable[..., None]:
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
def _hearing(handler: Any) -> Iterator[None]:
    """Call `handler` on Ctrl-C within the context, unless our caller ignores Ctrl-C."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _standard_output() -> Iterator[None]:
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


def _check_outputs(
    *files: Path | None, pictures: Iterable[Path | None] = (), store: Path | None = None
) -> None:
    """Raise, before anything is computed, if a file could not be written afterwards.

    Or if it would replace the store or another file of the same command.
    """
    drawn = [one for one in pictures if one is not None]
    if drawn:
        from .figures import check_ending

        for picture in drawn:
            check_ending(picture)
    check_writable(*files, *drawn, store=store)


def _deliver(
    text: str,
    *files: tuple[Path | None, Callable[[Path], object]],
    failures: Iterable[str] = (),
) -> None:
    """Print `text` and write files; one that fails does not stop the others.

    Each file comes with the function that writes it. `failures` are sentences about files that
    could not be written earlier.
    """
    said = list(failures)
    with _hearing(signal.SIG_IGN):  # a second Ctrl-C must not lose what the first one left
        try:
            with _standard_output():
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


def _version(wanted: bool) -> None:
    if wanted:
        from ._version import __version__

        print(f"ocucb {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _problem(means: str | None, problem: str | None, rewards: str, sigma: str | None) -> Problem:
    """Build the problem that the options describe."""
    from . import problems
    from ._text import to_number

    if (means is None) == (problem is None):
        raise ValueError(
            "specify the arms either with --means 0,-0.3 or with --problem gap:K=2,gap=0.3."
        )
    spread: Any = None
    if sigma is not None:
        spread = [to_number(part, "--sigma") for part in sigma.split(",")]
        spread = spread[0] if len(spread) == 1 else spread
    if problem is None:
        assert means is not None
        vector = [to_number(part, "--means") for part in means.split(",")]
        return problems.of_kind(rewards, vector, spread)
    made = problems.parse_problem(problem)
    other = problems.of_kind(rewards, made.means, spread)
    return replace(other, name=made.name, paper_horizon=made.paper_horizon)


@app.command()
@_report_errors
def simulate(
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME[:KEY=VALUE,...]",
            help="Policy to play; repeat for several. `ocucb policies` lists them. "
            "Default: ocucb, ucb and moss.",
        ),
    ] = None,
    means: _Means = None,
    problem: _Instance = None,
    horizon: _Horizon = None,
    runs: Annotated[
        str | None,
        typer.Option(
            "--runs",
            "-r",
            metavar="N",
            help="Independent runs of each policy. Default: 1000; with --precision, at most 1e6.",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Run until two standard errors are below this fraction of the mean regret: "
            "1% or 0.01.",
        ),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Same seed, same numbers. Default: a new one, which is printed; with --store, 0.",
        ),
    ] = None,
    rewards: _Rewards = "gaussian",
    sigma: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Standard deviation of the rewards: one number, or one per arm."
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="auto, skip (ahead) or step (by step).")
    ] = "auto",
    sampling: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto, plain or tilted. Tilted runs make bad first rewards of the best arm far "
            "more frequent and are weighted accordingly, so that rare failures, which dominate "
            "mean and variance, are measured with far fewer runs; means are also corrected for the "
            "arms' luck. auto tilts where that pays off, from 200 runs on.",
        ),
    ] = "auto",
    checkpoints: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Rounds at which to measure regret: 100,1000,10000"),
    ] = None,
    workers: _Workers = None,
    dask: _Dask = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep finished runs in this file and resume from those it holds; "
            "`ocucb results FILE` shows them.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot regret over time (.png, .pdf, .svg).")
    ] = None,
    plot_tail: _PlotTail = None,
    csv: _Csv = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save the result, for SimulationResult.load in Python."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON array with one object per policy.")
    ] = False,
) -> None:
    """Play policies on a problem many times and print their regret with error bars.

    **Examples**

    `ocucb simulate -p ocucb -p moss:constant=4 --means 0,-0.3 --horizon 1e5 --runs 10000 --seed 1`

    `ocucb simulate --problem uniform:K=10 --horizon 1e4 --plot regret.png`

    `ocucb simulate -p ocucb -p ucb --means 0.5,0.4 --rewards bernoulli -n 1e4 --json`

    `ocucb simulate -p ocucb -p moss --means 0,-0.3 -n 1e4 -r 20000 --plot-tail tails.png`

    `ocucb simulate --problem gap:K=10,gap=0.3 -n 1e5 --precision 1% --seed 1 --store results.db`
    """
    from ._text import to_count, to_share

    arms = _problem(means, problem, rewards, sigma)
    rounds: Any = horizon
    if rounds is None:
        rounds = arms.paper_horizon
    if rounds is None:
        raise ValueError("--horizon is missing; set the number of rounds, for example 1e4.")
    _check_outputs(csv, save, pictures=(plot, plot_tail), store=store)

    from .simulation import SimulationInterrupted
    from .simulation import simulate as run
    from .store import StoreError

    stopped = False
    failures: list[str] = []
    if store is not None and seed is None:
        seed = "0"  # resuming from a store needs the same seed again
    try:
        with _hearing(signal.default_int_handler):  # from here on there may be numbers to show
            result = run(
                policy or DEFAULT_POLICIES,
                arms,
                to_count(rounds, "--horizon"),
                None if runs is None else to_count(runs, "--runs"),
                precision=None if precision is None else to_share(precision, "--precision"),
                rng=None if seed is None else to_count(seed, "--seed", least=0),
                checkpoints=(
                    None
                    if checkpoints is None
                    else [to_count(part, "a checkpoint") for part in checkpoints.split(",")]
                ),
                engine=engine,
                sampling=sampling,
                workers=None if workers is None else to_count(workers, "--workers"),
                executor=None if dask is None else _cluster(dask),
                store=store,
            )
    except SimulationInterrupted as interruption:
        if interruption.result is None:
            raise
        result, stopped = interruption.result, True
    except StoreError as error:  # a full disk, perhaps: what was played is still shown
        if error.result is None:
            raise
        result, failures = error.result, [str(error)]
    text = result.table()
    if as_json:
        text = json.dumps([one.to_dict() for one in result], indent=1, allow_nan=False)
        if seed is None:
            print(f"Note: the seed was {result.seed}.", file=sys.stderr)
    try:
        files = (csv, result.to_csv), (save, result.save), (plot, result.plot)
        _deliver(text, *files, (plot_tail, result.plot_tail), failures=failures)
    finally:
        if stopped:
            print("Stopped: the numbers are those of the finished runs.", file=sys.stderr)
            if store is not None:
                print(f"They are kept in {store}; the same command resumes.", file=sys.stderr)
            os._exit(130)  # at once: threads may be in the middle of a long run


def _cluster(address: str) -> Executor:
    """Return an executor for the workers of a Dask scheduler."""
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


@app.command()
@_report_errors
def results(
    path: Annotated[Path, typer.Argument(metavar="STORE", help="A file created by --store.")],
    policy: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only policies whose name contains this.")
    ] = None,
    problem: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only problems whose name contains this.")
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Only this seed.")] = None,
    csv: _Csv = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plot regret over time, one panel per problem."),
    ] = None,
    plot_tail: _PlotTail = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON array with one object per simulation.")
    ] = False,
) -> None:
    """List the simulations in a store: policy, problem, runs, mean regret, age.

    **Examples**

    `ocucb results results.db`

    `ocucb results results.db --problem gap --plot regret.png --csv regret.csv`
    """
    from ._text import to_count
    from .store import Store, listing, to_csv

    number = None if seed is None else to_count(seed, "--seed", least=0)
    _check_outputs(csv, pictures=(plot, plot_tail), store=path)
    with Store(path, read_only=True) as store:
        found = [
            one
            for one in store.contents(samples=as_json or plot_tail is not None)
            if (policy or "") in one.result.policy
            and (problem or "") in one.problem
            and number in (None, one.seed)
        ]
    text = listing(found)
    if as_json:
        rows = [{"problem": one.problem, "seed": one.seed, **one.result.to_dict()} for one in found]
        text = json.dumps(rows, indent=1, allow_nan=False)
    pictures: list[tuple[Path, Callable[[Path], object]]] = []
    if plot is not None or plot_tail is not None:
        from .figures import regret_panels, tails, write
        from .store import together

        groups = together(found)
        for place, draw in ((plot, regret_panels), (plot_tail, tails)):
            if place is not None:
                pictures.append((place, partial(write, draw(groups))))
    _deliver(text, (csv, lambda path: to_csv(found, path)), *pictures)


@app.command()
@_report_errors
def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead.")] = False,
) -> None:
    """List the policies with formula, parameters and source.

    In the formulae, T is the arm's number of pulls, t the round, n the horizon, K the number of
    arms.

    **Example**

    `ocucb policies`
    """
    from .policies import FAMILIES

    if as_json:
        rows = [
            {
                "policy": family.name,
                "formula": family.formula,
                "parameters": dict(family.defaults),
                "reference": family.reference,
            }
            for family in FAMILIES.values()
        ]
        return _deliver(json.dumps(rows, indent=1))
    lines = []
    for family in FAMILIES.values():
        lines += [family.name, f"    {family.formula}"]
        for name, default in family.defaults.items():
            valid, proved = family.valid.get(name), family.proved.get(name)
            facts = [f"{name} = {default:g}"]
            facts += [f"must be {valid.text}"] if valid else []
            facts += [f"regret bound proved for {name} {proved.text}"] if proved else []
            lines.append(f"    {'; '.join(facts)}")
        lines.append(f"    {family.reference}")
    _deliver("\n".join(lines))


@app.command()
@_report_errors
def gittins(
    rounds: Annotated[
        str | None, typer.Argument(metavar="M", help="Rounds left, including the current one.")
    ] = None,
    pulls: Annotated[
        str | None, typer.Argument(metavar="T", help="Number of times the arm has been pulled.")
    ] = None,
    sigma: Annotated[
        str, typer.Option(metavar="NUMBER", help="Standard deviation of the rewards.")
    ] = "1",
    plot: Annotated[
        bool, typer.Option("--plot", help="Plot g over (M, T), with its Brownian limit.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="File for the plot (.png, .pdf, .svg).")
    ] = Path("gittins.png"),
) -> None:
    """Print the Gittins offset g(M, T): what an arm's index adds to its mean.

    For Gaussian rewards and a flat prior, with M rounds left and the arm pulled T times.

    **Examples**

    `ocucb gittins 1000 10`

    `ocucb gittins --plot`
    """
    from . import gittins as indices
    from ._text import to_count, to_number

    if (rounds is None) != (pulls is None) or (rounds is None and not plot):
        raise ValueError("M and T are both needed, for example: ocucb gittins 1000 10.")
    _check_outputs(pictures=[out] if plot else [])
    lines = []
    if rounds is not None:
        m, T = to_count(rounds, "M"), to_count(pulls, "T")
        lines.append(f"{float(indices.index(m, T, to_number(sigma, '--sigma'))):.10g}")
    if not plot:
        return _deliver("\n".join(lines))
    from .figures import write

    figure = indices.plot()
    _deliver("\n".join([*lines, str(out)]), (out, lambda path: write(figure, path)))


@app.command()
@_report_errors
def reproduce(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PART",
            help="Panels (exp1, exp2, exp4 ... exp12, psi, alpha, constants, improved, work, "
            "restart, tails) or figures (teaser, fig1 ... fig4, fig-psi, fig-alpha, fig-constants, "
            "fig-improved, fig-work, fig-restart, fig-tails). Default: all.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for data, figures and the page.")
    ] = Path("reproduction"),
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Largest standard error of a point, as a share of its panel's axis; four times "
            "as much for curves with alpha = 1 and in exp10. Default: 0.005.",
        ),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option("--runs", "-r", metavar="N", help="Instead: this many plain runs per point."),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="Instead: this share of the paper's plain runs, such as 0.1."
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Instead: all of the paper's plain runs; takes hours.")
    ] = False,
    seed: Annotated[str, typer.Option(metavar="N", help="Seed.")] = "1",
    moss_constant: Annotated[
        str,
        typer.Option(
            metavar="NUMBER", help="Constant of MOSS in exp10; the author's program has 4."
        ),
    ] = "2",
    workers: _Workers = None,
    dask: _Dask = None,
) -> None:
    """Redraw every figure in the paper and check the claims in its text.

    Writes a CSV per panel, a PDF, SVG and PNG per figure, claims.csv, and index.html, a page that
    shows everything. Each point gets as many runs as its precision requires, drawn by importance
    sampling where that pays off. Interrupt it at any time: the same command resumes, and with more
    runs or a higher precision it adds to the finished ones.

    **Examples**

    `ocucb reproduce`

    `ocucb reproduce fig2 exp10 --scale 0.01 --out reproduction`
    """
    from ._text import to_count, to_number, to_share
    from .paper import PRECISION
    from .paper import reproduce as redraw

    if sum((precision is not None, runs is not None, scale is not None, full)) > 1:
        raise ValueError("use only one of --precision, --runs, --scale and --full.")
    share = 1.0 if full else None if scale is None else to_number(scale, "--scale")
    with _resumable(out):
        done = redraw(
            parts or [],
            out,
            runs=None if runs is None else to_count(runs, "--runs"),
            scale=share,
            precision=PRECISION if precision is None else to_share(precision, "--precision"),
            seed=to_count(seed, "--seed", least=0),
            moss_constant=to_number(moss_constant, "--moss-constant"),
            workers=None if workers is None else to_count(workers, "--workers"),
            executor=None if dask is None else _cluster(dask),
            say=lambda text: print(text, file=sys.stderr),
        )
    lines = [
        f"{one.claim.number:>2}. {one.verdict:<25}  {one.claim.quote}" for one in done.findings
    ]
    _deliver("\n".join([*lines, str(done.files[-1])]), failures=done.failures)


@app.command()
@_report_errors
def league(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PART",
            help="Problems (two, ten, rare-2 ...) or open questions (frontier, price, loglog, "
            "bayesian, variance). Default: all.",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="FILE.py:NAME",
            help="Also play your own policy, or one of ours with other parameters "
            "(ocucb:alpha=2.5); repeat for several.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for data, figures and the page.")
    ] = Path("league"),
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Two standard errors of a mean regret, as a share of it: 5% or 0.05. Slow "
            "policies may get fewer runs; the page says where. Default: 5%.",
        ),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option("--runs", "-r", metavar="N", help="Instead: this many plain runs per cell."),
    ] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Seed.")] = "1",
    workers: _Workers = None,
    dask: _Dask = None,
) -> None:
    """Play every policy on more than two dozen problems and say which one to use.

    Writes a page, index.html, with tables, figures and answers to the open questions of the paper,
    and the data as CSV. Each policy plays the problems that suit its rewards, until its error bars
    are short. Interrupt it at any time: the same command resumes.

    **Examples**

    `ocucb league`

    `ocucb league --policy mypolicy.py:mine`

    `ocucb league two ten --precision 10%`
    """
    from ._text import to_count, to_share
    from .league import load_policy, play_league
    from .league.measure import PRECISION

    if precision is not None and runs is not None:
        raise ValueError("use only one of --precision and --runs.")
    with _resumable(out):
        done = play_league(
            parts or [],
            out,
            policies=[load_policy(one) for one in policy or []],
            runs=None if runs is None else to_count(runs, "--runs"),
            precision=PRECISION if precision is None else to_share(precision, "--precision"),
            seed=to_count(seed, "--seed", least=0),
            workers=None if workers is None else to_count(workers, "--workers"),
            executor=None if dask is None else _cluster(dask),
            say=lambda text: print(text, file=sys.stderr),
        )
    lines = [done.answer] if done.answer else []
    _deliver("\n".join([*lines, str(done.files[-1])]), failures=done.failures)


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """Hear Ctrl-C while a report is made, and say that its finished runs are kept."""
    try:
        with _hearing(signal.default_int_handler):  # from here on there may be runs to keep
            yield
    except KeyboardInterrupt:
        with _hearing(signal.SIG_IGN):  # a second Ctrl-C would say that nothing was finished
            if _holds_runs(folder / "results.db"):
                kept = f"the finished runs are kept in {folder}; the same command resumes."
                print(f"Stopped: {kept}", file=sys.stderr)
                os._exit(130)
        raise


def _holds_runs(path: Path) -> bool:
    from .store import Store, StoreError

    try:
        with Store(path, read_only=True) as store:
            return store.holds_runs
    except StoreError:
        return False


@app.command()
@_report_errors
def theory(
    means: _Means = None,
    problem: _Instance = None,
    horizon: _Horizon = None,
    rewards: _Rewards = "gaussian",
    sigma: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The noise is sigma-subgaussian.")
    ] = None,
    measure: Annotated[
        bool, typer.Option("--simulate", help="Also measure the regret of policies.")
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME[:KEY=VALUE,...]",
            help="With --simulate: policy to play; repeat for several. Default: ocucb, and "
            "UCB and MOSS with the constants for which their bounds are proved.",
        ),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option("--runs", "-r", metavar="N", help="With --simulate: runs. Default: 1000."),
    ] = None,
    seed: Annotated[
        str | None, typer.Option(metavar="N", help="With --simulate: same seed, same numbers.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plot regret against n, with the bounds as bands."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead.")] = False,
) -> None:
    """Print upper and lower bounds on the regret and, on request, measured regret.

    A *bound* holds exactly as printed; a *shape* is known only up to a constant factor; a *limit*
    holds as n → ∞. Bounds whose conditions fail are listed with the reason.

    **Examples**

    `ocucb theory --means 0,-0.1,-0.5 --horizon 1e5`

    `ocucb theory --means 0.03,0.02 --rewards bernoulli --horizon 1e6`

    `ocucb theory --means 0,-0.5 --horizon 1e6 --simulate --seed 1 --plot theory.png`
    """
    from ._text import to_count

    arms = _problem(means, problem, rewards, sigma)
    rounds: Any = arms.paper_horizon if horizon is None else horizon
    if rounds is None:
        raise ValueError("--horizon is missing; set the number of rounds, for example 1e5.")
    for option, given in (("--policy", policy), ("--runs", runs), ("--seed", seed)):
        if given and not measure:
            raise ValueError(f"{option} needs --simulate.")
    _check_outputs(pictures=[plot])

    from . import theory as bounds
    from .theory import DEFAULT_POLICIES as with_bounds

    with _hearing(signal.default_int_handler):  # let the progress bar clean up
        report = bounds.report(
            arms,
            to_count(rounds, "--horizon"),
            policies=(policy or with_bounds) if measure else (),
            runs=to_count(runs or 1000, "--runs"),
            rng=None if seed is None else to_count(seed, "--seed", least=0),
            curve=plot is not None,
        )

    def draw(path: Path) -> None:
        from .figures import write

        write(report.plot(), path)

    text = json.dumps(report.to_dict(), indent=1, allow_nan=False) if as_json else report.table()
    _deliver(text, (plot, draw))


service = typer.Typer(no_args_is_help=False)
app.add_typer(service, name="serve")

_Store = Annotated[
    str,
    typer.Option(
        metavar="PLACE",
        help="An SQLite file, created if necessary, or postgresql://user@host/database.",
    ),
]


def _commands() -> Any:
    """Return the module with what `ocucb serve` does."""
    try:
        from .serve import commands
    except ImportError as error:
        raise ValueError(
            f"ocucb serve needs more packages ({error.name}): pip install 'ocucb[serve]'."
        ) from None
    return commands


@service.callback(invoke_without_command=True)
@_report_errors
def serve(
    context: typer.Context,
    store: _Store = "ocucb.db",
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on; one that other machines can reach needs a token first.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Port; 0 picks a free one.")] = 8000,
    log_level: Annotated[
        str, typer.Option(metavar="NAME", help="Log level: debug, info, warning or error.")
    ] = "info",
) -> None:
    """Serve decisions over HTTP, with a page to watch them.

    Prints the address of the page and, the first time, a token. Several servers may share one
    PostgreSQL database.

    **Examples**

    `ocucb serve`

    `ocucb serve --store postgresql://ocucb@db/bandits --host 0.0.0.0`
    """
    if context.invoked_subcommand is None:
        _commands().serve(store, host, port, log_level)
        return
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":  # else it would be ignored
            raise ValueError(
                f"--{name.replace('_', '-')} stands before {context.invoked_subcommand!r}, "
                "whose options come after it."
            )


@service.command("check")
@_report_errors
def check_store(
    name: Annotated[
        str | None, typer.Argument(metavar="BANDIT", help="Only this bandit. Default: all.")
    ] = None,
    store: _Store = "ocucb.db",
) -> None:
    """Replay the log of every bandit and compare decisions and state, bit for bit.

    Ends with status 1 if anything differs, and 2 if there is nothing to check. The server may be
    running.

    **Example**

    `ocucb serve check --store ocucb.db`
    """
    found = _commands().check_store(store, name)
    lines = [
        f"{one.name}: {one.decisions:,} decisions and {one.rewards:,} rewards, "
        + (one.problem or "all as stored.")
        for one in found
    ]
    _deliver("\n".join(lines))
    if any(one.problem for one in found):
        raise typer.Exit(1)


@service.command("token")
@_report_errors
def make_token(
    scope: Annotated[
        str,
        typer.Option(metavar="NAME", help="decide (ask, tell, read) or administer (all)."),
    ] = "decide",
    label: Annotated[str, typer.Option(metavar="TEXT", help="A note on who uses it.")] = "",
    store: _Store = "ocucb.db",
) -> None:
    """Make a token and print it; only a digest is kept, so it cannot be shown again.

    **Example**

    `ocucb serve token --scope decide --label shop`
    """
    _deliver(_commands().make_token(store, scope, label))


@service.command("tokens")
@_report_errors
def show_tokens(store: _Store = "ocucb.db") -> None:
    """List the tokens: number, scope, label, state.

    **Example**

    `ocucb serve tokens`
    """
    _deliver(_commands().token_table(store))


@service.command("revoke")
@_report_errors
def revoke(
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", help="As listed by `ocucb serve tokens`.")
    ],
    store: _Store = "ocucb.db",
) -> None:
    """Revoke a token; running servers refuse it within a second.

    **Example**

    `ocucb serve revoke 2`
    """
    _commands().revoke(store, number)


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    with _standard_output():
        app()
