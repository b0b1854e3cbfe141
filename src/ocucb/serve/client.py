"""A client with the methods of `Bandit`: `ask` returns a decision, `tell` reports its reward.

Every request has a time-out and is retried if it fails in transit. Retries are safe: an ask carries
a key under which the server finds its first answer, a reward counts once per decision, and a change
states the result, so that applying it twice is harmless.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload
from urllib.parse import quote

import httpx

_AGAIN = (429, 502, 503, 504)  # worth another attempt
_SLOW = 120.0  # seconds for a new policy, which may have to be compiled


@dataclass(frozen=True)
class Decision:
    """Which arm to play.

    Attributes
    ----------
    id : str
        What `Client.tell` needs.
    arm : str
        The arm.
    propensity : float or None
        The probability with which it was chosen, if known.
    expires_at : float or None
        When it is closed without a reward, in seconds since 1970.

    Examples
    --------
    >>> from ocucb.serve.client import Decision
    >>> Decision("1-c44d54e0a2f1a5c9", "red", propensity=0.5, expires_at=None).arm
    'red'
    """

    id: str
    arm: str
    propensity: float | None
    expires_at: float | None


class ServiceError(RuntimeError):
    """The server refused a request, or could not be reached.

    Parameters
    ----------
    message : str
        One sentence.
    status : int or None, optional
        The HTTP status; None if there was no answer. It becomes an attribute.
    wait : float, optional
        Seconds that the server asked to wait. It becomes an attribute.

    Examples
    --------
    >>> from ocucb.serve.client import ServiceError
    >>> ServiceError("there is no bandit 'colours'.", 404).status
    404
    """

    def __init__(self, message: str, status: int | None = None, wait: float = 0.0) -> None:
        super().__init__(message)
        self.status, self.wait = status, wait


class Client:
    """A bandit on a server.

    Parameters
    ----------
    url : str
        The server's address: ``http://127.0.0.1:8000``.
    name : str
        The bandit's name.
    token : str
        A token; to create or change a bandit it needs the scope "administer".
    timeout : float, optional
        Seconds to wait for one answer.
    patience : float, optional
        Seconds to keep trying while the server cannot be reached or is unavailable.

    Notes
    -----
    A client is thread-safe. Use it in a ``with`` statement, or `close` it. In the examples of its
    methods, ``bandit`` is the one that is created here.

    Examples
    --------
    With the address and the token that ``ocucb serve`` printed:

    >>> from ocucb.serve.client import Client
    >>> with Client(url, "colours", token) as bandit:
    ...     bandit.create(["red", "green"])
    ...     decision = bandit.ask()
    ...     bandit.tell(decision, 0.7)
    'accepted'
    """

    def __init__(
        self, url: str, name: str, token: str, *, timeout: float = 5.0, patience: float = 30.0
    ) -> None:
        self._path = f"/v1/bandits/{quote(name, safe='')}"
        self._timeout, self._patience = timeout, patience
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=headers, trust_env=False)

    def close(self) -> None:
        """Close the connections.

        Examples
        --------
        >>> from ocucb.serve.client import Client
        >>> bandit = Client(url, "colours", token)
        >>> bandit.close()
        """
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The verbs of `Bandit`

    def create(
        self,
        arms: Iterable[str],
        policy: str | None = None,
        horizon: int | None = None,
        **rules: Any,
    ) -> None:
        """Create the bandit; repeating the call is harmless.

        Parameters
        ----------
        arms : list of str
            Names of the arms.
        policy : str, optional
            The policy: ``"ocucb:alpha=2"``. Without one, ``"kl-ocucb"``; if neither bounds nor
            sigma are given, ``"ocucb-normal"``.
        horizon : int, optional
            Decisions that you expect to make. Without it, the server plans for 1,000 at first, and
            for n^1.5 whenever n is reached.
        **rules : dict
            bounds or sigma; minimize, seed, floor, control, control_share, expiry, default_reward,
            when_decided, guardrail, prior; features (how many, or their names) and shared, as for
            `LinearBandit`.

        Examples
        --------
        >>> bandit.create(["red", "green"])
        """
        body = {"arms": list(arms), "policy": policy, "horizon": horizon, **rules}
        self._call("PUT", "", body)

    @overload
    def ask(
        self, count: None = None, *, unit: str | None = None, context: Any = None
    ) -> Decision: ...
    @overload
    def ask(self, count: int, *, context: Any = None) -> list[Decision]: ...
    def ask(
        self, count: int | None = None, *, unit: str | None = None, context: Any = None
    ) -> Decision | list[Decision]:
        """Decide which arm to play next; with a count, a list of decisions.

        A unit, such as a visitor, gets the same decision as long as it is open.

        Parameters
        ----------
        count : int, optional
            Make this many decisions.
        unit : str, optional
            Who or what the decision is for.
        context : list of float or dict, optional
            The values of the features, if there are any; if they are shared, a list for each arm,
            by name. The server keeps it: `tell` needs the decision alone.

        Returns
        -------
        Decision or list of Decision
            A list if there is a count.

        Examples
        --------
        >>> bandit.ask().arm in ("red", "green")
        True
        >>> len(bandit.ask(2))
        2
        """
        body: dict[str, Any] = {"count": 1 if count is None else count}
        if unit is not None:
            body["unit"] = unit
        if context is not None:
            body["context"] = _plain(context)
        key = {"Idempotency-Key": uuid.uuid4().hex}
        answer = self._call("POST", "/decisions", body, **key)
        decisions = [  # a later server may say more
            Decision(one["id"], one["arm"], one["propensity"], one["expires_at"])
            for one in answer["decisions"]
        ]
        return decisions[0] if count is None else decisions

    @overload
    def tell(self, decision: Decision | str, reward: float, guard: float | None = None) -> str: ...
    @overload
    def tell(
        self,
        decision: Sequence[Decision | str],
        reward: Sequence[float],
        guard: Sequence[float | None] | None = None,
    ) -> list[str]: ...
    def tell(self, decision: Any, reward: Any, guard: Any = None) -> str | list[str]:
        """Report what a decision paid, or lists of both.

        Parameters
        ----------
        decision : Decision or str, or a list of them
            The decision, or its id.
        reward : float, or a list of them
            What it paid.
        guard : float, or a list of them, optional
            The value of the guardrail's metric.

        Returns
        -------
        str or list of str
            What became of it: accepted, duplicate (it was there already, and counts once),
            conflict (another reward was there), expired or unknown.

        Examples
        --------
        >>> decision = bandit.ask()
        >>> bandit.tell(decision, 1.0), bandit.tell(decision, 1.0)
        ('accepted', 'duplicate')
        """
        single = isinstance(decision, Decision | str)
        decisions, rewards = ([decision], [reward]) if single else (list(decision), list(reward))
        if len(decisions) != len(rewards):
            raise ValueError(
                f"there must be one reward for each decision, got {len(decisions)} decisions and "
                f"{len(rewards)} rewards."
            )
        body: list[dict[str, Any]] = [
            {"decision": one.id if isinstance(one, Decision) else one, "reward": float(paid)}
            for one, paid in zip(decisions, rewards, strict=True)
        ]
        measured = [None] * len(body) if guard is None else [guard] if single else list(guard)
        for item, value in zip(body, measured, strict=True):
            if value is not None:
                item["guard"] = float(value)
        answer = self._call("POST", "/rewards", body)
        statuses = [outcome["status"] for outcome in answer["rewards"]]
        return statuses[0] if single else statuses

    def add(self, arms: str | Iterable[str]) -> None:
        """Add arms, or reinstate retired ones.

        Parameters
        ----------
        arms : str or list of str
            Their names.

        Examples
        --------
        >>> bandit.add("blue")
        >>> [arm["arm"] for arm in bandit.summary()["arms"]]
        ['red', 'green', 'blue']
        """
        self._call("PATCH", "", {"add": [arms] if isinstance(arms, str) else list(arms)})

    def retire(self, arms: str | Iterable[str]) -> None:
        """Stop playing arms.

        Parameters
        ----------
        arms : str or list of str
            Their names.

        Examples
        --------
        >>> bandit.retire("green")
        >>> bandit.ask().arm != "green"
        True
        """
        self._call("PATCH", "", {"retire": [arms] if isinstance(arms, str) else list(arms)})

    def extend(self, horizon: int) -> None:
        """Plan for more rounds.

        Parameters
        ----------
        horizon : int
            The new number of decisions.

        Examples
        --------
        >>> bandit.extend(20_000)
        >>> bandit.summary()["horizon"]
        20000
        """
        self._call("PATCH", "", {"horizon": horizon})

    def switch(self, policy: str) -> None:
        """Let another policy go on with what is known about the arms: a new epoch.

        Parameters
        ----------
        policy : str
            The policy: ``"ocucb:alpha=2"``.

        Examples
        --------
        >>> bandit.switch("normal-thompson")
        >>> bandit.summary()["label"]
        'Thompson sampling (normal)'
        """
        self._call("PATCH", "", {"policy": policy})

    def tell_prior(self, prior: Iterable[dict[str, Any]]) -> None:
        """Tell what is known of arms from elsewhere; retries count once.

        Parameters
        ----------
        prior : list of dict
            Of each: ``arm``, ``pulls`` (how many rewards), their ``mean`` or ``sum``, and their
            ``variance``, which is needed if there are neither bounds nor sigma.

        Examples
        --------
        >>> bandit.tell_prior([{"arm": "red", "pulls": 200, "mean": 0.1, "variance": 0.09}])
        >>> {arm["arm"]: arm["pulls"] for arm in bandit.summary()["arms"]}["red"] >= 200
        True
        """
        self._call("POST", "/prior", list(prior), **{"Idempotency-Key": uuid.uuid4().hex})

    def pause(self) -> None:
        """Make no decisions until `resume`; rewards are still accepted.

        Examples
        --------
        >>> bandit.pause()
        >>> bandit.summary()["paused"]
        True
        >>> bandit.resume()
        """
        self._call("PATCH", "", {"paused": True})

    def resume(self) -> None:
        """Make decisions again.

        Examples
        --------
        >>> bandit.resume()
        >>> bandit.summary()["paused"]
        False
        """
        self._call("PATCH", "", {"paused": False})

    def archive(self) -> None:
        """Take the bandit out of use: it leaves the list, and makes no decisions.

        Rewards are still accepted; `restore` brings it back.

        Examples
        --------
        >>> bandit.archive()
        >>> bandit.summary()["archived"]
        True
        >>> bandit.restore()
        """
        self._call("PATCH", "", {"archived": True})

    def restore(self) -> None:
        """Bring an archived bandit back.

        Examples
        --------
        >>> bandit.restore()
        >>> bandit.summary()["archived"]
        False
        """
        self._call("PATCH", "", {"archived": False})

    def delete(self) -> None:
        """Delete the bandit, which must be archived, with all its decisions and rewards.

        Examples
        --------
        >>> from ocucb.serve.client import Client
        >>> with Client(url, "mistake", token) as mistake:
        ...     mistake.create(["red", "green"])
        ...     mistake.archive()
        ...     mistake.delete()
        """
        self._call("DELETE", "")

    def summary(self) -> dict[str, Any]:
        """Return what is known about the arms, what is played next, and the health.

        Returns
        -------
        dict
            As ``GET /v1/bandits/{name}`` answers.

        Examples
        --------
        >>> bandit.summary()["arms"][0]["arm"]
        'red'
        """
        answer: dict[str, Any] = self._call("GET", "")
        return answer

    def verdict(
        self, margin: float | None = None, level: float | None = None, context: Any = None
    ) -> dict[str, Any]:
        """Return whether the experiment may be stopped, and what stopping now would lose.

        Parameters
        ----------
        margin : float, optional
            A difference that does not matter; by default that of ``when_decided``, or 0.
        level : float, optional
            Confidence of the verdict; by default that of ``when_decided``, or 0.95.
        context : list of float or dict, optional
            The values of the features, if there are any, as for `ask`.

        Returns
        -------
        dict
            As ``GET /v1/bandits/{name}/verdict`` answers.

        Examples
        --------
        >>> bandit.verdict(margin=0.01)["verdict"]
        'go on'
        """
        given = {"margin": margin, "level": level}
        if context is not None:
            given["context"] = quote(json.dumps(_plain(context)))  # type: ignore[assignment]
        query = "&".join(f"{key}={one}" for key, one in given.items() if one is not None)
        answer: dict[str, Any] = self._call("GET", f"/verdict?{query}")
        return answer

    def _call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request until it is answered, and raise what the server refuses."""
        slow = method == "PUT" or (body is not None and "policy" in body)
        timeout = max(self._timeout, _SLOW) if slow else self._timeout
        deadline = time.monotonic() + max(self._patience, timeout if slow else 0.0)
        pause = 0.05
        while True:
            try:
                answer = self._http.request(
                    method, self._path + path, json=body, headers=headers, timeout=timeout
                )
            except httpx.TransportError as error:
                failure = ServiceError(f"{self._http.base_url} does not answer: {error}.")
            else:
                if answer.is_success:
                    return answer.json()
                failure = _refusal(answer)
                if answer.status_code not in _AGAIN:
                    raise failure
            wait = max(pause * random.uniform(0.5, 1.0), failure.wait)
            if time.monotonic() + wait > deadline:
                raise failure
            time.sleep(wait)
            pause = min(2.0, 2 * pause)


def _plain(context: Any) -> Any:
    """Return a context as lists of floats, whatever sequences or arrays it consists of."""
    if isinstance(context, Mapping):
        return {name: _plain(row) for name, row in context.items()}
    return [float(value) for value in context]


def _refusal(answer: httpx.Response) -> ServiceError:
    try:
        sentence = str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        sentence = f"the server answered with status {answer.status_code}."
    wait = answer.headers.get("retry-after", "")
    seconds = float(wait) if wait.isdecimal() and answer.status_code == 429 else 0.0
    return ServiceError(sentence, answer.status_code, seconds)
