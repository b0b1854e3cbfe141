"""
Regret over time
================

Ten arms. Policies that know the horizon explore early; UCB, which does not, keeps
exploring. Bands are two standard errors.
"""

import matplotlib.pyplot as plt

import ocucb

problem = ocucb.gap(K=10, gap=0.3)
policies = ["ucb", "thompson", "moss", "ocucb"]
rounds = range(500, 20_001, 500)
result = ocucb.simulate(policies, problem, 20_000, rng=1, checkpoints=rounds)

figure, axes = plt.subplots(layout="constrained")
for player in result:
    (line,) = axes.plot(player.checkpoints, player.regret, label=player.label)
    low, high = player.regret - 2 * player.stderr, player.regret + 2 * player.stderr
    axes.fill_between(
        player.checkpoints, low, high, color=line.get_color(), alpha=0.25, linewidth=0
    )
axes.set(xlabel="round t", ylabel="mean regret", xlim=(0, 20_000), ylim=(0, None))
axes.legend()
plt.show()
