"""The items and ratings of an archive, without pseudonyms and without anything that consent does not cover."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import select
from sqlmodel import Session

from triptych.archive.covered import Covered, covered
from triptych.errors import Conflict, ImportRefused
from triptych.exchange import exports
from triptych.formats.long_csv import Cell, restore_cell, write_csv
from triptych.formats.writers.model import (
    MAIN_WORK,
    Finished,
    FinishedAnnotation,
    FinishedHighlight,
    FinishedItem,
    FinishedRating,
)
from triptych.formats.writers.tables import ITEMS
from triptych.privacy import scrub
from triptych.storage.models import Assignment, AssignmentState, Study

RATINGS_HEADER = (
    *("annotator", "annotator_kind", "item_id", "system", "position", "criterion", "value", "option", "missing"),
    *("reasons", "surplus", "excluded"),
)
HIGHLIGHTS_HEADER = ("annotator", "item_id", "system", "position", "turn", "label", "start", "end", "quote", "unit")
TEXTS_HEADER = ("list", "what", "item_id", "system", "about", "annotator", "text")
ITEM_TEXTS = tuple(name for name in ITEMS if name not in ("meta", "purpose", "retired"))
ITEM_IDS = ("item_id", "system")
ALTERED = "The list of texts does not match the study's current texts: write it again with --list-texts, and review it."


class FreeText(NamedTuple):
    """A text by an annotator. what: explanation, reason (an imported one that the rubric does not offer), highlight
    comment, quote (an imported one that is not in the text) or note; about: the criterion or the label.
    """

    what: str
    item_id: str
    system: str
    about: str
    annotator: str
    text: str


@dataclass(frozen=True)
class Content:
    """items: with the annotations that may be published individually, without annotators' texts. texts: those texts, to
    be reviewed.

    people: what each annotator's consent covers. finished: the study, with the archive's names for annotators.
    """

    finished: Finished
    people: Covered
    items: tuple[FinishedItem, ...]
    texts: tuple[FreeText, ...]

    def rating_rows(self) -> Iterator[tuple[Cell, ...]]:
        """Rows in the order of RATINGS_HEADER."""
        for item, work in self._work():
            is_surplus = work.state == AssignmentState.surplus
            who, after = (work.annotator, work.kind, item.item_id), (int(is_surplus), int(work.excluded))
            places = [(slot.system, slot.position, slot.ratings) for slot in work.slots]
            for system, position, ratings in (("", None, work.about_item), *places):
                for given in ratings:
                    value = given.number, given.option, int(given.missing), ";".join(given.reasons)
                    yield (*who, system, position, given.criterion, *value, *after)

    def highlight_rows(self, with_quotes: bool) -> Iterator[tuple[Cell, ...]]:
        """Rows in the order of HIGHLIGHTS_HEADER; a quote is a part of the item's text."""
        for item, work in self._work():
            for slot, mark in work.highlights:
                shown = (slot.system, slot.position) if slot else (None, None)
                span = (mark.turn, mark.label, mark.start, mark.end)
                yield (work.annotator, item.item_id, *shown, *span, mark.quote if with_quotes else None, mark.unit)

    def _work(self) -> Iterator[tuple[FinishedItem, FinishedAnnotation]]:
        return ((item, work) for item in self.items for work in item.annotations)

    @property
    def mark(self) -> str:
        """A digest that changes with any text and its author."""
        return hashlib.sha256(json.dumps(self.texts).encode()).hexdigest()[:16]

    def listed(self) -> bytes:
        """The texts as a CSV file to review; the reviewer deletes the rows that must not be published."""
        return "".join(write_csv([(self.mark, *text) for text in self.texts], TEXTS_HEADER)).encode("utf-8-sig")

    def released(self, file: bytes) -> tuple[FreeText, ...]:
        """The texts that are still in a list. Raises ImportRefused, and Conflict if the texts have changed since."""
        rows = list(csv.reader(io.StringIO(_decoded(file), newline="")))
        if not rows or tuple(rows[0]) != TEXTS_HEADER:
            raise ImportRefused(
                f"The list of texts has the columns {', '.join(TEXTS_HEADER)}, as --list-texts wrote it."
            )
        kept = {tuple(_same_lines(restore_cell(cell)) for cell in row) for row in rows[1:]}
        of_today = {(self.mark, *map(_same_lines, text)): text for text in self.texts}
        if kept - of_today.keys():
            raise Conflict(ALTERED)
        return tuple(text for key, text in of_today.items() if key in kept)


