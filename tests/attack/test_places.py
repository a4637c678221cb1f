"""Invented participant ids: they take no more places than a study needs, and none where the panel proves its own."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import unicodedata
from datetime import UTC, timedelta

import pytest
from helpers.sign_in import app, arrival, be, press, shown, signs_in
from helpers.studies import add_person, personal_link
from sqlalchemy import select

from triptych import clock
from triptych.errors import NotAllowed, StudyFull
from triptych.people import accounts, logins, panels, places
from triptych.storage.database import reading, writing
from triptych.storage.models import (
    Access,
    Assignment,
    AssignmentState,
    EntryAttempt,
    Item,
    Membership,
    PanelIdentity,
    Person,
    Study,
    TestAnswer,
)
from triptych.study import lifecycle
from triptych.study.settings import changed, stored
from triptych.web.session import web_engine


@pytest.fixture
def engine():
    return web_engine()


@pytest.fixture
def study(engine, make_study) -> Study:
    """Two items that three annotators rate, one item each: six places, nine with those to spare."""
    with writing(engine) as session:
        made = make_study(session, items=2, annotators=0, access=Access.panel, items_per_annotator=1)[0]
        return session.get_one(Study, made.id)


def adjust(engine, study: Study, **panel) -> Study:
    with writing(engine) as session:
        here = session.get_one(Study, study.id)
        here.settings = stored(changed(here, panel=panel))
        return here


def arrive(engine, study: Study, name: str, proof: str = ""):
    with writing(engine) as session:
        here = session.get_one(Study, study.id)
        return panels.join_from_panel(session, here, "prolific", name, "s", proof)


def fill(engine, study: Study) -> list:
    with reading(engine) as session:
        most = places.most_people(session, study)
    return [arrive(engine, study, f"invented-{number}") for number in range(most)]


def test_places_are_half_as_many_again_as_the_items_need(engine, study):
    assert len(fill(engine, study)) == 9
    with pytest.raises(StudyFull, match="Places of people who do not begin become free after 60 minutes"):
        arrive(engine, study, "one more")

    with reading(engine) as session:
        assert places.people_with_a_place(session, study) == 9


def test_a_lead_decides_how_many_may_come(engine, study):
    assert len(fill(engine, adjust(engine, study, most_people=2))) == 2
    with pytest.raises(StudyFull):
        arrive(engine, study, "one more")


def test_a_member_comes_back_though_all_places_are_taken(engine, study):
    first = fill(engine, study)[0]

    assert arrive(engine, study, "invented-0").id == first.id


@pytest.mark.parametrize("ending", ["turned_away_as", "withdrawn_at", "excluded_at"])
def test_who_failed_or_left_holds_no_place(engine, study, ending):
    first = fill(engine, study)[0]
    with writing(engine) as session:
        membership = session.scalars(select(Membership).where(Membership.person_id == first.id)).one()
        setattr(membership, ending, "failed_test" if ending == "turned_away_as" else clock.now())

    assert arrive(engine, study, "somebody else")
    assert arrive(engine, study, "invented-0").id == first.id
    with pytest.raises(StudyFull):
        arrive(engine, study, "one more")


def test_a_disabled_account_holds_no_place(engine, study):
    first = fill(engine, study)[0]
    with writing(engine) as session:
        session.get_one(Person, first.id).disabled_at = clock.now()

    assert arrive(engine, study, "somebody else")
    with pytest.raises(StudyFull):
        arrive(engine, study, "one more")


def test_a_place_without_a_first_answer_frees_itself(engine, study, move_clock):
    first, second, *_ = fill(engine, study)
    with writing(engine) as session:
        begin(session, study, second.id, draft_seq=1, minutes=30)
        begin(session, study, first.id, draft_seq=0)
    move_clock(minutes=61)

    with reading(engine) as session:
        assert places.people_with_a_place(session, study) == 1
    assert arrive(engine, study, "somebody else")
    move_clock(minutes=30)  # a draft may be empty: invented people kept all places with one each
    with reading(engine) as session:
        assert places.people_with_a_place(session, study) == 1  # of somebody else


def test_who_answered_an_item_keeps_their_place(engine, study, move_clock):
    first, *_ = fill(engine, study)
    with writing(engine) as session:
        begin(session, study, first.id, draft_seq=0)
        work = session.scalars(select(Assignment).where(Assignment.person_id == first.id)).one()
        work.state, work.submitted_at = AssignmentState.submitted, clock.now()
    move_clock(days=2)

    with reading(engine) as session:
        assert places.people_with_a_place(session, study) == 1


def test_a_test_that_was_only_begun_keeps_no_place(engine, study, move_clock):
    first, second, *_ = fill(engine, study)
    with writing(engine) as session:
        for person in (first, second):
            of_person = select(Membership.id).where(Membership.person_id == person.id)
            attempt = EntryAttempt(
                membership_id=session.scalars(of_person).one(), number=1, started_at=clock.now(), asked=2
            )
            session.add(attempt)
            session.flush()
        answer = TestAnswer(attempt_id=attempt.id, question="q", option="a", correct=True, answered_at=clock.now())
        session.add(answer)
    move_clock(minutes=61)

    with reading(engine) as session:
        assert places.people_with_a_place(session, study) == 1


def begin(session, study: Study, person_id: int, draft_seq: int, minutes: int = 0) -> None:
    item = session.scalars(select(Item).where(Item.study_id == study.id)).first()
    now = clock.now()
    session.add(
        Assignment(
            token=f"token-{person_id}",
            study_id=study.id,
            item_id=item.id,
            person_id=person_id,
            state=AssignmentState.reserved,
            reserved_at=now,
            expires_at=now + timedelta(minutes=minutes),
            draft_seq=draft_seq,
        )
    )
    session.flush()


def test_a_returning_id_whose_place_was_freed_needs_one(engine, study, move_clock):
    fill(engine, study)
    move_clock(minutes=61)
    for number in range(9):
        arrive(engine, study, f"later-{number}")

    with pytest.raises(StudyFull):
        arrive(engine, study, "invented-0")


def test_an_id_without_the_links_secret_takes_no_place(engine, study):
    here = adjust(engine, study, proof="secret")
    for proof in ("", "x", places.key_of(here)[:-1], "\u00e9"):
        with pytest.raises(NotAllowed, match="does not come from the study's panel"):
            arrive(engine, study, "invented", proof)

    with reading(engine) as session:
        assert places.people_with_a_place(session, here) == 0
    assert arrive(engine, study, "sent", places.key_of(here))


def test_an_id_without_its_signature_takes_no_place(engine, study):
    here = adjust(engine, study, proof="signature")
    signature = hmac.new(places.key_of(here).encode(), b"sent", hashlib.sha256).hexdigest()
    for name, proof in (("sent", ""), ("invented", signature), ("sent", places.key_of(here))):
        with pytest.raises(NotAllowed, match="does not come from the study's panel"):
            arrive(engine, study, name, proof)

    assert arrive(engine, study, "sent", signature)


def test_the_secret_that_participants_read_signs_no_id(engine, study):
    """It is in the link of everybody who came before the study asked for signatures."""
    read_in_the_link = places.key_of(adjust(engine, study, proof="secret"))
    adjust(engine, study, proof="signature")
    signature = hmac.new(read_in_the_link.encode(), b"invented", hashlib.sha256).hexdigest()
    for proof in (signature, token(read_in_the_link, {"sub": "invented"})):
        with pytest.raises(NotAllowed, match="does not come from the study's panel"):
            arrive(engine, study, "invented", proof)


def token(key: str, claims: object, algorithm: str = "HS256") -> str:
    """A JSON Web Token as RFC 7519 and RFC 7515 write it."""
    parts = [json.dumps({"alg": algorithm, "typ": "JWT"}).encode(), json.dumps(claims).encode()]
    text = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = hmac.new(key.encode(), text, hashlib.sha256).digest()
    return f"{text.decode()}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def seconds_from_now(seconds: int) -> float:
    return clock.now().replace(tzinfo=UTC).timestamp() + seconds


@pytest.mark.parametrize("claim", ["sub", "PROLIFIC_PID"])
def test_a_token_of_its_id_takes_a_place(engine, study, claim):
    here = adjust(engine, study, proof="signature")
    just_made = {"exp": seconds_from_now(60), "nbf": seconds_from_now(5)}  # the panel's clock is ahead

    assert arrive(engine, study, "sent", token(places.key_of(here), {claim: "sent"} | just_made))


def test_the_text_of_a_token_is_no_id(engine, study):
    """Its signature, written in hexadecimal, would be that of an id."""
    here = adjust(engine, study, proof="signature")
    text, _, signature = token(places.key_of(here), {"sub": "sent"}).rpartition(".")
    with pytest.raises(NotAllowed, match="does not come from the study's panel"):
        arrive(engine, study, text, base64.urlsafe_b64decode(f"{signature}=").hex())

    dotted = "anna.b@example.org"
    proof = hmac.new(places.key_of(here).encode(), dotted.encode(), hashlib.sha256).hexdigest()
    assert arrive(engine, study, dotted, proof)


def test_a_token_of_another_makes_no_place(engine, study):
    here = adjust(engine, study, proof="signature")
    key = places.key_of(here)
    genuine = token(key, {"sub": "sent"})
    wrong = {
        "another key": token("x" * 32, {"sub": "sent"}),
        "another id": token(key, {"sub": "another"}),
        "no signature": token(key, {"sub": "sent"}, "none"),
        "a key pair": token(key, {"sub": "sent"}, "RS256"),
        "over": token(key, {"sub": "sent", "exp": seconds_from_now(-1)}),
        "not yet": token(key, {"sub": "sent", "nbf": seconds_from_now(120)}),
        "a beginning that is none": token(key, {"sub": "sent", "nbf": None}),
        "a time that is none": token(key, {"sub": "sent", "exp": "never"}),
        "a time beyond all numbers": token(key, {"sub": "sent", "exp": 10**400}),
        "not a time": token(key, {"sub": "sent", "exp": float("nan")}),
        "a list of times": token(key, {"sub": "sent", "exp": [seconds_from_now(60)]}),
        "yes": token(key, {"sub": "sent", "exp": True}),
        "no claims": token(key, ["sub", "sent"]),
        "cut": genuine[:-1],
        "longer": f"{genuine}.{genuine}",
        "empty parts": "..",
        "no letters": "\u202e.\ud800.\0",
        "deep": ".".join([base64.urlsafe_b64encode(b"[" * 5000).decode()] * 3),
    }
    for name, proof in wrong.items():
        with pytest.raises(NotAllowed, match="does not come from the study's panel"):
            pytest.fail(f"{name} took a place") if arrive(engine, study, "sent", proof) else None


@pytest.mark.parametrize("name", ["a" * 100_000, "a\0b", "a\u202eb", "a\x1bb", "a\nb", "\ud800", "\u2066", "", " \t"])
def test_an_id_that_is_no_id_takes_no_place(engine, study, name):
    with pytest.raises(NotAllowed, match="no usable participant id"):
        arrive(engine, study, name)


@pytest.mark.parametrize("name", ["a" * 100_000, "a\0b", "a\u202eb", "a\x1b]0;owned\x07b"])
def test_a_panel_page_of_such_an_id_says_so(study, name):
    for query in (
        {"PROLIFIC_PID": name},
        {"PROLIFIC_PID": "x", "proof": name},
        {"PROLIFIC_PID": "x", "SESSION_ID": name},
    ):
        test = app(study=study.slug, **query)
        assert not test.error or "no usable participant id" in shown(test)
        assert arrival(test) or test.error


def test_a_session_id_is_stored_without_control_characters(engine, study):
    with writing(engine) as session:
        here = session.get_one(Study, study.id)
        panels.join_from_panel(session, here, "prolific", "sent", "a\0\u202e\x1b" + "b" * 1000)

    with reading(engine) as session:
        assert session.scalars(select(PanelIdentity.session_id)).one() == "a" + "b" * (panels.LONGEST_PANEL_ID - 1)


def test_an_endless_session_id_is_not_normalised_whole(engine, study, monkeypatch):
    """Combining marks take time by the square of their number: 63 KB of them kept everybody waiting for 2 s."""
    lengths: list[int] = []

    def normalize(_: str, text: str) -> str:
        lengths.append(len(text))
        return text

    monkeypatch.setattr(unicodedata, "normalize", normalize)
    with writing(engine) as session:
        here = session.get_one(Study, study.id)
        panels.join_from_panel(session, here, "prolific", "sent", "a" + "\u0300\u0316" * 15_000)

    assert 0 < max(lengths) <= 1000


def test_keys_differ_between_studies_and_servers(engine, study, make_study, monkeypatch):
    with writing(engine) as session:
        other = make_study(session, title="Another", annotators=0)[0]
    key = places.key_of(study)

    assert key != places.key_of(other)
    monkeypatch.setenv("TRIPTYCH_SECRET", "the secret of another server, as long")
    assert key != places.key_of(study)


def test_too_many_arrivals_get_a_kind_page_and_are_logged(engine, study, caplog):
    fill(engine, adjust(engine, study, most_people=1))
    with caplog.at_level("WARNING", logger="triptych.people"):
        test = app(study=study.slug, PROLIFIC_PID="late", SESSION_ID="s")

    assert arrival(test) is None
    assert not test.error
    assert "Thank you for coming." in shown(test)
    assert f"Study {study.slug}: all 1 places are taken" in caplog.text
    assert "late" not in caplog.text


# Links of other people


def test_a_panel_address_asks_before_it_changes_the_annotator(monkeypatch, engine, study):
    with writing(engine) as session:
        be(monkeypatch, add_person(session, "Anna"))
    test = app(study=study.slug, PROLIFIC_PID="5f1", SESSION_ID="s")

    assert arrival(test) is None
    assert "This link is for somebody else; opening it signs you out." in shown(test)
    assert arrival(press(test, "Open it as the person it was made for"))


def test_a_panel_address_of_the_same_person_asks_nothing(monkeypatch, engine, study):
    person = arrive(engine, study, "5f1")
    with writing(engine) as session:
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
        be(monkeypatch, logins.who_is(session, secret))
    test = app(study=study.slug, PROLIFIC_PID="5f1", SESSION_ID="s")

    with writing(engine) as session:
        assert signs_in(session, test).person_id == person.id


def test_a_personal_link_asks_before_it_changes_the_annotator(monkeypatch, engine, make_study):
    with writing(engine) as session:
        study = make_study(session, annotators=0)[0]
        secret = personal_link(session, lifecycle.by_slug(session, study.slug), "Berta")
        be(monkeypatch, add_person(session, "Anna"))
    test = app(join=secret)

    assert arrival(test) is None
    assert arrival(press(test, "Open it as the person it was made for"))


def test_a_used_link_leaves_the_annotator_signed_in(monkeypatch, engine):
    with writing(engine) as session:
        be(monkeypatch, add_person(session, "Anna"))
    test = app(join="used or invented")

    assert arrival(test) is None
    assert "You are signed in as P-Anna." in shown(test)


def test_a_set_up_link_asks_nothing_of_somebody_signed_in(monkeypatch, engine):
    with writing(engine) as session:
        secret = accounts.issue_setup_ticket(session)
        be(monkeypatch, add_person(session, "Anna"))
    test = app(setup=secret)

    assert arrival(test) is None
    assert not test.text_input
    assert "My work" in shown(test)
