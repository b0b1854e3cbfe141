"""What programs send and get: models that pydantic checks, and one sentence for a mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from .._text import LARGEST_COUNT
from .errors import Invalid

MOST_ARMS = 1000
MOST_FEATURES = 100
MOST_ITEMS = 1000  # decisions or rewards in one request
MOST_PRIOR_PULLS = 10**12  # of one arm: sums stay exact enough
LONGEST_NAME = 200

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def _printable(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("must not contain control characters")
    return text


Text = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_printable)]
PolicyName = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_printable)]
Finite = Annotated[float, Field(allow_inf_nan=False, ge=-1e100, le=1e100)]
Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
Row = Annotated[list[Finite], Field(min_length=1, max_length=MOST_FEATURES)]
ContextModel = Annotated[
    Annotated[Row, Tag("<list>")]
    | Annotated[dict[Text, Row], Field(max_length=MOST_ARMS), Tag("<object>")],
    Discriminator(lambda given: "<object>" if isinstance(given, dict) else "<list>"),
]
FeaturesModel = Annotated[
    Annotated[int, Field(ge=1, le=MOST_FEATURES), Tag("<count>")]
    | Annotated[list[Text], Field(min_length=1, max_length=MOST_FEATURES), Tag("<names>")],
    Discriminator(lambda given: "<names>" if isinstance(given, list | tuple) else "<count>"),
]
_TAGS = ("<list>", "<object>", "<count>", "<names>")  # pydantic takes them for names of fields
BanditName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WhenDecided(_Strict):
    """What happens by itself once the verdict is in."""

    do: Literal["pause", "retire"] = Field(
        description="`pause` the bandit, or `retire` all arms but the leader."
    )
    margin: Annotated[float, Field(ge=0, le=1e100, allow_inf_nan=False)] = Field(
        default=0.0, description="A difference that does not matter."
    )
    level: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = Field(
        default=0.95, description="Confidence of the verdict."
    )


class Guardrail(_Strict):
    """A second metric of every decision, whose mean has a bound."""

    metric: Text = Field(description="What it is called.")
    most: Finite | None = Field(default=None, description="The largest mean that is all right.")
    least: Finite | None = Field(
        default=None, description="The smallest mean that is all right; give it or `most`."
    )
    bounds: Annotated[list[Finite], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="The lowest and the highest value, if known."
    )
    sigma: Annotated[float, Field(gt=0, le=1e100, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Instead of bounds: values are sigma-subgaussian. With neither, they are "
        "normal.",
    )
    level: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = Field(
        default=0.95,
        description="The probability with which an arm that keeps to the bound is never retired.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Guardrail:
        if (self.most is None) == (self.least is None):
            raise ValueError("give most or least, one of both")
        if self.bounds is not None and self.sigma is not None:
            raise ValueError("give bounds, [low, high], or sigma, or neither; got both")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError(f"the lower bound comes first, got {self.bounds}")
        return self


class Prior(_Strict):
    """What is known of an arm from elsewhere."""

    arm: Text = Field(description="The arm.")
    pulls: Annotated[int, Field(ge=1, le=MOST_PRIOR_PULLS)] = Field(
        description="Number of rewards."
    )
    mean: Finite | None = Field(default=None, description="Their mean; give it or the sum.")
    sum: Finite | None = Field(default=None, description="Their sum.")
    variance: Annotated[float, Field(ge=0, le=1e200, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Their mean squared deviation from the mean; needed if there are neither "
        "bounds nor sigma, the largest possible one if there are bounds.",
    )

    @model_validator(mode="after")
    def _says_one_of_both(self) -> Prior:
        if (self.mean is None) == (self.sum is None):
            raise ValueError(f"give mean or sum of arm {short(self.arm, 50)!r}, one of both")
        return self


PriorRequest = Annotated[list[Prior], Field(min_length=1, max_length=MOST_ITEMS)]


class Rules(_Strict):
    """What a bandit is: the body of ``PUT /v1/bandits/{name}``."""

    arms: list[Text] = Field(min_length=1, max_length=MOST_ARMS, description="Distinct names.")
    policy: PolicyName | None = Field(
        default=None,
        description="The policy, such as `moss:constant=4`; if null, `kl-ocucb`, or "
        "`ocucb-normal` if there are neither bounds nor sigma.",
    )
    horizon: Count | None = Field(
        default=None,
        description="Number of decisions planned; if null, 1,000 at first, and n^1.5 whenever n is "
        "reached.",
    )
    bounds: Annotated[list[Finite], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="The lowest and the highest reward, if known."
    )
    sigma: Finite | None = Field(
        default=None, description="Instead of bounds, if known: rewards are sigma-subgaussian."
    )
    minimize: bool = Field(default=False, description="Whether rewards are losses.")
    seed: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = Field(
        default=None, description="Seed of all random choices; a fresh one if null."
    )
    floor: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        default=0.0, description="Smallest share of traffic for every arm other than the control."
    )
    control: Text | None = Field(default=None, description="An arm with a fixed share of traffic.")
    control_share: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = Field(
        default=None, description="The share of the control; give both or neither."
    )
    expiry: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = Field(
        default=None, description="Seconds after which a decision without a reward is closed."
    )
    default_reward: Finite | None = Field(
        default=None, description="Reward of a decision that expires; if null, it is cancelled."
    )
    when_decided: WhenDecided | None = Field(
        default=None, description="What happens by itself once the verdict is in, if anything."
    )
    guardrail: Guardrail | None = Field(
        default=None,
        description="A second metric: an arm whose mean is beyond the bound is retired.",
    )
    prior: list[Prior] = Field(
        default=[], max_length=MOST_ITEMS, description="What is known of arms from elsewhere."
    )
    features: FeaturesModel | None = Field(
        default=None,
        description="How many features there are, or their names: each decision has a context.",
    )
    shared: bool = Field(
        default=False,
        description="Whether each arm has features of its own, and all share weights.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Rules:
        if self.bounds is not None and self.sigma is not None:
            raise ValueError("give bounds, [low, high], or sigma, or neither; got both")
        if (self.control is None) != (self.control_share is None):
            raise ValueError("control and control_share belong together: give both or neither")
        if self.control is not None and self.control not in self.arms:
            raise ValueError(f"control must be one of the arms, got {self.control!r}")
        if self.control is not None and len(self.arms) < 2:
            raise ValueError("there must be an arm besides the control")
        if self.default_reward is not None and self.expiry is None:
            raise ValueError("default_reward needs an expiry")
        if self.shared and self.features is None:
            raise ValueError("shared is for arms with features: give features, too")
        if self.features is not None and self.when_decided is not None:
            raise ValueError("when_decided cannot be used with features: the best arm varies")
        if self.features is not None and self.prior:
            raise ValueError("prior cannot be used with features")
        for i, one in enumerate(self.prior):
            if one.arm not in self.arms:
                raise ValueError(f"prior[{i}].arm must be one of the arms, got {one.arm!r}")
        return self


class DecisionsRequest(_Strict):
    """The body of ``POST /v1/bandits/{name}/decisions``."""

    count: int = Field(
        default=1, ge=1, le=MOST_ITEMS, description="Number of decisions; 1 if there is a unit."
    )
    unit: Text | None = Field(
        default=None, description="Whom it is for; a unit gets the same decision while it is open."
    )
    context: ContextModel | None = Field(
        default=None,
        description="Values of the features, if there are any: a list, or one for each arm, by "
        "name, if these are `shared`.",
    )

    @model_validator(mode="after")
    def _one_a_unit(self) -> DecisionsRequest:
        if self.unit is not None and self.count != 1:
            raise ValueError(f"a unit gets one decision: count must be 1, got {self.count}")
        return self


class RewardItem(_Strict):
    """The reward of a decision."""

    decision: str = Field(max_length=64, description="Id of the decision.")
    reward: Finite = Field(description="The reward.")
    guard: Finite | None = Field(
        default=None, description="The value of the guardrail's metric, if it is known."
    )


RewardsRequest = Annotated[list[RewardItem], Field(min_length=1, max_length=MOST_ITEMS)]


class Change(_Strict):
    """The body of ``PATCH /v1/bandits/{name}``."""

    add: list[Text] = Field(
        default=[], max_length=MOST_ARMS, description="Arms to add, or to bring back."
    )
    retire: list[Text] = Field(
        default=[], max_length=MOST_ARMS, description="Arms to play no longer."
    )
    horizon: Count | None = Field(
        default=None, description="A longer horizon, or the first one if there was none."
    )
    policy: PolicyName | None = Field(
        default=None,
        description="Another policy, which goes on with what is known about the arms: a new epoch.",
    )
    paused: bool | None = Field(default=None, description="Whether to stop making decisions.")
    archived: bool | None = Field(
        default=None,
        description="Whether it is out of use: not in the list, without decisions, deletable.",
    )


def context_of(text: str) -> Any:
    """Return a context that was sent as JSON in an address."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise Invalid(f"context must be JSON such as [1,0.5], got {short(text)}.") from None
    try:
        return DecisionsRequest.model_validate({"context": given}).context
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_context=False)) from None


