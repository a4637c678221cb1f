"""Who leaves takes their own words along, wherever these were logged, and nobody else's."""

from __future__ import annotations

import pytest
from helpers.database_files import files_of
from helpers.present import present
from helpers.ratings import same, submit
from helpers.ratings_import import read
from helpers.studies import add_person, full_answers, join, sure
from sqlalchemy import select

from triptych.annotate import comments, exclusions
from triptych.errors import NotAllowed
from triptych.exchange import import_ratings
from triptych.formats import read_items
from triptych.formats.ratings.assemble import assemble
from triptych.operations import capsule, verify
from triptych.people import accounts, joining
from triptych.privacy import deletion, erasure, withdrawal
from triptych.results import adjudication
from triptych.results.frame.upkeep import build_frame, frame_of
from triptych.storage.database import open_engine, reading, writing
from triptych.storage.models import (
    Assignment,
    Event,
    EventDetail,
    Explanation,
    Highlight,
    Person,
    Purpose,
    Rating,
    Role,
    Study,
)
from triptych.storage.wiping import Wiped
from triptych.study import annotator_groups, design, lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of

HIGHLIGHTS = """annotator,item_id,system,label,start,end,quote,comment
gone,i1,s1,bad,,,I qqwould write,
gone,i1,s1,bad,0,4,text,
stays,i1,s1,bad,,,I zzwould write,
"""
RATINGS = "annotator,item_id,system,criterion,value,reasons\n" + "".join(
    f"{name},i1,{system},quality,{value},{mark}reason of their own\n"
    for name, mark in (("gone", "qq"), ("stays", "zz"))
    for system, value in (("s1", 1), ("s2", 2))
)
ITEMS = '[{"id": "i1", "context": "A question", "candidates": {"s1": "text one", "s2": "text two"}}]'
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


@pytest.mark.long
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


def test_imported_quotes_and_reasons_of_their_own_are_erased(imported):
    files = [read(RATINGS), read(HIGHLIGHTS, "highlights.csv")]
    asked_for = import_ratings.asked_as_proposed("Elsewhere", files, import_ratings.proposed(files))
    study, _, session = imported(assemble(files, asked_for, read_items(ITEMS.encode(), "items.json"), "first"))
    session.commit()
    gone = session.scalars(select(Person.pseudonym).where(Person.name == "gone")).one()
    lead = session.scalars(select(Person.pseudonym).where(Person.role == Role.lead)).one()

    erasure.erase(session, study, gone, sure(lead))
    session.commit()

    assert sorted(session.scalars(select(Highlight.quote))) == ["", "I zzwould write", "text"]
    reasons = [reason for listed in session.scalars(select(Explanation.reasons)) for reason in listed]
    assert reasons == ["zzreason of their own"] * 2
    assert "qq" not in str(logged(session, study))
    assert same(frame_of(session, study), build_frame(session, study))
    verdict = verify.verify(session, study)
    assert verdict.holds, verdict.sentence


@pytest.mark.long
def test_groups_of_a_renamed_person_are_erased(sqlite_engine, make_study, tmp_path, ready_sqlite):
    with writing(sqlite_engine) as session:
        study, lead, (gone, other) = make_study(session, items=1)
        for name in (gone, other):
            annotator_groups.set_group(session, study, [name.pseudonym], f"group of {name.pseudonym}", lead.pseudonym)
            session.commit()
    packed, elsewhere = tmp_path / "study.zip", tmp_path / "elsewhere.db"
    packed.write_bytes(b"".join(capsule.pieces(sqlite_engine, study.slug)))
    elsewhere.write_bytes(ready_sqlite.read_bytes())
    second = open_engine(f"sqlite:///{elsewhere}")
    with writing(second) as session:
        new_lead = accounts.create_lead(session, "Dr New", "a long passcode 42")
        who = Who(new_lead.id, new_lead.pseudonym, new_lead.role, new_lead.name, 0)
        add_person(session, present(gone.name))  # takes the pseudonym

    arrived = capsule.import_study(packed, second, who)
    with writing(second) as session:
        assert [*arrived.renamed] == [gone.pseudonym]
        erasure.erase(session, lifecycle.by_slug(session, arrived.slug), arrived.renamed[gone.pseudonym], sure(who))
    with reading(second) as session:
        study = lifecycle.by_slug(session, arrived.slug)
        assert gone.pseudonym not in str([values for values in logged(session, study).values() if "group" in values[0]])
        assert settings_of(study).annotator_groups == {other.pseudonym: f"group of {other.pseudonym}"}
        verdict = verify.verify(session, study)
        assert verdict.holds, verdict.sentence
    second.dispose()


