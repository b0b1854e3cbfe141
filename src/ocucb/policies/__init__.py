"""The policies: one file each, formula first.

To add a policy, write a file like `moss.py`: every family that is defined in a module of this
folder, and whose name does not begin with an underscore, is found. Type checkers, which cannot look
for it, read its name in `_names.pyi` (written by ``python tests/test_registration.py``).
"""

from __future__ import annotations

import importlib
import inspect
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
    linear_policy,
    sampling_policy,
    whole_from,
)
from ._families import (
    FAMILIES,
    LINEAR,
    Policy,
    PolicyFamily,
    Range,
    family_named,
    family_spelled,
)
from ._rules import LinearRule, Model

if TYPE_CHECKING:
    from ._names import *  # noqa: F403

__all__ = [
    "FAMILIES",
    "LINEAR",
    "NAMES",
    "LinearRule",
    "Model",
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
    "linear_policy",
    "parse_policy",
    "sampling_policy",
    "to_policies",
    "whole_from",
]

NAMES: dict[str, PolicyFamily] = {}  # in Python; the command line has `FAMILIES` and `LINEAR`
for _module in pkgutil.iter_modules(__spec__.submodule_search_locations, f"{__name__}."):
    if not _module.name.startswith(f"{__name__}._"):
        for _name, _value in vars(importlib.import_module(_module.name)).items():
            if isinstance(_value, PolicyFamily) and not _name.startswith("_"):
                NAMES[_name] = _value
globals().update(NAMES)
for _family in sorted(NAMES.values(), key=lambda family: family.name):
    (LINEAR if isinstance(_family.rule, LinearRule) else FAMILIES)[_family.name] = _family


def parse_policy(text: str) -> Policy:
    """Return the policy that `text` specifies, in the syntax of the command line.

    Parameters
    ----------
    text : str
        A name and parameters: ``"moss:constant=4"``; or a label as tables print it,
        ``"MOSS(constant=4)"``. Case, spaces, hyphens and underscores in names do not matter.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.parse_policy("moss:constant=4"), ocucb.parse_policy("eps-greedy")
    (MOSS(constant=4), EpsilonGreedy(epsilon=0.1))
    >>> ocucb.parse_policy("UCB(constant=8)").name
    'ucb:constant=8'
    """
    if text.rstrip().endswith(")") and ":" not in text and family_spelled(text) is None:
        name, _, inside = text.rstrip()[:-1].rpartition("(")
        text = f"{name}:{inside}" if inside.strip() else name
    name, numbers = split_specification(text)
    return family_named(name)(**numbers)


# What classes that play bandits call the method that picks an arm.
_PICKS = ("select", "select_arm", "select_action", "choose", "choose_arm", "choose_action", "act",
          "get_action", "pick", "pull", "play")  # fmt: skip


def _instead(given: Any) -> str:
    """Return the end of the error about something that is no policy, with a remedy if there is."""
    if inspect.isfunction(given):
        return (
            f"got the function {given.__name__}: decorate it with @ocucb.index_policy if it "
            "returns a bonus, or with @ocucb.choice_policy if it returns an arm."
        )
    picks = [name for name in _PICKS if callable(getattr(given, name, None))]
    if picks:
        kind = given if isinstance(given, type) else type(given)
        return (
            f"got the class {kind.__name__}: write its {picks[0]} as a function that returns an "
            "arm, and decorate that with @ocucb.choice_policy."
        )
    return f"got {shown(given)}."


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
                f"a policy must be one such as OCUCB(), or its name, {_instead(player)}"
            )
        players.append(player)
    return players
