"""Policies of users: declarations are checked, nothing out of bounds, errors in one sentence."""

from __future__ import annotations

import functools
import textwrap
import warnings
from concurrent.futures import ProcessPoolExecutor
from math import inf, log, sqrt

import numba
import numpy as np
import pytest

import ocucb
from ocucb.engine import base
from ocucb.policies import FAMILIES, above
from ocucb.policies._declarations import false_declaration, has_infinite_bonus
from ocucb.policies._rules import BernoulliKLRule, BonusRule
from ocucb.specification import Specification
from own_policies import PROBLEM, formula, play

# Declarations


@pytest.mark.parametrize(
    "said", ["rising", "Rise", "typo", ["nonincreasing"], "", 1, True, np.array(["constant"])]
)
def test_unknown_declarations_are_refused(said):
    with pytest.raises(
        ValueError,
        match="unplayed_index must be 'nonincreasing', 'constant', 'nondecreasing' or None",
    ):
        formula("return 1.0 / pulls", unplayed_index=said)


@pytest.mark.parametrize(
    ("facts", "error", "words"),
    [
        ({"concave": "yes"}, ValueError, "concave must be True or False, got 'yes'"),
        ({"check": 1}, ValueError, "check must be True or False, got 1"),
        (
            {"waiting": "nonincreasing"},
            TypeError,
            "declares 'waiting', which is not one of aliases, binary, bounded_form, check",
        ),
        ({"concave_until": 5}, TypeError, "concave_until must be a plain function, got 5"),
        ({"lowest_mean": 5}, TypeError, "lowest_mean must be a plain function, got 5"),
        ({"memory": 5}, TypeError, "declares 'memory', which is not one of aliases, binary"),
        ({"table": "x"}, TypeError, "mine must take the arguments pulls, t, horizon, arms, table"),
        ({"name": "two\nlines"}, ValueError, "name must be one line of text"),
        ({"name": ""}, ValueError, "name must be one line of text, got ''"),
        ({"label": "two\rlines"}, ValueError, "label must be one line of text"),
        ({"label": None}, ValueError, "label must be one line of text, got None"),
        ({"valid": 3}, TypeError, "valid must be a dict of ranges, got 3"),
        ({"proved": {"c": 3}}, TypeError, "proved must be a dict of ranges, got {'c': 3}"),
        ({"valid": {"c": above(0)}}, ValueError, "valid names 'c', which is not a parameter"),
        ({"binary": 3}, ValueError, "binary must be True or False, got 3"),
    ],
)
def test_wrong_facts_are_refused(facts, error, words):
    with pytest.raises(error, match=words):
        formula("return 1.0 / pulls", **facts)


CONSTANT = {"unplayed_index": "constant"}
CONCAVE = {**CONSTANT, "concave": True}


def _five(horizon, arms, which):
    return 5.0


def doubtful(pulls, t, horizon, arms, which=0.0):
    """Bonuses about which one can say what is false."""
    if which == 0.0:  # rises
        return sqrt(2.0 / pulls * log(t))
    if which == 1.0:  # falls
        return sqrt(2.0 / pulls * log(9.0 * horizon / t))
    if which == 2.0:  # rises with every pull
        return sqrt(pulls)
    if which == 3.0:  # falls to 0 suddenly
        return pulls**-0.5 if pulls < 9 else 0.0
    if which == 4.0:  # negative in the end
        return 5.0 / pulls - 0.2
    return 1.0 / sqrt(pulls)


def endless(pulls, t, horizon, arms, until=1e9, rising=0.0):
    """A bonus that is infinite at first, or always."""
    return inf if pulls < until else (log(t) if rising else 1.0) / pulls


@functools.cache
def stated(function, **facts):
    """Return a policy; those that declare the same are compiled once."""
    return ocucb.index_policy(**facts)(function)


