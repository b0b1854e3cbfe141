"""The site of `make docs`: no warning, no dead link, nothing from a network, every name found."""

from __future__ import annotations

import html
import json
import pydoc
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from helpers import ROOT, flaws, public_names

pytest.importorskip("myst_nb", reason="needs the packages of ocucb[docs]")

_MADE = ("_build", "auto_gallery", "__pycache__", "sg_execution_times.rst")


def build(folder: Path, *options: str) -> tuple[Path, subprocess.CompletedProcess]:
    """Build the site from a copy, as the gallery writes beside its sources; return where it is."""
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns(*_MADE))
    for path in ROOT.iterdir():
        if path.name != "docs" and not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    done = subprocess.run(
        [
            sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet",
            *options, folder / "docs", folder / "html",
        ],
        capture_output=True, text=True, timeout=1100,
    )  # fmt: skip
    return folder / "html", done


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The site, without running tutorials and gallery."""
    return build(tmp_path_factory.mktemp("site"), "-Dnb_execution_mode=off", "-Dplot_gallery=0")


@pytest.fixture(scope="module")
def site(built):
    return built[0]


def test_the_site_builds_without_a_warning(built):
    _, done = built
    assert (done.returncode, done.stderr) == (0, "")


class Page(HTMLParser):
    """What a page links to, what it loads, and where one can link to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in ("a", "area") and "href" in given:
            self.links.append(given["href"])
        elif "src" in given or (tag == "link" and "href" in given):
            self.loads.append(given.get("src") or given["href"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_link_inside_leads_somewhere(pages):
    assert len(pages) > 40
    lost = []
    for path, page in pages.items():
        for link in page.links:
            place = urlsplit(link)
            if place.scheme:
                continue
            target = (path.parent / unquote(place.path)).resolve() if place.path else path
            target = target / "index.html" if target.is_dir() else target
            known = pages[target].anchors if target in pages else {place.fragment}
            if not target.exists() or unquote(place.fragment) not in known:
                lost.append((path.name, link))
    assert lost == []


def test_nothing_is_loaded_from_a_network(site, pages):
    loads = {load for page in pages.values() for load in page.loads}
    assert any(load.split("?")[0].endswith("site.css") for load in loads)
    assert [load for load in loads if urlsplit(load).netloc] == []
    elsewhere = re.compile(r"(url\(|@import)[\s'\"]*(https?:)?//")
    assert [path for path in site.rglob("*.css") if elsewhere.search(path.read_text("utf-8"))] == []


@pytest.fixture(scope="module")
def objects(site) -> dict[str, str]:
    """What the search knows by name, and of what kind it is."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    return {
        f"{prefix}.{name}".strip("."): index["objtypes"][str(kind)]
        for prefix, ones in index["objects"].items()
        for _, kind, _, _, name in ones
    }


def test_a_search_finds_every_public_name(objects):
    assert set(public_names()) - set(objects) == set()


def test_methods_in_the_reference_are_documented(objects):
    """Examples and parameters may stand in the docstring of the class."""
    methods = [name for name, kind in objects.items() if kind == "py:method"]
    assert len(methods) > 50
    for name in methods:
        owner, _, method = name.rpartition(".")
        told = pydoc.locate(owner).__doc__ + pydoc.locate(name).__doc__
        assert f".{method}(" in told, name
        for _, code, text in flaws(name, "EX01"):
            parameters = re.findall(r"'(\w+)'", text)
            assert code == "PR01", (name, text)
            assert all(re.search(rf"\b{parameter}\b", told) for parameter in parameters), (
                name,
                text,
            )


def test_the_search_works_in_a_browser(site, browser):
    """Opened as a file, without a server."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{(site / 'search.html').as_uri()}?q=lai_robbins")
    found = WebDriverWait(browser, 60).until(
        lambda page: page.find_elements("css selector", "#search-results li a")
    )
    assert found[0].text == "ocucb.theory.lai_robbins"
    assert browser.get_log("browser") == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_a_desk_and_a_phone(site, browser, width):
    """Without an error in the console, and without scrolling sideways."""
    shape = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    for page in sorted(site.rglob("*.html")):
        browser.get(page.as_uri())
        assert browser.get_log("browser") == [], page.name
        found = browser.execute_script("return document.documentElement.scrollWidth")
        assert found <= width, f"{page.relative_to(site)} is {found} wide"


def test_formulae_are_drawn_without_scripts(site, pages):
    page = site / "reference" / "symbols.html"
    assert page.read_text(encoding="utf-8").count("<math") > 20
    assert not any("math" in load.lower() for load in pages[page].loads)


def text_of(page: str) -> str:
    """Return what is left of a page without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_the_command_line_on_the_site_is_that_of_the_program(site):
    from typer.main import get_command

    from ocucb.cli import app

    def options(command, name):
        for param in command.params:
            yield name, param.opts[0] if param.opts[0].startswith("-") else param.metavar
        for below, other in getattr(command, "commands", {}).items():
            yield from options(other, f"{name} {below}")

    page = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    sections = {}
    for section in page.split("<h2>")[1:]:
        title, _, rest = section.partition("</h2>")
        sections[text_of(title).strip("¶")] = text_of(rest)
    listed = [option for option in options(get_command(app), "ocucb") if option[0] != "ocucb"]
    assert len(listed) > 50
    for name, option in listed:
        assert option in sections[name], (name, option)


def test_the_calls_on_the_site_are_those_of_the_service(site, tmp_path):
    from ocucb.serve.app import create_app
    from ocucb.serve.storage import Storage

    storage = Storage(str(tmp_path / "store.db"), create=True)
    schema = create_app(storage).openapi()
    storage.close()
    page = (site / "reference" / "http-api.html").read_text(encoding="utf-8")
    text = text_of(page)
    for path, calls in schema["paths"].items():
        for method in calls:
            assert f"{method.upper()} {path}" in text
    for name, model in schema["components"]["schemas"].items():
        if name != "ErrorAnswer":
            for field in model["properties"]:
                assert field in text, (name, field)


@pytest.mark.slow
def test_tutorials_and_gallery_run(tmp_path):
    """What `make docs` does."""
    site, done = build(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md")} - {"index"}
    assert {path.stem for path in (site / "tutorials").glob("*.ipynb")} == pages
    gallery = (site / "auto_gallery/index.html").read_text()
    thumbnails = re.findall(r"sphx_glr_plot_\w+_thumb", gallery)
    assert len(set(thumbnails)) == len(list((ROOT / "docs" / "gallery").rglob("plot_*.py"))) > 0
