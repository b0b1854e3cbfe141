"""
Tails
=====

The probability that regret exceeds x. A plateau means failures: runs either go
well or cost nearly n Δ. A slope means that the policy returns to a neglected arm
sooner or later.
"""

import matplotlib.pyplot as plt

import ocucb
from ocucb import figures

policies = ["ucb", "thompson", "moss", "ocucb"]
result = ocucb.simulate(policies, ocucb.gap(K=2, gap=0.3), 10_000, 8000, rng=1)

styles = figures.policy_styles(policies).values()
figure, axes = plt.subplots(layout="constrained")
for player, style in zip(result, styles, strict=True):
    x, p, error = player.tail_curve()
    seen = p > 1e-6
    axes.plot(x[seen], p[seen], color=style.color, label=player.label)
    low, high = (p - 2 * error)[seen].clip(1e-9), (p + 2 * error)[seen]
    axes.fill_between(x[seen], low, high, color=style.color, alpha=0.2, linewidth=0)
axes.set(xscale="log", yscale="log", xlabel="x", ylabel="P(regret > x)")
axes.set(xlim=(5, 4000), ylim=(3e-6, 1.5))
axes.legend()
plt.show()
