"""Who plays in the league: every registered policy with its default parameters, and users' own."""

from __future__ import annotations

import dis
import importlib.util
import warnings
from pathlib import Path

from ..policies import FAMILIES, Policy, PolicyFamily, parse_policy, to_policies
from .problems import Contest

# Their theory and their constants are for rewards within an interval: they play clicks only.
_BOUNDED = ("ucb-v", "ucb-tuned", "kl-ucb-switch", "tsallis-inf")


def registered() -> list[Policy]:
    """Return all policies of this package, with their default parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return [family() for family in FAMILIES.values()]


def load_policy(text: str) -> Policy:
    """Return a policy named as on the command line, or one in a Python file: ``file.py:name``.

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
    except Exception as error:  # a user's code may raise anything
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
    return contest.clicks or not (policy.family.binary or policy.family.name in _BOUNDED)


def needs_horizon(policy: Policy) -> bool:
    """Tell whether a policy uses the horizon.

    It does if its rule reads that argument, or a table that was computed for it.

    Examples
    --------
    >>> [needs_horizon(parse_policy(name)) for name in ("ocucb", "gittins", "ucb", "thompson")]
    [True, True, False, False]
    """
    if policy.family.table is not None:
        return True
    for one in dis.get_instructions(policy.family.source):
        # some instructions of Python 3.13 load two names
        read = one.argval if isinstance(one.argval, tuple) else (one.argval,)
        if one.opname.startswith("LOAD") and "horizon" in read:
            return True
    return False
