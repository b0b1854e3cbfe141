"""
Mean and standard deviation
===========================

What OCUCB's α buys: a larger α explores more, which costs mean regret and avoids
disasters. Other policies are single points; down and to the left is better.
"""

import matplotlib.pyplot as plt

import ocucb
from ocucb import figures

alphas = [2.4, 2.7, 3, 3.5, 4, 5, 6, 8, 12, 20]
policies = [ocucb.OCUCB(alpha=a) for a in alphas]
others = ["moss", "adaucb", "thompson", "ucb", "gittins"]
policies += others
result = ocucb.simulate(policies, ocucb.gap(K=2, gap=0.3), 10_000, 4000, rng=1)
points = [(player.mean_regret, player.deviation.value) for player in result]

figure, axes = plt.subplots(layout="constrained")
styles = figures.policy_styles(["ocucb", *others])
color = styles.pop("ocucb").color
axes.plot(
    *zip(*points[:10], strict=True), ".-", color=color, label="OCUCB, α as marked"
)
for a, place in zip(alphas, points[:10], strict=True):
    axes.annotate(f"{a:g}", place, (3, 5), textcoords="offset points", fontsize=8)
for i, (marker, style) in enumerate(zip("Ds^vP", styles.values(), strict=True), 10):
    axes.plot(*points[i], marker, color=style.color, label=result[i].label)
axes.set(xlabel="mean regret", ylabel="standard deviation of the regret", yscale="log")
axes.set_yticks([10, 20, 50, 100], ["10", "20", "50", "100"])
axes.minorticks_off()
axes.legend()
plt.show()
