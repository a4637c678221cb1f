"""What a stranger types or puts in an address reaches no query that PostgreSQL, which holds no NUL, would fail at."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from sqlalchemy import Engine

from components.results import item_review
from triptych.annotate import desk, exclusions
from triptych.errors import NotAllowed, NotFound
from triptych.people import logins, panels, signing_in
from triptych.reports import snapshot
from triptych.storage.database import reading, writing
from triptych.storage.models import Access
from triptych.study import lifecycle

NUL = "a\0b"


@pytest.fixture
def study(engine: Engine, make_study):
    with writing(engine) as session:
        return make_study(session, annotators=0, access=Access.panel)[0]


def test_an_address_with_nul_names_no_study(engine, study):
    with reading(engine) as session:
        assert panels.panel_study(session, {"study": NUL, "PROLIFIC_PID": "x"}) is None
        with pytest.raises(NotFound):
            lifecycle.by_slug(session, NUL)


def test_a_participant_id_with_nul_is_nobody(engine, study):
    with reading(engine) as session:
        assert panels.panel_person(session, study, NUL) is None


def test_a_typed_nul_ends_in_a_sentence(engine, make_study):
    """A page's text fields send what their socket is given; SQLite stores it."""
    with writing(engine) as session:
        study, lead, (ann, _) = make_study(session)
    refusals = pytest.raises(NotAllowed, match="cannot be stored here")
    with refusals if engine.dialect.name == "postgresql" else nullcontext(), writing(engine) as session:
        exclusions.exclude(session, lifecycle.by_slug(session, study.slug), ann.pseudonym, NUL, lead.pseudonym)
    with pytest.raises((NotAllowed, NotFound)), reading(engine) as session:
        snapshot.known_hash(session, study, NUL)


@pytest.mark.parametrize("token", [NUL, "\ud800", "\u0661"])
def test_an_item_that_no_token_names_is_not_looked_up(engine, make_study, token):
    """Half a character, which JSON can hold, was an error in the log with each message, and NUL on PostgreSQL."""
    with writing(engine) as session:
        study, _, (who, _) = make_study(session)
        for ask in (
            lambda: desk.act(session, study, who, {"kind": "open", "item": token}),
            lambda: desk.lay(session, study, who, showing=token),
        ):
            with pytest.raises(NotFound):
                ask()


@pytest.mark.parametrize("code", ["9" * 5000, "-1", "1e9", NUL, "\u00b2"])
def test_an_address_with_an_endless_number_points_at_nothing(monkeypatch, code):
    """Somebody sends a lead a link to an item, with a number that Python does not read."""
    monkeypatch.setattr(item_review.st, "query_params", {"by": "A-1", "of": code, "about": "fluency"})
    assert item_review.mark_in_address() is None


@pytest.mark.parametrize("name", [NUL, "\0", "\u202e", "\x1b[2J", "a" * 100_000])
def test_names_and_codes_with_control_characters_fit_nobody(engine, study, name):
    for come_in in (
        lambda: signing_in.lead(engine, name, name),
        lambda: signing_in.returning(engine, study, name, name),
        lambda: signing_in.first_lead(engine, name, name, "a passcode of a lead"),
        lambda: signing_in.invited_lead(engine, name, "a passcode of a lead"),
    ):
        with pytest.raises(NotAllowed):
            come_in()
    with reading(engine) as session, pytest.raises(NotAllowed):
        logins.use_ticket(session, name)
