"""Draw the front page's picture, its animation, and the badges of README.md, in a few minutes.

python docs/scripts/front_page.py [curves] [race] [badges]
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

import ocucb
from ocucb.figures import BLUE, GREEN, RED

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"


def curves() -> None:
    """Draw the picture of README.md's example."""
    problems = [ocucb.gap(K=2, gap=0.02 * k) for k in range(1, 51)]
    result = ocucb.sweep(["ocucb", "ucb", "moss"], problems, 10_000, rng=1)
    result.plot(PICTURES / "front-page.png")
    print(result[0].maximum().regret)


HORIZON = 150
MEANS = (0.0, -0.5, -1.0)
SHOWN = 75  # frames, each of two rounds


def played(seed: int = 35) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
    """Return means, bonuses, pulls and the arm that is played, before every round of one run."""
    rng = np.random.default_rng(seed)
    pulls, sums, rows = np.zeros(3, dtype=int), np.zeros(3), []
    bonus = ocucb.OCUCB().bonus
    for t in range(1, HORIZON + 1):
        if t <= 3:
            arm = t - 1
        else:
            bonuses = np.array([bonus(int(count), t, HORIZON, 3) for count in pulls])
            arm = int(np.argmax(sums / pulls + bonuses))
            rows.append((sums / pulls, bonuses, pulls.copy(), arm))
        pulls[arm] += 1
        sums[arm] += rng.normal(MEANS[arm], 1.0)
    return rows


def race() -> None:
    """Draw one run of OCUCB: means, what is added to them, and whose index is largest."""
    rows = played()
    figure, axes = plt.subplots(figsize=(6.4, 3.2), dpi=75, layout="constrained")
    colours = [style.color for style in (BLUE, RED, GREEN)]

    def frame(i: int) -> None:
        means, bonuses, pulls, arm = rows[min(2 * i, len(rows) - 1)]
        axes.clear()
        for j in range(3):
            axes.plot([j, j], [means[j], means[j] + bonuses[j]], color=colours[j], lw=6, alpha=0.35)
            axes.plot(j, means[j], "o", color=colours[j])
            axes.plot([j - 0.25, j + 0.25], [MEANS[j]] * 2, color="0.6", lw=1)
            axes.text(j, -2.35, f"{pulls[j]} pulls", ha="center")
        axes.plot(arm, means[arm] + bonuses[arm], "v", color="black", ms=9)
        axes.set(xlim=(-0.6, 2.6), ylim=(-2.6, 3.2), xticks=[], ylabel="mean, and index above it")
        axes.set_title(
            f"round {sum(pulls) + 1} of {HORIZON}: the largest index is played", loc="left"
        )
        axes.spines[["top", "right", "bottom"]].set_visible(False)

    animation = FuncAnimation(figure, frame, frames=SHOWN)
    animation.save(PICTURES / "race.gif", writer=PillowWriter(fps=6))
    frame(SHOWN - 1)
    figure.savefig(PICTURES / "race.png")
    plt.close(figure)


BADGE = """<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" \
aria-label="{name}: {value}"><title>{name}: {value}</title><rect width="{total}" height="20" \
rx="3" fill="#555"/>\
<path d="M{left} 0h{inner}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{inner}z" fill="#0b6"/>\
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">\
<text x="6" y="14">{name}</text><text x="{start}" y="14">{value}</text></g></svg>
"""


def badges() -> None:
    """Write the badges: facts that pyproject.toml states, as pictures that no service draws."""
    for file, (name, value) in facts().items():
        left, right = 7 * len(name) + 12, 7 * len(value) + 12
        (PICTURES / f"badge-{file}.svg").write_text(
            BADGE.format(
                name=name, value=value, total=left + right, left=left, inner=right - 3,
                start=left + 6,
            )
        )  # fmt: skip


def facts() -> dict[str, tuple[str, str]]:
    """Return what badges say: the file's name, then the words on the left and on the right."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = [
        classifier.rpartition(" ")[2]
        for classifier in project["classifiers"]
        if "Python :: 3." in classifier
    ]
    typed = "Typing :: Typed" in project["classifiers"]
    return {
        "python": ("python", f"{pythons[0]} to {pythons[-1]}"),
        "licence": ("licence", project["license"]),
        "typed": ("typed", "strict" if typed else "no"),
    }


if __name__ == "__main__":
    for name in sys.argv[1:] or ("curves", "race", "badges"):
        {"curves": curves, "race": race, "badges": badges}[name]()