def test_a_name_is_deleted_with_the_last_study_of_somebody(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, (gone, stays) = make_study(session, items=1)
        demo, _, _ = make_study(session, items=1, title="A demo", demo=True)
        for annotator in (gone, stays):
            join(session, demo, annotator)
        withdrawal.withdraw(session, study, gone.pseudonym, lead.pseudonym)
    with reading(sqlite_engine) as session:
        assert session.get_one(Person, gone.person_id).name == gone.name

    with writing(sqlite_engine) as session:
        deletion.delete_demo(session)
    with reading(sqlite_engine) as session:
        names = [session.get_one(Person, who.person_id).name for who in (gone, stays, lead)]
        assert names == [None, stays.name, lead.name]
        assert verify.verify(session, session.get_one(Study, study.id)).holds


@pytest.mark.parametrize("replaced", [False, True], ids=["standing", "replaced"])
def test_final_values_are_deleted_with_an_annotators_work_if_promised(engine, make_study, replaced):
    with writing(engine) as session:
        study, lead, (rater, gone, other) = make_study(session, items=1, annotators=3)
        consent = {"text": "Agree?", "after_withdrawal": "delete"}
        submit(session, study, rater)
        seen = asked(session, study, lead, other, full_answers(fluency=1))
        adjudication.take_back(session, study, "item-1", "own reason", lead, seen)
        seen = asked(session, study, lead, gone, full_answers(fluency=3))
        if replaced:
            adjudication.record(session, study, "item-1", {(1, "fluency"): 2}, "own reason", lead, seen)
        design.amend(session, study, design.Parts(settings={"consent": consent}), "consent", lead.pseudonym)
    with writing(engine) as session:
        now = session.get_one(Study, study.id)
        joining.consent(session, now, gone, settings_of(now).consent.version)
        assert withdrawal.withdraw(session, now, gone.pseudonym, lead.pseudonym) == "delete"

    with reading(engine) as session:
        study = session.get_one(Study, study.id)
        assert [final.by for final in adjudication.final_values(session, study).values()] == [lead.pseudonym] * replaced
        own_work = select(Assignment.id).where(Assignment.person_id == gone.person_id)
        assert session.scalars(select(Rating.id).where(Rating.assignment_id.in_(own_work))).all() == []
        texts = str([(old, new) for kind, old, new in logged(session, study).values()])
        assert ("'fluency', 3.0" in texts, "'fluency', 1.0" in texts, "own reason" in texts) == (False, True, True)
        verdict = verify.verify(session, study)
        assert verdict.holds, verdict.sentence


def test_nothing_more_is_written_about_somebody_erased(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, (counted, excluded) = make_study(session, items=1)
        exclusions.exclude(session, study, excluded.pseudonym, "own reason", lead.pseudonym)
        annotator_groups.set_group(session, study, [counted.pseudonym], "expert", lead.pseudonym)
    with writing(sqlite_engine) as session:
        for annotator in (counted, excluded):
            erasure.erase(session, session.get_one(Study, study.id), annotator.pseudonym, sure(lead))

    with writing(sqlite_engine) as session:
        for writes in (
            lambda: exclusions.exclude(session, study, counted.pseudonym, "qqreason", lead.pseudonym),
            lambda: exclusions.reinstate(session, study, excluded.pseudonym, "qqreason", lead.pseudonym),
            lambda: annotator_groups.set_group(session, study, [counted.pseudonym], "qqgroup", lead.pseudonym),
        ):
            with pytest.raises(NotAllowed, match="was erased"):
                writes()
    with reading(sqlite_engine) as session:
        assert verify.verify(session, session.get_one(Study, study.id)).holds
