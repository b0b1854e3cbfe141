"""Metrics of bandits for Prometheus: the number of labels is bounded, whatever their number."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from . import report
from .errors import StoreUnavailable
from .storage import Storage

MOST_LABELLED = 200  # bandits with labels of their own
OTHERS = "(others)"  # the label of all others; no bandit has such a name


class Events:
    """Counts entries of the log, by bandit and kind."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counter = Counter(
            "ocucb_events", "Entries of the log.", ["bandit", "kind"], registry=registry
        )
        self._labelled: set[str] = set()
        self._lock = threading.Lock()

    def count(self, name: str, kinds: Iterable[tuple[str, int]]) -> None:
        """Count entries of a bandit."""
        for kind, count in kinds:
            self._counter.labels(self._label(name), kind).inc(count)

    def _label(self, name: str) -> str:
        with self._lock:
            if name not in self._labelled and len(self._labelled) >= MOST_LABELLED:
                return OTHERS
            self._labelled.add(name)
            return name


class StateOfBandits(Collector):
    """Open decisions and notes on the health of the bandits on the first page of the list."""

    def __init__(self, storage: Storage, clock: Callable[[], int]) -> None:
        self._storage, self._clock = storage, clock

    def describe(self) -> list[GaugeMetricFamily]:
        """Say nothing in advance, so that registering reads nothing."""
        return []

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Read the list; say nothing while the store is away."""
        pending = GaugeMetricFamily("ocucb_open_decisions", "Without a reward.", labels=["bandit"])
        notes = GaugeMetricFamily("ocucb_health_notes", "What seems wrong.", labels=["bandit"])
        try:
            with self._storage.reading() as connection:
                found = report.overview(connection, self._clock())
        except StoreUnavailable:
            return []
        for line in found["bandits"]:
            pending.add_metric([line["name"]], line["totals"]["open"])
            notes.add_metric([line["name"]], len(line["health"]))
        return [pending, notes]
