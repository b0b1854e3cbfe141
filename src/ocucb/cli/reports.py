"""`ocucb reproduce` and `ocucb league`: reports on many simulations, which can be resumed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._interrupt import on_interrupt
from .shared import (
    Dask,
    Horizon,
    Rewards,
    Text,
    Workers,
    cluster,
    count,
    deliver,
    option,
    problem_or_prior,
    rounds_of,
    share,
)

if TYPE_CHECKING:
    from ..priors import AnyProblem

_Seed = Annotated[str, option("N", "Seed.")]
_Folder = Annotated[Path, option("DIR", "Folder for data, figures and the page.")]


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
    out: _Folder = Path("reproduction"),
    precision: Annotated[
        Text,
        option(
            "SHARE",
            "Largest standard error of a point, as a share of its panel's axis; 3.75 times "
            "as large for curves with alpha = 1 and in exp10. Or `paper`: that of the paper's "
            "number of plain runs. Default: 0.002.",
        ),
    ] = None,
    runs: Annotated[
        Text, option("N", "Use this many plain runs per point instead.", "--runs -r")
    ] = None,
    scale: Annotated[
        Text, option("SHARE", "Use this share of the paper's plain runs instead, such as 0.1.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Use all of the paper's plain runs instead; takes hours.")
    ] = False,
    seed: _Seed = "1",
    moss_constant: Annotated[
        str, option("NUMBER", "Constant of MOSS in exp10; the author's program uses 4.")
    ] = "2",
    workers: Workers = None,
    dask: Dask = None,
) -> None:
    """Redraw every figure in the paper and check the claims in its text.

    Writes a CSV per panel, a PDF, SVG and PNG per figure, claims.csv, and index.html, a page that
    shows everything. Each point gets as many runs as its precision requires, drawn by importance
    sampling and counted for several points where that pays off. Interrupt it at any time: the same
    command resumes, and with more runs or a higher precision it adds to the finished ones.

    **Examples**

    `ocucb reproduce`

    `ocucb reproduce --precision paper`

    `ocucb reproduce fig2 exp10 --scale 0.01 --out reproduction`
    """
    from .._text import to_number
    from ..paper import PRECISION
    from ..paper import reproduce as redraw

    if sum((precision is not None, runs is not None, scale is not None, full)) > 1:
        raise ValueError("use only one of --precision, --runs, --scale and --full.")
    part = 1.0 if full else None if scale is None else to_number(scale, "--scale")
    with _resumable(out):
        done = redraw(
            parts or [],
            out,
            scale=part,
            precision=(
                precision if precision == "paper" else share(precision, "--precision", PRECISION)
            ),
            moss_constant=to_number(moss_constant, "--moss-constant"),
            **_common(runs, seed, workers, dask),
        )
    lines = [
        f"{found.claim.number:>2}. {found.verdict:<25}  {found.claim.quote}"
        for found in done.findings
    ]
    deliver("\n".join([*lines, str(done.files[-1])]), failures=done.failures)


def league(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PART",
            help="Problems (two, ten, rare-2 ...) or open questions (frontier, price, loglog, "
            "bayesian, variance, unknown). Default: all.",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        option(
            "FILE.py:NAME",
            "Also play your own policy, or one of ours with other parameters "
            "(ocucb:alpha=2.5); repeat for several.",
            "--policy -p",
        ),
    ] = None,
    problem: Annotated[
        list[str] | None,
        option(
            "NAME:KEY=VALUE,...",
            "A problem of your own, instead of the league's or besides those that are named: "
            "gap:K=3,gap=0.1; repeat for several.",
        ),
    ] = None,
    means: Annotated[
        list[str] | None,
        option("LIST", "The same, by the expected rewards of its arms: 0.05,0.04; repeatable."),
    ] = None,
    prior: Annotated[
        list[str] | None,
        option("NAME:KEY=VALUE,...", "The same, drawn for each run: headlines:K=4; repeatable."),
    ] = None,
    rewards: Rewards = "gaussian",
    sigma: Annotated[
        Text, option("LIST", "Standard deviation of their rewards: one number, or one per arm.")
    ] = None,
    horizon: Horizon = None,
    out: _Folder = Path("league"),
    precision: Annotated[
        Text,
        option(
            "SHARE",
            "Run until two standard errors are below this fraction of the mean regret: 5% or "
            "0.05. Slow policies may get fewer runs; the page says where. Default: 5%.",
        ),
    ] = None,
    runs: Annotated[
        Text, option("N", "Use this many plain runs per cell instead.", "--runs -r")
    ] = None,
    seed: _Seed = "1",
    workers: Workers = None,
    dask: Dask = None,
) -> None:
    """Play every policy on more than forty problems and recommend which one to use.

    Writes a page, index.html, with tables, figures and answers to the open questions of the paper,
    and the data as CSV. Each policy plays the problems that suit its rewards, until its error bars
    are short. Interrupt it at any time: the same command resumes.

    **Examples**

    `ocucb league`

    `ocucb league --policy mypolicy.py:mine`

    `ocucb league two ten --precision 10%`

    `ocucb league --means 0.05,0.04,0.04 --rewards bernoulli --horizon 2e4 -p mypolicy.py:mine`
    """
    from ..league import load_policy, play_league
    from ..league.measure import PRECISION

    if precision is not None and runs is not None:
        raise ValueError("use only one of --precision and --runs.")
    with _resumable(out):
        done = play_league(
            parts or [],
            out,
            policies=[load_policy(place) for place in policy or []],
            problems=_problems(means, problem, prior, rewards, sigma, horizon),
            precision=share(precision, "--precision", PRECISION),
            **_common(runs, seed, workers, dask),
        )
    lines = [done.answer] if done.answer else []
    deliver("\n".join([*lines, str(done.files[-1])]), failures=done.failures)


def _problems(
    means: list[str] | None,
    instances: list[str] | None,
    priors: list[str] | None,
    rewards: str,
    sigma: str | None,
    horizon: str | None,
) -> list[tuple[AnyProblem, int]]:
    """Return the problems that options describe, with their horizons."""
    given = [
        *((text, None, None) for text in means or []),
        *((None, text, None) for text in instances or []),
        *((None, None, text) for text in priors or []),
    ]
    if not given and (rewards != "gaussian" or sigma is not None or horizon is not None):
        raise ValueError(
            "--rewards, --sigma and --horizon are for a problem of your own: add --means, "
            "--problem or --prior."
        )
    problems = [problem_or_prior(*what, rewards, sigma) for what in given]
    return [(problem, rounds_of(horizon, problem, "1e4")) for problem in problems]


def _common(runs: str | None, seed: str, workers: str | None, dask: str | None) -> dict[str, Any]:
    """Return the arguments that both reports take."""
    return {
        "runs": count(runs, "--runs"),
        "seed": count(seed, "--seed", least=0),
        "workers": count(workers, "--workers"),
        "executor": cluster(dask),
        "say": lambda text: print(text, file=sys.stderr),
    }


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """Hear Ctrl-C while a report is made, and say that its finished runs are kept."""
    try:
        with on_interrupt(signal.default_int_handler):  # from here on there may be runs to keep
            yield
    except KeyboardInterrupt:
        with on_interrupt(signal.SIG_IGN):  # a second Ctrl-C would say that no run finished
            if _holds_runs(folder / "results.db"):
                kept = f"the finished runs are kept in {folder}; the same command resumes."
                print(f"Interrupted: {kept}", file=sys.stderr)
                os._exit(130)
        raise


def _holds_runs(path: Path) -> bool:
    from ..store import Store, StoreError

    try:
        with Store(path, read_only=True) as store:
            return store.holds_runs
    except StoreError:
        return False