@pytest.mark.parametrize(
    ("which", "facts", "words"),
    [
        (0, {"unplayed_index": "nonincreasing"}, "rises from"),
        (0, {"unplayed_index": "constant"}, "rises from"),
        (1, {"unplayed_index": "constant"}, "falls from"),
        (1, {"unplayed_index": "nondecreasing"}, "falls from"),
        (2, CONSTANT, "bonus rises from .* pulls in round"),
        (3, CONCAVE, "below its chord"),
        (4, CONCAVE, "negative"),
        (5, CONCAVE | {"concave_until": _five}, "declares concave_until = 5"),
    ],
)
def test_false_declarations_are_refused(which, facts, words):
    policy = stated(doubtful, **facts)(which)
    with pytest.raises(ValueError, match=f"{words}.*check=False"):
        ocucb.simulate(policy, PROBLEM, 1000, 5, rng=1)
    with pytest.raises(ValueError, match=words):
        ocucb.Bandit("abc", policy, 1000, sigma=1)
    knows_better = stated(doubtful, **facts, check=False)(which)
    ocucb.simulate(knows_better, PROBLEM, 1000, 5, rng=1)


def test_false_declarations_of_deviations():
    family = formula(
        "return sqrt(log(t + 1.0) / pulls)", ocucb.sampling_policy, unplayed_index="constant"
    )
    with pytest.raises(ValueError, match='unplayed_index="constant", but its formula rises'):
        ocucb.simulate(family, PROBLEM, 1000, 5, rng=1)


CLICKS = ocucb.bernoulli([0.6, 0.5, 0.4])


def play_live(bandit):
    for t in range(100):
        bandit.tell(bandit.ask(), float(t % 2))


@pytest.mark.parametrize(
    ("body", "given", "facts"),
    [
        ("return log(horizon / (9.0 * pulls * arms))", r"-[0-9.]+", CONCAVE),
        ("return -1.0", "-1", {}),
        ("return log(0.5 - pulls)", "nan", CONSTANT),  # Python refuses to compute it
    ],
)
def test_a_budget_that_may_be_negative_is_refused(body, given, facts):
    words = f"must be a budget of at least 0 everywhere, but its formula gives {given} in round"
    checked = formula(body, ocucb.kl_policy, **facts)
    for problem in (PROBLEM, CLICKS):
        with pytest.raises(ValueError, match=words):
            ocucb.simulate(checked, problem, 100, 5, rng=1)
    for scale in ({"bounds": (0, 1)}, {"sigma": 1}):
        with pytest.raises(ValueError, match=words):
            ocucb.Bandit("abc", checked, 100, **scale)


@pytest.mark.parametrize(
    ("problem", "body", "facts"),
    [
        (PROBLEM, "return log(horizon / (9.0 * pulls * arms))", CONCAVE),
        (CLICKS, "return log(horizon / (9.0 * pulls * arms))", CONCAVE),
        (CLICKS, "return log(0.5 - pulls)", {}),
    ],
    ids=["gaussian", "clicks", "clicks, nan"],
)
def test_a_budget_that_is_negative_in_play_is_an_error(problem, body, facts):
    """Where the grid is not asked; nothing is played as 0."""
    scale = {"bounds": (0, 1)} if problem is CLICKS else {"sigma": 1}
    trusted = formula(body, ocucb.kl_policy, **facts, check=False)
    for engine in ("step", "skip") if facts else ("step",):
        with pytest.raises(ValueError, match="its formula gave a negative budget, or a value that"):
            ocucb.simulate(trusted, problem, 100, 5, rng=1, engine=engine)
    bandit = ocucb.Bandit("abc", trusted, 100, **scale)
    with pytest.raises(
        ValueError, match="its formula returned a negative budget, or NaN or no arm"
    ):
        play_live(bandit)
    with pytest.raises(ValueError, match="budget must be at least 0, got"):
        trusted().bonus(pulls=50, t=90, horizon=100, arms=3)


