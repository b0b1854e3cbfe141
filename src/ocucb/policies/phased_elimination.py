"""Phased elimination with an optimal design: Lattimore and Szepesvári (2020), algorithm 12."""

from math import ceil, log
from typing import Any

from ._decorators import above, linear_policy
from ._linear import optimal_design, weighted_inverse

_TINY = 1e-9  # in place of zero where arms do not span the space


def _memory(arms: int, dimension: int) -> int:
    return 2 + 5 * arms + 2 * dimension**2 + dimension


@linear_policy(
    name="phased-elimination",
    label="Phased elimination",
    formula="in phase l plays a G-optimal design on the arms that are left, then drops arms that "
    "seem worse by more than 2^(1-l)",
    reference="Lattimore and Szepesvári (2020), Bandit algorithms, algorithm 12",
    valid={"delta": above(0)},
    memory=_memory,
    fixed_actions=True,
)
def PhasedElimination(
    t: float, horizon: float, model: Any, sigma: float, memory: Any, stream: Any, delta: float = 1.0
) -> int:
    """Phased elimination: estimates of a phase use its own rewards only.

    In phase l, arm i gets ``ceil(2 d sigma^2 design_i log(K l (l + 1) n / delta) / 4^-l)`` pulls.

    Parameters
    ----------
    delta : float, optional
        Confidence: the best arm is dropped with probability at most delta / n.

    Examples
    --------
    >>> from ocucb import PhasedElimination
    >>> PhasedElimination()
    PhasedElimination(delta=1)
    """
    x, K, d = model.features, model.pulls.size, model.features.shape[1]
    dropped, planned = memory[2 : 2 + K], memory[2 + K : 2 + 2 * K]
    pulls, sums = memory[2 + 2 * K : 2 + 3 * K], memory[2 + 3 * K : 2 + 4 * K]
    active, rest = memory[2 + 4 * K : 2 + 5 * K], memory[2 + 5 * K :]
    gram, inverse = rest[: d * d].reshape(d, d), rest[d * d : 2 * d * d].reshape(d, d)
    weights = rest[2 * d * d :]
    while True:
        arm = int(memory[1])  # those before it have had their pulls in this phase
        while arm < K and model.pulls[arm] - pulls[arm] >= planned[arm]:
            arm += 1
        memory[1] = arm
        if arm < K and memory[0] > 0.0:
            return arm
        width = 0.5 ** memory[0]
        if memory[0] > 0.0:  # the phase is over
            for i in range(K):
                pulls[i], sums[i] = model.pulls[i] - pulls[i], model.sums[i] - sums[i]
            weighted_inverse(x, pulls, _TINY, gram, inverse)
            for i in range(d):
                weights[i] = 0.0
                for arm in range(K):
                    for j in range(d):
                        weights[i] += inverse[i, j] * x[arm, j] * sums[arm]
            best = -1
            for arm in range(K):
                planned[arm] = 0.0
                for i in range(d):
                    planned[arm] += x[arm, i] * weights[i]
                if dropped[arm] == 0.0 and (best < 0 or planned[arm] > planned[best]):
                    best = arm
            for arm in range(K):
                if planned[best] - planned[arm] > 2.0 * width:
                    dropped[arm] = 1.0
        left = 0
        for arm in range(K):
            active[arm] = 1.0 - dropped[arm]
            left += active[arm] > 0.0
            pulls[arm], sums[arm] = model.pulls[arm], model.sums[arm]
        memory[0] += 1.0
        memory[1] = 0.0
        if left == 1:
            for arm in range(K):
                planned[arm] = horizon * active[arm]
            continue
        rank = optimal_design(x, active, _TINY, planned, gram, inverse)
        phase = memory[0]
        level = log(K * phase * (phase + 1.0) * horizon / delta)
        for arm in range(K):
            if planned[arm] > 0.0:
                count = 2.0 * rank * sigma * sigma * planned[arm] * level * 4.0**phase
                planned[arm] = min(horizon, float(ceil(count)))
