"""
Mean and standard deviation
===========================

What OCUCB's α buys: a larger one explores more, which costs mean regret and saves disasters. Other
policies are points beside the curve; down and to the left is better.
"""

import matplotlib.pyplot as plt

import ocucb

problem, n, alphas = ocucb.gap(K=2, gap=0.3), 10_000, [2.2, 2.6, 3, 3.5, 4, 5, 6, 8, 12, 20]
curve = ocucb.simulate([ocucb.OCUCB(alpha=a) for a in alphas], problem, n, 4000, rng=1)
others = ocucb.simulate(["moss", "adaucb", "thompson", "ucb", "gittins"], problem, n, 4000, rng=1)

figure, axes = plt.subplots(layout="constrained")
x, y = [one.mean_regret for one in curve], [one.deviation.value for one in curve]
axes.plot(x, y, ".-", color="tab:red", label="OCUCB, α as marked")
for a, place in zip(alphas, zip(x, y, strict=True), strict=True):
    axes.annotate(f"{a:g}", place, (3, 5), textcoords="offset points", fontsize=8, color="tab:red")
for one, marker in zip(others, "Ds^vP", strict=True):
    axes.plot(one.mean_regret, one.deviation.value, marker, label=one.label)
axes.set(xlabel="mean regret", ylabel="standard deviation of the regret", yscale="log")
axes.set_yticks([10, 20, 50, 100], ["10", "20", "50", "100"])
axes.minorticks_off()
axes.legend()
plt.show()
