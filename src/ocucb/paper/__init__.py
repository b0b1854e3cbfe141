"""The paper's experiments, reproduced.

`panels` describes the experiments as data, `measure` and `lazy` run them, `sentences` answers every
sentence of the paper with what `claims` provides, `drawing` and `page` present it, and
`reproduction` does all of this.
"""

from __future__ import annotations

from .panels import FIGURES, PRECISION, Panel, panels, select
from .reproduction import reproduce

__all__ = ["FIGURES", "PRECISION", "Panel", "panels", "reproduce", "select"]
