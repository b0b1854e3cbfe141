"""Which policy to use, as the league advises, for a problem that has not been played yet."""

from __future__ import annotations

from ..policies import FAMILIES, Policy
from ..problems import Problem
from .problems import kind_of

# By kind of reward (`problems.KINDS`): what the advice names for a horizon that is known, or the
# first of those that are not significantly worse than it and need no table.
NAMES = {
    "gaussian": "ocucb",
    "unequal": "ocucb-normal",
    "clicks": "kl-ocucb",
    "ratings": "kl-ocucb",
}


def recommended(problem: Problem) -> Policy:
    """Return a policy that the league advises, if the horizon is known.

    Examples
    --------
    >>> import ocucb
    >>> recommended(ocucb.bernoulli([0.03, 0.04]))
    KLOCUCB(alpha=3, psi=2)
    """
    return FAMILIES[NAMES[kind_of(problem)]]()
