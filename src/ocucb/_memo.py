"""Values computed on first use and shared by all threads.

Threads that come first at the same time all compute the value, and all get the one that was ready
first. No lock is held meanwhile: what is computed may compile, start threads or call a user's code,
any of which may wait for a thread that waits for the lock. `functools` does otherwise: `cache`
gives each of these threads a value of its own, and so does `cached_property` from Python 3.12 on;
before, it held one lock for all objects of a class.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast, overload

P = ParamSpec("P")
T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """A property that is computed on first use."""

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return vars(instance).setdefault(self.func.__name__, self.func(instance))


def cache(function: Callable[P, T]) -> Callable[P, T]:
    """Compute a function of positional arguments once for each combination of them."""
    values: dict[tuple[Any, ...], T] = {}

    def value(*given: Any) -> T:
        if given not in values:
            values.setdefault(given, cast(Any, function)(*given))
        return values[given]

    return cast(Callable[P, T], functools.update_wrapper(value, function))


def cached_while_alive(function: Callable[P, T]) -> Callable[P, T]:
    """Compute a function of objects once for each combination, and forget it with any of them.

    The value must not refer to the objects. In a notebook, each time that a policy is redefined
    its compiled code goes with it.
    """
    values: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def value(*given: Any) -> T:
        place = values
        for key in given[:-1]:
            place = place.setdefault(key, weakref.WeakKeyDictionary())
        if given[-1] not in place:
            place.setdefault(given[-1], cast(Any, function)(*given))
        return cast(T, place[given[-1]])

    return cast(Callable[P, T], functools.update_wrapper(value, function))
