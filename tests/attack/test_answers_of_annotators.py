"""What an annotator's own answers may store: of highlights, of time, and after they have left."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from helpers.annotations import OTHER_PEN, PEN, submission
from helpers.ratings import assigned
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join
from sqlalchemy import func, select, text, update

from triptych.annotate import comments, drafts, onboarding
from triptych.annotate.annotations import MOST_VERSIONS, SetAsideMessage, SubmitMessage, read_message, submit
from triptych.annotate.assignments import Assigned, NoItem, current
from triptych.annotate.drafts import DraftMessage
from triptych.annotate.own_items import own_items
from triptych.errors import MAX_MISTAKES, Conflict, ImportRefused, InvalidAnnotation, NotAllowed, StudyNotOpen
from triptych.operations import verify
from triptych.people import joining, logins
from triptych.privacy import personal_data, withdrawal
from triptych.rubric.answers import parse_answers
from triptych.scripting.connection import HomeConnection
from triptych.storage.database import writing
from triptych.storage.models import Assignment, Highlight, Item, Membership, Person, Role, Study, StudyState
from triptych.study import design, lifecycle
from triptych.study.design import Parts
from triptych.study.settings import Checks, settings_of
from triptych.web.work import MAX_PARTS, parsed_json

LONG = 30_000  # characters of each response
MOST_MARKS = 200
SKIP = "skip: {title: Skip, reasons: [{key: no, title: No}]}\n"
FIELDS = SetAsideMessage.model_fields


def test_highlights_are_no_copies_of_a_text_by_the_thousand(sqlite_engine):
    """A message of 73 KB, with a thousand of them, stored 60 MB of quotes."""
    with writing(sqlite_engine) as session:
        [item] = draft_items(1)
        texts = tuple(replace(candidate, text="word " * (LONG // 5)) for candidate in item.candidates)
        plan = lifecycle.StudyPlan(title="Long", seed="long")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, [replace(item, candidates=texts)], "lead")
        lifecycle.set_state(session, study, StudyState.open, "lead")
        who = join(session, study, add_person(session, "ann"))
        work = assigned(session, study, who)

        def marking(count: int) -> None:
            marks = [{"slot": "A", "start": n, "end": LONG, "label": "good"} for n in range(count)]
            submit(session, who, submission(work, answers={**full_answers(), "highlights": marks}))

        with pytest.raises(InvalidAnnotation, match="more than 5 times over"):
            marking(MOST_MARKS)
        assert session.scalars(select(Highlight)).all() == []
        marking(10)
        assert session.scalar(select(func.count()).select_from(Highlight)) == 10


@pytest.mark.long
def test_an_item_is_not_answered_again_for_ever(sqlite_engine, make_study):
    """The log keeps every answer: one annotator filled the disk by 4 MB a second."""
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        work = assigned(session, study, who)
        for version in range(1, MOST_VERSIONS + 1):
            submit(session, who, submission(work, f"answer {version}", version=version))
        before = study.event_number

        with pytest.raises(StudyNotOpen, match="changed too often"):
            submit(session, who, submission(work, "one more answer", version=MOST_VERSIONS + 1))
        assert study.event_number == before


@pytest.mark.parametrize("ended", [{Study: {"state": StudyState.closed}}, {Membership: {"turned_away_as": "consent"}}])
def test_no_draft_under_way_is_stored_after_closing_or_leaving(postgres_engine, make_study, monkeypatch, ended):
    """On SQLite both wait for the draft."""
    with writing(postgres_engine) as session:
        study, _, (who, _) = make_study(session)
        work = assigned(session, study, who)
    values = drafts._values

    def end_before(*of):
        with writing(postgres_engine) as session:
            for table, new in ended.items():
                session.execute(update(table).values(new))
        return values(*of)

    monkeypatch.setattr(drafts, "_values", end_before)
    message = {"assignment": work.token, "version": work.version, "pen": PEN, "base": 0, "seq": 1}
    with writing(postgres_engine) as session:
        answer = drafts.save_draft(session, who, DraftMessage(**message, draft=full_answers()))

    assert isinstance(answer, drafts.Refusal)
    assert answer.reason == "closed"
    with writing(postgres_engine) as session:
        assert session.scalars(select(Assignment)).one().draft is None


def test_no_draft_is_stored_after_a_withdrawal(engine, make_study):
    """Their texts had been deleted; a tab with a submitted item open wrote new ones."""
    with writing(engine) as session:
        study, lead, (who, _) = make_study(session)
        work = assigned(session, study, who)
        submit(session, who, submission(work))
    with writing(engine) as session:
        assert withdrawal.withdraw(session, study, who.pseudonym, lead.pseudonym) == "keep"

    with writing(engine) as session:
        own = session.scalars(select(Assignment).where(Assignment.token == work.token)).one()
        draft = {**full_answers(), "note": "words of theirs"}
        for pen in (PEN, OTHER_PEN):
            message = {"assignment": own.token, "version": own.version, "pen": pen, "base": own.draft_seq, "take": True}
            answer = drafts.save_draft(session, who, DraftMessage(**message, seq=drafts.MAX_COUNT, draft=draft))
            assert isinstance(answer, drafts.Refusal)
            assert "no longer take part" in answer.message
        session.refresh(own)
        assert own.draft is None
        update: dict[str, Any] = {"assignment": own.id, "of_version": own.version, "base": own.draft_seq, "take": True}
        update |= {"new_draft": draft, "seq": drafts.MAX_COUNT, "new_pen": PEN, "seconds": 1.0, "until": own.expires_at}
        assert session.connection().execute(drafts._draft_update(), update).rowcount == 0  # one that was on its way


def test_nothing_is_stored_of_somebody_who_refused_the_consent(engine, make_study):
    """The page says that only this is stored; an item open in another tab was stored and counted."""
    with writing(engine) as session:
        study, lead, (who, _) = make_study(session, items=3)
        done = assigned(session, study, who)
        submit(session, who, submission(done))
        edited = session.get_one(Assignment, done.id)
        work = assigned(session, study, who)
        login = logins.use_ticket(session, logins.issue_sign_in_ticket(session, session.get_one(Person, who.person_id)))

    def draft(of: Assigned | Assignment, seq: int) -> DraftMessage:
        return DraftMessage(
            assignment=of.token, version=of.version, pen=PEN, seq=of.draft_seq + seq, base=of.draft_seq, draft={}
        )

    with writing(engine) as session:
        for of in (work, edited):
            assert drafts.save_draft(session, who, draft(of, 1)) == of.draft_seq + 1
    assert all(drafts.save_next_draft(engine, login, draft(of, 2)) for of in (work, edited))
    with writing(engine) as session:
        study = session.get_one(Study, study.id)
        consent = {"text": "We publish everything.", "sharing": "not_asked"}
        design.amend(session, study, Parts(settings={"consent": consent}), "consent is asked now", lead.pseudonym)
        onboarding.refuse(session, study, who)

    assert not any(drafts.save_next_draft(engine, login, draft(of, 3)) for of in (work, edited))
    with writing(engine) as session:
        for of in (work, edited):
            assert isinstance(drafts.save_draft(session, who, draft(of, 4)), drafts.Refusal)
            with pytest.raises(StudyNotOpen):
                submit(session, who, submission(of, "submission-2"))
        left = session.get_one(Assignment, work.id)
        assert (left.state, left.draft, session.get_one(Item, work.item_id).taken) == ("expired", None, 0)
        assert verify.verify(session, session.get_one(Study, study.id)).holds


@pytest.mark.parametrize("leaving", ["refuses", "withdraws"])
def test_who_left_agrees_to_nothing_in_another_tab(engine, make_study, leaving):
    """An archive published the ratings of somebody who had refused the text."""
    with writing(engine) as session:
        study, lead, (who, _) = make_study(session, items=3)
        consent = {"text": "We publish everything.", "sharing": "texts"}
        design.amend(session, study, Parts(settings={"consent": consent}), "consent is asked now", lead.pseudonym)
    with writing(engine) as session:
        study = session.get_one(Study, study.id)
        leave = onboarding.refuse if leaving == "refuses" else withdrawal.withdraw_myself
        leave(session, study, who)

    with writing(engine) as session:
        study = session.get_one(Study, study.id)
        with pytest.raises(NotAllowed):
            joining.consent(session, study, who, settings_of(study).consent.version)
        with pytest.raises(Conflict):
            onboarding.refuse(session, study, who)
        design.amend(session, study, Parts(settings={"consent": {"text": ""}}), "not asked", lead.pseudonym)
        design.amend(session, study, Parts(settings={"instructions": "Read on."}), "clearer", lead.pseudonym)
        with pytest.raises(Conflict):
            onboarding.read_instructions(session, study, who, onboarding.wording_of(study))


def test_nobody_agrees_to_the_text_of_a_closed_study(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, (who, _) = make_study(session, items=3)
        consent = {"text": "We publish everything.", "sharing": "texts"}
        design.amend(session, study, Parts(settings={"consent": consent}), "consent is asked now", lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        with pytest.raises(StudyNotOpen):
            joining.consent(session, study, who, settings_of(study).consent.version)


def test_lists_of_own_work_read_no_submitted_draft(sqlite_engine, make_study):
    """Drafts of 250 KB made each run of a page, or list, read megabytes: four milliseconds for each item."""
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        work = assigned(session, study, who)
        submit(session, who, submission(work))
        assigned(session, study, who)
        session.flush()
        session.execute(text("UPDATE assignment SET draft = 'unreadable' WHERE id = :id"), {"id": work.id})

        assert [item.state for item in own_items(session, study, who).items] == ["rated", "open"]
        assert [part.annotations for part in personal_data.parts_of(session, who)] == [1]


def test_a_comment_gets_few_answers(engine, make_study):
    """With five thousand, twenty of which were stored in a second, each page that shows them took a second to draw."""
    with writing(engine) as session:
        study, lead, (who, _) = make_study(session)
        work = assigned(session, study, who)
        submit(session, who, submission(work))
        item = session.get_one(Item, work.item_id).external_id
        for question in ("Why?", "And how?"):
            comments.ask(session, study, item, who.pseudonym, question, lead)
            for number in range(comments.MAX_ANSWERS):
                comments.answer(session, study, who, work.token, f"Answer {number}")
            with pytest.raises(Conflict):
                comments.answer(session, study, who, work.token, "One more")


def test_edits_claim_no_hour_for_each_item_of_it(sqlite_engine, make_study, move_clock):
    """Who hurried through them edited all an hour later, and each had taken an hour."""
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session, items=4)
        works = []
        for number in range(4):
            works.append(assigned(session, study, who))
            move_clock(seconds=2)
            submit(session, who, submission(works[-1], f"first-of-{number}", active_seconds=2))
        move_clock(hours=1)
        for number, work in enumerate(works):
            edit = submission(work, f"edit-of-{number}", version=2, base=1, active_seconds=3600)
            submit(session, who, edit)
        took = select(func.sum(Assignment.active_seconds)).where(Assignment.person_id == who.person_id)
        assert session.scalar(took) == pytest.approx(3600 + 4 * 2, abs=30)


def test_an_edits_hour_is_not_claimed_for_the_open_item(sqlite_engine, make_study, move_clock):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session, items=3)
        first = assigned(session, study, who)
        move_clock(seconds=10)
        submit(session, who, submission(first, "first-one", active_seconds=10))
        second = assigned(session, study, who)
        move_clock(hours=1)
        submit(session, who, submission(first, "edit-of-it", version=2, base=1, active_seconds=10 + 3600))
        move_clock(minutes=5)
        submit(session, who, submission(second, "second-one", active_seconds=3900))
        took = select(func.sum(Assignment.active_seconds)).where(Assignment.person_id == who.person_id)
        assert session.scalar(took) == pytest.approx(10 + 3600 + 300, abs=30)


def skip_next(session, study, who):
    """The next item, which is skipped."""
    work = assigned(session, study, who)
    skip = {**submission(work, f"skipping {work.token}").model_dump(), "kind": "skip", "reason": "no"}
    submit(session, who, SetAsideMessage(**{k: v for k, v in skip.items() if k in FIELDS}))
    return work


def test_who_skips_every_item_has_not_finished(engine):
    """A panel's participant got the completion code, and was paid, for six skipped items."""
    with writing(engine) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="S")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC + SKIP, draft_items(3), lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        ann, ben = (join(session, study, add_person(session, name)) for name in ("ann", "ben"))
        submit(session, ben, submission(assigned(session, study, ben), "submission"))
        for who, skipped in ((ann, 3), (ben, 2)):
            for _ in range(skipped):
                skip_next(session, study, who)

        assert current(session, study, ann) == NoItem.none_left
        assert current(session, study, ben) == NoItem.finished


