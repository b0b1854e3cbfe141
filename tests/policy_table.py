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
- where `unit` is given, that is the twin on Bernoulli rewards (and for a bandit with the bounds 0
  and 1): ``index(mean, T, t, n, K, sigma, **parameters)``, with the list of all pulls as above,
  or a class;
- where `varied` is given, that is the twin on other rewards in [0, 1]: the same, with the variance
  after the mean, or a class whose ``choose`` takes the list of variances after S;
- choice: a class, made with ``(K, n, **parameters)`` for every run, whose ``choose(t, T, S, sigma,
  stream)`` returns an arm; T and S are lists of pulls and of sums of rewards. If the policy takes
  the squares, ``choose(t, T, S, V, sigma, stream)``, with the list of empirical variances.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from itertools import accumulate
from math import ceil, e, exp, floor, log, log1p, sqrt
from typing import Any

from scipy import special

import ocucb
import twins_stopping as twins_stopping  # which enters its own
import twins_textbook as twins_textbook
from ocucb import gittins
from ocucb.policies import FAMILIES, parse_policy
from ocucb.policies._rules import BonusRule, IndexRule
from ocucb.random import below, beta, gamma, normal, uniform
from policy_entries import PROBLEMS as PROBLEMS
from policy_entries import TABLE, Entry, entry
from twins_kl import UnitIMED, VariedIMED, argmax, draw, kl_index

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


def gaussian_bonus(budget: Callable[..., float]) -> Callable[..., float]:
    """Return the distance at which T * (distance / sigma)^2 / 2 is the budget, in sigmas."""

    def bonus(T: float, t: float, n: float, K: int, **p: float) -> float:
        return sqrt(2 * budget(T, t, n, K, **p) / T)

    return bonus


def kl_ucb_budget(T: float, t: float, n: float, K: int, c: float) -> float:
    return log(t) + (c * log(log(t)) if t >= 3 else 0.0)


def kl_ucb_plus_budget(T: float, t: float, n: float, K: int) -> float:
    return log(t / T) if t > T else 0.0


def kl_ucb_h_plus_budget(T: float, t: float, n: float, K: int) -> float:
    return log(n / T)


def moss_budget(T: float, t: float, n: float, K: int) -> float:
    return max(0.0, log(n / (K * T)))


def kl_ucb_plus_plus_budget(T: float, t: float, n: float, K: int) -> float:
    y = n / (K * T)
    return max(0.0, log(y * (1 + max(0.0, log(y)) ** 2)))


def switch_index(mean: float, T: float, t: float, n: float, K: int, sigma: float) -> float:
    if (n / K) ** 0.2 + 1e-9 >= T:
        return kl_index(moss_budget)(mean, T, t, n, K, sigma)
    return mean + sqrt(moss_budget(T, t, n, K) / (2 * T))


entry(
    "kl-ucb",
    "kl-ucb:c=3",
    skips=True,
    like="ucb",
    unit=kl_index(kl_ucb_budget),
    by_hand={"kl-ucb": sqrt(2 / 4 * log(100)), "kl-ucb:c=3": sqrt(0.5 * log(100 * log(100) ** 3))},
)(gaussian_bonus(kl_ucb_budget))
entry(
    "kl-ucb-plus",
    skips=True,
    like="ucb",
    unit=kl_index(kl_ucb_plus_budget),
    by_hand={"kl-ucb-plus": sqrt(2 / 4 * log(25))},
)(gaussian_bonus(kl_ucb_plus_budget))
entry(
    "kl-ucb-plus-plus",
    skips=True,
    like="moss",
    unit=kl_index(kl_ucb_plus_plus_budget),
    by_hand={"kl-ucb-plus-plus": sqrt(2 / 4 * log(50 * (1 + log(50) ** 2)))},
)(gaussian_bonus(kl_ucb_plus_plus_budget))
entry(
    "kl-ucb-switch",
    skips=True,
    like="moss",
    unit=switch_index,
    by_hand={"kl-ucb-switch": sqrt(2 / 4 * log(50))},
)(gaussian_bonus(moss_budget))
entry(
    "kl-moss",
    skips=True,
    like="moss",
    unit=kl_index(moss_budget),
    by_hand={"kl-moss": sqrt(2 / 4 * log(50))},
)(gaussian_bonus(moss_budget))
entry(
    "kl-ucb-h-plus",
    skips=True,
    like="aocucb",
    unit=kl_index(kl_ucb_h_plus_budget),
    by_hand={"kl-ucb-h-plus": sqrt(2 / 4 * log(250))},
)(gaussian_bonus(kl_ucb_h_plus_budget))


