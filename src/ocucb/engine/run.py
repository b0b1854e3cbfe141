"""The scaffold of every kernel: how a run starts, how an arm is played, and how a run ends.

`play_runs` is the kernel of every engine. An engine fills its slot `play_run`, which is called as
``play_run(values, game, run, work, done, outcome, row, stop)`` after each arm was played once: it
plays the run up to the last checkpoint and tells whether the policy could choose an arm in every
round. It plays one round with `pull`, or many rounds of one arm at once and then calls `leapt`:
these two keep the statistics, record regret at checkpoints, and pass the marks of importance
sampling. So an engine states only how arms are chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._compile import compiled, kernel_part, rare_part, specialise
from .._memo import cached_while_alive
from .._types import Flags, Floats, Words
from ..importance import MARKS
from ..random import CHOICES, REWARDS, start_stream, uniform
from ..rewards import SAMPLERS, Rewards
from .base import Game, Outcome, Plan, Rows, same_rows
from .rounds import BEST, LOST, NEXT, PLAYED, RECOVERED, SINCE, loss, note_round, round_of

# Declared here, filled in by `specialise`: the arms' rewards, the policy's needs, how it is played.
draw: Callable[..., float]
draw_reward: Callable[[int, float, float, Floats, Words], float]  # one of those below
takes_variance: bool
has_contexts: bool
next_round: Callable[[Any, Any, float], None]  # see `rounds`
play_run: Callable[..., bool]
stops: bool  # the policy has a rule to stop, which writes into its memory

notes_reward: bool  # the engine has to know each reward

NEXT_MARK, TILT_END, OWED, REWARD = 0, 1, 2, 3  # places in `Run.mark`
STOPPED, ADVISED = 0, 1  # places in the memory of a policy that stops


class Stats(NamedTuple):
    """What a policy may know of each arm: see `Run`."""

    sums: Floats
    pulls: Floats
    squares: Floats


class Run(NamedTuple):
    """The state of a run: all that its continuation depends on, so that a copy is a branch.

    Of each arm, the summed rewards, the pulls, and `squares`, the summed squared deviations from
    the mean (empty unless the policy needs it). Rewards are drawn with the means `drawn`: that of
    the tilted arm, if any, may be lower at first. ``mark[NEXT_MARK]`` is the next number of its
    pulls at which its summed reward is recorded, ``mark[TILT_END]`` that at which its mean is no
    longer lower; ``mark[OWED]`` is the arm whose last reward, which decides nothing, was not drawn,
    or -1; ``mark[REWARD]`` the latest reward, if the engine has to know it. `memory` is what a
    choice policy remembers, or the model of a linear one, or what one that forgets still knows;
    ``rounds[PLAYED]`` is how many rounds have been played; where means are drawn anew in each round
    (`drawn` has those of the next, ``rounds[NEXT]``, `features` what policies are told of it),
    ``rounds[LOST]`` is the regret.
    """

    sums: Floats
    pulls: Floats
    squares: Floats
    drawn: Floats
    mark: Floats
    memory: Floats
    reward_rng: Words
    choice_rng: Words
    rounds: Floats
    features: Floats


def copy_run(run: Run) -> Run:
    """Return a copy of a run: played on, it does what the run itself does."""
    copies: list[Any] = [array.copy() for array in run]
    return Run(*copies)


def branch(run: Run, key: Words, number: int) -> Run:
    """Return a copy of a run that goes on with other streams: those of another key or number."""
    copy = copy_run(run)
    start_streams(copy.reward_rng, copy.choice_rng, key, number)
    return copy


@compiled
def start_streams(reward_rng: Words, choice_rng: Words, key: Words, number: int) -> None:
    """Set a run's streams to their start."""
    start_stream(reward_rng, key, number, REWARDS)
    start_stream(choice_rng, key, number, CHOICES)


@kernel_part
def stats_of(run: Run) -> Stats:
    """Return the statistics alone: each array that is handed to a function has to be compiled."""
    return Stats(run.sums, run.pulls, run.squares)


@kernel_part
def squares_added(total: float, count: float, reward: float) -> float:
    """Return what a reward adds to the squared deviations of `count` rewards with sum `total`.

    Welford's update: unlike a sum of squares, it does not cancel.
    """
    old = total / count if count > 0.0 else reward
    return (reward - old) * (reward - (total + reward) / (count + 1.0))


