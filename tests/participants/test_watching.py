"""What a viewer reads instead of pseudonyms."""

from __future__ import annotations

from typing import cast

import pytest
from helpers.ratings import submit
from helpers.studies import add_person, join
from sqlalchemy import Engine
from sqlmodel import Session

from triptych.participants.watching import SOMEBODY, Watched, watched
from triptych.people import viewers
from triptych.results.adjudication import FinalValue
from triptych.results.frame.highlights import HighlightedCandidate, HighlightedItem, Passage, Span
from triptych.results.frame.model import Frame
from triptych.results.frame.upkeep import frame_of, leads_of
from triptych.storage import database
from triptych.storage.models import Study


def test_a_text_is_renamed_in_one_pass():
    """A pseudonym that is part of another, or of what is shown instead, multiplies nothing."""
    numbers = {"P-1": "Annotator 1", "P-12": "Annotator 2", "n": "Annotator 3", "Annotator": "Annotator 4"}
    watched = Watched(cast(Frame, None), numbers, explained=False, alike=frozenset())

    shown = watched.sentence("P-1, P-12 and n made 12 notes; L-AB12C read them.")

    assert shown == f"Annotator 1, Annotator 2 and Annotator 3 made 12 notes; {SOMEBODY} read them."


def test_a_pseudonym_next_to_other_letters_is_replaced():
    watched = Watched(cast(Frame, None), {"A-0B1C2": "Annotator 1"}, explained=True, alike=frozenset())

    shown = watched.sentence("由A-0B1C2写，_A-0B1C2_，L-AB12C说, XA-0B1C2 A-0B1C23")

    assert shown == f"由Annotator 1写，_Annotator 1_，{SOMEBODY}说, XA-0B1C2 A-0B1C23"


def test_names_that_look_like_pseudonyms_stay():
    numbers = {"A-00002": "Annotator 1"}
    alike = frozenset({"A-LLAMA", "A-00001", "A-00002"})
    watched = Watched(cast(Frame, None), numbers, explained=False, alike=alike)

    shown = watched.sentence("Highest: A-LLAMA on A-00001, says A-00002, not L-AB12C.")

    assert shown == f"Highest: A-LLAMA on A-00001, says Annotator 1, not {SOMEBODY}."


@pytest.mark.parametrize(("explained", "comment"), [(True, "as Annotator 1 says"), (False, "")])
def test_comments_of_highlights_are_shown_as_explanations_are(explained, comment):
    watched = Watched(cast(Frame, None), {"P-1": "Annotator 1"}, explained=explained, alike=frozenset())
    passage = Passage("", "a text", (Span(0, 1, "wrong", "P-1", "as P-1 says"),))

    shown = watched.texts(HighlightedItem("item-1", (passage,), (HighlightedCandidate("S", (passage,)),), (), 0))

    (span, same) = (*shown.context[0].spans, *shown.candidates[0].passages[0].spans)
    assert (span.annotator, span.comment) == ("Annotator 1", comment)
    assert same == span


@pytest.mark.parametrize(("explained", "reason"), [(True, "as Annotator 1 says"), (False, "")])
def test_reasons_of_final_values_are_shown_as_explanations_are(explained, reason):
    watched = Watched(cast(Frame, None), {"P-1": "Annotator 1"}, explained=explained, alike=frozenset())

    shown = watched.final(FinalValue("L-AB12C", None, "as P-1 says", {}, waiting=False))

    assert (shown.by, shown.reason) == (SOMEBODY, reason)


def lead_lets_viewers_read(session: Session, study: Study, allowed: bool) -> None:
    (lead,) = leads_of(session, study)
    viewers.let_read_explanations(session, session.get_one(Study, study.id), allowed, lead)


def test_explanations_end_for_a_page_being_drawn_then(engine: Engine, make_study):
    """On PostgreSQL a page that had read the study before kept its settings under the number of the newest event."""
    with database.writing(engine) as session:
        study, _, (anna, _) = make_study(session)
        submit(session, study, anna)
        lead_lets_viewers_read(session, study, True)
    with database.reading(engine) as page:
        drawn = page.get_one(Study, study.id)
        assert watched(page, drawn).explained
        with database.writing(engine) as session:
            lead_lets_viewers_read(session, study, False)
        watched(page, drawn)

    with database.reading(engine) as page:
        assert not watched(page, page.get_one(Study, study.id)).explained


def test_numbers_from_an_older_state_are_not_kept(engine: Engine, make_study):
    """A conclusion and, on SQLite, a page may read a state that is older than the frame."""
    with database.writing(engine) as session:
        study, *_ = make_study(session)
    with database.reading(engine) as older:
        database.see_one_state(older)
        drawn = older.get_one(Study, study.id)
        with database.writing(engine) as session:
            for name in ("zoe", "abe"):
                submit(session, study, join(session, session.get_one(Study, study.id), add_person(session, name)))
            frame_of(session, study)
        watched(older, drawn)

    with database.reading(engine) as page:
        numbers = watched(page, page.get_one(Study, study.id)).numbers
    assert (numbers["P-zoe"], numbers["P-abe"]) == ("Annotator 3", "Annotator 4")
