"""What a policy needs to be tested: one entry in one table, its slow and obvious twin.

The twins share the random number generator with the library (and, for Gittins policies, the tables
of indices, which have tests of their own) and nothing else: the formulae are written down again,
from the papers, in plain Python. Every test that is about policies in general reads this table:

- pull for pull, the step engine and a live bandit do what the twin does (test_policies, test_live);
- where `skips`, skip-ahead has the distribution of the step engine (test_skip); on fewer problems
  where the policy is `like` another, that is, has the same declarations;
- one arm, equal arms, horizons below the number of arms, any number of threads (test_simulation);
- where `reference`, regret agrees with programs of other people (test_reference);
- names are parsed, and docs/policies.md has a row (test_policies).

To add a policy, write the twin below and decorate it with `entry`. Its signature goes by the kind:

- index: ``bonus(T, t, n, K, **parameters)``, in units of sigma, with the list of all pulls in
  place of K if the policy takes the effective arms; for a policy stated as a whole
  index, that index, with the arguments of the policy's function;
- sampling: the same, and what it returns is the deviation of the sample;
- choice: a class, made with ``(K, n, **parameters)`` for every run, whose ``choose(t, T, S, sigma,
  stream)`` returns an arm; T and S are lists of pulls and of sums of rewards.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, e, log, sqrt
from typing import Any

import numpy as np

import ocucb
from ocucb import gittins, problems
from ocucb.policies import FAMILIES, parse_policy
from ocucb.random import below, uniform

PROBLEMS: dict[str, Callable[..., ocucb.Problem]] = {
    "gaussian": lambda means: problems.gaussian(means, sigma=0.5 + np.arange(len(means)) / 4),
    "bernoulli": problems.bernoulli,
    "uniform": lambda means: problems.uniform_rewards(means, halfwidth=0.25),
}


@dataclass(frozen=True)
class Entry:
    """What tests know about a family of policies."""

    twin: Any
    settings: tuple[str, ...]  # as on the command line; the first is enough where one is
    rewards: tuple[str, ...]  # kinds that it is tested on, by their name in PROBLEMS
    skips: bool  # the skip engine can play it
    like: str | None  # has the declarations of another, so that fewer comparisons are enough
    logarithmic: bool  # its regret grows like log n
    reference: bool  # data/regret.csv has rows of it
    by_hand: dict[str, float]  # settings, and the bonus for T = 4, t = 100, n = 1000, K = 5
    horizons: tuple[int, ...]  # the few that it is tested at; none: any
    largest_horizon: float


TABLE: dict[str, Entry] = {}


def entry(
    *settings: str,
    rewards: tuple[str, ...] = tuple(PROBLEMS),
    skips: bool = False,
    like: str | None = None,
    logarithmic: bool = True,
    reference: bool = False,
    by_hand: dict[str, float] | None = None,
    horizons: tuple[int, ...] = (),
    largest_horizon: float = 2.0**53,
) -> Callable[[Any], Any]:
    """Enter a twin into the table under the name of its family."""

    def register(twin: Any) -> Any:
        name = settings[0].partition(":")[0]
        skipping = (skips, like, logarithmic)
        facts = (*skipping, reference, by_hand or {}, horizons, largest_horizon)
        TABLE[name] = Entry(twin, settings, rewards, *facts)
        return twin

    return register


def argmax(values: list[float], stream: Any) -> int:
    """Return the place of the largest, drawn where several are."""
    best = max(values)
    tied = [i for i, value in enumerate(values) if value == best]
    return tied[0] if len(tied) == 1 else tied[below(stream, len(tied))]


# Index policies


@entry(
    "ocucb",
    "ocucb:alpha=1,psi=1.5",
    skips=True,
    reference=True,
    by_hand={
        "ocucb": sqrt(3 / 4 * log(2 * 1000 / 100)),
        "ocucb:alpha=2,psi=10": sqrt(2 / 4 * log(10 * 1000 / 100)),
    },
)
def ocucb_bonus(T: float, t: float, n: float, K: int, alpha: float, psi: float) -> float:
    return sqrt(alpha / T * log(psi * n / t))


@entry("aocucb", skips=True, reference=True, by_hand={"aocucb": sqrt(2 / 4 * log(1000 / 4))})
def aocucb_bonus(T: float, t: float, n: float, K: int) -> float:
    return sqrt(2 / T * log(n / T))


@entry(
    "ucb",
    "ucb:constant=0.5",
    skips=True,
    reference=True,
    by_hand={"ucb": sqrt(2 / 4 * log(100)), "ucb:constant=0.5": sqrt(0.5 / 4 * log(100))},
)
def ucb_bonus(T: float, t: float, n: float, K: int, constant: float) -> float:
    return sqrt(constant / T * log(t))


@entry(
    "moss",
    "moss:constant=4",
    skips=True,
    reference=True,
    by_hand={
        "moss": sqrt(2 / 4 * log(1000 / 20)),
        "moss:constant=4": sqrt(4 / 4 * log(1000 / 20)),
    },
)
def moss_bonus(T: float, t: float, n: float, K: int, constant: float) -> float:
    return sqrt(constant / T * log(max(1.0, n / (T * K))))


@entry("gittins", skips=True, largest_horizon=1e6)
def gittins_bonus(T: float, t: float, n: float, K: int) -> float:
    return gittins.offset(n - t + 1.0, float(T), gittins.surrogate(n))


@entry("gittins-approx")
def gittins_approx_bonus(T: float, t: float, n: float, K: int) -> float:
    M = n - t
    if M <= 1 or M <= T:
        return 0.0
    beta = min(M / (4 * log(M) ** 1.5), M / (4 * T * sqrt(log(M / T))))
    return sqrt(2 / T * log(max(1.0, beta)))


@entry(
    "ocucb-loglog",
    skips=True,
    like="ocucb",
    by_hand={
        "ocucb-loglog": sqrt(2 / 4 * (log(20) + log(log(100)))),
        "ocucb-loglog:c=0.5,psi=4": sqrt(2 / 4 * (log(40) + log(log(100)) / 2)),
    },
)
def ocucb_loglog_bonus(T: float, t: float, n: float, K: int, c: float, psi: float) -> float:
    return sqrt(2 / T * (log(psi * n / t) + (c * log(log(t)) if t >= 3 else 0)))


@entry(
    "ucb-asymptotic",
    skips=True,
    like="ucb",
    by_hand={"ucb-asymptotic": sqrt(2 / 4 * log(1 + 100 * log(100) * log(100)))},
)
def ucb_asymptotic_bonus(T: float, t: float, n: float, K: int) -> float:
    return sqrt(2 * log(1 + t * log(t) ** 2) / T)


@entry(
    "moss-anytime",
    skips=True,
    by_hand={
        "moss-anytime": sqrt(4.7 / 4 * log(100 / 20)),
        "moss-anytime:alpha=0.2": sqrt(2.4 / 4 * log(100 / 20)),
    },
)
def moss_anytime_bonus(T: float, t: float, n: float, K: int, alpha: float) -> float:
    """In units of sigma, which is 1/2 in the paper, where the factor is (1 + alpha) / 2."""
    return 2 * sqrt((1 + alpha) / 2 * max(0.0, log(t / (K * T))) / T)


@entry(
    "light-tailed",
    skips=True,
    like="moss",
    logarithmic=False,
    by_hand={
        "light-tailed": sqrt(1000 * log(1000) / 5) / 4,
        "light-tailed:eta=0.05": sqrt(10 * log(1000)) / 4,
    },
)
def light_tailed_bonus(T: float, t: float, n: float, K: int, eta: float) -> float:
    return sqrt(eta * n * log(n) / K) / T


@entry("greedy", skips=True, like="moss", logarithmic=False)
def greedy_bonus(T: float, t: float, n: float, K: int) -> float:
    return 0.0


# Index policies that look at the pulls of all arms, a list in place of K


# By hand with 5 effective arms, so that H = 20.


@entry(
    "adaucb",
    skips=True,
    by_hand={"adaucb": sqrt(2 / 4 * (log(50 + e) + log(log(50 + e)) / 2))},
)
def adaucb_bonus(T: float, t: float, n: float, pulls: list[int]) -> float:
    H = sum(min(T, sqrt(T * other)) for other in pulls)
    return sqrt(2 / T * log((n / H + e) * sqrt(log(n / H + e))))


@entry(
    "ocucb-n",
    skips=True,
    by_hand={
        "ocucb-n": sqrt(2.2 / 4 * log(5 * log(100))),
        "ocucb-n:eta=2": sqrt(4 / 4 * log(5 * log(100))),
    },
)
def ocucb_n_bonus(T: float, t: float, n: float, pulls: list[int], eta: float) -> float:
    H = sum(min(T, sqrt(T * other)) for other in pulls)
    return sqrt(2 * eta / T * log(max(e, log(t), t * log(t) / H)))


# Index policies that state the whole index


@entry("ucb-v", "ucb-v:zeta=2,c=0.5")
def ucb_v_index(
    mean: float, V: float, T: float, t: float, n: float, K: int, sigma: float, zeta: float, c: float
) -> float:
    b = 2 * sigma
    return mean + sqrt(2 * V * zeta * log(t) / T) + c * 3 * b * zeta * log(t) / T


@entry("ucb-tuned")
def ucb_tuned_index(
    mean: float, V: float, T: float, t: float, n: float, K: int, sigma: float
) -> float:
    """Auer, Cesa-Bianchi and Fischer's for rewards in [0, 1], to which rewards are shrunk."""
    b = 2 * sigma
    bound = min(1 / 4, V / b**2 + sqrt(2 * log(t) / T))
    return mean + b * sqrt(log(t) / T * bound)


