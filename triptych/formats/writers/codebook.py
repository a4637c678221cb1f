"""The files next to the data of every export: annotations.csv, codebook.json and README.md.

The README has only our own words, keys and numbers; the study's titles and texts are in the codebook, which is data.
Both contain the design hash, and number and hash of the last event, so that a truncated log can be detected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from triptych import settings
from triptych.formats.model import JsonObject
from triptych.formats.ratings_csv import RATINGS
from triptych.formats.writers.model import ExportOptions, File, Finished
from triptych.formats.writers.tables import ANNOTATIONS_HEADER, annotation_rows
from triptych.formats.writers.writing import csv_file, json_file, text_file
from triptych.rubric import yaml_text

if TYPE_CHECKING:
    from triptych.formats.writers import ExportFormat

COLUMNS = RATINGS | {
    "annotation": "Number of the annotation (`assignment_id` in the event log).",
    "after_unblinding": "Whether a lead submitted it when leads knew the names of the systems.",
    "text_view": "How the texts were seen: written (as source), formatted (Markdown) or mixed; empty if unknown.",
    "language": "The language of the page, as a code such as de; empty if unknown.",
    "arrangement": "How several responses were shown: side_by_side or one_at_a_time; empty if unknown.",
    "state": "submitted, surplus, ignored (done: set aside as a whole) or skipped (given back).",
    "reason": "Why the item was ignored or skipped.",
    "systems_shown": "The systems of the candidates as a JSON list, in the order on screen.",
    "order_known": "Whether that order was the one on screen; may be unknown for imported ratings.",
    "set_aside": "Responses that were not rated, as JSON: system and reason.",
    "turn": "Number of the turn, from 0, if the text is a dialogue.",
    "label": "Key of the highlight's label.",
    "start": "First character, counted from 0 in Unicode code points; empty if the quote is not in the text.",
    "end": "The character after the last one.",
    "quote": "The highlighted text.",
    "comment": "The annotator's comment on the highlight.",
    "unit": "What the selection was extended to: words or letters; empty if unknown.",
    "context": "The text that the candidates answer.",
    "context_turns": "The dialogue that the candidates answer: a list of speaker and text.",
    "text": "The candidate; empty if it is a dialogue, or was imported without its text.",
    "turns": "The candidate's turns if it is a dialogue: a list of speaker and text.",
    "meta": "Further fields of the items file, as JSON.",
    "extra_texts": "Titled texts shown with the context, as JSON.",
    "retired": "Whether the lead retired the item from the study.",
}
MAX_FILE_LINES = 12
BLIND = (
    "This study is blind: systems are called System 1, System 2, … with numbers drawn at random. Exports after "
    "unblinding contain their names."
)
NAMED = "This study was unblinded: systems appear under their names."
PEOPLE = (
    "Annotators appear under pseudonyms. Texts of people who withdrew or were erased are not in the data. Their "
    "ratings are, unless the consent text promised to delete them."
)
README = """# {title}: {finished.slug}

An export of Triptych {version}, a program for human evaluation of generated text.

| | |
|---|---|
| study | `{finished.slug}` |
| round | {finished.round} |
| design hash | `{design_hash}` |
| last event | {finished.event_number} |
| hash of the last event | `{finished.event_hash}` |
| rubric | `{finished.rubric.key}` |
| annotators per item | {finished.raters_per_item} |

Everything here is the state of the study after that event. A later export, backup or snapshot that has fewer events,
or another hash for this one, has lost or changed some.

## Files
{files}

`codebook.json` says what was asked, on which scales and with which words, and what every column means.
`annotations.csv` has one row per annotation that is done: who, in which order on screen, whether it is surplus, of an
excluded annotator, by a lead after the unblinding, ignored or skipped.

## Good to know
{notes}
"""

FACTS = ("slug", "title", "series", "round", "state", "raters_per_item", "blind")  # of the study
CONFIGS = ("ratings", "items", "annotations", "highlights")
USE = """
## Loading

    from datasets import load_dataset

    ratings = load_dataset("path/to/this/folder", "ratings", split="train")

Uploading the folder makes it a dataset on the hub. Choose a licence first and write it into the card: this program
does not know whose texts these are.
"""


def documents(finished: Finished, chosen: ExportFormat, options: ExportOptions, notes: list[str]) -> Iterator[File]:
    """All files of an export, in the order in which they must be written: the README counts earlier files' contents."""
    names = []
    for file in chosen.write(finished, options, notes):
        names.append(file.name)
        yield file
    yield csv_file("annotations.csv", ANNOTATIONS_HEADER, annotation_rows(finished))
    yield json_file("codebook.json", codebook(finished, options))
    yield text_file("README.md", readme(finished, chosen, names, notes))


def codebook(finished: Finished, options: ExportOptions) -> JsonObject:
    """The codebook: the questions, the meaning of every column, and the study's design and state."""
    rubric = finished.rubric
    return {
        "study": {
            **{name: getattr(finished, name) for name in FACTS},
            "systems": list(finished.systems.values()),
            "annotators": list(finished.annotators),
        },
        "design_hash": finished.design_hash,
        "last_event": {"number": finished.event_number, "hash": finished.event_hash},
        "options": {"margin": options.margin, "criterion": options.criterion},
        "rubric": {
            **rubric.model_dump(mode="json", include={"key", "title", "summary", "source", "language", "judged"}),
            **rubric.model_dump(mode="json", include={"highlights", "skip", "ignore_item", "set_aside_response"}),
        },
        "criteria": [criterion.model_dump(mode="json", exclude={"examples"}) for criterion in finished.criteria],
        "columns": COLUMNS,
    }


def readme(finished: Finished, chosen: ExportFormat, names: list[str], notes: list[str]) -> str:
    """The README, which is also the card of a dataset."""
    general = [BLIND if finished.blind else NAMED, PEOPLE]
    text = README.format(
        finished=finished,
        title=chosen.title,
        version=settings.version(),
        design_hash=finished.design_hash or "none yet: the study has not been opened",
        files="\n".join(_shortened([f"- `{name}`" for name in names])),
        notes="\n".join(f"- {note}" for note in [*general, *notes]),
    )
    return _card_head(finished) + text + USE if chosen.card else text


def _shortened(lines: list[str]) -> list[str]:
    """The lines, shortened if there is one file per annotator or per pair of systems."""
    more = len(lines) - MAX_FILE_LINES
    return [*lines[:MAX_FILE_LINES], f"- and {more} more"] if more > 0 else lines


def _card_head(finished: Finished) -> str:
    """The card's front matter: one config per table."""
    front = {
        "pretty_name": finished.title,
        "language": [finished.rubric.language],
        "tags": ["human-evaluation"],
        "configs": [
            {"config_name": name, "data_files": f"data/{name}.parquet", **({"default": True} if not place else {})}
            for place, name in enumerate(CONFIGS)
        ],
    }
    return f"---\n{yaml_text.write(front)}---\n"
