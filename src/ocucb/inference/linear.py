"""What rewards say about the weights of a linear model, at all times and whoever chose the arms.

With G the sum of x x' and b the sum of r x over the rewards r so far, noise that is
sigma-subgaussian given the past, and a normal mixture of weights with covariance sigma^2 / ridge,
the ratio of mixture to truth is a supermartingale (de la Peña, Klass and Lai 2004; Abbasi-Yadkori,
Pál and Szepesvári 2011). So with probability 1 - delta, in all rounds together, the true weights
theta satisfy

    |theta - V^-1 b|_V^2 - ridge |theta|^2 <= sigma^2 (log det(V / ridge) + 2 log(1 / delta)),

where V = ridge I + G. The left side is |theta - t|_G^2 - b' (G^-1 - V^-1) b with the least squares
t = G^-1 b, so no bound on the length of theta is needed: it is an ellipsoid around t, infinite in
directions that no features have had.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from .._types import Counts, Floats
from .evidence import Evidence

_UNSEEN = 1e-12  # eigenvalues below this share of the largest are rounding errors


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Sets of weights: eigenvalues and vectors of each G, and b along these."""

    values: Floats  # sets x d
    vectors: Floats  # sets x d x d, a vector in each column
    responses: Floats  # sets x d
    ridge: float
    sigma: float

    @classmethod
    def of(cls, gram: Floats, response: Floats, ridge: float, sigma: float) -> LeastSquares:
        """Return what is known, given V and b of each set."""
        values, vectors = np.linalg.eigh(gram - ridge * np.eye(gram.shape[1]))
        values = np.maximum(values, 0.0)
        values[values <= _UNSEEN * values.max(axis=1, keepdims=True)] = 0.0
        responses = np.einsum("sij,si->sj", vectors, response)
        return cls(values, vectors, np.where(values > 0.0, responses, 0.0), ridge, sigma)

    @property
    def assumption(self) -> str:
        """What is assumed of rewards."""
        return f"means are linear in the features, and noise is {self.sigma:g}-subgaussian"

    def scaled(self, factor: float) -> LeastSquares:
        """Return what so many times the rewards would say, with the same features and means."""
        return replace(self, values=self.values * factor, responses=self.responses * factor)

    def intervals(self, x: Floats, sets: Counts, level: float) -> tuple[Floats, Floats]:
        """Return both ends for <theta, x>: a row of x for each of these sets of weights.

        All intervals of a set hold together with the level, whatever x, and at all times.
        """
        values, ridge = self.values, self.ridge
        known = values > 0.0
        safe = np.where(known, values, 1.0)
        room = np.log1p(values / ridge).sum(axis=1) - 2.0 * log(1.0 - level)
        short = (self.responses**2 * ridge / (safe * (safe + ridge))).sum(axis=1)
        radius = np.sqrt(self.sigma**2 * room + short)[sets]
        along = np.einsum("aij,ai->aj", self.vectors[sets], x)
        unseen = (np.where(known[sets], 0.0, along) ** 2).sum(axis=1)
        centre = (along * (self.responses / safe)[sets]).sum(axis=1)
        width = radius * np.sqrt((np.where(known[sets], along, 0.0) ** 2 / safe[sets]).sum(axis=1))
        width[unseen > 1e-18 * (x**2).sum(axis=1)] = np.inf
        return centre - width, centre + width


@dataclass(frozen=True, eq=False)
class LinearEvidence(Evidence):
    """What a linear model says about the arms' means, given the features of a round.

    `pulls` are as many as would tell as much without a model: 1 / norm^2.
    """

    model: LeastSquares | None = None
    features: Floats | None = None  # a row for each arm
    sets: Counts | None = None  # which weights each arm has

    @property
    def assumption(self) -> str:
        """What is assumed of rewards."""
        return self._parts[0].assumption

    @property
    def _parts(self) -> tuple[LeastSquares, Floats, Counts]:
        assert self.model is not None
        assert self.features is not None
        assert self.sets is not None
        return self.model, self.features, self.sets

    def _level(self, level: float, arms: int) -> float:
        """Return the level of each set of weights."""
        return level if not self.independent else 1.0 - (1.0 - level) / arms

    def intervals(self, level: float, family: int = 1) -> tuple[Floats, Floats]:
        """Return both ends of the arms' intervals; infinite where nothing is known."""
        model, features, sets = self._parts
        return model.intervals(features, sets, self._level(level, family))

    def differences(self, other: int, level: float, family: int = 1) -> tuple[Floats, Floats]:
        """Return both ends of the intervals of each mean minus that of an arm; nan for itself."""
        model, features, sets = self._parts
        level = self._level(level, family + 1)
        if self.independent:
            low, high = model.intervals(features, sets, level)
            low, high = low - high[other], high - low[other]
        else:
            low, high = model.intervals(features - features[other], sets, level)
        low[other] = high[other] = np.nan
        return low, high

    def scaled(self, factors: Floats | float) -> LinearEvidence:
        """Return what so many times the rewards would say."""
        model, *_ = self._parts
        return replace(self, pulls=self.pulls * factors, model=model.scaled(float(factors)))

    def only(self, arms: Any) -> LinearEvidence:
        """Return what is known about some of the arms."""
        _, features, sets = self._parts
        numbers = {
            "pulls": self.pulls[arms],
            "mean": self.mean[arms],
            "squares": self.squares[arms],
        }
        return replace(self, **numbers, features=features[arms], sets=sets[arms])
