"""What all results share: records as a data frame or a CSV file, a LaTeX table, entries by name."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .._text import latex_table, shown
from . import files

if TYPE_CHECKING:
    import pandas


class Records(ABC):
    """A result that can be written as records, one dictionary each."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the records."""

    def to_dataframe(self) -> pandas.DataFrame:
        """Return `rows` as a pandas data frame (``pip install ocucb[pandas]``)."""
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "to_dataframe needs pandas: pip install 'ocucb[pandas]', or use to_csv."
            ) from None
        return pandas.DataFrame(self.rows())

    def to_latex(self) -> str:
        """Return the table as LaTeX, with the rules of the package booktabs."""
        return latex_table(self._cells())

    @abstractmethod
    def _cells(self) -> list[tuple[str, ...]]:
        """Return the table for `to_latex`: a heading, and a row for each line."""

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `rows` to the CSV file `path`."""
        rows = self.rows()
        files.write_csv(path, dict.fromkeys(name for row in rows for name in row), rows)


class Named(Protocol):
    """An entry of a result: what one policy had."""

    @property
    def policy(self) -> str:
        """The full name."""

    @property
    def label(self) -> str:
        """The name for people."""


Entry = TypeVar("Entry", bound=Named)


def entry_of(entries: Sequence[Entry], which: int | str, what: str) -> Entry:
    """Return the entry with a position, name, label or short name; `what` names it in errors."""
    if not isinstance(which, str):
        return entries[which]
    exact = [entry for entry in entries if which in (entry.policy, entry.label)]
    family = [entry for entry in entries if which == entry.policy.partition(":")[0]]
    found = exact or family
    names = [entry.policy for entry in found or entries]
    if not found:
        raise KeyError(f"no {what} {shown(which)}; choose from {names}.")
    if len(found) > 1:
        raise KeyError(f"{which!r} matches {names}; use the full name or the position.")
    return found[0]
