"""The service's layers: errors without HTTP, declared access, a fast path that skips nothing."""

from __future__ import annotations

import ast

import pytest
from fastapi import APIRouter, Body, Depends, FastAPI, HTTPException
from starlette.responses import JSONResponse
from starlette.testclient import TestClient

from helpers import ROOT
from ocucb import Bandit
from ocucb.serve import errors
from ocucb.serve.answers import STATUSES
from ocucb.serve.app import create_app
from ocucb.serve.authentication import COOKIE, needs
from ocucb.serve.machine import Machine
from ocucb.serve.models import Rules
from ocucb.serve.routes import FastRoute
from ocucb.serve.storage import Storage
from ocucb.serve.tokens import add_token

RULES = {"arms": ["a", "b", "c"], "policy": "ocucb", "horizon": 1000, "bounds": [0, 1], "seed": 1}


@pytest.fixture
def storage(tmp_path):
    made = Storage(str(tmp_path / "store.db"))
    yield made
    made.close()


@pytest.fixture
def purge():
    """Return an endpoint that nobody has declared anything about."""

    async def purge() -> JSONResponse:
        return JSONResponse({"done": True})

    return purge


# Domain errors


@pytest.mark.parametrize(
    "room", "service lanes turn stored tables machine storage check report".split()
)
def test_nothing_below_the_application_knows_of_http(room):
    tree = ast.parse((ROOT / "src" / "ocucb" / "serve" / f"{room}.py").read_text())
    nodes = list(ast.walk(tree))
    numbers = [node.value for node in nodes if isinstance(node, ast.Constant)]
    assert not [n for n in numbers if type(n) is int and 400 <= n < 600], "statuses"
    imported = [
        name
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
    ]
    roots = {name.partition(".")[0] for name in imported}
    assert not roots & {"fastapi", "starlette", "uvicorn", "answers", "http"}


def test_every_domain_error_has_a_status():
    def below(kind):
        return [error for sub in kind.__subclasses__() for error in (sub, *below(sub))]

    kinds = [error for error in below(errors.Refused) if error.__module__ == errors.__name__]
    assert len(kinds) >= 5
    assert set(STATUSES) == {*kinds, errors.StoreUnavailable}


# Who may call what


def test_an_administrative_post_that_is_added_later_is_not_open_to_those_who_may_decide(
    storage, purge
):
    app = create_app(storage, sweep_seconds=3600)
    app.post("/v1/purge")(needs("administer")(purge))
    tokens = {scope: add_token(storage, scope) for scope in ("decide", "administer")}
    with TestClient(app) as client:
        answers = {
            scope: client.post("/v1/purge", headers={"Authorization": f"Bearer {token}"})
            for scope, token in tokens.items()
        }
        assert answers["administer"].json() == {"done": True}
        assert answers["decide"].status_code == 403
        assert answers["decide"].json()["error"].startswith("POST needs a token with scope admin")
        assert client.post("/v1/purge").status_code == 401
        cookie = {"Cookie": f"{COOKIE}={tokens['administer']}"}
        assert client.post("/v1/purge", headers=cookie).status_code == 401, "it only reads"


def test_a_route_that_does_not_say_who_may_call_it_cannot_be_registered(storage, purge):
    app = create_app(storage, sweep_seconds=3600)
    with pytest.raises(TypeError, match="does not declare who may call it"):
        app.post("/v1/purge")(purge)
    with pytest.raises(AssertionError):
        needs("everything")


@pytest.mark.parametrize("how", ["plain", "mounted", "included"])
def test_a_server_with_such_a_route_does_not_start_and_never_answers_it(
    how, storage, purge, caplog
):
    app = create_app(storage, sweep_seconds=3600)
    if how == "plain":
        app.add_route("/v1/purge", lambda request: purge(), methods=["POST"])
    elif how == "mounted":
        app.mount("/v1/purge", FastAPI())
    else:
        router = APIRouter()
        router.post("/v1/purge")(purge)
        app.include_router(router)
    with pytest.raises(TypeError, match="does not declare"), TestClient(app):
        pass
    headers = {"Authorization": f"Bearer {add_token(storage, 'administer')}"}
    client = TestClient(app)  # which starts nothing up
    assert client.post("/v1/purge", headers=headers).status_code == 500
    assert "does not declare" in caplog.text


# The fast path


def refuse() -> None:
    raise HTTPException(418, "no tea")


async def echo(name: str, body: int = Body()) -> JSONResponse:
    return JSONResponse([name, body])


async def guarded(name: str, body: int = Body(), _: None = Depends(refuse)):
    return JSONResponse([name, body])


async def queried(name: str, times: int, body: int = Body()):
    return JSONResponse([name, body * times])


def send(app: FastAPI, query: str = ""):
    return TestClient(app).post(f"/x{query}", json=3)


def test_the_fast_path_skips_no_dependency(monkeypatch):
    """Whether the route, its function, or a router around it declares one."""
    calls = []
    read = FastRoute._read
    monkeypatch.setattr(FastRoute, "_read", lambda *given: calls.append(0) or read(*given))
    needs("public")(echo), needs("public")(guarded), needs("public")(queried)
    options = {"methods": ["POST"], "route_class_override": FastRoute}

    fast = FastAPI()
    fast.router.add_api_route("/{name}", echo, **options)
    assert send(fast).json() == ["x", 3]
    assert len(calls) == 1, "this one is fast"

    on_route, in_function, on_app = FastAPI(), FastAPI(), FastAPI(dependencies=[Depends(refuse)])
    on_route.router.add_api_route("/{name}", echo, dependencies=[Depends(refuse)], **options)
    in_function.router.add_api_route("/{name}", guarded, **options)
    on_app.router.add_api_route("/{name}", echo, **options)
    router, around = APIRouter(), FastAPI()
    router.add_api_route("/{name}", echo, **options)
    around.include_router(router, dependencies=[Depends(refuse)])
    for app in (on_route, in_function, on_app, around):
        assert send(app).status_code == 418
    asked = FastAPI()
    asked.router.add_api_route("/{name}", queried, **options)
    assert send(asked, "?times=2").json() == ["x", 6]
    assert len(calls) == 1, "none of these is"


# A decision


@pytest.mark.parametrize("changes", [{}, {"floor": 0.1}, {"control": "a", "control_share": 0.5}])
def test_a_decision_asks_for_its_probability_once_and_not_for_the_control(changes, monkeypatch):
    asked = []
    decide = Bandit._decide
    monkeypatch.setattr(Bandit, "_decide", lambda self, *arm: asked.append(0) or decide(self, *arm))
    monkeypatch.setattr(Bandit, "probabilities", None)
    machine = Machine(Rules.model_validate({**RULES, **changes}), 7)
    played = [machine.choose(number)[0] for number in range(1, 101)]
    controls = played.count(0) if "control" in changes else 0
    assert len(asked) == 100 - controls
