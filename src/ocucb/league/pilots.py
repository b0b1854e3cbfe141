"""What pilots found, on disk: how the runs of each cell are drawn, so that none is piloted twice.

A mixture is kept as its shares, under the identity of what is played; shifts and lengths follow
from the problem. A damaged file costs new pilots and nothing else.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import TracebackType

import numpy as np

from .._files import replacing
from ..importance import PLAIN, Mixture, first_mixture
from ..specification import Specification

_PAUSE = 5.0  # seconds between writes


class Pilots:
    """The mixtures that were found for specifications without one.

    Parameters
    ----------
    path : Path
        A JSON file, which need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shares: dict[str, list[float]] = {}
        self._written = time.monotonic()
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
            self._shares = {str(key): list(map(float, one)) for key, one in known.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            pass

    def __enter__(self) -> Pilots:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._write()

    def get(self, specification: Specification) -> Mixture | None:
        """Return the mixture that a pilot found, or None."""
        known = self._shares.get(specification.identity)
        if known is None or not known:
            return None if known is None else PLAIN
        first = first_mixture(specification.problem, specification.horizon)
        shares = np.array(known)
        sound = shares.size == first.shares.size and bool((shares > 0.0).all())
        if not sound or abs(float(shares.sum()) - 1.0) > 1e-9:
            return None
        return first._replace(shares=shares)

    def add(self, specification: Specification, mixture: Mixture) -> None:
        """Keep what a pilot found; it is written within a few seconds, and at the end."""
        shares = [] if mixture.arm < 0 else mixture.shares.tolist()
        self._shares[specification.identity] = shares
        if time.monotonic() - self._written > _PAUSE:
            self._write()

    def _write(self) -> None:
        with replacing(self._path) as file:
            json.dump(self._shares, file)
        self._written = time.monotonic()
