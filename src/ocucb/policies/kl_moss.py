"""KL-MOSS: MOSS's confidence level with the divergence of the rewards."""

from math import log

from ._base import kl_policy


def _concave_until(horizon: float, arms: float) -> float:
    return horizon / arms


@kl_policy(
    name="kl-moss",
    label="KL-MOSS",
    formula="largest q with T * kl(mean, q) <= log+(n / (K T))",
    reference="Audibert and Bubeck (2009), Minimax policies for bandits, for the level; Garivier, "
    "Hadiji, Menard and Stoltz (2022), KL-UCB-switch, for the index",
    unplayed_index="constant",
    concave=True,
    concave_until=_concave_until,
)
def KLMOSS(pulls: float, t: float, horizon: float, arms: float) -> float:
    """MOSS with the divergence of the rewards in place of a square root.

    It is KL-UCB-switch that never switches. Nothing is proved for rewards of 0 and 1: the switch,
    and the larger budget of KL-UCB++, are what proofs of minimax optimality need. For Gaussian
    rewards this is MOSS with constant 2.

    Examples
    --------
    >>> from ocucb import KLMOSS
    >>> KLMOSS()
    KLMOSS()
    >>> round(KLMOSS().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.5538
    """
    return log(max(1.0, horizon / (arms * pulls)))
