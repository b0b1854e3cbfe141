"""What is played in the lab: a state, which is an address, and the code that gives its numbers.

Whatever a visitor sends is parsed here, field by field, against the registry of policies and fixed
ranges: names and numbers, nothing that could be executed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from .._text import in_full, remedy, shown, to_count, to_number
from ..engine import choose_engine
from ..policies import FAMILIES, Policy, parse_policy
from ..problems import Problem, of_kind
from ..simulation import check_rewards

MOST_ARMS, MOST_POLICIES, MOST_HORIZON, MOST_RACE = 12, 6, 10**9, 2000
KINDS = ("gaussian", "bernoulli")
MEANS = {"gaussian": (-100.0, 100.0), "bernoulli": (0.0, 1.0)}
LEAST_SIGMA, MOST_SIGMA = 0.001, 100.0
LARGEST_SEED = 2**32
LONGEST_POLICY = 100  # characters; the names and labels of all policies are shorter
_TABLES = {True: 500, False: 10_000}  # horizon up to which a table is built, by `binary`
_SLOW = 8e6  # nominal nanoseconds of a run from which on there are no pilots
_SECOND = "2"  # what the fields of the second problem end with


@dataclass(frozen=True)
class Setting:
    """One problem: a kind of reward, means, and (Gaussian only) one sigma, or one for each arm."""

    rewards: str = "gaussian"
    means: tuple[float, ...] = (0.0, -0.3)
    sigma: tuple[float, ...] = (1.0,)

    @property
    def problem(self) -> Problem:
        """The problem, as `simulate` takes it."""
        return of_kind(self.rewards, list(self.means), self._spread)

    @property
    def _spread(self) -> float | list[float] | None:
        if self.rewards != "gaussian":
            return None
        return self.sigma[0] if len(self.sigma) == 1 else list(self.sigma)

    @property
    def python(self) -> str:
        """The expression that makes the problem."""
        more = "" if self._spread is None else f", {self._spread!r}"
        return f"ocucb.{self.rewards}({list(self.means)!r}{more})"

    @property
    def options(self) -> list[str]:
        """The options that describe it on the command line."""
        words = [f"--means={_list(self.means)}", "--rewards", self.rewards]
        return words if self._spread is None else [*words, f"--sigma={_list(self.sigma)}"]


@dataclass(frozen=True)
class State:
    """Everything that the numbers depend on, and `race`, the run that is shown round by round."""

    settings: tuple[Setting, ...] = (Setting(),)
    horizon: int = 10_000
    policies: tuple[str, ...] = ("ocucb", "ucb", "moss")
    seed: int = 1
    race: int = 300  # rounds of it, at most the horizon
    run: int = 0
    players: tuple[Policy, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Give policies their full names, and refuse what cannot be played."""
        players = tuple(map(_policy, self.policies))
        object.__setattr__(self, "players", players)
        object.__setattr__(self, "policies", tuple(player.name for player in players))
        object.__setattr__(self, "race", min(self.race, self.horizon))
        if len({*self.policies}) < len(players):
            raise ValueError("policies must differ; give one of them another parameter.")
        for setting in self.settings:
            for player in players:
                check_rewards(player, setting.problem)
        for player in players:
            most = _TABLES[player.family.binary]
            if player.family.table is not None and self.horizon > most:
                raise ValueError(f"{player.label} plays horizons up to {most:,} here.")

    @property
    def address(self) -> str:
        """The state as a query: what `read` reads."""
        fields: list[tuple[str, str]] = []
        for setting, end in zip(self.settings, ("", _SECOND), strict=False):
            fields += [(f"rewards{end}", setting.rewards), (f"means{end}", _list(setting.means))]
            if setting.rewards == "gaussian":
                fields.append((f"sigma{end}", _list(setting.sigma)))
        fields.append(("horizon", str(self.horizon)))
        fields += [("policy", name) for name in self.policies]
        fields += [(name, str(getattr(self, name))) for name in ("seed", "race", "run")]
        return urlencode(fields, safe=":=,")

    @property
    def sampling(self) -> str:
        """How runs are drawn: plainly where pilots would take too long."""
        return "plain" if max(self.costs) > _SLOW else "auto"

    @property
    def costs(self) -> list[float]:
        """Nominal nanoseconds of a run, for each problem and policy."""
        return [
            choose_engine(player, problem, self.horizon, "auto").cost(
                player.on(problem.rewards.unit, problem.rewards.binary), problem, self.horizon
            )
            for problem in (setting.problem for setting in self.settings)
            for player in self.players
        ]

    @property
    def notes(self) -> list[str]:
        """What readers should know about the parameters."""
        return [
            f"{player.label}: its regret bound is proved for {name} {proved.text}."
            for player in self.players
            for name, proved in player.family.proved.items()
            if not proved.holds(player.parameters[name])
        ]


