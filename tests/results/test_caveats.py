"""One list of what a reader must know: in the ratings, in the log, on the page, in the report and in its datasheet."""

from __future__ import annotations

import csv
import io
import json
import random
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.check_items import add_check, rate
from helpers.frames import likert_rubric, make_frame
from helpers.ratings import exclude, resubmit, set_aside, submit
from helpers.reports import new_study, report_of, some_answers
from helpers.studies import SMALL_RUBRIC, SYSTEMS, add_person, draft_items, full_answers, join, sure
from openpyxl import load_workbook

from triptych.formats.model import CandidateDraft, ItemFile, TurnDraft
from triptych.operations import verify
from triptych.participants.watching import watched
from triptych.people import accounts, roster
from triptych.privacy import deletion, withdrawal
from triptych.results import adjudication
from triptych.results.caveats import _surplus, caveats
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import build_frame
from triptych.results.looking import log_look
from triptych.results.study_analysis import StudyAnalysis
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import AssignmentState, Purpose, Role, Study, StudyState
from triptych.study import copies, lifecycle
from triptych.study.design import Parts, amend
from triptych.study.duplicate import duplicate
from triptych.study.settings import Consent, Preregistration, StudySettings, stored
from triptych.study.system_names import system_names


def listed(session, study, **scope) -> dict[str, str]:
    analysis = StudyAnalysis(build_frame(session, study), Counted(**scope), system_names(session, study))
    return {finding.kind: finding.sentence for finding in caveats(session, study, analysis)}


def test_groups_of_items_declared_after_annotations_are_reported(engine, make_study):
    with database.writing(engine) as session:
        study, lead, (annotator, *_) = make_study(session)
        amend(session, study, Parts(settings={"group_field": "dialogue"}), "Forgotten.", lead.pseudonym)
        submit(session, study, annotator, full_answers())
        assert "groups declared late" not in listed(session, study)
        study.settings = {**study.settings, "group_field": ""}
        amend(session, study, Parts(settings={"group_field": "passage"}), "Forgotten.", lead.pseudonym)
        assert listed(session, study)["groups declared late"].startswith(
            "The field that groups items was changed from none to passage when annotations were in ("
        )


FAVOURED = "Criterion 1: J-1 places System 2 higher against System 1 than "
IN_THEIR_PLACE = "on the same responses. In the place of an annotator it would favour System 2."


@pytest.mark.parametrize(
    ("people", "fond", "start", "end"),
    [
        (5, 0.0, "", ""),
        (5, 1.0, "the annotators do, by ", IN_THEIR_PLACE),
        (3, 1.0, "these 3 annotators do, by ", "on the same responses; other annotators may differ."),
        (1, 1.0, "this annotator does, by ", "on the same responses; other annotators may differ."),
    ],
)
def test_a_system_that_a_judge_favours_is_named(sqlite_engine, make_study, people, fond, start, end):
    """Such a judge won against all annotators, and nothing told it from one that agrees with them. Beside three
    annotators with tastes, a judge without any was said to favour a system."""
    random = np.random.default_rng(1)
    quality, annotators = random.normal(0, 0.8, (60, 2)), [(f"P-{n}", "human", 1.2) for n in range(people)]
    rows = [
        {"annotator": name, "kind": kind, "item": f"item-{item}", "system": system + 1, "criterion": "c1"}
        | {"value": float(np.clip(np.round(4 + quality[item, system] + noise * random.normal() + more), 1, 7))}
        for name, kind, noise in [*annotators, ("J-1", "judge", 0.4)]
        for item in range(60)
        for system, more in ((0, 0), (1, fond if kind == "judge" else 0))
    ]
    analysis = StudyAnalysis(make_frame(likert_rubric(), pd.DataFrame(rows)), Counted(), {1: "System 1", 2: "System 2"})
    with database.writing(sqlite_engine) as session:
        sentences = {of.kind: of.sentence for of in caveats(session, make_study(session)[0], analysis)}
    sentence = sentences.get("favoured by a judge", "")
    assert bool(sentence) == bool(fond)
    assert sentence.startswith(FAVOURED + start if fond else "") and sentence.endswith(end)


