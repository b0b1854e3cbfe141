"""The paper's experiments, reproduced.

`panels` describes the experiments as data, `measure` runs them, `claims` compares the outcome with
the text of the paper, `drawing` and `page` present it, and `reproduction` does all of this.
"""

from __future__ import annotations

from .panels import FIGURES, PRECISION, Panel, panels, select
from .reproduction import reproduce

__all__ = ["FIGURES", "PRECISION", "Panel", "panels", "reproduce", "select"]
