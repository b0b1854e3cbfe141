"""
The lower bound of Lai and Robbins
==================================

For every policy that does well on all problems, regret divided by log n tends to at
least 2/Δ. The limit is approached slowly from below: at a billion rounds only UCB has
reached it.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import figures, theory

problem, horizons = ocucb.gap(K=2, gap=0.3), [10**k for k in range(2, 10)]
figure, axes = plt.subplots(layout="constrained")
for policy in ("ucb", "aocucb", "adaucb", "ocucb"):
    found = [
        ocucb.simulate(policy, problem, n, rng=1, checkpoints=[n])[0] for n in horizons
    ]
    ratio = [result.mean_regret / np.log(result.horizon) for result in found]
    color = figures.POLICY_STYLES[policy].color
    axes.plot(horizons, ratio, ".-", color=color, label=found[0].label)
limit = theory.lai_robbins(problem.means, 1e9).value / np.log(1e9)
axes.axhline(limit, color=figures.GREY, linestyle="dashed", label="lower bound, 2/Δ")
axes.set(xscale="log", xlabel="horizon n", ylabel="mean regret / log n", ylim=(0, None))
axes.legend()
plt.show()
