"""Lengths of a study's texts, who read and marked them: the data for analyses of lengths and highlights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sqlalchemy import Select, SQLColumnExpression, func, select
from sqlmodel import Session

from triptych.formats.texts.markdown import Visible, visible
from triptych.results.frame.counted import counted_items, people_counted
from triptych.results.frame.highlights import highlights_of
from triptych.results.frame.loading import GIVEN_STATE, select_work
from triptych.results.frame.model import Counted, Frame, StudyName, name_of
from triptych.rubric.wording import words_to_read
from triptych.storage.models import (
    RATED,
    Assignment,
    Candidate,
    Highlight,
    Item,
    Person,
    Purpose,
    Slot,
    Study,
    System,
    Turn,
)
from triptych.study.settings import formats_of

WHOLE = -1
CONTEXT = -1
READING = ["text", "length", "annotator", "start", "end", "label", "place", "system", "item", "turn"]


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of a study's main items.

    pieces: one row per candidate's text or, in a dialogue, per turn: candidate (its id), item, system (blind code),
    turn (-1: no dialogue), characters (code points), words. A candidate without a text has no row. contexts: one row
    per item and part of its context, which is a turn of a dialogue or all of it: item, part (a code; equal texts have
    the same one), words. shared_contexts: number of items with the same context as another item.
    """

    pieces: pd.DataFrame
    contexts: pd.DataFrame
    shared_contexts: int = 0

    @property
    def words(self) -> pd.Series:
        """Words of each candidate, by (item, system)."""
        return self.pieces.groupby(["item", "system"])["words"].sum()

    def reading(self, work: pd.DataFrame) -> dict[int, int]:
        """Words to read for each annotation: all responses, and what its annotator had not read of the context before.

        work: assignment, annotator, item of each; an earlier assignment was read before a later one, even if it was
        edited after it. In dialogues that are rated turn by turn, each item's context repeats the turns of the items
        before it.
        """
        shown = work[["assignment", "annotator"]].assign(item=work["item"].astype(str)).sort_values("assignment")
        new = shown.merge(self.contexts, on="item").drop_duplicates(["annotator", "part"])
        contexts = new.groupby("assignment")["words"].sum().to_dict()
        responses = self.pieces.groupby("item")["words"].sum().to_dict()
        rows = zip(shown["assignment"].tolist(), shown["item"].tolist(), strict=True)
        return {assignment: contexts.get(assignment, 0) + responses.get(item, 0) for assignment, item in rows}


def words_of(ratings: pd.DataFrame, words: pd.Series) -> np.ndarray:
    """(n,) words of each rating's candidate, NaN if it has no text, or the rating is about the item.

    words: as in `Texts.words`.
    """
    place = pd.MultiIndex.from_arrays([ratings["item"].astype(object), ratings["system"]])
    return words.reindex(place).to_numpy(dtype=float)


_texts: dict[StudyName, tuple[str | None, Texts]] = {}


def texts_of(session: Session, study: Study) -> Texts:
    """The study's texts; after the launch they are counted once per process and design, whose hash covers them."""
    if study.opened_at is None:
        return _counted_texts(session, study)
    name = name_of(study)
    entry = _texts.get(name)
    if entry is None or entry[0] != study.design_hash:
        entry = _texts[name] = (study.design_hash, _counted_texts(session, study))
    return entry[1]


def forget() -> None:
    """Drops all texts, because the database was replaced by another one, where other systems may have written them."""
    _texts.clear()


def _counted_texts(session: Session, study: Study) -> Texts:
    main = (Item.study_id == study.id, Item.purpose == Purpose.main)
    candidates = (
        select(Candidate.id, Item.external_id, System.blind_code, Candidate.text, Candidate.turns)
        .join(Item, Item.id == Candidate.item_id)
        .join(System, System.id == Candidate.system_id)
        .where(*main)
    )
    rows = [
        (candidate, item, system, turn, len(text), words_to_read(text))
        for candidate, item, system, whole, turns in session.execute(candidates)
        for turn, text in (enumerate(turn_text for _, turn_text in turns) if turns else ((WHOLE, whole or ""),))
        if text
    ]
    contexts = {item: [text] for item, text in session.execute(select(Item.external_id, Item.context).where(*main))}
    spoken = select(Item.external_id, Turn.text).join(Item, Item.id == Turn.item_id).where(*main)
    for item, text in session.execute(spoken.order_by(Turn.id)):
        contexts[item].append(text)
    alike = Counter("\n".join(texts).strip().casefold() for texts in contexts.values())
    parts = pd.DataFrame([(item, text) for item, texts in contexts.items() for text in texts], columns=["item", "text"])
    part, different = pd.factorize(parts["text"])
    words = np.array([words_to_read(text) for text in different], dtype=int)
    columns = ["candidate", "item", "system", "turn", "characters", "words"]
    return Texts(
        pd.DataFrame(rows, columns=columns),
        pd.DataFrame({"item": parts["item"], "part": part, "words": words[part]}),
        sum(count for text, count in alike.items() if text and count > 1),
    )


def readings_of(session: Session, study: Study, frame: Frame, counted: Counted) -> pd.DataFrame:
    """Who read which text and marked what: the rows of triptych.stats.spans, with columns for system, item and turn.

    One row per highlight; where an annotator marked nothing in a text, one row without a start. A response that was
    set aside, or an ignored item, has none. Imported quotes that are not in the text are left out. In texts shown as
    Markdown, visible characters are counted, and a highlight of hidden characters alone marks nothing. Responses are
    included if the rubric has a label for responses, contexts (with system -1) if it has a label for contexts.
    """
    items, rows = counted_items(frame, counted), []
    if frame.rubric.labels_in("candidate"):
        rows.append(_in_responses(session, study, items, counted))
    if frame.rubric.labels_in("context"):
        rows.append(_in_contexts(session, study, items, counted))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=READING)


