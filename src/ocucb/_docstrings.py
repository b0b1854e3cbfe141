"""Docstrings of public functions, completed with the parameters that several of them share.

In the source, a docstring says only what is particular to its function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from inspect import cleandoc, signature
from typing import Any

# What every `plot` takes.
PLOT = """\
path : path
    File to write; its ending (.png, .pdf, .svg) determines the format.
ax : matplotlib Axes
    Where to draw; on a figure of its own by default.
xscale, yscale : {"linear", "log"}
    The scales, if they are to be other ones.
labels : list of str or dict
    Names of the legend: in order, or by the names that they replace.
title : str
    The title; "" for none.
"""


def _entries(section: str) -> dict[str, str]:
    """Return what a section says about each parameter; some are described together."""
    entries = re.split(r"\n(?=\S)", section.strip("\n"))
    return {name: entry for entry in entries for name in entry.partition(" :")[0].split(", ")}


def complete(functions: Iterable[Callable[..., Any]], shared: str) -> None:
    """Add to docstrings the parameters that they leave out, as `shared` describes them.

    Examples
    --------
    >>> def half(x: float) -> float:
    ...     "Return one half of x."
    >>> complete([half], "x : float\\n    Any number.")
    >>> print(half.__doc__)
    Return one half of x.
    <BLANKLINE>
    Parameters
    ----------
    x : float
        Any number.
    """
    known = _entries(shared)
    for function in functions:
        intro, *rest = re.split(r"\n\n(\w+)\n-+\n", cleandoc(function.__doc__ or ""))
        sections = dict(zip(rest[::2], rest[1::2], strict=True))
        own = _entries(sections.pop("Parameters", ""))
        about = []
        for name, parameter in signature(function).parameters.items():
            if name == "self":
                continue
            given = parameter.default is not parameter.empty
            usual = known.get(name, "").replace("\n", ", optional\n" if given else "\n", 1)
            about.append(own.get(name, usual))
        parts = {"Parameters": "\n".join(dict.fromkeys(about)), **sections}
        written = (f"\n\n{title}\n{'-' * len(title)}\n{text}" for title, text in parts.items())
        function.__doc__ = intro + "".join(written)
