"""Draw the pictures of README.md and docs again, from stored data and from the pages themselves.

Those of the paper and of the league come from tests/data, the others from the code or the command
that their page shows. All take some minutes of processor time; tuning and the rare failures take
most of it. Only service.png is not drawn here: it is a photograph of a browser.

    make pictures ARGS="fig2 sweeps"
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

from ocucb.figures import write
from ocucb.league import drawing as league
from ocucb.paper import drawing as paper
from ocucb.paper.panels import FIGURES, PANELS

HERE = Path(__file__).parent
DOCS = HERE.parent
# the page that shows how a picture is made, and the file that it writes
SHOWN = {
    "trace": ("simulation.md", "run.png"),
    "panel": ("howto/figures.md", "panel.pdf"),
    "sweeps": ("howto/sweeps.md", "gaps.png"),
    "gittins": ("gittins.md", "gittins.png"),
    "theory": ("theory.md", "theory.png"),
    "conjecture": ("theory.md", "conjecture.png"),
    "proof": ("proof.md", "proof.png"),
    "live": ("live.md", "live.png"),
    "tuning": ("howto/tuning.md", "tuning.png"),
}
FAILURES = ("run", "weights", "luck", "bars", "tails")


def from_points(name: str) -> None:
    """Draw a figure of the paper from the points in tests/data."""
    points, _ = runpy.run_path(str(HERE / "claims_table.py"))["kept_points"]()
    panels = {panel: PANELS[panel] for panel in FIGURES[name][1]}
    write(paper.draw(name, panels, points), place(name))


def from_league(name: str) -> None:
    """Draw a figure of the league from the cells in tests/data."""
    kept = runpy.run_path(str(HERE / "league_text.py"))["kept_report"]()
    ratios = name == "ratios"
    figure = league.ratio_map(kept.standings) if ratios else league.draw(name, kept.answers)
    write(figure, place(f"league-{name}"))


def as_shown(name: str) -> None:
    """Run the code or the command of a page that writes a picture."""
    page, file = SHOWN[name]
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    code = [block for block in blocks if f'"{file}"' in block]
    with tempfile.TemporaryDirectory() as folder:
        if code:
            mpl.rcParams["savefig.dpi"] = 150
            before = os.getcwd()
            os.chdir(folder)
            exec(code[0].replace(".pdf", ".png"), {})
            os.chdir(before)
        else:
            subprocess.run(
                [sys.executable, "-m", *command(text, file)], cwd=folder, check=True,
                stdout=subprocess.DEVNULL,
            )  # fmt: skip
        shutil.copyfile(Path(folder, file).with_suffix(".png"), place(name))


def command(text: str, file: str) -> list[str]:
    """Return the command of a page that writes a file; one without a name has a usual one.

    >>> command("    ocucb sweep --plot a.png", "a.png")
    ['ocucb', 'sweep', '--plot', 'a.png']
    >>> command("made by `ocucb gittins --plot`", "gittins.png")
    ['ocucb', 'gittins', '--plot']
    """
    usual = f"ocucb {file.removesuffix('.png')} --plot"
    found = re.search(
        rf"(ocucb [^`\n]*--plot {re.escape(file)}|{usual}$|{usual}`)", text, re.MULTILINE
    )
    assert found, file
    return shlex.split(found[0].strip("`"))


def by_script(script: str, *given: str) -> None:
    """Run a script that draws pictures of its own."""
    subprocess.run([sys.executable, str(HERE / script), *given], check=True)


def place(name: str) -> Path:
    """Return where a picture is kept."""
    return DOCS / "pictures" / f"{name}.png"


PICTURES: dict[str, Callable[[], None]] = {
    "fig2": lambda: from_points("fig2"),
    **{
        path.stem: lambda path=path: from_league(path.stem.removeprefix("league-"))  # type: ignore[misc]
        for path in sorted(DOCS.glob("pictures/league-*.png"))
    },
    **{name: lambda name=name: as_shown(name) for name in SHOWN},  # type: ignore[misc]
    "skip-ahead": lambda: by_script("skip_ahead_picture.py"),
    **{
        f"rare-failures-{name}": lambda name=name: by_script("rare_failures_pictures.py", name)  # type: ignore[misc]
        for name in FAILURES
    },
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
        print(place(name))
