"""Writers of exports: a study's finished work in, files out. No screen, no database.

A new format is one module with a function (finished, options, notes) -> files, and one line in FORMATS. Every export
also contains annotations.csv, codebook.json and README.md (`codebook`).
"""

from __future__ import annotations

from dataclasses import dataclass

from triptych.formats.writers.argilla import argilla
from triptych.formats.writers.label_studio import label_studio
from triptych.formats.writers.llm_comparator import llm_comparator
from triptych.formats.writers.model import Writer
from triptych.formats.writers.potato import potato
from triptych.formats.writers.tables import csv_tables, events_jsonl, parquet_tables
from triptych.formats.writers.trl import trl


@dataclass(frozen=True)
class ExportFormat:
    """A format a lead can choose.

    ending: extension of its main file. asks: names of the options that it uses. names_systems: it contains systems'
    names, so a lead may want to unblind the study first. card: its README is a dataset card.
    """

    title: str
    sentence: str
    ending: str
    write: Writer
    asks: frozenset[str] = frozenset()
    names_systems: bool = True
    card: bool = False


FORMATS: dict[str, ExportFormat] = {
    "csv": ExportFormat("CSV", "One row per rating, highlight and item, for spreadsheets and R.", "csv", csv_tables),
    "parquet": ExportFormat(
        "Parquet", "The same tables with their types, for pandas and DuckDB.", "parquet", parquet_tables
    ),
    "huggingface": ExportFormat(
        "Hugging Face dataset",
        "The Parquet tables as a dataset folder with its card.",
        "parquet",
        parquet_tables,
        card=True,
    ),
    "trl": ExportFormat(
        "TRL preference pairs",
        "Chosen and rejected responses for preference training; accept or reject becomes unpaired rows.",
        "jsonl",
        trl,
        frozenset({"margin", "criterion"}),
    ),
    "llm-comparator": ExportFormat(
        "LLM Comparator",
        "Two systems at a time, for the free viewer that shows them side by side.",
        "json",
        llm_comparator,
        frozenset({"criterion"}),
    ),
    "label-studio": ExportFormat(
        "Label Studio", "Tasks with annotations, and the labelling config.", "json", label_studio
    ),
    "argilla": ExportFormat("Argilla 2", "Records with responses, and the settings of the dataset.", "json", argilla),
    "potato": ExportFormat("Potato", "Items, a config, and one file per annotator.", "json", potato),
    "events": ExportFormat(
        "Event log",
        "Everything that happened, with every value that was changed later, one line per event.",
        "jsonl",
        events_jsonl,
        names_systems=False,
    ),
}
