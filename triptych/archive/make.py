"""The folder of an archive: pages that open without a network, and the tables behind them.

It contains no pseudonym, no result of a single annotator and no script; pages link only to each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from triptych import settings
from triptych.archive.content import (
    HIGHLIGHTS_HEADER,
    ITEM_IDS,
    ITEM_TEXTS,
    RATINGS_HEADER,
    TEXTS_HEADER,
    Content,
    FreeText,
    content_of,
)
from triptych.errors import NotAllowed
from triptych.formats.columns import meanings
from triptych.formats.writers import task
from triptych.formats.writers.codebook import codebook
from triptych.formats.writers.model import ExportOptions, File, FinishedAnnotation, FinishedItem
from triptych.formats.writers.tables import COLUMNS, as_cells, item_rows
from triptych.formats.writers.writing import as_json, csv_file, json_file
from triptych.reports import data, html
from triptych.reports import tables as printed
from triptych.reports.build import criterion_sections, figures_by_criterion
from triptych.reports.cells import Table
from triptych.reports.html import ReportSection, TitledText
from triptych.reports.numbers import HEADER, Book
from triptych.results.caveats import caveats
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.warnings import Finding
from triptych.rubric.scales import as_typed
from triptych.stats.analysis.statistics import Number
from triptych.stats.numbers import counted
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Study, StudyState
from triptych.study import lifecycle
from triptych.study.system_names import system_names

ITEMS_PER_PAGE = 25
UNFINISHED = "This study is not closed. Only finished studies can be archived: close it first."
PARTS_OF_ANNOTATORS = ("annotators", "annotator pairs", "without annotator", "repeats", "judges")
CONTENT_NOTES = {
    "index.html": "begin here",
    "results.html": "results over all annotators",
    "items-….html": "the items, with the ratings that may be published",
    "results.csv": "every number of the results",
    "items.csv": "one row per response",
    "ratings.csv": "one row per rating",
    "highlights.csv": "one row per highlight",
    "texts.csv": "annotators' texts that were released",
    "codebook.json": "the questions, their scales, and the meaning of every column",
    "SHA256SUMS": "the hash of every other file",
}


@dataclass(frozen=True)
class ArchiveChoice:
    """licence: of the item texts; "" to leave them out. blind: whether to hide system names although the study is
    unblinded.

    release: the list of reviewed texts; without it the archive contains no text by an annotator.
    """

    licence: str = ""
    blind: bool = False
    release: bytes | None = None


@dataclass(frozen=True)
class Archive:
    """sha256: of the file with the hashes of all other files."""

    sha256: str
    files: dict[str, bytes]
    caution: str = ""


@dataclass(frozen=True)
class _ArchiveParts:
    """The data of all files. texts: those that were released."""

    study: Study
    choice: ArchiveChoice
    content: Content
    texts: tuple[FreeText, ...]
    analysis: StudyAnalysis
    book: Book
    findings: tuple[str, ...]

    @property
    def foot(self) -> str:
        of = self.content.finished
        state = f"State of the study after event {of.event_number}, {of.event_hash}."
        return f"Made with Triptych {settings.version()}. {state}"


def archive_study(session: Session, study: Study, choice: ArchiveChoice, folder: str, actor: str) -> Archive:
    """The archive of a closed study; the log records it with the name of its folder.

    Raises NotAllowed for a study that is not closed, ImportRefused for an invalid list of texts, and Conflict for an
    outdated one.
    """
    study = lifecycle.lock(session, study.id)
    parts = _parts(session, study, choice)
    files = {file.name: b"".join(file.blocks) for file in (*_tables(parts), *_pages(parts))}
    sums = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()
    archive = Archive(hashlib.sha256(sums).hexdigest(), {**files, "SHA256SUMS": sums}, parts.content.people.caution)
    new = {
        "folder": folder,
        "sha256": archive.sha256,
        "blind": parts.content.finished.blind,
        "licence": choice.licence,
        "annotators": len({row[0] for row in parts.content.rating_rows()}),
        "texts": len(parts.texts),
    }
    events.record(session, study.id, EventKind.study_archived, actor, new=new)
    return archive


def texts_to_read(session: Session, study: Study, blind: bool) -> tuple[bytes, int]:
    """The list of texts that consent covers, to be reviewed, and their number. Raises NotAllowed."""
    _refuse_unfinished(study)
    content = content_of(session, study, blind)
    return content.listed(), len(content.texts)


def _refuse_unfinished(study: Study) -> None:
    if study.state != StudyState.closed:
        raise NotAllowed(UNFINISHED)


def _parts(session: Session, study: Study, choice: ArchiveChoice) -> _ArchiveParts:
    _refuse_unfinished(study)
    content = content_of(session, study, choice.blind)
    texts = () if choice.release is None else content.released(choice.release)
    people = content.people
    shown = system_names(session, study, choice.blind)
    analysis = StudyAnalysis(people.frame, people.scope, shown)
    book = Book(tuple(number for number in Book.of(analysis).numbers if not _is_about_one(number, people.annotators)))
    about_one = (*people.names, *people.left, *people.annotators)
    known = tuple(_without_names(caveats(session, study, analysis), about_one))
    return _ArchiveParts(study, choice, content, texts, analysis, book, known)


def _without_names(listed: Sequence[Finding], names: Sequence[str]) -> Iterator[str]:
    """The sentences of findings that are not about single annotators, and the number of those that are."""
    sentences = [finding.unnamed or finding.sentence for finding in listed]
    about_one = [sentence for sentence in sentences if any(name in sentence for name in names)]
    yield from dict.fromkeys(sentence for sentence in sentences if sentence not in about_one)
    if len(about_one) == 1:
        yield "1 finding about a single annotator is left out."
    elif about_one:
        yield f"{len(about_one)} findings about single annotators are left out."


def _is_about_one(number: Number, annotators: frozenset[str]) -> bool:
    # elsewhere, a system or group may have such a name
    return number.part in PARTS_OF_ANNOTATORS and not annotators.isdisjoint((number.system, number.baseline))


# Tables


def _tables(parts: _ArchiveParts) -> Iterator[File]:
    content, licensed = parts.content, bool(parts.choice.licence)
    columns = ITEM_TEXTS if licensed else ITEM_IDS
    about = {*ITEM_TEXTS, *RATINGS_HEADER, *HIGHLIGHTS_HEADER}
    described = meanings(COLUMNS, about) | {"annotator": "Name in this archive."}
    yield csv_file("items.csv", columns, map(as_cells, item_rows(content.items, columns)))
    yield csv_file("ratings.csv", RATINGS_HEADER, content.rating_rows())
    if content.finished.rubric.highlights:
        yield csv_file("highlights.csv", HIGHLIGHTS_HEADER, content.highlight_rows(licensed))
    if parts.texts:
        yield csv_file("texts.csv", TEXTS_HEADER[1:], parts.texts)
    yield csv_file("results.csv", HEADER[1:], (row[1:] for row in data.number_rows(parts.book, "")))
    yield json_file("codebook.json", {**codebook(content.finished, ExportOptions()), "columns": described})


# Pages


def _pages(parts: _ArchiveParts) -> Iterator[File]:
    items = parts.content.items
    of_pages = [items[start : start + ITEMS_PER_PAGE] for start in range(0, len(items), ITEMS_PER_PAGE)]
    links = {"About": "index.html", "Results": "results.html"}
    links |= {_page_title(number, len(items)): f"items-{number}.html" for number in range(1, len(of_pages) + 1)}
    yield _page(parts, "index.html", _facts(parts), _about(parts), links)
    yield _page(parts, "results.html", {"Ratings": parts.analysis.scope.sentence}, _results(parts), links)
    texts: dict[str, list[FreeText]] = {}
    for text in parts.texts:
        texts.setdefault(text.item_id, []).append(text)
    titles = {criterion.key: criterion.title for criterion in parts.content.finished.criteria}
    titles |= {label.key: label.title for label in parts.content.finished.rubric.highlights}
    for number, shown in enumerate(of_pages, 1):
        sections = [_item(parts, item, texts.get(item.item_id, ()), titles) for item in shown]
        yield _page(parts, f"items-{number}.html", {"Items": _page_title(number, len(items))}, sections, links)


def _page_title(number: int, items: int) -> str:
    return f"Items {(number - 1) * ITEMS_PER_PAGE + 1} to {min(number * ITEMS_PER_PAGE, items)}"


def _page(
    parts: _ArchiveParts,
    name: str,
    facts: Mapping[str, str],
    sections: Iterator[ReportSection] | list,
    links: dict[str, str],
) -> File:
    return File(name, iter([html.page(parts.study.title, facts, sections, parts.foot, links).encode()]))


def _facts(parts: _ArchiveParts) -> dict[str, str]:
    of = parts.content.finished
    return {
        "Systems": "System 1, System 2, …: this archive is blind" if of.blind else "under their names",
        "Licence of the item texts": parts.choice.licence or "not stated; the texts are not included",
        "Annotators": "Annotator 1, Annotator 2, … in random order",
        "Design": of.design_hash or "",
        "Last event": of.event_hash,
    }


def _about(parts: _ArchiveParts) -> Iterator[ReportSection]:
    yield ReportSection("What is included about the annotators", listed=list(_left_out(parts)))
    here = {"highlights.csv": bool(parts.content.finished.rubric.highlights), "texts.csv": bool(parts.texts)}
    files = [f"{name}: {words}" for name, words in CONTENT_NOTES.items() if here.get(name, True)]
    formula = (
        "In CSV files, an extra ' precedes what a spreadsheet could interpret as a formula, also inside a text after a "
        "semicolon, a tab or a line end."
    )
    yield ReportSection("Files", formula, listed=files)
    asked = [[criterion.title, criterion.definition] for criterion in parts.content.finished.criteria]
    yield ReportSection("What was asked", tables=[printed.plain_table("asked", "", ("Criterion", "Definition"), asked)])


def _left_out(parts: _ArchiveParts) -> Iterator[str]:
    yield from parts.content.people.sentences()
    written = counted(len(parts.content.texts), "text")
    if parts.texts:
        yield f"Of {written} whose publication was agreed to, {len(parts.texts)} were reviewed and released."
    elif parts.content.texts:
        yield f"{written} by annotators could be published; none was reviewed and released, so none is included."
    if not parts.choice.licence:
        yield "The licence of the item texts was not stated, so items are identified by their ids only."


def _results(parts: _ArchiveParts) -> Iterator[ReportSection]:
    analysis = parts.analysis
    main, *rest = printed.tables_of(analysis, parts.book)
    if parts.findings:
        yield ReportSection("What readers should know", listed=parts.findings)
    yield ReportSection(main.title, "" if main.rows else "There is no rating.", tables=[main] if main.rows else [])
    yield from criterion_sections(analysis, figures_by_criterion(analysis, parts.foot))
    yield from (ReportSection(table.title, tables=[table]) for table in rest if table.rows)


def _item(
    parts: _ArchiveParts, item: FinishedItem, texts: Sequence[FreeText], titles: Mapping[str, str]
) -> ReportSection:
    passages = list(_passages(item)) if parts.choice.licence else []
    passages += [
        TitledText(", ".join(filter(None, (text.annotator, text.what, text.system, titles.get(text.about)))), text.text)
        for text in texts
    ]
    return ReportSection(item.item_id, passages=passages, tables=list(_ratings(item.annotations, titles)))


def _passages(item: FinishedItem) -> Iterator[TitledText]:
    if context := task.context(item)[0]:
        yield TitledText("Context", context)
    for title, text in item.extra_texts.items():
        yield TitledText(title, text if isinstance(text, str) else as_json(text))
    for candidate in item.candidates:
        yield TitledText(candidate.system, task.flat(candidate)[0])


def _ratings(works: Sequence[FinishedAnnotation], titles: Mapping[str, str]) -> Iterator[Table]:
    """Who rated what: a row per annotator and response, a column per criterion."""
    rows, asked = [], []
    for work in works:
        for system, ratings in (*((slot.system, slot.ratings) for slot in work.slots), ("", work.about_item)):
            given = {rating.criterion: _value(rating.number, rating.option) for rating in ratings}
            asked += [criterion for criterion in given if criterion not in asked]
            rows += [(work.annotator, system or "The item", given)] if given else []
    cells = [[who, what, *(given.get(criterion, "") for criterion in asked)] for who, what, given in rows]
    header = ("Annotator", "Rated", *(titles.get(criterion, criterion) for criterion in asked))
    if cells:
        yield printed.plain_table("ratings", "Ratings", header, cells)


def _value(number: float | None, option: str | None) -> str:
    return option or ("" if number is None else as_typed(number))
