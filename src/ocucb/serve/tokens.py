"""Bearer tokens with two scopes: stored as digests, shown once, revocable."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import Literal, get_args

import sqlalchemy as sa

from . import tables
from .storage import Storage, now

Scope = Literal["decide", "administer"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_KEPT = 1.0  # seconds that a token is remembered: a revoked one ends within these
_MOST_KEPT = 1000


@dataclass(frozen=True)
class Token:
    """What is stored of a token."""

    id: int
    label: str
    scope: Scope
    digest: str
    created_at: int
    revoked_at: int | None


def check_token(scope: str, label: str) -> None:
    """Refuse a scope or label that no token can have."""
    if scope not in SCOPES:
        raise ValueError(f"scope must be {' or '.join(SCOPES)}, got {scope!r}.")
    if len(label) > 200 or not label.isprintable():
        raise ValueError(f"label must be one line of at most 200 characters, got {label[:50]!r}.")


def add_token(storage: Storage, scope: str, label: str = "") -> str:
    """Make a token and return it; it cannot be shown again.

    It consists of a prefix, its number and 256 random bits: too many to guess, so a plain digest
    is enough.
    """
    check_token(scope, label)
    secret = secrets.token_urlsafe(32)
    row = {"label": label, "scope": scope, "digest": _digest(secret), "created_at": now()}
    with storage.writing() as connection:
        key = connection.execute(tables.tokens.insert(), row).inserted_primary_key
    assert key is not None
    return f"ocucb_{key[0]}_{secret}"


def list_tokens(storage: Storage) -> list[Token]:
    """Return all tokens, revoked ones included."""
    with storage.reading() as connection:
        rows = connection.execute(sa.select(tables.tokens).order_by("id")).mappings()
        return [Token(**row) for row in rows]


def revoke_token(storage: Storage, number: int) -> None:
    """Revoke a token; servers refuse it within a second."""
    table = tables.tokens
    with storage.writing() as connection:
        valid = table.update().where(table.c.id == number, table.c.revoked_at.is_(None))
        done = connection.execute(valid.values(revoked_at=now()))
    if done.rowcount != 1:
        raise ValueError(f"there is no token {number} to revoke; `ocucb serve tokens` lists them.")


class Authenticator:
    """Tells whether a token is valid; remembers for a second what the store said."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: dict[int, tuple[float, Token]] = {}  # and when the store said so

    def recall(self, text: str) -> Token | None:
        """Return the token if it is valid, without asking the store; None if that is needed."""
        number, secret = _parsed(text)
        when, token = self._known.get(number, (0.0, None))
        if token is None or time.monotonic() - when > _KEPT:
            return None
        return token if _matches(token, secret) else None

    def find(self, text: str) -> Token | None:
        """Return the token if it is valid, asking the store."""
        number, secret = _parsed(text)
        query = sa.select(tables.tokens).where(tables.tokens.c.id == number)
        with self._storage.reading() as connection:
            row = connection.execute(query).mappings().one_or_none()
        token = Token(**row) if row is not None else _NOBODY
        if not _matches(token, secret):
            return None
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[number] = (time.monotonic(), token)
        return token


def _parsed(text: str) -> tuple[int, str]:
    """Return number and secret of a token, or something that matches nothing."""
    prefix, _, rest = text.partition("_")
    number, _, secret = rest.partition("_")
    good = prefix == "ocucb" and number.isascii() and number.isdecimal() and len(number) < 10
    if not good or number.startswith("0"):  # a token is written in one way only
        return 0, ""
    return int(number), secret


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _matches(token: Token, secret: str) -> bool:
    same = hmac.compare_digest(token.digest, _digest(secret))  # in constant time
    return same and token.revoked_at is None


_NOBODY = Token(0, "", "decide", "0" * 64, 0, None)  # no text has this digest