def read(query: str) -> State:
    """Return the state of an address, in which whatever is missing has its default."""
    pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=40)
    known = ("rewards", "means", "sigma", "horizon", "policy", "seed", "race", "run")
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        if name.removesuffix(_SECOND) not in known:
            raise ValueError(f"unknown field {shown(name)}; {remedy(name, known)}")
        given.setdefault(name, []).append(value)
    for name, values in given.items():
        if len(values) > 1 and name != "policy":
            raise ValueError(f"{name} may be given only once.")
    last = {name: values[-1] for name, values in given.items()}
    usual = State()

    def count(name: str, least: int, most: int) -> int:
        value = to_count(last[name], name, least) if name in last else getattr(usual, name)
        if value > most:
            raise ValueError(f"{name} must be at most {most:,}, got {value:,}.")
        return int(value)

    settings = [_setting(last, "")]
    if any(name.endswith(_SECOND) for name in last):
        settings.append(_setting(last, _SECOND))
    names = given.get("policy", list(usual.policies))
    if len(names) > MOST_POLICIES:
        raise ValueError(f"there may be at most {MOST_POLICIES} policies, got {len(names)}.")
    return State(
        tuple(settings),
        count("horizon", 1, MOST_HORIZON),
        tuple(names),
        count("seed", 0, LARGEST_SEED),
        count("race", 1, MOST_RACE),
        count("run", 0, 10**6),
    )


def _setting(last: Mapping[str, str], end: str) -> Setting:
    rewards = last.get(f"rewards{end}", "gaussian")
    if rewards not in KINDS:
        raise ValueError(f"unknown kind of reward {shown(rewards)}; {remedy(rewards, KINDS)}")
    usual = "0,-0.3" if rewards == "gaussian" else "0.5,0.4"
    means = _numbers(last.get(f"means{end}", usual), "means", *MEANS[rewards])
    if rewards != "gaussian":
        if f"sigma{end}" in last:
            raise ValueError(f"sigma does not apply to {rewards} rewards.")
        return Setting(rewards, means)
    sigma = _numbers(last.get(f"sigma{end}", "1"), "sigma", LEAST_SIGMA, MOST_SIGMA)
    if len(sigma) not in (1, len(means)):
        raise ValueError(f"sigma must be one number, or one for each of the {len(means)} arms.")
    return Setting(rewards, means, sigma)


def _numbers(text: str, what: str, low: float, high: float) -> tuple[float, ...]:
    parts = text.split(",", MOST_ARMS)
    if len(parts) > MOST_ARMS:
        raise ValueError(f"there may be at most {MOST_ARMS} arms here.")
    values = tuple(to_number(part, f"a number in {what}") + 0.0 for part in parts)
    for value in values:
        if not low <= value <= high:
            raise ValueError(f"{what} must lie between {low:g} and {high:g}, got {value:g}.")
    return values


def _policy(text: str) -> Policy:
    if len(text) > LONGEST_POLICY or not re.fullmatch(r"[\w .,:=()+-]+", text):
        raise ValueError(
            f"a policy must be a name and numbers, such as moss:constant=4, got {shown(text)}."
        )
    try:
        player = parse_policy(text)
    except TypeError as error:  # a parameter that it does not have
        raise ValueError(str(error)) from None
    if player.family.name not in FAMILIES:
        raise ValueError(f"{player.label} plays arms with features, which the lab does not have.")
    return player


