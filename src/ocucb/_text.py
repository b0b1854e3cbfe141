"""Parsing and formatting text: numbers, tables and ``name:key=value`` specifications."""

from __future__ import annotations

import difflib
import html
import math
import reprlib
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ._types import Floats

T = TypeVar("T")

# of the letters in labels and headings
_GREEK = (r"\alpha", r"\psi", r"\gamma", r"\sigma", r"\varepsilon", r"\eta", r"\Delta", r"\times",
          r"\cdot")  # fmt: skip

# Beyond this, floating point cannot count rounds one by one.
LARGEST_COUNT = 2**53

# Python writes whole numbers of up to so many digits as text, and reads them.
MOST_DIGITS = 4300


class _Short(reprlib.Repr):
    """`repr`, shortened where it would fill the screen."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 80

    def repr_int(self, x: int, level: int) -> str:
        digits = int(abs(x).bit_length() * math.log10(2)) + 1
        if digits <= 40:
            return repr(x)
        return f"a {'negative ' * (x < 0)}whole number of about {digits} digits"


_SHORT = _Short()


def shown(value: Any) -> str:
    """Return a value as error messages show it: on one line, not too long.

    >>> shown("half"), shown(0.5), shown(10**400)
    ("'half'", '0.5', 'a whole number of about 401 digits')
    """
    if isinstance(value, np.generic):
        value = value.item()  # a number of numpy's
    return textwrap.shorten(_SHORT.repr(value), 100, placeholder=" ...")


def is_truth(value: object) -> bool:
    """Tell whether a value is True or False, which Python and numpy take for 1 and 0."""
    return isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool"


def to_float(value: Any, what: str, place: str = "between -1e308 and 1e308") -> float:
    """Convert a number to a float, or raise an error; `place` says where it must lie, in words.

    >>> to_float(1, "sigma")
    1.0
    """
    try:
        if isinstance(value, str | bytes) or is_truth(value):
            raise TypeError
        return float(value)
    except OverflowError:
        raise ValueError(f"{what} must lie {place}, got {shown(value)}.") from None
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a number, got {shown(value)}.") from None


def to_level(value: Any) -> float:
    """Convert a confidence level, or raise an error.

    >>> to_level(0.95)
    0.95
    """
    level = to_float(value, "level", "between 0 and 1")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level:g}.")
    return level


def to_floats(values: Any, what: str, place: str = "between -1e308 and 1e308") -> Floats:
    """Convert numbers to an array of floats of the same shape, as `to_float` does with one.

    >>> to_floats([0, 1], "means")
    array([0., 1.])
    """
    listed = values if isinstance(values, list | tuple) else ()
    try:
        if isinstance(values, str | bytes) or any(map(is_truth, (values, *listed))):
            raise TypeError
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{what} must lie {place}, got {shown(values)}.") from None
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be numbers, got {shown(values)}.") from None


def split_specification(text: str) -> tuple[str, dict[str, float]]:
    """Split ``name:key=value,key=value`` into the name and a dictionary.

    >>> split_specification("ocucb:alpha=2,psi=4")
    ('ocucb', {'alpha': 2.0, 'psi': 4.0})
    """
    name, colon, rest = text.partition(":")
    numbers: dict[str, float] = {}
    for item in rest.split(",") if colon else []:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{shown(item)} in {shown(text)} must have the form key=value.")
        if key.strip() in numbers:
            raise ValueError(f"{shown(key.strip())} appears twice in {shown(text)}.")
        numbers[key.strip()] = to_number(value, f"{key.strip()} in {shown(text)}")
    return name.strip(), numbers


def in_full(value: float) -> str:
    """Write a number with the digits that it takes to read it again.

    >>> in_full(0.3), in_full(2.0), in_full(0.1234567)
    ('0.3', '2', '0.1234567')
    """
    text = f"{value:g}"
    return text if float(text) == value else repr(value)


def to_number(text: str, what: str) -> float:
    """Parse a number; fractions such as ``1/3`` are allowed."""
    try:
        top, slash, bottom = text.partition("/")
        return float(top) / float(bottom) if slash else float(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{what} must be a number, got {shown(text)}.") from None


def remedy(
    given: Any,
    known: Iterable[str],
    spelled: Callable[[str], str] = str.casefold,
    all_: str = "choose from",
) -> str:
    """Return the end of an error about a name that is not known: the nearest, or all there are.

    `spelled` returns a name without what does not matter when it is typed; `all_` begins the list.

    >>> remedy("gpa", ["gap", "uniform"]), remedy("ten", ["gap", "uniform"])
    ('did you mean gap?', 'choose from gap, uniform.')
    """
    names = list(known)
    if isinstance(given, str) and len(given) < 100:  # longer ones would take long
        forms = {spelled(name): name for name in names}
        for near in difflib.get_close_matches(spelled(given), forms, n=1, cutoff=0.66):
            return f"did you mean {forms[near]}?"
    return f"{all_} {', '.join(names)}."


def listed(texts: Iterable[str], last: str = "and") -> str:
    """Join texts as in a sentence.

    >>> listed(["UCB", "MOSS", "OCUCB"]), listed(["UCB", "MOSS"], "or"), listed(["UCB"])
    ('UCB, MOSS and OCUCB', 'UCB or MOSS', 'UCB')
    """
    *first, final = [*texts] or [""]
    return f"{', '.join(first)} {last} {final}" if first else final


def power_of_ten(exponent: int) -> str:
    """Write a power of ten.

    >>> power_of_ten(12)
    '10¹²'
    """
    return "10" + str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def duration(seconds: float) -> str:
    """Format a time for people.

    >>> duration(75), duration(7300), duration(200_000)
    ('1 min 15 s', '2 h 1 min', '2 d 7 h')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 2 * 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def to_share(text: str, what: str) -> float:
    """Parse a fraction written as ``1%`` or ``0.01``.

    >>> to_share("1%", "--precision")
    0.01
    """
    number = text.strip()
    percent = number.endswith("%")
    return to_number(number.removesuffix("%"), what) / (100.0 if percent else 1.0)


