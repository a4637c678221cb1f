"""A seat to watch a study: by a link that ends, never for its annotators, gone at once when it is withdrawn."""

from __future__ import annotations

from datetime import timedelta

import pytest
from helpers.studies import join
from sqlalchemy import select

from triptych import clock
from triptych.errors import ImportRefused, NotAllowed, NotFound
from triptych.operations import verify
from triptych.people import invitations, joining, links, logins, viewers
from triptych.people.letters import letter
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import Event, Login, Person, Role, Study
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of


@pytest.fixture
def session(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        yield session


def seated(session, study: Study, days: int = 7) -> tuple[str, Who, str]:
    """(secret of the link, who they are, secret of their login) of a viewer who has opened the link."""
    link = invitations.invite_one(session, study, "Hana", "hana@example.org", Role.viewer, "L", days).secret
    person = links.accept_invitation(session, link)
    login = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
    return link, logins.signed_in(session, login), login


def test_a_viewer_sees_their_one_study(session, make_study):
    study, *_ = make_study(session)
    make_study(session, title="Another")
    _, who, _ = seated(session, study)
    assert who.role == "viewer"
    assert lifecycle.seen_by(session, who).id == study.id
    with pytest.raises(NotFound):
        lifecycle.led_by(session, who, study.slug)


def test_the_login_of_a_viewer_ends_with_their_link(session, make_study):
    study, *_ = make_study(session)
    _, who, _ = seated(session, study, days=3)
    left = session.get_one(Login, who.login_id).expires_at - clock.now()
    assert timedelta(days=2, hours=23) < left <= timedelta(days=3)
    assert logins.later_end(session, who) is None


def test_an_expired_link_opens_nothing(session, make_study, monkeypatch):
    study, *_ = make_study(session)
    link, _, login = seated(session, study, days=3)
    later = clock.now() + timedelta(days=3, seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert logins.who_is(session, login) is None
    with pytest.raises(NotAllowed):
        links.accept_invitation(session, link)


def test_withdrawing_a_seat_ends_its_logins_and_deletes_the_person(session, make_study):
    study, *_ = make_study(session)
    link, who, login = seated(session, study)
    assert logins.live_logins(session, [login]) == {login}  # open sockets live as long as this
    assert viewers.withdraw_seat(session, study, who.pseudonym, "L") == 1
    assert logins.live_logins(session, [login]) == set()
    assert session.get(Person, who.person_id) is None
    with pytest.raises(NotAllowed):
        links.accept_invitation(session, link)


def test_the_log_proves_who_gave_and_withdrew_a_seat(session, make_study):
    study, *_ = make_study(session)
    link, who, login = seated(session, study)
    viewers.let_read_explanations(session, study, True, "L")
    assert settings_of(study).viewers_read_explanations
    assert verify.verify(session, study).holds
    viewers.withdraw_seat(session, study, who.pseudonym, "L")
    assert verify.verify(session, study).holds
    kinds = [event.kind for event in events.since(session, study.id, 0) if event.subject == who.pseudonym]
    assert kinds == [EventKind.viewer_added, EventKind.invited, EventKind.viewer_removed]
    logged = str([vars(event) for event in session.scalars(select(Event))])
    assert link not in logged and login not in logged and "Hana" not in logged


def test_an_annotator_cannot_be_invited_as_a_viewer(session, make_study):
    study, *_ = make_study(session)
    invitations.invite_one(session, study, "Mika", "mika@example.org", Role.annotator, "L")
    with pytest.raises(ImportRefused, match="Already takes part"):
        invitations.invite_one(session, study, "Somebody else", "MIKA@example.org", Role.viewer, "L")


def test_a_viewer_cannot_be_invited_as_an_annotator(session, make_study):
    study, *_ = make_study(session)
    seated(session, study)
    with pytest.raises(ImportRefused, match="Already takes part"):
        invitations.invite_one(session, study, "Other name", "hana@example.org", Role.annotator, "L")


def test_a_viewer_joins_no_study(session, make_study):
    study, *_ = make_study(session)
    _, who, _ = seated(session, study)
    with pytest.raises(NotFound):
        joining.join(session, study, who)


def test_the_browser_of_an_annotator_opens_no_seat(session, make_study):
    study, _, (anna, _) = make_study(session)
    _, who, _ = seated(session, study)
    with pytest.raises(NotAllowed, match="annotates this study"):
        viewers.refuse_both_sides(session, who, [anna.person_id])
    other, _, (ben, _) = make_study(session, title="Another")
    viewers.refuse_both_sides(session, who, [ben.person_id])
    study.state = "closed"
    session.flush()
    viewers.refuse_both_sides(session, who, [anna.person_id])


def test_the_browser_of_a_viewer_lets_no_annotator_in(session, make_study):
    study, _, (anna, _) = make_study(session)
    _, who, _ = seated(session, study)
    with pytest.raises(NotAllowed, match="Nobody who saw its results"):
        viewers.refuse_both_sides(session, anna, [who.person_id])
    other, _, (ben, _) = make_study(session, title="Another")
    viewers.refuse_both_sides(session, ben, [who.person_id])
    join(session, study, ben)
    with pytest.raises(NotAllowed):
        viewers.refuse_both_sides(session, ben, [who.person_id])


def test_a_list_invites_viewers(session, make_study):
    study, *_ = make_study(session)
    guests = invitations.read_list(session, study, b"Hana, hana@example.org, viewer")
    [invited] = invitations.invite_all(session, study, guests.guests, "L")
    assert invited.role == Role.viewer
    assert links.accept_invitation(session, invited.secret).role == Role.viewer


def test_the_mail_names_the_days_of_the_link(session, make_study):
    study, *_ = make_study(session)
    invited = invitations.invite_one(session, study, "Hana", "", Role.viewer, "L", 12)
    text = letter(study, invited, "https://example.org/?join=x").text
    assert "look at the results" in text and "valid for 12 days" in text
