"""The policies: one file each, formula first.

To add a policy, write a file like `moss.py`: every family that is defined in a module of this
folder, and whose name does not begin with an underscore, is found. Type checkers, which cannot look
for it, read its name in `_names.pyi` (written by ``python tests/test_registration.py``).
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from .._text import shown, split_specification
from ._decorators import (
    above,
    at_least,
    between,
    choice_policy,
    index_policy,
    kl_policy,
    sampling_policy,
    whole_from,
)
from ._families import FAMILIES, Policy, PolicyFamily, Range, family_named

if TYPE_CHECKING:
    from ._names import *  # noqa: F403

__all__ = [
    "FAMILIES",
    "NAMES",
    "Policy",
    "PolicyFamily",
    "Range",
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

NAMES: dict[str, PolicyFamily] = {}  # in Python; `FAMILIES` has those of the command line
for _module in pkgutil.iter_modules(__spec__.submodule_search_locations, f"{__name__}."):
    if not _module.name.startswith(f"{__name__}._"):
        for _name, _value in vars(importlib.import_module(_module.name)).items():
            if isinstance(_value, PolicyFamily) and not _name.startswith("_"):
                NAMES[_name] = _value
globals().update(NAMES)
FAMILIES.update(
    {family.name: family for family in sorted(NAMES.values(), key=lambda family: family.name)}
)


def parse_policy(text: str) -> Policy:
    """Return the policy that `text` specifies, in the syntax of the command line.

    Parameters
    ----------
    text : str
        A name and parameters: ``"moss:constant=4"``.

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
    for player in given:
        if isinstance(player, str):
            player = parse_policy(player)
        elif isinstance(player, PolicyFamily):
            player = player()
        if not isinstance(player, Policy):
            raise TypeError(
                f"a policy must be one such as OCUCB(), or its name, got {shown(player)}."
            )
        players.append(player)
    return players
