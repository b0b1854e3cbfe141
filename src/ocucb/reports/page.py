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


_STYLE = """
:root { color-scheme: light; --line: #d8d8d8; --soft: #666; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 66rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; }
a { color: #1b5e9e; }
code { font: .85em ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0;
  border-bottom: 1px solid var(--line); }
ul { margin: 0; padding: 0; list-style: none; font-size: .9rem; }
figure { margin: 1.5rem 0 2.5rem; }
figure img { width: 100%; max-width: 62rem; height: auto; display: block; }
figcaption { font-size: .9rem; }
figcaption table { margin-top: .4rem; font-size: .85rem; }
.facts th { white-space: nowrap; font-weight: 600; }
@media (max-width: 40rem) {
  figcaption table tr, figcaption table td, .facts tr, .facts th, .facts td { display: block;
    border: 0; padding: .1rem 0; }
  figcaption table tr, .facts tr { border-bottom: 1px solid var(--line); padding: .3rem 0; }
}
@media print {
  body { max-width: none; font-size: 11px; padding: 0; }
  figure { break-inside: avoid; }
  a { color: inherit; text-decoration: none; }
}
"""
