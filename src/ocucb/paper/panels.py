"""The paper's experiments as data: what each panel of each figure shows.

Grids and numbers of runs are those of Lattimore (2015), appendix "Experiments", and of its author's
own programs where the text is silent. In the second half of the sensitivity figure, the text gives
the gap as 3/10 and the titles as 2/10; the titles are right. Seven panels are our own: "psi",
"alpha", "constants", "improved", "work" and "restart" show what the paper's text discusses without
data, and "tails" how likely a large regret is. So are two curves: Gittins in "exp8" and "exp9".
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

from ..policies import (
    AOCUCB,
    MOSS,
    OCUCB,
    UCB,
    Gittins,
    ImprovedUCB,
    Policy,
    ThompsonSampling,
    UniformRandom,
    parse_policy,
)
from ..problems import Problem, gap, moss_failure, uniform_arms
from ..results import bin_edges


@dataclass(frozen=True)
class Line:
    """One line of a panel."""

    label: str
    at: Callable[[float], tuple[Policy, Problem, int]]  # the policy, problem and horizon at each x
    # how many times the standard error of other lines its points may have by default
    tolerance: float = 1.0
    ours: bool = False  # whether the paper's panel lacks it


@dataclass(frozen=True)
class Panel:
    """One panel of a figure."""

    name: str  # its name on the command line
    # for the figure; "N = ..." is added to the title
    title: str
    xlabel: str
    xs: tuple[float, ...]  # the grid
    lines: tuple[Line, ...]
    # runs per point with ``--full``: the paper's N, or our own choice where the panel is ours
    full_runs: int
    # Runs per point from which an error bar is believed; more are added where it is too long.
    # Blocks of runs end there, so that none is played again.
    fewest_runs: int
    top: float  # the height of the vertical axis
    # limits of the horizontal axis
    left: float = 0.0
    right: float | None = None
    ceiling: float | None = None  # the upper end of the vertical axis where the paper sets one
    ours: bool = False  # whether the panel is our own, and not in the paper
    # whether runs are drawn by importance sampling where a pilot finds that this pays
    tilted: bool = True
    # whether all runs are drawn from a mixture that reaches failures of every kind, rather than the
    # best one for the mean: for standard deviations and tails
    broad: bool = False
    # how the points of a line share runs, unless a number of runs is given: see `sharing`
    sharing: str = ""
    tail: bool = False  # whether x is a regret and the probability of exceeding it is shown
    work: bool = False  # whether indices or samples per round are shown instead of regret


InstanceAt = Callable[[float], tuple[Problem, int]]


def _same_problem(
    policies: Iterable[Policy], instance_at: InstanceAt, tolerance: float = 1.0
) -> tuple[Line, ...]:
    """Return a line for each policy; `instance_at` gives the problem and horizon at each x."""

    def line(policy: Policy) -> Line:
        # With α = 1 failures are so frequent that the curve would take most of the time.
        more = _LENIENT if policy.parameters.get("alpha") == 1.0 else tolerance
        return Line(policy.label, lambda x: (policy, *instance_at(x)), more)

    return tuple(line(policy) for policy in policies)


def _same_policy(
    make: Callable[[float], Policy], problems: Iterable[tuple[str, Problem]], prefix: str = ""
) -> tuple[Line, ...]:
    """Return a line for each problem; x is a parameter of the policy."""

    def line(label: str, problem: Problem) -> Line:
        return Line(f"{prefix}{label}", lambda x: (make(x), problem, 10_000))

    return tuple(line(label, problem) for label, problem in problems)


def _ocucb(alpha: float = 3.0, psi: float = 2.0) -> Policy:
    """Return OCUCB, without a warning if the theory does not cover its parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return OCUCB(alpha=alpha, psi=psi)


def _horizon_varies(problem: Problem) -> InstanceAt:
    return lambda x: (problem, int(x))


def _multiples(step: float, last: float) -> tuple[float, ...]:
    return tuple(round(step * i, 2) for i in range(1, round(last / step) + 1))


