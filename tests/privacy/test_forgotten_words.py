"""Who leaves takes their own words along, wherever these were logged, and nobody else's."""

from __future__ import annotations

import pytest
from helpers.database_files import files_of
from helpers.ratings import submit
from helpers.studies import full_answers, join, sure
from sqlalchemy import select

from triptych.annotate import comments
from triptych.operations import verify
from triptych.privacy import erasure, withdrawal
from triptych.results import adjudication
from triptych.storage.database import reading, writing
from triptych.storage.models import Event, EventDetail, Purpose, Study
from triptych.storage.wiping import Wiped

WORDS, NOTE, MARKED = "qqexplained words", "qqnoted", "qqmarked"


def wordy_answers(words: str = WORDS, note: str = NOTE, marked: str = MARKED) -> dict:
    answers = full_answers(verdict="reject")
    explained = {"verdict": {"reject": {"reasons": ["rude"], "text": words}}}
    answers["explanations"] = dict.fromkeys("ABC", explained)
    answers["highlights"] = [{"slot": "A", "turn": None, "start": 0, "end": 6, "label": "good", "comment": marked}]
    return answers | {"note": note}


def asked(session, study, lead, annotator, answers) -> adjudication.FinalValue:
    """The final value of the first item as this annotator gives it when a lead asks for it."""
    adjudication.ask(session, study, "item-1", annotator.pseudonym, lead)
    assert submit(session, study, annotator, answers).purpose == Purpose.adjudication
    return adjudication.final_values(session, study)["item-1"]


def logged(session, study) -> dict[int, tuple[str, dict | None, dict | None]]:
    """Number of each event with values → its kind, old and new."""
    query = select(Event.number, Event.kind, EventDetail.old, EventDetail.new)
    rows = session.execute(query.join(EventDetail, EventDetail.event_id == Event.id).where(Event.study_id == study.id))
    return {number: (kind, old, new) for number, kind, old, new in rows}


@pytest.mark.parametrize("replaced", ["taken back", "changed", "asked of another"])
def test_words_of_a_replaced_final_value_are_erased(engine, make_study, replaced):
    with writing(engine) as session:
        study, lead, (rater, gone, other) = make_study(session, items=1, annotators=3)
        submit(session, study, rater)
        seen = asked(session, study, lead, gone, wordy_answers())
        if replaced == "changed":
            adjudication.record(session, study, "item-1", {(1, "fluency"): 3}, "own reason", lead, seen)
        else:
            adjudication.take_back(session, study, "item-1", "own reason", lead, seen)
        if replaced == "asked of another":
            asked(session, study, lead, other, wordy_answers("zzof another", "zznoted", "zzmarked"))

    with writing(engine) as session:
        erasure.erase(session, session.get_one(Study, study.id), gone.pseudonym, sure(lead))
    assert erasure.wipe(engine) == Wiped.done

    files = files_of(engine)
    assert not [words for words in (WORDS, NOTE, MARKED) if words.encode() in files]
    with reading(engine) as session:
        texts = str(logged(session, study))
        assert "own reason" in texts
        assert ("zzof another" in texts) == (replaced == "asked of another")
        verdict = verify.verify(session, session.get_one(Study, study.id))
        assert verdict.holds, verdict.sentence


def test_a_lead_who_stops_annotating_leaves_their_decisions_logged(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, (rater, chosen) = make_study(session, items=1)
        join(session, study, lead)
        submit(session, study, rater)
        seen = asked(session, study, lead, chosen, wordy_answers())
        adjudication.take_back(session, study, "item-1", "unclear", lead, seen)
        adjudication.record(session, study, "item-1", {(1, "fluency"): 3}, "read twice", lead)
        comments.ask(session, study, "item-1", rater.pseudonym, "Why fluent?", lead)
    with reading(sqlite_engine) as session:
        before = logged(session, study)
    with writing(sqlite_engine) as session:
        withdrawal.withdraw_myself(session, session.get_one(Study, study.id), lead)

    with reading(sqlite_engine) as session:
        after = logged(session, study)
        by_lead = ("final value asked for", "final value taken back", "final value recorded", "commented")
        acts = {number: values for number, values in before.items() if values[0] in by_lead}
        assert len(acts) == len(by_lead)
        assert {number: after.get(number) for number in acts} == acts
        assert verify.verify(session, session.get_one(Study, study.id)).holds
