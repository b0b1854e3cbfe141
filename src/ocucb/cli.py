"""The command line: parse, call, print. Everything heavy is imported inside the commands."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from .problems import Problem
    from .results import SimulationResult

app = typer.Typer(
    name="ocucb",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Finite-armed stochastic bandits: play the policies of the paper *Optimally Confident "
        "UCB* on any problem and measure their regret.\n\n"
        "Start with: `ocucb simulate --policy ocucb --policy ucb --means 0,-0.3 --horizon 1e4`"
    ),
)

DEFAULT_POLICIES = ["ocucb", "ucb", "moss"]


def _fail(message: object, status: int = 2) -> typer.Exit:
    """Print one sentence to standard error and return the exit that goes with it."""
    print(f"Error: {message}", file=sys.stderr)
    return typer.Exit(status)


def _plainly(command: Callable[..., None]) -> Callable[..., None]:
    """Turn wrong input into one sentence and status 2, and warnings into notes."""

    def note(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        print(f"Note: {message}", file=sys.stderr)

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("once", UserWarning)
            warnings.showwarning = note
            try:
                command(*args, **kwargs)
            except (ValueError, TypeError) as error:
                raise _fail(error) from None
            except BrokenPipeError:
                raise  # whoever reads our output has seen enough
            except OSError as error:
                place = error.filename or "the output"
                raise _fail(f"{place}: {error.strerror}.", 1) from None
            except MemoryError:
                raise _fail("there is not enough memory for so many arms.", 1) from None

    return run


def _version(wanted: bool) -> None:
    if wanted:
        from . import __version__

        print(f"ocucb {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _problem(means: str | None, problem: str | None, noise: str, sigma: str | None) -> Problem:
    """Build the problem that the options describe."""
    import math

    from . import problems
    from ._text import to_number

    if (means is None) == (problem is None):
        raise ValueError(
            "give the arms either with --means 0,-0.3 or with --problem gap:K=2,gap=0.3."
        )
    spread: Any = 1.0
    if sigma is not None:
        spread = [to_number(part, "--sigma") for part in sigma.split(",")]
        spread = spread[0] if len(spread) == 1 else spread
    if problem is not None:
        made = problems.parse_problem(problem, spread)
        vector: Any = made.means
    else:
        assert means is not None
        vector = [to_number(part, "--means") for part in means.split(",")]
        made = problems.gaussian(vector, spread)
    if noise == "gaussian":
        return made
    if noise == "bernoulli":
        if sigma is not None:
            raise ValueError("--sigma does not go with Bernoulli rewards: theirs is 1/2.")
        return problems.bernoulli(vector)
    if noise == "uniform":
        return problems.uniform_rewards(vector, made.scales * math.sqrt(3.0))
    raise ValueError(f"unknown noise {noise!r}; choose from gaussian, bernoulli, uniform.")


@app.command()
@_plainly
def simulate(
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME[:KEY=VALUE,...]",
            help="Who plays; may be given several times. `ocucb policies` lists them. "
            "Default: ocucb, ucb and moss.",
        ),
    ] = None,
    means: Annotated[
        str | None, typer.Option(metavar="LIST", help="Expected rewards of the arms: 0,-0.3")
    ] = None,
    problem: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:KEY=VALUE,...",
            help="An instance of the paper instead of means: gap:K=10,gap=0.3, uniform:K=10, "
            "moss-failure:K=50, conjecture:K=50.",
        ),
    ] = None,
    horizon: Annotated[
        str | None,
        typer.Option(
            "--horizon",
            "-n",
            metavar="N",
            help="Rounds in a run: 100000 or 1e5. "
            "moss-failure and conjecture have horizons of their own (K^3, K^2).",
        ),
    ] = None,
    runs: Annotated[
        str, typer.Option("--runs", "-r", metavar="N", help="Independent runs of each policy.")
    ] = "1000",
    seed: Annotated[
        str | None,
        typer.Option(metavar="N", help="Same seed, same numbers. Default: a new one, printed."),
    ] = None,
    noise: Annotated[
        str, typer.Option(metavar="KIND", help="Rewards: gaussian, bernoulli or uniform.")
    ] = "gaussian",
    sigma: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="Standard deviation of the rewards, one or one for each arm."
        ),
    ] = None,
    engine: Annotated[str, typer.Option(metavar="NAME", help="auto, skip or step.")] = "auto",
    checkpoints: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Rounds at which to measure: 100,1000,10000"),
    ] = None,
    workers: Annotated[
        str | None, typer.Option(metavar="N", help="Threads. Default: all cores.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw regret over time (.png, .pdf, .svg).")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write regret at the checkpoints as CSV.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save everything, for SimulationResult.load in Python."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON array, an object for each policy.")
    ] = False,
) -> None:
    """Play policies on a problem many times and print their regret with error bars.

    **Examples**

    `ocucb simulate -p ocucb -p moss:constant=4 --means 0,-0.3 --horizon 1e5 --runs 10000 --seed 1`

    `ocucb simulate --problem uniform:K=10 --horizon 1e4 --plot regret.png`

    `ocucb simulate -p ocucb -p ucb --means 0.5,0.4 --noise bernoulli -n 1e4 --json`
    """
    from ._text import to_count

    arms = _problem(means, problem, noise, sigma)
    rounds: Any = horizon
    if rounds is None:
        rounds = arms.paper_horizon
    if rounds is None:
        raise ValueError("--horizon is missing: give the number of rounds, for example 1e4.")
    for path in (plot, csv, save):
        if path is not None and not path.parent.is_dir():
            raise ValueError(f"the folder of {str(path)!r} does not exist.")
    if plot is not None:
        from .figures import check_ending

        check_ending(plot)

    from .simulation import SimulationInterrupted
    from .simulation import simulate as run

    stopped = False
    result: SimulationResult | None
    try:
        result = run(
            policy or DEFAULT_POLICIES,
            arms,
            to_count(rounds, "horizon"),
            to_count(runs, "runs"),
            rng=None if seed is None else to_count(seed, "seed", least=0),
            checkpoints=(
                None
                if checkpoints is None
                else [to_count(part, "a checkpoint") for part in checkpoints.split(",")]
            ),
            engine=engine,
            workers=None if workers is None else to_count(workers, "workers"),
        )
    except SimulationInterrupted as interruption:
        result, stopped = interruption.result, True
    if result is not None:
        for path, write in ((plot, result.plot), (csv, result.to_csv), (save, result.save)):
            if path is not None:
                write(path)
        if as_json:
            print(json.dumps([one.to_dict() for one in result], indent=1, allow_nan=False))
            if seed is None:
                print(f"Note: the seed was {result.seed}.", file=sys.stderr)
        else:
            print(result.table())
    if stopped:
        print("Stopped: the numbers are those of the runs that were finished.", file=sys.stderr)
        sys.stdout.flush()
        os._exit(130)  # at once: threads may be in the middle of a long run


@app.command()
@_plainly
def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead.")] = False,
) -> None:
    """List the policies with formula, parameters and source.

    In formulae T is the arm's number of pulls, t the round, n the horizon, K the number of arms.

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
        print(json.dumps(rows, indent=1))
        return
    for family in FAMILIES.values():
        print(family.name)
        print(f"    {family.formula}")
        for name, default in family.defaults.items():
            valid, proved = family.valid.get(name), family.proved.get(name)
            facts = [f"{name} = {default:g}"]
            facts += [f"must be {valid.text}"] if valid else []
            facts += [f"regret bound proved for {name} {proved.text}"] if proved else []
            print(f"    {'; '.join(facts)}")
        print(f"    {family.reference}")