@pytest.mark.long
def test_report_and_datasheet_print_the_list_of_the_page(sqlite_engine):
    rng = random.Random(4)
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=2, annotators=3)
        for who in people * 2:
            submit(session, study, who, some_answers(rng))
        exclude(session, study, people[-1])
        lifecycle.unblind(session, study, sure(lead))
    report = report_of(sqlite_engine, study)
    with database.reading(sqlite_engine) as session:
        study = lifecycle.by_slug(session, study.slug)
        analysis = StudyAnalysis(build_frame(session, study), Counted(), system_names(session, study))
        sentences = [finding.sentence for finding in caveats(session, study, analysis)]

    assert any("2 annotations of 1 excluded annotator are left out" in sentence for sentence in sentences)
    assert any("Leads have known the names of the systems since" in sentence for sentence in sentences)
    sheet = load_workbook(io.BytesIO(report.files["results.xlsx"]))["findings"]
    rows = [row[0] for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert [row for row in rows if row] == sentences
    quality = "heds-sample_evaluators_design-experimental_design-quality_assurance-description"
    answer = json.loads(report.files["heds.json"])[quality]["data"][""]
    assert all(sentence.rstrip(".") in answer for sentence in sentences)


def test_items_an_excluded_annotator_set_aside_are_no_annotations(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study, _, people = new_study(session, items=3, annotators=2)
        for who in people:
            submit(session, study, who)
        set_aside(session, study, people[0], "ignore", "empty")
        set_aside(session, study, people[0], "skip", "unclear")
        exclude(session, study, people[0])
        sentence = listed(session, study)["excluded"]
    (row,) = csv.DictReader(io.StringIO(report_of(sqlite_engine, study).files["exclusions.csv"].decode()))
    assert sentence.startswith("1 annotation of 1 excluded annotator is left out")
    assert row["annotations"] == "1"


def test_a_check_item_taken_out_is_no_excluded_item(sqlite_engine):
    """It was listed as an item that is in the numbers."""
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=3, annotators=2)
        submit(session, study, people[0])
        add_check(session, study, Purpose.gold, 1)
        amend(session, study, Parts(retire=("gold-1", "item-3")), "unclear", lead.pseudonym)
    rows = csv.DictReader(io.StringIO(report_of(sqlite_engine, study).files["exclusions.csv"].decode()))
    assert [row["which"] for row in rows] == ["item-3"]


def test_a_retired_item_counts_no_annotation_of_excluded_people(sqlite_engine):
    """Its row said that their annotation is in the numbers, against the annotator's own row."""
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=1, annotators=2)
        for who in people:
            submit(session, study, who)
        exclude(session, study, people[0])
        amend(session, study, Parts(retire=("item-1",)), "unclear", lead.pseudonym)
    rows = csv.DictReader(io.StringIO(report_of(sqlite_engine, study).files["exclusions.csv"].decode()))
    assert [(row["what"], row["annotations"], row["in the numbers"]) for row in rows] == [
        ("annotator", "1", "0"),
        ("item", "1", "1"),
    ]


@pytest.mark.parametrize(
    ("bound", "ending"), [(0.001, "; this changes no conclusion about systems."), (0, "left out.")]
)
def test_exclusions_change_no_conclusion_only_where_there_are_tests(sqlite_engine, bound, ending):
    """Before the end, a study without tests until then has none."""
    rng = random.Random(4)
    with database.writing(sqlite_engine) as session:
        study, _, people = new_study(session, items=3, annotators=3)
        study.settings = stored(StudySettings(preregistration=Preregistration(interim_bound=bound)))
        for who in people * 2:
            submit(session, study, who, some_answers(rng))
        exclude(session, study, people[0])
        assert listed(session, study)["excluded"].endswith(ending)


def test_final_values_by_an_excluded_annotator_are_reported(sqlite_engine):
    """They stay in the means with final values, where exclusions.csv says that nothing of the annotator counts."""
    with database.writing(sqlite_engine) as session:
        study, lead, (*people, asked) = new_study(session, items=2, annotators=3)
        for who in people * 2:
            submit(session, study, who, full_answers())
        adjudication.ask(session, study, "item-1", asked.pseudonym, lead)
        submit(session, study, asked, full_answers())
        adjudication.record(session, study, "item-2", {(1, "fluency"): 2}, "Read again.", lead)
        assert "excluded finals" not in listed(session, study)
        exclude(session, study, asked)
        sentence = listed(session, study)["excluded finals"]
    assert sentence.startswith("Final values of 1 of 2 items are by excluded annotators")


