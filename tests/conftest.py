"""Fixtures of all tests. Shared functions are in helpers.py; README.md is the map."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable

import pytest
from xdist.scheduler import LoadScopeScheduling

from ocucb._compile import cores
from ocucb.policies import FAMILIES
from ocucb.specification import Specification

# Pictures are drawn into files and text is as wide as it is, whatever screen and shell one has;
# processes that tests start inherit this.
os.environ["MPLBACKEND"] = "agg"
os.environ.pop("COLUMNS", None)

# A shell ignores Ctrl-C for what it starts in the background, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Tests of a file run in one process, where what is compiled serves all. Those of these files need
# little of it; handed out one by one, at the end, they keep all processes busy.
ONE_BY_ONE = ("test_cli.py", "test_docs.py", "test_reference.py")


# What takes longest goes first, lest a process be left alone with it at the end. Those that begin
# together compile different things.
LONGEST = tuple(
    f"test_{name}.py"
    for name in (
        *("policies", "code_cache", "paper", "users", "skip_binary", "importance", "skip"),
        *("users_meaning", "live", "serve_process", "workers", "store", "league", "gittins"),
    )
)


class FilesThenTests(LoadScopeScheduling):
    """What ``--dist loadfile`` means here. Groups come as they are collected."""

    def __init__(self, config, log):
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file.endswith(ONE_BY_ONE) else file


def _place(item: pytest.Item) -> int:
    """Return when a test's turn is: files that take long, other files, single tests."""
    name = item.path.name
    if name in LONGEST:
        return LONGEST.index(name)
    return len(LONGEST) + (name in ONE_BY_ONE)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    return cores() + 1  # some tests wait for a browser, a server or children


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return FilesThenTests(config, log) if config.getvalue("dist") == "loadfile" else None


# Compiling takes most of a test's time. One policy for each way to play is enough while working:
# unplayed indices that fall or rise, samples, free choices.
QUICK = ("ocucb", "ucb", "thompson", "epsilon-greedy")


def pytest_addoption(parser):
    parser.addoption(
        "--quick", action="store_true", help=f"of the policies only {', '.join(QUICK)}"
    )
    parser.addoption(
        "--no-skips", action="store_true", help="a browser, database or package must not be missing"
    )


# What may be missing for all that: packages and logs of others, and the right to mount.
OPTIONAL = re.compile(
    r"test_peers\.py|needs the right to mount|needs unshare|needs the logs that a"
)


def _refuse_skip(config: pytest.Config, report: pytest.TestReport | pytest.CollectReport) -> None:
    if config.getoption("--no-skips") and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr)
        if not OPTIONAL.search(report.nodeid + reason):
            report.outcome, report.longrepr = "failed", f"--no-skips: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    _refuse_skip(item.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    _refuse_skip(collector.config, report)
    return report


# At the start, test_skip.py and this file run side by side through the same policies: backwards, it
# finds compiled what it would otherwise compile at the same moment.
BACKWARDS = "test_simulation.py"


def pytest_collection_modifyitems(config, items):
    places = [place for place, item in enumerate(items) if item.path.name == BACKWARDS]
    for place, item in zip(places, [items[place] for place in reversed(places)], strict=True):
        items[place] = item
    if hasattr(config, "workerinput"):  # one of several processes
        items.sort(key=_place)
    if not config.getoption("--quick"):
        return
    left_out = [item for item in items if _policies_of(item) - {*QUICK}]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _policies_of(item: pytest.Item) -> set[str]:
    """Return the names of the policies that a test is parametrised with."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return {value.partition(":")[0] for value in values if isinstance(value, str)} & {*FAMILIES}


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The blocks that are really played, as pairs of first run and number of runs."""
    seen: list[tuple[int, int]] = []
    original = Specification.play

    def play(self, first, runs, *rest):
        seen.append((first, runs))
        return original(self, first, runs, *rest)

    monkeypatch.setattr(Specification, "play", play)
    return seen


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> ctypes.c_int:
    """How many blocks were begun, in this process and in those that it forks.

    Only one of them plays at a time, so threads need a lock and processes none: one that is killed
    would keep it forever.
    """
    counter = multiprocessing.Value("i", lock=False)
    threads = threading.Lock()
    original = Specification.play

    def play(self, *arguments):
        with threads:
            counter.value += 1
        return original(self, *arguments)

    monkeypatch.setattr(Specification, "play", play)
    return counter


@pytest.fixture
def here(capfd, monkeypatch) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process, for speed: returns status, standard output and error."""
    from ocucb import cli

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ocucb", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return int(stop.value.code or 0), *capfd.readouterr()

    return command


@pytest.fixture
def browser():
    """Chromium; skips where there is none."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        pytest.skip("needs chromium and chromedriver (Debian: chromium, chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    quiet = "no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
    for word in (*quiet.split(), "disable-component-update", "disable-sync", "headless=new"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def cluster():
    """A PostgreSQL cluster that nobody else uses; skips where there is no PostgreSQL."""
    from serving import Cluster

    made = Cluster("-c fsync=off")  # only servers are killed, not the machine
    yield made
    made.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path) -> str:
    """The address of an empty store, of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    return request.getfixturevalue("cluster").new_database()


@pytest.fixture
def opened(store):
    """An open store of the service, of either kind."""
    from ocucb.serve.storage import Storage

    made = Storage(store)
    yield made
    made.close()


@pytest.fixture
def sqlite_storage(tmp_path):
    """An open store of the service, in a file."""
    from ocucb.serve.storage import Storage

    made = Storage(str(tmp_path / "store.db"))
    yield made
    made.close()


@pytest.fixture
def http(sqlite_storage):
    """The service without a network, with a bandit x."""
    from serving import RULES, Http

    made = Http(sqlite_storage)
    with made.client:
        made("PUT", "/v1/bandits/x", RULES)
        yield made
