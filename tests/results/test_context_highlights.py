"""Highlights in the context: stored, agreed on, exported, proved, handed over and erased as those in responses."""

from __future__ import annotations

from collections import Counter

import pytest
from helpers.ratings import assigned, submit
from helpers.studies import SMALL_RUBRIC, add_person, full_answers, join, sure
from sqlalchemy import select, text

from triptych.errors import InvalidAnnotation
from triptych.formats.model import CandidateDraft, ItemDraft, TurnDraft
from triptych.operations import capsule, verify
from triptych.privacy import erasure, personal_data
from triptych.results import texts
from triptych.results.frame.csv_rows import export_highlights
from triptych.results.frame.highlights import highlight_counts, highlights_of_item
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.study_analysis import spans
from triptych.stats.undefined import Undefined
from triptych.storage import database
from triptych.storage.models import Highlight, Item, Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.settings import Formats

EVIDENCE = "{key: evidence, title: Evidence, marked_in: context}"
RUBRIC = SMALL_RUBRIC.replace("title: Bad passage}]", f"title: Bad passage}}, {EVIDENCE}]")
REVIEW = "The **lift** 😀 was out of order."
LIFT, SIGNS = (4, 12), (6, 10)  # **lift**, lift
TURNS = (TurnDraft("guest", "The lift!"), TurnDraft("staff", "Which one 😀?"))


def items() -> list[ItemDraft]:
    """One item whose context is a text, and one whose context is a dialogue."""
    answers = (CandidateDraft("plumbum", "Answer one", None), CandidateDraft("stannum", "Answer two", None))
    return [
        ItemDraft("a", REVIEW, (), answers, {}, {}, 1),
        ItemDraft("b", None, TURNS, answers, {}, {}, 2),
    ]


def evidence(start: int, end: int, turn: int | None = None, **more) -> dict:
    return {"slot": "context", "turn": turn, "start": start, "end": end, "label": "evidence", **more}


def with_marks(*marks: dict) -> dict:
    return full_answers("AB") | {"highlights": list(marks)}


@pytest.fixture
def marked(engine):
    """(study, lead, people): two annotators rated both items and marked the lift, the second without its signs."""
    with database.writing(engine) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="Evidence", seed="e", formats=Formats(context="markdown"), raters_per_item=2)
        study = lifecycle.create_study(session, plan, RUBRIC, items(), lead.pseudonym, lead.person_id)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        people = [join(session, study, add_person(session, name)) for name in ("ann", "ben")]
        good = {"slot": "A", "turn": None, "start": 0, "end": 6, "label": "good", "comment": ""}
        for who, span in zip(people, (LIFT, SIGNS), strict=True):
            marks = {"a": (evidence(*span, comment=f"by {who.name}"), good), "b": (evidence(10, 11, turn=1),)}
            for _ in marks:
                item = session.get_one(Item, assigned(session, study, who).item_id)
                submit(session, study, who, with_marks(*marks[item.external_id]))
    return study, lead, people


def verdict_of(engine, study: Study) -> verify.Verdict:
    with database.reading(engine) as session:
        return verify.verify(session, session.get_one(Study, study.id))


def test_evidence_is_cut_from_the_context_or_its_turn(engine, marked):
    study, _, _ = marked
    with database.reading(engine) as session:
        stored = select(Highlight.position, Highlight.quote).where(Highlight.label == "evidence")
        assert set(map(tuple, session.execute(stored))) == {(None, "**lift**"), (None, "lift"), (None, "😀")}
        rows = [row for row in export_highlights(session, study) if row[5] == "evidence"]
        assert Counter(row[2:5] for row in rows) == {(None, None, None): 2, (None, None, 1): 2}
        assert highlight_counts(session, study, Counted()) == {"a": 4, "b": 2}


@pytest.mark.parametrize(
    "mark",
    [evidence(0, 999), evidence(0, 4, turn=0), evidence(0, 4) | {"label": "good"}, evidence(0, 4) | {"slot": "A"}],
)
def test_a_highlight_that_is_not_possible_there_is_refused(sqlite_engine, mark):
    with database.writing(sqlite_engine) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="Evidence")
        study = lifecycle.create_study(session, plan, RUBRIC, items()[:1], lead.pseudonym, lead.person_id)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        who = join(session, study, add_person(session, "ann"))
        with pytest.raises(InvalidAnnotation, match="highlight"):
            submit(session, study, who, with_marks(mark))


def test_agreement_on_a_label_counts_its_own_texts(engine, marked):
    study, _, _ = marked
    with database.reading(engine) as session:
        rows = texts.readings_of(session, study, frame_of(session, study), Counted())
        seen = highlights_of_item(session, study, "a", Counted()).context[0]
    every, evident, good = (found for found in spans(rows) if not isinstance(found, Undefined))
    assert (every.texts, evident.texts, good.texts) == (7, 3, 4)  # responses, a review and two turns
    assert (evident.label, evident.spans, evident.exact, evident.alpha) == ("evidence", 4, 1.0, 1.0)
    assert set(rows[rows["place"] == "context"]["length"]) == {len(REVIEW) - 4, *(len(turn.text) for turn in TURNS)}
    assert {(span.start, span.end, span.annotator) for span in seen.spans} == {(*LIFT, "P-ann"), (*SIGNS, "P-ben")}


@pytest.mark.long
def test_the_log_proves_highlights_in_the_context(engine, marked, tmp_path):
    study, _, _ = marked
    assert verdict_of(engine, study).holds
    if engine.dialect.name == "sqlite":
        file, other = tmp_path / "study.zip", database.open_engine(f"sqlite:///{tmp_path / 'other.db'}")
        file.write_bytes(b"".join(capsule.pieces(engine, study.slug)))
        capsule.open_capsule(file, other, "Dr New", "a long passcode 42")
        with database.reading(other) as session:
            there = session.scalars(select(Study)).one()
            assert verify.verify(session, there).holds
            assert len(session.scalars(select(Highlight.id).where(Highlight.position.is_(None))).all()) == 4
        other.dispose()
    with database.writing(engine) as session:
        session.execute(text("UPDATE highlight SET quote = 'other' WHERE turn = 1"))
    assert "highlight of the item, 10 to 11: quote is not what the log says." in "".join(
        verdict_of(engine, study).differences
    )


def test_evidence_is_in_ones_data_and_goes_with_its_person(engine, marked):
    study, lead, (ann, _) = marked
    with database.writing(engine) as session:
        (part,) = personal_data.about(session, ann.person_id)["studies"]
        own = [mark for work in part["annotations"] for mark in work["highlights"] if mark["in"] == "context"]
        assert {(mark["quote"], mark["comment"]) for mark in own} == {("**lift**", "by ann"), ("😀", "")}
        study = session.get_one(Study, study.id)
        erasure.erase(session, study, ann.pseudonym, sure(lead))
    with database.writing(engine) as session:
        assert "by ann" not in session.scalars(select(Highlight.comment)).all()
