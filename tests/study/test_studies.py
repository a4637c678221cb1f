"""Studies: made whole or not at all, opened, paused, closed, listed for their leads."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from helpers.ratings import exclude, set_aside, submit
from helpers.studies import SMALL_RUBRIC, SYSTEMS, add_person, count_items, draft_items, join, sure
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from triptych.errors import Conflict, ImportRefused, InvalidRubric, NotAllowed, NotFound, StudyNotOpen
from triptych.formats import read_items
from triptych.formats.model import ReadOptions
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted
from triptych.results.progress import overview
from triptych.rubric.files import parse_rubric, read_shipped, shipped_rubrics
from triptych.simulate import demo
from triptych.storage import database, events
from triptych.storage.models import (
    Candidate,
    Item,
    Membership,
    Option,
    Role,
    Round,
    RubricText,
    StoredCriterion,
    Study,
    StudyState,
    System,
)
from triptych.study import contents, lifecycle
from triptych.study.duplicate import duplicate
from triptych.study.lint.misfits import MAX_NAMED, misfits
from triptych.study.settings import settings_of

GOOD = b"item_id,context,cand:alpha,cand:beta\n007,Why?,Because.,Never mind.\n8,How?,So.,Thus.\n"
TWICE = b"item_id,context,cand:alpha,cand:beta\n7,Why?,Because.,Never mind.\n7,How?,So.,Thus.\n"


@pytest.fixture
def session(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        yield session


@pytest.fixture
def lead(session):
    return add_person(session, "lead", Role.lead)


def rows(session, table) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()


def create(session, lead, data: bytes = GOOD, rubric: str = SMALL_RUBRIC, **plan) -> Study:
    planned = lifecycle.StudyPlan(**{"title": "A study", **plan})
    return lifecycle.create_from_file(session, planned, rubric, read_items(data, "items.csv"), lead)


def test_systems_of_several_files_together_have_a_limit(session, lead, monkeypatch):
    study = create(session, lead)
    monkeypatch.setattr(contents, "MAX_SYSTEMS", 3)
    more = read_items(b"item_id,context,cand:gamma,cand:delta\n9,Why?,Because.,Never mind.\n", "more.csv")

    with pytest.raises(NotAllowed, match="would have 4 systems; at most 3"):
        contents.write_items(session, study, more.items)


def test_limits_are_for_new_studies_only(session, lead, monkeypatch):
    """A study of a version without them is opened, and gets more items of its systems."""
    study = create(session, lead)
    monkeypatch.setattr(contents, "MAX_SYSTEMS", 1)
    monkeypatch.setattr(contents, "MAX_CRITERIA", 1)
    more = read_items(GOOD.replace(b"007", b"009").replace(b"8,", b"10,"), "more.csv")

    contents.write_items(session, study, more.items)

    assert len(lifecycle.design_of(session, study).rubric.criteria) == 2
    assert duplicate(session, study, "A copy", lead, with_items=False).rubric_id == study.rubric_id
    monkeypatch.setattr(contents, "MAX_SYSTEMS", 2)
    with pytest.raises(InvalidRubric, match="2 criteria; a rubric has at most 1"):
        create(session, lead, rubric=SMALL_RUBRIC.replace("key: small", "key: other"))


def test_a_study_from_a_file_holds_items_and_criteria(session, lead):
    study = create(session, lead, raters_per_item=2, items_per_annotator=5)

    assert (study.state, study.item_count, study.raters_per_item) == ("draft", 2, 2)
    assert study.settings["items_per_annotator"] == 5
    assert sorted(session.scalars(select(Item.external_id))) == ["007", "8"]
    assert sorted(session.scalars(select(Candidate.text))) == ["Because.", "Never mind.", "So.", "Thus."]
    assert sorted(session.scalars(select(System.name))) == ["alpha", "beta"]
    assert (rows(session, StoredCriterion), rows(session, Option)) == (2, 3)
    assert lifecycle.led_by(session, lead, study.slug).id == study.id


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"data": TWICE}, ImportRefused),
        ({"title": "   "}, NotAllowed),
        ({"title": "x" * 121}, NotAllowed),
        ({"title": "two\nlines"}, NotAllowed),
        ({"raters_per_item": 0}, NotAllowed),
        ({"items_per_annotator": 0}, NotAllowed),
        ({"items_per_annotator": 10**40}, NotAllowed),
        ({"rubric": "key: [broken"}, InvalidRubric),
        ({"rubric": SMALL_RUBRIC.replace("    definition: ", "    rounds: [crowd]\n    definition: ")}, InvalidRubric),
    ],
)
def test_a_refused_study_leaves_nothing_behind(session, lead, change, error):
    with pytest.raises(error):
        create(session, lead, **change)

    assert [rows(session, table) for table in (Study, Item, System, Candidate, RubricText)] == [0] * 5


def test_an_annotator_cannot_make_a_study(session):
    with pytest.raises(NotAllowed):
        create(session, add_person(session, "ann"))


def test_the_same_title_twice_gets_two_addresses(session, lead):
    slugs = {create(session, lead, title="Größe & Maß!").slug for _ in range(3)}

    assert slugs == {"grosse-mass", "grosse-mass-2", "grosse-mass-3"}


def test_an_address_keeps_letters_without_their_accents(session, lead):
    """The last letter is beyond the length of an address, which does not end with the hyphen before it."""
    assert create(session, lead, title=f"Etüde № {10**29} İ").slug == f"etude-no-{10**29}"


def test_the_numbers_that_hide_systems_do_not_follow_their_names(session, lead):
    orders = set()
    for number in range(30):
        study = create(session, lead, title=f"Study {number}")
        by_name = select(System.blind_code).where(System.study_id == study.id).order_by(System.name)
        orders.add(tuple(session.scalars(by_name)))

    assert orders == {(1, 2), (2, 1)}


def test_a_study_moves_between_its_states(session, lead):
    study = create(session, lead)
    for state in (StudyState.open, StudyState.paused, StudyState.open, StudyState.closed, StudyState.open):
        lifecycle.set_state(session, study, state, lead.pseudonym)

    kinds = [event.kind for event in events.since(session, study.id, 0)]
    assert kinds == ["study created", "study open", "study paused", "study open", "study closed", "study open"]


@pytest.mark.parametrize("state", [StudyState.paused, StudyState.closed, StudyState.draft])
def test_a_draft_can_only_be_opened(session, lead, state):
    study = create(session, lead)

    with pytest.raises(Conflict):
        lifecycle.set_state(session, study, state, lead.pseudonym)


def test_opening_fixes_the_design_and_reopening_keeps_it(session, lead):
    study = create(session, lead)
    assert study.design_hash is None
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    first = study.design_hash, study.opened_at
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)

    assert first[0]
    assert (study.design_hash, study.opened_at) == first


@pytest.mark.parametrize(("state", "refused"), [("open", False), ("paused", False), ("closed", True), ("draft", True)])
def test_only_an_open_or_just_paused_study_accepts_work(session, lead, state, refused):
    study = create(session, lead)
    if state != "draft":
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    if state in ("paused", "closed"):
        lifecycle.set_state(session, study, StudyState(state), lead.pseudonym)

    if refused:
        with pytest.raises(StudyNotOpen):
            lifecycle.refuse_unless_writable(study)
    else:
        lifecycle.refuse_unless_writable(study)


def test_unblinding_is_logged_once(session, lead):
    study = create(session, lead)
    lifecycle.unblind(session, study, sure(lead))
    first = study.unblinded_at
    lifecycle.unblind(session, study, sure(lead))

    assert study.unblinded_at == first
    assert [event.kind for event in events.since(session, study.id, 0)].count("unblinded") == 1


def test_a_lead_sees_only_the_studies_they_lead(session, lead):
    other, annotator = add_person(session, "other", Role.lead), add_person(session, "ann")
    study = create(session, lead)
    join(session, study, annotator)

    assert [line.study.slug for line in lifecycle.lines_for_lead(session, lead)] == [study.slug]
    assert lifecycle.lines_for_lead(session, other) == []
    for stranger in (other, annotator):
        with pytest.raises(NotFound):
            lifecycle.led_by(session, stranger, study.slug)


def test_drafts_and_closed_access_are_not_offered_publicly(session, lead):
    offered = create(session, lead, title="Open")
    for title, access in (("Draft", "open"), ("Invited", "invited"), ("Panel", "panel")):
        study = create(session, lead, title=title, access=access)
        if title != "Draft":
            lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    lifecycle.set_state(session, offered, StudyState.open, lead.pseudonym)

    assert [study.title for study in lifecycle.open_to_all(session)] == ["Open"]


def assert_same_as_results(session, lead):
    for line in lifecycle.lines_for_lead(session, lead):
        counted = Counted(kinds_by_default(line.study))
        view = overview(session, line.study, counted)
        excluded = select(Membership).where(Membership.study_id == line.study.id, Membership.excluded_at.is_not(None))
        active = len(view.annotators) - len(session.scalars(excluded).all())
        assert (line.done, line.expected, line.annotators) == (view.done, view.expected, active)


@pytest.mark.long
def test_the_list_counts_the_demo_studies_as_the_results_do(sqlite_engine):
    demo.load_demo(sqlite_engine)
    with database.writing(sqlite_engine) as session:
        lead = add_person(session, "lead", Role.lead)

        assert [line.done > 0 for line in lifecycle.lines_for_lead(session, lead)] == [True] * 4
        assert_same_as_results(session, lead)


acts = st.lists(st.tuples(st.sampled_from(["submit", "skip", "ignore", "exclude"]), st.integers(0, 2)), max_size=8)


@pytest.mark.long
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=acts)
def test_the_list_counts_whatever_happened_as_the_results_do(sqlite_engine, make_study, acts):
    with database.writing(sqlite_engine) as session:
        study, lead, people = make_study(session, items=9, annotators=3)
        for act, place in acts:
            if act == "submit":
                submit(session, study, people[place])
            elif act != "exclude":
                reason = "unclear" if act == "skip" else "empty"
                set_aside(session, study, people[place], act, reason)
        if any(act == "exclude" for act, _ in acts):
            exclude(session, study, people[2], True)

        assert_same_as_results(session, lead)


def fits(rubric: str, data: bytes, name: str = "items.jsonl", **options) -> list[str]:
    parsed = read_shipped()[rubric][1] if rubric in shipped_rubrics() else parse_rubric(rubric)
    return misfits(parsed, read_items(data, name, ReadOptions(**options)))


@pytest.mark.parametrize("key", shipped_rubrics())
def test_the_demo_items_fit_their_rubric(key):
    assert fits(key, (demo.DEMO / f"{key}.jsonl").read_bytes(), judge_conversation=key == "esc_dialogue") == []


def test_speakers_that_the_rubric_does_not_name_are_reported():
    turns = [{"speaker": "usr", "text": "Hello"}, {"speaker": "bot_9", "text": "Hi"}]
    line = json.dumps({"item_id": "1", "turns": turns, "context": turns}).encode()

    message = fits("esc_dialogue", line, judge_conversation=True)

    assert len(message) == 1
    assert "'bot_9'" in message[0]
    assert "'usr'" not in message[0]


def test_speakers_are_named_up_to_a_number():
    turns = [{"speaker": f"bot_{number:03}", "text": "Hi"} for number in range(200)]
    line = json.dumps({"item_id": "1", "turns": turns, "context": turns}).encode()

    (message,) = fits("esc_dialogue", line, judge_conversation=True)

    assert message.count("'bot_") == MAX_NAMED


def test_a_text_that_no_item_has_is_named():
    rubric = SMALL_RUBRIC + "context: {extra_texts: [notes], extra_rounds: [expert]}\n"
    line = json.dumps({"item_id": "1", "candidates": {"m": "One text."}}).encode()

    assert fits(rubric, line) == [
        "The rubric shows the text 'notes' next to the responses in the expert round, but no item has it."
    ]


def test_a_file_for_another_kind_of_rubric_is_recognised():
    turns = [{"speaker": "usr", "text": "Hello"}]
    text = json.dumps({"item_id": "1", "candidates": {"m": "One text."}}).encode()
    talk = json.dumps({"item_id": "1", "candidates": [{"system": "m", "turns": turns}]}).encode()

    assert "whole conversations, but 1 of 1" in fits("esc_dialogue", text)[0]
    assert "single responses, but 1" in fits(SMALL_RUBRIC, talk)[0]


def test_fields_missing_from_the_file_are_named():
    message = " ".join(fits("rrgen", GOOD, "items.csv"))

    assert "'stars'" in message
    assert "'domain'" in message


def test_every_study_of_the_fixture_counts_its_items(session, make_study):
    study, _, _ = make_study(session, items=5)

    assert count_items(session, study) == len(draft_items(5))
    assert rows(session, Candidate) == 5 * len(SYSTEMS)


def test_a_study_begins_with_its_protocols_pay_and_rules(session, lead):
    yaml = shipped_rubrics()["mental_health_qa"].read_text(encoding="utf-8")
    expert, crowd = (create(session, lead, rubric=yaml, round=name, title=name) for name in ("expert", "crowd"))
    assert (settings_of(expert).pay.per_item, settings_of(expert).recruitment.eligibility) == (Decimal("2.27"), ())
    assert settings_of(crowd).pay.per_item == Decimal("0.6")
    assert "Located in the United States" in settings_of(crowd).recruitment.eligibility

    next_round = duplicate(session, expert, "Next", lead, next_round=Round.crowd)
    assert settings_of(next_round).pay == settings_of(crowd).pay
    expert.settings = {**expert.settings, "pay": {"per_item": "9"}}
    assert settings_of(duplicate(session, expert, "Paid", lead, next_round=Round.pilot)).pay.per_item == 9
