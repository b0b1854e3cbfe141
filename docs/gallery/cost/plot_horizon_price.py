"""
The price of an unknown horizon
===============================

Mean regret of policies that do not need the horizon, divided by that of their
counterparts that know it. Two arms, gap 0.3; bars are two standard errors.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import figures

problem, horizons = (
    ocucb.gap(K=2, gap=0.3),
    [100, 300, 1000, 3000, 10_000, 30_000, 100_000],
)
figure, axes = plt.subplots(layout="constrained")
for knows, anytime in (("ocucb", "ocucb-n"), ("moss", "moss-anytime")):
    results = [ocucb.simulate([knows, anytime], problem, n, rng=1) for n in horizons]
    means = np.array([[player.mean_regret for player in result] for result in results])
    shares = (
        np.array([[player.stderr[-1] for player in result] for result in results])
        / means
    )
    ratio = means[:, 1] / means[:, 0]
    label = f"{results[0][1].label} / {results[0][0].label}"
    look = {"marker": ".", "color": figures.POLICY_STYLES[knows].color}
    axes.errorbar(horizons, ratio, 2 * ratio * np.hypot(*shares.T), label=label, **look)
axes.axhline(1, color="black", linewidth=0.8)
axes.set(xscale="log", xlabel="horizon n", ylabel="ratio of mean regrets")
axes.legend()
plt.show()
