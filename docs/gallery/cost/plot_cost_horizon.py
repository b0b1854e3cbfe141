"""
What a run costs
================

Seconds per run against the horizon. Playing step by step costs in proportion to n;
skip-ahead costs in proportion to log n.
"""

import matplotlib.pyplot as plt

import ocucb

problem = ocucb.gap(K=2, gap=0.3)
figure, axes = plt.subplots(layout="constrained")
for engine, largest in (("step", 6), ("skip", 9)):
    horizons = [10**k for k in range(3, largest + 1)]
    seconds = []
    for n in horizons:
        runs = max(10, 4 * 10**6 // n) if engine == "step" else 500
        one = ocucb.simulate(
            "ocucb",
            problem,
            n,
            runs,
            rng=1,
            engine=engine,
            sampling="plain",
            checkpoints=[n],
        )[0]
        seconds.append(one.seconds / runs)
    axes.plot(horizons, seconds, "o-", markersize=4, label=f'engine="{engine}"')
axes.set(xscale="log", yscale="log", xlabel="horizon n", ylabel="seconds per run")
axes.legend()
plt.show()
