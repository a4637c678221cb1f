"""Drafts and submissions: saved means saved, once, from one tab, whole or not at all."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from helpers.annotations import OTHER_PEN, PEN, submission
from helpers.present import present
from helpers.ratings import assigned
from helpers.studies import full_answers
from sqlalchemy import func, select

from triptych import clock
from triptych.annotate import annotations, assignments, drafts, reservations
from triptych.annotate.annotations import SetAsideMessage
from triptych.annotate.assignments import Assigned, NoItem
from triptych.annotate.drafts import DraftMessage, Refusal
from triptych.errors import AlreadySubmitted, InvalidAnnotation, NotFound, OpenElsewhere, StudyNotOpen
from triptych.people import logins
from triptych.storage import events
from triptych.storage.database import reading, writing
from triptych.storage.models import (
    Assignment,
    Candidate,
    Event,
    EventDetail,
    Explanation,
    Highlight,
    Item,
    Person,
    Rating,
    StudyState,
    Submission,
)
from triptych.study import lifecycle


def draft(assignment: Assignment | Assigned, seq: int = 1, **change) -> DraftMessage:
    message = {
        "assignment": assignment.token,
        "version": assignment.version,
        "pen": PEN,
        "seq": seq,
        "base": assignment.draft_seq,
        "draft": {"ratings": {"A": {"fluency": seq % 3 + 1}}},
    }
    return DraftMessage(**(message | change))


def count(session, table) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()


@pytest.fixture
def opened(engine, make_study):
    """(engine, study, annotator, their first assignment), committed."""
    with writing(engine) as session:
        study, _, (who, _) = make_study(session)
        return engine, study, who, assignments.current(session, study, who)


@pytest.mark.long
def test_a_submission_is_stored_whole_and_brings_the_next_item(opened):
    engine, study, who, first = opened
    answers = full_answers() | {"highlights": [{"slot": "B", "start": 0, "end": 6, "label": "good"}]}

    with writing(engine) as session:
        receipt = annotations.submit(session, who, submission(first, answers=answers))

    with reading(engine) as session:
        assert count(session, Rating) == 6
        assert session.scalars(select(Highlight.quote)).all() == ["Answer"]
        stored = session.get_one(Assignment, first.id)
        assert (stored.state, stored.version) == ("submitted", 2)
        assert receipt.next.state == "reserved"
        assert receipt.next.item_id != first.item_id


def test_five_equal_submissions_at_once_are_stored_once(opened):
    engine, _, who, first = opened

    def send(_):
        with writing(engine) as session:
            return annotations.submit(session, who, submission(first)).submission

    with ThreadPoolExecutor(5) as pool:
        receipts = list(pool.map(send, range(5)))

    assert receipts == ["submission-1"] * 5
    with reading(engine) as session:
        assert (count(session, Submission), count(session, Rating)) == (1, 6)


def test_a_submission_that_fails_half_way_leaves_nothing(opened):
    engine, _, who, first = opened
    off_the_text = full_answers() | {"highlights": [{"slot": "A", "start": 0, "end": 999, "label": "good"}]}

    with pytest.raises(InvalidAnnotation, match="ends at 999"), writing(engine) as session:
        annotations.submit(session, who, submission(first, answers=off_the_text))

    with reading(engine) as session:
        assert count(session, Rating) == count(session, Submission) == 0
        assert session.get_one(Assignment, first.id).state == "reserved"


def test_a_submission_does_not_lean_on_an_earlier_draft(opened):
    engine, _, who, first = opened
    with writing(engine) as session:
        drafts.save_draft(session, who, draft(first, 7))

    with writing(engine) as session:
        annotations.submit(session, who, submission(first))

    with reading(engine) as session:
        assert set(session.scalars(select(Rating.number).where(Rating.number.is_not(None)))) == {2.0}


def test_a_late_draft_of_a_submitted_item_changes_nothing(opened):
    engine, _, who, first = opened
    late = draft(first, 9)
    with writing(engine) as session:
        annotations.submit(session, who, submission(first))

    with writing(engine) as session:
        answer = drafts.save_draft(session, who, late)

    assert isinstance(answer, Refusal)
    assert answer.reason == "submitted"


def test_an_older_draft_never_overwrites_a_newer_one(opened):
    engine, _, who, first = opened
    with writing(engine) as session:
        drafts.save_draft(session, who, draft(first, 5))

    with writing(engine) as session:
        assert drafts.save_draft(session, who, draft(first, 4)) == 5

    with reading(engine) as session:
        assert session.get_one(Assignment, first.id).draft == {"ratings": {"A": {"fluency": 3}}}


def test_a_second_tab_is_refused_and_may_take_over(opened):
    engine, _, who, first = opened
    with writing(engine) as session:
        drafts.save_draft(session, who, draft(first, 1))
    from_other = draft(first, 2, pen=OTHER_PEN)

    with writing(engine) as session:
        refusal = drafts.save_draft(session, who, from_other)
    with writing(engine) as session:
        taken = drafts.save_draft(session, who, from_other.model_copy(update={"take": True}))
    with writing(engine) as session:
        first_again = drafts.save_draft(session, who, draft(first, 3))

    assert (refusal.reason, refusal.draft_seq, refusal.draft) == (
        "open_elsewhere",
        1,
        {"ratings": {"A": {"fluency": 2}}},
    )
    assert taken == 2
    assert first_again.reason == "open_elsewhere"


def test_a_draft_needs_number_pen_login_and_an_open_study(engine, make_study):
    with writing(engine) as session:
        study, _, (who, other) = make_study(session)
        work = assigned(session, study, who)
        login, other_login = (
            logins.use_ticket(session, logins.issue_sign_in_ticket(session, session.get_one(Person, person.person_id)))
            for person in (who, other)
        )
    assert not drafts.save_next_draft(engine, login, draft(work, 1))  # not known to this process yet
    with writing(engine) as session:
        assert drafts.save_draft(session, who, draft(work, 1)) == 1

    assert drafts.save_next_draft(engine, login, draft(work, 2))
    refused = [
        (login, draft(work, 2)),
        (login, draft(work, 3, pen="another-pen")),
        (login, draft(work, 3, version=2)),
        (other_login, draft(work, 3)),
        ("no login of ours", draft(work, 3)),
    ]
    assert [drafts.save_next_draft(engine, *arguments) for arguments in refused] == [False] * len(refused)
    with pytest.raises(InvalidAnnotation):
        drafts.save_next_draft(engine, login, draft(work, 3, draft={"ratings": {"A": {"unheard of": 1}}}))
    with writing(engine) as session:
        lifecycle.set_state(session, study, StudyState.closed, "lead")
    assert not drafts.save_next_draft(engine, login, draft(work, 3))
    with writing(engine) as session:
        lifecycle.set_state(session, study, StudyState.open, "lead")
        logins.sign_out(session, present(logins.who_is(session, login)))
    assert not drafts.save_next_draft(engine, login, draft(work, 3))


def test_a_tab_that_saw_the_latest_draft_may_continue(opened):
    engine, _, who, first = opened
    with writing(engine) as session:
        drafts.save_draft(session, who, draft(first, 1))

    with writing(engine) as session:
        assert drafts.save_draft(session, who, draft(first, 2, pen=OTHER_PEN, base=1)) == 2


def test_a_submission_without_the_pen_is_refused(opened):
    engine, _, who, first = opened
    with writing(engine) as session:
        drafts.save_draft(session, who, draft(first, 1, pen=OTHER_PEN))

    with pytest.raises(OpenElsewhere), writing(engine) as session:
        annotations.submit(session, who, submission(first))


def test_an_edit_keeps_the_old_values_in_the_event_log(opened):
    engine, study, who, first = opened
    with writing(engine) as session:
        annotations.submit(session, who, submission(first))
    edited = submission(first, "submission-2", version=2, base=1, answers=full_answers(fluency=3))

    with writing(engine) as session:
        annotations.submit(session, who, edited)

    with reading(engine) as session:
        assert count(session, Rating) == 6
        detail = session.scalars(select(EventDetail).join(Event).where(Event.kind == "annotation edited")).one()
        assert [0, "fluency", 2.0, None, False, [], ""] in present(detail.old)["ratings"]
        assert [0, "fluency", 3.0, None, False, [], ""] in present(detail.new)["ratings"]
        assert events.first_broken(session, study.id) is None


def test_an_edit_of_an_older_version_is_refused(opened):
    engine, _, who, first = opened
    with writing(engine) as session:
        annotations.submit(session, who, submission(first))

    with pytest.raises(AlreadySubmitted), writing(engine) as session:
        annotations.submit(session, who, submission(first, "submission-2", version=1))


def test_nobody_can_write_to_the_assignment_of_another(opened, make_study):
    engine, study, who, first = opened
    with writing(engine) as session:
        _, _, (stranger, _) = make_study(session, title="Another study")

    with pytest.raises(NotFound), writing(engine) as session:
        annotations.submit(session, stranger, submission(first))
    with pytest.raises(NotFound), writing(engine) as session:
        drafts.save_draft(session, stranger, draft(first))


def test_reasons_and_text_are_stored_with_their_rating(opened):
    engine, _, who, first = opened
    answers = full_answers()
    answers["ratings"]["A"]["verdict"] = "reject"
    answers["explanations"] = {"A": {"verdict": {"reject": {"reasons": ["rude", "wrong"], "text": " far too short "}}}}

    with writing(engine) as session:
        annotations.submit(session, who, submission(first, answers=answers))

    with reading(engine) as session:
        stored = session.scalars(select(Explanation)).one()
        assert (stored.reasons, stored.text, stored.words) == (["wrong", "rude"], "far too short", 3)


def test_a_skipped_item_is_free_and_does_not_come_back(opened):
    engine, study, who, first = opened
    skip = SetAsideMessage(
        kind="skip", assignment=first.token, version=1, pen=PEN, submission="submission-1", reason="unclear"
    )

    with writing(engine) as session:
        annotations.submit(session, who, skip)
        assert session.get_one(Item, first.item_id).taken == 0
    seen = set()
    with writing(engine) as session:
        while isinstance(work := assignments.current(session, study, who), Assigned):
            seen.add(work.item_id)
            annotations.submit(session, who, submission(work, f"submission-{work.id}"))

    assert work is NoItem.finished
    assert len(seen) == 3
    assert first.item_id not in seen


def test_ignoring_counts_as_done_and_keeps_the_place(opened):
    engine, _, who, first = opened
    ignore = SetAsideMessage(
        kind="ignore", assignment=first.token, version=1, pen=PEN, submission="submission-1", reason="empty"
    )

    with writing(engine) as session:
        annotations.submit(session, who, ignore)

    with reading(engine) as session:
        assert session.get_one(Assignment, first.id).state == "ignored"
        assert session.get_one(Item, first.item_id).taken == 1


def test_a_reason_that_the_rubric_does_not_offer_is_refused(opened):
    engine, _, who, first = opened
    skip = SetAsideMessage(
        kind="skip", assignment=first.token, version=1, pen=PEN, submission="submission-1", reason="boring"
    )

    with pytest.raises(InvalidAnnotation, match="boring"), writing(engine) as session:
        annotations.submit(session, who, skip)


def test_an_expired_reservation_loses_no_work(opened, make_study, monkeypatch):
    engine, study, who, first = opened
    real = clock.now
    with writing(engine) as session:
        item = session.get_one(Item, first.item_id)
        item.raters = 1
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(minutes=31))
    with writing(engine) as session:
        reservations.give_back_expired(session, study)
        assert session.get_one(Item, first.item_id).taken == 0
        assert reservations.take_place(session, first.item_id)

    with writing(engine) as session:
        annotations.submit(session, who, submission(first))

    with reading(engine) as session:
        assert session.get_one(Assignment, first.id).state == "surplus"
        assert count(session, Rating) == 6


@pytest.mark.parametrize("retired", [False, True])
def test_late_work_takes_its_place_back_if_it_is_free(opened, monkeypatch, retired):
    """In a retired item, too, where the work that others had begun in time is not surplus either."""
    engine, study, who, first = opened
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(minutes=31))
    with writing(engine) as session:
        reservations.give_back_expired(session, study)
        session.get_one(Item, first.item_id).retired = retired

    with writing(engine) as session:
        annotations.submit(session, who, submission(first))

    with reading(engine) as session:
        assert session.get_one(Assignment, first.id).state == "submitted"
        assert session.get_one(Item, first.item_id).taken == 1


@pytest.mark.parametrize("minutes, stored", [(29, True), (31, False)])
def test_a_paused_study_accepts_the_open_item_for_thirty_minutes(opened, monkeypatch, minutes: int, stored: bool):
    engine, study, who, first = opened
    with writing(engine) as session:
        lifecycle.set_state(session, study, StudyState.paused, "lead")
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(minutes=minutes))

    def send():
        with writing(engine) as session:
            annotations.submit(session, who, submission(first))

    if stored:
        send()
    else:
        with pytest.raises(StudyNotOpen, match="paused"):
            send()
    with reading(engine) as session:
        assert count(session, Submission) == int(stored)


def test_the_open_item_returns_with_its_draft_after_a_pause(opened, monkeypatch):
    engine, study, who, first = opened
    with writing(engine) as session:
        drafts.save_draft(session, who, draft(first))
        lifecycle.set_state(session, study, StudyState.paused, "lead")
    real = clock.now

    def shown_after(minutes: int):
        monkeypatch.setattr(clock, "now", lambda: real() + timedelta(minutes=minutes))
        with writing(engine) as session:
            return assignments.current(session, lifecycle.by_slug(session, study.slug), who)

    assert shown_after(29).token == first.token
    assert shown_after(31) is assignments.NoItem.paused
    with writing(engine) as session:
        lifecycle.set_state(session, study, StudyState.open, "lead")
    assert (shown_after(90).token, shown_after(90).draft) == (first.token, draft(first).draft)


def test_a_closed_study_refuses_the_submission_and_keeps_the_draft(opened):
    engine, study, who, first = opened
    with writing(engine) as session:
        drafts.save_draft(session, who, draft(first, 1))
        lifecycle.set_state(session, study, StudyState.closed, "lead")

    with pytest.raises(StudyNotOpen, match="closed"), writing(engine) as session:
        annotations.submit(session, who, submission(first, base=1))
    with reading(engine) as session:
        assert session.get_one(Assignment, first.id).draft == {"ratings": {"A": {"fluency": 2}}}


def test_active_seconds_are_capped_by_the_servers_clock(opened):
    engine, _, who, first = opened

    with writing(engine) as session:
        annotations.submit(session, who, submission(first, active_seconds=86_400))

    with reading(engine) as session:
        assert session.get_one(Assignment, first.id).active_seconds < 60


def test_highlights_keep_code_points_units_and_overlap(opened):
    engine, _, who, first = opened
    spans = [
        {"slot": "A", "start": 9, "end": 30, "label": "good", "unit": "words"},
        {"slot": "A", "start": 28, "end": 31, "label": "bad"},
    ]
    with reading(engine) as session:
        text = session.execute(select(Candidate.text).limit(1)).scalar_one()

    with writing(engine) as session:
        annotations.submit(session, who, submission(first, answers=full_answers() | {"highlights": spans}))

    with reading(engine) as session:
        quotes = session.scalars(select(Highlight.quote).order_by(Highlight.id)).all()
        assert session.scalars(select(Highlight.unit).order_by(Highlight.id)).all() == ["words", None]
        assert "😀" in text
        assert [len(quote) for quote in quotes] == [21, 3]
        assert quotes[1] in ("😀 p", "😀 s", "😀 f", " 😀 ", "n 😀", "wn ")