PRECISION = 0.002  # default standard error, as a share of the vertical axis
PAPER = 0.0  # stands for the precision of the paper's runs, of which each panel had its number
_LENIENT = 0.0075 / PRECISION  # tolerance of lines that are too expensive for that
BY_GAP, BY_HORIZON, BY_MIRROR = "gap", "horizon", "mirror"  # ways to share runs
_FEWEST = 256  # runs per point: with mixtures that pilots chose, their error bar is sound
_RIVALS = (UCB(), OCUCB(), AOCUCB(), MOSS(), ThompsonSampling())
_ALPHAS = tuple(_ocucb(alpha) for alpha in (1, 2, 3, 6))
_HORIZONS = (*range(100, 1000, 100), *range(1000, 10_000, 1000), *range(10_000, 100_001, 10_000))
_PROBLEMS = (
    ("K = 2, Δ = 0.3", gap(2, 0.3)),
    ("K = 10, Δ = 0.3", gap(10, 0.3)),
    ("K = 10, uniform arms", uniform_arms(10)),
)
_HARD = ("K = 2, Δ = 0.05", gap(2, 0.05))
WORK_ARMS = (10, 40, 160)
RESTART_ARMS = (2, 10)
DOUBLED_EPOCH, SQUARED_EPOCH = "OCUCB, m-th doubled epoch", "OCUCB, last squared epoch"
SQUARED = 256  # rounds of the first epoch whose successors are squares
_ARMS = (5, 10, 50, 100, 150, 200, 400, 600, 800, 1000, 1500, 2000, 2500)


def _by_gap(
    name: str, K: int, last: float, policies: Iterable[Policy], full_runs: int, top: float
) -> Panel:
    title = f"$n = 10^4$ and $K = {K}$ and $N$ and $\\Delta$ varies"
    lines = _same_problem(policies, lambda x: (gap(K, x), 10_000))
    grid = _multiples(0.01, last)
    panel = Panel(name, title, r"$\Delta$", grid, lines, full_runs, _FEWEST, top)
    return replace(panel, right=last, sharing=BY_GAP)


def _sensitivity_by_horizon(name: str, K: int, full_runs: int, top: float) -> Panel:
    title = f"$\\Delta = 2/10$ and $K = {K}$ and $N$ and $n$ varies"
    grid = tuple(range(5000, 100_001, 5000))
    lines = _same_problem(_ALPHAS, _horizon_varies(gap(K, 0.2)))
    panel = Panel(name, title, "$n$", grid, lines, full_runs, _FEWEST, top, ceiling=top)
    return replace(panel, left=5000, right=100_000)


def _by_horizon(
    name: str, title: str, problem: Problem, policies: Iterable[Policy], full_runs: int,
    top: float, fewest_runs: int = _FEWEST, tilted: bool = True, ours: Iterable[Policy] = (),
) -> Panel:  # fmt: skip
    title = f"{title}$K = {problem.arms}$ and $N$ and $n$ varies"
    more = (replace(line, ours=True) for line in _same_problem(ours, _horizon_varies(problem)))
    lines = (*_same_problem(policies, _horizon_varies(problem)), *more)
    panel = Panel(name, title, "$n$", _HORIZONS, lines, full_runs, fewest_runs, top)
    return replace(panel, right=100_000, tilted=tilted, sharing=BY_HORIZON)


def _work(policy: Policy, K: int) -> Line:
    """Return a line whose x is the number of rounds for each arm."""
    return Line(f"{policy.label}, K = {K}", lambda x: (policy, gap(K, 0.3), int(x) * K))


def _restarts(K: int) -> Iterable[Line]:
    """Yield lines whose x is m, for n = 64 (2^m - 1) rounds: restarted, and played once.

    Restarted after epochs of 64, 128, 256 … rounds, the m-th epoch; after epochs of 256, 256² …
    rounds, the last one: if it has lasted r rounds, OCUCB has played it as with horizon r and a
    ψ that is larger by the same factor.
    """
    problem = gap(K, 0.3)

    def doubled(m: float) -> tuple[Policy, Problem, int]:
        return OCUCB(), problem, 64 * 2 ** (int(m) - 1)

    def squared(m: float) -> tuple[Policy, Problem, int]:
        n = restart_rounds(m)
        rounds, horizon = (n, SQUARED) if n <= SQUARED else (n - SQUARED, SQUARED**2)
        return _ocucb(psi=2.0 * horizon / rounds), problem, rounds

    yield Line(f"K = {K}, {DOUBLED_EPOCH}", doubled)
    yield Line(f"K = {K}, {SQUARED_EPOCH}", squared)
    for policy in (OCUCB(), UCB(), ThompsonSampling()):
        at = _same_problem([policy], lambda m: (problem, restart_rounds(m)))[0].at
        yield Line(f"K = {K}, {policy.label}", at)


