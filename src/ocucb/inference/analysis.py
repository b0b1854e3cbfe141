"""`analyse`: values of arms, their differences and other policies, from a log with propensities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from scipy import special

from .._text import shown, table, to_float, to_level
from .._types import Floats
from .estimators import ESTIMATORS, effective_size, mean_weight
from .logs import Log, read_log

_LEAST = 100.0  # effective decisions, if nobody says otherwise
_FEWEST_EVENTS = 10  # rewards that differ from the commonest one
_ODD = 5.0  # standard errors by which the mean weight may be off


@dataclass(frozen=True)
class Finding:
    """What the log says about one target.

    Attributes
    ----------
    kind : str
        "value" of an arm, "difference" between an arm and the control, or "policy".
    name : str
        The arm, or the policy.
    plays : int
        Decisions for arms that the target plays.
    effective : float
        Effective sample size: as many decisions by the target itself would be worth as much.
    refusal : str or None
        Why there is no estimate.
    estimates : dict
        By estimator, the value, its standard error and both ends of its interval.

    Examples
    --------
    >>> import ocucb
    >>> rows = {"arm": ["a", "b"] * 500, "reward": [1, 0, 0, 0] * 250, "propensity": [0.5] * 1000}
    >>> finding = ocucb.analyse(rows).findings[0]
    >>> finding.name, finding.plays, round(finding.estimates["ips"]["value"], 3)
    ('a', 500, 0.5)
    """

    kind: str
    name: str
    plays: int
    effective: float
    refusal: str | None
    estimates: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Analysis:
    """What `analyse` returns.

    Attributes
    ----------
    findings : list of Finding
        Values of arms in the order of the log, differences from the control, the policy.
    decisions : int
        Decisions that were used.
    left_out : dict
        How many were not used: without a reward, without a propensity, and certain ones.
    level, least : float
        Level of the intervals, and the smallest effective sample size that is not refused.

    Examples
    --------
    >>> import ocucb
    >>> rows = {"arm": ["a", "b"] * 500, "reward": [1, 0, 0, 0] * 250, "propensity": [0.5] * 1000}
    >>> ocucb.analyse(rows, control="b").decisions
    1000
    """

    findings: list[Finding]
    decisions: int
    left_out: dict[str, int]
    level: float
    least: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, strings and lists.

        Examples
        --------
        >>> import ocucb
        >>> rows = {"arm": ["a", "b"] * 50, "reward": [1, 0] * 50, "propensity": [0.5] * 100}
        >>> ocucb.analyse(rows).to_dict()["findings"][0]["refusal"]
        'the effective sample size is 50, below 100'
        """
        return {
            "decisions": self.decisions,
            "left_out": self.left_out,
            "level": self.level,
            "least": self.least,
            "findings": [vars(finding) for finding in self.findings],
        }

    def table(self) -> str:
        """Return a line for each finding.

        Examples
        --------
        >>> import ocucb
        >>> rows = {"arm": ["a", "b"] * 50, "reward": [1, 0] * 50, "propensity": [0.5] * 100}
        >>> print(ocucb.analyse(rows).table().splitlines()[-1])
        b: refused, because the effective sample size is 50, below 100.
        """
        rows: list[tuple[str, ...]] = [("", "plays", "effective", *ESTIMATORS)]
        refused = []
        for finding in self.findings:
            name = {"value": finding.name, "policy": f"policy {finding.name}"}.get(
                finding.kind, finding.name
            )
            cells = [
                _cell(finding.estimates[key]) for key in ESTIMATORS if key in finding.estimates
            ]
            if finding.refusal is not None:
                cells = ["–"] * len(ESTIMATORS)
                refused.append(f"{name}: refused, because {finding.refusal}.")
            rows.append((name, f"{finding.plays:,}", f"{finding.effective:,.0f}", *cells))
        notes = [f"{self.decisions:,} decisions; {100 * self.level:g}% intervals, each by itself"]
        notes += [f"left out: {count:,} {why}" for why, count in self.left_out.items() if count]
        most = 12
        hidden = len(refused) - most
        if hidden > 0:
            refused = [*refused[:most], f"and {hidden} more refused"]
        return "\n".join([table(rows, left=(0,)), *notes, *refused])

    def __repr__(self) -> str:
        return self.table()


