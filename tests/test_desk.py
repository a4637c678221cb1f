"""The desk: what each action of the workbench does."""

from __future__ import annotations

import pytest
from conftest import add_person, full_answers, join

from triptych import desk, studies
from triptych.assignments import Nothing
from triptych.database import writing
from triptych.errors import InvalidAnnotation
from triptych.formats.model import CandidateDraft, ItemDraft, Turn
from triptych.models import StudyState
from triptych.rubric import shipped_rubrics


def submitting(view, name: str, answers: dict | None = None) -> dict:
    return {
        "kind": "submit",
        "assignment": view.work.token,
        "version": view.work.version,
        "pen": "pen-of-tab-one",
        "submission": name,
        "base": view.work.draft_seq,
        "answers": answers or full_answers(),
        "active_seconds": 3,
    }


@pytest.fixture
def laid(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        yield session, study, who, desk.lay(session, study, who)


def test_submitting_brings_the_next_item_and_the_receipt(laid):
    session, study, who, first = laid

    after = desk.act(session, study, who, submitting(first.view, "submission-1"))

    assert after.view.work.receipt == "submission-1"
    assert after.view.work.token != first.view.work.token
    assert after.view.progress.done == 1


def test_back_shows_the_submitted_item_with_its_answers_and_forward_returns(laid):
    session, study, who, first = laid
    second = desk.act(session, study, who, submitting(first.view, "submission-1"))

    back = desk.act(session, study, who, {"kind": "back", "assignment": second.view.work.token})
    forward = desk.act(session, study, who, {"kind": "forward", "assignment": back.view.work.token})

    assert (back.view.work.token, back.view.work.state, back.view.work.version) == (
        first.view.work.token,
        "submitted",
        2,
    )
    assert back.view.draft == full_answers()
    assert forward.view.work.token == second.view.work.token


def test_submitting_a_change_returns_to_the_item_she_came_from(laid):
    session, study, who, first = laid
    second = desk.act(session, study, who, submitting(first.view, "submission-1"))
    back = desk.act(session, study, who, {"kind": "back", "assignment": second.view.work.token})

    after = desk.act(session, study, who, submitting(back.view, "submission-2", full_answers(fluency=3)))

    assert after.view.work.token == second.view.work.token
    assert after.showing is None


def test_the_last_submission_leaves_an_empty_desk(laid):
    session, study, who, now = laid
    for n in range(4):
        now = desk.act(session, study, who, submitting(now.view, f"submission-{n}"))

    assert now.nothing is Nothing.finished
    assert now.view is None


@pytest.mark.parametrize("action", [None, [], "submit", {}, {"kind": "drop table"}, {"kind": "submit"}])
def test_an_action_that_does_not_exist_is_refused(laid, action):
    session, study, who, _ = laid

    with pytest.raises(InvalidAnnotation):
        desk.act(session, study, who, action)


def test_a_training_item_comes_first_and_stays_with_its_feedback(sqlite_engine):
    yaml = shipped_rubrics()["esc_dialogue"].read_text()
    item = ItemDraft("x", None, (), (CandidateDraft("unknown", None, (Turn("usr", "a"), Turn("sys", "b"))),), {}, {}, 1)
    with writing(sqlite_engine) as session:
        study = studies.create_study(session, studies.Plan(title="Talks"), yaml, [item], "lead")
        studies.set_state(session, study, StudyState.open, "lead")
        who = join(session, study, add_person(session, "ann"))
        first = desk.lay(session, study, who)
        criteria = [criterion["key"] for criterion in first.view.rubric["criteria"]]
        answers = {"ratings": {"A": dict.fromkeys(criteria, 2.5)}}

        told = desk.act(session, study, who, submitting(first.view, "submission-1", answers))
        after = desk.act(session, study, who, {"kind": "continue", "assignment": told.view.work.token})

    assert first.view.work.purpose == "training"
    assert {row.verdict for row in told.view.feedback.rows} == {"same", "close", "different"}
    assert {row.reference.split(" ")[0] for row in told.view.feedback.rows} == {"3", "2.5", "2", "1.5"}
    assert after.view.work.purpose == "main"
    assert after.view.feedback is None
