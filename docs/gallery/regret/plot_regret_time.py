"""
Regret over time
================

Ten arms. Policies that know the horizon explore early; UCB, which does not, keeps
exploring. Bands are two standard errors.
"""

import matplotlib.pyplot as plt

import ocucb
from ocucb import figures

problem = ocucb.gap(K=10, gap=0.3)
policies = ["ucb", "thompson", "moss", "ocucb"]
rounds = range(500, 20_001, 500)
result = ocucb.simulate(policies, problem, 20_000, rng=1, checkpoints=rounds)

styles = figures.policy_styles(policies)
figure, axes = plt.subplots(layout="constrained")
for policy, player in zip(policies, result, strict=True):
    color = styles[policy].color
    axes.plot(player.checkpoints, player.regret, color=color, label=player.label)
    low, high = player.regret - 2 * player.stderr, player.regret + 2 * player.stderr
    axes.fill_between(
        player.checkpoints, low, high, color=color, alpha=0.25, linewidth=0
    )
axes.set(xlabel="round t", ylabel="mean regret", xlim=(0, 20_000), ylim=(0, None))
axes.legend()
plt.show()
