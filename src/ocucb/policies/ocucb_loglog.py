"""OCUCB with alpha = 2 and a log log term: suggested in Lattimore (2015).

The paper states no formula, only "setting alpha = 2 and adding an additional O(log log t) bonus as
in KL-UCB". KL-UCB adds c log log t to the logarithm; so does this. Checked against the paper.
"""

from math import log, sqrt

from ._decorators import at_least, between, index_policy


@index_policy(
    name="ocucb-loglog",
    label="OCUCB (log log)",
    formula="mean + sigma * sqrt(2 / T * (log(psi * n / t) + c * log(max(1, log(t)))))",
    reference="Lattimore (2015), Optimally confident UCB, section on improving constants",
    valid={"c": between(0, 1), "psi": at_least(1)},
    unplayed_index="nonincreasing",
    concave=True,
)
def OCUCBLogLog(
    pulls: float, t: float, horizon: float, arms: float, c: float = 1.0, psi: float = 2.0
) -> float:
    """OCUCB on the edge of its theorem, with the term that may make it asymptotically optimal.

    The paper expects this for Gaussian rewards; nothing is proved. With c > 1 the index of an
    unplayed arm could rise, so c is at most 1.

    Parameters
    ----------
    c : float, optional
        Factor of the log log term, from 0 to 1.
    psi : float, optional
        Factor in the logarithm, at least 1.

    Examples
    --------
    >>> from ocucb import OCUCBLogLog
    >>> round(OCUCBLogLog().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.5038
    """
    return sqrt(2.0 / pulls * (log(psi * horizon / t) + c * log(max(1.0, log(t)))))
