"""What an answer to a sentence of the paper is made of: estimates, criteria, curves, a verdict.

A sentence is *true* or *false* if its numbers say so by two standard errors, and *half true* if
some of them do. Many sentences contain a word, such as "competitive", that is open to
interpretation: they *depend on the definition*, and the answer is the value at which the sentence
turns from false to true. It is called true or false only beyond limits that nobody would dispute
(`Criterion.surely`, `never`). What was true until better software came along is *true in 2015, no
longer*.

A check computes numbers. It words them so that they can stand beside any verdict; what follows from
them is said by the verdict (`Finding.words`).

The worst of many ratios is biased: it is found where chance made the ratio large. So curves, in
stretches of neighbouring points, only suggest places; these are measured again with other random
numbers, and more precisely (`Curves.at`), and it is those numbers that count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._text import listed
from ..reports.estimates import Uncertain, average, value_of
from .measure import Place, Point
from .panels import PANELS, place

TRUE, FALSE, HALF = "true", "false", "half true"
DEPENDS, OUTDATED = "depends on the definition", "true in 2015, no longer"
OPEN, MISSING = "not decided at this N", "not run"
DECIDED = (TRUE, HALF, FALSE, OUTDATED, DEPENDS)  # in the order in which they are counted
FEWEST = 100  # runs per point: with fewer, the errors themselves are too uncertain
CANDIDATES = 3  # places where a worst case may be, which are measured again


@dataclass(frozen=True)
class Criterion:
    """A number behind a sentence, and which values make the sentence true."""

    statistic: str  # what is estimated
    estimate: Uncertain
    surely: float  # a value at which nobody would dispute the sentence
    # A value at which nobody would defend it. Where no word is open to interpretation, both are the
    # same.
    never: float
    below: bool = True  # whether small values make it true
    part: str = ""  # of what it decides the sentence, if there are several: "Gittins"
    # where both limits differ, what makes the sentence true at the estimate, which stands for
    # ``{}``: "“competitive” allows {:.2f} times the best regret"
    definition: str = ""
    in_2015: bool = False  # whether it is about what could be done in 2015, rather than now
    enough_runs: bool = True  # whether there are enough runs to trust the error

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


def series_of(label: str, xs: Sequence[float], found: Sequence[Uncertain]) -> Series:
    """Return estimates as a line of a small picture."""
    return Series(label, xs, [*map(value_of, found)], [2.0 * point.error for point in found])


@dataclass(frozen=True)
class Evidence:
    """A small picture: some lines, and a horizontal line where a sentence turns.

    Without lines there is no picture.
    """

    xlabel: str = ""
    ylabel: str = ""
    series: Sequence[Series] = ()
    level: float | None = None
    logx: bool = False
    logy: bool = False


@dataclass(frozen=True)
class Answer:
    """What is found about a sentence."""

    criteria: Sequence[Criterion]
    numbers: str  # what was measured, in sentences that hold whatever the verdict is
    evidence: Evidence
    # by verdict, a sentence that only this verdict allows
    remarks: Mapping[str, str] = field(default_factory=dict)
    table: Sequence[Sequence[str]] = ()  # more numbers, the first row being the head
    caption: str = ""  # what the table adds, after "Sentence 1,"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper."""

    number: int
    quote: str  # the sentence, or the part of it that is judged here
    source: str  # its section, and its line in the paper's TeX source
    panels: tuple[str, ...]  # the panels it is about
    check: Callable[[Curves], Answer]  # turns the curves of those panels into an answer
    headline: bool = False  # whether the README quotes it


@dataclass(frozen=True)
class Finding:
    """A claim and its answer, none if its panels were not measured."""

    claim: Claim
    answer: Answer | None = None
    # on which the answer depends, and which are to be measured again
    places: tuple[Place, ...] = ()

    @property
    def criteria(self) -> Sequence[Criterion]:
        """The numbers behind the answer."""
        return self.answer.criteria if self.answer else ()

    @property
    def verdict(self) -> str:
        """The verdict on the whole sentence."""
        then = _together([c.verdict for c in self.criteria if c.in_2015])
        now = _together([c.verdict for c in self.criteria if not c.in_2015])
        if (then, now) == (TRUE, FALSE):
            return OUTDATED
        return _together([verdict for verdict in (then, now) if verdict != MISSING])

    @property
    def words(self) -> str:
        """What was measured, and what follows."""
        if self.answer is None:
            return ""
        remark = self.answer.remarks.get(self.verdict, "")
        follows = remark or _conclusion(self.verdict, self.criteria)
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
        if not all(c.enough_runs for c in criteria):
            return f"Not decided: some points have fewer than {FEWEST} runs."
        return "Not decided: the errors are too large."
    if verdict == DEPENDS:
        needed = dict.fromkeys(
            c.definition.format(c.estimate.value) for c in criteria if c.verdict == DEPENDS
        )
        return f"True if {listed(needed)}."
    if verdict == HALF:
        said = {TRUE: "true of", DEPENDS: "a matter of definition for", FALSE: "false of"}
        parts = {v: dict.fromkeys(c.part for c in criteria if c.verdict == v) for v in said}
        text = "; ".join(f"{said[v]} {listed(found)}" for v, found in parts.items() if found)
        return f"{text[0].upper()}{text[1:]}."
    return ""


