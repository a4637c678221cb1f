"""The files next to the data of every export: annotations.csv, codebook.json and README.md.

The README has only our own words, keys and numbers; the study's titles and texts are in the codebook, which is data.
Both contain the design hash, and number and hash of the last event, so that a truncated log can be detected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from triptych import settings
from triptych.formats.columns import meanings
from triptych.formats.model import JsonObject
from triptych.formats.writers.model import ExportOptions, File, Finished
from triptych.formats.writers.tables import ANNOTATIONS_HEADER, COLUMNS, annotation_rows
from triptych.formats.writers.writing import csv_file, json_file, text_file
from triptych.rubric import yaml_text

if TYPE_CHECKING:
    from triptych.formats.writers import ExportFormat

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
        "columns": meanings(COLUMNS, COLUMNS),
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
        "language": [finished.rubric.language],
        "tags": ["human-evaluation"],
        "configs": [
            {"config_name": name, "data_files": f"data/{name}.parquet", **({"default": True} if not place else {})}
            for place, name in enumerate(CONFIGS)
        ],
    }
    return f"---\n{yaml_text.write(front)}---\n"
