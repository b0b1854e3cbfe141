"""What people see of a bandit: summary, health and curves, read from the storage only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from math import erfc, isfinite, sqrt
from typing import Any

import numpy as np
import sqlalchemy as sa

from .._text import duration
from ..live.linear_summary import LinearSummary
from ..policies import parse_policy
from ..sweeps.horizons import may_use_horizon
from . import tables
from .contexts import Context, ContextBandit
from .errors import UnknownBandit
from .models import Rules
from .stored import load, rules_of, times

MOST_POINTS = 160  # of the curves that a page is sent
MOST_LISTED = 100  # bandits in one answer
_MOST_ARMS_LISTED = 2000  # of all of them together, unless one alone has more
_NOTED = 86_400_000_000  # microseconds for which a clock that was ahead is noted
_RARE = 1e-4  # how often chance alone may raise an alarm at one look


# A bandit, with the entry of the log at which the time last went back
_correction = tables.log.alias()
_BANDITS = sa.select(
    tables.bandits, _correction.c.at.label("corrected_at"), _correction.c.detail.label("correction")
).outerjoin(
    _correction,
    sa.and_(
        _correction.c.bandit == tables.bandits.c.id, _correction.c.seq == tables.bandits.c.corrected
    ),
)
_NAMED = _BANDITS.where(tables.bandits.c.name == sa.bindparam("name"))
_PAGE = (
    _BANDITS.where(
        tables.bandits.c.name > sa.bindparam("after"),
        tables.bandits.c.archived == sa.bindparam("archived"),
    )
    .order_by(tables.bandits.c.name)
    .limit(sa.bindparam("limit"))
)
_listed = tables.arms.c.bandit.in_(sa.bindparam("bandits", expanding=True))
_NUMBERS_OF_ARMS = (
    sa.select(tables.arms.c.bandit, sa.func.count()).where(_listed).group_by(tables.arms.c.bandit)
)
_LISTED_ARMS = (
    sa.select(tables.arms).where(_listed).order_by(tables.arms.c.bandit, tables.arms.c.position)
)
_POINTS = (
    sa.select(tables.history)
    .where(tables.history.c.bandit == sa.bindparam("bandit"))
    .order_by(tables.history.c.rounds)
)


def _row(connection: sa.Connection, name: str) -> Any:
    row = connection.execute(_NAMED, {"name": name}).mappings().one_or_none()
    if row is None:
        raise UnknownBandit(name)
    return row


def summary(connection: sa.Connection, name: str, now: int) -> dict[str, Any]:
    """Return what is known about a bandit, what it would play next, and its health."""
    row = _row(connection, name)
    loaded = load(connection, row)
    machine, rules = loaded.machine, loaded.machine.rules
    bandit, known = machine.bandit, machine.bandit.summary()
    if isinstance(known, LinearSummary):
        assert isinstance(bandit, ContextBandit)
        rows, features, weights = bandit.rows(known), known.features, _weights(known)
        why = f"round {known.round:,} of {known.horizon:,}: the arm depends on the context."
        next_arm, simultaneous = None, True
    else:
        rows, features, weights = known.rows(), None, None
        why, next_arm, simultaneous = known.next, known.next_arm, known.simultaneous
    chances = machine.chances()
    total = max(1, sum(loaded.decisions))
    arms = [
        {
            "arm": one["arm"],
            "decisions": loaded.decisions[i],
            "pulls": one["pulls"],
            "open": one["open"],
            "expired": loaded.expired[i],
            **{key: _number(one[key]) for key in ("mean", "low", "high", "index")},
            "share": loaded.decisions[i] / total,
            "probability": None if chances is None else float(chances[i]),
            "guard": None if machine.watch is None else machine.watch.known(i),
            "control": one["arm"] == rules.control,
            "retired": one["retired"] and one["arm"] != rules.control,
        }
        for i, one in enumerate(rows)
    ]
    totals = _totals(rules, row, arms)
    return {
        "name": name,
        "policy": machine.bandit.policy.name,
        "label": machine.bandit.policy.label,
        "epoch": machine.epoch,
        "version": row["version"],
        **times(**{key: row[key] for key in ("created_at", "at", "rewarded_at")}),
        "round": known.round,
        "horizon": known.horizon,
        "open_horizon": known.open_horizon,
        "needs_horizon": _plans(machine.bandit.policy.name),
        "paused": machine.paused,
        "archived": machine.archived,
        "minimize": rules.minimize,
        **rules.model_dump(exclude={"arms", "policy", "horizon", "prior"}),
        "features": features,
        "sigma": bandit.sigma,
        "seed": machine.seed,
        "level": known.level,
        "simultaneous": simultaneous,
        "assumption": known.assumption,
        "arms": arms,
        "weights": weights,
        "totals": totals,
        "next": {"arm": next_arm, "why": _why(rules, why, len(machine.active))},
        "health": health(rules, row, arms, totals, now),
    }


def _weights(known: LinearSummary) -> list[dict[str, Any]]:
    """Return each weight with its interval; ends that are not known are null."""
    return [
        {key: _number(one) if isinstance(one, float) else one for key, one in row.items()}
        for row in known.rows()
    ]


def verdict(
    connection: sa.Connection,
    name: str,
    margin: float | None,
    level: float | None,
    context: Context | None = None,
) -> dict[str, Any]:
    """Return whether the experiment may be stopped, and what stopping now would lose."""
    row = _row(connection, name)
    machine = load(connection, row).machine
    asked = machine.rules.when_decided
    if margin is None:
        margin = 0.0 if asked is None else asked.margin
    if level is None:
        level = 0.95 if asked is None else asked.level
    found = machine.verdict(margin, level, context)
    return {
        "version": row["version"],
        "verdict": found.kind,
        "sentence": found.sentence,
        "leader": found.leader,
        "rival": found.rival,
        "probability": found.probability,
        "loss": found.loss,
        "more": found.more,
        "margin": margin,
        "level": level,
        "assumption": found.assumption,
        "differences": [
            {key: _number(one) if key != "arm" else one for key, one in line.items()}
            for line in found.rows()
        ],
    }


def _totals(rules: Rules, row: Any, arms: Sequence[Any]) -> dict[str, int]:
    """Return the counts of all arms together."""
    keys = ("decisions", "pulls", "open", "expired")
    decisions, pulls, pending, expired = (sum(arm[key] for arm in arms) for key in keys)
    rewards = decisions - pending - expired
    prior = pulls - rewards - (0 if rules.default_reward is None else expired)
    counts = {"decisions": decisions, "rewards": rewards, "open": pending, "expired": expired}
    return {**counts, "late": row["late"], "prior": prior}


def _why(rules: Rules, sentence: str, active: int) -> str:
    """Say what would be played next and why, floor and control included."""
    parts = [sentence]
    if rules.control_share:
        parts.append(f"The control {rules.control!r} gets {100 * rules.control_share:g}%.")
    if rules.floor and active > 1:
        parts.append(f"Every other arm gets at least {100 * rules.floor:g}%.")
    return " ".join(parts)


def health(
    rules: Rules, row: Any, arms: Sequence[Any], totals: dict[str, int], now: int
) -> list[str]:
    """Return what seems wrong, one sentence each; empty if nothing does.

    Comparisons with chance raise a false alarm in at most one look of 10,000.
    """
    notes = []
    closed = totals["rewards"] + totals["expired"]
    if closed >= 20 and totals["expired"] > 0.5 * closed:
        share = totals["expired"] / closed
        notes.append(f"Rewards are missing: {share:.0%} of the decisions expired without one.")
    last = row["rewarded_at"] or row["created_at"]
    if totals["rewards"] and totals["open"] >= 20:
        usual = (last - row["created_at"]) / max(1, totals["rewards"])
        if row["at"] - last > max(60e6, 100 * usual):
            notes.append(f"No reward has arrived for {duration((now - last) / 1e6)}.")
    if (sentence := _uneven_rewards(rules, arms)) is not None:
        notes.append(sentence)
    n, p = totals["decisions"], float(rules.control_share or 0.0)
    if n * p * (1 - p) >= 10:
        played = next(arm["decisions"] for arm in arms if arm["control"])
        z = (played - n * p) / (n * p * (1 - p)) ** 0.5
        if erfc(abs(z) / sqrt(2.0)) < _RARE:
            notes.append(
                f"Sample-ratio mismatch: the control has {played / n:.1%} of the decisions, but "
                f"should have {p:.1%}."
            )
    if row["corrected"] is not None and now - row["corrected_at"] < _NOTED:
        ahead = duration(json.loads(row["correction"])["ahead"])
        ago = duration((now - row["corrected_at"]) / 1e6)
        notes.append(f"The clock was {ahead} ahead until {ago} ago: times before that are wrong.")
    if row["rounds"] >= row["horizon"] and _plans(row["policy"] or rules.policy):
        notes.append(f"The bandit is beyond its horizon, {row['horizon']:,}; extend it with PATCH.")
    return notes


def _uneven_rewards(rules: Rules, arms: Sequence[Any]) -> str | None:
    """Say whether the rewards of some arms get lost more often: a chi-square test.

    Open decisions are left out, so it needs an expiry: without one, an arm that was played lately
    would seem to lose rewards.
    """
    if rules.expiry is None:
        return None
    lost = np.array([arm["expired"] for arm in arms], dtype=float)
    closed = np.array([arm["decisions"] - arm["open"] for arm in arms], dtype=float)
    share = lost.sum() / max(1.0, closed.sum())
    used = closed * min(share, 1.0 - share) >= 5.0  # where the approximation is good
    if used.sum() < 2:
        return None
    lost, closed = lost[used], closed[used]
    share = lost.sum() / closed.sum()
    if not 0.0 < share < 1.0:
        return None
    chi2 = float(((lost - closed * share) ** 2 / (closed * share * (1.0 - share))).sum())
    from scipy.special import chdtrc  # takes half a second to import

    if float(chdtrc(used.sum() - 1, chi2)) >= _RARE:
        return None
    worst = int(np.argmax(lost / closed))
    name = [arm["arm"] for arm, on in zip(arms, used, strict=True) if on][worst]
    return (
        f"Sample-ratio mismatch: rewards are lost more often for some arms, for {name!r} in "
        f"{lost[worst] / closed[worst]:.0%} of its decisions and in {share:.0%} overall."
    )


def _matches(patterns: Sequence[str]) -> Any:
    """Return the condition that a name is one of these, or begins like one that ends in a star."""
    name = tables.bandits.c.name
    return sa.or_(
        *(
            sa.func.substr(name, 1, len(pattern) - 1) == pattern[:-1]
            if pattern.endswith("*")
            else name == pattern
            for pattern in patterns
        )
    )


def overview(
    connection: sa.Connection,
    now: int,
    after: str = "",
    limit: int = MOST_LISTED,
    *,
    archived: bool = False,
    patterns: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return a few facts about the bandits that follow a name, and where the next page begins.

    Either those that are archived, or the others; with patterns, only those that match one.
    Names are in the order of the database. Three queries are all it takes: nothing is compiled.
    """
    query = _PAGE if patterns is None else _PAGE.where(_matches(patterns))
    values = {"after": after, "limit": limit + 1, "archived": archived}
    found = connection.execute(query, values).mappings().all()
    rows = found[:limit]
    counted = connection.execute(_NUMBERS_OF_ARMS, {"bandits": [row["id"] for row in rows]})
    numbers: dict[int, int] = {bandit: arms for bandit, arms in counted}  # noqa: C416 (typed rows)
    room = _MOST_ARMS_LISTED
    for i, row in enumerate(rows):
        room -= numbers[row["id"]]
        if room < 0 and i:
            rows = rows[:i]
            break
    ids = [row["id"] for row in rows]
    listed = connection.execute(_LISTED_ARMS, {"bandits": ids}).mappings().all()
    arms = {number: list(group) for number, group in groupby(listed, key=lambda arm: arm["bandit"])}
    return {
        "bandits": [_line(row, arms[row["id"]], now) for row in rows],
        "next": rows[-1]["name"] if len(rows) < len(found) else None,
    }


