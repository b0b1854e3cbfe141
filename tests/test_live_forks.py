"""Live bandits with forks and threads: no update is lost, nobody waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ocucb import Bandit

# Forks

FORK = """
import os, signal, sys, threading, warnings
import ocucb

warnings.simplefilter("ignore")  # from Python 3.12 on, a fork with threads warns
bandit = ocucb.Bandit(range(50), "ocucb", 10**6, sigma=1, rng=1)
bandit.ask()


def forked(work):
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # where it hangs
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def use():
    again = ocucb.Bandit.from_parts(**bandit.to_parts())
    assert again.ask(100) == bandit.ask(100)
    bandit.tell([0, 1], [0.5, 0.25])
    assert sum(bandit.to_parts()["pulls"]) >= 2
    bandit.save(sys.argv[1])
    again = ocucb.Bandit([*"ab"], "ocucb", 100, sigma=1)
    again.ask(5)

"""


def fork_with(tmp_path: Path, script: str) -> list[str]:
    """Run a script that forks, with threads, in a process of its own; return what it prints."""
    command = [sys.executable, "-c", FORK + script, str(tmp_path / "state.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")


@needs_fork
def test_a_fork_waits_for_a_reward_that_is_being_told(tmp_path):
    """The child has the bandit in one piece, and unlocked; so does the parent."""
    script = """
inside, forking = threading.Event(), threading.Event()
os.register_at_fork(before=forking.set)  # runs before that of ocucb
told = bandit._tell

def tell(state, *rest):
    state.arms["sum"][7] += 100.0  # half of it is done
    inside.set()
    assert forking.wait(60)
    state.arms["sum"][7] -= 100.0
    told(state, *rest)

bandit._tell = tell
thread = threading.Thread(target=bandit.tell, args=(7, 0.5))
thread.start()
inside.wait()

def look():
    parts = bandit.to_parts()
    assert parts["sums"][7] == 0.5 and parts["pulls"][7] == 1
    bandit._tell = told
    use()

print(forked(look))
thread.join()
bandit._tell = told
use()
"""
    assert fork_with(tmp_path, script) == ["0"]


@needs_fork
def test_a_fork_while_threads_use_a_bandit(tmp_path):
    """Whatever they are doing: asking, telling, saving, creating others."""
    script = """
stop = False

def work():
    while not stop:
        arms = bandit.ask(3)
        bandit.tell(arms, [0.1] * 3)
        bandit.save(sys.argv[1])
        ocucb.Bandit([*"ab"], "ocucb", 100, sigma=1)

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
print(*[forked(use) for _ in range(10)])
stop = True
for thread in threads:
    thread.join()
use()
"""
    assert fork_with(tmp_path, script) == ["0"] * 10


@needs_fork
def test_a_fork_from_within(tmp_path):
    """From a thread that holds the lock itself, and while one that waits for another holds it."""
    script = """
class Forking(float):
    def __float__(self):
        print(forked(use))
        return 0.5

bandit.tell(3, Forking())
use()

import ocucb.live.forks
ocucb.live.forks._PATIENCE = 0.1
other = ocucb.Bandit([*"ab"], "ocucb", 100, sigma=1)
inside, done = threading.Event(), threading.Event()

class Waiting(float):
    def __float__(self):
        inside.set()
        done.wait(60)
        return 0.5

thread = threading.Thread(target=other.tell, args=("a", Waiting()))
thread.start()
inside.wait()
print(forked(lambda: (use(), other.ask(3))))
done.set()
thread.join()
assert other.rounds == 1
use()
"""
    assert fork_with(tmp_path, script) == ["0", "0"]


@needs_fork
def test_a_fork_while_a_table_is_built(tmp_path):
    """The child builds it itself; what workers share is not locked, either."""
    script = """
import ocucb.gittins
from ocucb import specification

inside, done = threading.Event(), threading.Event()

def build():
    inside.set()
    done.wait(60)
    raise SystemExit

table = ocucb.gittins._tables.table
thread = threading.Thread(target=table, args=("of a test", build))
thread.start()
inside.wait()

def other():
    assert ocucb.gittins.surrogate(100).size
    assert specification._RECEIVING.acquire(timeout=5)

with specification._RECEIVING:
    print(forked(other))
done.set()
thread.join()
"""
    assert fork_with(tmp_path, script) == ["0"]


# Threads


def test_no_update_is_lost_under_eight_threads(tmp_path):
    bandit = Bandit(range(40), "ocucb", 10**6, sigma=1, rng=1)
    bandit.ask(1000)
    failed = []

    def work(number):
        try:
            for k in range(1500):
                arms = bandit.ask(2)
                bandit.tell(arms[0], 1.0)
                bandit.tell([arms[1], number], [0.25, 0.5])
                if k % 100 == 0:
                    bandit.save(tmp_path / "state.json")
                    state = Bandit.load(tmp_path / "state.json").to_dict()
                    assert sum(state["pulls"]) + sum(state["open"]) == state["rounds"]
                    bandit.add(f"{number} {k}")
        except BaseException as error:
            failed.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed
    state = bandit.to_dict()
    assert sum(state["pulls"]) == 8 * 1500 * 3
    assert sum(state["sums"]) == 8 * 1500 * 1.75
    assert sum(state["pulls"]) + sum(state["open"]) == state["rounds"]
    assert len(state["arms"]) == 40 + 8 * 15
