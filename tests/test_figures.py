"""Figures: colours that anybody tells apart, ticks, bands, what callers choose; LaTeX tables."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

import ocucb
from helpers import ROOT
from ocucb import figures
from ocucb.figures import Look
from ocucb.paper import as_printed, drawing
from ocucb.paper.claims import Evidence
from ocucb.paper.measure import Point
from ocucb.paper.panels import PANELS
from ocucb.policies import FAMILIES

# How people see linear RGB (G. M. Machado et al., IEEE Trans. Vis. Comput. Graph. 15(6), 2009).
VISIONS = {
    "usual": np.eye(3),
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}  # fmt: skip


def lab(color: str, vision: str) -> np.ndarray:
    """Return a colour in CIELAB as some people see it."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(VISIONS[vision]) @ linear, 0.0, 1.0)
    to_xyz = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
    xyz = np.array(to_xyz) @ seen / [0.9505, 1.0, 1.0888]
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: str, other: str, vision: str) -> float:
    return float(np.linalg.norm(lab(one, vision) - lab(other, vision)))


@pytest.mark.parametrize("vision", VISIONS)
def test_everybody_tells_the_colours_apart(vision):
    """In CIELAB, where 2.3 is just noticeable; of the paper's six colours, two are 6.6 apart."""
    colors = [style.color for style in figures.PALETTE]
    assert min(distance(a, b, vision) for a, b in itertools.combinations(colors, 2)) > 16
    levels = [lab(style.color, vision)[0] for style in figures.shades(5)]
    assert (np.diff(levels) > 8).all(), "shades get lighter"


def test_the_distance_of_colours_can_fail():
    """Red and green of many figures."""
    assert distance("#d62728", "#2ca02c", "usual") > 100
    assert distance("#d62728", "#2ca02c", "deuteranopia") < 8


def test_every_policy_has_a_style_of_its_own():
    styles = figures.POLICY_STYLES
    assert set(styles) <= set(FAMILIES)
    assert len(set(styles.values())) == len(styles)
    main = [styles[name] for name in ("ocucb", "ucb", "aocucb", "moss", "thompson", "gittins")]
    assert len({str(style.dashes) for style in main}) == len(main), "in black and white, too"
    assert figures.policy_styles(FAMILIES) == {
        name: figures.policy_styles([name])[name] for name in FAMILIES
    }, "whatever is drawn beside it"


def test_settings_of_one_policy_are_shades_of_its_colour():
    names = [f"ocucb:alpha={alpha},psi=2" for alpha in (1, 2, 3, 6, 9)]
    styles = [figures.policy_styles(names)[name] for name in names]
    assert styles[2] == figures.RED
    lightness = [lab(style.color, "usual")[0] for style in styles]
    assert (np.diff(lightness) > 8).all()
    assert len({str(style.dashes) for style in styles}) == 5
    assert figures.policy_styles(["moss:constant=4"])["moss:constant=4"] == figures.GREEN
    strangers = figures.policy_styles(["ucb", "mine", "yours"])
    assert len({style.color for style in strangers.values()}) == 3


@pytest.fixture(scope="module")
def result():
    policies = ["ocucb", "ucb:constant=2"]
    return ocucb.simulate(policies, ocucb.gap(K=2, gap=0.5), 2000, runs=64, rng=1)


@pytest.fixture(scope="module")
def swept():
    problems = [ocucb.gap(2, gap) for gap in (0.2, 0.4, 0.6)]
    return ocucb.sweep(["ucb", "ocucb"], problems, 500, runs=256, rng=1)


@pytest.fixture(scope="module")
def tuned():
    return ocucb.tune("ucb", ocucb.gap(2, 0.5), 200, 2000, rng=1)


@pytest.fixture(scope="module")
def report():
    return ocucb.theory.report(
        ocucb.gap(2, 0.5), 1000, policies=["ucb", "ocucb"], runs=4, rng=1, curve=True
    )


@pytest.fixture(scope="module")
def counterexample():
    rows = ocucb.theory.counterexample([10, 20], runs=4, rng=1)
    return lambda **how: ocucb.theory.plot_counterexample(rows, **how)


def colors_of(axes):
    return {line.get_label().split(",")[0]: to_hex(line.get_color()) for line in axes.get_lines()}


def test_a_policy_has_one_colour_on_all_figures(result, swept, tuned, report, counterexample):
    drawn = (
        result.plot(), result.plot_tail(), swept.plot(), report.plot(), counterexample(),
        drawing.draw("fig3", {"exp10": PANELS["exp10"]}, points("exp10", "MOSS", "OCUCB")),
    )  # fmt: skip
    for figure in drawn:
        assert colors_of(figure.axes[0])["OCUCB"] == figures.RED.color.lower()
    for figure in drawn[:-1]:
        assert colors_of(figure.axes[0])["UCB"] == figures.BLACK.color
    assert colors_of(tuned.plot().axes[0])["fit"] == figures.BLACK.color


