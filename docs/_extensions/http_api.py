"""The directive `http-api`: the calls of `ocucb serve`, from the schema that it serves."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ocucb.serve import app as application
from ocucb.serve import models
from ocucb.serve.storage import Storage


def schema() -> dict[str, Any]:
    """Return what ``/openapi.json`` answers."""
    with tempfile.TemporaryDirectory() as folder:
        storage = Storage(str(Path(folder) / "empty.db"), create=True)
        try:
            return application.create_app(storage).openapi()
        finally:
            storage.close()


def described(api: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of Markdown that describe all calls and what they take and answer."""
    models = api["components"]["schemas"]
    for path, calls in api["paths"].items():
        for method, call in calls.items():
            yield f"## `{method.upper()} {path}`"
            yield call["description"]
            yield from _example(method, path, call)
            yield from _table(
                "parameter",
                [
                    (
                        parameter["name"],
                        parameter["schema"],
                        parameter.get("description", ""),
                        parameter["required"],
                    )
                    for parameter in call.get("parameters", [])
                ],
            )
            body = call.get("requestBody", {}).get("content", {}).get("application/json")
            if body:
                yield from _object("field of the body", body["schema"], models)
            answer = call["responses"].get("200", {}).get("content", {}).get("application/json", {})
            if answer.get("schema"):
                yield from _object("field of the answer", answer["schema"], models)
    yield "## Refusals"
    yield 'Every other answer is `{"error": "one sentence"}`.'
    refusals = next(iter(api["paths"].values()))["get"]["responses"]
    rows = [f"| {code} | {one['description']} |" for code, one in refusals.items() if code != "200"]
    yield "\n".join(["| status | meaning |", "|---|---|", *rows])


def _example(method: str, path: str, call: dict[str, Any]) -> Iterator[str]:
    """Yield a sample request, as one would type it, and its answer."""
    words = ["curl", "-X", method.upper()] if method != "get" else ["curl"]
    if call["security"]:
        words += ["-H", '"Authorization: Bearer $TOKEN"']
    body = call.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        words += ["--json", f"'{json.dumps(body['example'])}'"]
    words.append(f"http://127.0.0.1:8000{path.replace('{name}', 'colours')}")
    yield f"```sh\n{' '.join(words)}\n```"
    answers = [one for code, one in call["responses"].items() if code in ("200", "201")]
    for kind, one in ((kind, one) for answer in answers for kind, one in answer["content"].items()):
        if "example" in one:
            said = one["example"]
            text = said if isinstance(said, str) else json.dumps(said, indent=1, ensure_ascii=False)
            yield f"```{'json' if 'json' in kind else 'text'}\n{text}\n```"


def _object(title: str, schema: dict[str, Any], models: dict[str, Any]) -> Iterator[str]:
    """Yield a table of the fields of an object, or of the objects in a list."""
    found, prefix = _resolved(schema, models), ""
    while True:
        if found.get("type") == "array":
            found, prefix = _resolved(found["items"], models), f"{prefix}[]."
            continue
        fields = found["properties"]
        ((name, only),) = list(fields.items())[:1]
        if len(fields) == 1 and only.get("type") == "array":  # a list under one name
            found, prefix = only, f"{prefix}{name}"
            continue
        break
    needed = found.get("required", [])
    yield from _table(
        title,
        [
            (prefix + name, one, one.get("description", ""), name in needed)
            for name, one in fields.items()
        ],
    )


def _resolved(schema: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without references, and without null where something else is possible."""
    for choice in schema.get("anyOf", []):
        if choice.get("type") != "null":
            return _resolved(choice, models)
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = models[name] if name else schema
    return found


def _table(title: str, rows: list[tuple[str, dict[str, Any], str, bool]]) -> Iterator[str]:
    if not rows:
        return
    lines = [f"| {title} | type | meaning |", "|---|---|---|"]
    for name, one, meaning, needed in rows:
        default = one.get("default")
        notes = [meaning] if meaning else []
        notes += ["Required."] if needed else []
        notes += [f"Default: `{default}`."] if default not in (None, [], False) else []
        lines.append(f"| `{name}` | {_type(one)} | {' '.join(notes)} |")
    yield "\n".join(lines)


def _type(schema: dict[str, Any]) -> str:
    """Return a type with its range, in words."""
    if "anyOf" in schema:
        return "; or ".join(_type(choice) for choice in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if "$ref" in schema:
        return "object"
    kind = str(schema.get("type", "any"))
    if kind == "array":
        kind = f"list of {_type(schema['items'])}"
    words = {
        "minimum": "≥ {}",
        "exclusiveMinimum": "> {}",
        "maximum": "≤ {}",
        "exclusiveMaximum": "< {}",
        "maxLength": "at most {} characters",
        "maxItems": "at most {}",
        "pattern": "`{}`",
    }
    limits = [text.format(_number(schema[key])) for key, text in words.items() if key in schema]
    return f"{kind}, {', '.join(limits)}" if limits else kind


def _number(value: Any) -> Any:
    """Return a limit as people write it."""
    if not isinstance(value, int | float):
        return value
    return "2⁵³" if value == 2**53 else f"{value:g}".replace("e+", "e")


class HttpApi(SphinxDirective):
    """Describe all calls."""

    def run(self) -> list[nodes.Node]:
        """Return sections, one for each call."""
        for module in (application, models):
            self.env.note_dependency(str(module.__file__))
        text = "\n\n".join(described(schema()))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("http-api", HttpApi)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
