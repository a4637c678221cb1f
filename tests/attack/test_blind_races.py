"""Blindness while leads act: no answer to an annotator names a system, a candidate's id or an item's id in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from helpers.studies import SYSTEMS, full_answers
from sqlalchemy import Engine, text

from triptych.annotate import comments, desk, own_items
from triptych.errors import TriptychError
from triptych.results import adjudication
from triptych.storage import events
from triptych.storage.database import reading, writing
from triptych.storage.models import Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Certainty, Who

CANDIDATE_BASE = 771_000_000
ITEMS = 8


def lead_acts(engine: Engine, study: Study, lead: Who, anna: Who) -> None:
    """Unblinds, asks, decides, closes and opens again, each in its own transaction, as the pages do."""

    def state(to: StudyState) -> Callable[[Any, Study], None]:
        return lambda session, stored: lifecycle.set_state(session, stored, to, lead.pseudonym)

    def ask(session: Any, stored: Study) -> None:
        comments.ask(session, stored, "item-1", anna.pseudonym, "Why this rating?", lead)

    def decide(session: Any, stored: Study) -> None:
        seen = adjudication.final_values(session, stored).get("item-2")
        adjudication.record(session, stored, "item-2", {(1, "fluency"): 2}, "both are right", lead, seen)

    def unblind(session: Any, stored: Study) -> None:
        lifecycle.unblind(session, stored, Certainty(lead))

    pause = (state(StudyState.paused), state(StudyState.open))
    for act in (*pause, ask, decide, unblind, state(StudyState.closed), state(StudyState.open), *pause, decide):
        try:
            with writing(engine) as session:
                act(session, session.get_one(Study, study.id))
        except TriptychError:
            continue  # the item is not there to be asked about yet


def answers_to(engine: Engine, study: Study, who: Who, lead_is_done: Callable[[], bool]) -> Iterator[str]:
    """What the annotator reads while they work and look back, refusals included, until the lead is done."""

    def seen(read: Callable[[Any, Study], Any]) -> str:
        try:
            with writing(engine) as session:
                return str(read(session, session.get_one(Study, study.id)))
        except TriptychError as refusal:
            return str(refusal)

    def lay(session: Any, stored: Study) -> str:
        view = desk.lay(session, stored, who).view
        return view.model_dump_json() if view else ""

    def submit(session: Any, stored: Study) -> str:
        work = desk.lay(session, stored, who).view
        if work is None:
            return ""
        key = {"assignment": work.work.token, "submission": f"first-{work.work.token}", "pen": "a pen of a tab"}
        order = {"version": work.work.version, "base": work.work.draft_seq}
        action = {"kind": "submit", **key, **order, "answers": full_answers()}
        view = desk.act(session, stored, who, action).view
        return view.model_dump_json() if view else ""

    while True:
        ended = lead_is_done()
        yield seen(lay)
        yield seen(submit)
        yield seen(lambda session, stored: own_items.own_items(session, stored, who).model_dump_json())
        yield seen(lambda session, stored: comments.threads_of(session, stored, who))
        if ended:
            return


def test_no_answer_names_a_system_while_leads_act(engine, make_study):
    with writing(engine) as session:
        study, lead, (anna, _) = make_study(session, items=ITEMS)
        session.execute(text("UPDATE candidate SET id = id + :base"), {"base": CANDIDATE_BASE})

    with ThreadPoolExecutor(1) as threads:
        acting = threads.submit(lead_acts, engine, study, lead, anna)
        answers = list(answers_to(engine, study, anna, acting.done))
    acting.result()

    assert any("Question number" in answer for answer in answers)
    planted = (*SYSTEMS, str(CANDIDATE_BASE)[:6], *(f"item-{n}" for n in range(1, ITEMS + 1)))
    assert [name for name in planted if any(name in answer for answer in answers)] == []
    with reading(engine) as session:
        kinds = {event.kind for event in events.since(session, study.id, 0)}
    assert {"unblinded", "study closed", "submitted", "final value recorded"} <= kinds
