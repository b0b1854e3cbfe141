"""
Pulls of each arm
=================

How often each of 20 arms is played in 100,000 rounds. The dotted line is the
lower bound of Lai and Robbins for n → ∞; at this n, policies may still be below it.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import figures

problem, n = ocucb.uniform_arms(20), 100_000
policies = ["ucb", "thompson", "moss", "ocucb"]
result = ocucb.simulate(policies, problem, n, 200, rng=1)

styles = figures.policy_styles(policies).values()
figure, axes = plt.subplots(layout="constrained")
arms = np.arange(1, problem.arms + 1)
for one, marker, style in zip(result, "osD^", styles, strict=True):
    look = {"marker": marker, "markersize": 4, "linewidth": 1, "color": style.color}
    axes.plot(arms, one.pulls, label=one.label, **look)
limit = 2 * np.log(n) / problem.gaps[1:] ** 2
axes.plot(arms[1:], limit, ":", color="black", label="2 log(n)/Δ²")
axes.set(yscale="log", xlabel="arm (the best is 1)", ylabel="mean number of pulls")
axes.set_xticks([1, 5, 10, 15, 20])
axes.legend()
plt.show()