@pytest.mark.parametrize("arms", [1, 2, 10, 300])
@pytest.mark.parametrize("horizon", [1, 2, 5, 300, 10_000, 10**6])
def test_what_we_declare_ourselves_passes(arms, horizon):
    for name, family in FAMILIES.items():
        if family.rule.kind != "choice" and not (name == "gittins" and horizon > 10_000):
            assert false_declaration(family(), horizon, arms) is None, name
            if isinstance(family.rule, BonusRule):
                assert not has_infinite_bonus(family(), horizon, arms), name


# Arrays


def test_a_choice_that_forgets_memory():
    family = formula("memory[2] += 1.0\nreturn 0", ocucb.choice_policy)
    with pytest.raises(ValueError, match=r"indexes an array out of bounds.* memory holds 0"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)
    enough = formula("memory[2] += 1.0\nreturn 0", ocucb.choice_policy, memory=_three)
    assert ocucb.simulate(enough, PROBLEM, 100, 3, rng=1)[0].mean_regret == 1.0


def _three(arms):
    return 3


@pytest.mark.parametrize("array", ["pulls", "sums"])
@pytest.mark.parametrize("write", ["[0] = 1e9", "[:] = 1e9", " += 1e9", ".fill(1e9)"])
def test_a_choice_may_not_write_into_the_engines_arrays(array, write):
    family = formula(f"{array}{write}\nreturn 0", ocucb.choice_policy)
    with pytest.raises(TypeError, match="it writes to a read-only array"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)
    with pytest.raises(TypeError, match="read"):
        ocucb.Bandit("abc", family, 100, sigma=1)


@pytest.mark.parametrize(
    "write",
    [
        "sums.flat[0] = 1e9",
        "np.ascontiguousarray(sums)[0] = 1e9",
        "np.asfortranarray(sums)[0] = 1e9",
        "np.fill_diagonal(sums.reshape((1, sums.size)), 1e9)",
        "for x in np.nditer(sums): x[()] = 1e9",
        "for x in nditer(sums): x[()] = 1e9",
    ],
)
def test_ways_around_read_only_arrays_are_refused(write):
    """numba forgets in these that an array is read-only."""
    space = {"np": np, "nditer": np.nditer}
    family = formula(f"{write}\nreturn 0 if sums[0] > 1e5 else 1", ocucb.choice_policy, space)
    with pytest.raises(ValueError, match=r"mine must not use .*, which can write to read-only"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)
    with pytest.raises(ValueError, match="mine must not use"):
        ocucb.Bandit("abc", family, 100, sigma=1)


def test_a_choice_that_reads_beyond_the_arms():
    family = formula("return int(pulls[7])", ocucb.choice_policy)
    with pytest.raises(ValueError, match="indexes an array out of bounds: pulls and sums hold 3"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)
    bandit = ocucb.Bandit("abc", family, 100, sigma=1)
    for _ in range(3):
        bandit.ask()
    before = bandit.to_dict()
    with pytest.raises(ValueError, match="indexes an array out of bounds"):
        bandit.ask()
    assert bandit.to_dict() == before


def test_helpers_of_a_choice_are_checked_too():
    @numba.njit
    def look(memory, i):
        return memory[i]

    space = {"look": look}
    family = formula("look(memory, 5)\nreturn 0", ocucb.choice_policy, space=space)
    with pytest.raises(ValueError, match="indexes an array out of bounds"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)


def test_a_table_of_a_user_is_not_written_to():
    def numbers(horizon):
        return np.ones(3)

    space = {}
    exec("def mine(pulls, t, horizon, arms, table):\n    table[0] = 7.0\n    return 1.0", space)
    with pytest.raises(TypeError, match="it writes to a read-only array"):
        ocucb.simulate(ocucb.index_policy(table=numbers)(space["mine"]), PROBLEM, 100, 3, rng=1)


# Numbers


@pytest.mark.parametrize("given", [None, "text", 3.0, [[1.0]]])
def test_a_table_that_is_no_list_of_numbers(given):
    space = {"given": given}
    exec("def mine(pulls, t, horizon, arms, table):\n    return table[0]", space)
    family = ocucb.index_policy(table=lambda horizon: given)(space["mine"])
    with pytest.raises(TypeError, match="mine's table must return a list of numbers, got "):
        ocucb.simulate(family, PROBLEM, 100, 5, rng=1)


