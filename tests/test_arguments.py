"""Odd numbers in every place that takes one: an error in one short sentence that names the place.

Huge whole numbers, which no float can hold or which Python does not even write as text, True and
False, which Python takes for 1 and 0, and text.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import ocucb
from helpers import invoke
from ocucb import gittins, theory
from ocucb._text import MOST_DIGITS
from ocucb.policies import FAMILIES

HUGE = (10**400, -(10**400), 10**5000)
NUMBERS = {"means": [0.0, -0.5, -0.5], "horizon": 1000, "sigma": 1.0, "K": 5, "gap": 0.5}
NUMBERS |= {"alpha": 3.0, "psi": 2.0, "constant": 5.0, "gamma": 1.2, "elsewhere": 100.0, "x": 2.0}
NUMBERS |= {"runs": 10, "ratio": 5.0, "most": 0.5}


def constant(mean, scale, stream):
    return mean


@cache
def result() -> ocucb.PolicyResult:
    return ocucb.simulate("ucb", ocucb.gap(), 50, 20, rng=1)[0]


def bandit(**change: Any) -> ocucb.Bandit:
    rules = {"arms": "ab", "policy": "ucb", "horizon": 100, "sigma": 1.0, "rng": 1}
    return ocucb.Bandit(**rules | change)


def rebuilt(**change: Any) -> ocucb.Bandit:
    parts = bandit(**{k: v for k, v in change.items() if k == "rng"}).to_parts()
    return ocucb.Bandit.from_parts(**parts | change)


# What is called, and the numbers it is called with; each is replaced in turn.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "simulate": (
        lambda **given: ocucb.simulate("ucb", ocucb.gap(), **given),
        {"horizon": 50, "runs": 5, "precision": 0.5, "rng": 1, "checkpoints": [5], "workers": 1},
    ),
    "checkpoint": (
        lambda checkpoint: ocucb.simulate("ucb", ocucb.gap(), 50, 5, checkpoints=[checkpoint]),
        {"checkpoint": 5},
    ),
    "gap": (ocucb.gap, {"K": 3, "gap": 0.3, "sigma": 1.0}),
    "moss_failure": (ocucb.moss_failure, {"K": 3}),
    "uniform_arms": (ocucb.uniform_arms, {"K": 3}),
    "conjecture": (ocucb.conjecture, {"K": 3}),
    "gaussian": (ocucb.gaussian, {"means": [0.0], "sigma": [1.0]}),
    "a mean": (lambda means: ocucb.bernoulli([0.5, means]), {"means": 0.4}),
    "uniform_rewards": (ocucb.uniform_rewards, {"means": [0.0], "halfwidth": 1.0}),
    "custom_rewards": (
        lambda **given: ocucb.custom_rewards(constant, [0.0, 1.0], **given),
        {"sigma": 1.0, "scales": 1.0},
    ),
    "parse_problem": (lambda sigma: ocucb.parse_problem("gap", sigma), {"sigma": 1.0}),
    "prior": (
        lambda **given: ocucb.prior("normal", **given),
        {"K": 3, "mean": 0.0, "sd": 1.0, "sigma": 1.0},
    ),
    "Prior.problems": (ocucb.prior("beta", K=2).problems, {"runs": 3, "rng": 1}),
    "Bandit": (bandit, {"horizon": 100, "sigma": 1.0, "rng": 1}),
    "bounds": (lambda bound: bandit(sigma=None, bounds=(-1.0, bound)), {"bound": 1.0}),
    "ask": (lambda count: bandit().ask(count), {"count": 2}),
    "tell": (lambda reward: bandit().tell("a", reward), {"reward": 0.5}),
    "tell several": (lambda reward: bandit().tell(["a", "b"], [0, reward]), {"reward": 0.5}),
    "extend": (lambda horizon: bandit().extend(horizon), {"horizon": 1000}),
    "summary": (lambda level: bandit().summary(level), {"level": 0.9}),
    "verdict": (
        lambda margin, level: bandit().verdict(margin, level),
        {"margin": 0.1, "level": 0.9},
    ),
    "from_parts": (
        rebuilt,
        {"rounds": 9, "pulls": [1, 2], "open": [0, 0], "sums": [0.0, 1.0], "stream": [1, 2, 3, 4]},
    ),
    "quantile": (lambda level: result().quantile(level), {"level": 0.5}),
    "tail": (lambda x: result().tail(x), {"x": 5.0}),
    "cvar": (lambda level: result().cvar(level), {"level": 0.5}),
    "gittins.index": (gittins.index, {"m": 3, "T": 2, "sigma": 1.0}),
    "gittins.surrogate": (gittins.surrogate, {"horizon": 100}),
    "gittins.bernoulli_surrogate": (
        gittins.bernoulli_surrogate,
        {"horizon": 10, "prior": (1.0, 1.0)},
    ),
    "gittins.brownian_limit": (gittins.brownian_limit, {"ratio": 1.0}),
    "gittins.plot": (gittins.plot, {"horizon": 100}),
    "theory.tail_estimate": (
        lambda **given: theory.tail_estimate("ocucb", ocucb.gap(), **given),
        {"horizon": 100, "regret": 10.0},
    ),
}
CALLS |= {name: (family, dict(family.defaults)) for name, family in FAMILIES.items()}
for _name in theory.__all__:
    _function = getattr(theory, _name)
    if inspect.isfunction(inspect.unwrap(_function)) and _name != "counterexample":  # takes lists
        _taken = inspect.signature(_function).parameters
        _known = {name: NUMBERS[name] for name in _taken if name in NUMBERS}
        _needed = {name for name, one in _taken.items() if one.default is one.empty}
        if _needed <= {*_known}:
            CALLS[f"theory.{_name}"] = (_function, _known)
PLACES = [(name, place) for name, (_, numbers) in CALLS.items() for place in numbers]


def test_most_functions_are_called():
    """None is left out because its numbers are called by other names."""
    called = [name for name, _ in PLACES if name.startswith("theory.")]
    assert len(called) > 60
    assert len(PLACES) > 130


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "place"), PLACES)
def test_odd_numbers_are_one_sentence(name, place):
    function, numbers = CALLS[name]
    odd = [*HUGE, True, np.True_, "9" * 5000, "half", [10**400] * 20]
    if place == "rng":
        odd[0] = odd[-1] = -1  # large seeds, and lists of them, are seeds
    if name in ("theory.constants", "theory.c_gamma") or "alpha" in numbers:
        del odd[-1]  # of a function that is cached, Python itself says that lists are not hashable
    for value in odd:
        with pytest.raises((TypeError, ValueError)) as caught:
            function(**numbers | {place: value})
        assert len(str(caught.value)) < 250
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)
        assert "object" not in str(caught.value)  # Python's own words


@pytest.mark.parametrize("value", [True, np.True_, np.array(True)])
def test_true_is_not_one(value):
    for place, call in {
        "horizon": lambda: ocucb.simulate("ucb", ocucb.gap(), value),
        "runs": lambda: ocucb.simulate("ucb", ocucb.gap(), 100, value),
        "K": lambda: ocucb.gap(K=value),
        "alpha": lambda: ocucb.OCUCB(alpha=value),
        "reward": lambda: bandit().tell("a", value),
        "rng": lambda: bandit(rng=value),
    }.items():
        words = rf"{place} must be a (whole )?number.*, got (array\()?True\)?\.$"
        with pytest.raises(TypeError, match=words):
            call()
    with pytest.raises(TypeError, match=r"means must be numbers, got \[0\.5, True\]\."):
        ocucb.bernoulli([0.5, True])

    with pytest.raises(TypeError, match=r"parameter 'a' must be a number, got True\."):

        @ocucb.index_policy
        def mine(pulls, t, horizon, arms, a=True):
            return a / pulls


def test_a_precision_that_no_float_can_hold():
    with pytest.raises(ValueError, match=r"^precision must lie between 0 and 1, got a whole .*\.$"):
        ocucb.simulate("ucb", ocucb.gap(), 100, precision=10**400)


@pytest.mark.parametrize("seed", [10**4300, 10**5000], ids=["smallest", "larger"])
def test_seeds_that_cannot_be_written_are_refused(seed, tmp_path):
    for call in (
        lambda: ocucb.simulate("ucb", ocucb.gap(), 10, 5, rng=seed, store=tmp_path / "new.db"),
        lambda: bandit(rng=seed),
    ):
        with pytest.raises(ValueError, match=r"^rng must have at most 4300 digits, got a whole"):
            call()
    assert not (tmp_path / "new.db").exists()


def test_the_largest_seed_is_kept(tmp_path):
    seed = 10**MOST_DIGITS - 1
    assert sys.get_int_max_str_digits() == MOST_DIGITS
    call = {"policies": "ucb", "problem": ocucb.gap(), "horizon": 10, "runs": 5, "rng": seed}
    first = ocucb.simulate(**call, store=tmp_path / "new.db")
    assert ocucb.simulate(**call, store=tmp_path / "new.db").seed == seed
    with ocucb.Store(tmp_path / "new.db", read_only=True) as store:
        assert [content.seed for content in store.contents()] == [seed]
    first.save(tmp_path / "result.json")
    assert ocucb.SimulationResult.load(tmp_path / "result.json").seed == seed
    bandit(rng=seed).save(tmp_path / "bandit.json")
    assert ocucb.Bandit.load(tmp_path / "bandit.json").seed == seed
    assert str(seed) in first.table()


def test_names_of_arms_can_be_written():
    with pytest.raises(ValueError, match=r"an arm's name must have at most 4300 digits, got a"):
        bandit(arms=[1, 10**5000])
    with pytest.raises(ValueError, match=r"^unknown arm a whole number of about 5001 digits; this"):
        bandit().tell(10**5000, 0.5)


@pytest.mark.parametrize("store", [5, True, b"results.db", 10**5000], ids=type)
def test_what_is_no_store_is_called_by_its_name(store):
    with pytest.raises(TypeError, match=r"^store must be a path or a Store, got [^\n]{,80}\.$"):
        ocucb.simulate("ucb", ocucb.gap(), 10, 5, rng=1, store=store)
    with pytest.raises(TypeError, match=r"^a store must be a path such as 'results.db', got "):
        ocucb.Store(store)


@pytest.mark.parametrize(
    "option", ["-n", "--runs", "--seed", "--precision", "--workers", "--means"]
)
@pytest.mark.parametrize("text", ["9" * 399, "9" * 5000, "True", "x" * 5000])
def test_odd_numbers_on_the_command_line(option, text):
    given = {"-p": "ucb", "--means": "0,1", "-n": "50", option: text}
    done = invoke("simulate", *(word for pair in given.items() for word in pair))
    assert done.exit_code == 2
    assert 20 < len(done.stderr) < 250
    assert done.stderr.count("\n") == 1


def test_a_backend_that_does_not_exist_is_named():
    code = """
import ocucb, ocucb.gittins

def league():
    from ocucb.league import drawing

result = ocucb.simulate("ucb", ocucb.gap(), 10, 5)
summary = ocucb.Bandit("ab", "ucb", 10, sigma=1).summary()
for draw in (result.plot, summary.plot, lambda: ocucb.gittins.plot(100), league):
    try:
        draw()
    except ValueError as error:
        print(error)
"""
    environment = {**os.environ, "MPLBACKEND": "nonsense"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment
    )
    words = "matplotlib has no backend 'nonsense', which the environment variable MPLBACKEND names"
    assert done.stdout == 4 * f"{words}; unset it, or set it to agg.\n", done.stderr
