"""Greedy play: the largest mean so far, a baseline that never explores."""

from ._decorators import index_policy


@index_policy(
    name="greedy",
    formula="mean",
    reference="baseline",
    needs_sigma=False,
    unplayed_index="constant",
    concave=True,
)
def Greedy(pulls: float, t: float, horizon: float, arms: float) -> float:
    """Play the arm with the largest mean; regret grows linearly, as it may never find the best.

    Examples
    --------
    >>> from ocucb import Greedy
    >>> Greedy()
    Greedy()
    """
    return 0.0
