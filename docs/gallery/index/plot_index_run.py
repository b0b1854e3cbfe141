"""
Indices during one run
======================

Three arms under OCUCB. The arm with the largest index is played, which lowers its
index; the indices stay close until the bonus no longer makes up for the gap.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb

means, n = {"best": 0.0, "second": -0.3, "third": -0.8}, 3000
bandit = ocucb.Bandit(list(means), "ocucb", horizon=n, sigma=1, rng=1)
world, seen = np.random.default_rng(5), []
for _ in range(n):
    arm = bandit.ask()
    bandit.tell(arm, world.normal(means[arm]))
    seen.append(bandit.summary())
figure, (top, below) = plt.subplots(
    2, 1, figsize=(7, 5), sharex=True, layout="constrained"
)
for i, arm in enumerate(means):
    top.plot(
        range(3, n + 1), [now.index[i] for now in seen[2:]], linewidth=1, label=arm
    )
    below.plot(range(1, n + 1), [now.pulls[i] for now in seen], label=arm)
    top.axhline(means[arm], color=f"C{i}", linestyle="dotted", linewidth=1)
top.set(xscale="log", ylabel="index (dotted: mean)", ylim=(-1, 4))
below.set(yscale="log", xlabel="round", ylabel="pulls")
top.legend()
plt.show()