# Sampling policies


@entry("thompson", skips=True, reference=True)
def thompson_deviation(T: float, t: float, n: float, K: int) -> float:
    return 1 / sqrt(T)


# Choice policies


@entry("uniform")
class Uniform:
    def __init__(self, K: int, n: int) -> None:
        self.K = K

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        return below(stream, self.K)


@entry("epsilon-greedy:epsilon=0.2")
class EpsilonGreedy:
    def __init__(self, K: int, n: int, epsilon: float) -> None:
        self.K, self.epsilon = K, epsilon

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        if uniform(stream) < self.epsilon:
            return below(stream, self.K)
        return argmax([s / pulls for s, pulls in zip(S, T, strict=True)], stream)


@entry("explore-then-commit:m=3")
class ExploreThenCommit:
    def __init__(self, K: int, n: int, m: float) -> None:
        self.K, self.m = K, m
        self.committed: int | None = None

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        if t <= self.m * self.K:
            return (t - 1) % self.K
        if self.committed is None:
            self.committed = argmax([s / pulls for s, pulls in zip(S, T, strict=True)], stream)
        return self.committed


@entry("improved-ucb")
class ImprovedUCB:
    """Auer and Ortner's phases, with the set of active arms kept as a set."""

    def __init__(self, K: int, n: int) -> None:
        self.active = set(range(K))
        self.phase = 0
        self.n = n

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        means = [s / pulls for s, pulls in zip(S, T, strict=True)]
        while True:
            if len(self.active) == 1:
                return next(iter(self.active))
            d = 0.5**self.phase
            if self.n * d * d < e:
                worst = min(means) - 1
                left = [m if i in self.active else worst for i, m in enumerate(means)]
                return argmax([m / (2 * sigma) for m in left], stream)
            target = ceil(2 * log(self.n * d * d) / (d * d))
            behind = [i for i in sorted(self.active) if T[i] < target]
            if behind:
                return min(behind, key=lambda i: (T[i], i))
            w = sqrt(log(self.n * d * d) / (2 * target))
            scaled = {i: means[i] / (2 * sigma) for i in self.active}
            top = max(scaled.values()) - w
            self.active = {i for i in self.active if not scaled[i] + w < top}
            self.phase += 1


