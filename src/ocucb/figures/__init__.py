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
    ORANGE,
    PALETTE,
    PURPLE,
    RED,
    SEQUENTIAL,
    SKY,
    WINE,
    Style,
    policy_styles,
    shades,
)

# what other rooms use as well
from .palette import GREY as GREY
from .palette import POLICY_STYLES as POLICY_STYLES
from .panels import BARS as BARS
from .panels import Look as Look
from .panels import check_ending as check_ending
from .panels import draw_estimates, empty_panels, write
from .panels import figure_of as figure_of
from .panels import legend as legend
from .panels import set_title as set_title
from .panels import written as written
from .regret import over_time as over_time
from .regret import regret_panels as regret_panels
from .regret import tail as tail
from .regret import tails as tails
from .rulers import round_ticks

__all__ = [
    "BLACK", "BLUE", "GREEN", "ORANGE", "PALETTE", "PURPLE", "RED", "SEQUENTIAL", "SKY", "WINE",
    "Style", "draw_estimates", "empty_panels", "policy_styles", "round_ticks", "shades", "write",
]  # fmt: skip
