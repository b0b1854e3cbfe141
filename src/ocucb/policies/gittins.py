"""The finite-horizon Gittins index strategy: Bradt, Johnson and Karlin (1956), Lattimore (2016)."""

from typing import Any

from ..gittins import offset, surrogate
from ._decorators import index_policy


@index_policy(
    name="gittins",
    formula="mean + sigma * g(n - t + 1, T), g the Gittins offset for a flat Gaussian prior",
    reference="Bradt, Johnson and Karlin (1956); Lattimore (2016), Regret analysis of the "
    "finite-horizon Gittins index strategy",
    unplayed_index="nonincreasing",
    concave=True,
    table=surrogate,
)
def Gittins(pulls: float, t: float, horizon: float, arms: float, table: Any) -> float:
    """Play the arm with the largest finite-horizon Gittins index; horizons up to 10^6.

    Optimal for one unknown arm against a known one, and nearly Bayes-optimal for several.
    ``pulls * g`` was checked to be concave while an arm is played, on whole diagonals m + T.

    Examples
    --------
    >>> from ocucb import Gittins
    >>> round(Gittins().bonus(pulls=10, t=91, horizon=100, arms=2), 6)
    0.123035
    """
    return offset(horizon - t + 1.0, pulls, table)
