"""Finite-armed stochastic bandits: policies, exact simulation, and the paper they come from.

>>> import ocucb
>>> result = ocucb.simulate(["ocucb", "ucb"], ocucb.gap(K=2, gap=0.3), horizon=1000, rng=1)
>>> print(result.table())  # doctest: +SKIP

Names are loaded on first use, so that ``import ocucb`` and ``ocucb --help`` are fast.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

_HOME = {
    "changing_problems": ["changing", "drifting", "seasonal", "switch"],
    "inference.analysis": ["Analysis", "Finding", "analyse"],
    "instances": ["parse_problem"],
    "linear_problems": [
        "contexts",
        "data",
        "end_of_optimism",
        "linear",
        "sphere",
        "unit_vectors",
    ],
    "live": ["Bandit", "LinearBandit", "LinearSummary", "Summary", "Verdict"],
    "policies": [
        "Policy",
        "PolicyFamily",
        "choice_policy",
        "index_policy",
        "kl_policy",
        "linear_policy",
        "parse_policy",
        "sampling_policy",
    ],  # and every policy, which only that package knows
    "priors": ["Prior", "prior"],
    "problems": [
        "Problem",
        "bernoulli",
        "beta_rewards",
        "conjecture",
        "custom_rewards",
        "empirical",
        "exponential_rewards",
        "gap",
        "gaussian",
        "moss_failure",
        "uniform_arms",
        "uniform_rewards",
    ],
    "planning": ["PlanPoint", "PlanResult", "plan"],
    "results": ["Estimate", "PolicyResult", "SimulationResult"],
    "simulation": ["SimulationInterrupted", "simulate"],
    "store": ["Store", "StoreError"],
    "tracing": ["Trace", "trace"],
    "tuning": ["TuningInterrupted", "TuningResult", "tune"],
    "sweeps": ["Maximum", "SweepCurve", "SweepInterrupted", "SweepResult", "sweep"],
}
_PACKAGES = ["figures", "gittins", "testing", "theory"]
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

if TYPE_CHECKING:
    from . import figures as figures
    from . import gittins as gittins
    from . import testing as testing
    from . import theory as theory
    from .changing_problems import changing as changing
    from .changing_problems import drifting as drifting
    from .changing_problems import seasonal as seasonal
    from .changing_problems import switch as switch
    from .inference.analysis import Analysis as Analysis
    from .inference.analysis import Finding as Finding
    from .inference.analysis import analyse as analyse
    from .instances import parse_problem as parse_problem
    from .linear_problems import contexts as contexts
    from .linear_problems import data as data
    from .linear_problems import end_of_optimism as end_of_optimism
    from .linear_problems import linear as linear
    from .linear_problems import sphere as sphere
    from .linear_problems import unit_vectors as unit_vectors
    from .live import Bandit as Bandit
    from .live import LinearBandit as LinearBandit
    from .live import LinearSummary as LinearSummary
    from .live import Summary as Summary
    from .live import Verdict as Verdict
    from .planning import PlanPoint as PlanPoint
    from .planning import PlanResult as PlanResult
    from .planning import plan as plan
    from .policies import Policy as Policy
    from .policies import PolicyFamily as PolicyFamily
    from .policies import choice_policy as choice_policy
    from .policies import index_policy as index_policy
    from .policies import kl_policy as kl_policy
    from .policies import linear_policy as linear_policy
    from .policies import parse_policy as parse_policy
    from .policies import sampling_policy as sampling_policy
    from .policies._names import *  # noqa: F403
    from .priors import Prior as Prior
    from .priors import prior as prior
    from .problems import Problem as Problem
    from .problems import bernoulli as bernoulli
    from .problems import beta_rewards as beta_rewards
    from .problems import conjecture as conjecture
    from .problems import custom_rewards as custom_rewards
    from .problems import empirical as empirical
    from .problems import exponential_rewards as exponential_rewards
    from .problems import gap as gap
    from .problems import gaussian as gaussian
    from .problems import moss_failure as moss_failure
    from .problems import uniform_arms as uniform_arms
    from .problems import uniform_rewards as uniform_rewards
    from .results import Estimate as Estimate
    from .results import PolicyResult as PolicyResult
    from .results import SimulationResult as SimulationResult
    from .simulation import SimulationInterrupted as SimulationInterrupted
    from .simulation import simulate as simulate
    from .store import Store as Store
    from .store import StoreError as StoreError
    from .sweeps import Maximum as Maximum
    from .sweeps import SweepCurve as SweepCurve
    from .sweeps import SweepInterrupted as SweepInterrupted
    from .sweeps import SweepResult as SweepResult
    from .sweeps import sweep as sweep
    from .tracing import Trace as Trace
    from .tracing import trace as trace
    from .tuning import TuningInterrupted as TuningInterrupted
    from .tuning import TuningResult as TuningResult
    from .tuning import tune as tune


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _PACKAGES:
        return importlib.import_module(f".{name}", __name__)
    home = _MODULE_OF.get(name)
    if home is None and (name.startswith("_") or name not in _policies()):
        raise AttributeError(f"module 'ocucb' has no attribute {name!r}{_meant(name)}")
    value = getattr(importlib.import_module(f".{home or 'policies'}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_PACKAGES, *_MODULE_OF, *_policies()])


def _meant(name: str) -> str:
    """Return a hint at the name that was probably meant, for people: never for a private one."""
    from ._text import remedy

    begins = [known for known in __dir__() if known.startswith(f"{name}_")]
    hint = f"did you mean {begins[0]}?" if begins else remedy(name, __dir__(), all_="")
    return f"; {hint}" if hint.startswith("did") and not name.startswith("_") else ""


def _policies() -> Iterable[str]:
    names: dict[str, Any] = importlib.import_module(".policies", __name__).NAMES
    return names
