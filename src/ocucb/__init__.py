"""Finite-armed stochastic bandits: policies, exact simulation, and the paper they come from.

>>> import ocucb
>>> result = ocucb.simulate(["ocucb", "ucb"], ocucb.gap(K=2, gap=0.3), horizon=1000, rng=1)
>>> print(result.table())  # doctest: +SKIP

Names are loaded on first use, so that ``import ocucb`` and ``ocucb --help`` are fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

_HOME = {
    "live": ["Bandit", "Summary"],
    "policies": [
        "AOCUCB",
        "AdaUCB",
        "BayesUCB",
        "BernoulliGittins",
        "BetaThompson",
        "EpsilonGreedy",
        "ExploreThenCommit",
        "Gittins",
        "GittinsApprox",
        "Greedy",
        "IMED",
        "ImprovedUCB",
        "KLAdaUCB",
        "KLMOSS",
        "KLMaillard",
        "KLUCB",
        "KLUCBHPlus",
        "KLUCBPlus",
        "KLUCBPlusPlus",
        "KLUCBSwitch",
        "LightTailed",
        "MOSS",
        "MOSSAnytime",
        "MOTS",
        "Maillard",
        "OCUCB",
        "OCUCBLogLog",
        "OCUCBn",
        "Policy",
        "PolicyFamily",
        "ThompsonSampling",
        "TsallisINF",
        "UCB",
        "UCBAsymptotic",
        "UCBTuned",
        "UCBV",
        "UniformRandom",
        "choice_policy",
        "index_policy",
        "kl_policy",
        "parse_policy",
        "sampling_policy",
    ],
    "problems": [
        "Problem",
        "bernoulli",
        "conjecture",
        "custom_rewards",
        "gap",
        "gaussian",
        "moss_failure",
        "parse_problem",
        "uniform_arms",
        "uniform_rewards",
    ],
    "results": ["Estimate", "PolicyResult", "SimulationResult"],
    "simulation": ["SimulationInterrupted", "simulate"],
    "store": ["Store", "StoreError"],
}
_PACKAGES = ["gittins", "theory"]
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["__version__", *_PACKAGES, *_MODULE_OF]  # noqa: PLE0604

if TYPE_CHECKING:
    from . import gittins as gittins
    from . import theory as theory
    from .live import Bandit as Bandit
    from .live import Summary as Summary
    from .policies import AOCUCB as AOCUCB
    from .policies import IMED as IMED
    from .policies import KLMOSS as KLMOSS
    from .policies import KLUCB as KLUCB
    from .policies import MOSS as MOSS
    from .policies import MOTS as MOTS
    from .policies import OCUCB as OCUCB
    from .policies import UCB as UCB
    from .policies import UCBV as UCBV
    from .policies import AdaUCB as AdaUCB
    from .policies import BayesUCB as BayesUCB
    from .policies import BernoulliGittins as BernoulliGittins
    from .policies import BetaThompson as BetaThompson
    from .policies import EpsilonGreedy as EpsilonGreedy
    from .policies import ExploreThenCommit as ExploreThenCommit
    from .policies import Gittins as Gittins
    from .policies import GittinsApprox as GittinsApprox
    from .policies import Greedy as Greedy
    from .policies import ImprovedUCB as ImprovedUCB
    from .policies import KLAdaUCB as KLAdaUCB
    from .policies import KLMaillard as KLMaillard
    from .policies import KLUCBHPlus as KLUCBHPlus
    from .policies import KLUCBPlus as KLUCBPlus
    from .policies import KLUCBPlusPlus as KLUCBPlusPlus
    from .policies import KLUCBSwitch as KLUCBSwitch
    from .policies import LightTailed as LightTailed
    from .policies import Maillard as Maillard
    from .policies import MOSSAnytime as MOSSAnytime
    from .policies import OCUCBLogLog as OCUCBLogLog
    from .policies import OCUCBn as OCUCBn
    from .policies import Policy as Policy
    from .policies import PolicyFamily as PolicyFamily
    from .policies import ThompsonSampling as ThompsonSampling
    from .policies import TsallisINF as TsallisINF
    from .policies import UCBAsymptotic as UCBAsymptotic
    from .policies import UCBTuned as UCBTuned
    from .policies import UniformRandom as UniformRandom
    from .policies import choice_policy as choice_policy
    from .policies import index_policy as index_policy
    from .policies import kl_policy as kl_policy
    from .policies import parse_policy as parse_policy
    from .policies import sampling_policy as sampling_policy
    from .problems import Problem as Problem
    from .problems import bernoulli as bernoulli
    from .problems import conjecture as conjecture
    from .problems import custom_rewards as custom_rewards
    from .problems import gap as gap
    from .problems import gaussian as gaussian
    from .problems import moss_failure as moss_failure
    from .problems import parse_problem as parse_problem
    from .problems import uniform_arms as uniform_arms
    from .problems import uniform_rewards as uniform_rewards
    from .results import Estimate as Estimate
    from .results import PolicyResult as PolicyResult
    from .results import SimulationResult as SimulationResult
    from .simulation import SimulationInterrupted as SimulationInterrupted
    from .simulation import simulate as simulate
    from .store import Store as Store
    from .store import StoreError as StoreError


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'ocucb' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
