"""What is deployed: the image's steps, run here; compose, systemd and Kubernetes fit it."""

from __future__ import annotations

import configparser
import fnmatch
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from helpers import ROOT, invoke, wait_until
from ocucb.serve.app import create_app
from ocucb.serve.commands import GRACE

DEPLOY = ROOT / "deploy"
OPTIONS = set(re.findall(r"--[a-z-]+", invoke("serve", "--help").stdout))


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, with what belongs to each."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]


def last(name: str) -> str:
    return [words for known, words in instructions() if known == name][-1]


def settings() -> dict[str, str]:
    return dict(word.split("=", 1) for word in last("ENV").split())


def manifests() -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def test_the_image_has_two_stages_runs_as_nobody_special_and_is_looked_after():
    names = [name for name, _ in instructions()]
    assert names.count("FROM") == 2
    assert "ADD" not in names, "nothing is fetched"
    assert last("USER").isdecimal()
    assert int(last("USER")) > 0
    assert f"--uid {last('USER')}" in (DEPLOY / "Dockerfile").read_text()
    assert names.index("USER") > max(i for i, name in enumerate(names) if name == "RUN")
    command = json.loads(last("ENTRYPOINT")) + json.loads(last("CMD"))
    assert command[:2] == ["ocucb", "serve"]
    assert set(re.findall(r"--[a-z-]+", " ".join(command))) <= OPTIONS
    assert last("EXPOSE") == command[command.index("--port") + 1]


def copied_context(target: Path) -> None:
    """Copy what the build sees: everything but what the list of ignored files says, in order."""
    rules = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert rules[0] == "*"
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    dropped = [rule.removeprefix("**/") for rule in rules[1:] if not rule.startswith("!")]
    target.mkdir()
    for name in kept:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns(*dropped))
        else:
            shutil.copy(ROOT / name, target / name)
    assert not any(fnmatch.fnmatch(path.name, "*.db") for path in target.rglob("*"))


