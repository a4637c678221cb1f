"""A copy of a blind study does not name the systems of the original."""

from __future__ import annotations

import pytest
from helpers.studies import sure
from sqlalchemy import delete, select, update

from triptych.errors import Conflict
from triptych.scripting import tables
from triptych.storage.database import writing
from triptych.storage.models import Candidate, Item, Membership, StudyState
from triptych.study import lifecycle
from triptych.study.duplicate import duplicate


def test_a_copy_is_unblinded_after_its_original_only(engine, make_study):
    """A lead read in it which system is which, and the log of the original did not say so."""
    with writing(engine) as session:
        study, lead, _ = make_study(session, title="Original")
        copy = duplicate(session, study, "Copy", lead)
        copy_of_copy = duplicate(session, copy, "Another", lead)
        for unblinded in (copy, copy_of_copy):
            with pytest.raises(Conflict, match="“Original” has the same responses"):
                lifecycle.unblind(session, unblinded, sure(lead))
            assert {row[2] for row in tables.items(session, unblinded, 0, 9).rows} == {
                "System 1",
                "System 2",
                "System 3",
            }

        lifecycle.unblind(session, study, sure(lead))
        lifecycle.unblind(session, copy, sure(lead))
        assert copy.unblinded_at is not None


def test_a_copy_without_the_items_is_unblinded(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        copy = duplicate(session, study, "Copy", lead, with_items=False)

        lifecycle.unblind(session, copy, sure(lead))

        assert copy.unblinded_at is not None


def test_a_lead_reads_which_blind_copies_an_unblinding_names(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session, title="Pilot")
        copies = [duplicate(session, study, title, lead) for title in ("Main", "A draft", "Another lead's")]
        rewritten = duplicate(session, study, "Other texts", lead)
        for copy in (copies[0], copies[2], rewritten):
            lifecycle.set_state(session, copy, StudyState.open, lead.pseudonym)
        of_items = Candidate.item_id.in_(select(Item.id).where(Item.study_id == rewritten.id))
        session.execute(update(Candidate).where(of_items).values(text="Another answer"))
        session.execute(delete(Membership).where(Membership.study_id == copies[2].id))

        named = [copy.title for copy in lifecycle.blind_copies(session, study, lead)]

        assert named == ["Main"]
