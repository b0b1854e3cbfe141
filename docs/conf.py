"""How Sphinx builds the site: `make docs`. Nothing is fetched from a network, then or later."""

from __future__ import annotations

import logging
import sys
import tomllib
from pathlib import Path

from ocucb import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

for talkative in ("alembic", "traitlets"):  # since a part of the theme makes all loggers talk
    logging.getLogger(talkative).setLevel(logging.WARNING)

project = "ocucb"
author = "the ocucb authors"
release = version = __version__
language = "en"

extensions = [
    "myst_nb",  # pages in Markdown; tutorials are notebooks
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    # ours, in _extensions
    "command_line",
    "http_api",
    "mathml",
    "notebooks",
    "policy_facts",
    "repository",
]
exclude_patterns = ["_build", "_extensions", "gallery", "auto_gallery/**/*.ipynb"]
root_doc = "index"
default_role = "py:obj"  # what docstrings put between backticks
highlight_language = "none"
smartquotes = False  # they would turn the dashes of options into others

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_typehints = "none"  # docstrings state types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "subsection_order": [
        f"gallery/{name}" for name in ("regret", "index", "tail", "live", "theory", "cost")
    ],
    "thumbnail_size": (480, 336),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",  # which tells what a picture is about
    "write_computation_times": False,
}

html_theme = "furo"
html_title = f"ocucb {release}"

# Addresses have one place; until it names them, the site shows none.
with open(Path(__file__).parents[1] / "pyproject.toml", "rb") as file:
    addresses = tomllib.load(file)["project"]["urls"]
html_theme_options = {}
if "Repository" in addresses:
    html_theme_options = {
        "source_repository": addresses["Repository"],
        "source_branch": "main",
        "source_directory": "docs/",
    }
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_search_summary = False  # a page opened as a file may not read others
