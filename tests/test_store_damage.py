"""Stores that are damaged, torn, tampered with or no stores at all."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sqlite3
import warnings
import zlib
from contextlib import suppress
from pathlib import Path

import pytest

import ocucb
from helpers import background, invoke, same
from ocucb.specification import run_blocks
from ocucb.store import Store, StoreError, _place
from store_cases import CALL, PROBLEM, specification


def foreign(path):
    path.write_text("policy,regret\nucb,3\n")


def beginning_lost(path):
    whole = path.read_bytes()
    path.write_bytes(b"\0" * 100 + whole[100:])


def torn(path):
    path.write_bytes(path.read_bytes()[:5000])


def overwritten(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + random.Random(1).randbytes(len(whole) - 4096))


def of_another_program(path):
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("pragma application_id = 7")
        database.execute("create table friends (name)")
    database.close()


def plain_database(path):
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("create table friends (name)")
    database.close()


def older(path):
    with sqlite3.connect(path) as database:
        database.execute("pragma user_version = 1")
    database.close()


def newer(path):
    with sqlite3.connect(path) as database:
        database.execute("pragma user_version = 99")
    database.close()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (foreign, "is not an ocucb store"),
        (beginning_lost, "is not an ocucb store, or its header is damaged"),
        (torn, "is damaged .* move it away and run again, or rescue"),
        (overwritten, "is damaged .* move it away and run again, or rescue"),
        (of_another_program, "is not an ocucb store"),
        (plain_database, "is not an ocucb store"),
        (older, "written by an older ocucb .format 1; this version reads 8.; use that version, or"),
        (newer, "written by a newer ocucb .format 99; this version reads 8"),
    ],
)
def test_what_is_no_store_is_left_alone(tmp_path, harm, words):
    path = tmp_path / "results.db"
    ocucb.simulate(**CALL, runs=3000, store=path)
    harm(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=words):
        ocucb.simulate(**CALL, runs=5000, store=path)
    with pytest.raises(StoreError, match=words), Store(path, read_only=True) as store:
        store.contents()
    assert path.read_bytes() == before


def test_a_damaged_block_is_played_again(tmp_path, played):
    path = tmp_path / "results.db"
    ocucb.simulate(**CALL, runs=1024, store=path)
    with sqlite3.connect(path) as database:
        database.execute("update blocks set moments = zeroblob(length(moments)) where first = 128")
    database.close()
    shown = "a block of OCUCB on gap:K=2,gap=0.3 is damaged, so 128 of its 1,024 runs are shown"
    with Store(path) as store, pytest.warns(UserWarning, match=f"results.db: {shown}"):
        assert [content.result.runs for content in store.contents()] == [128]
    told = invoke("results", path)
    assert told.exit_code == 0
    assert told.stderr == f"Note: {path}: {shown}; simulate again to restore the rest.\n"
    assert " 128 " in told.stdout
    del played[:]
    with pytest.warns(UserWarning, match="replaying a damaged block of OCUCB"):
        healed = ocucb.simulate(**CALL, runs=1024, store=path)
    assert played == [(128, 64)]
    assert same(healed, ocucb.simulate(**CALL, runs=1024))
    with Store(path) as store:
        assert [content.result.runs for content in store.contents()] == [1024]


def test_an_interrupted_commit_mixes_nothing_up(tmp_path, monkeypatch):
    """The rows that a transaction made are gone when it is rolled back; so is what we know of them.

    The blocks are committed later, and must not go to the simulation that has the row by then.
    """
    path = tmp_path / "results.db"
    with Store(path) as store:
        first, second = specification(), specification(policy=ocucb.UCB())
        store._pending = [(first, run_blocks(first, [(0, 64)])[0])]
        with monkeypatch.context() as change:
            change.setattr("ocucb.store._packed", lambda moments: 1 / 0)
            store._number(first)  # as if the interrupt had come after this
            with pytest.raises(ZeroDivisionError):
                store.flush()
        other = Store(path)
        other.add(second, run_blocks(second, [(0, 64)])[0])
        other.flush()
        store.flush()
        other._database.close()
        for spec in (first, second):
            found = store.get(spec, 0, 64)
            assert (found.moments.curve_means == spec.play(0, 64).curve_means).all()
        found = {content.result.policy: content.result.mean_regret for content in store.contents()}
        assert found == {
            spec.policy.name: spec.play(0, 64).curve_means[-1, 0] for spec in (first, second)
        }


def test_a_block_cannot_stand_for_another(tmp_path):
    path = tmp_path / "results.db"
    ocucb.simulate(["ucb", "moss"], PROBLEM, 2000, 64, rng=1, store=path)
    with sqlite3.connect(path) as database:
        (a, b) = (row[0] for row in database.execute("select moments from blocks order by rowid"))
        database.execute("update blocks set moments = ? where simulation = 1", (b,))
        database.execute("update blocks set moments = ? where simulation = 2", (a,))
    database.close()
    shown = "a block of (UCB|MOSS) on .* is damaged, so 0 of its 64 runs are shown"
    with Store(path) as store, pytest.warns(UserWarning, match=shown):
        assert store.contents() == []


def with_checksum(content: bytes):
    """A block of which only the content is wrong."""

    def harm(database):
        (identity,) = database.execute("select identity from simulations").fetchone()
        database.execute(
            "update blocks set moments = ?, checksum = ? where first = 64",
            (content, zlib.crc32(content, _place(identity, 64, 64))),
        )

    harm.__name__ = f"{len(content)} bytes with their checksum"
    return harm


def name_of(harm) -> str:
    return harm if isinstance(harm, str) else harm.__name__


ODD = [
    "update simulations set checkpoints = x'0102030405'",
    "update simulations set checkpoints = x''",
    "update simulations set checkpoints = 'text'",
    "update simulations set checkpoints = zeroblob(length(checkpoints))",
    "update simulations set means = x'00'",
    "update simulations set means = 7",
    "update simulations set seed = 'one'",
    "update simulations set seed = '-1'",
    "update simulations set seed = x'31'",
    "update simulations set seed = '1' || char(0)",
    "update simulations set horizon = 'many'",
    "update simulations set horizon = 0",
    "update simulations set horizon = 1999",
    "update simulations set sigma = 'wide'",
    "update simulations set sigma = 9e999",
    "update simulations set policy = x'ff'",
    "update simulations set label = x'ff'",
    "update simulations set sampling = 'biased'",
    "update blocks set runs = -5 where first = 64",
    "update blocks set runs = 'all' where first = 64",
    "update blocks set first = -64 where first = 64",
    "update blocks set first = 'early' where first = 64",
    "update blocks set moments = 'text' where first = 64",
    "update blocks set checksum = 'right' where first = 64",
    "update blocks set seconds = 'few' where first = 64",
    "update blocks set seconds = -1.0 where first = 64",
    "update blocks set finished = 'today' where first = 64",
    "update blocks set finished = 9e999 where first = 64",
    "drop table blocks",
    "alter table simulations drop column seed",
    with_checksum(b""),
    with_checksum(b"no zlib data"),
    with_checksum(zlib.compress(b"odd")),
    with_checksum(zlib.compress(b"\0" * 8 * 1000)),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "results.db"
    ocucb.simulate(**CALL, runs=512, store=path)
    return path


def tampered(sound, folder, harm) -> Path:
    path = folder / "results.db"
    shutil.copy(sound, path)
    with sqlite3.connect(path) as database:
        database.execute(harm) if isinstance(harm, str) else harm(database)
    database.close()
    return path


@pytest.mark.parametrize("harm", ODD, ids=name_of)
def test_rows_that_ocucb_did_not_write_are_one_sentence(harm, sound, tmp_path, played):
    path = tampered(sound, tmp_path, harm)
    before = path.read_bytes()
    words = rf"^{path} is damaged \([^\n]+\); it was left unchanged: [^\n]+$"
    with pytest.raises(StoreError, match=words), Store(path, read_only=True) as store:
        store.contents()
    with pytest.raises(StoreError, match=words):
        ocucb.simulate(**CALL, runs=512, store=path)
    assert not played
    told = invoke("results", path)
    assert told.exit_code == 1
    assert told.stdout == ""
    assert re.fullmatch(rf"Error: {path} is damaged [^\n]+\n", told.stderr)
    assert path.read_bytes() == before


@pytest.mark.parametrize("harm", ODD, ids=name_of)
def test_rows_of_files_too_large_to_look_through(harm, sound, tmp_path, monkeypatch):
    """What is not found at once is found when it is read, or does no harm."""
    path = tampered(sound, tmp_path, harm)
    monkeypatch.setattr("ocucb.store._CHECKED", 0)
    with suppress(StoreError), Store(path, read_only=True) as store, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store.contents()
    with suppress(StoreError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = ocucb.simulate(**CALL, runs=512, store=path)
        assert same(again, ocucb.simulate(**CALL, runs=512))


def test_a_killed_store_says_what_it_is(tmp_path):
    """Even with all of its data in the write-ahead log, and nothing but that file copied."""
    path = tmp_path / "results.db"

    def write_and_die():
        store = Store(path)
        store.add(specification(), run_blocks(specification(), [(0, 64)])[0])
        store.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    child = background(write_and_die)
    child.join()
    assert Path(f"{path}-wal").stat().st_size > 0
    shutil.copy(path, tmp_path / "alone.db")
    with Store(tmp_path / "alone.db", read_only=True) as alone:
        assert alone.contents() == []
    with Store(path, read_only=True) as whole:
        assert [content.result.runs for content in whole.contents()] == [64]
