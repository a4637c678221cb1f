"""Where everybody is, for a lead: step, last sign, pay due, flags."""

from __future__ import annotations

from decimal import Decimal

import pytest
from helpers.check_items import check_item
from helpers.present import present
from helpers.ratings import append_scores, assigned, resubmit, set_aside, submit
from helpers.studies import add_person, full_answers, join
from sqlalchemy import select

from triptych import clock
from triptych.annotate import exclusions
from triptych.annotate.progress import of_work
from triptych.participants.notices import LeadNotice, notices
from triptych.participants.participant import Participant, Phase, participants
from triptych.people import invitations, links, logins, roster
from triptych.privacy import withdrawal
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.progress import Overview, overview
from triptych.results.quality import flags_of
from triptych.storage.database import reading, writing
from triptych.storage.models import Assignment, Item, Login, PlannedItem, Role, Study
from triptych.study.check_items import add_check_items, sorted_out
from triptych.study.design import Parts, amend
from triptych.study.settings import changed, stored


def seen(engine, study, flags: dict[str, tuple[str, ...]] | None = None) -> tuple[Study, Overview, list[Participant]]:
    with reading(engine) as session:
        here = session.get_one(Study, study.id)
        view, frame = overview(session, here, Counted()), frame_of(session, here)
        members = roster.members_of(session, here)
        flags = flags_of(session, here, frame) if flags is None else flags
        return here, view, participants(session, here, members, frame, view, flags)


def noticed(engine, study, flags: dict[str, tuple[str, ...]]) -> list[LeadNotice]:
    here, view, people = seen(engine, study, flags)
    with reading(engine) as session:
        return list(notices(session, here, view, people))


def phases(engine, study) -> dict[str, str]:
    return {person.member.name or "": person.state for person in seen(engine, study, {})[2]}


def test_skipped_items_are_named_among_the_done_ones(engine, make_study):
    """A lead read "Done, 2 of 2" of somebody who had rated nothing."""
    with writing(engine) as session:
        study, _, people = make_study(session, items=2, annotators=2)
        set_aside(session, study, people[0], "skip", "unclear")
        submit(session, study, people[0])
        submit(session, study, people[1])
    assert [(row.done, row.skipped, row.total) for row in seen(engine, study)[2]] == [(2, 1, 2), (1, 0, 2)]


def test_retired_items_keep_nobody_from_being_done(engine, make_study):
    with writing(engine) as session:
        study, lead, (anna, _) = make_study(session)
        here = session.get_one(Study, study.id)
        for _ in range(3):
            submit(session, here, anna)
        own = session.scalars(select(Assignment.item_id).where(Assignment.submitted_at.is_not(None))).all()
        unseen = session.scalars(select(Item.external_id).where(Item.id.not_in(own))).all()
        rated = session.get_one(Item, own[0]).external_id
        amend(session, here, Parts(retire=(rated, *unseen)), "Not needed.", lead.pseudonym)
    rows = seen(engine, study)[2]
    assert [(row.done, row.total, row.phase) for row in rows] == [(3, 3, Phase.done), (0, 2, Phase.invited)]


def test_the_plan_says_how_many_items_are_somebodys(engine, make_study):
    """A lead read "Working, 2 of 4" of somebody who had done their whole part of the plan."""
    with writing(engine) as session:
        study, lead, people = make_study(session)
        here = session.get_one(Study, study.id)
        items = session.scalars(select(Item).order_by(Item.id)).all()
        parts = {people[0]: items[:2], people[1]: items[1:]}
        own = [(who.person_id, item.id) for who, part in parts.items() for item in part]
        session.add_all(PlannedItem(study_id=here.id, person_id=who, item_id=item, rank=1) for who, item in own)
        session.flush()
        submit(session, here, people[0])
        submit(session, here, people[0])
        amend(session, here, Parts(retire=(items[3].external_id,)), "Not needed.", lead.pseudonym)
    rows = seen(engine, study)[2]
    assert [(row.done, row.total, row.phase) for row in rows] == [(2, 2, Phase.done), (0, 2, Phase.invited)]


