"""
Intervals you can watch
=======================

Two pages shown in turn. Shaded: intervals that hold at all times simultaneously, so
you may stop as soon as they separate. Thin lines: textbook intervals, which hold at
one fixed time only and too often separate too early.
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

mean, low, high, pulls = (
    np.array([getattr(now, name) for now in seen])
    for name in ("mean", "low", "high", "pulls")
)
textbook = 2.24 * np.sqrt(mean * (1 - mean) / pulls)
visitors = pulls.sum(axis=1)
figure, axes = plt.subplots(layout="constrained")
for i, (page, rate) in enumerate(rates.items()):
    axes.fill_between(visitors, low[:, i], high[:, i], alpha=0.2, label=page)
    axes.plot(visitors, (mean - textbook)[:, i], color=f"C{i}", linewidth=0.8)
    axes.plot(visitors, (mean + textbook)[:, i], color=f"C{i}", linewidth=0.8)
    axes.axhline(rate, color=f"C{i}", linestyle="dotted")
parted = visitors[np.argmax(low[:, 1] > high[:, 0])]
axes.axvline(parted, color="black", linewidth=0.8)
axes.text(parted + 100, 0.6, "B is better")
axes.set(xlabel="visitors", ylabel="rate of success (dotted: true)", ylim=(0.25, 0.65))
axes.legend(loc="lower right")
plt.show()
