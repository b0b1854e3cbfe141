"""Arms with features: policies beside their twins, OCUCB as a special case, drift, mistakes."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from math import log, sqrt

import numpy as np
import pytest

import naive_linear
import ocucb
from helpers import find_kernel, play_steps
from ocucb.engine import linear as engine
from ocucb.engine import new_game, new_outcome
from ocucb.policies import LINEAR, parse_policy
from ocucb.random import CHOICES, REWARDS, largest, normal, start_stream

KEY = np.array([7, 12345], dtype=np.uint64)
SETTINGS = [
    *("lin-ucb", "lin-ucb:constant=0.5,ridge=0.1", "lin-ocucb", "lin-ocucb:alpha=2,psi=4,ridge=3"),
    *("oful", "oful:delta=0.2,size=2,ridge=0.5", "lin-thompson", "lin-thompson:scale=0.3,ridge=2"),
    *(
        "lin-med",
        "lin-med:share=0.5,size=0.2",
        "lin-epsilon-greedy",
        "lin-epsilon-greedy:epsilon=1",
    ),
]


def fixed(d, K, seed, sigma=0.7):
    rng = np.random.default_rng(seed)
    return ocucb.linear(rng.standard_normal((K, d)), rng.standard_normal(d), sigma)


def some_data(rows=50, d=3, K=4):
    rng = np.random.default_rng(5)
    return ocucb.data(rng.standard_normal((rows, d)), rng.random((rows, K)) < 0.4)


def draw_normal(features, t, stream):
    for i in range(features.shape[0]):
        for j in range(features.shape[1]):
            features[i, j] = normal(stream)


RNG = np.random.default_rng(3)
PROBLEMS = {
    "K > d": fixed(3, 7, 1),
    "K < d": fixed(6, 3, 2),
    "d = 1": fixed(1, 4, 3),
    "K = 1": fixed(2, 1, 4),
    # vectors of the same length would tie in the first round, up to rounding
    "shared": ocucb.contexts(RNG.standard_normal(3), 5, sigma=0.5, draw=draw_normal),
    "disjoint": ocucb.contexts(RNG.standard_normal((4, 3))),
    "one arm": ocucb.contexts(RNG.standard_normal((1, 2))),
    "data": some_data(),
}


def test_every_policy_has_a_twin():
    twins = {*naive_linear.INDICES, *naive_linear.CHOICES_OF, "phased-elimination"}
    assert (
        {*LINEAR} == twins == {text.partition(":")[0] for text in SETTINGS} | {"phased-elimination"}
    )


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("text", SETTINGS)
def test_same_arms_as_the_naive_twin(text, problem):
    n, given, policy = 60, PROBLEMS[problem], parse_policy(text)
    regret, pulls = play_steps(policy, given, n, KEY, first=3, runs=2)
    for run in range(2):
        played = naive_linear.play(policy, given, n, KEY, 3 + run)
        assert np.allclose(regret[run], np.cumsum([lost for _, lost in played]), atol=1e-9)
        counts = np.bincount([arm for arm, _ in played], minlength=given.arms)
        assert (pulls[run] == counts).all()


def single_arms(choose, problem, n, run):
    """Return the arms of a run whose policy is told pulls and sums, and no features."""
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    start_stream(rewards, KEY, run, REWARDS)
    start_stream(choices, KEY, run, CHOICES)
    T, S, played = np.zeros(problem.arms), np.zeros(problem.arms), []
    for t in range(1, n + 1):
        arm = choose(T, S, t, choices)
        S[arm] += problem.reward(arm, rewards)
        T[arm] += 1
        played.append(arm)
    return played


@ocucb.linear_policy
def lin_classic(mean, norm, t, horizon, dimension, arms, sigma, constant=2.0, ridge=1e-7):
    return mean + sigma * sqrt(constant * log(t)) * norm


def test_unit_vectors_give_ocucb_ucb_and_thompson_arm_by_arm():
    """With a vanishing ridge; what is not played yet comes first, in random order."""
    problem = ocucb.unit_vectors(K=6, gap=0.5)
    problem = ocucb.linear(np.eye(6), problem.means - np.arange(6) / 16)  # gaps that differ
    n = 400

    def by(bonus):
        def choose(T, S, t, stream):
            values = np.full(6, np.inf)
            for i in np.flatnonzero(T):
                values[i] = S[i] / T[i] + bonus(T[i], t, n, 6)
            return largest(values, stream)

        return choose

    def thompson(T, S, t, stream):
        noise = np.array([normal(stream) for _ in range(6)])
        return largest(S / (T + 0.25) + noise / np.sqrt(T + 0.25), stream)

    players = {
        "lin-ocucb:ridge=1e-7": by(ocucb.OCUCB().bonus),
        "lin-ocucb:alpha=2,psi=5,ridge=1e-7": by(ocucb.OCUCB(2.01, 5).bonus),
        lin_classic: by(ocucb.UCB().bonus),
        "lin-thompson:ridge=0.25": thompson,
    }
    for policy, choose in players.items():
        given = parse_policy(policy) if isinstance(policy, str) else policy()
        regret, _ = play_steps(given, problem, n, KEY, first=0, runs=3)
        same = [
            np.allclose(regret[run], np.cumsum(problem.gaps[single_arms(choose, problem, n, run)]))
            for run in range(3)
        ]
        assert all(same) == ("alpha=2," not in str(policy)), policy  # another alpha plays otherwise


def naive_elimination(problem, n, run):
    """Return the arms of phased elimination: designs by its own function, the rest by numpy."""
    from ocucb.policies._linear import optimal_design

    x, sigma, K, d = problem.features, problem.sigma, problem.arms, problem.features.shape[1]
    rewards, played, left = np.empty(4, np.uint64), [], list(range(K))
    start_stream(rewards, KEY, run, REWARDS)
    phase = 1
    while len(played) < n:
        if len(left) == 1:
            played += left * n
            break
        active = np.isin(np.arange(K), left).astype(float)
        design, room = np.zeros(K), np.zeros((d, d))
        rank = optimal_design(x, active, 1e-9, design, room, np.zeros((d, d)))
        assert rank == np.linalg.matrix_rank(x[left])
        level = log(K * phase * (phase + 1) * n)
        counts = np.ceil(2 * rank * sigma**2 * design * level * 4**phase).astype(int)
        total, arms = np.zeros(d), np.repeat(np.arange(K), np.minimum(counts, n))
        for arm in arms[: n - len(played)]:
            total += problem.reward(arm, rewards) * x[arm]
            played.append(arm)
        theta = np.linalg.pinv((x.T * counts) @ x, rcond=1e-9) @ total
        best = max(x[i] @ theta for i in left)
        left = [i for i in left if best - x[i] @ theta <= 2 * 0.5**phase]
        phase += 1
    return played[:n]


@pytest.mark.parametrize("problem", [fixed(3, 7, 1), fixed(4, 3, 2), ocucb.end_of_optimism(0.3, 2)])
def test_phased_elimination_beside_its_twin(problem):
    n = 20_000
    policy = parse_policy("phased-elimination")
    regret, _ = play_steps(policy, problem, n, KEY, first=0, runs=2)
    for run in range(2):
        played = naive_elimination(problem, n, run)
        assert np.allclose(regret[run], np.cumsum(problem.gaps[played]))


def test_designs_are_nearly_optimal():
    """By the theorem of Kiefer and Wolfowitz no squared norm exceeds the dimension, at best."""
    from ocucb.policies._linear import optimal_design

    for d, K in [(2, 3), (5, 50), (10, 200), (3, 3)]:
        x = np.random.default_rng(d).standard_normal((K, d))
        design, room = np.zeros(K), np.zeros((d, d))
        rank = optimal_design(x, np.ones(K), 1e-9, design, room, np.zeros((d, d)))
        assert rank == d
        assert design.sum() == pytest.approx(1)
        inverse = np.linalg.inv((x.T * design) @ x)
        assert d - 1e-6 <= ((x @ inverse) * x).sum(axis=1).max() <= 1.1 * d + 1e-6


def drift(policy, problem, n):
    """Play one run; return the largest relative errors of norms and means that the model has."""
    chosen, kernel = find_kernel("step", policy, problem, n)
    game = new_game(chosen, problem, n, np.array([n]))
    run, outcome = kernel.start(game, KEY, 0), new_outcome(1, game)
    kernel.play_on(policy.arguments(n), game, run, outcome, np.zeros(1, np.bool_))
    rows, d = problem.features.shape
    state = engine.state_of.py_func(run.memory, rows, problem.arms, d)
    return run, state


def drift_of_fixed(n):
    problem = ocucb.sphere(d=5, K=20)
    run, state = drift(parse_policy("lin-ucb"), problem, n)
    x = problem.features
    V = np.eye(5) + (x.T * run.pulls) @ x
    squares = ((x @ np.linalg.inv(V)) * x).sum(axis=1)
    means = x @ np.linalg.solve(V, x.T @ run.sums)
    return max(np.abs(state.squares / squares - 1).max(), np.abs(state.means - means).max())


def drift_of_contexts(n):
    problem = ocucb.contexts(np.ones(5) / 2, 3)
    _, state = drift(parse_policy("lin-ucb"), problem, n)
    exact = np.linalg.inv(state.gram[0])
    error = np.abs(state.inverse[0] - exact).max() / np.abs(exact).max()
    return max(error, np.abs(state.weights[0] - exact @ state.response[0]).max())


def test_rounding_errors_do_not_add_up():
    assert drift_of_fixed(100_000) < 1e-9
    assert drift_of_contexts(100_000) < 1e-9


@pytest.mark.slow
def test_ten_million_updates_drift_by_less_than_one_in_a_million():
    assert drift_of_fixed(10**7) < 1e-6
    assert drift_of_contexts(10**7) < 1e-6


def test_a_policy_of_ones_own_sees_what_ours_see():
    """An index, one with the determinant, and a choice, beside LinUCB and OFUL."""

    @ocucb.linear_policy
    def mine(mean, norm, t, horizon, dimension, arms, sigma, constant=2.0, ridge=1.0):
        assert_like = horizon == 500.0 and dimension == 5.0 and arms == 20.0 and sigma == 1.0
        return mean + sigma * constant * norm if assert_like else -t

    @ocucb.linear_policy
    def my_oful(mean, norm, log_det, t, horizon, dimension, arms, sigma):
        return mean + (sqrt(log_det - 2 * log(0.01)) + 1.0) * norm

    @ocucb.linear_policy
    def chosen(t, horizon, model, sigma, memory, stream):
        best, top = 0, -1e300
        for i in range(model.means.size):
            value = model.means[i] + 2.0 * model.norms[i]
            if value > top:
                best, top = i, value
        return best

    problem = ocucb.linear(np.random.default_rng(1).standard_normal((20, 5)), np.ones(5) / 3)
    for own, ours in ((mine, "lin-ucb"), (my_oful, "oful"), (chosen, "lin-ucb")):
        found = play_steps(own(), problem, 500, KEY, 0, 2)
        assert (found[1] == play_steps(parse_policy(ours), problem, 500, KEY, 0, 2)[1]).all()


def test_policies_that_ignore_features_play_as_without_them():
    one, other = ocucb.unit_vectors(4, 0.5), ocucb.gap(4, 0.5)
    key = np.array([1, 2], dtype=np.uint64)
    for policy in ("ocucb", "thompson"):
        pulls = [play_steps(parse_policy(policy), p, 300, key, 0, 3)[1] for p in (one, other)]
        assert (pulls[0] == pulls[1]).all()


@pytest.mark.parametrize("problem", [PROBLEMS["K > d"], PROBLEMS["disjoint"]])
def test_same_bits_for_any_number_of_workers_and_in_stores(problem, tmp_path):
    players, n = ["lin-ocucb", "lin-thompson"], 100
    usual = ocucb.simulate(players, problem, n, 260, rng=5, workers=1)
    for more in ({"workers": 3}, {"store": tmp_path / "a.db"}, {"store": tmp_path / "a.db"}):
        again = ocucb.simulate(players, problem, n, 260, rng=5, **more)
        for one, other in zip(usual, again, strict=True):
            assert (one.regret == other.regret).all()
            assert (one.pulls == other.pulls).all()
    again = ocucb.simulate(players, problem, n, 260, rng=5, sampling="plain", checkpoints=[7, 50])
    plain = ocucb.simulate(players, problem, n, 260, rng=5, sampling="plain")
    assert all((a.sample == b.sample).all() for a, b in zip(again, plain, strict=True))


def test_any_worker_plays_what_a_users_contexts_mean():
    with ProcessPoolExecutor(1) as executor:
        far = ocucb.simulate("lin-ucb", PROBLEMS["shared"], 50, 70, rng=1, executor=executor)
    near = ocucb.simulate("lin-ucb", PROBLEMS["shared"], 50, 70, rng=1)
    assert (far[0].regret == near[0].regret).all()


def test_tilted_runs_have_the_mean_of_plain_ones():
    """And means that are corrected for luck: 5 standard errors, once in a million times each."""
    for problem in (ocucb.unit_vectors(3, 0.5), ocucb.sphere(3, 8, seed=2)):
        plain, tilted, lucky = (
            ocucb.simulate("lin-ocucb", problem, 300, 3000, rng=2, sampling=how, control_variates=c)
            for how, c in (("plain", False), ("tilted", False), ("plain", True))
        )
        assert tilted[0].sampling == "tilted"
        for result in (tilted[0], lucky[0]):
            error = sqrt(plain[0].stderr[-1] ** 2 + result.stderr[-1] ** 2)
            assert abs(result.mean_regret - plain[0].mean_regret) < 5 * error
        assert lucky[0].stderr[-1] < plain[0].stderr[-1]
        assert abs(tilted[0].weight.value - 1) < 5 * tilted[0].weight.stderr


def test_oful_keeps_its_bound():
    """Theorem 3 of its paper: below it in all but a share delta of runs; here, in all of them."""
    delta, d, n = 0.01, 3, 2000
    problem = ocucb.sphere(d, 10)
    result = ocucb.simulate("oful", problem, n, 200, rng=1, sampling="plain")[0]
    radius = sqrt(d * log(1 + n / d) + 2 * log(1 / delta)) + 1
    bound = 4 * sqrt(n * d * log(1 + n / d)) * radius
    assert result.sample.max() < bound


def test_optimism_explores_too_little_to_be_optimal():
    """The end of optimism: OFUL loses several times as much as a policy that pays to learn.

    Lattimore and Szepesvári (2017): with features (1, 0), (0, 1), (1 - e, 2 e), no optimistic
    policy is asymptotically optimal. To play the second arm 8 log n times is enough, and costs
    8 log n; optimism plays the third instead, some 2 log n / e^2 times, at a cost of e each.
    """

    @ocucb.linear_policy
    def learned(t, horizon, model, sigma, memory, stream):
        if model.pulls[1] < 8.0 * log(horizon):
            return 1
        return 0 if model.means[0] > model.means[2] else 2

    n, problem = 300_000, ocucb.end_of_optimism(epsilon=0.02, reach=2)
    paid, oful = (ocucb.simulate(policy, problem, n, 20, rng=1)[0] for policy in (learned, "oful"))
    assert paid.mean_regret < 0.5 * (oful.mean_regret - 3 * oful.stderr[-1])


@pytest.mark.parametrize("name", ["digits", "wine", "breast_cancer"])
def test_contexts_help_on_real_data(name):
    """The best linear policy beats the best one without contexts by 4 standard errors and more."""
    datasets = pytest.importorskip("sklearn.datasets")
    x, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
    problem = ocucb.data(np.hstack([np.ones((len(x), 1)), x]), labels)
    n, runs = (1000, 10) if name == "digits" else (500, 40)
    linear = ocucb.simulate(["lin-ocucb", "lin-ucb"], problem, n, runs, rng=1)
    plain = ocucb.simulate(["kl-ocucb", "ucb", "thompson"], problem, n, runs, rng=1)
    best, rival = (min(found, key=lambda one: one.mean_regret) for found in (linear, plain))
    error = sqrt(best.stderr[-1] ** 2 + rival.stderr[-1] ** 2)
    assert rival.mean_regret - best.mean_regret > 4 * error


def test_rows_of_data_and_labels():
    problem = ocucb.data([[1.0], [2.0], [3.0]], [2, 0, 2])
    assert (problem.arms, problem.sigma, problem.rewards.unit) == (3, 0.5, True)
    same = ocucb.data([[1.0], [2.0], [3.0]], [[0, 0, 1], [1, 0, 0], [0, 0, 1]])
    assert problem.identity == same.identity
    uniform = ocucb.simulate("uniform", problem, 200, 500, rng=1, sampling="plain")[0]
    assert abs(uniform.mean_regret - 200 * 2 / 3) < 5 * uniform.stderr[-1]
    wide = ocucb.data([[1.0], [2.0]], [[-3, 0], [5, 0]])
    assert (wide.sigma, wide.rewards.unit, wide.largest_gap) == (4.0, False, 5.0)


def test_pooling_refuses_other_features():
    from ocucb.pooling import obstacle as pooled

    one, other = ocucb.sphere(3, 5, 1), ocucb.sphere(3, 5, 2)
    assert pooled([one, other], 100) == "their arms have different features"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ocucb.linear([[1, 2], [3]], [1, 2]), "features must be rows of numbers"),
        (lambda: ocucb.linear([1, 2], [1, 2]), r"features must have rows and columns.*\(2,\)"),
        (lambda: ocucb.linear([[1, np.nan]], [1, 2]), "got nan in row 1"),
        (lambda: ocucb.linear([[1, 1e9]], [1, 2]), r"got 1e\+09 in row 1; rescale"),
        (lambda: ocucb.linear([[1, 2]], [1, 2, 3]), "theta must have a number for each of 2"),
        (lambda: ocucb.linear([[1, 2]], [1, np.inf]), "theta must"),
        (lambda: ocucb.linear(np.zeros((1, 2000)), np.ones(2000)), "at most 1000 columns"),
        (lambda: ocucb.contexts([1, 2]), "arms is missing"),
        (lambda: ocucb.contexts([[1, 2]], arms=3), "arms must be the rows of theta, 1, got 3"),
        (lambda: ocucb.contexts([1], 2, draw=max), "draw must be a plain function"),
        (lambda: ocucb.contexts([1], 2, draw=lambda x: 1), "draw must take the arguments features"),
        (lambda: ocucb.contexts([1], 0), "K must be at least 1"),
        (lambda: ocucb.data([[1]], [[1, 2], [3, 4]]), "features have 1 rows, but rewards 2"),
        (lambda: ocucb.data([[1]], [0.5]), "labels must be whole numbers"),
        (lambda: ocucb.data([[1]], [[2, 2]]), "rewards must not all be the same"),
        (lambda: ocucb.sphere(d=0), "d must be at least 1"),
        (lambda: ocucb.unit_vectors(1001), "K must be at most 1000"),
        (lambda: ocucb.end_of_optimism(0), "epsilon must lie between 0 and 1"),
        (lambda: ocucb.simulate("oful", ocucb.gap(), 10), "OFUL plays arms with features only"),
        (
            lambda: ocucb.simulate("phased-elimination", PROBLEMS["shared"], 10),
            "needs features that stay the same",
        ),
        (lambda: ocucb.Bandit(["a", "b"], "oful"), "OFUL needs arms with features"),
        (lambda: ocucb.LinUCB(ridge=0), "ridge must be > 0"),
    ],
)
def test_mistakes_are_one_sentence(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert str(caught.value).count("\n") == 0


def write_too_much(features, t, stream):
    features[0, 0] = 1e9


def test_contexts_that_are_too_large():
    with pytest.raises(ValueError, match="draw must write features between"):
        ocucb.contexts([1.0], 2, draw=write_too_much)


@pytest.mark.parametrize("name", LINEAR)
def test_odd_features_are_played(name):
    """Collinear, equal, zero, huge and tiny ones; one arm; fewer rounds than features or arms."""
    odd = {
        "collinear": np.outer([1, 2, -1], [1.0, 1.0, 0.5]),
        "equal": np.ones((4, 2)),
        "zero": np.zeros((2, 2)),
        "huge": 1e6 * np.eye(2),
        "tiny": 1e-6 * np.eye(3),
        "one arm": np.ones((1, 3)),
        "wide": np.ones((2, 30)),
    }
    for features in odd.values():
        problem = ocucb.linear(features, np.full(features.shape[1], 0.1))
        for n in (1, 60):
            result = ocucb.simulate(name, problem, n, 3, rng=1, sampling="plain")[0]
            assert result.pulls.sum() == pytest.approx(n)
            assert np.isfinite(result.regret).all()