def analyse(
    log: Any,
    *,
    control: str | None = None,
    policy: str | Mapping[str, float] | None = None,
    level: float = 0.95,
    least: float = _LEAST,
    arm: str = "arm",
    reward: str = "reward",
    propensity: str = "propensity",
) -> Analysis:
    """Estimate the values of arms and policies from a log of decisions with propensities.

    Parameters
    ----------
    log : path, data frame or dict of columns
        A file of lines of JSON as the service exports its log (.ndjson, .jsonl), a CSV, or a data
        frame of pandas or polars; decisions in the order in which they were made.
    control : str, optional
        An arm that the others are compared with.
    policy : str or dict, optional
        What another policy would have earned, one that does not learn: "uniform", or shares of
        arms such as ``{"red": 0.7, "green": 0.3}`` or "red=0.7,green=0.3".
    level : float, optional
        Level of the intervals, each for a log that was finished before it was looked at.
    least : float, optional
        Effective sample size below which an estimate is refused.
    arm, reward, propensity : str, optional
        Names of the columns, for a CSV or a data frame.

    Returns
    -------
    Analysis
        Prints as a table. Trust "adaptively weighted" where a bandit has made the log.

    Examples
    --------
    >>> import ocucb
    >>> rows = {"arm": ["a", "b"] * 500, "reward": [1, 0, 0, 0] * 250, "propensity": [0.5] * 1000}
    >>> found = ocucb.analyse(rows, control="b", policy="uniform")
    >>> [(finding.kind, finding.name) for finding in found.findings]
    [('value', 'a'), ('value', 'b'), ('difference', 'a − b'), ('policy', 'uniform')]
    """
    level, least = to_level(level), to_float(least, "least")
    if not (isfinite(least) and least >= 2.0):
        raise ValueError(f"least must be at least 2, got {least:g}.")
    read = read_log(log, arm, reward, propensity)
    K = len(read.arms)
    unit = np.eye(K)
    targets: list[tuple[str, str, Floats]] = [
        ("value", name, unit[i]) for i, name in enumerate(read.arms)
    ]
    if control is not None:
        at = _position(control, read.arms, "control")
        targets += [
            ("difference", f"{name} − {control}", unit[i] - unit[at])
            for i, name in enumerate(read.arms)
            if i != at
        ]
    if policy is not None:
        name, shares = _shares(policy, read.arms)
        targets.append(("policy", name, shares))
    z = float(special.ndtri(0.5 + 0.5 * level))
    return Analysis(
        [_finding(read, *target, z, least) for target in targets],
        read.reward.size,
        {
            "without a reward": read.without_reward,
            "without a propensity": read.without_propensity,
            "that were certain": read.certain,
        },
        level,
        least,
    )


def _finding(log: Log, kind: str, name: str, target: Floats, z: float, least: float) -> Finding:
    plays, effective = int((target[log.arm] != 0.0).sum()), effective_size(log, target)
    refusal, estimates = _refusal(log, target, effective, least), {}
    if refusal is None:
        for key, estimator in ESTIMATORS.items():
            value, stderr = estimator(log, target)
            low, high = value - z * stderr, value + z * stderr
            estimates[key] = {"value": value, "stderr": stderr, "low": low, "high": high}
    return Finding(kind, name, plays, effective, refusal, estimates)


def _refusal(log: Log, target: Floats, effective: float, least: float) -> str | None:
    """Return why nothing can be said about a target, if so."""
    if effective < least:
        return f"the effective sample size is {effective:.3g}, below {least:g}"
    for sign in (1.0, -1.0):
        part = np.maximum(sign * target, 0.0)
        if not part.any():
            continue
        values, counts = np.unique(log.reward[part[log.arm] > 0.0], return_counts=True)
        events = int(counts.sum() - counts.max())
        if events < _FEWEST_EVENTS:
            return (
                f"only {events} rewards differ from {values[counts.argmax()]:g}, too few to be "
                f"normal on average ({_FEWEST_EVENTS} are needed)"
            )
        mean, stderr = mean_weight(log, part)
        if abs(mean - part.sum()) > 0.05 * part.sum() + _ODD * stderr:
            return (
                f"weights are {mean:.3g} on average and should be {part.sum():.3g}: "
                "some arm could not be played in part of the log, or propensities are wrong"
            )
    return None


def _position(name: str, arms: list[str], what: str) -> int:
    if str(name) not in arms:
        some = ", ".join(arms[:8])
        raise ValueError(f"{what} must be an arm of the log, got {shown(name)}; it has {some}.")
    return arms.index(str(name))


def _shares(policy: str | Mapping[str, float], arms: list[str]) -> tuple[str, Floats]:
    """Return a policy's name and the shares of the arms."""
    if policy == "uniform":
        return "uniform", np.full(len(arms), 1.0 / len(arms))
    if isinstance(policy, str):
        pairs = [pair.rpartition("=") for pair in policy.split(",")]
        if not all(sign for _, sign, _ in pairs):
            raise ValueError(f'policy must be "uniform" or ARM=SHARE,…, got {policy!r}.')
        given: dict[str, Any] = {name.strip(): share for name, _, share in pairs}
    else:
        given = dict(policy)
    shares = np.zeros(len(arms))
    for name, share in given.items():
        try:
            number = float(share)
        except (TypeError, ValueError):
            raise ValueError(
                f"the share of {name!r} must be a number, got {shown(share)}."
            ) from None
        shares[_position(name, arms, "policy")] = number
    if not ((shares >= 0.0).all() and abs(shares.sum() - 1.0) <= 1e-9):
        raise ValueError(f"the shares of a policy must add up to 1, got {shares.sum():g}.")
    return ",".join(f"{name}={float(share):g}" for name, share in given.items()), shares


def _cell(estimate: dict[str, float]) -> str:
    width = estimate["high"] - estimate["low"]
    digits = int(min(9, max(2, 1 - np.floor(np.log10(width))))) if width > 0 else 3
    return "{value:.{d}f} ({low:.{d}f} to {high:.{d}f})".format(d=digits, **estimate)