def test_changes_after_unblinding_are_said(sqlite_engine):
    """A changed annotation did not come in again; one of an item that was ignored before does come in."""
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=1, annotators=3)
        works = [submit(session, study, people[0]), set_aside(session, study, people[1], "ignore", "empty")]
        lifecycle.unblind(session, study, sure(lead))
        works.append(submit(session, study, people[2]))
        for who, work in zip(people, works, strict=True):
            resubmit(session, who, work, full_answers(fluency=1))
    with database.reading(sqlite_engine) as session:
        kinds = listed(session, lifecycle.by_slug(session, study.slug))

    assert "2 annotations came in afterwards, and 1 change of earlier ones" in kinds["unblinded"]
    assert "3 changes of submitted annotations" in kinds["annotation edited"]


def test_a_change_after_a_viewers_look_names_no_lead(engine, make_study):
    with database.writing(engine) as session:
        study, _, (annotator, *_) = make_study(session)
        submit(session, study, annotator)
        events.record(session, study.id, EventKind.results_opened, "V-00001")
    with database.writing(engine) as session:
        events.record(session, study.id, EventKind.annotation_edited, annotator.pseudonym)
    with database.reading(engine) as session:
        kinds = listed(session, lifecycle.by_slug(session, study.slug))
    sentence = "1 change of submitted annotations after the results had first been opened."
    assert kinds["edited after a look"] == sentence


def test_a_withdrawal_after_the_end_makes_no_study_incomplete(sqlite_engine):
    """Kept ratings became surplus, and the report said that the study was closed early, after a look."""
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=2, annotators=3)
        for who in people * 2:
            submit(session, study, who, full_answers())
        log_look(session, study, 6, 6, lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        before = listed(session, study)
        assert withdrawal.withdraw(session, study, people[0].pseudonym, people[0].pseudonym) == "keep"
        after = listed(session, study)
        assert verify.verify(session, study).holds

    assert {kind: after[kind] for kind in after if kind != "withdrew"} == before
    assert "closed early" not in " ".join(after.values())


def test_ratings_deleted_with_a_withdrawal_are_said(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=2, annotators=3)
        study.settings = stored(StudySettings(consent=Consent(after_withdrawal="delete")))
        for who in people:
            submit(session, study, who, full_answers())
        for who, actor in ((people[0], lead), (people[1], people[1])):
            assert withdrawal.withdraw(session, study, who.pseudonym, actor.pseudonym) == "delete"
        kinds = listed(session, study)

    assert kinds["deleted"] == (
        "2 annotators withdrew, 1 of them by a lead. Their ratings were deleted, as stated in the consent text they "
        "agreed to or, without one, in the settings at launch."
    )


@pytest.mark.long
@pytest.mark.parametrize("removed", [False, True])
def test_annotations_by_a_lead_are_reported_in_the_methods(sqlite_engine, removed):
    """Who uploads the texts under their systems' names needs no unblinding to know them."""
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=1, annotators=2)
        submit(session, study, people[1], full_answers())
        assert "leads" not in listed(session, study)
        join(session, study, lead)
        submit(session, study, lead, full_answers())
        if removed:
            other = accounts.create_lead(session, "Ada", "passcode of a lead")
            roster.enrol_lead(session, study, other, lead.pseudonym)
            session.flush()
            roster.remove_lead(session, study, lead.pseudonym, sure(lead))
        sentence = listed(session, study)["leads"]
        to_viewers = StudyAnalysis(watched(session, study).frame, Counted(), system_names(session, study))
        assert sentence in [finding.sentence for finding in caveats(session, study, to_viewers)]
    assert sentence.startswith("1 of 2 annotators leads or led the study, with 1 of 2 annotations")
    assert sentence in report_of(sqlite_engine, study).files["methods.txt"].decode()


def test_viewers_read_who_failed_hidden_checks(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study, _, (careful, careless) = new_study(session, items=1, annotators=2)
        for who in (careful, careless):
            submit(session, study, who, full_answers())
        for number in range(3):
            item = add_check(session, study, Purpose.attention, number)
            rate(session, study, careless, item, Purpose.attention, (1, 1, 1))
        frames = {careless.pseudonym: build_frame(session, study), "Annotator 2": watched(session, study).frame}
        for name, frame in frames.items():
            analysis = StudyAnalysis(frame, Counted(), system_names(session, study))
            sentences = [finding.sentence for finding in caveats(session, study, analysis)]
            assert f"{name}: 3 of 3 attention checks failed." in sentences


@pytest.mark.long
def test_copies_of_opened_studies_are_reported_in_the_methods(sqlite_engine):
    """A study could be copied and run again until a difference was clear, and no file of its report said so."""
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=1, annotators=1)
        for title in ("Second", "Third"):
            submit(session, study, people[0], full_answers())
            log_look(session, study, 1, 1, lead.pseudonym)
            draft = duplicate(session, study, f"{title} draft", lead)
            assert "repeated" not in listed(session, duplicate(session, study, "Other texts", lead, with_items=False))
            study = duplicate(session, draft, title, lead)
            lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
            join(session, study, people[0])
        submit(session, study, people[0], full_answers())
        sentence = listed(session, study)["repeated"]
    assert sentence == "This study repeats 1 item of 2 earlier studies; results of 2 were opened before its launch."
    assert sentence in report_of(sqlite_engine, study).files["methods.txt"].decode()


