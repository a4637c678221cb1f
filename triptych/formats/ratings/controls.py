"""Conventions shared by Label Studio and Argilla: one control per question and response, identified by its name.

`fluency_a` is the criterion fluency of the response a. The response's text is in the field `response_a` (or resp_a, a,
…), its system in `system_a` or `model_a`; without such a field, the text field's name is the system. A control without
an ending such as _a is about the item where there are several responses, or where the only one is in our own form, with
a letter and a system. Otherwise it is about the only response.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache

from triptych.formats.layout import CONTEXT_NAMES, ID_NAMES, NUMBERED, simple
from triptych.formats.model import JsonObject
from triptych.formats.ratings.model import UNKNOWN_SYSTEM, Gathering, named

WHO = "RatedBy"  # a text field in our own export; keys of criteria are lower case, so there is no conflict
IN_CONTEXT = "highlight_context"  # the control of our own export
REASONS = "_reasons"
EXPLAINING = ("_why", REASONS)
_SYSTEM = re.compile(r"(?:system|model)_([1-9]\d?|[a-f])")
_ENDING = re.compile(r"(.+?)[_\-\s]([1-9]\d?|[a-f])", re.IGNORECASE)


@dataclass(frozen=True)
class Fields:
    """The fields of one task. item: its id; systems, names: letter or number of a response → its system, its field."""

    item: str
    systems: dict[str, str]
    names: dict[str, str]

    def of_span(self, control: str, to: str = "") -> tuple[bool, str | None]:
        """(whether the text of this control's spans is known, the text's system, None for the context)."""
        in_context = simple(to) in CONTEXT_NAMES if to else control == IN_CONTEXT
        system = None if in_context else self.place(control, to)[1]
        return in_context or system is not None, system

    def place(self, control: str, to: str = "") -> tuple[str, str | None]:
        """(criterion, system) of a control; `to` is the field that it refers to."""
        ending = _ending(control)
        letter = self.names.get(to) or (ending[2].casefold() if ending else "")
        if letter in self.systems:
            if ending and ending[2].casefold() == letter:
                return ending[1], self.systems[letter]
            return control.removesuffix(f"_{to}") if to else control, self.systems[letter]
        if not self.systems:
            return control, UNKNOWN_SYSTEM
        if len(self.systems) > 1:
            return control, None
        ((letter, system),) = self.systems.items()
        is_own = letter.isalpha() and system not in self.names
        return control, None if is_own else system


@lru_cache(maxsize=1024)  # long names are read in each row
def _ending(control: str) -> re.Match[str] | None:
    return _ENDING.fullmatch(control)


def explains(control: str, asked: Container[str]) -> bool:
    """Whether the control asks for an explanation of another answer: fluency_why_a for fluency_a."""
    return any(part in control and control.replace(part, "", 1) in asked for part in EXPLAINING)


def is_field(name: str) -> bool:
    """Whether a simplified name is a field of the task: an id of the item, a context, a response, its system."""
    return bool(NUMBERED.fullmatch(name) or _SYSTEM.fullmatch(name)) or name in (*CONTEXT_NAMES, "item_id", "text")


def read_fields(fields: JsonObject, meta: JsonObject, fallback: str, row: int, into: Gathering) -> Fields:
    """The task's fields; texts go to `into`. The id and the systems may be in `fields` or in `meta`."""
    by_name = {simple(name): value for name, value in {**meta, **fields}.items()}
    item = next((i for n in ID_NAMES if (i := named(by_name.get(n)))), fallback)
    systems: dict[str, str] = {}
    names: dict[str, str] = {}
    for name, value in fields.items():
        numbered = NUMBERED.fullmatch(simple(name))
        if numbered:
            letter = numbered[2]
            system = named(by_name.get(f"system_{letter}")) or named(by_name.get(f"model_{letter}"))
            systems[letter], names[name] = system or name, letter
            into.text(item, systems[letter], value, row, name)
        elif simple(name) in CONTEXT_NAMES:
            into.text(item, None, value, row, name)
    if not systems and "text" in fields:
        into.text(item, UNKNOWN_SYSTEM, fields["text"], row, "text")
    return Fields(item, systems, names)
