"""The open questions of the paper, each with what it takes to answer it and the answer's sentences.

Lattimore (2015) ends with problems left open. The league contains what has been proposed since,
so each question becomes a comparison: policies, problems, and two sentences made from the numbers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._text import listed, power_of_ten
from ..policies import FAMILIES, OCUCB, Policy
from ..priors import AnyProblem
from ..problems import Problem, gap
from ..reports.estimates import Uncertain, geometric_mean, value_of
from .entrants import suits
from .measure import Cell, Key
from .problems import CONTESTS, Contest, Instance

Play = tuple[Policy, AnyProblem, int]

ALPHAS = (1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0)
PSIS = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
FRONTIER = ("two", "ten", "uniform-10")
BESIDE = ("adaucb", "kl-ucb", "light-tailed", "gittins", "moss", "thompson", "ucb")

EPOCH = 64  # rounds before the first restart
TOTALS = tuple(EPOCH * (2**m - 1) for m in (4, 6, 8, 10, 12))
PAIRS = (("ocucb", "ocucb-n"), ("moss", "moss-anytime"))
GAPS = {"two arms": gap(2, 0.3), "10 arms": gap(10, 0.3)}  # Δ = 0.3

LONG = tuple(10**k for k in range(3, 10))


def ocucb(alpha: float = 3.0, psi: float = 2.0) -> Policy:
    """Return OCUCB, without a warning if the theory does not cover its parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return OCUCB(alpha=alpha, psi=psi)


def named(names: Iterable[str]) -> list[Policy]:
    """Return policies with their default parameters."""
    return [FAMILIES[name]() for name in names]


def instance(name: str) -> Instance:
    """Return the problem and horizon of a contest."""
    return CONTESTS[name].instances[0]


@dataclass(frozen=True)
class Cells:
    """What was measured, by what was played, and policies of somebody's own."""

    found: Mapping[Key, Cell]
    own: Sequence[Policy] = ()

    def get(self, policy: Policy, problem: AnyProblem, horizon: int) -> Cell | None:
        """Return a cell, or None if it was not played."""
        return self.found.get((policy.name, problem.name, horizon))

    def all(self, plays: Sequence[Play]) -> list[Cell]:
        """Return the cells of some plays, without those that were not played."""
        return [cell for play in plays if (cell := self.get(*play)) is not None]


@dataclass(frozen=True)
class Question:
    """An open question."""

    name: str  # its name on the command line, and that of its figure
    title: str  # the question
    # returns what must be played to answer it, given policies that somebody has entered
    plays: Callable[[Sequence[Policy]], list[Play]]
    answer: Callable[[Cells], str]  # turns the cells into sentences


def _times(ratio: Uncertain) -> str:
    return f"{ratio.value:.2f} ± {2 * ratio.error:.2f}"


def _mean(values: Sequence[Uncertain]) -> Uncertain:
    return geometric_mean(values) if values else Uncertain(math.nan, math.nan)


# 1. Robustness against mean regret.


def alpha_plays(name: str) -> list[Play]:
    """Return OCUCB with every α on a contest."""
    return [(ocucb(alpha=alpha), *instance(name)) for alpha in ALPHAS]


def psi_plays(name: str) -> list[Play]:
    """Return OCUCB with every ψ on a contest."""
    return [(ocucb(psi=psi), *instance(name)) for psi in PSIS]


def beside_plays(name: str, own: Sequence[Policy] = ()) -> list[Play]:
    """Return the other policies on a contest."""
    suited = [policy for policy in own if suits(policy, CONTESTS[name])]
    return [(policy, *instance(name)) for policy in [*named(BESIDE), *suited]]


def _frontier_plays(own: Sequence[Policy]) -> list[Play]:
    return [
        play
        for name in FRONTIER
        for play in (*alpha_plays(name), *psi_plays(name), *beside_plays(name, own))
    ]


def beyond(cells: Cells, name: str) -> list[str]:
    """Return the policies with lower mean and deviation than OCUCB has with any α or ψ.

    Both differences must exceed two standard errors, for every α and ψ: nothing that OCUCB can be
    tuned to is as good in one respect without being worse in the other.
    """
    tuned = cells.all(alpha_plays(name) + psi_plays(name))

    def matched(rival: Cell) -> bool:
        return any(
            not _above(cell.mean, rival.mean) and not _above(cell.deviation, rival.deviation)
            for cell in tuned
        )

    beside = cells.all(beside_plays(name, cells.own))
    return [cell.label for cell in beside if not matched(cell)]


def _above(one: Uncertain, other: Uncertain) -> bool:
    """Tell whether `one` exceeds `other` by more than two standard errors."""
    more = one - other
    return more.value > 2.0 * more.error


