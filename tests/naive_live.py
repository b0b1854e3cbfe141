"""A slow and obvious twin of `ocucb.Bandit`: lists, every arm in every round."""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np
from naive import variance

from ocucb.policies import Policy
from ocucb.random import normal
from policy_table import argmax, is_whole, twin_of


class NaiveArm:
    def __init__(self, name: str | int) -> None:
        self.name = name
        self.rewards = 0  # how many came
        self.sum = 0.0
        self.seen: list[float] = []
        self.open = 0
        self.active = True

    @property
    def pulls(self) -> int:
        return self.rewards + self.open

    @property
    def mean(self) -> float:
        return self.sum / self.rewards


class NaiveBandit:
    def __init__(
        self,
        names: list[Any],
        policy: Policy,
        horizon: int | None,
        sigma: float | None,
        words: list[str],
        first: int = 1000,
        unit: bool = False,
    ) -> None:
        """An open horizon, None, is `first`, and larger whenever it is reached."""
        self.all = [NaiveArm(name) for name in names]
        self.policy = policy
        self.twin = twin_of(policy, unit, binary=False)
        self.whole = is_whole(policy, unit, binary=False)
        self.varied = policy.family.form(unit, binary=False).rule.takes_variance
        self.open = horizon is None
        self.n = first if horizon is None else horizon
        self.sigma = 0.0 if sigma is None else sigma
        self.stream = np.array([int(word, 16) for word in words], dtype=np.uint64)
        self.rounds = 0
        self.forget()

    def forget(self) -> None:
        """What choice policies remember is forgotten when arms or horizon change."""
        if self.policy.family.rule.kind == "choice":
            self.choice = self.twin(len(self.active), self.n, **self.policy.parameters)

    @property
    def active(self) -> list[NaiveArm]:
        return [arm for arm in self.all if arm.active]

    def arm(self, name: str | int) -> NaiveArm:
        return next(arm for arm in self.all if arm.name == name)

    def ask(self) -> str | int:
        arm = self.choose()
        arm.open += 1
        self.count()
        return arm.name

    def count(self) -> None:
        """One round more; an open horizon that is reached grows."""
        self.rounds += 1
        if self.open and self.rounds == self.n:
            self.n = floor(self.n**1.5)
            self.forget()

    def choose(self) -> NaiveArm:
        for arm in self.active:
            if arm.pulls == 0:
                return arm
        if self.policy.family.rule.kind == "choice":
            return self.active[self.rule()]
        known = [arm for arm in self.active if arm.rewards]
        if not known:
            least = [-arm.open for arm in self.active]
            if self.policy.family.rule.kind == "sampling":
                return self.active[least.index(max(least))]
            return self.active[argmax(least, self.stream)]
        if self.policy.family.rule.kind == "sampling":
            samples = [arm.mean + self.width(arm) * normal(self.stream) for arm in known]
            return known[samples.index(max(samples))]
        return known[argmax([self.index(arm) for arm in known], self.stream)]

    def index(self, arm: NaiveArm) -> float:
        if not self.whole:
            return arm.mean + self.width(arm)
        T, t = min(arm.pulls, self.n), min(self.rounds + 1, self.n)
        seen = (arm.mean, variance(arm.seen)) if self.varied else (arm.mean,)
        state = (*seen, T, t, self.n, self.others(), self.sigma)
        return self.twin(*state, **self.policy.parameters)

    def others(self) -> Any:
        if "effective_arms" in self.policy.family.rule.inputs:
            return [other.pulls for other in self.active]
        return len(self.active)

    def width(self, arm: NaiveArm) -> float:
        """What is added to the mean, or the deviation of the sample around it."""
        T, t = min(arm.pulls, self.n), min(self.rounds + 1, self.n)
        return self.sigma * self.twin(T, t, self.n, self.others(), **self.policy.parameters)

    def rule(self) -> int:
        """Choice policies: open asks count as pulls that paid the mean, or the best mean."""
        arms = self.active
        t = min(self.rounds + 1, self.n)
        best = max((arm.mean for arm in arms if arm.rewards), default=0.0)
        pulls = [arm.pulls for arm in arms]
        sums = [
            arm.sum if not arm.open else (arm.mean if arm.rewards else best) * arm.pulls
            for arm in arms
        ]
        known: tuple[Any, ...] = (pulls, sums)
        if self.varied:
            known += ([variance(arm.seen) if arm.rewards else 0.0 for arm in arms],)
        return self.choice.choose(t, *known, self.sigma, self.stream)

    def tell(self, name: str | int, reward: float) -> None:
        arm = self.arm(name)
        if arm.open:
            arm.open -= 1
        else:
            self.count()
        arm.rewards += 1
        arm.sum += reward
        arm.seen.append(reward)

    def play(self, name: str | int) -> None:
        self.arm(name).open += 1
        self.count()

    def cancel(self, name: str | int) -> None:
        self.arm(name).open -= 1

    def add(self, name: str | int) -> None:
        if any(arm.name == name for arm in self.all):
            self.arm(name).active = True
        else:
            self.all.append(NaiveArm(name))
        self.forget()

    def retire(self, name: str | int) -> None:
        self.arm(name).active = False
        self.forget()

    def extend(self, horizon: int) -> None:
        self.n, self.open = horizon, False
        self.forget()
