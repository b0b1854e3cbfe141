"""
Pulls of each arm
=================

How often each of 20 arms is played in 100,000 rounds. The dotted line is the
lower bound of Lai and Robbins for n → ∞; at this n, policies may still be below it.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb

problem, n = ocucb.uniform_arms(20), 100_000
result = ocucb.simulate(["ucb", "thompson", "moss", "ocucb"], problem, n, 200, rng=1)

figure, axes = plt.subplots(layout="constrained")
arms = np.arange(1, problem.arms + 1)
for one, marker in zip(result, "osD^", strict=True):
    axes.plot(
        arms, one.pulls, marker=marker, markersize=4, linewidth=1, label=one.label
    )
limit = 2 * np.log(n) / problem.gaps[1:] ** 2
axes.plot(arms[1:], limit, ":", color="black", label="2 log(n)/Δ²")
axes.set(yscale="log", xlabel="arm (the best is 1)", ylabel="mean number of pulls")
axes.set_xticks([1, 5, 10, 15, 20])
axes.legend()
plt.show()