@pytest.mark.long
def test_everybody_is_in_one_of_the_phases(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session, items=2, annotators=0, raters_per_item=4, access="invited")
        for name in ("invited", "opened", "working", "holding", "done", "excluded"):
            invited = invitations.invite_one(session, study, name, "", Role.annotator, lead.pseudonym)
            person = links.accept_invitation(session, invited.secret)
            who = logins.signed_in(session, logins.use_ticket(session, logins.issue_sign_in_ticket(session, person)))
            work = {"working": 1, "done": 2, "excluded": 1}.get(name, 0)
            for _ in range(work):
                submit(session, study, who)
            if name == "holding":
                assigned(session, study, who)
            if name == "invited":
                session.delete(session.get_one(Login, who.login_id))
        exclusions.exclude(session, study, roster_name(session, study, "excluded"), "a reason", lead.pseudonym)
    assert phases(engine, study) == {
        "invited": Phase.invited,
        "opened": Phase.opened,
        "working": Phase.working,
        "holding": Phase.working,
        "done": Phase.done,
        "excluded": Phase.stopped,
    }
    people = {person.member.name: person for person in seen(engine, study, {})[2]}
    assert people["excluded"].why == "excluded: a reason"
    assert people["invited"].seen_at is None
    for name in ("opened", "holding", "done"):
        assert (clock.now() - present(people[name].seen_at)).total_seconds() < 60


@pytest.mark.parametrize("minutes", [10, 60 * 24])
def test_another_length_of_reservations_changes_nobodys_last_activity(engine, make_study, minutes):
    """A lead who shortened them read of people at work that they had been active in the future."""
    with writing(engine) as session:
        study, lead, (anna, _) = make_study(session)
        here = session.get_one(Study, study.id)
        assigned(session, here, anna)
        amend(session, here, Parts(settings={"reservation_minutes": minutes}), "Other breaks.", lead.pseudonym)
    assert abs((clock.now() - present(seen(engine, study)[2][0].seen_at)).total_seconds()) < 60


def roster_name(session, study, name: str) -> str:
    return next(member.pseudonym for member in roster.members_of(session, study) if member.name == name)