def kl_ocucb_budget(T: float, t: float, n: float, K: int, alpha: float, psi: float) -> float:
    return alpha * log(psi * n / t) / 2


entry(
    "kl-ocucb",
    "kl-ocucb:alpha=1,psi=1.5",
    skips=True,
    like="ocucb",
    unit=kl_index(kl_ocucb_budget),
    by_hand={
        "kl-ocucb": sqrt(3 / 4 * log(20)),
        "kl-ocucb:alpha=2,psi=10": sqrt(2 / 4 * log(100)),
    },
)(gaussian_bonus(kl_ocucb_budget))


def beta_index(mean: float, T: float, t: float, n: float, K: int, sigma: float, c: float) -> float:
    S = mean * T
    tail = 1 / (max(2, t) * max(1.0, log(n)) ** c)
    return 1 - float(special.betaincinv(1 + T - S, 1 + S, tail))


@entry(
    "bayes-ucb",
    "bayes-ucb:c=2",
    skips=True,
    like="ucb",
    unit=beta_index,
    by_hand={"bayes-ucb": 2.3263478740408408 / 2},
)
def bayes_ucb_bonus(T: float, t: float, n: float, K: int, c: float) -> float:
    return -float(special.ndtri(1 / (max(2, t) * max(1.0, log(n)) ** c))) / sqrt(T)


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


def adaucb_budget(T: float, t: float, n: float, pulls: list[int]) -> float:
    H = sum(min(T, sqrt(T * other)) for other in pulls)
    return log((n / H + e) * sqrt(log(n / H + e)))


entry(
    "kl-adaucb",
    skips=True,
    like="adaucb",
    unit=kl_index(adaucb_budget),
    by_hand={"kl-adaucb": sqrt(2 / 4 * (log(50 + e) + log(log(50 + e)) / 2))},
)(gaussian_bonus(adaucb_budget))


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


@entry("ocucb-normal", "ocucb-normal:alpha=1,psi=1.5")
def ocucb_normal_index(
    mean: float, V: float, T: float, t: float, n: float, K: int, sigma: float, alpha: float,
    psi: float,
) -> float:  # fmt: skip
    """An arm of which little is known has its turn: first fewer pulls, then larger means."""
    alike, most = sqrt(V) <= abs(mean) / 1e12, (n / K) ** 2
    if T <= 2 or (alike and most > T**3):
        return 1e300 / T * (1 + log1p(abs(mean)) / 1e6 * (1 if mean > 0 else -1))
    return mean + sqrt(V * T / (T - 1) * ((psi * n / t) ** (alpha / (T - 2)) - 1))


# Sampling policies


@entry("thompson", skips=True, reference=True)
def thompson_deviation(T: float, t: float, n: float, K: int) -> float:
    return 1 / sqrt(T)


class OCBeta:
    """A posterior in which each click counts 1 / w times."""

    def __init__(self, K: int, n: int, c: float, psi: float) -> None:
        self.n, self.c, self.psi = n, c, psi

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        w = min(1, self.c * log(self.psi * self.n / t))
        pairs = zip(S, T, strict=True)
        return argmax([beta(stream, 1 + s / w, 1 + (T - s) / w) for s, T in pairs], stream)