def _frontier_answer(cells: Cells) -> str:
    calm, costs, last, ahead = [], [], [], []
    for name in FRONTIER:
        title = CONTESTS[name].title
        tuned = cells.all(alpha_plays(name))
        usual = cells.get(ocucb(), *instance(name))
        if usual is None or not tuned:
            continue
        steady = min(tuned, key=lambda cell: cell.deviation.value)
        alpha = steady.policy.partition("alpha=")[2].partition(",")[0]
        calm.append(
            f"α = {alpha} ({steady.deviation.value:.3g} instead of {usual.deviation.value:.3g}; "
            f"{title})"
        )
        costs.append(f"{(steady.mean / usual.mean).value:.2f}")
        last.append(f"{tuned[-1].deviation.value:.3g}")
        ahead += [f"{label} ({title})" for label in beyond(cells, name)]
    if not calm:
        return "It was not played."
    text = (
        f"OCUCB's standard deviation is smallest with {listed(calm)}, at {listed(costs)} times the "
        f"mean regret of α = 3; with α = {ALPHAS[-1]:g} it is {listed(last)}. "
    )
    if ahead:
        return text + f"Neither α nor ψ makes it as good in mean and deviation as {listed(ahead)}."
    return text + "Whatever α and ψ are, no other policy is better in both by two standard errors."


# 2. The price of not knowing the horizon.


def epochs(total: int) -> list[int]:
    """Return the horizons of restarts that double, which add up to `total`.

    Examples
    --------
    >>> epochs(64 * 7)
    [64, 128, 256]
    """
    found = [EPOCH]
    while sum(found) < total:
        found.append(2 * found[-1])
    return found


def _price_plays(own: Sequence[Policy]) -> list[Play]:
    lengths = sorted({*TOTALS, *epochs(TOTALS[-1])})
    return [
        (policy, problem, n)
        for problem in GAPS.values()
        for pair in PAIRS
        for policy, horizons in zip(named(pair), (lengths, TOTALS), strict=True)
        for n in horizons
    ]


def restarted(cells: Cells, policy: Policy, problem: Problem, total: int) -> Uncertain | None:
    """Return the mean regret of a policy that is restarted with doubled horizons.

    Restarts are independent, so their mean regrets add up.
    """
    parts = [cells.get(policy, problem, n) for n in epochs(total)]
    means = [cell.mean for cell in parts if cell is not None]
    if len(means) < len(parts):
        return None
    return Uncertain(sum(m.value for m in means), math.hypot(*(m.error for m in means)))


def prices(cells: Cells, problem: Problem, pair: tuple[str, str]) -> dict[str, list[Uncertain]]:
    """Return regret relative to the policy that knows the horizon, for each of `TOTALS`."""
    informed, anytime = named(pair)
    found: dict[str, list[Uncertain]] = {}
    for n in TOTALS:
        known, cell = cells.get(informed, problem, n), cells.get(anytime, problem, n)
        if known is None:
            continue
        again = restarted(cells, informed, problem, n)
        for label, mean in (
            (f"{informed.label}, restarted", again),
            (anytime.label, None if cell is None else cell.mean),
        ):
            if mean is not None:
                found.setdefault(label, []).append(replace(mean / known.mean, where=str(n)))
    return found


def _price_answer(cells: Cells) -> str:
    sentences = []
    for pair in PAIRS:
        ratios: dict[str, list[Uncertain]] = {}
        for problem in GAPS.values():
            for label, found in prices(cells, problem, pair).items():
                ratios.setdefault(label, []).extend(found)
        parts = [f"{_times(_mean(found))} times ({label})" for label, found in ratios.items()]
        if parts:
            sentences.append(
                f"Compared with {named(pair[:1])[0].label}, which knows the horizon, regret is "
                f"{listed(parts)} as large on average (Δ = 0.3, K = 2 and 10, n = {TOTALS[0]:,} "
                f"to {TOTALS[-1]:,})."
            )
    return " ".join(sentences) or "It was not played."


# 3. α = 2 with log log.


def long_policies() -> list[Policy]:
    """Return the policies that are compared at long horizons."""
    return [ocucb(), ocucb(alpha=2.0), *named(["ocucb-loglog", "aocucb"])]


def _long_plays(own: Sequence[Policy]) -> list[Play]:
    policies = long_policies()
    return [(policy, problem, n) for problem in GAPS.values() for policy in policies for n in LONG]


def _long_answer(cells: Cells) -> str:
    (policy,) = named(["ocucb-loglog"])
    sentences = []
    for where, problem in GAPS.items():
        parts, mine = [], cells.get(policy, problem, LONG[-1])
        for rival in (ocucb(), ocucb(alpha=2.0)):
            theirs = cells.get(rival, problem, LONG[-1])
            if mine is not None and theirs is not None:
                times, alpha = _times(mine.mean / theirs.mean), rival.parameters["alpha"]
                parts.append(f"{times} times that of α = {alpha:g} without it")
        if parts:
            sentences.append(
                f"With {where}, the regret of α = 2 with log log at n = 10⁹ is {listed(parts)}"
                f"{_first_better(cells, policy, problem)}."
            )
    return " ".join(sentences) or "It was not played."


