"""Figures as one would print them: what the pictures of results are made of, for your own.

Drawn with matplotlib but without its windows, so they work on any machine. Bands are two standard
errors and always drawn. What is drawn is described by protocols, which results satisfy: this
package knows no other part of the library but the names of policies.

`palette`   a colour and dashes for every policy
`rulers`    ticks
`panels`    panels, lines with bands, titles, legends, files
`regret`    the pictures of simulations
"""

from __future__ import annotations

from .palette import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    POLICY_STYLES,
    PURPLE,
    RED,
    SEQUENTIAL,
    SKY,
    WINE,
    Style,
    policy_styles,
    shades,
)
from .panels import (
    BARS,
    Look,
    check_ending,
    draw_estimates,
    empty_panels,
    figure_of,
    legend,
    set_title,
    write,
    written,
)
from .regret import over_time, regret_panels, tail, tails
from .rulers import round_ticks

__all__ = [
    "BARS", "BLACK", "BLUE", "GREEN", "GREY", "ORANGE", "PALETTE", "POLICY_STYLES", "PURPLE", "RED",
    "SEQUENTIAL", "SKY", "WINE", "Look", "Style", "check_ending", "draw_estimates", "empty_panels",
    "figure_of", "legend", "over_time", "policy_styles", "regret_panels", "round_ticks",
    "set_title", "shades", "tail", "tails", "write", "written",
]  # fmt: skip
