"""One palette for all figures: a colour and dashes for every policy, shades for a parameter.

The colours are those of Okabe and Ito (2008), which people with any kind of colour vision tell
apart, and a dark wine red from Paul Tol's; each comes with dashes of its own, for black and white.
The colour of a policy says what it descends from, its dashes which of these it is, so that it looks
the same on every figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._matplotlib import colormaps, to_hex, to_rgb
from .._text import split_specification


class Style(NamedTuple):
    """How a line is drawn.

    Attributes
    ----------
    color : str
        As matplotlib takes it.
    dashes : str or tuple
        What matplotlib calls ``linestyle``.

    Examples
    --------
    >>> from ocucb import figures
    >>> figures.RED.color, figures.RED.dashes
    ('#D55E00', 'solid')
    """

    color: str
    dashes: Any


_DASHES: tuple[Any, ...] = (
    "solid", (0, (5, 3)), (0, (6, 2, 1, 2, 1, 2)), (0, (1, 1.2)), (0, (4, 1.5, 1, 1.5)),
    (0, (9, 2)), (0, (2.5, 1.5)),
)  # fmt: skip
RED = Style("#D55E00", _DASHES[0])
BLACK = Style("#000000", _DASHES[1])
BLUE = Style("#0072B2", _DASHES[2])
GREEN = Style("#009E73", _DASHES[3])
PURPLE = Style("#CC79A7", _DASHES[4])
ORANGE = Style("#E69F00", _DASHES[5])
SKY = Style("#56B4E9", _DASHES[6])
WINE = Style("#882255", _DASHES[0])
GREY = "#555555"  # for what is not a policy
PALETTE = (RED, BLACK, BLUE, GREEN, PURPLE, ORANGE, SKY, WINE)
SEQUENTIAL = "viridis"  # the map of whatever increases; its lightness does too

# The first of each row has the style above, the others its colour with other dashes.
_KINSHIP = {
    RED: ("ocucb", "ocucb-n", "ocucb-loglog", "ocucb-normal", "kl-ocucb", "oc-thompson"),
    BLACK: ("ucb", "ucb-asymptotic", "ucb-tuned", "ucb-v", "epsilon-greedy", "greedy",
            "ucb1"),
    BLUE: ("aocucb", "adaucb", "kl-adaucb", "decaying-epsilon", "softmax", "gradient",
           "optimistic"),
    GREEN: ("moss", "moss-anytime", "kl-moss", "kl-ucb-plus-plus", "kl-ucb-switch"),
    PURPLE: ("thompson", "beta-thompson", "normal-thompson", "mots", "bayes-ucb", "irs-fh"),
    ORANGE: ("gittins", "gittins-approx", "bernoulli-gittins", "successive-elimination", "lucb",
             "top-two-thompson"),
    SKY: ("kl-ucb", "kl-ucb-plus", "kl-ucb-h-plus", "imed", "uniform",
          "sle-ucb"),
    WINE: ("maillard", "kl-maillard", "light-tailed", "tsallis-inf", "improved-ucb",
           "explore-then-commit", "exp3"),
}  # fmt: skip


def _turned(style: Style, steps: int) -> Style:
    """Return a style with other dashes, `steps` further in the list of all."""
    return Style(style.color, _DASHES[(_DASHES.index(style.dashes) + steps) % len(_DASHES)])


POLICY_STYLES: Mapping[str, Style] = {
    family: _turned(style, steps)
    for style, families in _KINSHIP.items()
    for steps, family in enumerate(families)
}


def policy_styles(policies: Iterable[str]) -> dict[str, Style]:
    """Return the style of each policy, which is the same on every figure.

    Of several settings of one family, the default ones have the family's style, or else the first;
    the others are darker if they come before it, paler if they come after it, and have other
    dashes. Policies that the library does not know get what the others leave.

    Parameters
    ----------
    policies : iterable of str
        Names of policies, as `SimulationResult` has them.

    Returns
    -------
    dict
        The style of each name.

    Examples
    --------
    >>> from ocucb import figures
    >>> styles = figures.policy_styles(["moss:constant=4", "moss:constant=2", "mine"])
    >>> styles["moss:constant=2"] == figures.GREEN, styles["mine"].color == figures.RED.color
    (True, True)
    >>> styles["moss:constant=4"].color
    '#00553e'
    """
    families: dict[str, list[str]] = {}
    for policy in dict.fromkeys(policies):
        families.setdefault(policy.partition(":")[0], []).append(policy)
    used = {POLICY_STYLES[family].color for family in families if family in POLICY_STYLES}
    spare = [style for style in PALETTE if style.color not in used] or list(PALETTE)
    styles, strangers = {}, 0
    for family, names in families.items():
        if family in POLICY_STYLES:
            style = POLICY_STYLES[family]
        else:
            style = _turned(spare[strangers % len(spare)], strangers // len(spare))
            strangers += 1
        for name, its in zip(names, _settings(style, names), strict=True):
            styles[name] = its
    return styles


def _settings(style: Style, names: list[str]) -> list[Style]:
    """Return a style for each setting of one family."""
    if len(names) == 1:
        return [style]
    from ..policies import FAMILIES

    family = names[0].partition(":")[0]
    default = FAMILIES[family]().name if family in FAMILIES else family
    usual = [i for i, name in enumerate(names) if _same(default, name)]
    first = usual[0] if usual else 0
    after = len(names) - 1 - first
    found = []
    for i in range(len(names)):
        if i < first:
            color = _mixed(style.color, "#000000", 0.65 * (first - i) / (first + 0.4))
        else:
            color = _mixed(style.color, "#ffffff", 0.6 * (i - first) / (after + 0.4))
        found.append(Style(color if i != first else style.color, _turned(style, i - first).dashes))
    return found


def _same(one: str, other: str) -> bool:
    """Tell whether two names mean the same setting, where both have all parameters."""
    try:
        return split_specification(one) == split_specification(other)
    except ValueError:  # a name that somebody chose
        return one == other


def _mixed(color: str, other: str, share: float) -> str:
    mine, its = np.array(to_rgb(color)), np.array(to_rgb(other))
    return to_hex(tuple(((1.0 - share) * mine + share * its).tolist()))


def shades(count: int) -> list[Style]:
    """Return styles for the increasing values of a parameter: from dark to light, other dashes.

    Parameters
    ----------
    count : int
        The number of values.

    Examples
    --------
    >>> from ocucb import figures
    >>> [style.color for style in figures.shades(3)]
    ['#440154', '#2a788e', '#7ad151']
    """
    chosen = (colormaps[SEQUENTIAL](0.8 * i / max(1, count - 1)) for i in range(count))
    return [Style(to_hex(color), _DASHES[i % len(_DASHES)]) for i, color in enumerate(chosen)]
