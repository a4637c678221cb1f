"""The design of a study: a draft is edited freely, launch freezes it, later changes are amendments; copies."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from helpers.present import present
from helpers.ratings import submit
from helpers.studies import SMALL_RUBRIC, add_person, count_items, draft_items, full_answers, join
from sqlalchemy import func, select

from triptych.errors import Conflict, ImportRefused, InvalidRubric, NotAllowed
from triptych.formats import read_items
from triptych.formats.ratings_csv import RATINGS_HEADER
from triptych.operations.verify import verify
from triptych.people import accounts, invitations, roster
from triptych.privacy import deletion
from triptych.reports.build import build_report
from triptych.reports.facts import facts_of
from triptych.reports.methods_text import paragraph
from triptych.reports.numbers import Book
from triptych.results.frame.csv_rows import export_ratings
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.files import shipped_rubrics
from triptych.simulate import demo
from triptych.storage import database, events
from triptych.storage.models import (
    Access,
    Assignment,
    Item,
    Person,
    Purpose,
    Reference,
    Role,
    Round,
    StoredCriterion,
    Study,
    StudyState,
    System,
)
from triptych.study import contents, design, duplicate, lifecycle
from triptych.study import launch as launching
from triptych.study.design import Parts
from triptych.study.lint import linter
from triptych.study.settings import settings_of
from triptych.study.system_names import system_names

WHY = "the pilot showed it"
GOOD = (
    b"item_id,context,cand:alpha,cand:beta\n007,Why?,Because of it.,Never you mind.\n8,How?,So it is.,Thus it goes.\n"
)
MORE = b"item_id,context,cand:alpha,cand:beta,cand:gamma\n9,Who?,He did.,She did.,They did.\n"
CHECKED = (
    b"item_id,context,cand:alpha,cand:beta,meta:purpose,meta:reference\n1,Why?,Because of it.,Never you mind.,,\n"
    b"g1,How?,So it is.,Thus it goes.,gold,fluency A = 3\n"
)
OTHER_SCALE = SMALL_RUBRIC.replace("{value: 3, title: Good}", "{value: 3}, {value: 4, title: Good}")


@pytest.fixture
def session(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        yield session


@pytest.fixture
def lead(session):
    return add_person(session, "lead", Role.lead)


def file(data: bytes = GOOD):
    return read_items(data, "items.csv")


@pytest.fixture
def draft(session, lead):
    return lifecycle.create_from_file(session, lifecycle.StudyPlan(title="A study"), SMALL_RUBRIC, file(), lead)


def amend(session, study, reason="", actor="P-lead", **parts):
    return design.amend(session, study, Parts(**parts), reason, actor)


def launch(session, study) -> Study:
    """Launches a draft of which a lead has said why no consent is asked."""
    if study.state == StudyState.draft:
        study.settings = study.settings | {"consent": {"not_needed": "Staff try it."}}
    launching.launch(session, study, "P-lead", launching.check(session, study))
    return study


def kinds(session, study) -> list[str]:
    return [event.kind for event in events.since(session, study.id, 0)]


def ids(session, study, purpose=Purpose.main) -> list[str]:
    return [item.external_id for item in contents.stored_items(session, study, purpose)]


# A draft


def test_a_drafts_title_settings_rubric_and_items_can_change(session, draft):
    settings = {"consent": {"text": "I agree."}, "pay": {"per_item": "0.35"}, "overlap": {"items": 1, "raters": 5}}
    assert amend(session, draft, title=" New ", raters_per_item=1, access="invited", settings=settings)
    assert amend(session, draft, rubric_yaml=OTHER_SCALE)
    assert amend(session, draft, items=file(MORE), replace_items=True)

    assert (draft.title, draft.raters_per_item, draft.access, draft.item_count) == ("New", 1, "invited", 1)
    assert str(settings_of(draft).pay.per_item) == "0.35"
    assert lifecycle.design_of(session, draft).rubric.criterion("fluency").scale.values == [1, 2, 3, 4]
    assert (ids(session, draft), list(session.scalars(select(Item.raters)))) == (["9"], [1])
    assert sorted(session.scalars(select(System.blind_code))) == [1, 2, 3]
    assert kinds(session, draft) == ["study created"] + 3 * ["design changed"]
    assert draft.design_hash is None


def test_the_same_rubric_again_changes_no_row(session, lead, draft):
    """Its rows got other numbers without an event, and verify never held again."""
    lifecycle.create_from_file(session, lifecycle.StudyPlan(title="Another"), SMALL_RUBRIC, file(), lead)

    assert not amend(session, draft, rubric_yaml=SMALL_RUBRIC)

    session.flush()
    assert verify(session, draft).holds


def test_a_round_that_the_series_has_is_refused(session, lead, draft):
    duplicate.duplicate(session, draft, "The pilot", lead, next_round=Round.pilot)
    with pytest.raises(Conflict, match="has a pilot round already"):
        amend(session, draft, round="pilot")


@pytest.mark.parametrize("column", ["access", "round", "presentation"])
def test_a_value_that_no_page_offers_is_refused(session, lead, draft, column):
    with pytest.raises(NotAllowed, match=f"'xx' is no value of {column}"):
        amend(session, draft, **{column: "xx"})
    with pytest.raises(NotAllowed, match=f"'xx' is no value of {column}"):
        other: dict[str, Any] = {column: "xx"}
        plan = replace(lifecycle.StudyPlan(title="A study"), **other)
        lifecycle.create_from_file(session, plan, SMALL_RUBRIC, file(), lead)


def test_a_form_that_changes_nothing_records_no_event(session, draft):
    now = {"title": draft.title, "raters_per_item": 3, "settings": {"codes": {"finished": ""}}}
    assert not amend(session, draft, **now)
    launch(session, draft)
    before = draft.design_hash
    assert not amend(session, draft, **now)

    assert (kinds(session, draft), draft.design_hash) == (["study created", "study open"], before)


def test_another_rubric_keeps_check_references_or_is_refused(session, lead):
    study = lifecycle.create_from_file(session, lifecycle.StudyPlan(title="Checked"), SMALL_RUBRIC, file(CHECKED), lead)
    amend(session, study, rubric_yaml=SMALL_RUBRIC.replace("Two questions", "Some questions"))
    [reference] = session.execute(select(Reference.accepted, StoredCriterion.key).join(StoredCriterion)).all()
    with pytest.raises(Conflict, match="fluency"):
        amend(session, study, rubric_yaml=OTHER_SCALE)

    assert tuple(reference) == ("3", "fluency")
    assert (study.item_count, design.check_items(session, study)) == (1, {"gold": 1, "attention": 0})
    assert amend(session, study, items=file(), replace_items=True)
    assert amend(session, study, rubric_yaml=OTHER_SCALE)


def test_an_edited_drafts_systems_are_numbered_together(session, lead):
    yaml = shipped_rubrics()["esc_dialogue"].read_text()  # its training items have systems too
    items = read_items((demo.DEMO / "esc_dialogue.jsonl").read_bytes(), "items.jsonl")
    study = lifecycle.create_from_file(session, lifecycle.StudyPlan(title="Talks", seed="s"), yaml, items, lead)
    amend(session, study, items=replace(items, items=items.items[:2]), replace_items=True)
    amend(session, study, rubric_yaml=yaml + "\n# changed\n")
    numbers = dict(map(tuple, session.execute(select(System.name, System.blind_code))))
    judged = {code for name, code in numbers.items() if not name.startswith(contents.TRAINING_SYSTEM)}

    assert judged == set(range(1, len(judged) + 1))
    assert sorted(numbers.values()) == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"title": "  "}, NotAllowed, "title"),
        ({"raters_per_item": 0}, NotAllowed, "annotators"),
        ({"settings": {"panel": {"return_url": "http://x.example"}}}, NotAllowed, "https://"),
        ({"settings": {"codes": {"finished": "A1", "failed_test": "A1"}}}, NotAllowed, "different code"),
        ({"settings": {"panel": {"id_param": "study"}}}, NotAllowed, "differ"),
        ({"settings": {"pay": {"currency": "Euro"}}}, NotAllowed, "three capital letters"),
        ({"settings": {"pay": {"per_item": "-1"}}}, NotAllowed, "per item"),
        ({"rubric_yaml": "key: [broken"}, InvalidRubric, "YAML"),
        ({"items": file()}, ImportRefused, "007, 8"),
        ({"items": file(GOOD + b"8,How?,So.,Thus.\n")}, ImportRefused, "errors"),
        ({"retire": ("007", "none such")}, NotAllowed, "none such"),
    ],
)
def test_a_refused_change_gives_the_remedy(session, draft, parts, error, message):
    before = contents.design_hash(session, draft)
    with pytest.raises(error, match=message):
        amend(session, draft, **{"title": "Another", **parts})

    assert contents.design_hash(session, draft) == before
    assert kinds(session, draft) == ["study created"]


def test_a_panel_study_always_has_a_completion_code(session, draft):
    amend(session, draft, access="panel", settings={"codes": {"finished": ""}})
    amend(session, draft, settings={"codes": {"finished": "KEPT"}}, new_codes=True)
    codes = settings_of(draft).codes

    assert codes.finished == "KEPT"
    assert len({codes.failed_test, codes.screened_out, ""}) == 3


def test_a_draft_can_be_deleted_and_a_launched_study_cannot(session, draft, lead):
    other = duplicate.duplicate(session, draft, "Other", lead)
    launch(session, other)
    with pytest.raises(Conflict):
        deletion.delete_draft(session, other, lead)
    deletion.delete_draft(session, draft, lead)
    session.commit()

    assert [study.title for study in lifecycle.for_lead(session, lead)] == ["Other"]


def test_people_of_a_deleted_draft_only_are_deleted_with_it(session, draft, lead):
    other = duplicate.duplicate(session, draft, "Other", lead)
    for name, role, where in (
        ("Anna", Role.annotator, draft),
        ("Dora", Role.lead, draft),
        ("Ben", Role.annotator, other),
    ):
        invitations.invite_one(session, where, name, f"{name}@lab.example", role, lead.pseudonym)
    accounts.create_lead(session, "Emil", "a long passcode 42")
    roster.add_lead(session, draft, "Emil", lead.pseudonym)

    assert deletion.delete_draft(session, draft, lead) == 2
    session.commit()

    assert set(session.scalars(select(Person.name))) == {lead.name, "Ben", "Emil"}


# Launch


def test_launch_freezes_and_needs_complete_items(session, draft):
    amend(session, draft, items=file(MORE))
    with pytest.raises(Conflict, match="without a candidate"):
        launch(session, draft)
    amend(session, draft, retire=("007", "8", "9"))
    with pytest.raises(Conflict, match="no items"):
        launch(session, draft)
    assert draft.state == StudyState.draft

    amend(session, draft, items=file(), settings={"overlap": {"items": 1, "raters": 7}})
    launch(session, draft)
    assert draft.design_hash == contents.design_hash(session, draft)
    assert sorted(session.scalars(select(Item.raters))) == [3, 7]
    with pytest.raises(Conflict, match="already"):
        launch(session, draft)


@pytest.mark.parametrize("parts", [{"items": file(MORE)}, {"settings": {"contact": "anna@lab.example"}}])
def test_a_draft_changed_since_its_check_is_not_launched(session, draft, parts):
    draft.settings = draft.settings | {"consent": {"not_needed": "Staff try it."}}
    checked = launching.check(session, draft)
    amend(session, draft, **parts)
    session.flush()
    events.write_pending(session)

    for result in (checked, None):
        with pytest.raises(Conflict, match="changed a moment ago"):
            launching.launch(session, draft, "P-lead", result)
    assert draft.state == StudyState.draft


def test_a_launch_without_consent_is_refused_before_texts_are_read(session, draft, monkeypatch):
    monkeypatch.setattr(linter, "lint_study", lambda *_: pytest.fail("the texts were read"))

    with pytest.raises(Conflict, match="consent text is empty"):
        launching.check(session, draft)


def test_the_hash_covers_everything_that_decides_the_questions(session, draft):
    seen = {contents.design_hash(session, draft)}
    for parts in (
        {"title": "B"},
        {"settings": {"instructions": "Read twice."}},
        {"settings": {"preregistration": {"primary_contrast": "System 1 against System 2"}}},
        {"raters_per_item": 4},
        {"rubric_yaml": OTHER_SCALE},
        {"items": file(MORE)},
    ):
        amend(session, draft, **parts)
        seen.add(contents.design_hash(session, draft))
    draft.settings = {**draft.settings, "heds": {"1.1": [[], "a paper"]}}

    assert len(seen) == 7
    assert contents.design_hash(session, draft) in seen


# Amendments


@pytest.fixture
def launched(session, draft):
    return launch(session, draft)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"rubric_yaml": OTHER_SCALE}, "Duplicate"),
        ({"round": "pilot"}, "next round"),
        ({"presentation": "succession"}, "would not be comparable"),
        ({"raters_per_item": 2}, "only grow"),
        ({"items": file(MORE), "replace_items": True}, "retire"),
        ({"settings": {"overlap": {"items": 2}}}, "overlap"),
        ({"settings": {"preregistration": {"sample": "more"}}}, "before launch"),
        ({"settings": {"expertise": "expert"}}, "test of a judge"),
    ],
)
def test_what_could_break_ratings_cannot_be_amended(session, launched, parts, message):
    before = launched.design_hash
    with pytest.raises(Conflict, match=message):
        amend(session, launched, WHY, **parts)

    assert (launched.design_hash, contents.design_hash(session, launched)) == (before, before)


def test_groups_of_items_can_be_declared_late_but_not_dropped(session, launched):
    amend(session, launched, WHY, settings={"group_field": "dialogue"})
    assert settings_of(launched).group_field == "dialogue"
    for field in ("", "passage"):
        with pytest.raises(Conflict, match="every interval and test depends on it"):
            amend(session, launched, WHY, settings={"group_field": field})


def test_an_amendment_has_a_reason_date_and_hash(session, launched):
    first = launched.design_hash
    with pytest.raises(NotAllowed, match="reason"):
        amend(session, launched, title="Better")
    with pytest.raises(NotAllowed, match="The reason has 501 characters; at most 500"):
        amend(session, launched, "x" * 501, title="Better")
    assert launched.title == "A study"

    amend(session, launched, WHY, title="Better", raters_per_item=5)
    amend(session, launched, "two were broken", items=file(MORE), retire=("8",))
    amendment, second = design.amendments(session, launched)

    assert (amendment.reason, amendment.parts, amendment.who) == (WHY, ("raters per item", "title"), "P-lead")
    assert second.parts == ("items", "retired", "existing systems named")
    assert len({first, amendment.design_hash, second.design_hash}) == 3
    assert second.design_hash == launched.design_hash == contents.design_hash(session, launched)
    assert dict(map(tuple, session.execute(select(Item.external_id, Item.raters)))) == {"007": 5, "8": 5, "9": 5}
    assert count_items(session, launched) == 2
    assert events.first_broken(session, launched.id) is None


def test_every_rating_keeps_the_hash_of_its_design(session, make_study):
    study, _, (ann, other) = make_study(session, items=3)
    first = study.design_hash
    submit(session, study, ann, full_answers())
    frame_of(session, study)
    amend(session, study, WHY, items=file(MORE))
    submit(session, study, other, full_answers())

    hashes = set(session.scalars(select(Assignment.design_hash)))
    assert hashes == {first, study.design_hash}
    assert {row[RATINGS_HEADER.index("design_hash")] for row in export_ratings(session, study)} <= hashes
    assert "9" in frame_of(session, study).meta


def test_an_amendment_holds_on_both_databases(engine):
    with database.writing(engine) as session:
        lead = add_person(session, "lead", Role.lead)
        study = lifecycle.create_from_file(session, lifecycle.StudyPlan(title="S"), SMALL_RUBRIC, file(CHECKED), lead)
        amend(session, study, rubric_yaml=SMALL_RUBRIC + "\n", items=file(MORE))
        amend(session, study, retire=("1",))
        amend(session, launch(session, study), WHY, raters_per_item=9)
    with database.reading(engine) as session:
        study = lifecycle.by_slug(session, "s")
        assert [line.external_id for line in design.item_lines(session, study)] == ["g1", "9"]
        assert [amendment.reason for amendment in design.amendments(session, study)] == [WHY]
        assert contents.design_hash(session, study) == study.design_hash


# Copies


def test_a_copy_has_the_design_and_no_people(session, lead):
    plan = lifecycle.StudyPlan(title="Checked", raters_per_item=2, access=Access.panel)
    study = lifecycle.create_from_file(session, plan, SMALL_RUBRIC, file(CHECKED), lead)
    amend(session, study, settings={"contact": "us", "preregistration": {"sample": "12"}})
    join(session, launch(session, study), add_person(session, "ann"))
    copy = duplicate.duplicate(session, study, "Again", lead)

    assert (copy.state, copy.access, copy.raters_per_item, copy.series) == ("draft", "panel", 2, "again")
    assert (ids(session, copy), ids(session, copy, Purpose.gold)) == (["1"], ["g1"])
    held = select(Reference.accepted).join(Item).where(Item.study_id == copy.id)
    assert list(session.scalars(held)) == ["3"]
    now = settings_of(copy)
    assert (now.contact, now.preregistration.declared) == ("us", False)
    assert now.codes.finished not in ("", settings_of(study).codes.finished)
    assert launch(session, copy).state == StudyState.open


def test_a_series_has_each_round_once(session, draft, lead):
    nextone = duplicate.duplicate(session, draft, "Main", lead, next_round=Round.pilot, with_items=False)
    with pytest.raises(Conflict, match="pilot"):
        duplicate.duplicate(session, draft, "Pilot again", lead, next_round=Round.pilot)
    with pytest.raises(NotAllowed):
        duplicate.duplicate(session, draft, "Not mine", add_person(session, "ann"))

    assert (nextone.series, nextone.round, nextone.item_count) == (draft.series, "pilot", 0)
    assert duplicate.free_rounds(session, draft) == [Round.expert, Round.crowd]
    assert session.scalars(select(func.count()).select_from(Item)).one() == len(draft_items(2))


def test_the_methods_text_prints_the_preregistration_and_every_amendment(session, draft, lead):
    registered = {"primary_criterion": "fluency", "stop_rule": "at 12 annotators", "criteria": ["fluency"]}
    amend(session, draft, settings={"preregistration": registered})
    study = launch(session, draft)
    for name in ("ann", "bea"):
        submit(session, study, join(session, study, add_person(session, name)), full_answers("AB"))
    amend(session, study, WHY, title="Better")
    text = methods_of(session, study)

    assert "preregistered" in text
    assert "Primary criterion: Fluency" in text
    assert "When collection stops: at 12 annotators" in text
    assert f"1 amendment after launch ({study.opened_at:%Y-%m-%d}: {WHY})" in text


def test_work_of_volunteers_is_reported_as_unpaid(session, draft):
    amend(session, draft, settings={"pay": {"per_item": "0"}})
    study = launch(session, draft)
    submit(session, study, join(session, study, add_person(session, "ann")), full_answers("AB"))
    assert "Annotators were not paid." in methods_of(session, study)


@pytest.mark.long
def test_a_report_holds_the_preregistration_and_amendments(session, draft, lead):
    declared = build_report(session, draft).files["preregistration.md"].decode()
    assert "Nothing was declared." in declared
    assert "The study has not been opened." in declared
    amend(session, draft, settings={"preregistration": {"primary_criterion": "fluency", "stop_rule": "at *12* <b>"}})
    study = launch(session, draft)
    amend(session, study, WHY, title="Better")
    report = build_report(session, study)

    declared = report.files["preregistration.md"].decode()
    assert "- Primary criterion: `Fluency`" in declared
    assert "- When collection stops: `at *12* <b>`" in declared
    assert f"UTC, `title`: `{WHY}`" in declared
    assert present(study.design_hash) in declared
    stated = json.loads(report.files["snapshot.json"])["files"]["preregistration.md"]
    assert hashlib.sha256(report.files["preregistration.md"]).hexdigest() == stated


def methods_of(session, study) -> str:
    names = system_names(session, study)
    analysis = StudyAnalysis(frame_of(session, study), Counted(), names)
    facts = facts_of(session, study, analysis)
    return paragraph(facts, analysis, Book.of(analysis))
