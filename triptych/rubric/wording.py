"""Translations of a rubric's words. The keys do not change, so ratings in all languages are comparable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import Any

from pydantic import BaseModel

# fields without words for annotators: names in data, and texts for leads
AS_THEY_ARE = {
    *("key", "kind", "tag", "names", "show", "stars", "extra_texts", "language", "criterion", "slot", "value", "level"),
    *("source", "deviations", "summary", "study_start", "translations", "meta", "answer", "free_text", "about"),
    *("judged", "presentation", "side", "rounds", "extra_rounds", "marked_in"),
}
# items, which like a study's items are in the rubric's own language
ITEMS = {"examples", "worked_example", "training"}
NOT_READ = AS_THEY_ARE - {"translations"}  # by annotators

# also in `components/workbench/texts/textpoints.js`: kana and Chinese characters, and the punctuation between them
IDEOGRAPHS = re.compile(r"[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]{1,2}")
UNSPACED_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,5}")
WIDE_PUNCTUATION = re.compile(r"[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]")


def length_in_words(text: str) -> int:
    """Length in words for limits. Ideographs have no white space between them, so two count as one word."""
    if text.isascii():
        return len(text.split())
    return len(IDEOGRAPHS.sub(" x ", WIDE_PUNCTUATION.sub(" ", text)).split())


def words_to_read(text: str) -> int:
    """As `length_in_words`, also for Thai, Lao, Burmese and Khmer, of which five characters are about a word.

    Their limits stay by white space: another count could make the sample of a stored rubric too long.
    """
    return length_in_words(text if text.isascii() else UNSPACED_WORD.sub(" x ", text))


def texts_of(part: object, left_out: Set[str] = AS_THEY_ARE | ITEMS) -> Iterator[str]:
    """Every text that a translation should have; without NOT_READ, every text that annotators may read."""
    if isinstance(part, str) and part:
        yield part
    elif isinstance(part, tuple | dict):
        for each in part.values() if isinstance(part, dict) else part:
            yield from texts_of(each, left_out)
    elif isinstance(part, BaseModel):
        for name in type(part).model_fields:
            if name not in left_out:
                yield from texts_of(getattr(part, name), left_out)


def translated(part: Any, words: dict[str, str]) -> Any:
    """The part with its texts replaced by their translations; in examples these are names of options and speakers."""
    if isinstance(part, str):
        return words.get(part, part)
    if isinstance(part, tuple):
        return tuple(translated(each, words) for each in part)
    if isinstance(part, BaseModel):
        names = [name for name in type(part).model_fields if name not in AS_THEY_ARE]
        return part.model_copy(update={name: translated(getattr(part, name), words) for name in names})
    return part