def _first_better(cells: Cells, policy: Policy, problem: Problem) -> str:
    """Say from which horizon on a policy beats OCUCB with α = 3 by more than its errors."""
    ahead = None
    for n in reversed(LONG):
        mine, usual = cells.get(policy, problem, n), cells.get(ocucb(), problem, n)
        if mine is None or usual is None or not _above(usual.mean, mine.mean):
            break
        ahead = n
    if ahead is None:
        return ", so it is not better than α = 3 there"
    return f", and it is better than α = 3 from n = {power_of_ten(round(math.log10(ahead)))} on"


# 4. What a known horizon gives Thompson sampling.


def largest(cells: Cells, policy: Policy, contest: Contest) -> Uncertain | None:
    """Return the largest mean regret of a policy among a contest's instances."""
    found = cells.all([(policy, problem, n) for problem, n in contest.instances])
    if len(found) < len(contest.instances):
        return None
    return max((cell.mean for cell in found), key=value_of)


def relative(
    cells: Cells, policy: Policy, other: Policy, contests: Iterable[Contest]
) -> list[Uncertain]:
    """Return the regret of a policy relative to another, where both played."""
    ratios = []
    for contest in contests:
        mine, theirs = largest(cells, policy, contest), largest(cells, other, contest)
        if mine is not None and theirs is not None:
            ratios.append(replace(mine / theirs, where=contest.title))
    return ratios


def _compared(cells: Cells, names: Sequence[str], base: str, contests: Sequence[Contest]) -> str:
    """Say what each policy's regret is relative to that of one of them."""
    (rival,) = named([base])
    parts, every = [], []
    for policy in named(names):
        ratios = relative(cells, policy, rival, contests)
        if ratios and policy != rival:
            count = "" if len(ratios) == len(contests) else f" (on {len(ratios)} of them)"
            parts.append(f"{policy.label} {_times(_mean(ratios))}{count}")
            every += [(ratio, policy.label) for ratio in ratios]
    if not parts:
        return "It was not played."
    low, high = (choose(every, key=lambda pair: pair[0].value) for choose in (min, max))
    return (
        f"Regret relative to {rival.label}, averaged over {len(contests)} problems: "
        f"{listed(parts)}. Problem by problem, it ranges from {low[0].value:.2f} ({low[1]}; "
        f"{low[0].where}) to {high[0].value:.2f} ({high[1]}; {high[0].where})."
    )


# who is compared with whom, and on what
Comparison = tuple[tuple[str, ...], str, list[Contest]]
BAYESIAN_COMPARISON: Comparison = (
    ("thompson", "oc-thompson", "irs-fh", "mots", "gittins"),
    "thompson",
    [contest for contest in CONTESTS.values() if contest.kind == "gaussian"],
)

# 5. Low variance.

VARIANCE_COMPARISON: Comparison = (
    ("kl-ocucb", "kl-ucb", "kl-ucb-plus-plus", "ucb-v", "ucb-tuned", "beta-thompson", "ocucb"),
    "ocucb",
    [CONTESTS[name] for name in ("rare-2", "rare-10", "rare-short", "ladder", "headlines")],
)

# 6. Variances that nobody knows.

UNKNOWN_COMPARISON: Comparison = (
    ("ocucb-normal", "normal-thompson", "thompson", "ocucb"),
    "ocucb",
    [contest for contest in CONTESTS.values() if contest.kind == "unequal"],
)


def _comparison(name: str, title: str, comparison: Comparison) -> Question:
    names, _, contests = comparison

    def plays(own: Sequence[Policy]) -> list[Play]:
        return [
            (policy, *problem_and_horizon)
            for contest in contests
            for policy in named(names)
            for problem_and_horizon in contest.instances
        ]

    return Question(name, title, plays, lambda cells: _compared(cells, *comparison))


QUESTIONS = {
    question.name: question
    for question in (
        Question("frontier", "What does robustness cost in mean regret?",
                 _frontier_plays, _frontier_answer),
        Question("price", "What does an unknown horizon cost?", _price_plays, _price_answer),
        Question("loglog", "Is α = 2 with log log better for long horizons?",
                 _long_plays, _long_answer),
        _comparison("bayesian", "What does a known horizon give Thompson sampling?",
                    BAYESIAN_COMPARISON),
        _comparison("variance", "What is there to gain where the variance is low?",
                    VARIANCE_COMPARISON),
        _comparison("unknown", "What is gained by estimating unknown variances?",
                    UNKNOWN_COMPARISON),
    )
}  # fmt: skip