@app.command()
@_plainly
def gittins(
    rounds: Annotated[
        str | None, typer.Argument(metavar="M", help="Rounds left, the present one included.")
    ] = None,
    pulls: Annotated[
        str | None, typer.Argument(metavar="T", help="Times the arm has been pulled.")
    ] = None,
    sigma: Annotated[
        str, typer.Option(metavar="NUMBER", help="Standard deviation of the rewards.")
    ] = "1",
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw g over (M, T), with its Brownian limit.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the picture goes (.png, .pdf, .svg).")
    ] = Path("gittins.png"),
) -> None:
    """Print the Gittins offset g(M, T): what an arm's index adds to its mean.

    For Gaussian rewards and a flat prior; an arm that has been pulled T times, with M rounds left.

    **Examples**

    `ocucb gittins 1000 10`

    `ocucb gittins --plot`
    """
    from . import gittins as indices
    from ._text import to_count, to_number

    if (rounds is None) != (pulls is None) or (rounds is None and not plot):
        raise ValueError("give both M and T, for example: ocucb gittins 1000 10.")
    if rounds is not None:
        m, T = to_count(rounds, "M"), to_count(pulls, "T")
        print(f"{float(indices.index(m, T, to_number(sigma, '--sigma'))):.10g}")
    if plot:
        from .figures import write

        write(indices.plot(), out)
        print(out)


