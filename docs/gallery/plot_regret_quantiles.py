"""
Quantiles of the regret
=======================

A mean hides how much single runs scatter. The bands hold 50% and 90% of the runs, the line is the
median, the dashed line the mean.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb

gaps = np.geomspace(0.02, 1, 10)
figure, both = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for axes, policy, color in zip(both, ["ocucb", "ucb"], ["tab:red", "tab:blue"], strict=True):
    results = [ocucb.simulate(policy, ocucb.gap(gap=d), 10_000, 1000, rng=1)[0] for d in gaps]
    q5, q25, q50, q75, q95 = np.transpose(
        [one.quantile([0.05, 0.25, 0.5, 0.75, 0.95]) for one in results]
    )
    axes.fill_between(gaps, q5, q95, color=color, alpha=0.2, linewidth=0, label="90% of the runs")
    axes.fill_between(gaps, q25, q75, color=color, alpha=0.4, linewidth=0, label="50%")
    axes.plot(gaps, q50, color=color, label="median")
    axes.plot(gaps, [one.mean_regret for one in results], "--", color="black", label="mean")
    axes.set(title=results[0].label, xscale="log", xlabel="gap Δ", ylim=(0, None))
both[0].set_ylabel("regret")
both[0].legend()
plt.show()