@entry("oc-thompson", "oc-thompson:c=1,psi=1.5", skips=True, unit=OCBeta)
def oc_thompson_deviation(T: float, t: float, n: float, K: int, c: float, psi: float) -> float:
    return sqrt(min(1, c * log(psi * n / t))) / sqrt(T)


@entry("irs-fh", skips=True)
def irs_fh_deviation(T: float, t: float, n: float, K: int) -> float:
    """The deviation of the mean of all rewards to come, given what is known now."""
    rest = n - t + 1
    return sqrt(1 / T - 1 / (T + rest))


# Choice policies


@entry("normal-thompson", "normal-thompson:alpha=-1.2", "normal-thompson:alpha=0.5")
class NormalThompson:
    """Honda and Takemura's: mean and variance drawn one after the other."""

    def __init__(self, K: int, n: int, alpha: float) -> None:
        self.alpha = alpha
        self.first = max(2, 3 - floor(2 * alpha))

    def choose(
        self, t: int, T: list[int], S: list[float], V: list[float], sigma: float, stream: Any
    ) -> int:
        if min(T) < self.first:
            return T.index(min(T))
        samples = []
        for pulls, total, variance in zip(T, S, V, strict=True):
            precision = gamma(stream, (pulls - 1) / 2 + self.alpha)
            variance = pulls * variance / 2 / precision
            samples.append(total / pulls + sqrt(variance / pulls) * normal(stream))
        return argmax(samples, stream)


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


@entry("imed", skips=True, unit=UnitIMED, varied=VariedIMED)
class IMED(UnitIMED):
    def divergence(self, mean: float, best: float, sigma: float) -> float:
        return (best - mean) ** 2 / (2 * sigma**2)


class UnitMaillard(UnitIMED):
    def weights(self, T: list[int], S: list[float], sigma: float) -> list[float]:
        means = [s / pulls for s, pulls in zip(S, T, strict=True)]
        return [
            exp(-pulls * self.divergence(mean, max(means), sigma))
            for mean, pulls in zip(means, T, strict=True)
        ]

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        return draw(self.weights(T, S, sigma), stream)


@entry("maillard")
class Maillard(UnitMaillard):
    def divergence(self, mean: float, best: float, sigma: float) -> float:
        return (best - mean) ** 2 / (2 * sigma**2)


entry("kl-maillard", unit=UnitMaillard)(Maillard)


@entry("beta-thompson", rewards=("bernoulli",))
class BetaThompson:
    def __init__(self, K: int, n: int) -> None:
        self.K = K

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        whole = all(p == int(p) for p in T)  # unless something was forgotten
        good = [round(s) for s in S] if whole else S  # late rewards count as the mean
        samples = [beta(stream, 1.0 + s, 1.0 + p - s) for s, p in zip(good, T, strict=True)]
        return argmax(samples, stream)


@entry("mots", "mots:rho=0.6,alpha=1")
class MOTS:
    def __init__(self, K: int, n: int, rho: float, alpha: float) -> None:
        self.K, self.n, self.rho, self.alpha = K, n, rho, alpha

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        samples = []
        for s, pulls in zip(S, T, strict=True):
            sample = s / pulls + sigma * (normal(stream) / sqrt(self.rho * pulls))
            width = sqrt(self.alpha / pulls * max(0.0, log(self.n / (self.K * pulls))))
            samples.append(min(sample, s / pulls + sigma * width))
        return argmax(samples, stream)


