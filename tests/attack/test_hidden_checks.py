"""Checks among the items: nothing that an annotator may read tells them apart, also after they answered one again."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any, cast

import pytest
from helpers.annotations import PEN
from helpers.asgi import sent
from helpers.check_items import check_item
from helpers.present import present
from helpers.ratings import assigned
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join
from sqlalchemy import delete, insert, select, update
from sqlmodel import Session
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from triptych.annotate import desk, outcomes
from triptych.annotate.own_items import own_items
from triptych.errors import InvalidAnnotation
from triptych.operations import verify
from triptych.privacy import personal_data
from triptych.storage import events
from triptych.storage.database import writing
from triptych.storage.events import EventKind
from triptych.storage.models import Assignment, AssignmentState, Event, EventDetail, Purpose, StudyState
from triptych.study import lifecycle
from triptych.study.check_items import add_check_items, sorted_out
from triptych.study.settings import Checks, StudySettings, stored
from triptych.web import work as routes

ITEMS = 12  # of which two or more are checks
MARK = {"slot": "A", "start": 0, "end": 3, "label": "good", "comment": "seen"}
EXPLAINED = {"A": {"verdict": {"reject": {"reasons": ["wrong"], "text": "so it is"}}}}


@pytest.fixture
def studies(module_engine, move_clock):
    """Two people who answered so many items, each in 10 seconds: one without, one with checks."""
    with writing(module_engine) as session:
        both = [_opened(session, checks) for checks in ([], _checks())]
        for _ in range(ITEMS):
            move_clock(seconds=10)
            for _, study, who in both:
                _send(session, study, who, assigned(session, study, who).token)
        for _, study, who in both:
            assigned(session, study, who)
        yield both
        session.rollback()
        session.info.clear()


def _checks() -> list[Any]:
    return [check_item(n, kind, "fluency = 3; verdict = accept") for n, kind in enumerate(("attention", "gold") * 3)]


def _opened(session: Any, drafts: list[Any]) -> tuple[Any, Any, Any]:
    study = lifecycle.create_study(
        session, lifecycle.StudyPlan(title="S", seed="s"), SMALL_RUBRIC, draft_items(24), "L"
    )
    study.settings = stored(StudySettings(checks=Checks(attention_every=6, gold_every=6) if drafts else Checks()))
    if drafts:
        add_check_items(session, study, sorted_out(drafts)[1], "L")
    lifecycle.set_state(session, study, StudyState.open, "L")
    return session, study, join(session, study, add_person(session, f"ann{study.id}"))


def _send(
    session: Any, study: Any, who: Any, token: str, kind: str = "submit", seconds: float = 10, **more: Any
) -> desk.Desk:
    """What the workbench sends to submit, ignore or skip the item; the desk after it."""
    seen = desk.lay(session, study, who, showing=token).view.work
    message = {"kind": kind, "assignment": token, "version": seen.version, "pen": PEN, "base": seen.draft_seq}
    message |= {"submission": f"{kind}-{token}-{seen.version}", "active_seconds": seconds, "language": "de"}
    answers = {"answers": full_answers()} if kind == "submit" else {}
    after = desk.act(session, study, who, message | answers | more)
    events.write_pending(session)
    return after


def _sees(session: Any, study: Any, who: Any, place: int) -> list[Any]:
    """What this annotator may read about their item at this place, besides its texts and when it was."""
    listed = own_items(session, study, who)
    item = listed.items[place].model_dump(exclude={"token", "begins", "at"})
    view = desk.lay(session, study, who, showing=listed.items[place].token).view
    told = list(personal_data.about(session, who.person_id)["studies"][0]["annotations"])[place]
    [part] = personal_data.parts_of(session, who)
    counts = part.annotations, part.highlights, part.explanations
    is_consistent = listed.minutes_left == round((listed.total - listed.done) * present(listed.seconds_per_item) / 60)
    told = {
        **told,
        "submitted_at": "",
        "given_out_at": "",
        "highlights": [{**h, "quote": ""} for h in told["highlights"]],
    }
    return [view.work.model_dump(exclude={"token", "store_key"}), item, told, counts, is_consistent]


def _places(session: Any, who: Any) -> list[int]:
    """The places of checks among the person's items."""
    purposes = select(Assignment.purpose).where(Assignment.person_id == who.person_id).order_by(Assignment.id)
    return [place for place, purpose in enumerate(session.scalars(purposes)) if purpose != Purpose.main]


@pytest.mark.long
def test_a_check_that_is_answered_again_looks_like_an_item(studies, move_clock):
    """Ratings, marks, reasons, language and time in one's own data were those of the first answer, for checks only."""
    [*_, (session, study, who)] = studies
    checks = _places(session, who)
    assert len(checks) >= 2
    move_clock(minutes=30)
    answers = full_answers(fluency=1)
    answers["ratings"]["A"]["verdict"] = "reject"
    answers |= {"highlights": [MARK], "explanations": EXPLAINED, "note": "a word", "set_aside": {}}
    again = {"seconds": 1200, "answers": answers, "arrangement": "one_at_a_time", "language": "en"}
    aside = {"answers": full_answers() | {"set_aside": {"B": "blank"}}}
    ignore = {"kind": "ignore", "reason": "empty", "text": "nothing"}
    for act in (again, aside, ignore, {"kind": "skip", "reason": "unclear"}):
        for place in checks:
            shown = []
            for session, study, who in studies:
                token = own_items(session, study, who).items[place].token
                _send(session, study, who, token, **act)
                shown.append(_sees(session, study, who, place))
            assert shown[0] == shown[1]
    report = verify.verify(session, study)
    assert report.holds, report.sentence