@app.command()
@_plainly
def reproduce(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for figures and data.")] = Path(
        "reproduction"
    ),
    runs: Annotated[str, typer.Option("--runs", metavar="N", help="Runs for each point.")] = "2000",
    seed: Annotated[str, typer.Option(metavar="N", help="Seed.")] = "1",
) -> None:
    """Redraw the paper's comparison of regret against the gap (n = 10^4, K = 2).

    **Example**

    `ocucb reproduce --runs 500 --out reproduction`
    """
    from ._text import to_count
    from .paper import reproduce as redraw

    for path in redraw(out, to_count(runs, "runs"), to_count(seed, "seed", least=0)):
        print(path)


@app.command()
@_plainly
def theory(
    means: Annotated[
        str | None, typer.Option(metavar="LIST", help="Expected rewards of the arms: 0,-0.1,-0.5")
    ] = None,
    problem: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:KEY=VALUE,...",
            help="An instance of the paper instead of means, as in `ocucb simulate`.",
        ),
    ] = None,
    horizon: Annotated[
        str | None,
        typer.Option("--horizon", "-n", metavar="N", help="Rounds: 100000 or 1e5."),
    ] = None,
    sigma: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The noise is sigma-subgaussian.")
    ] = None,
    measure: Annotated[
        bool, typer.Option("--simulate", help="Measure the regret of policies beside the bounds.")
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME[:KEY=VALUE,...]",
            help="With --simulate: whose regret; may be given several times. Default: ocucb, and "
            "UCB and MOSS with the constants that their bounds are proved for.",
        ),
    ] = None,
    runs: Annotated[
        str, typer.Option("--runs", "-r", metavar="N", help="With --simulate: runs.")
    ] = "1000",
    seed: Annotated[
        str | None, typer.Option(metavar="N", help="With --simulate: same seed, same numbers.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw regret against n with the bounds as bands."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead.")] = False,
) -> None:
    """Print what is promised, what is impossible and, on request, what is measured.

    A *bound* holds as it stands; a *shape* is known up to a constant factor only; a *limit* holds
    for n → ∞. Bounds whose condition fails are listed with the reason.

    **Examples**

    `ocucb theory --means 0,-0.1,-0.5 --horizon 1e5`

    `ocucb theory --means 0,-0.5 --horizon 1e6 --simulate --seed 1 --plot theory.png`
    """
    from ._text import to_count

    arms = _problem(means, problem, "gaussian", sigma)
    rounds: Any = arms.paper_horizon if horizon is None else horizon
    if rounds is None:
        raise ValueError("--horizon is missing: give the number of rounds, for example 1e5.")
    if policy and not measure:
        raise ValueError("--policy goes with --simulate.")
    if plot is not None:
        from .figures import check_ending, write

        check_ending(plot)
        if not plot.parent.is_dir():
            raise ValueError(f"the folder of {str(plot)!r} does not exist.")

    from . import theory as bounds
    from .theory import DEFAULT_POLICIES as with_bounds

    report = bounds.report(
        arms,
        to_count(rounds, "horizon"),
        policies=(policy or with_bounds) if measure else (),
        runs=to_count(runs, "runs"),
        rng=None if seed is None else to_count(seed, "seed", least=0),
        curve=plot is not None,
    )
    if plot is not None:
        write(report.plot(), plot)
    print(json.dumps(report.to_dict(), indent=1, allow_nan=False) if as_json else report.table())


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no ± gets a question mark
    try:
        app()
    except KeyboardInterrupt:
        print("Stopped: nothing was finished.", file=sys.stderr)
        os._exit(130)
