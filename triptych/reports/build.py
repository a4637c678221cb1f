"""The files of a report, all from one analysis: numbers come from one list, and every file names the snapshot.

The snapshot's hash is that of snapshot.json, which states the study, the last event, the filters, and the hashes of
data and codebook. The same state of a study always has the same hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyarrow as pa
from sqlmodel import Session

from triptych import settings
from triptych.exchange import exports
from triptych.formats.columns import Column, Type, meanings
from triptych.formats.writers.codebook import codebook
from triptych.formats.writers.model import ExportOptions, File
from triptych.formats.writers.tables import COLUMNS
from triptych.formats.writers.writing import csv_file, json_file, parquet_file, text_file, zipped
from triptych.reports import data, heds, html, replay, tex
from triptych.reports import tables as printed
from triptych.reports.cells import Table
from triptych.reports.documents import citation, declaration, script_files
from triptych.reports.facts import EXCLUSIONS_HEADER, Exclusion, Facts, facts_of
from triptych.reports.further import Further, further_of
from triptych.reports.html import PrintedFigure, ReportSection
from triptych.reports.methods_text import paragraph
from triptych.reports.numbers import HEADER, Book
from triptych.results.caveats import caveats
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import build_frame
from triptych.results.judges import margin
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import extremes, verdict
from triptych.stats.undefined import Undefined
from triptych.storage.models import FINISHED, JsonObject, Study
from triptych.study.system_names import system_names

# columns that only reports have, besides those of exports
OWN_COLUMNS = {
    "item_group": Column("Items whose errors are related; the item's own id if no field groups them."),
    "final_value": Column("The final value of what was rated, if it is a number; used by one table.", Type.number),
    "final_option": Column("The final value, if it is an option."),
    "counted": Column("Whether this report's numbers include the rating, or the annotation's ratings.", Type.truth),
    "beside": Column("Whether it is a judge's score, to be compared with the included ratings.", Type.truth),
    "words": Column("Words in the response; empty if it has no text.", Type.whole),
    "characters": Column("Length of the text in Unicode code points.", Type.whole),
    "assigned_at": Column("When the item was assigned, UTC; orders an annotator's work, also after edits.", Type.time),
    "words_to_read": Column("Words of responses, and of the context where it was new to the annotator.", Type.whole),
}
Tell = Callable[[float, str], None]
OF_THEIR_OWN = {
    "results.tex": ["results", "ordinal", "ranks", "strengths"],
    "agreement.tex": ["agreement", "reliability", "repeats"],
}
ABOUT = {
    "report.html": "the whole report, to read; opens without a network",
    "results.tex": "the main table for a paper, ordinal model, ranks and strengths of systems; LaTeX with booktabs",
    "agreement.tex": "agreement between annotators, self-agreement and reliability; LaTeX",
    "tables.tex": "all other tables, including those for an appendix; LaTeX",
    "figures.tex": "the figures for one column, with captions; LaTeX with graphicx",
    "figures/": "each figure as SVG and PDF, for one column and for the full width of a page",
    "methods.tex": "a methods paragraph, LaTeX",
    "methods.txt": "the same paragraph as plain text",
    "results.csv": "every number of the report, one per row",
    "results.xlsx": "the tables as printed, and every number",
    "results.parquet": "every number, with types",
    "heds.json": "the Human Evaluation Datasheet 3.0, for upload to its form",
    "heds.md": "the same datasheet, to read",
    "preregistration.md": "what was declared before launch, and amendments since",
    "exclusions.csv": "which annotators and items were excluded, when, by which lead and why",
    "assignments.csv": "in which order every response was shown, and whether that order could be recomputed",
    "ratings.csv": "the ratings",
    "repeats.csv": "first and second ratings of what annotators unknowingly rated twice",
    "annotations.csv": "the annotations",
    "highlights.csv": "who read which text, and what they highlighted",
    "codebook.json": "what was asked, on which scales, and what every column means",
    "snapshot.json": "the content of the report; its SHA-256 is the hash of the snapshot",
    "analysis.py": "recomputes every number from these files and compares: `python analysis.py`",
    "stats/": "the functions that compute the numbers, for analysis.py; needs NumPy and SciPy only",
    "CITATION.cff": "how to cite the data",
}


@dataclass(frozen=True)
class Report:
    """A report as a zip; `files` are its members without the folder. scope: the filters, as stored."""

    sha256: str
    scope: JsonObject
    event_number: int
    event_hash: str
    files: dict[str, bytes]
    zip: bytes


@dataclass(frozen=True)
class ReportParts:
    """The contents of the files. figures: by criterion key; seal: the line with the snapshot in every file."""

    facts: Facts
    analysis: StudyAnalysis
    book: Book
    sheet: heds.Sheet
    tables: tuple[Table, ...]
    figures: dict[str, tuple[PrintedFigure, ...]]
    sha256: str
    seal: str

    @property
    def methods(self) -> str:
        return paragraph(self.facts, self.analysis, self.book)


def build_report(
    session: Session, study: Study, scope: Counted | None = None, tell: Tell = lambda share, doing: None
) -> Report:
    """The report of the study in this session's state; on PostgreSQL call `database.see_one_state` first.

    scope: the filters; None for those of the results page. tell: called with the share done, from 0 to 1, and the next
    step.
    """
    tell(0, "Reading the ratings")
    scope = scope or Counted(kinds_by_default(study))
    frame = build_frame(session, study)
    analysis = StudyAnalysis(frame, scope, system_names(session, study))
    tell(0.05, "Analysing texts, highlights and judges")
    facts = facts_of(session, study, analysis)
    further = further_of(session, study, analysis, facts.pay)
    tell(0.1, "Checking what readers should know")
    facts = replace(facts, caveats=caveats(session, study, analysis))
    tell(0.15, "Computing every number")
    book = Book.of(analysis, further.numbers)
    tell(0.25, "Writing the data")
    files = {file.name: b"".join(file.blocks) for file in _data(session, study, analysis, facts, further)}
    files["snapshot.json"] = _snapshot(facts, scope, files)
    sha256 = hashlib.sha256(files["snapshot.json"]).hexdigest()
    of_words = printed.decisions(further.finals), printed.findings(facts.caveats), printed.not_run(analysis)
    tables = (*printed.tables_of(analysis, book), *of_words)
    last = f"last event {facts.study.event_number} {facts.study.event_hash}"
    seal = f"Snapshot {sha256}, study {facts.study.slug}, {last}."
    tell(0.3, "Drawing the figures")
    sheet, drawn = heds.full_sheet(facts, analysis, book, seal), figures_by_criterion(analysis, seal)
    tell(0.85, "Writing tables and documents")
    parts = ReportParts(facts, analysis, book, sheet, tables, drawn, sha256, seal)
    files |= {file.name: b"".join(file.blocks) for file in _documents(parts)}
    files["README.md"] = _readme(parts).encode()
    members = [File(name, iter([files[name]])) for name in sorted(files)]
    packed = b"".join(zipped(members, f"{study.slug}-report-{sha256[:12]}"))
    return Report(sha256, scope_as_json(scope), facts.study.event_number, facts.study.event_hash, files, packed)


def _data(session: Session, study: Study, analysis: StudyAnalysis, facts: Facts, further: Further) -> Iterator[File]:
    """The files with hashes in the snapshot."""
    finished = exports.read_finished(session, study)
    header = {*data.RATINGS_HEADER, *data.ANNOTATIONS_HEADER, *data.HIGHLIGHTS_HEADER}
    made = {"columns": meanings(COLUMNS | OWN_COLUMNS, header), **choices(analysis)}
    yield json_file("codebook.json", {**codebook(finished, ExportOptions()), **made, **_pay(facts, analysis.scope)})
    yield csv_file("ratings.csv", data.RATINGS_HEADER, data.rating_rows(analysis, further.texts.words, further.finals))
    yield csv_file("repeats.csv", data.RATINGS_HEADER, data.rating_rows(further.twice) if further.twice else ())
    reading = further.texts.reading(analysis.frame.work)
    yield csv_file("annotations.csv", data.ANNOTATIONS_HEADER, data.annotation_rows(analysis, reading))
    yield csv_file("highlights.csv", data.HIGHLIGHTS_HEADER, data.highlight_rows(analysis, further.readings))
    yield csv_file("assignments.csv", replay.HEADER, replay.assignment_rows(session, study, analysis.names))
    yield text_file("preregistration.md", declaration(facts))
    yield csv_file("exclusions.csv", EXCLUSIONS_HEADER, map(_exclusion, facts.exclusions))


def choices(analysis: StudyAnalysis) -> dict[str, object]:
    """Settings that analysis.py needs besides the data."""
    return {
        "epsilon": margin(analysis.frame),
        "family": sorted(analysis.frame.settings.preregistration.family),
        "variables": [asdict(ratings.variable) for ratings in analysis.ratings],
        "collection": asdict(analysis.collection),
        "margins": dict(analysis.margins),
        "annotator_groups": dict(analysis.groups),
    }


def _pay(facts: Facts, scope: Counted) -> dict[str, object]:
    """The data behind the numbers about pay, if there are any."""
    if isinstance(facts.pay, Undefined) or (per_item := facts.pay.pay.per_item) is None:
        return {}
    pay, states = facts.pay.pay, [state.value for state in FINISHED]
    counted = {"kinds": sorted(scope.kinds), "states": states}
    return {"pay": {"per_item": float(per_item), "currency": pay.currency, **counted}}


def _exclusion(exclusion: Exclusion) -> tuple[str | int | None, ...]:
    when = exclusion.when.strftime("%Y-%m-%dT%H:%M:%SZ") if exclusion.when else None
    return tuple({**vars(exclusion), "when": when, "counted": int(exclusion.counted)}.values())


def scope_as_json(scope: Counted) -> dict[str, object]:
    """The filters, as stored with a snapshot."""
    return {**vars(scope), "kinds": sorted(scope.kinds), "annotators": sorted(scope.annotators)}


def _snapshot(facts: Facts, scope: Counted, files: dict[str, bytes]) -> bytes:
    content = {
        "program": "Triptych",
        "study": facts.study.slug,
        "round": facts.study.round,
        "design_hash": facts.study.design_hash,
        "last_event": {
            "number": facts.study.event_number,
            "hash": facts.study.event_hash,
            "at": facts.as_of.isoformat(),
        },
        "blind": facts.blind,
        "scope": scope_as_json(scope),
        "files": {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)},
    }
    return (json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def figures_by_criterion(analysis: StudyAnalysis, seal: str) -> dict[str, tuple[PrintedFigure, ...]]:
    # matplotlib would open what another user placed in the current folder, unless that was deleted or is closed to us
    with suppress(OSError):
        if "matplotlib" not in sys.modules and os.access(Path.cwd(), os.X_OK):
            with chdir(settings.app_folder()):
                import matplotlib  # noqa: F401 (only loaded)
    from triptych.reports.figures import figures_of

    return {
        result.criterion.key: tuple(
            figures_of(result, analysis.contrasts_of(result.criterion.key), analysis.names, seal)
        )
        for result in analysis.criteria
    }


def _documents(parts: ReportParts) -> Iterator[File]:
    by_name = {table.name: table for table in parts.tables}
    criteria = [result.criterion for result in parts.analysis.judged]
    named = [name for names in OF_THEIR_OWN.values() for name in names]
    rest = [table for table in parts.tables if table.name not in named and table.rows]
    for name, table_names in OF_THEIR_OWN.items():
        yield _tex(parts, name, [tex.tabular(by_name[name]) for name in table_names if name in by_name])
    yield _tex(parts, "tables.tex", [tex.tabular(table) for table in rest])
    yield _tex(parts, "figures.tex", list(_tex_figures(parts)))
    for figure in (figure for of_criterion in parts.figures.values() for figure in of_criterion):
        yield from (File(f"figures/{name}", iter([content])) for name, content in figure.files.items())
    yield _tex(parts, "methods.tex", [tex.escaped(f"{parts.methods} {parts.seal}") + "\n"])
    yield text_file("methods.txt", f"{parts.methods}\n\n{parts.seal}\n")
    yield csv_file("results.csv", HEADER, data.number_rows(parts.book, parts.sha256))
    yield File("results.xlsx", iter([data.workbook([t for t in parts.tables if t.rows], parts.book, parts.sha256)]))
    yield _parquet(parts)
    yield json_file("heds.json", heds.heds_json(parts.sheet, criteria))
    yield text_file("heds.md", heds.heds_markdown(parts.sheet, criteria, parts.seal))
    yield text_file("report.html", _html(parts))
    yield text_file("CITATION.cff", citation(parts.facts, heds.authors(parts.sheet), parts.sha256))
    yield from script_files(parts.sha256)


def _tex(parts: ReportParts, name: str, pieces: list[str]) -> File:
    return text_file(name, tex.document(name, parts.seal, pieces))


def _tex_figures(parts: ReportParts) -> Iterator[str]:
    for figure in (figure for of_criterion in parts.figures.values() for figure in of_criterion):
        column, page = (f"figures/{figure.name}-{size}.pdf" for size in ("column", "page"))
        yield tex.figure(figure.name, figure.caption, column, page)


def _parquet(parts: ReportParts) -> File:
    columns = [(name, pa.float64() if name == "value" else pa.string()) for name in HEADER]
    sealed = pa.schema(columns, {"snapshot": parts.sha256})
    return parquet_file("results.parquet", sealed, data.number_rows(parts.book, parts.sha256), 20_000)


def _html(parts: ReportParts) -> str:
    facts, analysis = parts.facts, parts.analysis
    about = {
        "Snapshot": parts.sha256,
        "Study": f"{facts.study.slug} ({facts.study.round} round)",
        "As of": f"{facts.as_of:%Y-%m-%d %H:%M} UTC, event {facts.study.event_number}",
        "Last event": facts.study.event_hash,
        "Design": facts.study.design_hash or "not opened yet",
        "Systems": "System 1, 2, …: the study is blind" if facts.blind else "under their names",
        "Ratings": analysis.scope.sentence,
    }
    made = f"Made with Triptych {settings.version()}. {parts.seal}"
    return html.page(facts.study.title, about, _sections(parts), made)


def _sections(parts: ReportParts) -> Iterator[ReportSection]:
    analysis = parts.analysis
    main, *rest = parts.tables
    sentences = [finding.sentence for finding in parts.facts.caveats]
    yield ReportSection("What a reader must know", "" if sentences else "No warnings.", sentences)
    yield (
        ReportSection(main.title, tables=[main]) if main.rows else ReportSection(main.title, "There is no rating yet.")
    )
    yield from criterion_sections(analysis, parts.figures)
    body = [table for table in rest if table.rows and table.name != "findings" and not table.appendix]
    yield from (ReportSection(table.title, tables=[table]) for table in body)
    left_out = [f"{exclusion.what} {exclusion.which}: {exclusion.reason}" for exclusion in parts.facts.exclusions]
    yield ReportSection("Exclusions", "" if left_out else "No annotator and no item was left out.", left_out)
    yield ReportSection("Methods", parts.methods)
    if more := [table for table in rest if table.rows and table.appendix]:
        yield ReportSection("Appendix", tables=more, table_titles=True)


def criterion_sections(
    analysis: StudyAnalysis, figures: Mapping[str, Sequence[PrintedFigure]]
) -> Iterator[ReportSection]:
    """The results of each criterion. figures: by criterion key."""
    for result in analysis.criteria:
        sentence = " ".join(filter(None, (extremes(analysis, result), verdict(analysis, result.criterion.key))))
        yield ReportSection(result.criterion.title, sentence, figures=figures.get(result.criterion.key, ()))


def _readme(parts: ReportParts) -> str:
    listed = "\n".join(f"- `{name}`: {words}" for name, words in ABOUT.items())
    return (
        f"# Report\n\n{parts.seal} Made with Triptych {settings.version()}.\n\n{listed}\n\n"
        "Every number in these files comes from one list, results.csv. A report does not contain annotators' texts; "
        "the study's exports do.\n"
    )