@kernel_part
def variance_of(total: float, count: float, squares: float) -> float:
    """Return the empirical variance of an arm's rewards.

    Of Bernoulli rewards it is a function of the mean. Rounding, which depends on their order, must
    not part arms with the same successes: these tie.
    """
    mean = total / count
    variance, of_clicks = squares / count, mean * (1.0 - mean)
    return of_clicks if abs(variance - of_clicks) <= 1e-9 * of_clicks else variance


@rare_part
def start_run(game: Game, run: Run, key: Words, number: int) -> None:
    """Start a run: its streams, the component of the mixture, statistics and memory."""
    start_streams(run.reward_rng, run.choice_rng, key, number)
    for i in range(run.drawn.size):
        run.drawn[i] = game.means[i]
    arm = game.tilted
    if arm >= 0:
        shares, shifts, lengths, marks = game.mixture
        place = uniform(run.reward_rng)
        component = 0
        while component < shares.size - 1 and place >= shares[component]:
            place -= shares[component]
            component += 1
        run.drawn[arm] = game.means[arm] - shifts[component]
        run.mark[NEXT_MARK], run.mark[TILT_END] = marks[0], lengths[component]
    run.mark[OWED] = -1.0
    for i in range(run.pulls.size):
        run.sums[i] = run.pulls[i] = 0.0
    for i in range(run.squares.size):
        run.squares[i] = 0.0
    for i in range(run.memory.size):
        run.memory[i] = 0.0
    for i in range(run.rounds.size):
        run.rounds[i] = 0.0


@compiled
def start_for_python(game: Game, run: Run, key: Words, number: int) -> None:
    """Do the same where Python calls."""
    start_run(game, run, key, number)


@rare_part
def add_luck(game: Game, run: Run, outcome: Outcome, row: int, done: int) -> None:
    """Add up the noise of the arms, in units of sigma, in the ways of `base.LUCK`.

    Noise has the mean 0 whenever a run may stop, which it may after a leap, if not at the
    checkpoint itself. So has each sum, if its coefficients do not depend on the run. The first two
    are those of the suboptimal and of the best arms. An arm whose rewards are too large by S in all
    is played until its index is as low as the others': that raises the regret by some
    S * gap / (gap + width), where the width is the bonus of the best arm, and takes pulls from the
    others. Hence the other two sums. Where means change with the round, there are none.
    """
    if run.rounds.size > LOST:
        return
    for i in range(game.means.size):
        # the noise of an arm that rounding drowns is no martingale
        if game.scales[i] > 2.0**-50 * game.horizon * abs(game.means[i]):
            noise = (run.sums[i] - run.pulls[i] * game.means[i]) / game.sigma
            gap = game.gaps[i] / game.sigma
            outcome.luck[row, done, np.int64(gap == 0.0)] += noise
            if game.widths.size > 0 and gap > 0.0:
                outcome.luck[row, done, 2] += gap * noise
                outcome.luck[row, done, 3] += gap / (gap + game.widths[done]) * noise


@rare_part
def pass_marks(
    game: Game, run: Run, arm: int, t: float, done: int, outcome: Outcome, row: int
) -> int:
    """Pass the mark and the checkpoints that an arm has reached in round t, playing alone.

    At a mark the noise of the tilted arm is recorded, and its mean is no longer lower once its time
    is over. At a checkpoint the regret is: the arm's pulls there follow from the round; and the
    luck of the arms, as it stands now. Returns the number of checkpoints passed.
    """
    T = run.pulls[arm]
    if arm == game.tilted and run.mark[NEXT_MARK] <= T:
        marks, mean = game.mixture[MARKS], game.means[arm]
        due, run.mark[NEXT_MARK] = run.mark[NEXT_MARK], np.inf
        for i in range(outcome.noise.shape[1]):
            if marks[i] == T:
                outcome.noise[row, i] = run.sums[arm] - T * mean
            elif marks[i] > T:
                run.mark[NEXT_MARK] = marks[i]
                break
            elif marks[i] >= due:  # an engine leapt over it: no weight would be right
                outcome.noise[row, i] = np.nan
        if run.mark[TILT_END] == T:
            run.drawn[arm] = mean
    while done < game.checkpoints.size and game.checkpoints[done] <= t:
        run.pulls[arm] = T - (t - game.checkpoints[done])
        total = 0.0 if run.rounds.size <= LOST else run.rounds[LOST]
        for i in range(game.gaps.size):
            total += game.gaps[i] * run.pulls[i]
        outcome.regret[row, done] = total
        best = game.gaps[arm] == 0.0 if run.rounds.size <= LOST else run.rounds[BEST] > 0.0
        outcome.optimal[row, done] = 1.0 if best else 0.0
        run.pulls[arm] = T
        add_luck(game, run, outcome, row, done)
        done += 1
    return done


