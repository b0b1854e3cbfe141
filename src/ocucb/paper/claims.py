"""What an answer to a sentence of the paper is made of: estimates, criteria, curves, a verdict.

A sentence is *true* or *false* if its numbers say so by two standard errors, and *half true* if
some of them do. Many sentences contain a word, such as "competitive", that is open to
interpretation: they *depend on the definition*, and the answer is the value at which the sentence
turns from false to true. It is called true or false only beyond limits that nobody would dispute
(`Criterion.surely`, `never`). What software has overtaken was *true in 2015, no longer*.

A check computes numbers. It words them so that they can stand beside any verdict; what follows from
them is said by the verdict (`Finding.words`).

The worst of many ratios is biased: it is found where chance made the ratio large. So curves, in
stretches of neighbouring points, only suggest places; these are measured again with other random
numbers, and more precisely (`Curves.at`), and it is those numbers that count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .._text import listed
from ..reports.estimates import Uncertain
from .measure import Point
from .panels import Panel, panels

TRUE, FALSE, HALF = "true", "false", "half true"
DEPENDS, OUTDATED = "depends on the definition", "true in 2015, no longer"
OPEN, MISSING = "not decided at this N", "not run"
DECIDED = (TRUE, HALF, FALSE, OUTDATED, DEPENDS)  # in the order in which they are counted
FEWEST = 100  # runs per point: with fewer, the errors themselves are too uncertain
CANDIDATES = 3  # places where a worst case may be, which are measured again


@dataclass(frozen=True)
class Criterion:
    """A number behind a sentence, and which values make the sentence true.

    Attributes
    ----------
    statistic : str
        What is estimated.
    estimate : Uncertain
    surely : float
        A value at which nobody would dispute the sentence.
    never : float
        A value at which nobody would defend it. Where no word is open to interpretation, both
        are the same.
    below : bool
        Whether small values make it true.
    part : str
        Of what it decides the sentence, if there are several: "Gittins".
    definition : str
        Where both limits differ, what makes the sentence true at the estimate, which stands for
        ``{}``: "“competitive” allows {:.2f} times the best regret".
    in_2015 : bool
        Whether it is about what could be done in 2015, rather than now.
    enough_runs : bool
        Whether there are enough runs to trust the error.
    """

    statistic: str
    estimate: Uncertain
    surely: float
    never: float
    below: bool = True
    part: str = ""
    definition: str = ""
    in_2015: bool = False
    enough_runs: bool = True

    @property
    def verdict(self) -> str:
        """What two standard errors allow to say."""
        value, half_width = self.estimate.value, 2.0 * self.estimate.error
        if not (math.isfinite(value) and math.isfinite(half_width) and self.enough_runs):
            return OPEN
        sign = 1.0 if self.below else -1.0
        to_surely, to_never = sign * (value - self.surely), sign * (value - self.never)
        if to_surely + half_width < 0.0:
            return TRUE
        if to_never - half_width > 0.0:
            return FALSE
        return DEPENDS if to_surely - half_width > 0.0 > to_never + half_width else OPEN


@dataclass(frozen=True)
class Series:
    """A line of a small picture: points, two standard errors, and the name of its style."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    bars: Sequence[float] = ()


@dataclass(frozen=True)
class Evidence:
    """A small picture: some lines, a horizontal line where a sentence turns, places that count."""

    xlabel: str
    ylabel: str
    series: Sequence[Series] = ()
    level: float | None = None
    marks: Sequence[tuple[float, float]] = ()
    logx: bool = False
    logy: bool = False


