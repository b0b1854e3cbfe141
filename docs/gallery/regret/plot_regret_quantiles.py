"""
Quantiles of the regret
=======================

A mean hides how much single runs vary. The bands contain 50% and 90% of the runs; the
solid line is the median, the dotted line the mean.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import figures

gaps, levels = np.geomspace(0.02, 1, 10), [0.05, 0.25, 0.5, 0.75, 0.95]
results = [
    ocucb.simulate(["ocucb", "ucb"], ocucb.gap(gap=d), 10_000, rng=1) for d in gaps
]

styles = figures.policy_styles(["ocucb", "ucb"])
figure, both = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for i, (axes, style) in enumerate(zip(both, styles.values(), strict=True)):
    color = style.color
    q5, q25, q50, q75, q95 = np.transpose(
        [result[i].quantile(levels) for result in results]
    )
    axes.fill_between(gaps, q5, q95, color=color, alpha=0.2, label="90% of the runs")
    axes.fill_between(gaps, q25, q75, color=color, alpha=0.4, label="50%")
    axes.plot(gaps, q50, color=color, label="median")
    axes.plot(
        gaps,
        [result[i].mean_regret for result in results],
        ":",
        color=figures.BLUE.color,
        label="mean",
    )
    axes.set(title=results[0][i].label, xscale="log", xlabel="gap Δ", ylim=(0, None))
both[0].set_ylabel("regret")
both[0].legend()
plt.show()
