"""
How often runs fail
===================

The probability of a failure against α, measured with tilted runs down to one in
millions, and estimated without a simulation, as the probability that a random walk
crosses a boundary.
"""

import matplotlib.pyplot as plt

import ocucb
from ocucb import figures, theory

problem, n, alphas = ocucb.gap(K=2, gap=0.3), 10_000, [2.2, 2.6, 3, 3.5, 4, 5, 6]
policies = [ocucb.OCUCB(alpha=a) for a in alphas]
result = ocucb.simulate(policies, problem, n, 10_000, rng=1, sampling="tilted")
expected = [
    theory.tail_estimate(policy, problem, n, regret=0.3 * n / 2) for policy in policies
]

figure, axes = plt.subplots(layout="constrained")
p, error = (
    [player.failure.value for player in result],
    [2 * player.failure.stderr for player in result],
)
look = {"fmt": "o", "markersize": 4, "color": figures.RED.color}
axes.errorbar(alphas, p, error, label="measured ± 2 s.e.", **look)
axes.plot(alphas, expected, "--", color=figures.BLUE.color, label="tail_estimate")
axes.set(yscale="log", xlabel="α of OCUCB", ylabel="P(failure)")
axes.legend()
plt.show()
