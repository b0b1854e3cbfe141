"""The paper reproduced: its experiments as data, the runs, the figures, the claims, the page.

`panels` says what is measured, `run` measures it, `claims` compares the outcome with what the paper
says, `drawing` and `page` show it, and `reproduce` does all of it.
"""

from __future__ import annotations

from .panels import FIGURES, Panel, panels, select
from .reproduction import reproduce

__all__ = ["FIGURES", "Panel", "panels", "reproduce", "select"]
