"""How pictures of the gallery look on the site; a script that is copied has its reader's style."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from cycler import cycler

from ocucb.figures import PALETTE


def reset(gallery_conf: dict[str, Any], script: str) -> None:
    """Set the style, before each script; sphinx-gallery calls it after resetting matplotlib."""
    plt.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=[style.color for style in PALETTE]),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        }
    )
