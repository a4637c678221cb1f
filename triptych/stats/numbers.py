"""How numbers and lists of names are written, in a report and on the pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .analysis.collection import CLEAR
from .undefined import Undefined

# style of a share → its unit
PERCENT = {"share": "%", "points": "pp", "of scale": "% of the scale", "margin points": "pp", "beyond points": "pp"}

FORMATS = {
    **dict.fromkeys(("count", "seconds", "share"), ".0f"),
    **dict.fromkeys(("points", "of scale"), "+.0f"),
    "difference": "+.2f",
    "thousandths": ".3f",
    "bound": ".3g",
}


def written_or_reason(value: float | Undefined, style: str) -> str:
    """A number as it is written, or why there is none."""
    return value.reason if isinstance(value, Undefined) else written(value, style)


def joined_words(words: Sequence[str]) -> str:
    """The words as a list in a sentence: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def first_words(words: Sequence[str], most: int, separator: str = "; ") -> str:
    """The first words in a row, and how many there are beyond them: "a; b; c and 2 more"."""
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return separator.join(words[:most]) + more


def p_words(p: float, bound: float = CLEAR) -> str:
    """A p-value in a sentence: "p = 0.051", "p < 0.001"; rounded as in tables, but never across the bound."""
    number = _p(round(p, 9), bound)
    return f"p {number}" if number.startswith("<") else f"p = {number}"


def signed_words(difference: float, share: bool) -> str:
    """A difference in a sentence, rounded as in tables: "+0.41", or of shares "+3 percentage points"."""
    if not share:
        return written(difference, "difference")
    return written(difference, "points").replace(PERCENT["points"], "percentage points")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things: "1 item", "2 items"; `plural` where it takes more than an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def written(value: float, style: str) -> str:
    """A number as the report prints it: two decimals, "seconds" and percentages whole, p and "thousandths" with three.
    p has more where it would be 0.050 without being so, as p below 0.05 is clear.
    "margin": all digits, as it was declared; "beyond": rounded up, so that no more is claimed than was shown.

    Values are first rounded to nine decimals, so that a last bit that differs between machines never shows.
    """
    value = round(value, 9) + 0.0
    if style == "p":
        return _p(value, CLEAR)
    if style.startswith(("margin", "beyond")):
        size = value if style.startswith("margin") else math.ceil(round(value * 100, 6)) / 100
        return f"{100 * size:.15g} {PERCENT[style]}" if style in PERCENT else f"{size:.15g}"
    unit = PERCENT.get(style, "")
    number = format(100 * value if unit else value, FORMATS.get(style, ".2f"))
    return f"{number if float(number) else number.lstrip('+-')} {unit}".rstrip()


def _p(p: float, bound: float) -> str:
    if p < 0.001 < bound:
        return "< 0.001"
    side = p < bound, p == bound
    numbers = (f"{p:.{digits}f}" for digits in range(3, 9))
    return next((number for number in numbers if (float(number) < bound, float(number) == bound) == side), f"{p:.9f}")
