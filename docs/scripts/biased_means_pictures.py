"""Draw the pictures of docs/biased-means.md, and print its table.

python docs/scripts/biased_means_pictures.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import ocucb
from ocucb.inference.sequences import normal_interval

RUNS, ROUNDS, SEED = 20_000, 1000, 1
PICTURES = Path(__file__).parent.parent / "pictures"
BLUE, RED = "#2a78d6", "#e34948"


def played(policy: str) -> tuple[np.ndarray, np.ndarray]:
    """Play two equal arms with normal rewards, all runs at once; return final pulls and sums."""
    rng, rows = np.random.default_rng(SEED), np.arange(RUNS)
    sums, pulls = rng.normal(size=(RUNS, 2)), np.ones((RUNS, 2))
    for t in range(3, ROUNDS + 1):
        if policy == "in turn":
            arm = np.full(RUNS, t % 2)
        else:
            bonus = np.sqrt(3.0 / pulls * np.log(2.0 * ROUNDS / t))  # of OCUCB
            if policy == "thompson":
                bonus = rng.normal(size=(RUNS, 2)) / np.sqrt(pulls)
            elif policy == "greedy":
                bonus = 0.0
            arm = (sums / pulls + bonus).argmax(axis=1)
        sums[rows, arm] += rng.normal(size=RUNS)
        pulls[rows, arm] += 1
    return pulls, sums


def main() -> None:
    """Write the pictures and print the table."""
    t, n = 57, ROUNDS
    assert ocucb.OCUCB().bonus(pulls=4, t=t, horizon=n, arms=2) == np.sqrt(
        3 / 4 * np.log(2 * n / t)
    )
    games = {name: played(name) for name in ("in turn", "thompson", "ocucb", "greedy")}
    for name, (pulls, sums) in games.items():
        mean = (sums / pulls)[:, 0]
        z = mean * np.sqrt(pulls[:, 0])
        low, high = normal_interval(mean, pulls[:, 0], 1.0, 0.95)
        held = (low <= 0) & (high >= 0)
        print(
            f"| {name} | {mean.mean():.3f} ± {mean.std() / np.sqrt(RUNS):.3f} "
            f"| {pulls[:, 0].std():.0f} | {(abs(z) <= 1.96).mean():.1%} "
            f"| {(z < -1.96).mean():.1%} | {held.mean():.1%} |"
        )

    pulls, sums = games["ocucb"]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    grid = np.linspace(-4.5, 4.5, 300)
    z = sums[:, 0] / np.sqrt(pulls[:, 0])
    left, right = axes
    left.hist(
        z, bins=np.linspace(-4.5, 4.5, 91), density=True, color=BLUE, alpha=0.6, label="OCUCB"
    )
    left.plot(grid, stats.norm.pdf(grid), color="black", lw=1, label="normal")
    left.axvspan(-4.5, -1.96, color=RED, alpha=0.12, lw=0)
    left.axvspan(1.96, 4.5, color=RED, alpha=0.12, lw=0, label="outside the textbook interval")
    left.set(
        xlabel="(mean − true mean) · √pulls", ylabel="density", xlim=(-4.5, 4.5), ylim=(0, 0.58)
    )
    left.legend(frameon=False, fontsize=8, loc="upper left")
    some = slice(0, 3000)
    right.scatter(pulls[some, 0], (sums / pulls)[some, 0], s=2, color=BLUE, alpha=0.5, lw=0)
    right.axhline(0, color="black", lw=1)
    right.set(xlabel="pulls of the arm", ylabel="its mean at the end (true: 0)", ylim=(-1.5, 1))
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURES / "biased-means.png", dpi=130)

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for name, label, color in (
        ("thompson", "Thompson sampling", "#1baf7a"), ("ocucb", "OCUCB", BLUE)
    ):  # fmt: skip
        pulls, sums = games[name]
        mean = (sums / pulls)[:, 0]
        tenths = np.array_split(np.argsort(pulls[:, 0], kind="stable"), 10)
        values = [mean[tenth].mean() for tenth in tenths]
        axes.plot(range(1, 11), values, "o-", markersize=4, color=color, label=label)
    axes.axhline(0, color="black", lw=0.8)
    axes.set(
        xlabel="runs, from the tenth with the fewest pulls of the arm to the tenth with the most",
        ylabel="its mean on average (true: 0)",
        xticks=range(1, 11),
    )
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURES / "biased-means-tenths.png", dpi=130)


if __name__ == "__main__":
    main()
