"""`ocucb theory`: its report, command line and errors; estimates of tails.

Random tests have fixed seeds. Those that could fail by chance say how often; the others check
inequalities that hold for certain.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import kl_div
from scipy.stats import norm

import ocucb
from helpers import invoke
from ocucb import theory
from ocucb.theory._report import STATEMENTS
from ocucb.theory._tail import _crossing


def test_import_is_lazy():
    code = "import sys, ocucb; assert not {'numba', 'ocucb.theory', 'scipy'} & set(sys.modules)"
    code += "; ocucb.theory.complexity([0, -1]); assert ocucb.gittins.__doc__"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_command_prints_every_bound():
    done = invoke("theory", "--means", "0,-0.1,-0.5", "--horizon", "1e5")
    assert done.exit_code == 0, done.stderr
    assert "H   = 104" in done.stdout
    assert "H_i = inf, 204, 12" in done.stdout
    assert "     80.00  shape    OCUCB, theorem 1 (ocucb): this problem\n" in done.stdout
    assert "  276.31  limit    Lai and Robbins (consistent policies)" in done.stdout
    assert "  equal gaps: the paper's theorem 19 covers only one best arm" in done.stdout
    for statement in STATEMENTS.values():
        assert f" {statement.title}" in done.stdout


def test_the_sharpest_comes_first_and_vacuous_bounds_say_so():
    report = theory.report(ocucb.gaussian([0, -0.1, -0.5]), 100_000)
    found = report.to_dict()["bounds"]
    for side, sign in (("upper", 1), ("lower", -1)):
        mine = [row for row in found if row["side"] == side]
        kinds = [row["kind"] for row in mine]
        assert kinds == sorted(kinds, key=["bound", "shape", "limit"].index)
        for kind in {*kinds}:
            values = [sign * row["value"] for row in mine if row["kind"] == kind]
            assert values == sorted(values)
    trivial = 100_000 * 0.5
    for row in found:
        useless = row["value"] >= trivial if row["side"] == "upper" else row["value"] <= 0
        assert row["vacuous"] == (useless and row["kind"] == "bound")
    marked = [row["statement"] for row in found if row["vacuous"]]
    assert {"ocucb_bound", "moss_promise_lower_bound"} <= {*marked}
    assert not {"ucb_bound", "moss_bound", "ucb_worst_case_shape"} & {*marked}
    text = report.table()
    said = "vacuous  no regret exceeds n times the largest gap, 50000.00"
    assert text.count(said) + text.count("vacuous  no regret is below 0") == len(marked)
    assert text.index("UCB, constant 8 (") < text.index("MOSS, constant 4 (") < text.index(said)


def test_command_with_json_plot_and_measurement(tmp_path):
    path = tmp_path / "theory.png"
    words = "--means 0,-0.5 -n 1e4 --simulate --runs 20 --seed 1 --json -p ocucb -p moss:constant=4"
    done = invoke("theory", *words.split(), "--plot", path)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["H"] == 4
    assert found["H_i"] == [None, 8]
    assert [row["policy"] for row in found["measured"]] == [
        "ocucb:alpha=3,psi=2",
        "moss:constant=4",
    ]
    values = {bound["statement"]: bound for bound in found["bounds"]}
    assert values["moss_bound"]["value"] == pytest.approx(39 * math.sqrt(2e4) + 0.5)
    assert values["moss_bound"]["kind"] == "bound"
    assert values["moss_bound"]["title"] == "MOSS, constant 4"
    assert values["moss_bound"]["rewards"] == "subgaussian"
    assert values["lai_robbins"]["rewards"] == "gaussian"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_shapes_are_never_drawn():
    report = theory.report(ocucb.gap(2, 0.5), 10_000, policies=["ocucb"], runs=5, rng=1, curve=True)
    figure = report.plot()
    labels = figure.legends[0].get_texts()
    assert [text.get_text() for text in labels] == [
        "trivial bound $n\\Delta_{\\max}$",
        "UCB, constant 8: proven to lie here",
        "MOSS, constant 4: proven to lie here",
        "Lai and Robbins, as $n \\to \\infty$",
        "lower bound for the worst problem",
        "OCUCB, measured",
    ]
    assert list(report.curve) == report.horizons()
    ceiling = figure.axes[0].lines[0].get_ydata()
    assert list(ceiling) == [0.5 * n for n in report.horizons()]
    # What is drawn of a bound never exceeds what is possible, nor what is proved.
    for line, key in ((1, "ucb_bound"), (3, "moss_bound")):
        drawn = figure.axes[0].lines[line].get_ydata()
        proved = [report.at(n)[key].value for n in report.horizons()]
        assert drawn == pytest.approx(np.minimum(proved, ceiling))


def test_tails_of_policies_that_state_a_budget_are_those_of_the_bonus():
    problem = ocucb.gap(2, 0.3)
    for budget, bonus in (("kl-ucb", "ucb"), ("kl-ucb-switch", "moss")):
        assert theory.tail_exponent(budget) == theory.tail_exponent(bonus) == 1.0
        estimates = [
            theory.tail_estimate(policy, problem, 1000, 150.0) for policy in (budget, bonus)
        ]
        assert estimates[0] == pytest.approx(estimates[1])
    # log log terms do not count; a bonus that grows like a power of n beats every power
    for name in ("ucb-asymptotic", "bayes-ucb:c=2", "kl-ucb:c=3", "kl-ucb-plus-plus", "adaucb"):
        assert theory.tail_exponent(name) == 1.0
    assert theory.tail_exponent("light-tailed") == math.inf


def test_lai_robbins_has_the_divergence_of_the_rewards():
    means, n = [0.3, 0.5, 0.45, 0.5], 10_000
    kl = [kl_div(p, 0.5) + kl_div(1 - p, 0.5) for p in (0.3, 0.45)]
    value = (0.2 / kl[0] + 0.05 / kl[1]) * math.log(n)
    assert theory.lai_robbins(means, n, rewards="bernoulli").value == pytest.approx(value)
    found = theory.report(ocucb.bernoulli(means), n).statements["lai_robbins"]
    assert found.value == pytest.approx(value)
    assert found.covers(ocucb.bernoulli([0.5, 0.4]))
    assert not found.covers(ocucb.gaussian([0.5, 0.4]))
    assert theory.lai_robbins([1.0, 0.5], n, rewards="bernoulli").value == 0.0  # found out at once
    with pytest.raises(
        ValueError, match="rewards must be 'gaussian', 'bernoulli' or 'exponential', got 'uni"
    ):
        theory.lai_robbins(means, n, rewards="uniform")
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got 1\.5"):
        theory.lai_robbins([0.5, 1.5], n, rewards="bernoulli")


@pytest.mark.parametrize("horizon", [0, -5, 2.5])
def test_a_report_needs_a_horizon(horizon):
    with pytest.raises(ValueError, match="horizon must be"):
        theory.report(ocucb.gap(), horizon)


@pytest.mark.parametrize(
    "problem",
    [
        ocucb.gaussian([0.0]),
        ocucb.gaussian([1.0, 1.0]),
        ocucb.gap(3, 5.0),
        ocucb.gaussian([0.0, -1e-99, -1.0]),
        ocucb.gaussian([0.0, -1e99], sigma=1e95),
    ],
)
def test_report_of_odd_problems(problem, tmp_path):
    report = theory.report(problem, 2)
    assert "Regret is at most" in report.table()
    json.dumps(report.to_dict(), allow_nan=False)
    report.plot().savefig(tmp_path / "odd.png")


def test_what_is_proved_for_gaussian_rewards_needs_them():
    report = theory.report(ocucb.bernoulli([0.5, 0.1]), 10_000)
    statements = report.statements
    for key in ("ucb_shape", "balanced_lower_bound", "ucb_promise_lower_bound"):
        assert statements[key] == "it is proved for Gaussian rewards, and these are bernoulli."
    assert statements["moss_bound"].value == pytest.approx(19.5 * math.sqrt(2e4) + 0.4)
    gaussian = theory.report(ocucb.gaussian([0.5, 0.1]), 10_000).statements
    assert gaussian["lai_robbins"].covers(ocucb.gaussian([0.0, -1.0]))
    assert gaussian["lai_robbins"].needs.startswith("Gaussian rewards, regret o(n^a)")
    assert gaussian["moss_bound"].needs == "sigma-subgaussian rewards, constant 4"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--means 0,-0.1", "Error: --horizon is missing"),
        ("--horizon 10", "Error: specify the arms either with --means"),
        ("--means 0,x --horizon 10", "Error: --means must be a number"),
        ("--means 0,-1 --horizon 0", "Error: --horizon must be at least 1, got 0."),
        ("--means 0,-1 --horizon 10 --policy ucb", "Error: --policy needs --simulate."),
        ("--means 0,-1 --horizon 10 --runs 5", "Error: --runs needs --simulate."),
        ("--means 0,-1 --horizon 10 --seed 0", "Error: --seed needs --simulate."),
        ("--means 0,-1e-200 --horizon 10", "Error: a gap over sigma must lie between 1e-100"),
        ("--means 0,-1 --horizon 10 --plot a.txt", "Error: cannot draw to 'a.txt'"),
        (
            "--means 0,-1 --horizon 10 --plot no/a.png",
            "Error: no/a.png cannot be written: the folder",
        ),
        ("--means 0,-1 --horizon 10 --sigma 1,2", "Error: sigma must be one number"),
    ],
)
def test_wrong_input_gives_one_sentence(words, sentence):
    done = invoke("theory", *words.split())
    assert done.exit_code == 2
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("policy", "exponent"),
    [
        ("ucb", 1.0),
        ("ucb:constant=5", 2.5),
        ("moss:constant=4", 2.0),
        ("ocucb:alpha=3", 1.5),
        ("aocucb", 1.0),
        ("thompson", 1.0),
    ],
)
def test_tail_exponent(policy, exponent):
    assert theory.tail_exponent(policy) == exponent
    # the policy believes in twice the noise that the best arm has
    noisy = ocucb.gaussian([0.0, -1.0], [0.5, 1.0])
    assert theory.tail_exponent(policy, noisy) == pytest.approx(4.0 * exponent)


def test_tail_estimate_agrees_with_one_step_and_two():
    """By hand: P(X1 < -a) + P(X1 >= -a, X1 + X2 < -b)."""
    a, b = 1.7, 2.9
    second, _ = quad(lambda x: norm.pdf(x) * norm.cdf(-b - x), -a, 9.0)
    assert _crossing(np.array([a])) == pytest.approx(norm.cdf(-a), rel=1e-2)
    assert _crossing(np.array([a, b])) == pytest.approx(norm.cdf(-a) + second, rel=1e-2)


@pytest.mark.parametrize(
    ("policy", "arms", "gap", "regret", "measured"),
    [  # importance sampling, n = 10^4, 40,000 to 300,000 runs; errors of a few percent
        ("ocucb", 2, 0.3, 1500.0, 4.08e-4),
        ("ocucb", 2, 0.5, 2500.0, 5.77e-5),
        ("ocucb", 10, 0.3, 1500.0, 7.07e-3),
        ("ucb:constant=1", 2, 0.3, 300.0, 6.75e-3),
        ("ucb:constant=1", 2, 0.3, 2500.0, 1.46e-3),
    ],
)
def test_tail_estimate_is_close_to_what_is_measured(policy, arms, gap, regret, measured):
    estimate = theory.tail_estimate(policy, ocucb.gap(arms, gap), 10_000, regret)
    assert measured < estimate < 1.7 * measured


def test_tail_estimate_falls_like_its_exponent():
    """In the limit of small gaps over sqrt(log x), which is slow: the slope is a little steeper."""
    problem, n = ocucb.gap(2, 0.1), 10**9
    p, q = (theory.tail_estimate("ucb:constant=4", problem, n, x) for x in (1e6, 1e7))
    slope = math.log10(p / q)
    assert 2.0 < slope < 2.5


def test_tails_that_are_not_known():
    two = ocucb.gap(2, 0.3)
    assert theory.tail_estimate("ucb", two, 100, 30.0) == 0.0
    for policy, problem, regret, words in (
        ("uniform", two, 1.0, "not known"),
        ("gittins", two, 1.0, "not known"),
        ("thompson", two, 1.0, "no bonus"),
        ("ucb", ocucb.bernoulli([0.5, 0.4]), 1.0, "Gaussian rewards"),
        ("ucb", ocucb.gaussian([0.0, 0.0]), 1.0, "one best arm"),
        ("ucb", ocucb.gaussian([0.0, -0.1, -0.2]), 1.0, "one gap"),
        ("ucb", two, -1.0, "at least 0"),
    ):
        with pytest.raises(ValueError, match=words):
            theory.tail_estimate(policy, problem, 100, regret)
