"""Who plays in the league: every registered policy with its default parameters, and users' own."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path

from ..policies import FAMILIES, Policy, PolicyFamily, parse_policy, to_policies
from .problems import Contest

# These play clicks only. The theory and the constants of some are for rewards within an interval;
# on Gaussian rewards, the others are MOSS and Maillard sampling, which play already.
_CLICKS_ONLY = ("ucb-v", "ucb-tuned", "tsallis-inf", "kl-ucb-switch", "kl-maillard")


def registered() -> list[Policy]:
    """Return all policies of this package, with their default parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return [family() for family in FAMILIES.values()]


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
    have = [key for key, one in vars(module).items() if isinstance(one, Policy | PolicyFamily)]
    raise ValueError(
        f"{place} has no policy {name!r}; "
        + (f"it has {', '.join(have)}." if have else "decorate one with @ocucb.index_policy.")
    )


def suits(policy: Policy, contest: Contest) -> bool:
    """Tell whether a policy is for the rewards of a contest."""
    return contest.clicks or not (policy.family.binary or policy.family.name in _CLICKS_ONLY)