# A kind of reward, in one form, whatever its sampler takes; they fill the slot `draw_reward`.


def draw_by_mean(arm: int, mean: float, scale: float, table: Floats, rng: Words) -> float:
    """Draw a reward given the arm's mean and scale."""
    return draw(mean, scale, rng)


def draw_by_arm(arm: int, mean: float, scale: float, table: Floats, rng: Words) -> float:
    """Draw a reward given the arm too."""
    return draw(arm, mean, scale, rng)


def draw_from_table(arm: int, mean: float, scale: float, table: Floats, rng: Words) -> float:
    """Draw a reward from the problem's table."""
    return draw(arm, table, rng)


def pull(game: Game, run: Run, arm: int, t: float, done: int, outcome: Outcome, row: int) -> int:
    """Play an arm in round t: draw its reward, count it, pass marks and checkpoints.

    Returns the number of checkpoints passed, as `leapt` does. Nothing but these two plays an arm.
    """
    reward = draw_reward(arm, run.drawn[arm], game.scales[arm], game.table, run.reward_rng)
    if takes_variance:
        run.squares[arm] += squares_added(run.sums[arm], run.pulls[arm], reward)
    if notes_reward:
        run.mark[REWARD] = reward
    run.sums[arm] += reward
    run.pulls[arm] += 1.0
    if has_contexts:
        note_round(run.rounds, loss(run.drawn, arm), t, game.change)
    marked = arm == game.tilted and run.pulls[arm] >= run.mark[NEXT_MARK]
    if marked or t == game.checkpoints[done]:
        done = pass_marks(game, run, arm, t, done, outcome, row)
    if has_contexts:
        run.rounds[NEXT] += 1.0
        next_round(game, run, run.rounds[NEXT])
    return done


def leapt(
    game: Game,
    run: Run,
    arm: int,
    pulls: float,
    total: float,
    t: float,
    done: int,
    outcome: Outcome,
    row: int,
) -> int:
    """Note that an arm played alone up to round t, and has so many pulls and that sum of rewards.

    No leap may be longer than `rounds_to_mark` says.
    """
    run.sums[arm], run.pulls[arm] = total, pulls
    marked = arm == game.tilted and pulls >= run.mark[NEXT_MARK]
    if marked or (done < game.checkpoints.size and game.checkpoints[done] <= t):
        done = pass_marks(game, run, arm, t, done, outcome, row)
    return done


@kernel_part
def rounds_to_mark(tilted: bool, mark: float, pulls: float) -> float:
    """Return how many pulls in a row an arm may have before it meets a mark, if it is tilted."""
    return mark - pulls if tilted else np.inf


def finish_run(game: Game, run: Run, able: bool, outcome: Outcome, row: int) -> None:
    """Write what a run ends with: pulls, noise, that at marks it has not met, its advice.

    The regret becomes infinite where rewards were not finite, and nan where the policy was not able
    to choose an arm.
    """
    finite = True
    for i in range(run.pulls.size):
        outcome.pulls[row, i] = np.int64(run.pulls[i])
        finite = finite and abs(run.sums[i]) < np.inf
        if outcome.arm_noise.shape[1] > 0:
            outcome.arm_noise[row, i] = run.sums[i] - run.pulls[i] * game.means[i]
    if not (finite and able):
        for c in range(outcome.regret.shape[1]):
            outcome.regret[row, c] = np.nan if finite else np.inf
    for i in range(outcome.noise.shape[1]):
        if run.pulls[game.tilted] < game.mixture[MARKS, i]:
            T = run.pulls[game.tilted]
            outcome.noise[row, i] = run.sums[game.tilted] - T * game.means[game.tilted]
    recommend(game, run, outcome, row)