def test_the_steps_of_the_image_give_a_server_that_is_healthy(tmp_path):
    """No container: the steps are run in a folder, and packages that are here already are used."""
    places = {place: str(tmp_path / place.rpartition("/")[2]) for place in ("/src", "/opt/ocucb")}
    places["/var/lib/ocucb"] = str(tmp_path / "lib")
    places["/tmp/ocucb-code"] = os.environ.get("NUMBA_CACHE_DIR", str(tmp_path / "code"))

    def here(text: str) -> str:
        for place, folder in places.items():
            text = text.replace(place, folder)
        return text

    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "false",  # "false" as in --no-build-isolation=false: no isolation
    }
    for name, words in instructions():
        if name == "COPY" and words == ". /src":
            copied_context(tmp_path / "src")
        elif name == "COPY":
            assert words == "--from=build /opt/ocucb /opt/ocucb", "an environment cannot move"
        elif name == "RUN" and not words.startswith("useradd "):
            words = words.replace(f"--owner={last('USER')}", "")
            done = subprocess.run(
                here(words), shell=True, env=environment, capture_output=True, timeout=300
            )
            assert done.returncode == 0, done.stderr.decode()
    ours = {
        key: here(value).replace("$PATH", os.environ["PATH"]) for key, value in settings().items()
    }
    run = {**environment, **ours}
    program = shutil.which("ocucb", path=ours["PATH"])
    assert program == str(tmp_path / "ocucb" / "bin" / "ocucb")
    entry = [program, *json.loads(last("ENTRYPOINT"))[1:]]
    folder = here(last("WORKDIR"))
    made = subprocess.run(
        [*entry, "token", "--scope", "administer"], env=run, cwd=folder, capture_output=True
    )
    assert made.stdout.startswith(b"ocucb_1_"), made.stderr.decode()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    here_instead = {"0.0.0.0": "127.0.0.1", "8000": port}
    command = [here_instead.get(word, word) for word in json.loads(last("CMD"))]
    server = subprocess.Popen([*entry, *command], env=run, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        check = json.loads(last("HEALTHCHECK").partition("CMD")[2])
        check = [sys.executable, *(word.replace(":8000", f":{port}") for word in check[1:])]
        look = lambda: subprocess.run(check, capture_output=True).returncode == 0  # noqa: E731
        wait_until(look, "healthy", 60)
        assert (tmp_path / "lib" / "ocucb.db").exists()
    finally:
        server.terminate()
        assert server.wait(60) == 0
    assert not look(), "the check can fail"


def test_compose_fits_the_image():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    ocucb, database = services["ocucb"], services["database"]
    assert (DEPLOY / ocucb["build"]["context"] / ocucb["build"]["dockerfile"]).resolve() == (
        DEPLOY / "Dockerfile"
    )
    user = database["environment"]["POSTGRES_USER"]
    name = database["environment"]["POSTGRES_DB"]
    assert ocucb["environment"]["OCUCB_STORE"] == f"postgresql://{user}@database/{name}"
    assert set(ocucb["environment"]) - {"PGPASSWORD"} <= set(settings())
    assert ocucb["ports"] == [f"127.0.0.1:8000:{last('EXPOSE')}"], "a proxy with TLS is in front"
    assert ocucb["depends_on"]["database"]["condition"] == "service_healthy"
    assert "healthcheck" in database
    assert settings()["NUMBA_CACHE_DIR"].startswith(f"{ocucb['tmpfs'][0]}/"), "all else is fixed"
    assert float(ocucb["stop_grace_period"].removesuffix("s")) > GRACE


def test_the_unit_of_systemd_starts_the_program_and_waits_long_enough():
    class Repeated(dict):
        def __setitem__(self, key, value):
            known = self.get(key)
            if isinstance(value, list) and isinstance(known, list):
                value = known + value
            super().__setitem__(key, value)

    unit = configparser.RawConfigParser(dict_type=Repeated, strict=False, delimiters=("=",))
    unit.optionxform = str
    unit.read(DEPLOY / "ocucb.service")
    service = unit["Service"]
    words = shlex.split(service["ExecStart"])
    assert words[0].endswith("/bin/ocucb")
    assert words[1] == "serve"
    assert {word for word in words if word.startswith("--")} <= OPTIONS
    assert float(service["TimeoutStopSec"]) > GRACE
    assert service["KillSignal"] == "SIGTERM"
    given = dict(line.split("=", 1) for line in service["Environment"].splitlines())
    assert set(given) == {"OCUCB_STORE", "PGPASSFILE", "NUMBA_CACHE_DIR"}
    assert given["NUMBA_CACHE_DIR"] == f"/var/cache/{service['CacheDirectory']}"


def test_the_example_for_kubernetes_fits_image_and_server(sqlite_storage):
    found = {one["kind"]: one for one in manifests()}
    assert set(found) == {"Job", "Deployment", "Service", "PodDisruptionBudget"}
    pod = found["Deployment"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    (first,) = found["Job"]["spec"]["template"]["spec"]["containers"]
    assert first["env"] == container["env"]
    assert first["image"] == container["image"]
    assert first["args"][0] == "token"
    assert {one["name"] for one in container["env"]} - {"PGPASSWORD"} <= set(settings())
    paths = {getattr(route, "path", "") for route in create_app(sqlite_storage).routes}
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert {"/readyz", "/healthz"} <= paths
    (port,) = container["ports"]
    assert port["containerPort"] == int(last("EXPOSE"))
    assert found["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    for one in ("Service", "PodDisruptionBudget"):
        selector = found[one]["spec"]["selector"]
        assert selector.get("matchLabels", selector) == pod["metadata"]["labels"]
    for spec in (pod["spec"], found["Job"]["spec"]["template"]["spec"]):
        assert spec["securityContext"]["runAsUser"] == int(last("USER"))
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert any(settings()["NUMBA_CACHE_DIR"].startswith(f"{mount}/") for mount in mounts)
    assert pod["spec"]["terminationGracePeriodSeconds"] > GRACE + 5, "5 s before it is told"
    assert found["Deployment"]["spec"]["replicas"] >= 2


@pytest.mark.parametrize("words", ["serve check", "serve tokens", "serve token"])
def test_the_store_may_be_named_by_the_environment(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OCUCB_STORE", str(tmp_path / "named.db"))
    invoke("serve", "token")
    invoke(*words.split())
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"named.db"}
