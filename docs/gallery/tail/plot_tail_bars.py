"""
Error bars, plain and tilted
============================

Twenty simulations of 1000 runs each. Plain runs seldom contain a failure, so
their error bars are too short or far too long; red ones miss the true mean. Tilted
sampling makes failures common and weights them.
"""

import matplotlib.pyplot as plt

import ocucb
from ocucb import figures

problem, n = ocucb.gap(K=2, gap=0.3), 10_000
truth = ocucb.simulate("ocucb", problem, n, 20_000, rng=0)[0].mean_regret
figure, both = plt.subplots(1, 2, figsize=(8, 4), sharex=True, layout="constrained")
for axes, sampling in zip(both, ["plain", "tilted"], strict=True):
    for seed in range(1, 21):
        one = ocucb.simulate("ocucb", problem, n, 1000, rng=seed, sampling=sampling)[0]
        error = 2 * one.stderr[-1]
        covers = abs(one.mean_regret - truth) < error
        color = (figures.BLUE if covers else figures.RED).color
        axes.errorbar(
            one.mean_regret, seed, xerr=error, fmt="o", markersize=3, color=color
        )
    axes.axvline(truth, color="black", linewidth=1)
    axes.set(title=sampling, xlabel="mean regret ± 2 standard errors", yticks=[])
plt.show()
