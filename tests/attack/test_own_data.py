"""What a lead reads of an annotator's account: what their own study knows of it, and nothing from elsewhere."""

from __future__ import annotations

from datetime import timedelta

import pytest
from helpers.studies import join
from sqlalchemy import update

from triptych.annotate import exclusions, workbooks
from triptych.people import invitations, roster
from triptych.people.tokens import Scope, make
from triptych.privacy import personal_data, withdrawal
from triptych.storage.database import writing
from triptych.storage.models import Access, PanelIdentity, Person, Role
from triptych.study import plans
from triptych.study.pairing import PlanLine
from triptych.study.persons import Who


def test_a_lead_gets_nothing_of_an_account_from_elsewhere(sqlite_engine, make_study):
    """The file on an annotator's page held the tokens of a lead who annotates, sign-in identities and panel ids."""
    with writing(sqlite_engine) as session:
        study, _, (anna, _) = make_study(session)
        colleague = session.get_one(Person, make_study(session)[1].person_id)
        join(session, study, who := Who(colleague.id, colleague.pseudonym, Role.lead, colleague.name, 0))
        make(session, who, "laptop of mine", timedelta(days=1), [Scope.read])
        session.execute(update(Person).values(identity=Person.pseudonym + "@university"))
        session.add(PanelIdentity(person_id=anna.person_id, panel="prolific", external_id="id of a panel"))
        session.flush()

        def given_away(pseudonym: str) -> str:
            return b"".join(personal_data.as_json(personal_data.of_member(session, study, pseudonym))).decode()

        assert "laptop of mine" not in given_away(who.pseudonym)
        assert "@university" not in given_away(anna.pseudonym)
        assert "id of a panel" not in given_away(anna.pseudonym)
        own = b"".join(personal_data.as_json(personal_data.about(session, who.person_id))).decode()
        assert "laptop of mine" in own
        assert "@university" in own
        study.access = Access.panel
        assert "id of a panel" in given_away(anna.pseudonym)


def test_nobody_reads_a_leads_reason_for_excluding_them(sqlite_engine, make_study):
    """It may name systems, other annotators or checks, and somebody reinstated goes on rating."""
    with writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
        exclusions.exclude(session, study, anna.pseudonym, "fails check item-3", lead.pseudonym)

        [own] = personal_data.about(session, anna.person_id)["studies"]
        [for_lead] = personal_data.of_member(session, study, anna.pseudonym)["studies"]

    assert own["excluded_at"] is not None
    assert "item-3" not in str(own)
    assert for_lead["excluded_reason"] == "fails check item-3"


def test_a_lead_reads_no_name_after_a_withdrawal(sqlite_engine, make_study):
    """Another study that the person takes part in still knew it, and the file of the first one held it."""
    with writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
        join(session, make_study(session)[0], anna)
        session.execute(update(Person).where(Person.id == anna.person_id).values(name="Anna Q", email="q@example.org"))
        withdrawal.withdraw(session, study, anna.pseudonym, lead.pseudonym)

        held = personal_data.of_member(session, study, anna.pseudonym)

        assert (held["name"], held["email"]) == (None, None)
        assert personal_data.about(session, anna.person_id)["name"] == "Anna Q"


@pytest.mark.parametrize("hidden", ["after a withdrawal", "in a demo study"])
def test_no_lead_confirms_a_hidden_name_by_inviting_it(sqlite_engine, make_study, hidden):
    """A list of guests said under which pseudonym somebody of a guessed name or address takes part."""
    with writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session, demo=hidden == "in a demo study")
        session.execute(update(Person).where(Person.id == anna.person_id).values(name="Anna Q", email="q@example.org"))
        join(session, make_study(session)[0], anna)
        if not study.demo:
            withdrawal.withdraw(session, study, anna.pseudonym, lead.pseudonym)
        for guess in (b"Anna Q", b"q@example.org"):
            assert invitations.read_list(session, study, guess).problems == ()
        assert invitations.invite_one(session, study, "Anna Q", "", Role.annotator, lead.pseudonym)
        made = workbooks.make_for_new(session, study, "Anna Q", 1, lead.pseudonym)
        assert made.pseudonym != anna.pseudonym


def test_no_plan_confirms_a_name_in_a_demo_study(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        demo, _, (anna, _) = make_study(session, demo=True)
        session.execute(update(Person).where(Person.id == anna.person_id).values(name="Anna Q"))
        session.flush()

        guessed = plans.check(session, demo, [PlanLine("anna q", "item-1")])
        planned = plans.check(session, demo, [PlanLine(anna.pseudonym, "item-1")])

    assert guessed.lines == ()
    assert "'anna q' does not take part in this study" in str(guessed.problems[0])
    assert [line.annotator for line in planned.lines] == [anna.pseudonym]


def test_no_lead_reads_a_name_in_a_demo_study(sqlite_engine, make_study):
    """Annotators of any study may try a demo study, and every lead of the installation leads it."""
    with writing(sqlite_engine) as session:
        demo, lead, (anna, _) = make_study(session, demo=True, access=Access.panel)
        session.execute(update(Person).where(Person.id == anna.person_id).values(name="Anna Q", email="q@example.org"))
        [renewed] = invitations.renew(session, demo, [anna.pseudonym], lead.pseudonym)
        join(session, make_study(session)[0], anna)
        session.add(PanelIdentity(person_id=anna.person_id, panel="prolific", external_id="id of a panel"))
        session.flush()

        held = personal_data.of_member(session, demo, anna.pseudonym)
        [listed] = [each for each in roster.members_of(session, demo) if each.pseudonym == anna.pseudonym]

        assert (renewed.name, renewed.email) == ("", None)
        assert (held["name"], held["email"], held["panel_ids"]) == (None, None, [])
        assert (listed.name, listed.email, listed.panel_id) == (None, None, None)
        assert personal_data.about(session, anna.person_id)["name"] == "Anna Q"
