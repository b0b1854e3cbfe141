"""The paper's experiments as data: what each panel of each figure shows.

Grids and numbers of runs are those of Lattimore (2015), appendix "Experiments", and of its author's
own programs where the text is silent. The text says that the gap is 3/10 in the second half of the
sensitivity figure, its titles say 2/10; the titles are right. Two panels are ours, "psi" and
"alpha": the paper speaks of what they show and omits the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..policies import AOCUCB, MOSS, OCUCB, UCB, Gittins, Policy, ThompsonSampling
from ..problems import Problem, gap, moss_failure, uniform_arms


@dataclass(frozen=True)
class Line:
    """One line of a panel: who plays what at each x."""

    label: str
    at: Callable[[float], tuple[Policy, Problem, int]]


@dataclass(frozen=True)
class Panel:
    """One panel of a figure.

    Attributes
    ----------
    name, figure : str
        As the command line calls them.
    title, xlabel : str
        For the figure; "N = ..." is added to the title.
    xs : tuple of float
        The grid.
    lines : tuple of Line
    paper_runs : int
        The paper's number of runs for each point, N.
    default_runs : int
        Ours, where no other is asked for; where blocks of runs end, so that more can be added.
    left, right, top : float or None
        Limits of the axes.
    """

    name: str
    figure: str
    title: str
    xlabel: str
    xs: tuple[float, ...]
    lines: tuple[Line, ...]
    paper_runs: int
    default_runs: int
    left: float = 0.0
    right: float | None = None
    top: float | None = None


Instance = Callable[[float], tuple[Problem, int]]


def _same_problem(policies: Iterable[Policy], setting: Instance) -> list[Line]:
    """Return a line for each policy; `setting` gives problem and horizon for each x."""

    def line(policy: Policy) -> Line:
        return Line(policy.label, lambda x: (policy, *setting(x)))

    return [line(policy) for policy in policies]


def _same_policy(make: Callable[[float], Policy]) -> tuple[Line, ...]:
    """Return a line for each of three problems; x is a parameter of the policy."""

    def line(label: str, problem: Problem) -> Line:
        return Line(label, lambda x: (make(x), problem, 10_000))

    return (
        line("K = 2, Δ = 0.3", gap(2, 0.3)),
        line("K = 10, Δ = 0.3", gap(10, 0.3)),
        line("K = 10, uniform arms", uniform_arms(10)),
    )


def _ocucb(alpha: float = 3.0, psi: float = 2.0) -> Policy:
    """Return OCUCB without a warning where the theory does not cover its parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return OCUCB(alpha=alpha, psi=psi)


def _gap_varies(K: int) -> Instance:
    return lambda x: (gap(K, x), 10_000)


def _horizon_varies(problem: Problem) -> Instance:
    return lambda x: (problem, int(x))


def _multiples(step: float, last: float) -> tuple[float, ...]:
    return tuple(round(step * i, 2) for i in range(1, round(last / step) + 1))


_RIVALS = (UCB(), OCUCB(), AOCUCB(), MOSS(), ThompsonSampling())
_ALPHAS = tuple(_ocucb(alpha) for alpha in (1, 2, 3, 6))
_HORIZONS = (*range(100, 1000, 100), *range(1000, 10_000, 1000), *range(10_000, 100_001, 10_000))
_ARMS = (5, 10, 50, 100, 150, 200, 400, 600, 800, 1000, 1500, 2000, 2500)


def _comparison_by_gap(name: str, K: int, paper_runs: int, default_runs: int) -> Panel:
    return Panel(
        name,
        "fig2",
        f"$n = 10^4$, $K = {K}$, $\\Delta$ varies",
        r"$\Delta$",
        _multiples(0.01, 1.0),
        tuple(_same_problem((*_RIVALS, Gittins()), _gap_varies(K))),
        paper_runs,
        default_runs,
        right=1.0,
    )


def _sensitivity_by_gap(name: str, K: int, paper_runs: int, default_runs: int) -> Panel:
    return Panel(
        name,
        "fig1",
        f"$n = 10^4$, $K = {K}$, $\\Delta$ varies",
        r"$\Delta$",
        _multiples(0.01, 2.0),
        tuple(_same_problem(_ALPHAS, _gap_varies(K))),
        paper_runs,
        default_runs,
        right=2.0,
    )


def _sensitivity_by_horizon(
    name: str, K: int, top: float, paper_runs: int, default_runs: int
) -> Panel:
    return Panel(
        name,
        "fig1",
        f"$\\Delta = 2/10$, $K = {K}$, $n$ varies",
        "$n$",
        tuple(range(5000, 100_001, 5000)),
        tuple(_same_problem(_ALPHAS, _horizon_varies(gap(K, 0.2)))),
        paper_runs,
        default_runs,
        left=5000,
        right=100_000,
        top=top,
    )


