"""The policies: one file each, formula first.

To add a policy, write a file like `moss.py` and list its family here.
"""

from __future__ import annotations

from typing import Any

from .._text import shown, split_specification
from ._base import (
    FAMILIES,
    Policy,
    PolicyFamily,
    Range,
    above,
    at_least,
    between,
    choice_policy,
    family_named,
    index_policy,
    kl_policy,
    sampling_policy,
    whole_from,
)
from .adaucb import AdaUCB
from .aocucb import AOCUCB
from .bayes_ucb import BayesUCB
from .bernoulli_gittins import BernoulliGittins
from .beta_thompson import BetaThompson
from .epsilon_greedy import EpsilonGreedy
from .explore_then_commit import ExploreThenCommit
from .gittins import Gittins
from .gittins_approx import GittinsApprox
from .greedy import Greedy
from .imed import IMED
from .improved_ucb import ImprovedUCB
from .kl_adaucb import KLAdaUCB
from .kl_maillard import KLMaillard
from .kl_moss import KLMOSS
from .kl_ucb import KLUCB
from .kl_ucb_h_plus import KLUCBHPlus
from .kl_ucb_plus import KLUCBPlus
from .kl_ucb_plus_plus import KLUCBPlusPlus
from .kl_ucb_switch import KLUCBSwitch
from .light_tailed import LightTailed
from .maillard import Maillard
from .moss import MOSS
from .moss_anytime import MOSSAnytime
from .mots import MOTS
from .ocucb import OCUCB
from .ocucb_loglog import OCUCBLogLog
from .ocucb_n import OCUCBn
from .thompson import ThompsonSampling
from .tsallis_inf import TsallisINF
from .ucb import UCB
from .ucb_asymptotic import UCBAsymptotic
from .ucb_tuned import UCBTuned
from .ucb_v import UCBV
from .uniform import UniformRandom

__all__ = [
    "AOCUCB",
    "FAMILIES",
    "IMED",
    "KLMOSS",
    "KLUCB",
    "MOSS",
    "MOTS",
    "OCUCB",
    "UCB",
    "UCBV",
    "AdaUCB",
    "BayesUCB",
    "BernoulliGittins",
    "BetaThompson",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "Gittins",
    "GittinsApprox",
    "Greedy",
    "ImprovedUCB",
    "KLAdaUCB",
    "KLMaillard",
    "KLUCBHPlus",
    "KLUCBPlus",
    "KLUCBPlusPlus",
    "KLUCBSwitch",
    "LightTailed",
    "MOSSAnytime",
    "Maillard",
    "OCUCBLogLog",
    "OCUCBn",
    "Policy",
    "PolicyFamily",
    "Range",
    "ThompsonSampling",
    "TsallisINF",
    "UCBAsymptotic",
    "UCBTuned",
    "UniformRandom",
    "above",
    "at_least",
    "between",
    "choice_policy",
    "family_named",
    "index_policy",
    "kl_policy",
    "parse_policy",
    "sampling_policy",
    "to_policies",
    "whole_from",
]

for _family in (
    OCUCB,
    AOCUCB,
    UCB,
    MOSS,
    ThompsonSampling,
    Gittins,
    GittinsApprox,
    BernoulliGittins,
    ImprovedUCB,
    UniformRandom,
    ExploreThenCommit,
    EpsilonGreedy,
    KLUCB,
    KLUCBPlus,
    KLUCBHPlus,
    KLUCBPlusPlus,
    KLUCBSwitch,
    KLMOSS,
    KLAdaUCB,
    IMED,
    BayesUCB,
    Maillard,
    KLMaillard,
    BetaThompson,
    MOTS,
    TsallisINF,
    OCUCBLogLog,
    OCUCBn,
    AdaUCB,
    UCBAsymptotic,
    MOSSAnytime,
    UCBV,
    UCBTuned,
    LightTailed,
    Greedy,
):
    FAMILIES[_family.name] = _family


def parse_policy(text: str) -> Policy:
    """Return the policy that `text` specifies, in the syntax of the command line.

    Parameters
    ----------
    text : str
        A name and parameters: ``"moss:constant=4"``.

    Returns
    -------
    Policy

    Examples
    --------
    >>> import ocucb
    >>> ocucb.parse_policy("moss:constant=4")
    MOSS(constant=4)
    """
    name, numbers = split_specification(text)
    return family_named(name)(**numbers)


def to_policies(policies: Any) -> list[Policy]:
    """Return a list of policies, whatever form they were given in."""
    if isinstance(policies, Policy | PolicyFamily | str):
        policies = [policies]
    try:
        given = list(policies)
    except TypeError:
        given = [policies]
    if not given:
        raise ValueError("policies must name at least one policy, got none.")
    players = []
    for one in given:
        if isinstance(one, str):
            one = parse_policy(one)
        elif isinstance(one, PolicyFamily):
            one = one()
        if not isinstance(one, Policy):
            raise TypeError(f"a policy must be one such as OCUCB(), or its name, got {shown(one)}.")
        players.append(one)
    return players
