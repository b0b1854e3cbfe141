"""What people look at: the list, a bandit, the login, and the calls to try out (`/docs`)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs

import jinja2
from fastapi import FastAPI, Request
from fastapi import Path as InPath
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from .authentication import COOKIE, csrf_token, needs, token_of
from .models import BanditName
from .tokens import Authenticator

PAGES = Path(__file__).parent / "pages"
Name = Annotated[BanditName, InPath(description="The bandit's name.")]

# Swagger UI sets styles from its scripts, and has its icons inline.
_DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


def package_folder(package: str, *parts: str) -> Path:
    """Return a folder of an installed package that is never imported: it brings files."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ImportError(f"the page needs {package}: pip install 'ocucb[serve]'", name=package)
    return Path(found.origin).parent.joinpath(*parts)


class Files(StaticFiles):
    """Files that browsers keep, and ask whether they have changed."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        """Return a file, or that it is the same as before."""
        answer = super().file_response(*given, **named)
        answer.headers["Cache-Control"] = "no-cache"
        return answer


def add_pages(app: FastAPI, authenticator: Authenticator) -> None:
    """Add what people look at."""
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(PAGES), autoescape=True)
    for path, folder in (
        ("/static", PAGES / "static"),
        ("/charts", package_folder("chartkick", "django", "static", "chartkick")),
        ("/swagger", package_folder("fastapi_swagger", "resources")),
    ):
        app.mount(path, needs("public")(Files(directory=folder)))

    def page(template: str, status: int = 200, **values: Any) -> Response:
        return HTMLResponse(templates.get_template(template).render(**values), status)

    def inner_page(request: Request, template: str, **values: Any) -> Response:
        """Return a page for whoever has logged in; administrators can change things on it."""
        text = request.cookies.get(COOKIE, "")
        may = bool(text) and token_of(request.scope).scope == "administer"
        return page(template, csrf=csrf_token(text) if may else "", **values)

    @app.get("/", include_in_schema=False)
    @needs("page")
    def list_page(request: Request) -> Response:
        return inner_page(request, "list.html")

    @app.get("/bandits/{name}", include_in_schema=False)
    @needs("page")
    def bandit_page(request: Request, name: Name) -> Response:
        return inner_page(request, "bandit.html", name=name)

    @app.get("/docs", include_in_schema=False)
    @needs("public")
    def docs_page() -> Response:
        made = page("docs.html")
        made.headers["Content-Security-Policy"] = _DOCS_POLICY
        return made

    @app.get("/login", include_in_schema=False)
    @needs("form")
    def login_page() -> Response:
        return page("login.html", wrong=False)

    @app.post("/login", include_in_schema=False)
    @needs("form")
    async def login(request: Request) -> Response:
        fields = parse_qs((await request.body()).decode("utf-8", "replace"))
        text = fields.get("token", [""])[0].strip()
        if await run_in_threadpool(authenticator.find, text) is None:
            return page("login.html", 401, wrong=True)
        answer = RedirectResponse("/", 303)
        scheme = request.headers.get("x-forwarded-proto", request.url.scheme)
        secure = scheme == "https"  # whoever lies about it harms only themselves
        answer.set_cookie(COOKIE, text, httponly=True, samesite="strict", secure=secure)
        return answer

    @app.post("/logout", include_in_schema=False)
    @needs("form")
    def logout() -> Response:
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer
