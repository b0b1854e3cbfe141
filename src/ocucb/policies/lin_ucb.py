"""LinUCB: Li, Chu, Langford and Schapire (2010), an upper confidence bound on a linear model."""

from ._decorators import above, at_least, linear_policy


@linear_policy(
    name="lin-ucb",
    label="LinUCB",
    formula="mean + sigma * constant * norm",
    reference="Li, Chu, Langford and Schapire (2010), A contextual-bandit approach to personalized "
    "news article recommendation",
    valid={"constant": at_least(0), "ridge": above(0)},
)
def LinUCB(
    mean: float, norm: float, t: float, horizon: float, dimension: float, arms: float, sigma: float,
    constant: float = 2.0, ridge: float = 1.0,
) -> float:  # fmt: skip
    """LinUCB with a constant width.

    Parameters
    ----------
    constant : float, optional
        Width of the confidence bound in standard errors, at least 0; 0 is the greedy policy.
    ridge : float, optional
        Penalty on the squared length of theta, above 0.

    Examples
    --------
    >>> from ocucb import LinUCB
    >>> LinUCB(constant=1)
    LinUCB(constant=1, ridge=1)
    """
    return mean + sigma * constant * norm