def restart_rounds(m: float) -> int:
    """Return how many rounds m epochs have that double."""
    return int(64 * (2 ** int(m) - 1))


@cache
def panels(moss_constant: float = 2.0) -> dict[str, Panel]:
    """Return all panels by name, which callers share.

    MOSS's constant in "exp10" is 2 in the paper's text, and 4 in its author's program.
    """
    all_policies = (*_RIVALS, Gittins())
    third = r"$\Delta=3/10$ and "
    every = (
        _by_gap("exp1", 2, 1.0, all_policies, 120_000, 110.0),
        _by_gap("exp2", 10, 1.0, all_policies, 30_000, 650.0),
        _by_gap("exp4", 2, 2.0, _ALPHAS, 230_000, 150.0),
        _by_gap("exp5", 10, 2.0, _ALPHAS, 120_000, 450.0),
        _sensitivity_by_horizon("exp6", 2, 500_000, 150.0),
        _sensitivity_by_horizon("exp7", 10, 280_000, 800.0),
        # The paper omits Gittins in these two: their horizons were too long for it.
        _by_horizon("exp8", third, gap(2, 0.3), _RIVALS, 2_000_000, 70.0, ours=[Gittins()]),
        _by_horizon("exp9", third, gap(10, 0.3), _RIVALS, 48_000, 650.0, ours=[Gittins()]),
        Panel("exp10", "$N$", "$K$", _ARMS,
              _same_problem((OCUCB(), MOSS(constant=moss_constant)),
                            lambda x: (moss_failure(int(x)), int(x) ** 3), _LENIENT),
              600, 64, 800_000.0, right=2550,
              tilted=False, sharing=BY_MIRROR),  # failures are not rare
        _by_horizon("exp11", "", uniform_arms(10), _RIVALS, 43_000, 600.0),
        # With so many arms, none of which is bad, no run is far from the others.
        _by_horizon("exp12", "", uniform_arms(100), _RIVALS, 7_200, 6500.0, 128, False),
        Panel("psi", r"OCUCB with $\alpha = 3$, $n = 10^4$, $\psi$ varies, $N$", r"$\psi$",
              (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0, 256.0, 1024.0),
              _same_policy(lambda x: _ocucb(psi=x), _PROBLEMS),
              100_000, 8192, 500.0, left=1.0, ours=True, broad=True),
        Panel("alpha", r"OCUCB with $\psi = 2$, $n = 10^4$, $\alpha$ varies, $N$", r"$\alpha$",
              (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0),
              _same_policy(lambda x: _ocucb(alpha=x), _PROBLEMS),
              100_000, 8192, 550.0, left=1.0, ours=True, broad=True),
        Panel("constants", "UCB and MOSS, $n = 10^4$, the constant varies, $N$", "constant",
              (2.0, 2.5, 3.0, 4.0, 6.0, 8.0),
              (*_same_policy(lambda x: UCB(constant=x), (*_PROBLEMS, _HARD), "UCB, "),
               *_same_policy(lambda x: MOSS(constant=x), (*_PROBLEMS, _HARD), "MOSS, ")),
              100_000, 1024, 1200.0, left=2.0, ours=True),
        Panel("improved", r"$n = 10^4$, $K = 10$, $\Delta$ varies, $N$", r"$\Delta$",
              (0.05, 0.1, 0.2, 0.3, 0.5, 1.0),
              _same_problem((UCB(), ImprovedUCB(), UniformRandom()),
                            lambda x: (gap(10, x), 10_000)),
              10_000, 256, 9000.0, ours=True, tilted=False),
        Panel("work", r"indices or samples per round, $\Delta = 3/10$, $n/K$ varies, $N$", "$n/K$",
              (30.0, 100.0, 300.0, 1000.0),
              tuple(_work(policy, K) for policy in (OCUCB(), ThompsonSampling())
                    for K in WORK_ARMS),
              16, 4, 160.0, left=30.0, ours=True, work=True),
        Panel("restart", r"$\Delta = 3/10$, $n = 64 (2^m - 1)$, $m$ varies, $N$", "$m$",
              tuple(float(m) for m in range(1, 11)),
              tuple(line for K in RESTART_ARMS for line in _restarts(K)),
              10_000, _FEWEST, 500.0, left=1.0, ours=True),
        Panel("tails", r"$n = 10^4$, $K = 2$, $\Delta = 3/10$, $N$", "regret $x$",
              # every fourth edge of the histogram of regrets, of which 3000 is the largest
              tuple(float(x) for x in bin_edges(3000.0)[4:257:4][::-1]),
              _same_problem(all_policies, lambda x: (gap(2, 0.3), 10_000)),
              100_000, 16_384, 1.0, left=10.0, right=3000.0, ours=True, broad=True, tail=True),
    )  # fmt: skip
    return {panel.name: panel for panel in every}


