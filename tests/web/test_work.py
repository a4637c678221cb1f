"""The workbench's routes: answers to actions that come too late, and to messages that no workbench sends."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.annotations import login_of, submitting
from helpers.postgres_databases import wait_for_a_lock
from helpers.studies import SMALL_RUBRIC, join
from sqlalchemy import func, select

from triptych.annotate import desk
from triptych.storage.database import reading, writing
from triptych.storage.models import Assignment, Event, Item, Membership, StudyState, Submission
from triptych.study import lifecycle
from triptych.web import work


@pytest.fixture
def at_work(monkeypatch):
    """Lets the routes work on this database for this person; returns (status, answer) of an action."""

    def prepare(engine, who):
        monkeypatch.setattr(work, "web_engine", lambda: engine)
        with writing(engine) as session:
            login = login_of(session, who)

        def act(action, showing=None, login=login):
            answer = work.in_transaction(work._act, work._refused_desk, login, {"action": action, "showing": showing})
            return answer.status_code, json.loads(bytes(answer.body))

        return act

    return prepare


def begin(engine, make_study):
    """A study, one of its annotators, and the item on their desk."""
    with writing(engine) as session:
        study, _, (who, _) = make_study(session)
        return study.slug, who, desk.lay(session, study, who).view


def set_state(engine, slug, state):
    with writing(engine) as session:
        lifecycle.set_state(session, lifecycle.by_slug(session, slug), state, "P-lead")


def test_a_closed_study_refuses_submissions_with_reason_and_no_receipt(sqlite_engine, make_study, at_work):
    slug, who, view = begin(sqlite_engine, make_study)
    act = at_work(sqlite_engine, who)
    set_state(sqlite_engine, slug, StudyState.closed)

    status, answer = act(submitting(view, "submission-1"))

    assert (status, answer["nothing"]) == (409, "closed")
    assert "closed" in answer["message"]


def test_a_study_closed_during_a_submission_refuses_it(postgres_engine, make_study, at_work, monkeypatch):
    slug, who, view = begin(postgres_engine, make_study)
    act, answer = at_work(postgres_engine, who), work._answer

    def close_first(shown_desk, **options):
        monkeypatch.setattr(work, "_answer", answer)
        set_state(postgres_engine, slug, StudyState.closed)
        return answer(shown_desk, **options)

    monkeypatch.setattr(work, "_answer", close_first)
    status, _ = act(submitting(view, "submission-1"))

    with reading(postgres_engine) as session:
        assert (status, session.scalars(select(Submission)).all()) == (409, [])
        assert session.scalars(select(Event.kind).order_by(Event.number)).all()[-1] == "study closed"


def test_an_edit_stored_meanwhile_claims_no_hour_twice(postgres_engine, make_study, at_work, move_clock):
    slug, who, first = begin(postgres_engine, make_study)
    act = at_work(postgres_engine, who)
    move_clock(seconds=10)
    act(submitting(first, "submission-1"))
    with writing(postgres_engine) as session:
        study = lifecycle.by_slug(session, slug)
        again, second = (desk.lay(session, study, who, showing=token).view for token in (first.work.token, None))
    move_clock(hours=1)
    edit, answer = (
        submitting(view, name) | {"active_seconds": 7200}
        for view, name in ((again, "edit-of-it"), (second, "another-one"))
    )

    with ThreadPoolExecutor(1) as pool:
        with writing(postgres_engine) as session:
            desk.act(session, lifecycle.by_slug(session, slug), who, edit)
            answered = pool.submit(act, answer)
            wait_for_a_lock(session, answered)
        assert answered.result()[1]["view"]["work"]["receipt"] == "another-one"

    with reading(postgres_engine) as session:
        took = session.scalar(select(func.sum(Assignment.active_seconds)))
    assert took == pytest.approx(3600, abs=30)


def test_an_excluded_annotator_stores_nothing_more(sqlite_engine, make_study, at_work):
    _, who, view = begin(sqlite_engine, make_study)
    with writing(sqlite_engine) as session:
        membership = session.scalars(select(Membership).where(Membership.person_id == who.person_id)).one()
        membership.excluded_at, membership.excluded_reason = membership.joined_at, "a test"

    status, answer = at_work(sqlite_engine, who)(submitting(view, "submission-1"))

    assert (status, answer["nothing"]) == (409, "excluded")


def test_an_item_being_reserved_elsewhere_may_become_free(postgres_engine, make_study):
    with writing(postgres_engine) as session:
        study, _, (first, second) = make_study(session, items=1)
        slug = study.slug
    with writing(postgres_engine) as session:
        desk.lay(session, lifecycle.by_slug(session, slug), first)
        with writing(postgres_engine) as at_once:
            other = desk.lay(at_once, lifecycle.by_slug(at_once, slug), second)

    assert other.nothing == "nothing free"


def test_work_shown_with_a_refusal_is_of_the_same_study(sqlite_engine, make_study, at_work):
    loose = SMALL_RUBRIC.replace("key: small", "key: loose", 1) + "context: {title: Q, show: [model]}\n"
    with writing(sqlite_engine) as session:
        shows, _, (who, _) = make_study(session, rubric=loose, title="one")
        hides, _, _ = make_study(session, title="two")
        join(session, hides, who)
        for item in session.scalars(select(Item).where(Item.study_id == hides.id)):
            item.meta = {"model": "plumbum"}
        here = desk.lay(session, shows, who).view.work.token
        there = desk.lay(session, hides, who).view.work.token

    status, answer = at_work(sqlite_engine, who)({"kind": "nonsense", "assignment": here}, showing=there)

    assert status == 400
    assert "plumbum" not in json.dumps(answer)


@pytest.mark.parametrize("token", ["a\x00", "\ud800", "", None, 7])
def test_an_unknown_token_is_refused_with_a_reason(engine, make_study, at_work, token):
    _, who, _ = begin(engine, make_study)

    status, answer = at_work(engine, who)({"kind": "back", "assignment": token})

    assert status in (400, 409)
    assert answer["message"]


@pytest.mark.parametrize("login", [None, "", "no login of ours"])
@pytest.mark.parametrize("token", [None, "a\x00", "nobody-s-token"])
def test_a_signed_out_request_gets_that_error_first(sqlite_engine, make_study, at_work, login, token):
    _, who, view = begin(sqlite_engine, make_study)
    act = at_work(sqlite_engine, who)

    assert act({"kind": "back", "assignment": token}, login=login)[0] == 401
    assert act(submitting(view, "submission-1"), login=login)[0] == 401


@pytest.mark.long
@pytest.mark.parametrize("field", ["pen", "submission"])
def test_a_submission_with_strange_signs_in_its_ids_is_refused(engine, make_study, at_work, field):
    _, who, view = begin(engine, make_study)

    _, answer = at_work(engine, who)({**submitting(view, "submission-1"), field: "eight\x00signs"})

    assert field in answer["view"]["notice"]["text"]
