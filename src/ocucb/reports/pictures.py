"""Figures as files: every format, and the same picture always as the same bytes."""

from __future__ import annotations

import io
from pathlib import Path

from .._files import noting, replacing
from .._matplotlib import Figure, rc_context

ENDINGS = ("pdf", "svg", "png")


def write(figure: Figure, folder: Path, name: str, failures: list[str]) -> list[Path]:
    """Write a figure in all formats, the same picture always as the same bytes; note failures."""
    paths = [folder / f"{name}.{ending}" for ending in ENDINGS]
    dateless = {"pdf": {"CreationDate": None, "ModDate": None}, "svg": {"Date": None}, "png": {}}
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # one layout serves all formats
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "path", "pdf.fonttype": 42}):
        for path, ending in zip(paths, ENDINGS, strict=True):
            with noting(failures, path), replacing(path, "wb") as file:
                figure.savefig(file, format=ending, dpi=150, metadata=dateless[ending])
    return paths


def to_svg(figure: Figure, salt: str) -> bytes:
    """Return a figure as SVG, the same picture always as the same bytes."""
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