def _list(values: Sequence[float]) -> str:
    return ",".join(map(in_full, values))


# The code of each figure, which gives its numbers to the bit.


@dataclass(frozen=True)
class Code:
    """A few lines of Python, and a command; `why` says so where there is no command."""

    python: str
    command: str


def code_of(state: State, figure: str, number: int = 0, runs: int = 256, policy: int = 0) -> Code:
    """Return the code of a figure of problem `number`; `policy` is whose run is shown."""
    setting = state.settings[number]
    names = [player.name for player in state.players]
    head = f"import ocucb\nproblem = {setting.python}\n"
    players = " ".join(f"-p {shlex.quote(name)}" for name in names)
    options = " ".join(shlex.quote(word) for word in setting.options)
    rest = f"--horizon {state.horizon} --runs {runs} --seed {state.seed}"
    if figure == "race":
        name = names[policy]
        return Code(
            f"{head}run = ocucb.trace({name!r}, problem, {state.race}, run={state.run}, "
            f'rng={state.seed})\nrun.plot("race.png")',
            f"ocucb trace -p {shlex.quote(name)} {options} --horizon {state.race} "
            f"--run {state.run} --seed {state.seed} --plot race.png",
        )
    if figure == "gaps":
        axis = gaps_of(setting)
        values = f"[{', '.join(map(in_full, axis))}]"
        return Code(
            f"import ocucb\nproblems = {{d: {_python_of_gap(setting)} for d in {values}}}\n"
            f"result = ocucb.sweep({names!r}, problems, {state.horizon}, runs={runs}, "
            f'rng={state.seed})\nresult.plot("gaps.png")',
            f"ocucb sweep {players} --problem gap:K={len(setting.means)} "
            f"--sigma={_list(setting.sigma)} --over gap={','.join(map(in_full, axis))} {rest} "
            "--plot gaps.png"
            if setting.rewards == "gaussian"
            else "",
        )
    how = "" if state.sampling == "auto" else ', sampling="plain"'
    flag = "" if state.sampling == "auto" else " --sampling plain"
    last, option = {
        "regret": ('result.plot("regret.png")', "--plot regret.png"),
        "tails": ('result.plot_tail("tails.png")', "--plot-tail tails.png"),
        "shares": (f"print([p.pulls / {state.horizon} for p in result])", "--json"),
    }[figure]
    return Code(
        f"{head}result = ocucb.simulate({names!r}, problem, {state.horizon}, runs={runs}, "
        f"rng={state.seed}{how})\n{last}",
        f"ocucb simulate {players} {options} {rest}{flag} {option}",
    )


def gaps_of(setting: Setting, points: int = 12) -> list[float]:
    """Return the gaps of the curve over the gap, of equal ratios, each with two digits."""
    low, high = (0.02, 2.0) if setting.rewards == "gaussian" else (0.01, 0.4)
    if setting.rewards == "gaussian":
        low, high = low * max(setting.sigma), high * max(setting.sigma)
    steps = [low * (high / low) ** (i / (points - 1)) for i in range(points)]
    return [float(f"{step:.2g}") for step in steps]


def gap_problem(setting: Setting, gap: float) -> Problem:
    """Return the problem with as many arms whose arms, but for the first, are worse by `gap`."""
    arms = len(setting.means) - 1
    if setting.rewards == "gaussian":
        return Setting("gaussian", (0.0, *[-gap] * arms), setting.sigma).problem
    return Setting(setting.rewards, (0.5, *[0.5 - gap] * arms)).problem


def _python_of_gap(setting: Setting) -> str:
    arms = len(setting.means) - 1
    if setting.rewards != "gaussian":
        return f"ocucb.{setting.rewards}([0.5] + [0.5 - d] * {arms})"
    return f"ocucb.gaussian([0.0] + [-d] * {arms}, {setting._spread!r})"
