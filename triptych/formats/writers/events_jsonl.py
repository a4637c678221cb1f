"""The event log as JSON Lines: who did what, when, with every superseded value; one line per event, in order."""

from __future__ import annotations

from collections.abc import Iterator

from triptych.formats.writers.model import ExportOptions, File, Finished
from triptych.formats.writers.writing import jsonl_file

CHAIN = (
    "The chain can be checked: `hash` is the SHA-256 of `at`, `study_id`, `number`, `actor`, `kind`, `assignment_id`, "
    "`subject`, `digest` and `previous_hash`, joined by the character U+001F, a null written as None; `digest` is the "
    "SHA-256 of `salt` followed by the JSON list of `old` and `new` with sorted keys, and by `rows_sha256` if there is "
    "one: the hash of the rows that the event wrote, which the database keeps. Without any values it is the SHA-256 of "
    "`[null, null]`."
)
WITHHELD = (
    "Lines with `withheld: true` withhold their values, because these would show which system is which. After the "
    "unblinding they are written."
)


def events_jsonl(finished: Finished, options: ExportOptions, notes: list[str]) -> Iterator[File]:
    yield jsonl_file("events.jsonl", finished.events())
    notes += [CHAIN, "Values that were erased are null, and so is their salt."]
    if finished.blind:
        notes.append(WITHHELD)