def _comparison_by_horizon(name: str, K: int, paper_runs: int, default_runs: int) -> Panel:
    # The paper leaves Gittins out here: its horizons were too long for it.
    return Panel(
        name,
        "fig2",
        f"$\\Delta = 3/10$, $K = {K}$, $n$ varies",
        "$n$",
        _HORIZONS,
        tuple(_same_problem((*_RIVALS, Gittins()), _horizon_varies(gap(K, 0.3)))),
        paper_runs,
        default_runs,
        right=100_000,
    )


def _uniform_by_horizon(name: str, K: int, paper_runs: int, default_runs: int) -> Panel:
    return Panel(
        name,
        "fig4",
        f"$\\mu_i = -(i - 1) / K$, $K = {K}$, $n$ varies",
        "$n$",
        _HORIZONS,
        tuple(_same_problem(_RIVALS, _horizon_varies(uniform_arms(K)))),
        paper_runs,
        default_runs,
        right=100_000,
    )


def panels(moss_constant: float = 2.0) -> dict[str, Panel]:
    """Return all panels by name.

    Parameters
    ----------
    moss_constant : float
        MOSS's constant in "exp10": 2 in the paper's text, 4 in its author's program.
    """
    every = (
        _comparison_by_gap("exp1", 2, 120_000, 2048),
        _comparison_by_gap("exp2", 10, 30_000, 512),
        _sensitivity_by_gap("exp4", 2, 230_000, 1024),
        _sensitivity_by_gap("exp5", 10, 120_000, 512),
        _sensitivity_by_horizon("exp6", 2, 150.0, 500_000, 4096),
        _sensitivity_by_horizon("exp7", 10, 800.0, 280_000, 2048),
        _comparison_by_horizon("exp8", 2, 2_000_000, 4096),
        _comparison_by_horizon("exp9", 10, 48_000, 1024),
        Panel(
            "exp10",
            "fig3",
            "$n = K^3$, $K$ varies",
            "$K$",
            _ARMS,
            tuple(
                _same_problem(
                    (OCUCB(), MOSS(constant=moss_constant)),
                    lambda x: (moss_failure(int(x)), int(x) ** 3),
                )
            ),
            600,
            192,
            right=2550,
        ),
        _uniform_by_horizon("exp11", 10, 43_000, 1024),
        _uniform_by_horizon("exp12", 100, 7_200, 128),
        Panel(
            "psi",
            "fig-psi",
            r"OCUCB with $\alpha = 3$, $n = 10^4$, $\psi$ varies",
            r"$\psi$",
            (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0),
            _same_policy(lambda x: _ocucb(psi=x)),
            100_000,
            24_576,
        ),
        Panel(
            "alpha",
            "fig-alpha",
            r"OCUCB with $\psi = 2$, $n = 10^4$, $\alpha$ varies",
            r"$\alpha$",
            (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0),
            _same_policy(lambda x: _ocucb(alpha=x)),
            100_000,
            24_576,
        ),
    )
    return {panel.name: panel for panel in every}


FIGURES = {
    "teaser": ("Regret of UCB, OCUCB and Thompson sampling (the teaser)", ("exp1",)),
    "fig1": ("Sensitivity to α", ("exp4", "exp5", "exp6", "exp7")),
    "fig2": ("Regret comparison", ("exp1", "exp2", "exp8", "exp9")),
    "fig3": ("Failure of MOSS", ("exp10",)),
    "fig4": ("Uniformly distributed arms", ("exp11", "exp12")),
    "fig-psi": ("Dependence on ψ, which the paper leaves out", ("psi",)),
    "fig-alpha": ("Regret, its spread and its tail against α", ("alpha",)),
}
TEASER = ("UCB", "OCUCB", "Thompson sampling")


def select(names: Iterable[str]) -> list[str]:
    """Return the panels that names of panels and figures stand for; all of them for no names.

    Examples
    --------
    >>> select(["fig4", "exp10"])
    ['exp10', 'exp11', 'exp12']
    """
    known = list(panels())
    wanted: set[str] = set()
    for name in names:
        if name in FIGURES:
            wanted.update(FIGURES[name][1])
        elif name in known:
            wanted.add(name)
        else:
            raise ValueError(
                f"the paper has no {name!r}; choose from {', '.join([*FIGURES, *known])}."
            )
    return [name for name in known if name in wanted or not wanted]
