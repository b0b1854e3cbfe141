"""
Where MOSS fails
================

One arm is worse by 1/(4K), the others by 1, and n = K³. The bonus of MOSS vanishes
after n/K = K² pulls, too early to tell the two best arms apart, so its regret grows
faster with K than OCUCB's.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import figures

arms, policies = np.array([5, 10, 20, 50, 100, 200, 500, 1000]), ["moss", "ocucb"]
results = [
    ocucb.simulate(policies, ocucb.moss_failure(K), K**3, 20, rng=1) for K in arms
]

figure, axes = plt.subplots(layout="constrained")
for i, marker in enumerate("Do"):
    means = [result[i].mean_regret for result in results]
    errors = [2 * result[i].stderr[-1] for result in results]
    look = {"marker": marker, "color": figures.POLICY_STYLES[policies[i]].color}
    label = results[0][i].label
    axes.errorbar(arms, means / arms, errors / arms, label=label, **look)
axes.set(xscale="log", xlabel="arms K", ylabel="mean regret after K³ rounds, over K")
axes.set_xticks(arms, [f"{K}" for K in arms])
axes.minorticks_off()
axes.legend(loc="upper left")
plt.show()
