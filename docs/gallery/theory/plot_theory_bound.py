"""
A bound and measured regret
===========================

UCB with a constant for which its bound is proved: the bound holds, and is 4 to about
20 times too large. The lower bound follows from the upper one: a policy that guarantees
this much on all problems must explore.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import figures, theory

means, n = [0.0, -0.5], 10**8
horizons = np.geomspace(100, n, 30).astype(int)
problem = ocucb.gaussian(means)
one = ocucb.simulate("ucb:constant=8", problem, n, 200, rng=1, checkpoints=horizons)[0]
upper = [theory.ucb_bound(means, t).value for t in horizons]
lower = [theory.promise_lower_bound(theory.ucb_bound, means, t).value for t in horizons]

figure, axes = plt.subplots(layout="constrained")
axes.plot(horizons, upper, "--", color=figures.GREY, label="proved: at most")
color = figures.POLICY_STYLES["ucb"].color
axes.plot(one.checkpoints, one.regret, color=color, label=one.label + ", measured")
axes.plot(horizons, lower, ":", color=figures.GREY, label="proved: at least")
axes.fill_between(horizons, lower, upper, color="grey", alpha=0.1, linewidth=0)
axes.set(xscale="log", yscale="log", xlabel="round", ylabel="regret", ylim=(0.3, None))
axes.legend()
plt.show()