@entry("sle-ucb", "sle-ucb:alpha=30,bound=0.3,width=0.01", logarithmic=False)
class SLEUCB:
    """The rewards of each arm, one by one, as the algorithm in the paper reads."""

    def __init__(self, K: int, n: int, alpha: float, bound: float, width: float) -> None:
        self.K, self.n, self.alpha, self.bound, self.width = K, n, alpha, bound, width
        self.rewards: list[list[float]] = [[] for _ in range(K)]
        self.before, self.rank = [0.0] * K, [0.0] * K

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        iota = sqrt(log(self.K * self.n))
        B = self.bound + 4 * sigma * iota
        beta = self.width * B * iota
        indices = []
        for i, Y in enumerate(self.rewards):
            if not Y:
                self.rank[i] = uniform(stream)
            new = T[i] - len(Y)
            Y += [min(B, max(-B, (S[i] - self.before[i]) / new))] * new if new else []
            self.before[i] = S[i]
            U = min(total / s + beta / sqrt(s) for s, total in enumerate(accumulate(Y), 1))
            indices.append(U + self.alpha * beta * sqrt(self.K / self.n) * log(self.n / T[i]))
        return max(range(self.K), key=lambda i: (indices[i], -self.rank[i]))


class UnitTsallisINF:
    def __init__(self, K: int, n: int) -> None:
        self.K, self.round, self.losses, self.least = K, 0, [0.0] * K, 0.0

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        if self.round:
            for i in range(self.K):
                new = (T[i] - self.T[i]) * (1 + self.least / (2 * sigma))
                new -= (S[i] - self.S[i]) / (2 * sigma)
                self.losses[i] += new / self.chances[i]
        self.T, self.S, self.round = list(T), list(S), self.round + 1
        eta = 2 / sqrt(self.round)

        def weights(x: float) -> list[float]:
            return [4 / (eta * (loss - x)) ** 2 for loss in self.losses]

        low, high = min(self.losses) - 2 * sqrt(self.K) / eta, min(self.losses) - 2 / eta
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if sum(weights(middle)) > 1 else (middle, high)
        found = weights(low)
        self.chances = [weight / sum(found) for weight in found]
        return draw(self.chances, stream)


@entry("tsallis-inf", unit=UnitTsallisINF)
class TsallisINF(UnitTsallisINF):
    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        if not self.round:
            self.least = sum(S) / sum(T) - sigma
        return super().choose(t, T, S, sigma, stream)


# What tests are parametrised by


def make(text: str) -> ocucb.Policy:
    """Return a policy, without a word about theorems that its parameters leave."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse_policy(text)


def twin_of(policy: ocucb.Policy, unit: bool, binary: bool = True) -> Any:
    """Return the twin of a policy, given what is known of rewards (see `PolicyFamily.form`)."""
    one = TABLE[policy.family.name]
    if unit and not binary and one.varied is not None:
        return one.varied
    return one.unit if unit and one.unit is not None else one.twin


def is_whole(policy: ocucb.Policy, unit: bool, binary: bool = True) -> bool:
    """Tell whether an index policy's twin states the whole index."""
    family = policy.family.form(unit, binary)
    return isinstance(family.rule, IndexRule) and not isinstance(family.rule, BonusRule)


def entry_of(text: str) -> Entry:
    """Return the entry of a setting such as "moss:constant=4"."""
    return TABLE[text.partition(":")[0]]


def reduced(texts: list[str], cases: Iterable[Any], few: Iterable[Any]) -> list[tuple[str, Any]]:
    """Return settings paired with cases, few of these where that is enough."""
    alike = [text for text in texts if entry_of(text).like is not None]
    return [(text, case) for text in texts for case in (few if text in alike else cases)]


SETTINGS = [text for entry in TABLE.values() for text in entry.settings]
FIRST_SETTINGS = [entry.settings[0] for entry in TABLE.values()]
INDEX = [name for name in TABLE if isinstance(FAMILIES[name].rule, IndexRule)]
SKIPPING = [text for entry in TABLE.values() if entry.skips for text in entry.settings]
THOROUGH = [text for text in SKIPPING if entry_of(text).like is None]


def needs_clicks(text: str) -> bool:
    """Tell whether a policy plays no rewards but 0 and 1."""
    return "gaussian" not in entry_of(text).rewards


def scale(text: str) -> dict[str, Any]:
    """Return what a live bandit must be told about the rewards of a policy."""
    return {"bounds": (0, 1)} if needs_clicks(text) else {"sigma": 0.7}