def test_the_last_answer_is_found_by_its_logged_number(studies):
    """Ids are in no log, so `verify` could not name somebody who swaps them; and a sequence with a cache mixes them."""
    session, study, who = studies[1]
    place = _places(session, who)[0]
    for note in ("first", "last"):
        token = own_items(session, study, who).items[place].token
        _send(session, study, who, token, answers=full_answers() | {"note": note})
    again = select(Event.id).where(Event.study_id == study.id, Event.kind == EventKind.check_answered_again)
    first, last = session.scalars(again.order_by(Event.number))
    details = {row.event_id: row for row in session.scalars(select(EventDetail))}
    session.execute(delete(EventDetail).where(EventDetail.event_id.in_([first, last])))
    for number, other in ((first, -1), (last, first), (-1, last)):
        session.execute(update(Event).where(Event.id == number).values(id=other))
    for number, other in ((first, last), (last, first)):
        session.execute(insert(EventDetail).values(details[number].model_dump() | {"event_id": other}))
    assert verify.verify(session, study).holds

    check = session.scalars(select(Assignment.id).where(Assignment.token == token)).one()
    assert outcomes.answered_again(session, [check])[check]["note"] == "last"


def test_opening_a_check_reads_its_last_answers_only(studies):
    """It read all that were ever given, so after 300 more it took twice as long as an item, and held the database."""
    session, study, who = studies[1]
    token = own_items(session, study, who).items[_places(session, who)[0]].token
    for _ in range(3):
        _send(session, study, who, token)
    check = session.scalars(select(Assignment.id).where(Assignment.token == token)).one()
    read: list[Any] = []

    class Watched:
        def execute(self, query: Any) -> list[Any]:
            read.extend(session.execute(query).all())
            return read

    later = outcomes.answered_again(cast(Session, Watched()), [check])

    assert len(read) == 1
    assert later == {check: read[0].new[outcomes.LATER]}


@pytest.mark.long
def test_skipping_one_after_the_other_finds_no_check(module_engine):
    """Where annotators rate so many items, another one came for a skipped item and none for a skipped check."""
    with writing(module_engine) as session:
        plan = lifecycle.StudyPlan(title="S", seed="s")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(24), "L")
        study.settings = stored(StudySettings(items_per_annotator=8, checks=Checks(attention_every=6, gold_every=6)))
        add_check_items(session, study, sorted_out(_checks()[:2])[1], "L")
        lifecycle.set_state(session, study, StudyState.open, "L")
        who = join(session, study, add_person(session, "finished"))
        while view := desk.lay(session, study, who).view:
            _send(session, study, who, view.work.token)
        assert len(checks := _places(session, who)) >= 2
        done = own_items(session, study, who).items

        for item in done:
            after = _send(session, study, who, item.token, "skip", reason="unclear")
            assert after.view is not None, ("a check" if item.number - 1 in checks else "an item", item.number)
            _send(session, study, who, item.token)
            further = present(desk.lay(session, study, who).view).work.token
            assert _send(session, study, who, further, "skip", reason="unclear").nothing == "finished"
        report = verify.verify(session, study)
        assert report.holds, report.sentence
        session.rollback()
        session.info.clear()


@pytest.mark.long
@pytest.mark.parametrize("reason", [None, "empty"])
def test_an_item_without_a_place_looks_like_a_check(studies, reason):
    """Items that came too late were "surplus" in one's own data, and all of them after a withdrawal; checks never."""
    session, study, who = studies[1]
    own = select(Assignment).where(Assignment.person_id == who.person_id).order_by(Assignment.id)
    for work in session.scalars(own.limit(ITEMS)).all():
        if reason:
            _send(session, study, who, work.token, "ignore", reason=reason)
            session.refresh(work)
        if work.purpose == Purpose.main:
            work.state = AssignmentState.surplus
    session.flush()

    seen = [_sees(session, study, who, place) for place in range(ITEMS)]

    state, listed = ("ignored", "ignored") if reason else ("submitted", "rated")
    assert {told["state"] for _, _, told, *_ in seen} == {state}
    assert {item["state"] for _, item, *_ in seen} == {listed}


def test_a_mark_beyond_its_text_is_refused_of_checks(studies):
    """Of an item it was refused, of a check that was answered again it was stored."""
    session, study, who = studies[1]
    for item in own_items(session, study, who).items[:ITEMS]:
        beyond = {**full_answers(), "highlights": [{**MARK, "end": 10_000}]}
        with pytest.raises(InvalidAnnotation, match="ends at 10000"):
            _send(session, study, who, item.token, answers=beyond)


@pytest.mark.parametrize("version, waits", [(None, []), (1, []), (2, [True]), ("2", [True]), (2.0, [True])])
def test_an_item_answered_again_is_acknowledged_at_a_fixed_time(monkeypatch, version, waits):
    """Checks took 6 ms and items 8, and anybody may answer again until they see it."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(routes.asyncio, "sleep", sleep)
    monkeypatch.setattr(routes, "login_secret", lambda _: "a secret")
    app = Starlette(routes=[Route("/", partial(routes.command, lambda *_: JSONResponse({})), methods=["POST"])])
    body = json.dumps({"action": {"kind": "submit", "version": version}}).encode()

    status, _ = asyncio.run(sent(app, "POST", "/", [(b"x-triptych", b"1")], body))

    assert (status, [0 < seconds <= routes.AGAIN_SECONDS for seconds in slept]) == (200, waits)
