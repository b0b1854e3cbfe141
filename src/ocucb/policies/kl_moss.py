"""KL-MOSS: MOSS's confidence level with the divergence of the rewards."""

from math import log

from ._decorators import fair_share, kl_policy


@kl_policy(
    name="kl-moss",
    label="KL-MOSS",
    formula="largest q with T * kl(mean, q) <= log+(n / (K T))",
    reference="Audibert and Bubeck (2009), Minimax policies for bandits, for the level; Garivier, "
    "Hadiji, Menard and Stoltz (2022), KL-UCB-switch, for the index",
    unplayed_index="constant",
    concave=True,
    concave_until=fair_share,
)
def KLMOSS(pulls: float, t: float, horizon: float, arms: float) -> float:
    """MOSS with the divergence of the rewards in place of a square root.

    It is KL-UCB-switch that never switches. Nothing is proved for Bernoulli rewards: the switch,
    and the larger budget of KL-UCB++, are what proofs of minimax optimality need. For Gaussian
    rewards this is MOSS with constant 2.

    Examples
    --------
    >>> from ocucb import KLMOSS
    >>> round(KLMOSS().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.5538
    """
    return log(max(1.0, horizon / (arms * pulls)))