@pytest.mark.parametrize("checks", [Checks(), Checks(repeat_percent=50)])
def test_skipped_items_are_not_answered_beyond_the_limit(sqlite_engine, checks):
    """Somebody skipped all items of a study first, and could then answer each of them."""
    with writing(sqlite_engine) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="S", items_per_annotator=2, checks=checks)
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC + SKIP, draft_items(9), lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        who = join(session, study, add_person(session, "ann"))
        skipped = [skip_next(session, study, who) for _ in range(4)]
        while isinstance(work := current(session, study, who), Assigned):
            submit(session, who, submission(work, f"answer of {work.token}"))
        for number, work in enumerate(skipped):
            with pytest.raises(StudyNotOpen, match="no further items"):
                submit(session, who, submission(work, f"answering {number}", version=2, base=0))


def test_expired_items_are_not_answered_beyond_the_limit(sqlite_engine, move_clock):
    """Tabs of items that others had got meanwhile stored one rating after the other."""
    with writing(sqlite_engine) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="S", items_per_annotator=2, raters_per_item=1)
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(9), lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        ann, ben = (join(session, study, add_person(session, name)) for name in ("ann", "ben"))
        first = assigned(session, study, ann)
        move_clock(hours=1)
        assert assigned(session, study, ben).item_id == first.item_id
        for number in range(2):
            submit(session, ann, submission(assigned(session, study, ann), f"submission-{number}"))
        with pytest.raises(StudyNotOpen, match="no further items"):
            submit(session, ann, submission(first, "one more of them"))


