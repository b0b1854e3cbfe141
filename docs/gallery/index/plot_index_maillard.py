"""
Probabilities of randomised policies
====================================

Two arms, one observed to be behind: how likely Maillard sampling and Thompson
sampling are to play it. For Maillard sampling this probability has a closed form
for any number of arms, so it can be logged with every decision.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import ocucb
from ocucb import figures

behind = np.linspace(0, 1, 101)
figure, axes = plt.subplots(layout="constrained")
counts = (10, 40, 160)
for T, style in zip(counts, figures.shades(3), strict=True):
    chances = [
        ocucb.Maillard().probabilities(2 * T + 1, 1000, [T, T], [0, -T * d], sigma=1)[1]
        for d in behind
    ]
    axes.plot(behind, chances, color=style.color, label=f"Maillard, {T} pulls each")
    axes.plot(behind, norm.sf(behind * np.sqrt(T / 2)), "--", color=style.color)
axes.plot([], [], "--", color="grey", label="Thompson sampling")
axes.set(xlabel="observed gap", ylabel="probability of the arm behind", yscale="log")
axes.set(xlim=(0, 1), ylim=(1e-5, 1))
figure.legend(loc="outside upper center", ncols=2)
plt.show()