def _in_responses(session: Session, study: Study, items: frozenset[str], counted: Counted) -> pd.DataFrame:
    pieces = texts_of(session, study).pieces
    shown = _read_of(study, counted, Slot.candidate_id).join(Slot, Slot.assignment_id == Assignment.id)
    shown = shown.where(Slot.set_aside.is_(None))
    marks = _marks_of(study, Candidate.id).where(Highlight.position.is_not(None))
    read = pd.DataFrame(session.execute(shown).all(), columns=["assignment", "candidate", "annotator"])
    rows = read.merge(pieces[pieces["item"].isin(items)], on="candidate")
    rows = _with_marks(rows, session.execute(marks), "candidate")
    if formats_of(study).responses == "markdown":
        of_study = select(Candidate.id, Candidate.text, Candidate.turns).join(Item).where(Item.study_id == study.id)
        texts = session.execute(of_study.where(Candidate.id.in_(set(rows["candidate"].tolist()))))
        seen = {
            f"{candidate}:{turn}": visible(text)
            for candidate, whole, turns in texts
            for turn, text in (enumerate(text for _, text in turns) if turns else ((WHOLE, whole or ""),))
        }
        rows = _in_visible_characters(rows, seen)
    return rows.assign(place="response")[READING]


def _in_contexts(session: Session, study: Study, items: frozenset[str], counted: Counted) -> pd.DataFrame:
    main = (Item.study_id == study.id, Item.purpose == Purpose.main)
    texts = [(item, WHOLE, text) for item, text in session.execute(select(Item.external_id, Item.context).where(*main))]
    spoken = select(Item.external_id, Turn.position, Turn.text).join(Item, Item.id == Turn.item_id).where(*main)
    texts += map(tuple, session.execute(spoken))
    pieces = pd.DataFrame(
        [(item, turn, len(text)) for item, turn, text in texts if text and item in items],
        columns=["item", "turn", "characters"],
    )
    shown = session.execute(_read_of(study, counted, Item.external_id))
    read = pd.DataFrame(shown.all(), columns=["assignment", "item", "annotator"])
    marks = _marks_of(study, Item.external_id).where(Highlight.position.is_(None))
    rows = _with_marks(read.merge(pieces, on="item"), session.execute(marks), "item")
    if formats_of(study).context == "markdown":
        seen = {f"{item}:{turn}": visible(text) for item, turn, text in texts if item in items}
        rows = _in_visible_characters(rows, seen)
    return rows.assign(text="context " + rows["text"], place="context", system=CONTEXT)[READING]


def _with_marks(rows: pd.DataFrame, marks: Iterable[Sequence[object]], of: str) -> pd.DataFrame:
    """The rows, repeated for each mark in their text; of: the column that, with the turn, identifies the text."""
    marked = pd.DataFrame(
        [(*row[:2], WHOLE if row[2] is None else row[2], *row[3:]) for row in marks],
        columns=["assignment", of, "turn", "start", "end", "label"],
    )
    rows = rows.merge(marked, on=["assignment", of, "turn"], how="left").rename(columns={"characters": "length"})
    return rows.assign(text=rows[of].astype(str) + ":" + rows["turn"].astype(str), label=rows["label"].fillna(""))


def _in_visible_characters(rows: pd.DataFrame, seen: Mapping[str, Visible]) -> pd.DataFrame:
    """The rows with lengths and ends counted in visible characters of Markdown."""
    counted = []
    for row in rows.itertuples():
        text = seen[row.text]
        start, end = (0, 0) if pd.isna(row.start) else text.span(int(row.start), int(row.end))
        counted.append((text.length, start, end, row.label) if start < end else (text.length, None, None, ""))
    columns = ["length", "start", "end", "label"]
    return rows.assign(**dict(zip(columns, zip(*counted, strict=True), strict=True))) if counted else rows


def comments_of(session: Session, study: Study, frame: Frame, counted: Counted) -> pd.DataFrame:
    """Highlights with a comment: item, annotator, system (blind code, -1: the context), label, quote, comment.

    A comment on an imported quote that is not in the text counts too.
    """
    columns = {
        "item": Item.external_id,
        "annotator": Person.pseudonym,
        "system": func.coalesce(System.blind_code, CONTEXT),
        "label": Highlight.label,
        "quote": Highlight.quote,
        "comment": Highlight.comment,
    }
    statement = highlights_of(study, *columns.values()).outerjoin(System, System.id == Candidate.system_id)
    statement = statement.where(Highlight.comment != "", *people_counted(counted)).order_by(Item.id, Highlight.id)
    rows = pd.DataFrame(session.execute(statement).all(), columns=list(columns))
    return rows[rows["item"].isin(counted_items(frame, counted))]


def _read_of(study: Study, counted: Counted, text: SQLColumnExpression[object]) -> Select[*tuple[object, ...]]:
    """Rated annotations with their annotator and the column that identifies a text.

    An ignored item may be surplus, with a reason.
    """
    main = Assignment.study_id == study.id, Assignment.purpose == Purpose.main
    rated = select_work(Assignment.id, text, Person.pseudonym).where(*main, GIVEN_STATE.in_(RATED))
    return rated.where(*people_counted(counted))


def _marks_of(study: Study, text: SQLColumnExpression[object]) -> Select[*tuple[object, ...]]:
    """Highlights with a start and an end, and the column that identifies their text."""
    place = Highlight.turn, Highlight.start, Highlight.end, Highlight.label
    return highlights_of(study, Highlight.assignment_id, text, *place).where(Highlight.start.is_not(None))
