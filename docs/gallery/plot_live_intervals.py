"""
Intervals that one may watch
============================

Two pages shown in turn. Shaded: intervals that hold at all times at once, so that one may stop when
they part. Thin lines: the textbook's, which hold at one time only and part too early too often.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb

rates, world, seen = {"A": 0.40, "B": 0.47}, np.random.default_rng(4), []
bandit = ocucb.Bandit(list(rates), "uniform", horizon=10_000, bounds=(0, 1), rng=1)
for _ in range(200):
    for page, rate in rates.items():
        bandit.tell([page] * 25, (world.random(25) < rate).astype(float))
    seen.append(bandit.summary(level=0.975))  # both together: 95%

visitors = np.array([now.pulls.sum() for now in seen])
figure, axes = plt.subplots(layout="constrained")
for i, (page, rate) in enumerate(rates.items()):
    low, high, mean = np.transpose([(now.low[i], now.high[i], now.mean[i]) for now in seen])
    axes.fill_between(visitors, low, high, alpha=0.2, color=f"C{i}", linewidth=0, label=page)
    axes.axhline(rate, color=f"C{i}", linestyle="dotted")
    width = 2.24 * np.sqrt(mean * (1 - mean) / (visitors / 2))
    for edge in (mean - width, mean + width):
        axes.plot(visitors, edge, color=f"C{i}", linewidth=0.8)
apart = next(v for v, now in zip(visitors, seen, strict=True) if now.low[1] > now.high[0])
axes.axvline(apart, color="black", linewidth=0.8)
axes.annotate("B is better", (apart, 0.6), (6, 0), textcoords="offset points")
axes.set(xlabel="visitors", ylabel="rate of success (dotted: true)", ylim=(0.25, 0.65))
axes.legend(loc="lower right")
plt.show()
