"""
Bonuses compared
================

What index policies add to the mean of an arm with T pulls, multiplied by the square
root of T: early (left) and late (right) in a run of 10,000 rounds with ten arms.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import figures

n, K = 10_000, 10
policies = [ocucb.UCB(), ocucb.OCUCB(), ocucb.AOCUCB(), ocucb.MOSS(), ocucb.Gittins()]
styles = figures.policy_styles(policy.name for policy in policies)
figure, both = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for axes, t in zip(both, (100, 9000), strict=True):
    pulls = np.unique(np.geomspace(1, t - K, 60).astype(int))
    for policy in policies:
        bonus = [policy.bonus(T, t, n, K) for T in pulls]
        color = styles[policy.name].color
        axes.plot(pulls, np.sqrt(pulls) * bonus, color=color, label=policy.label)
    axes.set(title=f"round {t:,}", xscale="log", xlabel="pulls T")
both[0].set_ylabel("√T · bonus")
both[1].legend()
plt.show()