def test_a_table_of_whole_numbers():
    space = {}
    exec("def mine(pulls, t, horizon, arms, table):\n    return table[0]", space)
    whole, real = (
        ocucb.index_policy(table=lambda horizon, kind=kind: np.ones(1, kind))(space["mine"])
        for kind in (np.int32, np.float64)
    )
    assert whole().bonus(1, 10, 100, 3) == real().bonus(1, 10, 100, 3) == 1.0


@pytest.mark.parametrize("size", [1e14, 1e16, -1e15])
def test_means_that_rounding_swallows(size):
    problem = ocucb.gaussian([size, size - 2.0])
    for policy, engine in (("ocucb", "step"), ("thompson", "skip"), ("uniform", "auto")):
        with pytest.raises(ValueError, match=r"rounding swamps .* subtract a constant"):
            ocucb.simulate(policy, problem, 1000, 10, engine=engine)
    with pytest.warns(UserWarning, match="rounding matters"):
        ocucb.simulate("ocucb", ocucb.gaussian([1e12, 1e12 - 1]), 1000, 10, engine="step")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ocucb.simulate("ocucb", problem, 1000, 10)  # skip-ahead keeps the noise apart
        ocucb.simulate("ocucb", ocucb.gaussian([1000, 999]), 10_000, 10, engine="step")


@pytest.mark.parametrize(
    ("values", "facts"),
    [
        ({}, {"unplayed_index": "constant"}),
        ({}, {"unplayed_index": "nondecreasing"}),
        ({}, {"unplayed_index": "nonincreasing"}),
        ({"until": 40}, {"unplayed_index": "constant"}),
        ({"until": 40, "rising": 1}, {"unplayed_index": "nondecreasing"}),
    ],
)
def test_an_infinite_bonus(values, facts, monkeypatch):
    """Skip-ahead cannot compare such indices: it is refused there and played step by step."""
    policy = stated(endless, **facts)(**values)
    with pytest.warns(UserWarning, match="its bonus is infinite in some rounds"):
        skipped = ocucb.simulate(policy, PROBLEM, 300, 200, rng=1, engine="skip")[0]
    stepped = ocucb.simulate(policy, PROBLEM, 300, 200, rng=1, engine="step")[0]
    assert skipped.engine == "step"
    assert skipped.mean_regret == stepped.mean_regret
    # where nobody has noticed, the kernel does
    monkeypatch.setattr(base, "has_infinite_bonus", lambda *facts: False)
    specification = Specification(policy, PROBLEM, 300, np.array([300]), 1, "skip")
    with pytest.raises(ValueError, match="a value that is not finite"):
        specification.play(0, 10)


@pytest.mark.parametrize(
    ("start", "draw"),
    [
        ("import numpy as np", "np.random.random()"),
        ("from numpy import random", "random.random()"),
        ("from numpy.random import random", "random()"),
        ("import random", "random.random()"),
        ("from random import random", "random()"),
    ],
)
def test_random_numbers_that_no_seed_controls(start, draw):
    space = {}
    exec(start, space)
    body = f"return int({draw} * pulls.size)"
    family = formula(body, ocucb.choice_policy, space)
    with pytest.raises(ValueError, match=r"mine must draw from ocucb\.random with its stream"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)


def test_our_own_random_numbers_are_welcome_beside_numpy():
    space = {"ocucb": ocucb, "np": np}
    body = "return int(np.floor(ocucb.random.uniform(stream) * pulls.size))"
    family = formula(body, ocucb.choice_policy, space)
    assert ocucb.simulate(family, PROBLEM, 100, 3, rng=1)[0].runs == 3