@pytest.mark.long
@pytest.mark.parametrize(
    ("with_items", "replaced", "numbers", "repeated"),
    [(True, True, range(4, 9), 0), (True, False, range(4, 9), 3), (False, False, range(2, 9), 2)],
)
def test_a_copy_repeats_the_items_that_it_shares(engine, with_items, replaced, numbers, repeated):
    """It was said to repeat the same items where all were others, and nothing where the same file was added again."""
    drafts = tuple(draft_items(8)[number - 1] for number in numbers)
    file = ItemFile("jsonl", drafts, systems=SYSTEMS)
    with database.writing(engine) as session:
        first, lead, _ = new_study(session, items=3, annotators=1)
        study = duplicate(session, first, "Second", lead, with_items=with_items)
        amend(session, study, Parts(items=file, replace_items=replaced), "", lead.pseudonym)
        before = listed(session, study).get("repeated", "")
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        after = listed(session, study).get("repeated", "")
    assert before == after
    assert after.startswith(f"This study repeats {repeated} items of 1 earlier study; " if repeated else "")
    assert bool(after) == bool(repeated)


def test_items_added_after_the_launch_of_a_copy_are_repeated(engine):
    """What the launch logged, of one item, was reported for all."""
    parts = tuple(draft_items(1)), tuple(draft_items(3)[1:])
    files = [ItemFile("jsonl", part, systems=SYSTEMS) for part in parts]
    with database.writing(engine) as session:
        first, lead, _ = new_study(session, items=3, annotators=1)
        log_look(session, first, 1, 1, lead.pseudonym)
        study = duplicate(session, first, "Second", lead, with_items=False)
        amend(session, study, Parts(items=files[0]), "", lead.pseudonym)
        events.write_pending(session)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
    with database.writing(engine) as session:
        study = session.get_one(Study, study.id)
        amend(session, study, Parts(items=files[1]), "More items.", lead.pseudonym)
    with database.reading(engine) as session:
        sentence = listed(session, session.get_one(Study, study.id))["repeated"]
    assert sentence.startswith("This study repeats 3 items of 1 earlier study; results of 1 were opened")


@pytest.mark.parametrize(("question", "repeated"), [("And tomorrow?", False), ("And today?", True)])
def test_a_copy_with_other_dialogues_repeats_none(engine, question, repeated):
    """The same response to another dialogue counted as a shared item, since a dialogue is no text."""
    first_draft, second_draft = (
        replace(draft, context_text=None, context_turns=(TurnDraft("user", "Hello"), TurnDraft("user", said)))
        for draft, said in zip(draft_items(1) * 2, ("And today?", question), strict=True)
    )
    file = ItemFile("jsonl", (second_draft,), systems=SYSTEMS)
    with database.writing(engine) as session:
        lead = new_study(session, items=1, annotators=1)[1]
        plan = lifecycle.StudyPlan(title="Dialogues")
        first = lifecycle.create_study(session, plan, SMALL_RUBRIC, [first_draft], lead.pseudonym, lead.person_id)
        lifecycle.set_state(session, first, StudyState.open, lead.pseudonym)
        study = duplicate(session, first, "Second", lead)
        amend(session, study, Parts(items=file, replace_items=True), "", lead.pseudonym)
        assert ("repeated" in listed(session, study)) == repeated


def test_items_added_while_a_copy_is_launched_are_no_error(sqlite_engine, monkeypatch):
    """On PostgreSQL each query sees what others have stored meanwhile."""
    file = ItemFile("jsonl", tuple(draft_items(4)[3:]), systems=SYSTEMS)
    read = copies._contexts
    with database.writing(sqlite_engine) as session:
        first, lead, _ = new_study(session, items=3, annotators=1)
        study = duplicate(session, first, "Second", lead)

        def then_another_item(*of):
            contexts = read(*of)
            amend(session, first, Parts(items=file), "More items.", lead.pseudonym)
            return contexts

        monkeypatch.setattr(copies, "_contexts", then_another_item)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        events.write_pending(session)
        assert copies.earlier_runs(session, study).items == 3


