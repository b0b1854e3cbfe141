"""What programs can ask for: create a bandit, decide, reward, change; and expiry meanwhile.

Creating a bandit happens at once. Everything else is queued in the bandit's lane, and what is
returned is a future of the answer. Nothing here knows of HTTP.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import chain
from typing import Any

import sqlalchemy as sa
from prometheus_client import CollectorRegistry

from ..random import to_seed
from . import tables
from .errors import Conflict, Invalid, StoreUnavailable, UnknownBandit
from .lanes import Lanes
from .machine import Machine
from .models import Change, DecisionsRequest, Prior, RewardItem, Rules
from .storage import Storage, now
from .stored import canonical, insert, load, rules_of
from .turn import MOST_LEAD, Work

log = logging.getLogger("ocucb.serve")

# the rules that decide what is compiled
_COMPILED = {"policy", "horizon", "bounds", "sigma", "minimize", "floor", "control_share"}
_COMPILED |= {"features", "shared", "guardrail"}
SMALLEST_FLOOR = 1e-9  # below, traffic cannot be split: decisions have 53 random bits


class Service:
    """Bandits on a storage; the clock gives microseconds, the registry counts metrics."""

    def __init__(
        self,
        storage: Storage,
        *,
        clock: Callable[[], int] = now,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self.storage, self.clock = storage, clock
        self.registry = registry or CollectorRegistry()
        self.lanes = Lanes(storage, clock, self.registry)
        self._creating = threading.Lock()
        self._compared = 0  # when the log was last compared with the clock
        self.is_warm = False  # what stored bandits need is compiled
        self._closing = threading.Event()

    def close_soon(self) -> None:
        """Begin nothing that takes long."""
        self._closing.set()

    def close(self) -> None:
        self.lanes.close()

    def warm(self) -> None:
        """Compile what stored bandits need, so that no request waits for it.

        One bandit of each kind makes a decision and takes a reward, in memory only.
        """
        query = sa.select(tables.bandits).where(tables.bandits.c.archived.is_(sa.false()))
        try:
            with self.storage.reading() as connection:
                rows = connection.execute(query).mappings().all()
        except StoreUnavailable as error:
            log.error("store", extra={"facts": {"reason": str(error)}})
            rows = []
        known = set()
        for row in rows:
            if self._closing.is_set():
                return
            try:
                kind = f"{row['policy']} {rules_of(row).model_dump_json(include=_COMPILED)}"
                if kind not in known:
                    with self.storage.reading() as connection:
                        machine = load(connection, row).machine
                    machine.rehearse()
                    known.add(kind)
            except Exception as error:  # whoever asks for this bandit will be told
                log.error("warm", extra={"facts": {"bandit": row["name"], "reason": repr(error)}})
        self.is_warm = True

    def create(self, name: str, rules: Rules) -> bool:
        """Create a bandit; return False if the same one exists already."""
        known = self._rules_of(name)
        if known is None:
            if 0.0 < rules.floor < SMALLEST_FLOOR:
                raise Invalid(
                    f"floor must be 0 or at least {SMALLEST_FLOOR:g}, got {rules.floor:g}."
                )
            seed = rules.seed if rules.seed is not None else to_seed(None)
            try:
                with self._creating:  # compiling a policy once is enough
                    machine = Machine(rules, seed)
                prior = machine.tell_prior(rules.prior, "prior")
            except (TypeError, ValueError) as error:
                raise Invalid(str(error)) from None
            try:
                with self.storage.writing() as connection:
                    insert(connection, name, machine, self.clock(), prior)
                return True
            except sa.exc.IntegrityError:  # another process was faster
                known = self._rules_of(name)
        assert known is not None
        if rules.policy is None:  # whatever it was when the bandit was created
            rules = rules.model_copy(update={"policy": json.loads(known)["policy"]})
        # earlier versions knew fewer rules
        if canonical(Rules.model_validate_json(known)) != canonical(rules):
            raise Conflict(
                f"bandit {name!r} exists with other rules; use PATCH to change arms, horizon or "
                "pause, or another name."
            )
        return False

    def _rules_of(self, name: str) -> str | None:
        with self.storage.reading() as connection:
            rules: str | None = connection.execute(tables.RULES, {"name": name}).scalar()
        return rules

    def decide(
        self, name: str, request: DecisionsRequest, key: str | None = None
    ) -> Future[list[dict[str, Any]]]:
        """Make decisions; the same key gives the same ones again."""
        unsaid = {"context"} if request.context is None else None  # earlier versions had none
        body = _digest(request.model_dump_json(exclude=unsaid))
        digest = None if key is None else _digest(key)
        work = Work(lambda turn: turn.make_decisions(request, digest, body), digest, request.unit)
        work.size = request.count
        return self.lanes.submit(name, work)

    def reward(self, name: str, items: list[RewardItem]) -> Future[list[str]]:
        """Take rewards; return what became of each."""
        ids = tuple(item.decision for item in items)
        work = Work(lambda turn: turn.take_rewards(items), decisions=ids, size=len(items))
        return self.lanes.submit(name, work)

    def change(self, name: str, change: Change) -> Future[None]:
        """Add or retire arms, change the policy, extend the horizon, pause or archive."""
        return self.lanes.submit(name, Work(lambda turn: turn.make_change(change)))

    def rehearse(self, name: str, change: Change) -> None:
        """Compile what a change needs, in memory only: in the lane, decisions would wait for it."""
        query = sa.select(tables.bandits).where(tables.bandits.c.name == name)
        with self.storage.reading() as connection:
            row = connection.execute(query).mappings().one_or_none()
            if row is None:
                raise UnknownBandit(name)
            machine = load(connection, row).machine
        with self._creating:
            machine.change(change)
            machine.rehearse()

    def prior(self, name: str, items: list[Prior], key: str | None = None) -> Future[None]:
        """Take data from elsewhere; not twice with the same key."""
        body = _digest(json.dumps(["prior", *(item.model_dump() for item in items)]))
        digest = None if key is None else _digest(key)
        work = Work(lambda turn: turn.take_prior(items, digest, body), digest, size=len(items))
        return self.lanes.submit(name, work)

    def delete(self, name: str) -> Future[None]:
        """Delete a bandit that is archived, with its log."""
        return self.lanes.submit(name, Work(lambda turn: turn.delete()))

    def sweep(self) -> None:
        """Close decisions that have expired, in all bandits; look for a clock that was ahead."""
        now = self.clock()
        queries = [tables.DUE]
        if not self._compared <= now < self._compared + MOST_LEAD:
            queries.append(tables.AHEAD)
            self._compared = now
        values = {"now": now, "latest": now + MOST_LEAD}
        with self.storage.reading() as connection:
            found = [connection.execute(query, values).scalars().all() for query in queries]
        failure: Exception | None = None
        for name in chain(*found):  # one by one, so that no request waits behind many
            try:
                self.lanes.submit(name, Work(lambda turn: None)).result()
            except StoreUnavailable:
                raise
            except Exception as error:  # the others can still be swept
                failure = error
        if failure is not None:
            raise failure


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