def _same_lines(text: str) -> str:
    """The text with uniform line ends, which a spreadsheet may have changed."""
    return text.replace("\r\n", "\n")


def _decoded(file: bytes) -> str:
    try:
        return file.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportRefused("The list of texts is no longer UTF-8; save it as CSV in UTF-8.") from error


def content_of(session: Session, study: Study, blind: bool) -> Content:
    """The content of a study's archive. blind: name systems System 1, System 2, … even after unblinding."""
    finished, people = exports.read_finished(session, study, blind), covered(session, study)
    noted = select(Assignment.id, Assignment.note).where(Assignment.study_id == study.id, Assignment.note.is_not(None))
    notes = dict(map(tuple, session.execute(noted)))
    rubric_words = scrub.words_of(finished.rubric)
    items: list[FinishedItem] = []
    texts: list[FreeText] = []
    for item in finished.items(MAIN_WORK):
        shown = _item(item, people)
        items.append(replace(shown, annotations=tuple(_without_texts(w, rubric_words) for w in shown.annotations)))
        for work in shown.annotations:
            if work.annotator in people.writers:
                texts += _texts(shown.item_id, work, notes, rubric_words)
    public = replace(finished, annotators=tuple(people.names.values()))
    return Content(public, people, tuple(items), tuple(texts))


def _item(item: FinishedItem, people: Covered) -> FinishedItem:
    """The item with the annotations that consent covers, under the archive's names."""
    works = (work for work in item.annotations if work.rated and people.of_ratings(work.annotator))
    annotations = [replace(w, annotator=people.names[w.annotator], exclusion_reason=None) for w in works]
    in_order = tuple(sorted(annotations, key=lambda work: _number(work.annotator)))
    return replace(item, annotations=in_order)


def _number(name: str) -> tuple[str, int]:
    noun, _, number = name.partition(" ")
    return noun, int(number)


def _without_texts(work: FinishedAnnotation, rubric_words: frozenset[str]) -> FinishedAnnotation:
    def plain(ratings: Sequence[FinishedRating]) -> tuple[FinishedRating, ...]:
        offered = (tuple(reason for reason in rating.reasons if reason in rubric_words) for rating in ratings)
        return tuple(replace(r, explanation="", reasons=reasons) for r, reasons in zip(ratings, offered, strict=True))

    slots = [
        replace(slot, ratings=plain(slot.ratings), highlights=tuple(map(_wordless, slot.highlights)))
        for slot in work.slots
    ]
    marks = tuple(map(_wordless, work.in_context))
    return replace(work, slots=tuple(slots), about_item=plain(work.about_item), in_context=marks)


def _wordless(mark: FinishedHighlight) -> FinishedHighlight:
    return replace(mark, comment="", quote="" if mark.start is None else mark.quote)


def _texts(
    item: str, work: FinishedAnnotation, notes: Mapping[int, str], rubric_words: frozenset[str]
) -> Iterator[FreeText]:
    """The annotator's texts."""
    who = work.annotator
    for system, ratings in (("", work.about_item), *((slot.system, slot.ratings) for slot in work.slots)):
        for rating in ratings:
            if rating.explanation:
                yield FreeText("explanation", item, system, rating.criterion, who, rating.explanation)
            own_reasons = (reason for reason in rating.reasons if reason not in rubric_words)
            yield from (FreeText("reason", item, system, rating.criterion, who, reason) for reason in own_reasons)
    for slot, mark in work.highlights:
        quote = mark.quote if mark.start is None else ""
        for what, text in (("highlight comment", mark.comment), ("quote", quote)):
            if text:
                yield FreeText(what, item, slot.system if slot else "", mark.label, who, text)
    if note := notes.get(work.number):
        yield FreeText("note", item, "", "", who, note)