def test_pay_is_due_for_what_somebody_finished(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (anna, ben) = make_study(session, items=3)
        here = session.get_one(Study, study.id)
        here.settings = stored(changed(here, pay={"per_item": "0.40"}))
        for seconds in (30, 50):
            submit(session, here, anna, seconds=seconds)
    by_name = {person.pseudonym: person for person in seen(sqlite_engine, study)[2]}
    assert (by_name[anna.pseudonym].due, by_name[ben.pseudonym].due) == ({"USD": Decimal("0.80")}, {})
    assert (by_name[anna.pseudonym].seconds, by_name[ben.pseudonym].seconds) == (40, None)


def test_no_pay_is_due_to_a_judge_model(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, _ = make_study(session)
        here = session.get_one(Study, study.id)
        here.settings = stored(changed(here, pay={"per_item": "0.40"}))
        judge = append_scores(session, here, lead, "one-model")
    by_name = {person.pseudonym: person for person in seen(sqlite_engine, study)[2]}
    assert by_name[judge].due == {}


def test_each_item_is_paid_as_when_first_handed_in(engine, make_study):
    """At the last rate, other amounts would be due; and a change of an item is no second item."""
    with writing(engine) as session:
        study, lead, (anna, ben) = make_study(session, items=4)
        here = session.get_one(Study, study.id)
        here.settings = stored(changed(here, pay={"per_item": "0.40"}))
        for who in (anna, ben):
            submit(session, here, who)
        for pay in ({"per_item": "0.80"}, {"per_item": "0.30", "currency": "EUR"}):
            amend(session, here, Parts(settings={"pay": pay}), "Other pay.", lead.pseudonym)
            work = submit(session, here, ben)
            resubmit(session, ben, work, full_answers(fluency=2))
        amend(session, here, Parts(settings={"pay": {"per_item": None}}), "No pay.", lead.pseudonym)
        resubmit(session, ben, work, full_answers(fluency=3))
    due = {person.pseudonym: person.due for person in seen(engine, study)[2]}
    assert due == {
        anna.pseudonym: {"USD": Decimal("0.40")},
        ben.pseudonym: {"USD": Decimal("1.20"), "EUR": Decimal("0.30")},
    }


@pytest.mark.long
@pytest.mark.parametrize("after_withdrawal", ["keep", "delete"])
def test_pay_stays_due_to_somebody_who_withdraws(engine, make_study, after_withdrawal):
    with writing(engine) as session:
        study, lead, (anna, _) = make_study(session)
        here = session.get_one(Study, study.id)
        consent = {"after_withdrawal": after_withdrawal}
        here.settings = stored(changed(here, pay={"per_item": "0.40"}, consent=consent))
        set_aside(session, here, anna, "skip", "unclear")
        set_aside(session, here, anna, "ignore", "empty")
        submit(session, here, anna)
        amend(session, here, Parts(settings={"pay": {"per_item": "0.50"}}), "Other pay.", lead.pseudonym)
        submit(session, here, anna)
    before = next(person.due for person in seen(engine, study)[2] if person.pseudonym == anna.pseudonym)
    with writing(engine) as session:
        withdrawal.withdraw(session, session.get_one(Study, study.id), anna.pseudonym, anna.pseudonym)
    after = next(person.due for person in seen(engine, study)[2] if person.pseudonym == anna.pseudonym)
    assert before == after == {"USD": Decimal("1.30")}


def test_checks_and_repeats_are_paid_like_other_items(engine, make_study):
    with writing(engine) as session:
        study, lead, (anna, _) = make_study(session, items=8)
        here = session.get_one(Study, study.id)
        checks = {"gold_every": 3, "repeat_percent": 25, "repeats_at_least": 1, "repeat_distance": 2}
        here.settings = stored(changed(here, pay={"per_item": "0.50"}, checks=checks))
        add_check_items(session, here, sorted_out([check_item(0, "gold", "fluency = 3")])[1], lead.pseudonym)
        shown = of_work(session, here, anna).total
        for _ in range(shown):
            submit(session, here, anna)
    row = next(person for person in seen(engine, study)[2] if person.pseudonym == anna.pseudonym)
    assert (shown, row.done) == (11, 8)
    assert row.due == {"USD": Decimal("0.50") * shown}


def test_a_flag_is_shown_until_its_person_has_stopped(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, (anna, ben) = make_study(session)
    flags: dict[str, tuple[str, ...]] = {anna.pseudonym: ("Too fast.",), ben.pseudonym: ("Too slow.",)}
    assert {person.state for person in seen(sqlite_engine, study, flags)[2]} == {"Flagged"}
    (notice,) = noticed(sqlite_engine, study, flags)
    assert notice.sentence == f"2 people are flagged. {anna.pseudonym}: Too fast. {ben.pseudonym}: Too slow."
    with writing(sqlite_engine) as session:
        exclusions.exclude(session, session.get_one(Study, study.id), ben.pseudonym, "slow", lead.pseudonym)
    assert [notice.about for notice in noticed(sqlite_engine, study, flags)] == [(anna.pseudonym,)]


@pytest.mark.parametrize("raters", [1, 2])
def test_a_full_study_is_done(sqlite_engine, make_study, raters):
    with writing(sqlite_engine) as session:
        study, _, (anna, _) = make_study(session, items=2, raters_per_item=raters)
        join(session, study, add_person(session, "late"))
        for _ in range(2):
            submit(session, study, anna)
    assert [notice.kind for notice in noticed(sqlite_engine, study, {})] == ["success"] * (raters == 1)


def test_a_place_nobody_present_can_fill_is_said(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (anna,) = make_study(session, items=2, annotators=1, raters_per_item=2)
        for _ in range(2):
            submit(session, study, anna)
    (notice,) = noticed(sqlite_engine, study, {})
    assert notice.about == ("open places",)
    assert "cannot be made by current annotators" in notice.sentence
