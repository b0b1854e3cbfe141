"""The league: every policy on many problems, and the paper's open questions with data.

`problems` and `entrants` say what is played and who plays, `measure` plays it, `standings` and
`advice` draw conclusions, `questions` are the paper's; `drawing` and `page` present everything, and
`report` does all of this.
"""

from __future__ import annotations

from .entrants import load_policy
from .problems import CONTESTS, Contest, select
from .report import League, play_league

__all__ = ["CONTESTS", "Contest", "League", "load_policy", "play_league", "select"]