@dataclass
class Curves:
    """The measured curves of some panels, and places that were measured again."""

    points: Iterable[Point]
    again: Iterable[Point] = ()  # at some places of the panels, with other random numbers
    missing: dict[Place, None] = field(default_factory=dict)  # places measured only once

    def __post_init__(self) -> None:
        self._lines: dict[str, dict[str, list[Point]]] = {}
        for point in self.points:
            self._lines.setdefault(point.panel, {}).setdefault(point.line, []).append(point)
        self._again = {(point.panel, point.line, point.x): point for point in self.again}

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
        return [point.x for point in next(iter(self._lines[panel].values()))]

    def at(self, panel: str, line: str, x: float) -> Uncertain:
        """Return the regret at one place, measured again if it was."""
        key = (panel, line, float(x))
        found = self._again.get(key) or next(
            (point for point in self.line(panel, line) if point.x == x), None
        )
        if found is None:
            return Uncertain(math.nan, math.inf)
        if key not in self._again:
            self.missing[key] = None
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
        return mean_of([point for point in self.line(panel, line) if low <= point.x <= high])

    def factors(self, panel: str, line: str, rivals: Sequence[str] = ()) -> list[float]:
        """Return a line's regret over that of the best rival, by stretch."""
        return [*map(value_of, self._over_best(panel, line, rivals))]

    def _over_best(self, panel: str, line: str, rivals: Sequence[str]) -> list[Uncertain]:
        others = [name for name in rivals or self.lines(panel) if name != line]
        best = zip(*(self.stretches(panel, name) for name in others), strict=True)
        mine = self.stretches(panel, line)
        return [a / min(some, key=value_of) for a, some in zip(mine, best, strict=True)]

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
        highest = sorted(self.line(panel, line), key=lambda point: -point.mean)[:CANDIDATES]
        return max((self.at(panel, line, point.x) for point in highest), key=value_of)

    def ratios(self, panel: str, line: str, rival: str) -> list[Uncertain]:
        """Return a line's regret over that of a rival, by stretch."""
        pairs = zip(self.stretches(panel, line), self.stretches(panel, rival), strict=True)
        return [a / b for a, b in pairs]

    def shares(self, panel: str, line: str, rival: str) -> list[float]:
        """Return, by stretch, how likely it is that a line has less regret than a rival."""
        return [_chance_below(ratio, 1.0) for ratio in self.ratios(panel, line, rival)]

    def height(self, panel: str) -> float:
        """Return the largest regret in a panel: the height of its axis."""
        return max(point.mean for name in self.lines(panel) for point in self.line(panel, name))

    def drawn(self, panel: str, line: str, label: str = "") -> Series:
        """Return a line for a small picture."""
        return self.drawn_over(panel, line, 1.0, label)

    def drawn_over(self, panel: str, line: str, unit: float, label: str = "") -> Series:
        """Return a line in some unit, for a small picture."""
        points = self.line(panel, line)
        found = [Uncertain(point.mean / unit, point.stderr / unit) for point in points]
        return series_of(label or line, self.xs(panel), found)

    def drawn_deviation(self, panel: str, line: str) -> Series:
        """Return a line's standard deviation for a small picture."""
        points = self.line(panel, line)
        errors = [2.0 * point.deviation_error for point in points]
        return Series(line, self.xs(panel), [point.deviation for point in points], errors)

    def drawn_ratio(self, panel: str, line: str, rival: str, label: str) -> Series:
        """Return the ratio of two lines, by stretch, for a small picture."""
        return series_of(label, self.middles(panel), self.ratios(panel, line, rival))

    def drawn_factor(self, panel: str, line: str, label: str, rivals: Sequence[str] = ()) -> Series:
        """Return a line's regret over that of the best rival, for a small picture."""
        return series_of(label, self.middles(panel), self._over_best(panel, line, rivals))


def exactly(
    statistic: str, estimate: Uncertain, threshold: float, below: bool = True, part: str = ""
) -> Criterion:
    """Return a criterion without a word that is open to interpretation."""
    return Criterion(statistic, estimate, threshold, threshold, below, part)


def up_to(
    statistic: str, estimate: Uncertain, surely: float, never: float, definition: str,
    part: str = "",
) -> Criterion:  # fmt: skip
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


def mean_of(points: Sequence[Point]) -> Uncertain:
    """Return the mean regret of some points of a line.

    Where these share runs, their errors are taken to be the same one: no average has a larger one.
    """
    if not points:
        return Uncertain(math.nan, math.inf)
    estimates = [
        Uncertain(point.mean, point.stderr, common=point.stderr if point.correlated else 0.0)
        for point in points
    ]
    return replace(average(estimates), where=place(points[0].panel, points[0].x))


def _chance_below(estimate: Uncertain, threshold: float) -> float:
    """Return the probability that the true value lies below a threshold."""
    if not estimate.error > 0.0:
        return float(estimate.value < threshold)
    return 0.5 * math.erfc((estimate.value - threshold) / estimate.error / math.sqrt(2.0))