def test_bands_are_two_standard_errors(result, swept):
    for figure, player in ((result.plot(), result[0]), (swept.plot(), swept[0])):
        edges = np.array(figure.axes[0].collections[0].get_paths()[0].vertices)[:, 1]
        assert edges.max() == pytest.approx((player.regret + 2 * player.stderr).max())
        assert player.stderr[-1] > 0


def test_every_plot_takes_the_same_choices(result, swept, tuned, report, counterexample):
    bandit = ocucb.Bandit(["a", "b"], "ucb", 100, sigma=1)
    lemmas = ocucb.theory.check_lemmas([0.0, -1.0], 500, runs=2, rng=1)
    plan = ocucb.plan(ocucb.gap(2, 1.0), policy="ucb", horizon=[20, 40], rng=1)
    trace = ocucb.trace("ucb", ocucb.gap(2, 1.0), 50, rng=1)
    for draw in (
        result.plot, result.plot_tail, swept.plot, tuned.plot, report.plot, counterexample,
        bandit.summary().plot, lemmas.plot, plan.plot, trace.plot,
    ):  # fmt: skip
        figure = Figure()
        axes = figure.add_subplot()
        spines = axes.spines["top"].get_visible()
        assert draw(ax=axes, xscale="linear", title="Mine") is figure
        assert figure.axes[0] is axes
        assert (axes.get_title(), axes.get_xscale()) == ("Mine", "linear")
        assert axes.spines["top"].get_visible() == spines, "its style stays"
        assert draw(title="").axes[-1].get_title(loc="left") == ""
        with pytest.raises(ValueError, match="xscale must be 'linear' or 'log', got 'loga'"):
            draw(xscale="loga")
    part = Figure().subfigures(1, 2)[0]
    assert result.plot(ax=part.add_subplot(), yscale="log") is part.figure
    assert part.axes[0].get_yscale() == "log"


def test_labels(result, tuned, tmp_path):
    def legend(draw, **how):
        return [text.get_text() for text in draw(**how).axes[0].get_legend().get_texts()]

    assert legend(result.plot, labels={"UCB": "UCB1"}) == ["OCUCB", "UCB1"]
    assert legend(result.plot, labels={"ucb:constant=2": "this"}) == ["OCUCB", "this"]
    assert legend(result.plot_tail, labels=["a", "b"]) == ["a", "b"]
    assert legend(tuned.plot, labels={"fit": "all"})[0] == "all"
    with pytest.raises(ValueError, match="labels has 'moss', but the curves are 'OCUCB' and 'UCB'"):
        result.plot(labels={"moss": "x"})
    for wrong in (["a"], "ab"):
        with pytest.raises(ValueError, match="must be a dictionary or a list of 2 names, got"):
            result.plot(tmp_path / "a.png", labels=wrong)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("scale", "limits", "labels"),
    [
        ("linear", (0, 1), "0 0.2 0.4 0.6 0.8 1"),
        ("linear", (-30_000, 100_000), "0 50,000 100,000"),
        ("linear", (0, 3e6), r"0 $10^{6}$ $2 \times 10^{6}$ $3 \times 10^{6}$"),
        ("linear", (-1.2, 1), "−1 −0.5 0 0.5 1"),
        ("log", (1, 1e5), "1 10 100 1,000 10,000 100,000"),
        ("log", (5000, 100_000), "5,000 10,000 20,000 50,000 100,000"),
        ("log", (0.9, 1.7), "1 1.2 1.4 1.6"),
        ("log", (3, 16), "3 4 6 8 10"),
        ("log", (1e-7, 1), "$10^{-7}$ $10^{-6}$ $10^{-5}$ $10^{-4}$ $10^{-3}$ $10^{-2}$ 0.1 1"),
        ("log", (1e-12, 1e12), "$10^{-12}$ $10^{-8}$ $10^{-4}$ 1 $10^{4}$ $10^{8}$ $10^{12}$"),
    ],
)
def test_ticks_are_those_a_person_would_choose(scale, limits, labels):
    axes = Figure().add_subplot(yscale=scale, ylim=limits)
    figures.round_ticks(axes)
    (low, high), ticks = limits, axes.get_yticks()
    found = [
        label.get_text()
        for tick, label in zip(ticks, axes.get_yticklabels(), strict=True)
        if low * (1 - 1e-9) <= tick <= high
    ]
    assert " ".join(found) == labels


