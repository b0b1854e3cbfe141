"""`ocucb analyse`: what a log of decisions says about arms and policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .shared import Text, deliver, option


def analyse(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG", help="The service's log (.ndjson, .jsonl), or a .csv in order of time."
        ),
    ],
    control: Annotated[Text, option("ARM", "Compare all other arms with this one.")] = None,
    policy: Annotated[
        Text,
        option("SHARES", "What another policy would have earned: uniform, or red=0.7,green=0.3."),
    ] = None,
    level: Annotated[float, option("LEVEL", "Level of the intervals.")] = 0.95,
    least: Annotated[
        float, option("N", "Effective sample size below which an estimate is refused.")
    ] = 100.0,
    arm: Annotated[str, option("COLUMN", "Column of a CSV with the arm that was played.")] = "arm",
    reward: Annotated[str, option("COLUMN", "Column with what it paid.")] = "reward",
    propensity: Annotated[
        str, option("COLUMN", "Column with the probability of that choice.")
    ] = "propensity",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Estimate values of arms, differences and other policies from logged decisions.

    Each decision needs the probability with which it was made. The interval to trust is the one of
    the adaptively weighted estimate, if a bandit has made the log. Where the log says too little,
    there is no estimate but a reason.

    **Examples**

    `ocucb analyse shop.ndjson --control "old page" --policy uniform`

    `ocucb analyse rows.csv --arm item_id --reward click --propensity propensity_score --json`
    """
    from ..inference.analysis import analyse as analysed

    found = analysed(
        log,
        control=control,
        policy=policy,
        level=level,
        least=least,
        arm=arm,
        reward=reward,
        propensity=propensity,
    )
    text = found.table()
    if as_json:
        text = json.dumps(found.to_dict(), indent=1, allow_nan=False)
    deliver(text)
