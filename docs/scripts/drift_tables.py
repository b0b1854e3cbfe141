"""Measure policies in worlds that change: the table and the picture of docs/howto/drift.md.

    python docs/scripts/drift_tables.py

Three arms with normal rewards, sigma = 1, n = 5000; "it recovers" is `recovery` of the result.
"""

from __future__ import annotations

from math import exp
from pathlib import Path

from matplotlib.figure import Figure

import ocucb
from ocucb.figures import empty_panels, figure_of

PICTURE = Path(__file__).parents[1] / "pictures" / "drift.png"
HORIZON, CHANGE, RUNS = 5000, 2001, 400
LONG, SHORT = 1.0 - 3.0 / 5000, 1.0 - 10.0 / 5000  # memories of n/3 and n/10
PLAYERS = [
    *("kl-ocucb", "ucb", "thompson", "tsallis-inf", "exp3"),
    *(f"kl-ocucb:forget={LONG:g}", f"kl-ocucb:forget={SHORT:g}", "kl-ocucb:forget=500"),
    *(f"ucb:forget={LONG:g}", f"ucb:forget={SHORT:g}"),
    *(f"thompson:forget={SHORT:g}", f"imed:forget={SHORT:g}"),
]
DRAWN = ["kl-ocucb", "ucb", "tsallis-inf", f"kl-ocucb:forget={SHORT:g}", f"ucb:forget={SHORT:g}"]


def fading(means, t, stream):  # type: ignore[no-untyped-def]
    """Let the best arm fade."""
    means[0] = 0.8 * exp(-t / 1500)
    means[1] = 0.3
    means[2] = 0.0


def scenarios() -> dict[str, ocucb.Problem]:
    """Return the worlds."""
    return {
        "nothing changes": ocucb.gap(3, 0.5),
        "one switch": ocucb.switch(3, 0.5, CHANGE),
        "a new arm": ocucb.changing({1: [0, -0.5, -0.5], CHANGE: [0, -0.5, 0.5]}),
        "the best fades": ocucb.changing(fading, 3),
        "season": ocucb.seasonal(3, 0.5, 2500),
        "slow drift": ocucb.drifting(3, 0.01),
    }


def played() -> dict[str, ocucb.SimulationResult]:
    """Return the results by scenario."""
    rounds = range(HORIZON // 50, HORIZON + 1, HORIZON // 50)
    return {
        name: ocucb.simulate(PLAYERS, problem, HORIZON, RUNS, rng=1, checkpoints=rounds)
        for name, problem in scenarios().items()
    }


def with_bar(value: float, stderr: float) -> str:
    """Write a number with two standard errors."""
    return f"{value:.0f} ± {2 * stderr:.0f}"


def table(results: dict[str, ocucb.SimulationResult]) -> str:
    """Return regret in every world, and the time to recover after the switch."""
    lines = ["| policy | " + " | ".join(results) + " | it recovers, after the switch |"]
    lines.append("|---" * (len(results) + 2) + "|")
    for i, player in enumerate(next(iter(results.values()))):
        cells = [with_bar(one[i].mean_regret, one[i].stderr[-1]) for one in results.values()]
        cells.append(with_bar(*results["one switch"][i].recovery))
        lines.append(f"| {player.label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(results: dict[str, ocucb.SimulationResult]) -> Figure:
    """Return regret over time in every world, of a few policies."""
    _, panels = empty_panels(len(results), columns=3, size=(3.6, 3.0))
    places = [i for i, name in enumerate(PLAYERS) if name in DRAWN]
    for axes, (name, one) in zip(panels, results.items(), strict=True):
        few = type(one)([one[i] for i in places], *list(vars(one).values())[1:])
        few.plot(ax=axes, xscale="linear", yscale="linear", title=name)
        if axes is not panels[0] and axes.get_legend() is not None:
            axes.get_legend().remove()
    return figure_of(panels[0])


def main() -> None:
    """Print the table and draw the picture."""
    results = played()
    print(table(results))
    picture(results).savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
