"""Measure what late rewards cost: the table of docs/live.md, in a few minutes.

    python docs/scripts/live_delay.py

Ten normal arms, one of them better by 0.3 standard deviations, n = 10^4. With a delay of d, the
reward of a round is told when d more arms have been asked for.
"""

from __future__ import annotations

from collections import deque

import numpy as np

import ocucb

ARMS, GAP, HORIZON, RUNS = 10, 0.3, 10_000, 400


def regret(policy: str, delay: int, run: int) -> float:
    """Play once; return the pseudo-regret."""
    bandit = ocucb.Bandit(range(ARMS), policy, HORIZON, sigma=1.0, rng=run)
    noise = np.random.default_rng([run, 1]).normal(size=HORIZON).tolist()
    means = [0.0] + [-GAP] * (ARMS - 1)
    late: deque[tuple[int, float]] = deque()
    wrong = 0
    for t in range(HORIZON):
        arm = bandit.ask()
        wrong += arm != 0
        late.append((arm, means[arm] + noise[t]))
        if len(late) > delay:
            bandit.tell(*late.popleft())
    return GAP * wrong


def main() -> None:
    """Print the table: mean with two standard errors, and median."""
    delays = (0, 1, 10, 100)
    print("| policy | " + " | ".join(f"delay {delay}" for delay in delays) + " |")
    print("|---" * (len(delays) + 1) + "|")
    for policy in ("ocucb", "moss", "thompson"):
        cells = []
        for delay in delays:
            sample = np.array([regret(policy, delay, run) for run in range(RUNS)])
            error = 2 * sample.std(ddof=1) / RUNS**0.5
            cells.append(f"{sample.mean():.0f} ± {error:.0f}, {np.median(sample):.0f}")
        print(f"| `{policy}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