@dataclass(frozen=True)
class Answer:
    """What is found about a sentence.

    Attributes
    ----------
    criteria : list of Criterion
    numbers : str
        What was measured, in sentences that hold whatever the verdict is.
    evidence : Evidence
    remarks : dict
        By verdict, a sentence that only this verdict allows.
    table : list of list of str
        More numbers, the first row being the head.
    """

    criteria: Sequence[Criterion]
    numbers: str
    evidence: Evidence
    remarks: Mapping[str, str] = field(default_factory=dict)
    table: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper.

    Attributes
    ----------
    number : int
    quote : str
        The sentence, or the part of it that is judged here.
    source : str
        Its section, and its line in the paper's TeX source.
    panels : tuple of str
        The panels it is about.
    check : callable
        Turns the curves of those panels into an answer.
    headline : bool
        Whether the README quotes it.
    """

    number: int
    quote: str
    source: str
    panels: tuple[str, ...]
    check: Callable[[Curves], Answer]
    headline: bool = False


@dataclass(frozen=True)
class Finding:
    """A claim and its answer, none if its panels were not measured."""

    claim: Claim
    answer: Answer | None = None

    @property
    def criteria(self) -> Sequence[Criterion]:
        """The numbers behind the answer."""
        return self.answer.criteria if self.answer else ()

    @property
    def verdict(self) -> str:
        """The verdict on the whole sentence."""
        then = _together([one.verdict for one in self.criteria if one.in_2015])
        now = _together([one.verdict for one in self.criteria if not one.in_2015])
        if (then, now) == (TRUE, FALSE):
            return OUTDATED
        return _together([one for one in (then, now) if one != MISSING])

    @property
    def words(self) -> str:
        """What was measured, and what follows."""
        if self.answer is None:
            return ""
        verdict = self.verdict
        follows = self.answer.remarks.get(verdict, "") or _conclusion(verdict, self.criteria)
        return f"{self.answer.numbers} {follows}".rstrip()


def _together(verdicts: Sequence[str]) -> str:
    """Return the verdict on a sentence from those on its parts."""
    found = set(verdicts)
    if not found:
        return MISSING
    if OPEN in found:
        return OPEN
    if len(found) == 1:
        return found.pop()
    return HALF if FALSE in found else DEPENDS


def _conclusion(verdict: str, criteria: Sequence[Criterion]) -> str:
    """Say what a verdict means, given the criteria; nothing where the verdict says it all."""
    if verdict == OPEN:
        if not all(one.enough_runs for one in criteria):
            return f"Not decided: some points have fewer than {FEWEST} runs."
        return "Not decided: the errors are too large."
    if verdict == DEPENDS:
        needed = dict.fromkeys(
            one.definition.format(one.estimate.value) for one in criteria if one.verdict == DEPENDS
        )
        return f"True if {listed(needed)}."
    if verdict == HALF:
        said = []
        for one, said_of in (
            (TRUE, "true of"),
            (DEPENDS, "a matter of definition for"),
            (FALSE, "false of"),
        ):
            parts = dict.fromkeys(c.part for c in criteria if c.verdict == one)
            if parts:
                said.append(f"{said_of} {listed(parts)}")
        text = "; ".join(said)
        return f"{text[0].upper()}{text[1:]}."
    return ""


@dataclass
class Curves:
    """The measured curves of some panels, and places that were measured again.

    Attributes
    ----------
    points, again : iterable of Point
        The panels; and the same policies at some of their places, with other random numbers.
    wanted : dict
        The places (panel, line, x) that checks asked for and `again` lacks.
    """

    points: Iterable[Point]
    again: Iterable[Point] = ()
    wanted: dict[tuple[str, str, float], None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lines: dict[str, dict[str, list[Point]]] = {}
        for point in self.points:
            self._lines.setdefault(point.panel, {}).setdefault(point.line, []).append(point)
        self._again = {(one.panel, one.line, one.x): one for one in self.again}

    def lines(self, panel: str, ours: bool = False) -> list[str]:
        """Return the names of a panel's lines: those that the paper has too, or all."""
        more = {line.label for line in PANELS[panel].lines if line.ours}
        return [name for name in self._lines[panel] if ours or name not in more]

    @property
    def moss_line(self) -> str:
        """The name of MOSS in exp10, where it may have another constant."""
        return next(name for name in self.lines("exp10") if name.startswith("MOSS"))

    def line(self, panel: str, line: str) -> list[Point]:
        """Return the points of a line, in order of x."""
        return self._lines[panel][line]

    def xs(self, panel: str) -> list[float]:
        """Return the grid of a panel."""
        return [one.x for one in next(iter(self._lines[panel].values()))]

    def at(self, panel: str, line: str, x: float) -> Uncertain:
        """Return the regret at one place, measured again if it was."""
        key = (panel, line, float(x))
        found = self._again.get(key) or next(
            (one for one in self.line(panel, line) if one.x == x), None
        )
        if found is None:
            return Uncertain(math.nan, math.inf)
        if key not in self._again:
            self.wanted[key] = None
        return Uncertain(found.mean, found.stderr, place(panel, x))

    def stretches(self, panel: str, line: str) -> list[Uncertain]:
        """Return the mean regret of a line over some twenty stretches of its points."""
        points, size = self.line(panel, line), self._size(panel)
        return [mean_of(points[i : i + size]) for i in range(0, len(points), size)]

    def middles(self, panel: str) -> list[float]:
        """Return the x in the middle of each stretch."""
        xs, size = self.xs(panel), self._size(panel)
        return [xs[min(i + size // 2, len(xs) - 1)] for i in range(0, len(xs), size)]

    def places(self, panel: str, stretch: int) -> list[float]:
        """Return where in a stretch an extreme is sought: in its middle, and at the panel's end."""
        xs, middles = self.xs(panel), self.middles(panel)
        found = [middles[stretch]]
        found += [xs[0]] if stretch == 0 else []
        found += [xs[-1]] if stretch == len(middles) - 1 else []
        return list(dict.fromkeys(found))

    def _size(self, panel: str) -> int:
        return max(1, len(self.xs(panel)) // 20)

    def between(self, panel: str, line: str, low: float, high: float) -> Uncertain:
        """Return the mean regret of a line over the points with low <= x <= high."""
        return mean_of([one for one in self.line(panel, line) if low <= one.x <= high])

    def factors(self, panel: str, line: str, rivals: Sequence[str] = ()) -> list[float]:
        """Return a line's regret over that of the best rival, by stretch."""
        others = [name for name in rivals or self.lines(panel) if name != line]
        best = zip(*(self.stretches(panel, name) for name in others), strict=True)
        mine = self.stretches(panel, line)
        return [a.value / min(b.value for b in some) for a, some in zip(mine, best, strict=True)]

    def extreme(
        self,
        some_panels: Iterable[str],
        line: str,
        rivals: Sequence[str] = (),
        largest: bool = True,
    ) -> Uncertain:
        """Return a line's largest (or smallest) regret over that of the best rival.

        The curves suggest `CANDIDATES` stretches, whose places are measured again. The largest of
        three to six precise ratios, each over the smaller of two regrets, is too large by 1.2 to
        1.6 of the ratio's standard errors if all places and rivals are alike, and by less if not.
        """
        stretches = []
        for panel in some_panels:
            factors = self.factors(panel, line, rivals)
            stretches += [(factor, panel, i) for i, factor in enumerate(factors)]
        stretches.sort(reverse=largest)
        found = []
        for _, panel, i in stretches[:CANDIDATES]:
            names = [name for name in rivals or self.lines(panel) if name != line]
            names.sort(key=lambda name: self.stretches(panel, name)[i].value)
            for x in self.places(panel, i):
                # one of the two that seem best is the best
                best = min((self.at(panel, name, x) for name in names[:2]), key=value_of)
                found.append(self.at(panel, line, x) / best)
        return (max if largest else min)(found, key=value_of)

    def peak(self, panel: str, line: str) -> Uncertain:
        """Return the largest regret of a line; its highest points are measured again."""
        highest = sorted(self.line(panel, line), key=lambda one: -one.mean)[:CANDIDATES]
        return max((self.at(panel, line, one.x) for one in highest), key=value_of)

    def shares(self, panel: str, line: str, rival: str) -> list[float]:
        """Return, by stretch, how likely it is that a line has less regret than a rival."""
        pairs = zip(self.stretches(panel, line), self.stretches(panel, rival), strict=True)
        return [_chance_below(a / b, 1.0) for a, b in pairs]

    def height(self, panel: str) -> float:
        """Return the largest regret in a panel: the height of its axis."""
        return max(one.mean for name in self.lines(panel) for one in self.line(panel, name))

    def drawn(self, panel: str, line: str, label: str = "") -> Series:
        """Return a line for a small picture."""
        points = self.line(panel, line)
        return Series(
            label or line,
            [one.x for one in points],
            [one.mean for one in points],
            [2.0 * one.stderr for one in points],
        )

    def drawn_ratio(self, panel: str, line: str, rival: str, label: str) -> Series:
        """Return the ratio of two lines, by stretch, for a small picture."""
        pairs = zip(self.stretches(panel, line), self.stretches(panel, rival), strict=True)
        ratios = [a / b for a, b in pairs]
        bars = [2.0 * one.error for one in ratios]
        return Series(label, self.middles(panel), [one.value for one in ratios], bars)

    def drawn_factor(self, panel: str, line: str, label: str = "") -> Series:
        """Return a line's regret over that of the best rival, for a small picture."""
        return Series(label or panel, self.middles(panel), self.factors(panel, line))


def exactly(
    statistic: str, estimate: Uncertain, threshold: float, below: bool = True, part: str = ""
) -> Criterion:
    """Return a criterion without a word that is open to interpretation."""
    return Criterion(statistic, estimate, threshold, threshold, below, part)


def up_to(
    statistic: str,
    estimate: Uncertain,
    surely: float,
    never: float,
    definition: str,
    part: str = "",
) -> Criterion:
    """Return a criterion that depends on a definition between two limits."""
    return Criterion(statistic, estimate, surely, never, surely < never, part, definition)


def moved(ratio: Uncertain, up: str = "rises", down: str = "falls") -> str:
    """Say on which side of 1 a ratio is, by two standard errors.

    Examples
    --------
    >>> moved(Uncertain(1.3, 0.1)), moved(Uncertain(0.9, 0.1))
    ('rises', 'hardly changes')
    """
    if abs(ratio.value - 1.0) > 2.0 * ratio.error:
        return up if ratio.value > 1.0 else down
    return "hardly changes"


def span(numbers: Iterable[float], digits: int = 2) -> str:
    """Return the smallest and the largest of some numbers, or one if they look alike.

    Examples
    --------
    >>> span([0.3, 0.1, 0.2]), span([0.161, 0.163])
    ('0.10 to 0.30', '0.16')
    """
    written = [f"{x:.{digits}f}" for x in sorted(numbers)]
    return written[0] if written[0] == written[-1] else f"{written[0]} to {written[-1]}"


def value_of(estimate: Uncertain) -> float:
    return estimate.value


def mean_of(points: Sequence[Point]) -> Uncertain:
    if not points:
        return Uncertain(math.nan, math.inf)
    value = sum(one.mean for one in points) / len(points)
    error = math.sqrt(sum(one.stderr**2 for one in points)) / len(points)
    return Uncertain(value, error, place(points[0].panel, points[0].x))


def _chance_below(estimate: Uncertain, threshold: float) -> float:
    """Return the probability that the true value lies below a threshold."""
    if not estimate.error > 0.0:
        return float(estimate.value < threshold)
    return 0.5 * math.erfc((estimate.value - threshold) / estimate.error / math.sqrt(2.0))


PANELS: dict[str, Panel] = panels()
_SYMBOLS = {r"$\Delta$": "Δ", "$n$": "n", "$K$": "K", r"$\psi$": "ψ", r"$\alpha$": "α",
            "$m$": "m", "$n/K$": "n/K"}  # fmt: skip
ARMS = {"exp1": 2, "exp2": 10, "exp4": 2, "exp5": 10, "exp6": 2, "exp7": 10, "exp8": 2, "exp9": 10,
         "exp11": 10, "exp12": 100}  # fmt: skip
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
