"""What the service can refuse, in words of its own; `answers` maps each error to an HTTP status."""

from __future__ import annotations


class Refused(Exception):
    """A request that cannot be carried out, and changed nothing.

    Its text is one sentence for whoever sent it: what is wrong, with field, value and remedy.
    """


class UnknownBandit(Refused):
    """Nobody has created a bandit of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no bandit {name!r}; create it with PUT /v1/bandits/{name}.")


class Invalid(Refused):
    """A field has a value that it must not have."""


class KeyReused(Refused):
    """An idempotency key came back with a different request."""


class Conflict(Refused):
    """The request contradicts the bandit's rules or its current state."""


class Overloaded(Refused):
    """Too many requests are waiting already."""


class NotReady(Refused):
    """The server has not been running for long, and would be slow."""

    def __init__(self) -> None:
        super().__init__("the policies of stored bandits are being compiled; try again.")


class StoreUnavailable(Exception):
    """The store cannot be reached or written to now; nothing was acknowledged.

    Its text is for the log of the server, not for whoever sent the request.
    """
