"""What `/openapi.json` says beyond what FastAPI knows: tokens, and an example of every call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from .authentication import access_of

EXAMPLES = Path(__file__).parent / "examples.json"
_SECURITY = {"type": "http", "scheme": "bearer", "description": "A token: `ocucb serve token`."}
_NEEDS = {
    "public": "No token is needed.",
    "read": "Any token will do.",
    "decide": "Any token will do.",
    "administer": "The token needs the scope administer.",
}


def complete(app: FastAPI) -> None:
    """Have the application complete its schema, once."""
    original = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = original()
            schema["components"]["securitySchemes"] = {"token": _SECURITY}
            examples = json.loads(EXAMPLES.read_text("utf-8"))
            for route in app.routes:
                for method in getattr(route, "methods", None) or ():
                    call = schema["paths"].get(getattr(route, "path", ""), {}).get(method.lower())
                    if call is not None:
                        access = access_of(route)
                        call["security"] = [] if access == "public" else [{"token": []}]
                        call["description"] += f" {_NEEDS[access]}"
                        _add_examples(call, examples[f"{method} {route.path}"])  # type: ignore[attr-defined]
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]


def _add_examples(call: dict[str, Any], example: dict[str, Any]) -> None:
    """Add a sample request and its answer to a call."""
    if "request" in example:
        call["requestBody"]["content"]["application/json"]["example"] = example["request"]
    answers = call["responses"][str(example["status"])]
    content = answers.setdefault("content", {}).setdefault(example["type"], {})
    content["example"] = example["answer"]