def recommend(game: Game, run: Run, outcome: Outcome, row: int) -> None:
    """Write what follows from the arm that a run recommends.

    A policy that has stopped says which. Otherwise it is the one with the largest mean of its
    rewards, drawn where several are: the outcome is then the average over these.
    """
    owed: Any = np.int64(run.mark[OWED])
    if owed >= 0:  # drawn now, when nothing else can depend on it
        run.sums[owed] += draw_reward(
            owed, run.drawn[owed], game.scales[owed], game.table, run.reward_rng
        )
        run.mark[OWED] = -1.0
    best_mean, top = -np.inf, -np.inf
    for i in range(game.means.size):
        best_mean = max(best_mean, game.means[i])
    tied = wrong = lost = 0.0
    for i in range(game.means.size):
        if run.pulls[i] == 0.0:
            continue
        # 0 unless the engine sums the noise alone; then all means are told to be 0
        shift = game.gaps[i] - (best_mean - game.means[i])
        mean = run.sums[i] / run.pulls[i] - shift
        if mean > top:
            top, tied, wrong, lost = mean, 0.0, 0.0, 0.0
        if mean == top:
            tied += 1.0
            wrong += 1.0 if game.gaps[i] > 0.0 else 0.0
            lost += game.gaps[i]
    rounds = game.checkpoints[game.checkpoints.size - 1]
    if stops and run.memory[STOPPED] > 0.0:
        arm, rounds = np.int64(run.memory[ADVISED]), np.int64(run.memory[STOPPED])
        tied, lost = 1.0, game.gaps[arm]
        wrong = 1.0 if lost > 0.0 else 0.0
    outcome.advice[row, 0] = wrong / max(1.0, tied)
    outcome.advice[row, 1] = lost / max(1.0, tied)
    outcome.advice[row, 2] = rounds
    outcome.advice[row, 3] = outcome.advice[row, 4] = 0.0
    if game.change > 0 and run.rounds.size > LOST:
        since = game.checkpoints[game.checkpoints.size - 1] - game.change + 1.0
        outcome.advice[row, 3] = run.rounds[SINCE]
        outcome.advice[row, 4] = run.rounds[RECOVERED] if run.rounds[RECOVERED] > 0.0 else since


def play_each_once(game: Game, run: Run, outcome: Outcome, row: int) -> Any:
    """Play the first K rounds, one arm each; return the number of checkpoints passed."""
    done: Any = np.int64(0)  # a constant would have `pull` compiled for it
    for i in range(game.means.size):
        if done < game.checkpoints.size:
            done = pull(game, run, i, i + 1.0, done, outcome, row)
    run.rounds[PLAYED] = game.means.size
    return done


def play_on(
    values: Any, game: Game, run: Run, work: Any, outcome: Outcome, row: int, stop: Flags
) -> None:
    """Play a run from where it stands to the last checkpoint, and write its outcome."""
    able = True
    done: Any = np.int64(0)
    if run.rounds[PLAYED] == 0.0:
        if has_contexts:
            run.rounds[NEXT] = 1.0
            next_round(game, run, 1.0)
        done = play_each_once(game, run, outcome, row)
    while done < game.checkpoints.size and game.checkpoints[done] <= run.rounds[PLAYED]:
        done += 1
    if done < game.checkpoints.size:
        able = play_run(values, game, run, work, done, outcome, row, stop)
        run.rounds[PLAYED] = game.checkpoints[game.checkpoints.size - 1]
    finish_run(game, run, able, outcome, row)


def play_runs(
    values: Any,
    game: Game,
    rows: Rows,
    run: Run,
    work: Any,
    key: Words,
    outcome: Outcome,
    stop: Flags,
) -> None:
    """Play one run after the other, with the same arrays; each on its row's problem."""
    for row in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        i = min(row, rows.sigma.size - 1)
        its_game = Game(
            rows.means[i],
            rows.scales[i],
            rows.gaps[i],
            rows.sigma[i],
            game.horizon,
            game.checkpoints,
            game.tilted,
            game.mixture,
            game.table,
            game.widths,
            game.features,
            game.change,
            game.forget,
        )
        start_run(its_game, run, key, rows.numbers[row])
        play_on(values, its_game, run, work, outcome, row, stop)


