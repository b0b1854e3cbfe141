"""
A live bandit's dashboard
=========================

Five headlines after 10,000 visitors: means with intervals that stay valid however
often you look, and shares of the traffic. The crosses are the true rates.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocucb

rates = {"Plain": 0.30, "Question": 0.36, "Number": 0.44, "Quote": 0.33, "Pun": 0.27}
bandit = ocucb.Bandit(list(rates), "ocucb", horizon=20_000, bounds=(0, 1), rng=1)
world = np.random.default_rng(2)
for _ in range(100):
    shown = bandit.ask(100)
    bandit.tell(shown, [float(world.random() < rates[arm]) for arm in shown])

now = bandit.summary()
figure, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3), sharey=True, width_ratios=(3, 2), layout="constrained"
)
left.hlines(now.arms, now.low, now.high, linewidth=3, alpha=0.5, label="95% interval")
left.plot(now.mean, now.arms, "o", label="mean")
left.plot(list(rates.values()), now.arms, "x", color="black", label="truth")
left.set(xlabel="click rate")
left.invert_yaxis()
right.barh(now.arms, 100 * now.share, height=0.6)
right.set(xlabel="share of traffic, %", xlim=(0, 100))
figure.legend(loc="outside upper left", ncols=3)
plt.show()
