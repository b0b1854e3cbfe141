"""What the page is told: results as plain numbers, few enough to draw and to send often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._types import Floats
from ..figures.palette import policy_styles
from ..figures.regret import LEAST_TAIL
from ..policies import FAMILIES, PolicyFamily
from ..results import SimulationResult
from ..sweeps import SweepCurve
from ..theory import report
from ..tracing import Trace
from .rounds import Round
from .state import KINDS, MEANS, MOST_ARMS, MOST_HORIZON, MOST_POLICIES, MOST_RACE, State, code_of

_TAIL_POINTS = 120
# Bounds that say something about a single problem at the horizons of the lab.
_BOUNDS = ("lai_robbins", "minimax_lower_bound", "ucb_bound", "moss_bound", "ocucb_shape")


def registry() -> dict[str, Any]:
    """What can be chosen: policies with the sliders of their parameters, kinds, and limits."""
    return {
        "policies": [
            {
                "name": name,
                "label": family.label,
                "formula": family.formula,
                "reference": family.reference,
                "about": (family.__doc__ or "").partition("\n")[0],
                "binary": family.binary,
                "parameters": [_slider(family, parameter) for parameter in family.defaults],
            }
            for name, family in FAMILIES.items()
        ],
        "kinds": list(KINDS),
        "means": MEANS,
        "most": {
            "arms": MOST_ARMS, "policies": MOST_POLICIES, "horizon": MOST_HORIZON,
            "race": MOST_RACE,
        },
    }  # fmt: skip


def _slider(family: PolicyFamily, name: str) -> dict[str, Any]:
    """Return the ends of a parameter's slider, from what the family declares as valid."""
    usual, valid, proved = family.defaults[name], family.valid.get(name), family.proved.get(name)

    def holds(value: float) -> bool:
        return valid is None or valid.holds(value)

    whole = valid is not None and valid.whole
    if not holds(1.0 + 1e-9) and holds(0.5) and not holds(-1e-9):  # a share
        low, high, scale = (0.0 if holds(0.0) else 0.001), (1.0 if holds(1.0) else 0.999), "linear"
    elif usual <= 0.0:
        high = 3.0 if holds(3.0) else max(x / 2 for x in range(-20, 7) if holds(x / 2))
        low, scale = min(x / 2 for x in range(-6, 1) if holds(x / 2)), "linear"
    else:
        low = min(x for x in np.geomspace(usual / 10, usual, 41).tolist() if holds(x))
        low, high, scale = float(f"{low:.2g}"), 10 * usual, "log"
        low = low if holds(low) else usual
    return {
        "name": name, "default": usual, "low": low, "high": high, "scale": scale, "whole": whole,
        "valid": valid.text if valid else "", "proved": proved.text if proved else "",
    }  # fmt: skip


def about(state: State) -> dict[str, Any]:
    """Return what is true of a state before anything is played."""
    styles = policy_styles(state.policies)
    return {
        "address": state.address,
        "policies": [
            {
                "name": player.name,
                "family": player.family.name,
                "label": player.label,
                "parameters": player.parameters,
                "color": styles[player.name].color,
                "dash": []
                if styles[player.name].dashes == "solid"
                else styles[player.name].dashes[1],
                "formula": player.family.formula,
            }
            for player in state.players
        ],
        "problems": [
            {
                "rewards": setting.rewards,
                "means": setting.means,
                "sigma": setting.sigma,
                "bounds": bounds(state, number),
            }
            for number, setting in enumerate(state.settings)
        ],
        "horizon": state.horizon,
        "seed": state.seed,
        "race": state.race,
        "run": state.run,
        "notes": state.notes,
    }


def bounds(state: State, number: int) -> list[dict[str, Any]]:
    """Return the bounds of the theory that hold for a problem, at its horizon."""
    problem = state.settings[number].problem
    try:
        made = report(problem, state.horizon)
    except ValueError:  # sigmas differ
        return []
    found = made.to_dict()["bounds"]
    return [
        {name: row[name] for name in ("statement", "title", "side", "kind", "value", "about")}
        for row in found
        if row["statement"] in _BOUNDS and not row["vacuous"] and row["value"] > 0.0
    ]


def numbers(state: State, played: Round) -> dict[str, Any]:
    """Return what is known after a round."""
    codes = {
        figure: vars(code_of(state, figure, played.problem, played.runs))
        for figure in ("regret", "tails", "shares")
    }
    return {
        "problem": played.problem,
        "runs": played.runs,
        "whole": played.whole,
        "policies": policies_of(played.result),
        "code": codes if played.whole else None,
    }


def policies_of(result: SimulationResult) -> list[dict[str, Any]]:
    """Return the curves of each policy."""
    return [
        {
            "name": player.policy,
            "t": player.checkpoints.tolist(),
            "regret": _finite(player.regret),
            "stderr": _finite(player.stderr),
            "shares": (player.pulls / player.horizon).tolist(),
            "tail": _tail(*player.tail_curve()),
            "failure": player.failure.value,
            "sampling": player.sampling,
            "engine": player.engine,
        }
        for player in result
    ]


def _finite(values: Floats) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _tail(x: Floats, chance: Floats, stderr: Floats) -> dict[str, list[float]]:
    """Return points of the tail: where it falls, and few of them."""
    seen = np.flatnonzero((chance >= LEAST_TAIL) & (x > 0.0))
    if seen.size == 0:
        return {"x": [], "p": [], "stderr": []}
    moves = seen[np.diff(chance[seen], prepend=-1.0) != 0.0]
    step = max(1, -(-moves.size // _TAIL_POINTS))
    kept = np.unique(np.concatenate([moves[::step], moves[-1:]]))
    return {"x": x[kept].tolist(), "p": chance[kept].tolist(), "stderr": stderr[kept].tolist()}


def curve(state: State, number: int, found: SweepCurve) -> dict[str, Any]:
    """Return a curve over the gap."""
    return {
        "problem": number,
        "name": found.policy,
        "runs": found.runs,
        "pooled": found.pooled,
        "gap": found.values.tolist(),
        "regret": found.regret.tolist(),
        "stderr": found.stderr.tolist(),
        "code": vars(code_of(state, "gaps", number, found.runs)),
    }


def race(
    state: State, number: int, policy: int, run: Trace, found: Floats | None
) -> dict[str, Any]:
    """Return a run, round by round."""
    return {
        "problem": number,
        "policy": policy,
        "label": run.policy,
        "arms": run.arms.tolist(),
        "regret": run.regret.tolist(),
        "means": [_finite(row) for row in run.means],
        "pulls": run.pulls.tolist(),
        "indices": None if found is None else [_finite(row) for row in found],
        "code": vars(code_of(state, "race", number, policy=policy)),
    }


def curves_together(curves: Sequence[SweepCurve], policies: Sequence[str]) -> list[SweepCurve]:
    """Return the newest curve of each policy, if all have as many runs."""
    newest = {found.policy: found for found in curves}
    kept = [newest[name] for name in policies if name in newest]
    alike = len({found.runs for found in kept}) == 1 and len(kept) == len(policies)
    return kept if alike else []
