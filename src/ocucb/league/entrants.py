"""Who plays in the league: registered policies with their default parameters, and users' own."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path

from ..policies import FAMILIES, Policy, PolicyFamily, parse_policy, to_policies
from .problems import Contest

# These play rewards in [0, 1] only. The theory and the constants of some are for rewards within an
# interval; on Gaussian rewards, the others are policies that play already: MOSS (twice), AOCUCB,
# AdaUCB, OCUCB and Maillard sampling.
_BOUNDED_ONLY = ("ucb-v", "ucb-tuned", "tsallis-inf", "kl-ucb-switch", "kl-ucb-h-plus", "kl-moss",
                 "kl-adaucb", "kl-ocucb", "kl-maillard")  # fmt: skip
# These are for normal rewards: an arm without a click so far would seem to have no variance.
_NOT_CLICKS = ("ocucb-normal", "normal-thompson")

# These are here for lectures and homework. Each has a relative that is seldom worse and plays, so
# they would only make the league longer; `--policy ucb1` has one of them play too.
_TEXTBOOK = ("ucb1", "softmax", "gradient", "optimistic", "decaying-epsilon", "exp3")

# Where default parameters come from: a theorem ("theorem": a value for which a bound is proved or
# best), or the experiments or advice of a paper ("paper"). All others are our choice ("ours").
_DEFAULTS = {
    "ocucb": "paper",  # α = 3, which a theorem covers; ψ = 2 is the least that one does
    "ucb": "paper",  # 2, of Lattimore (2015); theorems have more
    "moss": "paper",  # the same; its theorem has 4
    "kl-ucb": "paper",  # c = 0; proved for 3
    "bayes-ucb": "paper",  # c = 0; proved from 5 on
    "mots": "theorem",  # α = 4, the least that is proved; ρ = 0.9 is ours
    "moss-anytime": "theorem",  # α = 1.35 minimises the constant of its bound
    "sle-ucb": "theorem",  # so cautious that it plays nearly in turn at the league's horizons
    "ucb-v": "theorem",
}


def origin(policy: Policy) -> str:
    """Return where the parameters of a policy come from; "–" if it has none.

    Examples
    --------
    >>> [origin(load_policy(text)) for text in ("ocucb", "ocucb:alpha=2.5", "gittins", "ocucb-n")]
    ['paper', 'yours', '–', 'ours']
    """
    family = policy.family
    if FAMILIES.get(family.name) is not family or policy.parameters != dict(family.defaults):
        return "yours"
    return _DEFAULTS.get(family.name, "ours") if family.defaults else "–"


def registered() -> list[Policy]:
    """Return the policies of this package that the league plays, with their default parameters.

    Those with a rule to stop do not: what they are good at is not regret.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return [
            family()
            for name, family in FAMILIES.items()
            if name not in _TEXTBOOK and not family.rule.can_stop
        ]


def load_policy(text: str) -> Policy:
    """Return a policy named as on the command line, or one in a Python file.

    Parameters
    ----------
    text : str
        ``"ocucb:alpha=2.5"`` or ``"file.py:name"``.

    Returns
    -------
    Policy

    Examples
    --------
    >>> load_policy("ocucb:alpha=2.5")
    OCUCB(alpha=2.5, psi=2)
    """
    place, _, name = text.rpartition(":")
    if not place.endswith(".py"):
        if text.endswith(".py"):
            raise ValueError(f"{text!r} must name a policy in the file: {text}:mine.")
        return parse_policy(text)
    path = Path(place)
    if not path.is_file():
        raise ValueError(f"there is no file {place!r} with a policy.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    # It is not entered in sys.modules, so its functions are sent to other processes by value.
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a user's code may raise anything
        raise ValueError(f"{place} cannot be read: {type(error).__name__}: {error}.") from error
    found = getattr(module, name, None)
    if isinstance(found, Policy | PolicyFamily):
        return to_policies(found)[0]
    have = [key for key, it in vars(module).items() if isinstance(it, Policy | PolicyFamily)]
    raise ValueError(
        f"{place} has no policy {name!r}; "
        + (f"it has {', '.join(have)}." if have else "decorate one with @ocucb.index_policy.")
    )


def suits(policy: Policy, contest: Contest) -> bool:
    """Tell whether a policy is for the rewards of a contest."""
    name = policy.family.name
    if contest.kind == "clicks":
        return name not in _NOT_CLICKS
    bounded = contest.kind == "ratings"
    return not policy.family.binary and (bounded or name not in _BOUNDED_ONLY)
