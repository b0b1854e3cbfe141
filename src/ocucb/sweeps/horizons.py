"""May a policy use the horizon? Read off its formulas: where they do not mention it, it cannot."""

from __future__ import annotations

from dis import get_instructions

from ..policies import Policy


def may_use_horizon(policy: Policy) -> bool:
    """Tell whether a formula of a policy mentions the horizon, or whether it has a table for it.

    A trial would miss policies that use it late, or after many first pulls.

    Examples
    --------
    >>> import ocucb
    >>> [may_use_horizon(family()) for family in (ocucb.OCUCB, ocucb.Gittins, ocucb.UCB)]
    [True, True, False]
    """
    family = policy.family
    forms = [family.form(bounded, binary) for bounded in (False, True) for binary in (False, True)]
    return any(
        form.table is not None
        or any(_mentions(step.argval, "horizon") for step in get_instructions(form.source))
        for form in forms
    )


def _mentions(argument: object, name: str) -> bool:
    """Tell whether a step is about a name: from Python 3.13 on, one step can be about two."""
    return name in argument if isinstance(argument, tuple) else argument == name
