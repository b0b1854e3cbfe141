"""`ocucb policies` and `ocucb gittins`: what is played, and one of its formulae in numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .shared import Text, check_outputs, deliver, option


def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead.")] = False,
) -> None:
    """List the policies with their formulae, parameters and sources.

    In the formulae, T is the arm's number of pulls, t the round, n the horizon, K the number of
    arms. The last ones are for arms with d features; their norms are explained in docs/contexts.md.

    **Example**

    `ocucb policies`
    """
    from ..policies import FAMILIES, LINEAR

    families = [*FAMILIES.values(), *LINEAR.values()]
    if as_json:
        rows = [
            {
                "policy": family.name,
                "formula": family.formula,
                "parameters": dict(family.defaults),
                "reference": family.reference,
            }
            for family in families
        ]
        return deliver(json.dumps(rows, indent=1))
    lines = []
    for family in families:
        lines += [family.name, f"    {family.formula}"]
        for name, default in family.defaults.items():
            valid, proved = family.valid.get(name), family.proved.get(name)
            facts = [f"{name} = {default:g}"]
            facts += [f"must be {valid.text}"] if valid else []
            facts += [f"regret bound proved for {name} {proved.text}"] if proved else []
            lines.append(f"    {'; '.join(facts)}")
        lines.append(f"    {family.reference}")
    deliver("\n".join(lines))


def gittins(
    rounds: Annotated[
        Text, typer.Argument(metavar="M", help="Rounds left, including the current one.")
    ] = None,
    pulls: Annotated[
        Text, typer.Argument(metavar="T", help="Number of times the arm has been pulled.")
    ] = None,
    sigma: Annotated[str, option("NUMBER", "Standard deviation of the rewards.")] = "1",
    plot: Annotated[
        bool, typer.Option("--plot", help="Plot g over (M, T), with its Brownian limit.")
    ] = False,
    out: Annotated[Path, option("FILE", "File for the plot (.png, .pdf, .svg).")] = Path(
        "gittins.png"
    ),
) -> None:
    """Print the Gittins offset g(M, T): what an arm's index adds to its mean.

    For Gaussian rewards and a flat prior, with M rounds left and the arm pulled T times.

    **Examples**

    `ocucb gittins 1000 10`

    `ocucb gittins --plot`
    """
    from .. import gittins as indices
    from .._text import to_count, to_number

    if (rounds is None) != (pulls is None) or (rounds is None and not plot):
        raise ValueError("give both M and T, for example: ocucb gittins 1000 10.")
    check_outputs(pictures=[out] if plot else [])
    lines = []
    if rounds is not None:
        m, T = to_count(rounds, "M"), to_count(pulls, "T")
        lines.append(f"{float(indices.index(m, T, to_number(sigma, '--sigma'))):.10g}")
    if not plot:
        return deliver("\n".join(lines))
    from ..figures import write

    figure = indices.plot()
    deliver("\n".join([*lines, str(out)]), (out, lambda path: write(figure, path)))