# Messages


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return 0.0", "must return an arm's number, an int, got float64"),
        ("return t > 5", "must return an arm's number, an int, got bool"),
        ("return None", "must return an arm's number, an int, got none"),
        ("pass", "must return an arm's number, an int, got none"),
        ("if t > 5:\n    return 0", "must return an arm's number, an int"),
    ],
)
def test_a_choice_that_is_no_arm(body, words):
    family = formula(body, ocucb.choice_policy)
    with pytest.raises(TypeError, match=words):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)
    with pytest.raises(TypeError, match=words):
        ocucb.Bandit("abc", family, 100, sigma=1)


@pytest.mark.parametrize("value", ["inf", "-1.0", "inf - inf", "sqrt(100.0 - pulls)"])
@pytest.mark.parametrize("facts", [{}, CONSTANT], ids=["", "constant"])
def test_a_deviation_that_is_not_finite(value, facts):
    """Engines would go on without the arm."""
    body = f"return {value} if pulls > 100 else 1.0 / sqrt(pulls)"
    family = formula(body, ocucb.sampling_policy, **facts)
    for act in (
        lambda: ocucb.simulate(family, PROBLEM, 200, 5, rng=1, engine="step"),
        lambda: ocucb.simulate(family, PROBLEM, 2000, 5, rng=1),
        lambda: ocucb.Bandit("abc", family, 200, sigma=1),
    ):
        with pytest.raises(ValueError, match=r"must be finite.* 1\d\d pulls; .*check=False"):
            act()


def test_a_deviation_that_is_not_finite_in_play_is_an_error():
    """Where the grid is not asked; nobody goes on without the arm while it has 4 pulls."""

    @ocucb.sampling_policy(**CONSTANT, check=False)
    def trusted(pulls, t, horizon, arms, c=0.0):
        wrong = inf * c if c < 2.0 else -1.0  # nan, infinite or negative
        return wrong if pulls == 4 else 1.0 / sqrt(pulls)

    words = r"could not choose an arm in {}: its formula .* a deviation that is negative"
    for c, engine in ((0, "step"), (0, "skip"), (1, "step"), (2, "step"), (2, "skip")):
        with pytest.raises(ValueError, match=words.format(r"run \d+")):
            ocucb.simulate(trusted(c), PROBLEM, 10, 5, rng=1, engine=engine)
    for c in (0, 1, 2):
        bandit = ocucb.Bandit("abc", trusted(c), 100, sigma=1)
        bandit.tell(["a"] * 4 + ["b", "c"], [0.0] * 6)
        before = bandit.to_dict()
        for ask in (bandit.ask, lambda bandit=bandit: bandit.ask(3)):
            with pytest.raises(ValueError, match=words.format("round 7")):
                ask()
            assert bandit.to_dict() == before
        bandit.tell("a", 0.0)
        bandit.ask()


@pytest.mark.parametrize("answer", [inf, 9, 9.5])
def test_concave_until_may_be_any_number(answer):
    facts = {**CONCAVE, "concave_until": lambda horizon, arms: answer}
    family = formula("return 0.1 / sqrt(pulls) if pulls < 10 else 0.0", **facts)
    if answer == inf:
        family = formula("return 1.0 / sqrt(pulls)", **facts)
    ocucb.simulate(family, PROBLEM, 100, 5, rng=1)


@pytest.mark.parametrize("answer", [None, "9", inf - inf])
def test_concave_until_that_is_no_number(answer):
    facts = {**CONCAVE, "concave_until": lambda horizon, arms: answer}
    with pytest.raises(ValueError, match="mine's concave_until must return a number, got"):
        ocucb.simulate(formula("return 1.0 / sqrt(pulls)", **facts), PROBLEM, 100, 5, rng=1)


@pytest.mark.parametrize("body", ["return None", "pass", "return (1.0, 2.0)"])
def test_a_formula_that_is_no_number(body):
    with pytest.raises(TypeError, match="mine must return a number, got"):
        ocucb.simulate(formula(body), PROBLEM, 100, 3, rng=1)