def _line(row: Any, stored: Sequence[Any], now: int) -> dict[str, Any]:
    rules = rules_of(row)
    arms = [{**arm, "arm": arm["name"], "control": arm["name"] == rules.control} for arm in stored]
    totals = _totals(rules, row, arms)
    sign = -1.0 if rules.minimize else 1.0
    tried = [
        arm for arm in stored if arm["pulls"] and (arm["active"] or arm["name"] == rules.control)
    ]
    best = max(tried, key=lambda arm: sign * arm["sum"] / arm["pulls"], default=None)
    return {
        "name": row["name"],
        "label": _label(row["policy"] or rules.policy),
        "round": row["rounds"] + 1,
        "horizon": row["horizon"],
        "open_horizon": row["open_horizon"],
        "needs_horizon": _plans(row["policy"] or rules.policy),
        "paused": row["paused"],
        "archived": row["archived"],
        "totals": totals,
        "health": health(rules, row, arms, totals, now),
        **times(at=row["at"]),
        "version": row["version"],
        "arms": len(arms),
        "best": None if best is None else best["name"],
    }


@lru_cache(1000)
def _label(policy: str) -> str:
    return parse_policy(policy).label


@lru_cache(1000)
def _plans(policy: str) -> bool:
    """Tell whether a policy may play differently with another horizon."""
    return may_use_horizon(parse_policy(policy))


def curves(connection: sa.Connection, name: str) -> dict[str, Any]:
    """Return decisions, pulls and summed rewards of all arms over time."""
    row = _row(connection, name)
    points = connection.execute(_POINTS, {"bandit": row["id"]}).all()
    if len(points) > MOST_POINTS:  # at equal distances in rounds, the last one included
        rounds = np.array([point.rounds for point in points])
        wanted = np.linspace(rounds[0], rounds[-1], MOST_POINTS)
        points = [points[i] for i in np.unique(np.searchsorted(rounds, wanted))]
    loaded = load(connection, row)
    kept = [(point.rounds, point.at, json.loads(point.counts)) for point in points]
    if row["rounds"]:
        kept = [point for point in kept if point[0] < row["rounds"]]
        kept.append((row["rounds"], row["at"], loaded.counts(loaded.arms)))
    return {
        "version": row["version"],
        "arms": loaded.machine.names,
        "points": [
            {
                "round": rounds,
                **times(at=at),
                **dict(zip(("decisions", "pulls", "sums"), zip(*counts, strict=True), strict=True)),
            }
            for rounds, at, counts in kept
        ],
    }


def _number(value: float) -> float | None:
    return value if isfinite(value) else None
