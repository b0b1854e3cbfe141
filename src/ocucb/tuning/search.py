"""How runs are spent: a race on the whole range, then fits in ever smaller boxes, then a final.

Candidates are measured by importance sampling wherever `simulate` can, because rare failures
decide: with plain runs, a policy that gambles looks best until it is first seen to fail. That saves
far more than common random numbers would, which need runs that are alike: on ten arms with a gap of
0.3 and 10^4 rounds, the regrets of OCUCB with alpha = 3 and with 2.9 from the same random numbers
have a correlation of 0.0 step by step and 0.2 skipping ahead, because after a single round that
differs everything does. So all trials are independent, and neighbours lend each other strength
through the fits.

A measurement is never used to judge what it has selected: whatever survives is measured again with
other random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Floats
from .laboratory import FEWEST_TRIED, Laboratory, Trial
from .objective import combined_logs, score
from .space import Space, spread
from .surface import Surface, fitted, least

# Shares of the runs: each half of the race, each box, each finalist; the fresh measurement of the
# winner and that of the start.
_RACE, _BOX, _FINALIST, FRESH = 0.1, 0.15, 0.1 / 3.0, 0.2
_BOXES = (0.25, 0.125)  # half the side of each box, as a share of the range
_QUARTER = 4  # one in so many survives the first half of the race
_DENSE = 2048  # points at which a fit is evaluated


@dataclass
class Search:
    """The search for the best parameters of one policy; `trials` grows."""

    laboratory: Laboratory
    space: Space
    runs: int  # for all of it, on each problem
    best: Floats | None  # log regret of the best on each problem, for the worst ratio
    trials: list[Trial]

    def run(self) -> Trial:
        """Return the winner as the final has it."""
        dimension = len(self.space.axes)
        points = min(int(_RACE * self.runs) // FEWEST_TRIED, 16 * 3 ** (dimension - 1))
        points = max(points, 2 * least(dimension))
        self._measure(spread(points, dimension), _RACE, "race")
        first = sorted(self.trials, key=self._score)[: -(-len(self.trials) // _QUARTER)]
        leaders = [self.space.place(trial.policy) for trial in first]
        self._measure(leaders, _RACE, "race")
        # by a fit around each, since the lowest of many numbers is low by luck
        centre = found = min(leaders, key=lambda place: self._smoothed(place, _BOXES[0]))
        for width in _BOXES:
            low = np.clip(centre - width, 0.0, 1.0 - 2.0 * width)
            box = low + 2.0 * width * spread(8 * (1 + dimension), dimension)
            self._measure([centre, *box], _BOX, "refine")
            centre = self._lowest(low, width)
        finalists = [self.space.policy(centre), self.space.policy(found)]
        inside = all(0.0 <= u <= 1.0 for u in self.space.place(self.space.start))
        finalists += [self.space.start] if inside else []
        runs = max(1, int(_FINALIST * self.runs))
        final = self.laboratory.measure(finalists, runs, "final")
        self.trials += final
        return min(final, key=self._score)

    def _measure(self, places: Floats | list[Floats], share: float, stage: str) -> None:
        """Try the policies at some points; a share of all runs is spent on them."""
        policies = list(dict.fromkeys(self.space.policy(place) for place in places))
        runs = max(1, int(share * self.runs) // len(policies))
        self.trials += self.laboratory.measure(policies, runs, stage)

    def _smoothed(self, place: Floats, width: float) -> float:
        """Return the logarithm of the objective at a point, from a fit around it."""
        surfaces = surfaces_of(self.space, self.trials, place, width)
        logs = np.array([[float(surface.at(place[None, :])[0]) for surface in surfaces]])
        return float(combined_logs(logs, self.best)[0])

    def _lowest(self, low: Floats, width: float) -> Floats:
        """Return the lowest point of the fits in a box, among those that a policy can have."""
        dense = low + 2.0 * width * spread(_DENSE, low.size)
        policies = dict.fromkeys(self.space.policy(place) for place in dense)
        places = np.array([self.space.place(policy) for policy in policies])
        surfaces = surfaces_of(self.space, self.trials, low + width, width)
        logs = np.stack([surface.at(places) for surface in surfaces], axis=1)
        lowest: Floats = places[int(combined_logs(logs, self.best).argmin())]
        return lowest

    def _score(self, trial: Trial) -> float:
        return score(trial.values, self.best).value


def surfaces_of(space: Space, trials: list[Trial], centre: Floats, width: float) -> list[Surface]:
    """Fit a surface for each problem to the trials near a point."""
    places = np.array([space.place(trial.policy) for trial in trials])
    values = np.array([[value for value, _ in trial.values] for trial in trials])
    runs = np.array([float(trial.runs) for trial in trials])
    return [fitted(places, column, runs, centre, width) for column in values.T]
