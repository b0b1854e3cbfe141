"""Information relaxation sampling, its simplest form: Min, Maglaras and Moallemi (2019)."""

from math import sqrt

from ._decorators import sampling_policy


@sampling_policy(
    name="irs-fh",
    label="IRS.FH",
    formula="mean + sigma * N(0, m / (T * (T + m))), m = n - t + 1, a fresh sample for every arm "
    "in every round",
    reference="Min, Maglaras and Moallemi (2019), Thompson sampling with information relaxation "
    "penalties, IRS.FH",
    unplayed_index="nonincreasing",
)
def IRSFH(pulls: float, t: float, horizon: float, arms: float) -> float:
    """Thompson sampling that knows the horizon: it samples what could be known at the end.

    If an arm were played in all m rounds that are left, its posterior mean would move by a normal
    number with variance sigma^2 (1 / T - 1 / (T + m)): that is sampled. With many rounds left it is
    Thompson sampling. Its paper is about Bayes regret.

    Examples
    --------
    >>> from ocucb import IRSFH
    >>> IRSFH()
    IRSFH()
    """
    rest = horizon - t + 1.0
    return sqrt(rest / (pulls * (pulls + rest)))
