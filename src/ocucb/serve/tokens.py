"""Bearer tokens with two scopes: stored as digests, shown once, revocable.

A token may be limited to some bandits, and to a number of requests per second.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import sqlalchemy as sa

from . import tables
from .storage import Storage, now

Scope = Literal["decide", "administer"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_KEPT = 1.0  # seconds that a token is remembered: a revoked one ends within these
_MOST_KEPT = 1000
_MOST_PATTERNS = 100
_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\*?")  # a bandit's name, or how it begins


@dataclass(frozen=True)
class Token:
    """What is stored of a token."""

    id: int
    label: str
    scope: Scope
    digest: str
    created_at: int
    revoked_at: int | None
    bandits: str | None = None
    rate: float | None = None

    @property
    def patterns(self) -> list[str] | None:
        """Names of bandits that it may use, or with a star how they begin; None: all."""
        return None if self.bandits is None else self.bandits.split(",")

    def may_use(self, name: str) -> bool:
        """Tell whether it is good for a bandit."""
        return self.patterns is None or any(
            name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
            for pattern in self.patterns
        )


def check_token(
    scope: str, label: str, bandits: Sequence[str] = (), rate: float | None = None
) -> None:
    """Refuse what no token can have."""
    if scope not in SCOPES:
        raise ValueError(f"scope must be {' or '.join(SCOPES)}, got {scope!r}.")
    if len(label) > 200 or not label.isprintable():
        raise ValueError(f"label must be one line of at most 200 characters, got {label[:50]!r}.")
    for pattern in bandits:
        if not _PATTERN.fullmatch(pattern):
            raise ValueError(
                f"bandit must be a name, or the beginning of names and a star, got "
                f"{pattern[:50]!r}."
            )
    if len(bandits) > _MOST_PATTERNS:
        raise ValueError(
            f"a token is for at most {_MOST_PATTERNS} bandits; use a prefix: 'shop-*'."
        )
    if rate is not None and not 0.001 <= rate <= 1e6:
        raise ValueError(f"rate must lie between 0.001 and 1e6 requests a second, got {rate:g}.")


def add_token(
    storage: Storage,
    scope: str,
    label: str = "",
    bandits: Sequence[str] = (),
    rate: float | None = None,
) -> str:
    """Make a token and return it; it cannot be shown again.

    `bandits` are names, or prefixes with a star, of those that it is good for, or all; `rate` is
    the number of requests per second that it may send to one server.

    It consists of a prefix, its number and 256 random bits: too many to guess, so a plain digest
    is enough.
    """
    check_token(scope, label, bandits, rate)
    secret = secrets.token_urlsafe(32)
    row = {"label": label, "scope": scope, "digest": _digest(secret), "created_at": now()}
    row |= {"bandits": ",".join(bandits) or None, "rate": rate}
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


class Rates:
    """Counts what each token has left; the burst is what it may send within a second, or one.

    Every server counts for itself. Only the event loop's thread may ask.
    """

    def __init__(self) -> None:
        self._left: dict[int, tuple[float, float]] = {}  # requests, and when that was so

    def wait(self, token: Token, now: float) -> float:
        """Take one request; return 0, or the seconds until there is one to take."""
        if token.rate is None:
            return 0.0
        most = max(1.0, token.rate)
        left, when = self._left.get(token.id, (most, now))
        left = min(most, left + (now - when) * token.rate)
        enough = left >= 1.0
        self._left[token.id] = (left - enough, now)
        return 0.0 if enough else (1.0 - left) / token.rate


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