@cached_while_alive
def _run_slots(rewards: Rewards) -> list[dict[str, Any]]:
    both = []
    ways = dict(zip(SAMPLERS, (draw_by_mean, draw_by_arm, draw_from_table), strict=True))
    shared: dict[str, Any] = {"draw": rewards.draw}
    way = specialise(ways[rewards.inputs], shared, part=True, forced=True)
    shared |= {"has_contexts": bool(rewards.rounds), "next_round": round_of(rewards)}
    for variance, noted in ((False, False), (True, False), (False, True)):
        slots: dict[str, Any] = {**shared, "draw_reward": way, "takes_variance": variance}
        slots["notes_reward"] = noted
        slots["pull"] = specialise(pull, slots, part=True, forced=True)
        slots["leapt"] = specialise(leapt, slots, part=True, forced=True)
        slots["play_each_once"] = specialise(play_each_once, slots, part=True)
        both.append(slots | ending(slots, stops=False))
    return both


def ending(slots: dict[str, Any], stops: bool) -> dict[str, Any]:
    """Return the slots for the end of a run of a policy that has a rule to stop, or has none."""
    advice = specialise(recommend, slots | {"stops": stops}, part=True)
    return {"finish_run": specialise(finish_run, {"recommend": advice}, part=True)}


def run_slots(
    rewards: Rewards, takes_variance: bool = False, notes_reward: bool = False
) -> dict[str, Any]:
    """Return the slots that all engines share; policies with the same rewards share their code.

    Where rewards are noted, the engine takes care of the variance.
    """
    return dict(_run_slots(rewards)[2 if notes_reward else int(takes_variance)])


class Kernel:
    """A compiled way to play a policy on a kind of reward."""

    def __init__(self, plan: Plan) -> None:
        slots = plan.slots | {"play_run": specialise(plan.play_run, plan.slots, part=True)}
        play_on_slot = {"play_on": specialise(play_on, slots, inline=True)}
        how = {"keep": True, "assembled": True}
        self._play_on = specialise(play_on, slots, **how)
        self._play_runs = specialise(play_runs, slots | play_on_slot, **how)
        self._plan = plan

    def __call__(
        self,
        values: Any,
        game: Game,
        key: Words,
        first: int,
        outcome: Outcome,
        stop: Flags,
        rows: Rows | None = None,
    ) -> None:
        """Play as many runs as the outcome has rows, the first of them with number `first`.

        Or those of `rows`, each on a problem of its own; the game then has as many arms as these.
        """
        run, work = self._new_run(game), self._plan.new_work(game.means.size)
        rows = same_rows(game, first, len(outcome.regret)) if rows is None else rows
        self._play_runs(values, game, rows, run, work, key, outcome, stop)

    def start(self, game: Game, key: Words, number: int) -> Run:
        """Return a run in which nothing has been played yet."""
        run = self._new_run(game)
        start_for_python(game, run, key, number)
        return run

    def _new_run(self, game: Game) -> Run:
        arms = game.means.size
        squares = np.zeros(arms if self._plan.slots["takes_variance"] else 0)
        state_size, memory_size = self._plan.state_size, self._plan.memory_size
        memory = np.zeros(memory_size(arms) if state_size is None else state_size(game))
        streams = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
        drawn, mark = game.means.copy(), np.full(4, np.inf)
        rounds = np.zeros(RECOVERED + 1 if self._plan.slots["has_contexts"] else 1)
        given = (squares, drawn, mark, memory, *streams, rounds, game.features.copy())
        return Run(np.zeros(arms), np.zeros(arms), *given)

    def play_on(self, values: Any, game: Game, run: Run, outcome: Outcome, stop: Flags) -> None:
        """Play a run from where it stands to the last checkpoint, and write its outcome.

        A run that stopped at an earlier last checkpoint, or a copy or branch of it, goes on.
        """
        work = self._plan.new_work(game.means.size)
        self._play_on(values, game, run, work, outcome, 0, stop)
