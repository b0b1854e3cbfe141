"""MOSS: Audibert and Bubeck (2009), with the constant from the paper's experiments."""

from math import log, sqrt

from ._decorators import above, index_policy


def _concave_until(horizon: float, arms: float, constant: float) -> float:
    return horizon / arms


@index_policy(
    name="moss",
    formula="mean + sigma * sqrt(constant / T * log(max(1, n / (T * K))))",
    reference="Audibert and Bubeck (2009), Minimax policies for bandits",
    valid={"constant": above(0)},
    unplayed_index="constant",
    concave=True,
    concave_until=_concave_until,
)
def MOSS(pulls: float, t: float, horizon: float, arms: float, constant: float = 2.0) -> float:
    """Minimax Optimal Strategy in the Stochastic case.

    Audibert and Bubeck's analysis suggests constant = 4 for rewards with sigma = 1; the paper finds
    2 better in practice and says that 2 + epsilon can be proved.

    Parameters
    ----------
    constant : float, optional
        Factor under the root, above 0.

    Examples
    --------
    >>> from ocucb import MOSS
    >>> MOSS(constant=4)
    MOSS(constant=4)
    >>> round(MOSS().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.5538
    """
    return sqrt(constant / pulls * log(max(1.0, horizon / (pulls * arms))))
