"""
Clicks
======

Ten banners with click rates of 10, 5, 2 and 1%. Solid: policies made for Bernoulli
rewards. Dashed: policies that know only that rewards lie between 0 and 1; MOSS and
OCUCB know the horizon.
"""

import matplotlib.pyplot as plt

import ocucb
from ocucb import figures

problem = ocucb.bernoulli([0.1, *[0.05] * 3, *[0.02] * 3, *[0.01] * 3])
rounds = range(250, 10_001, 250)
policies = ["ucb", "moss", "ocucb", "kl-ucb", "imed", "beta-thompson"]
result = ocucb.simulate(policies, problem, 10_000, 150, rng=1, checkpoints=rounds)

styles = figures.policy_styles(policies)
figure, axes = plt.subplots(layout="constrained")
for i, one in enumerate(result):
    color, line = styles[policies[i]].color, "--" if i < 3 else "-"
    axes.plot(one.checkpoints, one.regret, line, color=color, label=one.label)
axes.set(xlabel="visitors", ylabel="clicks lost", xlim=(0, 10_000), ylim=(0, None))
axes.legend()
plt.show()