def table(rows: Sequence[tuple[str, ...]], left: tuple[int, ...] = (0,)) -> str:
    """Align rows of text in columns, flush right except for the columns in `left`.

    >>> print(table([("policy", "runs"), ("UCB", "10")]))
    policy  runs
    UCB       10
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if column in left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def html_table(rows: Iterable[Iterable[str]], notes: Iterable[str] = ()) -> str:
    """Write rows of text as an HTML table, the first one as its heading, and notes below.

    >>> html_table([("policy", "runs"), ("<b>", "10")], ["plain"])
    '<table><tr><th>policy</th><th>runs</th></tr><tr><td>&lt;b&gt;</td><td>10</td></tr></table><p>plain</p>'
    """

    def all_in(tag: str, texts: Iterable[str]) -> str:
        return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)

    head, *body = rows
    lines = [all_in("th", head), *(all_in("td", row) for row in body)]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>{all_in('p', notes)}"


_LATEX = str.maketrans(
    {
        **{sign: rf"\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{sign: f"${sign}$" for sign in "<>"},
        "±": r"$\pm$",
        **{letter: f"${name}$" for letter, name in zip("αψγσεηΔ×·", _GREEK, strict=True)},
    }
)


def latex_table(rows: Sequence[tuple[str, ...]]) -> str:
    r"""Write rows of text as a LaTeX table, with the rules of the package booktabs.

    Numbers are flush right. Error bars, whose heading begins with ±, stand close to the column
    before them.

    >>> print(latex_table([("policy", "regret", "± 2 s.e."), ("UCB_1", "10.5", "± 0.2")]))
    \begin{tabular}{lr@{\,}l}
    \toprule
    policy & regret & $\pm$ 2 s.e. \\
    \midrule
    UCB\_1 & 10.5 & $\pm$ 0.2 \\
    \bottomrule
    \end{tabular}
    """
    head, *body = [" & ".join(text.translate(_LATEX) for text in row) + r" \\" for row in rows]
    columns = "".join(
        r"@{\,}l" if title.startswith("±") else "r" if all(map(_is_number, cells)) else "l"
        for title, *cells in zip(*rows, strict=True)
    )
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").removeprefix("< ").removesuffix("%") or "nan")
    except ValueError:
        return False
    return True


def table_of(
    items: Iterable[T], columns: Mapping[str, Callable[[T], str]], left: Sequence[str]
) -> str:
    """Write items as a table, with a heading, and a column for each text; see `table`.

    >>> print(table_of([7, 12], {"number": str, "square": lambda x: str(x**2)}, left=["number"]))
    number  square
    7           49
    12         144
    """
    rows = [tuple(columns), *(tuple(text(item) for text in columns.values()) for item in items)]
    return table(rows, tuple(i for i, title in enumerate(columns) if title in left))


def with_error(
    value: float, half_width: float, digits: int = 2, group: str = ""
) -> tuple[str, str]:
    """Write a number and its error bar with as many decimals as show `digits` digits of the bar.

    >>> with_error(12.3456, 0.1234), with_error(1234.56, 12.3, digits=1, group=",")
    (('12.35', '± 0.12'), ('1,235', '± 12'))
    >>> with_error(10.2, 1e-15)
    ('10.20', '± 0.00')
    """
    decimals = 2
    # an error of rounding alone, or too small to be shown, is no reason for more digits
    if max(5e-10, 1e-9 * abs(value)) < half_width < math.inf:
        # 0.09999 is shown as 0.1
        decimals = min(9, max(0, digits - 1 - math.floor(math.log10(half_width * 1.0001))))
    style = f"{group}.{decimals}f"
    return f"{value:{style}}", f"± {half_width:{style}}" if half_width == half_width else ""


def to_count(value: object, what: str, least: int = 1) -> int:
    """Convert `value` to a whole number between `least` and 2^53, or raise an error.

    >>> to_count(1e5, "horizon")
    100000
    """
    if isinstance(value, str):
        value = int(value) if value.isdecimal() and len(value) < 400 else to_number(value, what)
    try:
        if is_truth(value):
            raise TypeError
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a whole number, got {shown(value)}.") from None
    if number != number or (math.isfinite(number) and not number.is_integer()):
        raise ValueError(f"{what} must be a whole number, got {shown(value)}.")
    if number < least:
        raise ValueError(f"{what} must be at least {least}, got {shown(value)}.")
    exact = int(value) if isinstance(value, int) else number
    if exact > LARGEST_COUNT:
        raise ValueError(f"{what} must be at most 2^53 = {LARGEST_COUNT}, got {shown(value)}.")
    return int(number)