PANELS = panels()
_SYMBOLS = {r"$\Delta$": "Δ", "$n$": "n", "$K$": "K", r"$\psi$": "ψ", r"$\alpha$": "α",
            "$m$": "m", "$n/K$": "n/K"}  # fmt: skip
ARMS = {"exp1": 2, "exp2": 10, "exp4": 2, "exp5": 10, "exp6": 2, "exp7": 10, "exp8": 2, "exp9": 10,
         "exp11": 10, "exp12": 100}  # fmt: skip
# groups of panels, and names of lines, that sentences are about
COMPARISON = ("exp1", "exp2", "exp8", "exp9")
SENSITIVITY = ("exp4", "exp5", "exp6", "exp7")
UNIFORM = ("exp11", "exp12")
EVERY = (*COMPARISON, *UNIFORM)
ALPHAS = {1: "OCUCB(alpha=1)", 2: "OCUCB(alpha=2)", 3: "OCUCB", 6: "OCUCB(alpha=6)"}
THOMPSON = "Thompson sampling"


def place(panel: str, x: float) -> str:
    """Say where a point is.

    Examples
    --------
    >>> place("exp1", 0.9), place("exp12", 20_000)
    ('K = 2, Δ = 0.9', 'K = 100, n = 20,000, uniform arms')
    """
    known = PANELS.get(panel)
    symbol = _SYMBOLS.get(known.xlabel, "x") if known else "x"
    number = f"{x:,.0f}" if x >= 1000 else f"{x:g}"
    arms = f"K = {ARMS[panel]}, " if panel in ARMS else ""
    return f"{arms}{symbol} = {number}{', uniform arms' if panel in UNIFORM else ''}"


def moss_constant_of(policies: Iterable[str]) -> float:
    """Return the constant of MOSS among policies, given by name; 2 if MOSS is not among them.

    Examples
    --------
    >>> moss_constant_of(["ocucb:alpha=3,psi=2", "moss:constant=4"])
    4.0
    """
    for name in policies:
        if name.partition(":")[0] == "moss":
            return parse_policy(name).parameters["constant"]
    return 2.0


FIGURES = {
    "teaser": ("Regret of UCB, OCUCB and Thompson sampling (the teaser)", ("exp1",)),
    "fig1": ("Sensitivity to α", ("exp4", "exp5", "exp6", "exp7")),
    "fig2": ("Regret comparison", ("exp1", "exp2", "exp8", "exp9")),
    "fig3": ("Failure of MOSS", ("exp10",)),
    "fig4": ("Uniformly distributed arms", ("exp11", "exp12")),
    "fig-psi": ("Dependence on ψ (our own figure; the paper omits the data)", ("psi",)),
    "fig-alpha": (
        "Regret, its standard deviation and its tail against α (our own figure)",
        ("alpha",),
    ),
    "fig-constants": ("The constants of UCB and MOSS (our own figure)", ("constants",)),
    "fig-improved": ("Improved UCB (our own figure)", ("improved",)),
    "fig-work": ("Work per round: OCUCB's indices, Thompson's samples (our own figure)", ("work",)),
    "fig-restart": ("OCUCB restarted with doubled horizons (our own figure)", ("restart",)),
    "fig-tails": ("How likely a large regret is (our own figure)", ("tails",)),
}
PAPERS = ("teaser", "fig1", "fig2", "fig3", "fig4")  # the others are ours
TEASER = ("UCB", "OCUCB", "Thompson sampling")


def select(names: Iterable[str]) -> list[str]:
    """Return the panels that the given names of panels and figures select; all if none are given.

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
                f"no panel or figure is called {name!r}; choose from "
                f"{', '.join([*FIGURES, *known])}."
            )
    return [name for name in known if name in wanted or not wanted]
