"""Measure what it costs not to tell the horizon: the table of docs/live.md, in some minutes.

    python docs/scripts/live_horizon.py

The same arms and the same noise for each cell of a row. Clicks are told bounds, normal arms nothing
or sigma, so that each policy knows what it needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ocucb

HORIZON, RUNS = 10_000, 200


class Arms(NamedTuple):
    """What is played, and what a policy that needs to know is told."""

    title: str
    means: list[float]
    sigma: float | None  # None for clicks

    @property
    def known(self) -> dict[str, Any]:
        """What a policy is told about the rewards."""
        return {"bounds": (0, 1)} if self.sigma is None else {"sigma": self.sigma}


PROBLEMS = (
    Arms("ten normal arms, gap 0.3 σ", [0.0] + [-0.3] * 9, 1.0),
    Arms("two normal arms, gap 0.1 σ", [0.0, -0.1], 1.0),
    Arms("clicks, 3% and four times 2%", [0.03] + [0.02] * 4, None),
)
POLICIES = (
    ("kl-ocucb", "told"),
    ("kl-ocucb", "open"),
    ("kl-ocucb", "doubled"),  # what textbooks do
    ("ocucb-normal", "told"),
    ("ocucb-normal", "open"),
    ("kl-ucb-plus", "open"),
    ("ocucb-n", "open"),
)


def regret(problem: Arms, policy: str, how: str, run: int) -> float:
    """Play once; return the pseudo-regret."""
    known = {} if policy == "ocucb-normal" else problem.known
    horizon = {"told": HORIZON, "open": None, "doubled": min(1000, HORIZON)}[how]
    bandit = ocucb.Bandit(range(len(problem.means)), policy, horizon, rng=run, **known)
    noise = np.random.default_rng([run, 1])
    if problem.sigma is None:
        luck = noise.random(HORIZON).tolist()
        draw = lambda mean, t: float(luck[t] < mean)  # noqa: E731
    else:
        luck = noise.normal(scale=problem.sigma, size=HORIZON).tolist()
        draw = lambda mean, t: mean + luck[t]  # noqa: E731
    lost = 0.0
    for t in range(HORIZON):
        arm = bandit.ask()
        lost += problem.means[0] - problem.means[arm]
        bandit.tell(arm, draw(problem.means[arm], t))
        if how == "doubled" and bandit.rounds == bandit.horizon:
            bandit.extend(2 * bandit.horizon)
    return lost


def main() -> None:
    """Print the table: mean with two standard errors, and median."""
    heads = [f"`{policy}`, {how}" for policy, how in POLICIES]
    print("| | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for problem in PROBLEMS:
        cells = []
        for policy, how in POLICIES:
            if problem.sigma is None and policy == "ocucb-normal":
                cells.append("")
                continue
            sample = np.array([regret(problem, policy, how, run) for run in range(RUNS)])
            error = 2 * sample.std(ddof=1) / RUNS**0.5
            cells.append(f"{sample.mean():.0f} ± {error:.0f}, {np.median(sample):.0f}")
        print(f"| {problem.title} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
