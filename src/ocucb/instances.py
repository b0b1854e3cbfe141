"""Problems by name, as on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from ._text import remedy, shown, split_specification
from ._vectors import Numbers
from .changing_problems import drifting, seasonal, switch
from .linear_problems import end_of_optimism, sphere, unit_vectors
from .problems import Problem, conjecture, gap, moss_failure, uniform_arms

INSTANCES: dict[str, Callable[..., Problem]] = {
    "gap": gap,
    "moss-failure": moss_failure,
    "uniform": uniform_arms,
    "conjecture": conjecture,
    "unit-vectors": unit_vectors,
    "sphere": sphere,
    "end-of-optimism": end_of_optimism,
    "switch": switch,
    "drifting": drifting,
    "seasonal": seasonal,
}


def parse_problem(text: str, sigma: Numbers | float = 1.0) -> Problem:
    """Return the instance that `text` names, as on the command line.

    Parameters
    ----------
    text : str
        A name and its parameters: ``"gap:K=10,gap=0.3"``.
    sigma : float or list of float, optional
        Standard deviation of the rewards.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.parse_problem("gap:K=10,gap=0.3")
    <problem gap:K=10,gap=0.3: 10 arms, gaussian, sigma=1>
    """
    name, numbers = split_specification(text)
    if name not in INSTANCES:
        raise ValueError(f"unknown problem {shown(name)}; {remedy(name, INSTANCES)}")
    make = INSTANCES[name]
    allowed = [key for key in inspect.signature(make).parameters if key not in ("sigma", "rewards")]
    for key in numbers:
        if key not in allowed:
            has = remedy(key, allowed, all_="it has")
            raise ValueError(f"{name!r} has no parameter {shown(key)}; {has}")
    return make(**numbers, sigma=sigma)