@pytest.mark.parametrize("context", ["", "Which one?"])
def test_memory_of_a_copys_launch_grows_with_items_not_pairs(sqlite_engine, context):
    """Equal short responses were compared in pairs, a gigabyte for 2,000 dialogues, while nobody else could write."""
    refusals = tuple(CandidateDraft(system, "No.", None) for system in SYSTEMS)
    drafts = [
        replace(draft, candidates=refusals, context_text=context or None, context_turns=turns)
        for draft in draft_items(200)
        for turns in [() if context else (TurnDraft("user", draft.external_id),)]
    ]
    with database.writing(sqlite_engine) as session:
        lead = new_study(session, items=1, annotators=1)[1]
        plan = lifecycle.StudyPlan(title="Refusals")
        first = lifecycle.create_study(session, plan, SMALL_RUBRIC, drafts, lead.pseudonym, lead.person_id)
        lifecycle.set_state(session, first, StudyState.open, lead.pseudonym)
        study = duplicate(session, first, "Second", lead)
        events.write_pending(session)
        tracemalloc.start()
        logged = copies.to_log(session, study)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert logged["repeats"]["items"] == 200
    assert peak < 2_000_000


def test_a_deleted_draft_was_no_earlier_study(sqlite_engine):
    """Its copy was said to repeat it, and to follow a look at the study that got its short name."""
    with database.writing(sqlite_engine) as session:
        lead = add_person(session, "lead", Role.lead)

        def made(title: str, items: int) -> Study:
            plan = lifecycle.StudyPlan(title=title)
            return lifecycle.create_study(
                session, plan, SMALL_RUBRIC, draft_items(items), lead.pseudonym, lead.person_id
            )

        draft = made("Try", 2)
        study = duplicate(session, draft, "Final", lead)
        events.write_pending(session)
        deletion.delete_draft(session, draft, lead)
        another = made("Try", 3)
        assert another.slug == "try"
        lifecycle.set_state(session, another, StudyState.open, lead.pseudonym)
        log_look(session, another, 1, 1, lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        assert "repeated" not in listed(session, study)


def test_answers_at_one_end_are_a_ceiling(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study, _, people = new_study(session, items=2, annotators=3)
        for who in people * 2:
            submit(session, study, who, full_answers(fluency=3))
    with database.reading(sqlite_engine) as session:
        kinds = listed(session, lifecycle.by_slug(session, study.slug))

    assert kinds["ceiling"].startswith("Fluency: 100 % of the answers are the highest point of the scale")


def test_answers_at_one_end_of_a_slider_are_a_ceiling(sqlite_engine):
    """Its values are not counted one by one, as the points of other scales are."""
    scale = "{kind: number, low: 0, high: 100}"
    worth = f"  - {{key: worth, title: Worth, definition: How much., scale: {scale}}}\n"
    with database.writing(sqlite_engine) as session:
        study, _, people = new_study(session, 2, 3, SMALL_RUBRIC.replace("criteria:\n", f"criteria:\n{worth}", 1))
        for who in people * 2:
            answers = full_answers(fluency=2)
            for given in answers["ratings"].values():
                given["worth"] = 100
            submit(session, study, who, answers)
    with database.reading(sqlite_engine) as session:
        kinds = listed(session, lifecycle.by_slug(session, study.slug))

    assert kinds["ceiling"].startswith("Worth: 100 % of the answers are the highest point of the scale")


def test_a_study_without_work_is_only_said_to_be_interim(sqlite_engine):
    with database.writing(sqlite_engine) as session:
        study, *_ = new_study(session, items=1, annotators=1)
    with database.reading(sqlite_engine) as session:
        assert listed(session, lifecycle.by_slug(session, study.slug)).keys() == {"collection"}


@pytest.mark.parametrize(("count", "verb"), [(1, "is"), (2, "are")])
def test_surplus_annotations_are_counted_in_words(count: int, verb: str):
    analysis: Any = SimpleNamespace(work=pd.DataFrame({"state": [AssignmentState.surplus] * count}))
    (finding,) = _surplus(analysis)
    assert finding.sentence.endswith(f" beyond the planned number per item {verb} included.")