def test_arguments_are_told_by_name():
    with pytest.raises(TypeError, match="horizon, arms, sigma first, in this order, got t, pulls"):
        ocucb.index_policy(lambda t, pulls, horizon, arms: 1.0)
    with pytest.raises(TypeError, match="in this order, got pulls, horizon, t, arms"):
        ocucb.sampling_policy(lambda pulls, horizon, t, arms: 1.0)
    with pytest.raises(TypeError, match="mean, scale, stream, in this order, got scale, mean"):
        ocucb.custom_rewards(lambda scale, mean, stream: 1.0, [0, 1], 1.0)


@pytest.mark.parametrize("default", ["3", "many", None, [1.0], (2.0,), {}, 1j])
def test_defaults_that_are_no_numbers(default):
    def mine(pulls, t, horizon, arms, width=default):
        return width / pulls

    with pytest.raises(TypeError, match="the default of mine's parameter 'width' must be a number"):
        ocucb.index_policy(mine)


def test_the_name_of_a_function_is_one_line():
    def mine(pulls, t, horizon, arms):
        return 1.0

    mine.__name__ = "two\nlines"
    with pytest.raises(ValueError, match=r"^the name of a policy must be one line .*'two\\nlines'"):
        ocucb.index_policy(mine)


def test_only_plain_functions_state_a_policy():
    class Callable:
        def __call__(self, pulls, t, horizon, arms):
            return 1.0

    def wide(pulls, t, horizon, arms, width=1.0):
        return width / sqrt(pulls)

    for wrong in (Callable(), functools.partial(wide, width=2.0), 3, "ucb"):
        with pytest.raises(TypeError, match="a policy must be a plain function, got"):
            ocucb.index_policy(wrong)
        with pytest.raises(TypeError, match="sample must be a plain function, got"):
            ocucb.custom_rewards(wrong, [0, 1], 1.0)
    assert play(ocucb.index_policy(numba.njit(wide))) == play(ocucb.index_policy(wide))


def test_helpers_may_be_defined_later_and_call_each_other():
    space = {"sqrt": sqrt}
    exec(
        textwrap.dedent("""
            import numba, ocucb
            @ocucb.index_policy
            def mine(pulls, t, horizon, arms):
                return even(3.0) / sqrt(pulls)

            @numba.njit
            def even(x):
                return x if x < 1.0 else odd(x - 1.0)

            @numba.njit
            def odd(x):
                return x + 0.5 if x < 1.0 else x - 1.0
        """),
        space,
    )
    assert play(space["mine"]) > 0


def test_a_policy_keeps_its_face():
    def mine(pulls, t, horizon, arms, width=1.0):
        """Say what it does."""
        return width / pulls

    family = ocucb.index_policy(mine)
    assert family.__doc__ == "Say what it does."
    assert family.__module__ == __name__
    with ProcessPoolExecutor(1) as pool:
        assert play(family(width=2.0)) == play(family(width=2.0), executor=pool)


def test_a_bounded_form_is_part_of_what_a_policy_is(tmp_path):
    def budget(pulls, t, horizon, arms):
        return 1.0

    usual = ocucb.kl_policy(name="x")(budget)()
    other = ocucb.kl_policy(name="x", bounded_form=ocucb.sampling_policy(budget))(budget)()
    call = {"problem": ocucb.bernoulli([0.5, 0.4]), "horizon": 50, "runs": 50, "rng": 1}
    first, second = (
        ocucb.simulate(policy, **call, store=tmp_path / "results.db")[0].mean_regret
        for policy in (usual, other)
    )
    assert first != second
    with pytest.raises(TypeError, match="bounded_form must have the same table"):
        ocucb.index_policy(table=lambda horizon: np.zeros(3), bounded_form=usual.family)(
            lambda pulls, t, horizon, arms, table: 1.0
        )
    nested = ocucb.index_policy(bounded_form=ocucb.KLUCB)(
        lambda pulls, t, horizon, arms, c=0.0: 1.0 / pulls
    )
    assert isinstance(nested.form(True).rule, BernoulliKLRule)