# A table takes a second, so there are few horizons.
@entry(
    "bernoulli-gittins",
    rewards=("bernoulli",),
    horizons=(1, 2, 3, 8, 60),
    largest_horizon=5000,
)
class BernoulliGittins:
    def __init__(self, K: int, n: int) -> None:
        self.n = n

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        table, left = gittins.bernoulli_surrogate(self.n), float(self.n - t + 1)
        good = [round(s) for s in S]  # late rewards count as the mean
        indices = [
            gittins.bernoulli_index(left, s, pulls - s, table)
            for s, pulls in zip(good, T, strict=True)
        ]
        return argmax(indices, stream)


# What tests are parametrised by


def make(text: str) -> ocucb.Policy:
    """Return a policy, without a word about theorems that its parameters leave."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse_policy(text)


def entry_of(text: str) -> Entry:
    """Return the entry of a setting such as "moss:constant=4"."""
    return TABLE[text.partition(":")[0]]


def reduced(texts: list[str], cases: Iterable[Any], few: Iterable[Any]) -> list[tuple[str, Any]]:
    """Return settings paired with cases, few of these where a policy is like another."""
    return [(text, case) for text in texts for case in (few if entry_of(text).like else cases)]


SETTINGS = [text for one in TABLE.values() for text in one.settings]
FIRST_SETTINGS = [one.settings[0] for one in TABLE.values()]
INDEX = [name for name in TABLE if FAMILIES[name].kind == "index"]
BONUS = [name for name in INDEX if FAMILIES[name].has_bonus]
SKIPPING = [text for one in TABLE.values() if one.skips for text in one.settings]
