"""May the experiment be stopped? The leading arm, how sure it is, and what stopping now would lose.

Two kinds of statement, which do not replace each other:

- *The verdict* comes from confidence sequences of the differences between every other arm and the
  leader, each of level 1 - (1 - level) / (K - 1), K arms in all. It may be looked at after every
  round. With probability `level` it is never wrong: were a stop wrong, the interval of the leader's
  difference from the arm that is truly best would be, and that is one of K - 1.
- *Probability and loss* are Bayesian: with flat priors, the probability that the leader is the best
  arm, and the mean of the best arm's lead over it, which is what each further round would lose on
  average if the leader were played for ever. Posteriors are Beta distributions for rewards of 0 and
  1; for others normal ones, with the variance that was observed where it is not known. They say
  what is believed now, not how often it would be wrong to stop when they look good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._text import to_float
from .._types import Flags, Floats
from ..policies._largest import largest_of_beta, largest_of_normal
from .evidence import Evidence

STOP, GO_ON, NO_DIFFERENCE = "stop", "go on", "no difference"
_MOST_RIVALS = 16  # that are looked at to foresee the end
_DOUBLINGS, _HALVINGS = 20, 6  # of the rewards, until it comes; of the last step


def to_margin(value: object) -> float:
    """Convert `value` to a difference that does not matter, or raise an error.

    >>> to_margin(0.1)
    0.1
    """
    margin = to_float(value, "margin")
    if not 0.0 <= margin < float("inf"):
        raise ValueError(f"margin must be at least 0 and finite, got {margin:g}.")
    return margin


@dataclass(frozen=True, eq=False)
class Verdict:
    """What `Bandit.verdict` returns.

    Attributes
    ----------
    kind : str
        "stop": the leader is better than every other arm. "no difference": it may not be, but no
        other arm is better by more than the margin. "go on": neither is certain yet.
    leader : str or int or None
        The arm with the best mean; None as long as no arm has a reward.
    rival : str or int or None
        The arm that may be better than the leader by most.
    probability : float or None
        Posterior probability that the leader is the best arm, with flat priors; None if some arm
        has too few rewards.
    loss : float or None
        How much better the best arm is on average of the posterior: what each further round would
        lose if the leader were played from now on.
    more : int or None
        How many more rounds it takes to stop, about, if means and shares of traffic stay as they
        are; 0 if the time has come, None if no end is in sight.
    arms : list
        The other arms that can be played.
    difference, low, high : ndarray
        How much better each of them is than the leader (negative if it is worse), with intervals
        that hold at all times and together with the level.
    margin, level : float
        As they were given.
    assumption : str
        What the intervals assume of rewards.

    Examples
    --------
    >>> import ocucb
    >>> bandit = ocucb.Bandit(["red", "green"], bounds=(0, 1), rng=1)
    >>> bandit.tell(["red"] * 200 + ["green"] * 200, [0, 1] * 100 + [1, 1, 1, 0] * 50)
    >>> verdict = bandit.verdict()
    >>> verdict.kind, verdict.leader, verdict.low.round(3), verdict.high.round(3)
    ('stop', 'green', array([-0.441]), array([-0.047]))
    """

    kind: str
    leader: Any
    rival: Any
    probability: float | None
    loss: float | None
    more: int | None
    arms: list[Any]
    difference: Floats
    low: Floats
    high: Floats
    margin: float
    level: float
    assumption: str

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        sure = f"with {100 * self.level:g}% confidence"
        if self.leader is None:
            return "Go on: there are no rewards yet."
        if not self.arms:
            return f"Stop: there is no arm besides {self.leader!r}."
        if self.kind == STOP:
            return f"Stop: {self.leader!r} is the best arm, {sure}.{self._belief}"
        if self.kind == NO_DIFFERENCE:
            return (
                f"Stop: no arm is better than {self.leader!r} by more than {self.margin:g}, "
                f"{sure}.{self._belief}"
            )
        if self.more is None:
            rest = "No end is in sight at this rate."
        else:
            rest = f"About {_rounded(self.more)} more rounds at this rate."
        return f"Go on: {self.leader!r} leads, not yet {sure}.{self._belief} {rest}"

    @property
    def _belief(self) -> str:
        if self.probability is None or self.loss is None:
            return ""
        chance = 100 * min(self.probability, 0.9999)
        digits = max(0, 2 - int(np.log10(max(1e-9, 100 - chance)) + 1)) if chance > 90 else 0
        return (
            f" It is the best with probability {'over ' * (self.probability > 0.9999)}"
            f"{chance:.{digits}f}%, and playing it from now on loses {self.loss:.2g} a round."
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each arm but the leader.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit("ab", "ucb", horizon=100, sigma=1)
        >>> bandit.tell(["a", "b"], [2.0, 0.5])
        >>> bandit.verdict().rows()[0]["difference"]
        -1.5
        """
        columns = (self.difference.tolist(), self.low.tolist(), self.high.tolist())
        return [
            {"arm": arm, "difference": difference, "low": low, "high": high}
            for arm, difference, low, high in zip(self.arms, *columns, strict=True)
        ]

    def __repr__(self) -> str:
        return self.sentence


