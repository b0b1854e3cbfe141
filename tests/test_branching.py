"""The state of a run is a value: it can be copied, and the copies played on."""

from __future__ import annotations

import numpy as np
import pytest

import ocucb
from ocucb.engine import engine_named, kernel_of, new_game, new_outcome
from ocucb.engine.run import branch, copy_run
from ocucb.policies import parse_policy

PROBLEM = ocucb.gap(4, 0.5)
KEY = np.array([20, 15], dtype=np.uint64)
STOP = np.zeros(1, dtype=np.bool_)
HALF, END = 300, 900


def parts(text: str, engine: str):
    """Return a kernel, a policy's numbers, and a function that makes games with checkpoints."""
    policy = parse_policy(text)
    chosen = engine_named(engine, policy, PROBLEM, END)

    def game_until(*checkpoints):
        return new_game(chosen, PROBLEM, END, np.array(checkpoints))

    kernel = kernel_of(policy.family, PROBLEM.rewards, chosen)
    return kernel, policy.arguments(END), game_until


def played_on(kernel, values, game, run):
    outcome = new_outcome(1, game)
    kernel.play_on(values, game, run, outcome, STOP)
    return outcome.regret[0].tolist(), outcome.pulls[0].tolist()


# Stepwise, a run that is interrupted is the run itself. Skip-ahead looks afresh at all arms.
@pytest.mark.parametrize("text", ["ocucb", "ucb", "ucb-v", "thompson", "epsilon-greedy", "imed"])
def test_a_branch_with_the_same_streams_is_the_run_itself(text):
    kernel, values, game_until = parts(text, "step")
    whole = new_outcome(1, game_until(HALF, END))
    kernel(values, game_until(HALF, END), KEY, 7, whole, STOP)
    trunk = kernel.start(game_until(HALF), KEY, 7)
    (half,), _ = played_on(kernel, values, game_until(HALF), trunk)
    assert half == whole.regret[0, 0]
    for copy in (copy_run(trunk), copy_run(trunk), trunk):  # copies leave the trunk alone
        (_, end), pulls = played_on(kernel, values, game_until(HALF, END), copy)
        assert end == whole.regret[0, 1]
        assert pulls == whole.pulls[0].tolist()


@pytest.mark.parametrize(
    ("text", "engine"), [("ocucb", "skip"), ("thompson", "skip"), ("ucb", "step")]
)
def test_branches_with_other_streams_have_the_law_of_runs(text, engine):
    """Each of many runs is left halfway for a branch; |z| < 4: 1 false alarm in 16,000."""
    kernel, values, game_until = parts(text, engine)
    whole = new_outcome(4000, game_until(HALF, END))
    kernel(values, game_until(HALF, END), KEY, 0, whole, STOP)
    ends = []
    for number in range(1000):
        trunk = kernel.start(game_until(HALF), KEY, 10_000 + number)
        played_on(kernel, values, game_until(HALF), trunk)
        (_, end), pulls = played_on(
            kernel, values, game_until(HALF, END), branch(trunk, KEY, 20_000 + number)
        )
        assert sum(pulls) == END
        ends.append(end)
    assert len(set(ends)) > 100
    mean, truth = np.mean(ends), whole.regret[:, 1].mean()
    error = np.hypot(np.std(ends) / 1000**0.5, whole.regret[:, 1].std() / 4000**0.5)
    assert abs(mean - truth) < 4.0 * error


def test_branches_differ():
    kernel, values, game_until = parts("ocucb", "step")
    trunk = kernel.start(game_until(HALF), KEY, 0)
    played_on(kernel, values, game_until(HALF), trunk)
    game = game_until(HALF, END)
    ends = {tuple(played_on(kernel, values, game, branch(trunk, KEY, i))[1]) for i in range(20)}
    assert len(ends) > 10


@pytest.mark.parametrize("problem", [PROBLEM, ocucb.bernoulli([0.5, 0.4])], ids=["normal", "coins"])
def test_a_run_that_stops_early_has_drawn_all_its_rewards(problem):
    """The last one changes no choice before, but those after it; 5 deviations."""
    policy, stop = parse_policy("ocucb"), problem.arms + 1
    engine = engine_named("skip", policy, problem, END)
    kernel, values = kernel_of(policy.family, problem.rewards, engine), policy.arguments(END)
    game = new_game(engine, problem, END, np.array([stop]))
    noise = []
    for number in range(3000):
        run = kernel.start(game, KEY, number)
        kernel.play_on(values, game, run, new_outcome(1, game), STOP)
        noise.append(run.sums.sum() - (run.pulls * game.means).sum())
    spread = stop if problem is PROBLEM else stop * 0.245
    assert abs(np.mean(noise)) < 5.0 * (spread / 3000) ** 0.5
    assert abs(np.var(noise) / spread - 1.0) < 5.0 * (2.0 / 3000) ** 0.5
