"""
KL-UCB's index
==============

The index of an arm with T pulls in round 1000, given its observed rate, for Bernoulli
rewards. KL-UCB takes into account that a rate near 0 or 1 is estimated more
precisely than one near 1/2; UCB does not.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import figures

figure, axes = plt.subplots(layout="constrained")
for T, style in ((25, figures.BLUE), (200, figures.RED)):
    rates = np.arange(T + 1) / T
    for policy, line in (("kl-ucb", "-"), ("ucb", "--")):
        indices = []
        for clicks in range(T + 1):
            bandit = ocucb.Bandit(
                ["arm", "other"], policy, horizon=1000, bounds=(0, 1), rng=1
            )
            bandit.tell(["arm"] * T, [1] * clicks + [0] * (T - clicks))
            bandit.tell(["other"] * (999 - T), [0] * (999 - T))
            indices.append(bandit.summary().index[0])
        label = f"{policy}, T = {T}"
        axes.plot(rates, indices, line, color=style.color, label=label)
axes.plot([0, 1], [0, 1], ":", color="grey")
axes.set(xlabel="observed rate", ylabel="index", xlim=(0, 1), ylim=(0, 1.5))
axes.legend()
plt.show()