def verdict_of(
    names: Sequence[Any],
    evidence: Evidence,
    playable: Flags,
    rounds: int,
    minimize: bool,
    margin: float,
    level: float,
) -> Verdict:
    """Return the verdict on the arms that can be played, after so many rounds."""
    sign = -1.0 if minimize else 1.0
    value = np.where(playable & (evidence.pulls > 0), sign * evidence.mean, -np.inf)
    leader = int(np.argmax(value))
    others = np.flatnonzero(playable & (np.arange(value.size) != leader))
    common: dict[str, Any] = {
        "arms": [names[i] for i in others.tolist()],
        "margin": margin,
        "level": level,
        "assumption": evidence.assumption,
    }
    if value[leader] == -np.inf:
        common["arms"] = [names[i] for i in np.flatnonzero(playable).tolist()]
        nothing = np.full(len(common["arms"]), np.nan)
        return Verdict(GO_ON, None, None, None, None, None, difference=nothing, low=nothing,
                       high=nothing, **common)  # fmt: skip
    family = max(1, len(names) - 1)
    low, high = evidence.differences(leader, level, family)
    if minimize:
        low, high = -high, -low
    kind = _kind(high[others], margin)
    ranked = others[np.argsort(-np.nan_to_num(high[others], nan=np.inf), kind="stable")]
    probability, loss = believed(evidence, leader, np.append(others, leader), minimize)
    more: int | None = 0
    if kind == GO_ON:
        few = np.append(leader, ranked[:_MOST_RIVALS])
        more = _foreseen(evidence, few, rounds, minimize, margin, level, family)
    return Verdict(
        kind,
        names[leader],
        names[ranked[0]] if ranked.size else None,
        probability,
        loss,
        more,
        difference=sign * (evidence.mean - evidence.mean[leader])[others],
        low=low[others],
        high=high[others],
        **common,
    )


def _kind(high: Floats, margin: float) -> str:
    """Return the verdict, given by how much other arms may be better; nan if nobody knows."""
    if (high < 0.0).all():
        return STOP
    return NO_DIFFERENCE if margin > 0.0 and (high <= margin).all() else GO_ON


def _foreseen(
    evidence: Evidence,
    arms: Any,
    rounds: int,
    minimize: bool,
    margin: float,
    level: float,
    family: int,
) -> int | None:
    """Return after how many more rounds arms, the leader first, would be told apart."""
    if not (evidence.pulls[arms] > 0).all():
        return None
    few = evidence.only(arms)

    def goes_on(factor: float) -> bool:
        low, high = few.scaled(factor).differences(0, level, family)
        return _kind((-low if minimize else high)[1:], margin) == GO_ON

    factor = 2.0
    while goes_on(factor):
        factor *= 2.0
        if factor > 2.0**_DOUBLINGS:
            return None
    step = 0.25 * factor
    factor -= step
    for _ in range(_HALVINGS):
        step *= 0.5
        factor += step if goes_on(factor) else -step
    return max(1, round((factor + step - 1.0) * rounds))


def believed(
    evidence: Evidence, leader: int, arms: Any, minimize: bool
) -> tuple[float | None, float | None]:
    """Return how likely an arm is to be the best of some, and the mean lead of the best over it."""
    pulls, mean, squares = evidence.pulls[arms], evidence.mean[arms], evidence.squares[arms]
    at, chances = int(np.flatnonzero(arms == leader)[0]), np.empty(len(arms))
    if not (pulls > 0).all() or not evidence.independent:
        return None, None
    if len(arms) == 1:
        return 1.0, 0.0
    if evidence.are_clicks(arms):
        assert evidence.bounds is not None
        low, width = evidence.bounds[0], evidence.bounds[1] - evidence.bounds[0]
        hits = np.clip((mean - low) / width, 0.0, 1.0) * pulls
        a, b = 1.0 + hits, 1.0 + pulls - hits
        if minimize:
            a, b = b, a
        loss = width * largest_of_beta(a, b, chances, a[at] / (a[at] + b[at]))
        return float(chances[at]), max(0.0, loss)
    if evidence.bounds is not None:
        half = 0.5 * (evidence.bounds[1] - evidence.bounds[0])
        variance = (squares + half * half) / (pulls + 1.0)  # as if one more reward lay far away
    elif evidence.sigma is not None:
        variance = np.full(pulls.size, evidence.sigma**2)
    elif (pulls > 3.0).all() and (squares > 0.0).all():
        variance = squares / (pulls - 3.0)  # of Student's distribution with T - 1 degrees
    else:
        return None, None
    spread = np.sqrt(variance / pulls)
    scale = float(spread.min())
    centred = (mean - mean[at]) / scale * (-1.0 if minimize else 1.0)
    loss = scale * largest_of_normal(centred, spread / scale, chances, 0.0)
    return float(chances[at]), max(0.0, loss)


def _rounded(count: int) -> str:
    """Return a number with two digits that mean something."""
    places = max(0, len(str(count)) - 2)
    return f"{round(count, -places):,}"