def test_a_begun_item_is_not_resumed_beyond_the_limit(sqlite_engine, move_clock):
    """Somebody who had finished got the item back as soon as another annotator's reservation of it had ended."""
    with writing(sqlite_engine) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="S", items_per_annotator=1, raters_per_item=1)
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        ann, ben = (join(session, study, add_person(session, name)) for name in ("ann", "ben"))
        first = assigned(session, study, ann)
        begun = {"assignment": first.token, "version": 1, "pen": PEN, "seq": 1, "base": 0, "draft": full_answers()}
        drafts.save_draft(session, ann, DraftMessage(**begun))
        move_clock(hours=1)
        assert assigned(session, study, ben).item_id == first.item_id
        submit(session, ann, submission(assigned(session, study, ann)))
        assert current(session, study, ann) is NoItem.finished
        move_clock(hours=1)
        assert current(session, study, ann) is NoItem.finished


@pytest.mark.parametrize(
    ("read", "refusal"),
    [
        (parse_answers, InvalidAnnotation),
        (partial(read_message, SubmitMessage), InvalidAnnotation),
        (lambda fields: HomeConnection(Mock(), None, "lead", "").call("asking", **fields), ImportRefused),
    ],
    ids=["a draft", "a message", "a script's call"],
)
def test_thousands_of_mistakes_in_a_message_are_not_listed(read, refusal):
    """Four megabytes of them, in a study with long texts, kept everybody waiting for three seconds, each time."""
    many = {f"x{number}": 0 for number in range(MAX_MISTAKES + 1)}
    with pytest.raises(refusal, match="many places: 1[0-9]{2} parts are wrong"):
        read(many)


def test_very_many_lists_in_a_message_are_not_read():
    """Others waited up to three seconds for a message of four megabytes, since Python counts each list again."""
    many = b"[" + b"[]," * MAX_PARTS + b"[]]", b"{" + b'"x":0,' * MAX_PARTS + b'"x":0}'
    for body in many:
        with pytest.raises(ValueError, match="more than 300,000 lists, objects and keys"):
            parsed_json(body)
    assert parsed_json(b'{"ratings": {"A": [1]}}') == {"ratings": {"A": [1]}}
