"""
Regret against the gap
======================

Every policy has a hardest gap: with a small gap little is lost, and a large one is
detected at once. Two arms, 10,000 rounds; bars are two standard errors.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import figures

gaps = np.geomspace(0.03, 1, 8)
policies = ["ucb", "aocucb", "moss", "ocucb", "gittins"]
results = [ocucb.simulate(policies, ocucb.gap(K=2, gap=d), 10_000, rng=1) for d in gaps]

styles = figures.policy_styles(policies)
figure, axes = plt.subplots(layout="constrained")
for i, label in enumerate(player.label for player in results[0]):
    means = [result[i].mean_regret for result in results]
    errors = [2 * result[i].stderr[-1] for result in results]
    color = styles[policies[i]].color
    axes.errorbar(gaps, means, errors, marker=".", color=color, label=label)
axes.set(xscale="log", xlabel="gap Δ", ylabel="mean regret", ylim=(0, None))
axes.legend()
plt.show()
