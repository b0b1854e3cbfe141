"""The Gittins index strategy for Bernoulli rewards with a uniform prior on the means."""

from typing import Any

from ..gittins import bernoulli_index, bernoulli_surrogate
from ..random import largest
from ._decorators import choice_policy, one_per_arm


@choice_policy(
    name="bernoulli-gittins",
    label="Gittins (Bernoulli)",
    formula="Gittins index given successes and failures, n - t + 1 rounds left, Beta(1, 1) prior",
    reference="Gittins (1979); Nino-Mora (2011), Computing a classic index for finite-horizon "
    "bandits",
    memory=one_per_arm,
    table=bernoulli_surrogate,
    binary=True,
    needs_sigma=False,
)
def BernoulliGittins(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    table: Any,
) -> int:  # fmt: skip
    """Play the arm with the largest finite-horizon Gittins index; horizons up to 5,000.

    The table takes about 10 s to compute at horizon 1,000 and is cached.

    Examples
    --------
    >>> from ocucb import BernoulliGittins
    >>> BernoulliGittins()
    BernoulliGittins()
    """
    for i in range(pulls.size):
        memory[i] = bernoulli_index(horizon - t + 1.0, sums[i], pulls[i] - sums[i], table)
    return largest(memory, stream)
