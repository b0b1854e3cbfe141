"""
A run that fails
================

The best arm's first rewards are bad, its mean falls too low for its bonus to make up
for, and it is never played again. An ordinary run recovers.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import figures

n, gap = 10_000, 0.3
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
kinds = (0, "ordinary", figures.BLUE.color), (-1.8, "failure", figures.RED.color)
for luck, label, color in kinds:
    bandit = ocucb.Bandit(["best", "other"], "ocucb", horizon=n, sigma=1, rng=1)
    rng, rewards, regret = np.random.default_rng(1), [], np.zeros(n)
    for t in range(n):
        arm = bandit.ask()
        reward = rng.normal(-gap if arm == "other" else luck * (len(rewards) < 8))
        bandit.tell(arm, reward)
        rewards += [reward] * (arm == "best")
        regret[t] = gap * (t + 1 - len(rewards))
    pulls = np.arange(1, len(rewards) + 1)
    left.plot(pulls[:300], (np.cumsum(rewards) / pulls)[:300], ".-", color=color)
    right.plot(np.arange(1, n + 1), regret, color=color, label=label)
left.text(len(rewards) + 2, np.mean(rewards), "never played again", va="center")
left.axhline(0, color="grey", linewidth=0.8)
left.set(xscale="log", xlabel="pulls of the best arm", ylabel="its mean so far")
right.set(xscale="log", yscale="log", xlabel="round", ylabel="regret", ylim=(0.2, None))
right.legend()
plt.show()
