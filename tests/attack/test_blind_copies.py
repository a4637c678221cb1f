"""A copy of a blind study does not name the systems of the original."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from helpers.ratings import submit
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join, sure
from sqlalchemy import delete, select, update

from triptych.errors import Conflict
from triptych.people import roster
from triptych.privacy import deletion
from triptych.storage import events
from triptych.storage.database import writing
from triptych.storage.models import Candidate, Event, EventDetail, Item, Membership, Person, Role, Study, StudyState
from triptych.study import copies, lifecycle
from triptych.study.duplicate import duplicate
from triptych.study.persons import Who
from triptych.study.system_names import system_names


def test_a_copy_is_unblinded_after_its_original_only(engine, make_study):
    """A lead read in it which system is which, and the log of the original did not say so."""
    with writing(engine) as session:
        study, lead, _ = make_study(session, title="Original")
        copy = duplicate(session, study, "Copy", lead)
        copy_of_copy = duplicate(session, copy, "Another", lead)
        for unblinded in (copy, copy_of_copy):
            with pytest.raises(Conflict, match="“Original” has the same responses"):
                lifecycle.unblind(session, unblinded, sure(lead))
            assert {*system_names(session, unblinded).values()} == {"System 1", "System 2", "System 3"}

        lifecycle.unblind(session, study, sure(lead))
        lifecycle.unblind(session, copy, sure(lead))
        assert copy.unblinded_at is not None


def test_a_second_account_unblinds_no_copy(engine, make_study):
    """A lead invited themselves to their copy under another name, which does not lead the original."""
    with writing(engine) as session:
        study, lead, _ = make_study(session, title="Original")
        second, third = add_person(session, "second", Role.lead), add_person(session, "third", Role.lead)
        copy = duplicate(session, study, "Copy", lead)
        events.write_pending(session)
        roster.enrol_lead(session, copy, session.get_one(Person, second.person_id), lead.pseudonym)
        copy_of_copy = duplicate(session, copy, "Another", second)
        roster.enrol_lead(session, copy_of_copy, session.get_one(Person, third.person_id), second.pseudonym)
        roster.remove_lead(session, copy, lead.pseudonym, sure(second))
        events.write_pending(session)

        for unblinded, who in ((copy, second), (copy_of_copy, third)):
            with pytest.raises(Conflict, match="A study of another lead has the same responses"):
                lifecycle.unblind(session, unblinded, sure(who))


def test_a_copy_of_a_draft_is_unblinded_after_it_only(engine):
    """The draft was launched blind afterwards, and its log said nothing."""
    with writing(engine) as session:
        lead = add_person(session, "first", Role.lead)
        plan = lifecycle.StudyPlan(title="Original")
        draft = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(4), lead.pseudonym, lead.person_id)
        second = add_person(session, "second", Role.lead)
        roster.enrol_lead(session, draft, session.get_one(Person, second.person_id), lead.pseudonym)

        copy = duplicate(session, draft, "Copy", second)
        events.write_pending(session)

        with pytest.raises(Conflict, match="“Original” has the same responses"):
            lifecycle.unblind(session, copy, sure(second))


def test_a_guessed_order_of_systems_is_refused_like_any(engine, make_study):
    with writing(engine) as session:
        _, lead, _ = make_study(session, title="Original")
        for n, order in enumerate(permutations(draft_items(1)[0].candidates)):
            item = replace(draft_items(1)[0], candidates=order)
            plan = lifecycle.StudyPlan(title=f"Guess {n}")
            guess = lifecycle.create_study(session, plan, SMALL_RUBRIC, [item], lead.pseudonym, lead.person_id)
            with pytest.raises(Conflict, match="“Original” has the same responses"):
                lifecycle.unblind(session, guess, sure(lead))


def test_a_lead_who_annotates_keeps_nobody_from_unblinding(engine, make_study):
    """They launched an older draft with the texts that they had seen."""
    with writing(engine) as session:
        other = add_person(session, "other", Role.lead)
        plan = lifecycle.StudyPlan(title="Older", raters_per_item=1)
        older = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(4), other.pseudonym, other.person_id)
        study, lead, _ = make_study(session)
        lifecycle.set_state(session, older, StudyState.open, other.pseudonym)
        join(session, study, other)
        submit(session, study, other, full_answers())
        events.write_pending(session)

        lifecycle.unblind(session, study, sure(lead))

        assert study.unblinded_at is not None


def test_a_copy_without_the_items_is_unblinded(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        copy = duplicate(session, study, "Copy", lead, with_items=False)

        lifecycle.unblind(session, copy, sure(lead))

        assert copy.unblinded_at is not None


def test_a_lead_reads_which_blind_copies_an_unblinding_names(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session, title="Pilot")
        drafts = [duplicate(session, study, title, lead) for title in ("Main", "A draft", "Another lead's")]
        rewritten = duplicate(session, study, "Other texts", lead)
        for copy in (drafts[0], drafts[2], rewritten):
            lifecycle.set_state(session, copy, StudyState.open, lead.pseudonym)
        own = Candidate.item_id.in_(select(Item.id).where(Item.study_id == rewritten.id))
        session.execute(update(Candidate).where(own).values(sha256="of other texts"))
        session.execute(delete(Membership).where(Membership.study_id == drafts[2].id))

        named = [copy.title for copy in copies.blind_copies(session, study, lead)]

        assert named == ["Main"]


def copy_of_deleted(session, *, logged_before: bool) -> tuple[Study, Who]:
    """A launched copy of a draft that was deleted; logged_before: by a version that logged short names only."""
    lead = add_person(session, "first", Role.lead)
    plan = lifecycle.StudyPlan(title="Try")
    draft = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(4), lead.pseudonym, lead.person_id)
    copy = duplicate(session, draft, "Final", lead)
    events.write_pending(session)
    if logged_before:
        detail = session.scalars(select(EventDetail).join(Event).where(Event.kind == events.EventKind.study_copied))
        detail.one().new = {"from": "try", "origins": ["try"], "items": 4}
    deletion.delete_draft(session, draft, lead)
    lifecycle.set_state(session, copy, StudyState.open, lead.pseudonym)
    return copy, lead


@pytest.mark.parametrize("logged_before", [False, True])
def test_no_stranger_is_an_original_by_its_short_name(engine, logged_before):
    """Another lead gave a study the short name of a deleted draft, and so kept its copy from being unblinded."""
    with writing(engine) as session:
        copy, lead = copy_of_deleted(session, logged_before=logged_before)
        stranger = add_person(session, "stranger", Role.lead)
        plan = lifecycle.StudyPlan(title="Try")
        one = draft_items(1)
        taken = lifecycle.create_study(session, plan, SMALL_RUBRIC, one, stranger.pseudonym, stranger.person_id)
        assert taken.slug == "try"
        events.write_pending(session)

        assert not copies.has_blind_original_of_others(session, copy, lead.pseudonym)
        lifecycle.unblind(session, copy, sure(lead))

        assert copy.unblinded_at is not None


def test_an_original_logged_by_its_short_name_still_counts(engine):
    with writing(engine) as session:
        lead, second = add_person(session, "first", Role.lead), add_person(session, "second", Role.lead)
        plan = lifecycle.StudyPlan(title="Original")
        draft = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(4), lead.pseudonym, lead.person_id)
        roster.enrol_lead(session, draft, session.get_one(Person, second.person_id), lead.pseudonym)
        copy = duplicate(session, draft, "Copy", second)
        events.write_pending(session)
        detail = session.scalars(select(EventDetail).join(Event).where(Event.kind == events.EventKind.study_copied))
        detail.one().new = {"from": "original", "items": 4}
        session.flush()

        with pytest.raises(Conflict, match="“Original” has the same responses"):
            lifecycle.unblind(session, copy, sure(second))
