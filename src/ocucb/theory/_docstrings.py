"""Docstrings of public functions, completed: shared parameters, and the type that is returned.

In the source, a docstring says only what is particular to its function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from inspect import cleandoc, signature
from typing import Any

_SHARED = """\
means : list of float
    The arms' expected rewards.
horizon : int
    Rounds, n.
sigma : float
    Rewards are sigma-subgaussian.
K : int
    Number of arms, at least 2.
gap : float
    Δ, above 0.
alpha, psi : float
    The parameters of OCUCB.
given : Constants
    The constants to use; by default the smallest for alpha and psi.
constant : float
    UCB's constant c, above 4.
tight : bool
    False for the paper's proof with its mistakes repaired and nothing else changed.
goal : {"C1", "C2"}
    The constant to minimise.
rng : int, numpy Generator or None
    Seed, as for `numpy.random.default_rng`.
workers : int
    Threads.
"""


def _entries(section: str) -> dict[str, str]:
    """Return what a section says about each parameter; some are described together."""
    entries = re.split(r"\n(?=\S)", section.strip("\n"))
    return {name: entry for entry in entries for name in entry.partition(" :")[0].split(", ")}


def complete(functions: Iterable[Callable[..., Any]]) -> None:
    """Add to docstrings the parameters and the returned type that they leave out."""
    shared = _entries(_SHARED)
    for function in functions:
        intro, *rest = re.split(r"\n\n(\w+)\n-+\n", cleandoc(function.__doc__ or ""))
        sections = dict(zip(rest[::2], rest[1::2], strict=True))
        own = _entries(sections.pop("Parameters", ""))
        takes = signature(function)
        about = []
        for name, parameter in takes.parameters.items():
            given = parameter.default is not parameter.empty
            usual = shared.get(name, "").replace("\n", ", optional\n" if given else "\n", 1)
            about.append(own.get(name, usual))
        returned = str(takes.return_annotation).replace("Floats", "numpy.ndarray")
        parts = {"Parameters": "\n".join(dict.fromkeys(about)), "Returns": returned, **sections}
        written = (f"\n\n{title}\n{'-' * len(title)}\n{text}" for title, text in parts.items())
        function.__doc__ = intro + "".join(written)
