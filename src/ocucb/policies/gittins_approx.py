"""A closed-form approximation of the Gittins index: Lattimore (2016)."""

from .._compile import inlined
from ..gittins import approximate_offset
from ._decorators import index_policy

_offset = inlined(approximate_offset)


@index_policy(
    name="gittins-approx",
    label="Gittins (approx.)",
    formula="mean + sigma * sqrt(2 / T * log(beta)), beta = max(1, min(M / (4 log(M)^1.5), "
    "M / (4 T sqrt(log(M / T))))), M = n - t",
    reference="Lattimore (2016), Regret analysis of the finite-horizon Gittins index strategy",
)
def GittinsApprox(pulls: float, t: float, horizon: float, arms: float) -> float:
    """The closed form that the paper's author proposes in place of the Gittins index.

    Where a logarithm is not positive (M <= 1 or M <= T), the bonus is 0. `unplayed_index` is not
    declared, because for T < M < 1.066 T the index of an unplayed arm can rise.

    Examples
    --------
    >>> from ocucb import GittinsApprox
    >>> round(GittinsApprox().bonus(pulls=10, t=1, horizon=10_000, arms=2), 6)
    0.947995
    """
    return _offset(pulls, t, horizon)
