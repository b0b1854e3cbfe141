"""
The Gittins index
=================

What an unknown Gaussian arm is worth above its mean, with m rounds left and T pulls
behind it. The more rounds are left, the more it pays to explore.
"""

import matplotlib.pyplot as plt
import numpy as np

from ocucb import gittins

m = np.unique(np.geomspace(2, 5000, 80).astype(int))
T = np.unique(np.geomspace(1, 1000, 80).astype(int))
g = gittins.index(m[:, None], T[None, :])

figure, axes = plt.subplots(layout="constrained")
surface = axes.pcolormesh(T, m, g, norm="log", shading="gouraud")
lines = axes.contour(
    T, m, g, levels=[0.001, 0.01, 0.1, 0.3, 1, 2], colors="white", linewidths=0.8
)
axes.clabel(lines, fmt="%g", fontsize=9)
axes.set(xscale="log", yscale="log", xlabel="pulls T", ylabel="rounds left m")
figure.colorbar(surface, label="g(m, T), in units of σ")
plt.show()
