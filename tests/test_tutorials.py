"""Tutorials run as notebooks, and every script of the gallery draws one picture.

By default one notebook runs, and the gallery with few runs and no warning; ``-m slow`` runs all as
they stand. What a page of peers says about their formulae is in test_peers.py.
"""

from __future__ import annotations

import ast
import re
import runpy
import warnings

import matplotlib
import pytest

import ocucb
from helpers import ROOT

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")

TUTORIALS = sorted(
    set((ROOT / "docs" / "tutorials").glob("*.md")) - {ROOT / "docs/tutorials/index.md"}
)
SCRIPTS = sorted((ROOT / "docs" / "gallery").rglob("plot_*.py"))
FEW = 40  # runs
COST = re.compile(r"(\d+) s the first time, (\d+) s again")


def by_name(path):
    return path.stem


def executed(page, folder):
    """Run a tutorial in a kernel, in an empty folder, and return the notebook."""
    notebook = jupytext.read(page)
    nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook


def outputs(notebook, kind):
    """Return what a notebook's cells put out, of one MIME type."""
    return [
        output["data"][kind]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if kind in output.get("data", {})
    ]


def test_tutorials_and_scripts_are_found():
    assert TUTORIALS
    assert SCRIPTS


@pytest.mark.parametrize("page", TUTORIALS, ids=by_name)
def test_tutorials_are_notebooks(page):
    notebook = jupytext.read(page)
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert any(cell.cell_type == "code" for cell in notebook.cells)
    # a fence that is not a cell would not run
    assert "```python" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", TUTORIALS, ids=by_name)
def test_a_tutorial_and_the_list_agree_on_what_it_costs(page):
    index = (page.parent / "index.md").read_text(encoding="utf-8")
    (row,) = [line for line in index.splitlines() if f"]({page.name})" in line]
    (cost,) = COST.findall(page.read_text(encoding="utf-8"))
    assert f"| {cost[0]} | {cost[1]} |" in row


def test_the_first_tutorial_runs(tmp_path):
    notebook = executed(ROOT / "docs" / "tutorials" / "first-simulation.md", tmp_path)
    assert len(outputs(notebook, "image/png")) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=by_name)
def test_every_tutorial_runs(page, tmp_path):
    notebook = executed(page, tmp_path)
    assert outputs(notebook, "image/png")
    complaints = [
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.get("name") == "stderr"
    ]
    assert complaints == []
    assert not list(tmp_path.iterdir())


@pytest.fixture
def few_runs(monkeypatch):
    """Simulations that a script asks for have few runs."""
    simulate = ocucb.simulate

    def short(policies, problem, horizon, runs=None, **options):
        return simulate(policies, problem, horizon, min(runs or FEW, FEW), **options)

    monkeypatch.setattr(ocucb, "simulate", short)


def drawn(script):
    """Run a script and return its figures; a warning is an error."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.close("all")
    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # what libraries say of each other
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        runpy.run_path(str(script), run_name="__main__")
        figures = [plt.figure(number) for number in plt.get_fignums()]
        for figure in figures:
            figure.canvas.draw()
    return figures


def check(figures):
    """One picture, whose axes show something and say what."""
    (figure,) = figures
    if any(axes.get_legend_handles_labels()[1] for axes in figure.axes):
        assert figure.legends or any(axes.get_legend() for axes in figure.axes)
    for axes in figure.axes:
        assert axes.has_data()
        if axes.get_label() != "<colorbar>":
            assert any(
                sibling.get_xlabel() for sibling in axes.get_shared_x_axes().get_siblings(axes)
            )
        ticks = [text.get_text() for text in axes.get_yticklabels()]
        if ticks and not ticks[0].isalpha():  # names speak for themselves
            assert any(
                sibling.get_ylabel() for sibling in axes.get_shared_y_axes().get_siblings(axes)
            )


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_has_a_title(script):
    """Without one sphinx-gallery refuses it."""
    title, line, *_ = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))).splitlines()
    assert line == "=" * len(title)


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_draws_one_picture(script, few_runs):
    check(drawn(script))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_draws_one_picture_with_all_its_runs(script):
    check(drawn(script))
