"""A lead's rubric takes a second to read at worst; annotators do not wait for that."""

from __future__ import annotations

from functools import partial

import pytest
from helpers.studies import draft_items

from triptych.people import accounts, logins
from triptych.rubric import files, yaml_text
from triptych.rubric.files import EMPTY_RUBRIC
from triptych.storage.database import writing
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.study import lifecycle
from triptych.web import rubrics, work
from triptych.web.session import stored_name


@pytest.fixture
def parsed(engine, monkeypatch):
    """(the secret of a lead's login, a message, [connections in use at each reading of its text])."""
    with writing(engine) as session:
        lead = accounts.create_lead(session, "Ada", "correct horse battery")
        plan = lifecycle.StudyPlan(title="A draft", seed="fixed")
        study = lifecycle.create_study(session, plan, EMPTY_RUBRIC, draft_items(2), lead.pseudonym, lead.id)
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, lead))
        base = files.text_hash(lifecycle.rubric_text(session, study))
    files.read_sheet.cache_clear()
    text = EMPTY_RUBRIC.replace("My rubric", "Slow")
    in_use = []

    def load(source, *most):
        if "Slow" in source:
            in_use.append(engine.pool.checkedout())
        return reads(source, *most)

    reads = yaml_text.load
    monkeypatch.setattr(yaml_text, "load", load)
    for module in (rubrics, work):
        monkeypatch.setattr(module, "web_engine", lambda: engine)
    form = stored_name(lead.pseudonym, study.slug)
    return secret, {"study": study.slug, "form": form, "base": base, "text": text}, in_use


@pytest.mark.parametrize("value", [None, {"title": "Slow form"}])
def test_a_rubric_is_read_while_others_can_write(parsed, value):
    secret, message, in_use = parsed

    answer = rubrics._rubric(secret, {**message, "value": value})

    assert answer.status_code == 200
    assert in_use
    assert not any(in_use)


def test_a_text_of_somebody_else_is_not_read(parsed, engine):
    _, message, in_use = parsed
    with writing(engine) as session:
        other = accounts.create_lead(session, "Bea", "correct horse battery")
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, other))

    assert rubrics._rubric(secret, message).status_code == 409
    assert not in_use


def test_an_earlier_persons_form_does_not_end_this_login(parsed):
    """After a 401, a login shares its budget with all logins that ended."""
    secret, message, _ = parsed

    assert rubrics._rubric(secret, {**message, "form": "of another person"}).status_code == 409


def test_a_change_is_not_taken_for_a_look_when_busy(parsed, monkeypatch):
    secret, message, _ = parsed

    def busy(_):
        raise DatabaseUnavailable("Busy.")

    monkeypatch.setattr(rubrics, "reading", busy)

    with pytest.raises(DatabaseUnavailable):
        rubrics._rubric(secret, message)


def test_rubrics_are_read_in_threads_of_their_own():
    assert rubrics._threads is not work._threads
    endpoint = rubrics.RUBRIC_ROUTES[0].endpoint
    assert isinstance(endpoint, partial)
    assert endpoint.keywords["threads"] is rubrics._threads
