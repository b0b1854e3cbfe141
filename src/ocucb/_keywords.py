"""Hints for keyword arguments that a public function does not have: ``seed=`` for ``rng=``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ._text import remedy

P = ParamSpec("P")
T = TypeVar("T")

# What other libraries call a random seed; ours is whichever of these a function has.
_SEEDS = ("rng", "seed", "random_state", "random_seed")


def hinted(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function name the argument that was probably meant, where one is not known.

    It is called through one more frame, which the `stacklevel` of its warnings has to count.

    Examples
    --------
    >>> @hinted
    ... def draw(runs=10, *, rng=None):
    ...     "Draw runs."
    >>> draw(seed=1)
    Traceback (most recent call last):
    TypeError: draw() has no argument 'seed'; did you mean rng?
    >>> draw(run=1)
    Traceback (most recent call last):
    TypeError: draw() has no argument 'run'; did you mean runs?
    """
    parameters = inspect.signature(function).parameters
    known = [name for name in parameters if name != "self"]
    title = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in kwargs:
            if name not in parameters:
                ours = [seed for seed in _SEEDS if seed in known and name in _SEEDS]
                meant = f"did you mean {ours[0]}?" if ours else remedy(name, known, all_="it has")
                raise TypeError(f"{title}() has no argument {name!r}; {meant}")
        return function(*args, **kwargs)

    return called
