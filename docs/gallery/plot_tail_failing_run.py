"""
A run that fails
================

The best arm's first rewards happen to be bad, its mean falls too low for its bonus, and it is never
played again. An ordinary run recovers.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for luck, label, color in ((0, "ordinary", "tab:blue"), (-1.8, "failure", "tab:red")):
    rng, means, pulls = np.random.default_rng(1), [], []
    bandit = ocucb.Bandit(["best", "other"], "ocucb", horizon=10_000, sigma=1, rng=1)
    total = count = 0
    for _ in range(10_000):
        arm = bandit.ask()
        mean = -0.3 if arm == "other" else luck * (count < 8)  # eight unlucky rewards
        reward = rng.normal(mean)
        bandit.tell(arm, reward)
        if arm == "best":
            total, count = total + reward, count + 1
            means.append(total / count)
        pulls.append(count)
    left.plot(range(1, count + 1)[:300], means[:300], ".-", markersize=4, color=color, label=label)
    t = np.arange(1, 10_001)
    right.plot(t, 0.3 * (t - pulls), color=color)
left.annotate("never played again", (count, means[-1]), (10, 8), textcoords="offset points")
left.axhline(0, color="grey", linewidth=0.8)
left.axhline(-0.3, color="grey", linewidth=0.8, linestyle="dashed")
left.set(xscale="log", xlabel="pulls of the best arm", ylabel="its mean so far")
left.legend()
right.set(xscale="log", yscale="log", xlabel="round", ylabel="regret", ylim=(0.2, None))
plt.show()