def test_letters_in_a_pdf_are_letters(result, tmp_path):
    result.plot(tmp_path / "regret.pdf")
    data = (tmp_path / "regret.pdf").read_bytes()
    assert b"/Type3" not in data
    assert b"/CIDFontType2" in data or b"/TrueType" in data


# --- the paper ------------------------------------------------------------------------------------


def points(panel: str, *lines: str) -> list[Point]:
    """Return points whose standard errors are 0.1% of the panel's height."""
    unknown = dict.fromkeys(("effective_runs", "mean_weight", "deviation", "deviation_error"), 1.0)
    text = dict.fromkeys(("policy", "problem", "engine", "sampling"), "")
    top = PANELS[panel].top
    return [
        Point(
            panel=panel, line=line, x=x, **text, **unknown, horizon=100, runs=1234,
            mean=0.5 * top * x / PANELS[panel].xs[-1],
            stderr=0.001 * top, precision=0.001, quantiles=(0.0,) * 9, seconds=0.0,
        )
        for line in lines
        for x in PANELS[panel].xs
    ]  # fmt: skip


def test_short_bars_are_drawn_unless_the_paper_omits_them():
    panels, mine = {"exp8": PANELS["exp8"]}, points("exp8", "OCUCB", "UCB", "Gittins")
    (ours,) = drawing.draw("fig2", panels, mine).axes
    assert len(ours.collections) == 3
    assert not ours.containers
    (theirs,) = as_printed.draw("fig2", [*panels.values()], mine).axes
    assert not theirs.collections
    assert [bars.has_yerr for bars in theirs.containers] == [False] * 3
    assert theirs.get_title() == r"$\Delta=3/10$ and $K = 2$ and $N = 1234$ and $n$ varies"
    assert "1,234 runs at each point" in ours.texts[0].get_text()


def test_no_picture_where_there_is_nothing_to_see():
    assert drawing.draw_evidence(Evidence()) is None


# --- tables and the how-to ------------------------------------------------------------------------


def cells_of(latex: str) -> list[list[str]]:
    """Return the cells of a table, as a reader of the paper sees them."""
    begin, *lines, end = latex.splitlines()
    columns = re.fullmatch(r"\\begin{tabular}{(.*)}", begin)[1].replace(r"@{\,}", "")
    assert end == r"\end{tabular}"
    assert [lines[0], lines[2], lines[-1]] == [r"\toprule", r"\midrule", r"\bottomrule"]
    rows = [line.removesuffix(r" \\").split(" & ") for line in lines[1:-1] if " & " in line]
    assert {len(row) for row in rows} == {len(columns)}
    plain = {r"$\pm$": "±", "$<$": "<", "\\": ""}
    return [[re.sub(r"\$\\pm\$|\$<\$|\\", lambda m: plain[m[0]], c) for c in row] for row in rows]


def test_latex_has_the_numbers_of_the_table(result, swept, tuned):
    for shown in (result, swept, tuned):
        (head, *body), text = cells_of(shown.to_latex()), shown.table().splitlines()
        assert "± 2 s.e." in head
        for row, line in zip(body, text[1:], strict=False):
            assert " ".join(row).split() == line.split()[: len(" ".join(row).split())]
    assert len(cells_of(swept.to_latex())) == 4


def test_latex_has_no_bare_signs():
    from ocucb._text import latex_table

    text = latex_table([("a & b", "100%"), ("c_1 {x} ~ ^ \\ # $", "< 1%"), ("α × 2·3", "10,000")])
    first, second, third = text.splitlines()[2], text.splitlines()[4], text.splitlines()[5]
    assert first == r"a \& b & 100\% \\"
    assert second == (
        r"c\_1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \# \$ & $<$ 1\% \\"
    )
    assert third == r"$\alpha$ $\times$ 2$\cdot$3 & 10,000 \\"
    assert text.startswith(r"\begin{tabular}{lr}")


def test_a_panel_of_four_takes_ten_lines(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "howto" / "figures.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    assert len(block.strip().splitlines()) <= 10 + 1, "one of which is empty"
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(block.replace("runs=1000", "runs=8"), names)
    assert len(names["figure"].axes) == 4
    assert all(axes.get_legend() and axes.get_title() for axes in names["figure"].axes)
    assert (tmp_path / "panel.pdf").stat().st_size > 5000


def test_scales_are_checked_at_once():
    with pytest.raises(ValueError, match="yscale must be 'linear' or 'log', got 3"):
        Look(yscale=3)
