"""A page that stands alone: one HTML file with its pictures inside, for desk, phone and print."""

from __future__ import annotations

import base64
import platform
import time
from collections.abc import Iterable, Mapping
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from .._version import __version__
from .pictures import ENDINGS

_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


class Section(NamedTuple):
    """A part of a page: its anchor, its title in plain text, and its HTML."""

    anchor: str
    title: str
    body: str


def document(title: str, intro: str, sections: Iterable[Section], style: str = "") -> str:
    """Return a page; `intro` is HTML, `style` is added to what all pages have."""
    body = "".join(
        f'<section id="{anchor}">\n<h2>{escape(heading)}</h2>\n{html}\n</section>\n'
        for anchor, heading, html in sections
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}{style}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{intro}
</header>
<main>
{body}</main>
</body>
</html>
"""


def figure(folder: Path, name: str, title: str, caption: str, more: str = "") -> str:
    """Return a figure of the folder with its files; `caption` and `more` are HTML."""
    picture = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
    files = " ".join(f'<a href="{name}.{ending}">{ending}</a>' for ending in ENDINGS)
    return f"""<figure id="{name}">
<img src="data:image/svg+xml;base64,{picture}" alt="{escape(title)}">
<figcaption><b>{escape(title)}.</b> {caption} {files}
{more}</figcaption>
</figure>
"""


def circumstances() -> dict[str, str]:
    """Return when and with what a page was made."""
    parts = ("numpy", "scipy", "numba", "matplotlib")
    libraries = ", ".join(f"{name} {version(name)}" for name in parts)
    return {
        "Created": time.strftime("%Y-%m-%d %H:%M %Z"),
        "Software": f"ocucb {__version__}, Python {platform.python_version()}, {libraries}",
        "Machine": f"{platform.system()} {platform.machine()}",
    }


def facts_table(facts: Mapping[str, str]) -> str:
    """Return facts as a table of two columns."""
    rows = "".join(
        f"<tr><th>{key}</th><td>{escape(value)}</td></tr>" for key, value in facts.items()
    )
    return f'<table class="facts">{rows}</table>'
