"""What is played: a `Bandit` with a traffic floor, a control arm and a pause.

A machine is a pure function of its rules, its seed and its events in order: whoever applies the
same events gets the same decisions, propensities and state, to the last bit. The service applies
events as they happen, ``ocucb serve check`` applies them again.

Which arm is played
-------------------
Every decision has a number. From it and the seed comes one uniform number u, which splits the
traffic: with probability c (`control_share`) the control is played; with probability f (`floor`)
each other active arm, of which there are m; with the rest, 1 - c - m f, the policy decides. So an
arm that the policy would choose with probability w has the propensity f + (1 - c - m f) w. The
policy never sees the control as an arm that it may choose.

If arms have features, each decision has a context (`contexts.py`), which is part of the event.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._types import Floats
from ..inference.verdict import GO_ON, Verdict
from ..live import Bandit
from ..policies import parse_policy
from . import prior
from .contexts import Context, ContextBandit, check_policy, check_size
from .errors import Conflict, Invalid
from .guardrail import Watch
from .models import MOST_ARMS, Change, Prior, Rules

_LOOKS_PER_DOUBLING = 32  # at the verdict, in each doubling of the rewards
_COLUMNS = ("pulls", "open", "sums", "squares", "active")  # of `ArmState`, as `Bandit` names them


class ArmState(NamedTuple):
    """What is stored about an arm; it is active if it can be chosen by the policy."""

    name: str
    pulls: int
    open: int
    sum: float
    squares: float
    active: bool
    measured: int  # values of the guardrail's metric
    guard_sum: float
    guard_squares: float
    model: bytes | None = None  # of its weights, if it has its own


class MachineState(NamedTuple):
    """What is stored about a machine besides its rules."""

    policy: str | None  # since the last epoch began; None: that of the rules
    epoch: int
    horizon: int
    open_horizon: bool  # it is a function of the rounds
    paused: bool
    archived: bool
    rounds: int
    stream: str
    memory: tuple[float, ...]
    arms: tuple[ArmState, ...]
    model: bytes | None = None  # of the weights that arms share, if they have features


class Machine:
    """A bandit with everything that decides what is played; `seed` replaces a null `rules.seed`.

    A null `rules.policy` is replaced, too: what is the default now may not be so forever.
    """

    def __init__(
        self, rules: Rules, seed: int, *, bandit: Bandit | ContextBandit | None = None
    ) -> None:
        self.seed = seed
        self.paused = self.archived = False
        self.policy: str | None = None
        self.epoch = 1
        self.share = rules.control_share or 0.0
        if bandit is None:
            check_policy(rules)
            check_size(rules, len(rules.arms))
            kind: Any = Bandit if rules.features is None else ContextBandit
            named = {"policy": rules.policy, "horizon": rules.horizon, "rng": seed}
            bandit = kind(rules.arms, **named, **_scale(rules))
            if rules.control is not None:
                bandit.retire(rules.control)
        self.bandit: Bandit | ContextBandit = bandit
        self.watch = None if rules.guardrail is None else Watch(rules.guardrail)
        if rules.policy is None:
            rules = rules.model_copy(update={"policy": bandit.policy.name})
        self.rules = rules
        self._note_arms()
        self._rewards = int(bandit.to_parts()["pulls"].sum())
        if rules.default_reward is not None:
            self.check_reward(rules.default_reward, "default_reward")
        self._check_floor(len(self.active))

    def _note_arms(self) -> None:
        parts = self.bandit.to_parts()
        self.names: list[str] = parts["arms"]
        self.active: list[int] = np.flatnonzero(parts["active"]).tolist()
        if self.watch is not None:
            self.watch.extend(len(self.names))

    def _check_floor(self, arms: int) -> None:
        taken = self.share + arms * self.rules.floor
        if taken > 1.0 + 1e-12:
            raise Invalid(
                f"floor {self.rules.floor:g} for {arms} arms and control_share {self.share:g} add "
                f"up to {taken:g}, which is more than 1; lower one of them."
            )

    # Events

    def checked(self, context: Context | None) -> Context | None:
        """Return the context of a decision as it is logged, or say what is wrong with it."""
        if isinstance(self.bandit, ContextBandit):
            control = self.rules.control
            return self.bandit.checked(context, () if control is None else (control,))
        if context is not None:
            raise Invalid("context is for bandits that were created with features.")
        return None

    def _features(self, name: str, context: Context | None) -> tuple[Any, ...]:
        """Return the features of an arm, if it has any, as the last argument of a call."""
        if context is None or isinstance(self.bandit, Bandit):
            return ()
        return (self.bandit.row(name, context),)

    def _play(self, name: str, context: Context | None) -> None:
        self.bandit.play(name, *self._features(name, context))

    def choose(self, number: int, context: Context | None = None) -> tuple[int, float | None]:
        """Make decision `number`; return the arm's position and its propensity."""
        floor, share, m = self.rules.floor, self.share, len(self.active)
        u = _uniform(self.seed, number) if share or floor else 1.0
        if u < share:
            assert self.rules.control is not None
            self._play(self.rules.control, context)
            return self.names.index(self.rules.control), share
        slot = int(min((u - share) / floor, m)) if floor else m  # the quotient may be infinite
        arm = self.active[min(slot, m - 1)] if slot < m or self._policy_share() == 0.0 else -1
        if self._policy_share() == 0.0:  # what the policy would have chosen does not matter
            self._play(self.names[arm], context)
            return arm, self._propensity(0.0)
        if isinstance(self.bandit, Bandit):
            arm, chance = self.bandit._decide(arm)
        else:
            assert context is not None
            arm, chance = self.bandit.choose(arm, context)
        return arm, None if chance is None else self._propensity(chance)

    def reward(
        self,
        arm: int,
        reward: float,
        guard: float | None = None,
        context: Context | None = None,
    ) -> list[tuple[str, dict[str, Any]]]:
        """Close an open decision for an arm with a reward, and perhaps a value of the guardrail.

        Returns what was then done by itself, in order, as kinds and details of entries of the log.
        """
        name = self.names[arm]
        self.bandit.tell(name, reward, *self._features(name, context))
        self._rewards += 1
        done = []
        if guard is not None and (guarded := self._guard(arm, guard)) is not None:
            done.append(("guard", guarded))
        if (concluded := self._conclude()) is not None:
            done.append(("verdict", concluded))
        return done

    def cancel(self, arm: int, context: Context | None = None) -> None:
        """Close an open decision for an arm without a reward."""
        self.bandit.cancel(self.names[arm], *self._features(self.names[arm], context))

    def _guard(self, arm: int, value: float) -> dict[str, Any] | None:
        """Take a value of the guardrail; retire an arm that violates it, and return what was done.

        The control and the last arm cannot be retired: then the bandit pauses.
        """
        assert self.watch is not None
        self.watch.note(arm, value)
        name = self.names[arm]
        fixed = name == self.rules.control
        if self.paused or not (fixed or arm in self.active):
            return None
        known = self.watch.known(arm)
        if not known.pop("violated"):
            return None
        done = {"metric": self.watch.guardrail.metric, "arm": name, **known}
        if fixed or len(self.active) == 1:
            self.paused = True
            return {**done, "paused": True}
        self.bandit.retire(name)
        self._note_arms()
        return {**done, "retire": [name]}

    def _conclude(self) -> dict[str, Any] | None:
        """Act on the verdict, after a reward, where the rules say so; return what was done.

        It is looked at now and then, at numbers of rewards that are known in advance.
        """
        asked, rewards = self.rules.when_decided, self._rewards
        stride = max(1, (1 << rewards.bit_length()) // (2 * _LOOKS_PER_DOUBLING))
        if asked is None or rewards % stride or self.paused:
            return None
        if asked.do == "retire" and len(self.active) == 1:
            return None
        verdict = self.verdict(asked.margin, asked.level)
        if verdict.kind == GO_ON:
            return None
        losers = [self.names[i] for i in self.active if self.names[i] != verdict.leader]
        if asked.do == "pause" or len(losers) == len(self.active):  # the control leads
            self.paused = True
            return {"verdict": verdict.kind, "leader": verdict.leader, "paused": True}
        self.bandit.retire(losers)
        self._note_arms()
        return {"verdict": verdict.kind, "leader": verdict.leader, "retire": losers}

    def verdict(self, margin: float, level: float, context: Context | None = None) -> Verdict:
        """Return the verdict on all arms that are played, the control included.

        If arms have features: on those that the policy plays, given these.
        """
        context = self.checked(context)
        if isinstance(self.bandit, Bandit):
            return self.bandit._verdict(margin, level, self.rules.control)
        assert context is not None
        return self.bandit.judged(context, margin, level)

    def change(self, change: Change) -> Change | None:
        """Change the rules; return what was really changed, or None if nothing.

        What is so already is no mistake, so a repeat is harmless.
        """
        known, control = set(self.names), self.rules.control
        active = {self.names[i] for i in self.active}
        policy = self._other_policy(change.policy)
        added = [name for name in dict.fromkeys(change.add) if name not in active]
        retired = [name for name in dict.fromkeys(change.retire) if name in active]
        for name in change.retire:
            if name not in known:
                raise Invalid(f"retire: unknown arm {name!r}.")
            if name in change.add:
                raise Invalid(f"arm {name!r} cannot be both added and retired.")
        if control is not None and control in (*change.add, *change.retire):
            raise Conflict(f"arm {control!r} is the control, which has a fixed share and stays.")
        left = len(active) + len(added) - len(retired)
        if left < 1:
            raise Conflict("the last active arm cannot be retired: add another one first.")
        total = len(known | set(added))
        if total > MOST_ARMS:
            raise Invalid(f"add: there may be at most {MOST_ARMS} arms, got {total}.")
        if added:
            self._check_floor(left)
            check_size(self.rules, total)
        told = None if self.bandit.open_horizon else self.bandit.horizon
        horizon = change.horizon if change.horizon != told else None
        paused = change.paused if change.paused != self.paused else None
        archived = change.archived if change.archived != self.archived else None
        bandit: Any = self.bandit
        if policy is not None and isinstance(bandit, ContextBandit):
            raise Conflict("policy: a bandit with features keeps its policy.")
        try:
            if policy is not None:
                bandit = prior.rebuilt(bandit)  # a copy, for the next line may be the last
            if horizon is not None:
                bandit.extend(horizon)
            if policy is not None:
                bandit = prior.rebuilt(bandit, policy=policy)
        except ValueError as error:
            raise Conflict(str(error)) from None
        if policy is not None:
            self.policy, self.epoch = policy, self.epoch + 1
        self.bandit = bandit
        if added:
            self.bandit.add(added)
        if retired:
            self.bandit.retire(retired)
        if paused is not None:
            self.paused = paused
        if archived is not None:
            self.archived = archived
        self._note_arms()
        done = Change(
            add=added,
            retire=retired,
            horizon=horizon,
            policy=policy,
            paused=paused,
            archived=archived,
        )
        return done if done != Change() else None

    def _other_policy(self, asked: str | None) -> str | None:
        """Return the full name of another policy than the present one."""
        if asked is None:
            return None
        try:
            name = parse_policy(asked).name
        except ValueError as error:
            raise Invalid(f"policy: {error}") from None
        return name if name != self.bandit.policy.name else None

    def tell_prior(self, items: Sequence[Prior], where: str) -> list[dict[str, Any]]:
        """Take data from elsewhere, all or none; return what the log says of each item."""
        if not items:
            return []
        if isinstance(self.bandit, ContextBandit):
            raise Conflict(f"{where}: a bandit with features takes no data from elsewhere.")
        known = prior.weighed(items, self.names, self.bandit, where)
        before = self.bandit, self._rewards
        try:
            for arm, told in known:
                self.add_prior(arm, told)
        except ValueError as error:
            self.bandit, self._rewards = before
            raise Conflict(str(error)) from None
        return [{"arm": arm, "detail": json.dumps(told, sort_keys=True)} for arm, told in known]

    def add_prior(self, arm: int, told: dict[str, Any]) -> None:
        """Apply what the log says of data from elsewhere."""
        assert isinstance(self.bandit, Bandit)
        self.bandit = prior.with_prior(self.bandit, arm, told)
        self._rewards += told["pulls"]

    def check_reward(self, reward: float, where: str) -> None:
        """Refuse a reward that the bandit would not take."""
        low, high = self.bandit._rules.low, self.bandit._rules.high
        if not low <= reward <= high:
            known = self.rules.bounds is not None
            why = "" if known else "; rounding would swamp it, subtract a constant from all rewards"
            raise Invalid(
                f"{where} must lie between {'the bounds ' * known}{low:g} and {high:g}, "
                f"got {reward!r}{why}."
            )
        if self.bandit.policy.family.binary and reward not in (0.0, 1.0):
            raise Invalid(f"{where} must be 0 or 1 for {self.bandit.policy.label}, got {reward!r}.")

    def check_guard(self, value: float, where: str) -> None:
        """Refuse a value of the guardrail's metric that cannot be."""
        if self.watch is None:
            raise Invalid(f"{where} is given, but the bandit has no guardrail.")
        self.watch.check(value, where)

    def rehearse(self) -> None:
        """Do once whatever takes long the first time; the machine is of no use afterwards."""
        context: Context | None = None
        if isinstance(self.bandit, ContextBandit):
            row = [0.0] * len(self.bandit.features)
            context = dict.fromkeys(self.names, row) if self.rules.shared else row
        arm, _ = self.choose(0, context)
        low, _ = self.rules.bounds or (0.0, 0.0)
        self.reward(arm, low, None, context)
        if self.watch is not None:
            self.watch.note(arm, (self.watch.guardrail.bounds or [0.0])[0])
            self.watch.known(arm)
        self.chances(context)
        self.bandit.summary()
        self.verdict(0.0, 0.95, context)

    # State

    def state(self) -> MachineState:
        """Return everything that must be stored."""
        parts = self.bandit.to_parts()
        lists = [parts[column].tolist() for column in _COLUMNS]
        known = [(0, 0.0, 0.0)] * len(self.names) if self.watch is None else self.watch.arms
        lists += map(list, zip(*known, strict=True))
        model = None
        if isinstance(self.bandit, ContextBandit):
            model, models = self.bandit.to_bytes()
            lists.append(models)
        return MachineState(
            policy=self.policy,
            epoch=self.epoch,
            horizon=self.bandit.horizon,
            open_horizon=parts["horizon"] is None,
            paused=self.paused,
            archived=self.archived,
            rounds=parts["rounds"],
            stream=" ".join(f"{word:016x}" for word in parts["stream"].tolist()),
            memory=tuple(parts["memory"].tolist()),
            arms=tuple(ArmState(*row) for row in zip(parts["arms"], *lists, strict=True)),
            model=model,
        )

    @classmethod
    def restored(cls, rules: Rules, seed: int, state: MachineState) -> Machine:
        values = list(zip(*state.arms, strict=True))
        columns: dict[str, Any] = dict(zip(("arms", *_COLUMNS), values, strict=False))
        kind: Any = Bandit
        if rules.features is not None:
            kind = ContextBandit
            columns |= {"model": state.model, "models": values[-1]}
        bandit = kind.from_parts(
            **columns,
            policy=rules.policy if state.policy is None else state.policy,
            horizon=None if state.open_horizon else state.horizon,
            rounds=state.rounds,
            stream=[int(word, 16) for word in state.stream.split()],
            memory=state.memory,
            rng=seed,
            **_scale(rules),
        )
        if bandit.horizon != state.horizon:
            raise ValueError(f"horizon must be {bandit.horizon}, got {state.horizon}.")
        machine = cls(rules, seed, bandit=bandit)
        machine.paused, machine.archived = state.paused, state.archived
        machine.policy, machine.epoch = state.policy, state.epoch
        if machine.watch is not None:
            machine.watch.arms = list(zip(*values[-4:-1], strict=True))
        return machine

    def chances(self, context: Context | None = None) -> Floats | None:
        """Return the propensities of all arms in the next decision, or None if not known."""
        policy: dict[Any, float] | None = {}
        if self._policy_share() > 0.0:
            if isinstance(self.bandit, Bandit):
                policy = self.bandit.probabilities()
            else:
                policy = None if context is None else self.bandit.known(context)
        if policy is None:
            return None
        chances = np.zeros(len(self.names))
        for i in self.active:
            chances[i] = self._propensity(policy.get(self.names[i], 0.0))
        if self.rules.control is not None:
            chances[self.names.index(self.rules.control)] = self.share
        return chances

    def _policy_share(self) -> float:
        """Return the share of traffic that floor and control leave to the policy."""
        return max(0.0, 1.0 - self.share - len(self.active) * self.rules.floor)

    def _propensity(self, chance: float) -> float:
        """Return the propensity of an active arm that the policy chooses with this probability."""
        return self.rules.floor + self._policy_share() * chance


def _scale(rules: Rules) -> dict[str, Any]:
    return {
        "bounds": None if rules.bounds is None else (rules.bounds[0], rules.bounds[1]),
        "sigma": rules.sigma,
        "minimize": rules.minimize,
        "strict": True,
        **({} if rules.features is None else _features(rules)),
    }


def _features(rules: Rules) -> dict[str, Any]:
    return {"features": rules.features, "shared": rules.shared}


def _uniform(seed: int, number: int) -> float:
    """Return the uniform number of a decision, a multiple of 2^-53."""
    digest = hashlib.blake2b(f"ocucb serve {seed} {number}".encode(), digest_size=8).digest()
    return float(int.from_bytes(digest, "big") >> 11) * 2.0**-53