# What is answered


class Decision(BaseModel):
    """A decision."""

    id: str = Field(description="The id to send with its reward.")
    arm: str = Field(description="The arm to play.")
    propensity: float | None = Field(description="Probability of this choice; null if unknown.")
    expires_at: float | None = Field(
        description="When it expires, in seconds since 1970; null if never."
    )
    expires_at_iso: str | None = Field(description="The same as ISO 8601 has it, in UTC.")


class Decisions(BaseModel):
    """The answer to a request for decisions."""

    decisions: list[Decision]


class RewardAnswer(BaseModel):
    """What became of a reward."""

    decision: str = Field(description="Id of the decision.")
    status: Literal["accepted", "duplicate", "conflict", "expired", "unknown"] = Field(
        description="What became of the reward."
    )


class RewardAnswers(BaseModel):
    """The answer to rewards, in their order."""

    rewards: list[RewardAnswer]


class ErrorAnswer(BaseModel):
    """An error, explained in one sentence."""

    error: str


def invalid(errors: Sequence[Any], body: str = "") -> Invalid:
    """Return the first mistake that pydantic found as one sentence with field and value.

    Items of a body that is a list are called by its name: "rewards[0]".
    """
    return Invalid(_sentence(errors[0], body))


def _sentence(error: Any, body: str) -> str:
    unsaid = ("body", "path", "query", "header", *_TAGS)
    parts = [part for part in error["loc"] if part not in unsaid]
    place = _place([body, *parts] if parts and isinstance(parts[0], int) else parts)
    message = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    if error["type"] in ("json_invalid", "json_type"):
        return f"the body must be JSON: {short(message)}."
    message = message[:1].lower() + message[1:]
    where = place or "the body"
    if error["type"] == "missing":
        return f"{where} is missing."
    if error["type"] == "extra_forbidden":
        return f"{where} is not a field of this request."
    if error["type"] == "value_error" and not place:
        return f"{message}."
    return f"{where}: {message}, got {short(error.get('input'))}."


def _place(parts: Sequence[str | int]) -> str:
    """Return the place of a value as people write it: "rewards[0].reward"."""
    names = [f"[{part}]" if isinstance(part, int) else f".{short(part, 50)}" for part in parts]
    return "".join(names).removeprefix(".")


def short(value: Any, most: int = 80) -> str:
    """Return a value as a few printable characters."""
    text = ascii(value) if not isinstance(value, str) else value
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[: most + 1])
    return text if len(text) <= most else text[:most] + "…"
