"""
Regret against the horizon
==========================

Horizons up to a billion rounds, which skip-ahead plays in milliseconds. On a
logarithmic axis, logarithmic regret is a straight line.
"""

import matplotlib.pyplot as plt

import ocucb
from ocucb import figures

horizons = [10**k for k in range(2, 10)]
policies = ["ucb", "moss", "aocucb", "ocucb"]
problem = ocucb.gap(K=2, gap=0.3)
results = [
    ocucb.simulate(policies, problem, n, rng=1, checkpoints=[n]) for n in horizons
]

styles = figures.policy_styles(policies)
figure, axes = plt.subplots(layout="constrained")
for i, label in enumerate(player.label for player in results[0]):
    means = [result[i].mean_regret for result in results]
    errors = [2 * result[i].stderr[-1] for result in results]
    color = styles[policies[i]].color
    axes.errorbar(horizons, means, errors, marker=".", color=color, label=label)
axes.set(xscale="log", xlabel="horizon n", ylabel="mean regret", ylim=(0, None))
axes.legend()
plt.show()
