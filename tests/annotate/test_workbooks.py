"""Work in spreadsheets: what a workbook holds, what is accepted back, and that the web stores the same."""

import io
import zipfile
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from helpers.present import present
from helpers.ratings import assigned, resubmit, submit
from helpers.studies import SMALL_RUBRIC, SYSTEMS, add_person, draft_items, full_answers, join
from helpers.workbooks import Sheet
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook as Book
from sqlalchemy import func, select

from triptych import clock
from triptych.annotate import (
    annotations,
    assignments,
    drafts,
    exclusions,
    onboarding,
    progress,
    reservations,
    workbooks,
)
from triptych.annotate.assignments import NoItem
from triptych.errors import Conflict, ImportRefused, InvalidAnnotation, NotAllowed, NotFound, StudyNotOpen
from triptych.formats import read_items
from triptych.formats.long_csv import safe_text
from triptych.formats.model import MAX_UPLOAD, CandidateDraft, ItemDraft
from triptych.formats.workbook.columns import explanation_in, label, right_for, value_in
from triptych.formats.workbook.reading import read_filled
from triptych.operations.verify import verify
from triptych.people import joining
from triptych.rubric.files import shipped_rubrics
from triptych.rubric.model import LETTERS
from triptych.rubric.scales import Ask, Best, Choice, Likert, NumberScale
from triptych.simulate import demo
from triptych.storage import database, events
from triptych.storage.models import (
    Assignment,
    Candidate,
    Explanation,
    Item,
    Membership,
    Origin,
    Rating,
    Role,
    Round,
    Slot,
    StoredCriterion,
    StudyState,
)
from triptych.study import design, lifecycle
from triptych.study.settings import AFTER_WITHDRAWAL, settings_of

BEST = """
  - key: winner
    title: Winner
    definition: The best of all.
    about: item
    scale: {kind: best}
explanation:"""
WITH_BEST = SMALL_RUBRIC.replace("\nexplanation:", BEST)
OPTIONAL = """
  - key: share
    title: Share right
    definition: How many percent are right.
    required: false
    scale: {kind: number, low: 0, high: 100, step: 1, unit: '%'}
explanation:"""
WITH_OPTIONAL = SMALL_RUBRIC.replace("\nexplanation:", OPTIONAL)
SHORT_NUMBER = OPTIONAL.replace("high: 100, step: 1", "high: 20, step: 10")
WITH_LISTS = WITH_BEST.replace("kind: best", "kind: best, none_option: true").replace("\nexplanation:", SHORT_NUMBER)
WITH_TEXT = WITH_BEST.replace("title: Accept,", "title: Accept, ask: {free_text: required},")
WITH_REASONS_ALONE = WITH_TEXT.replace("free_text: optional", "free_text: none")
LEFT_OUT = "Ignore this question: It asks nothing"
TOO_LONG = "String should have at most 10000 characters"
OPEN_DOCUMENT = b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"
FORMULA = '=HYPERLINK("http://evil.example")'


@pytest.fixture
def desk(sqlite_engine, make_study):
    """desk(items, …) → (session, study, lead, annotators, Sheet of a workbook for the first of them)."""
    opened = []

    def lay(items: int = 2, engine=sqlite_engine, count: int = 99, **plan):
        opened.append(database.writing(engine))
        session = opened[-1].__enter__()
        study, lead, people = make_study(session, items=items, **plan)
        made = workbooks.make(session, study, people[0].pseudonym, count, lead.pseudonym)
        return session, study, lead, people, Sheet(workbooks.file_of(session, study, made.id))

    yield lay
    for transaction in opened:
        transaction.__exit__(None, None, None)


def errors(returned: workbooks.Returned) -> list[tuple[int | None, str, str]]:
    return [(finding.row, finding.column, finding.what) for finding in returned.findings if finding.severity == "error"]


def numbers_of(session, key: str) -> list[float]:
    """The numbers stored for one criterion, by place."""
    of_criterion = select(Rating.number).join(StoredCriterion, StoredCriterion.id == Rating.criterion_id)
    return list(session.scalars(of_criterion.where(StoredCriterion.key == key).order_by(Rating.position)))


def rating_rows(session, pseudonym_id: int) -> list[tuple]:
    """All that one person rated, by item and system: the order on screen may differ between workbook and web."""
    rows = (
        select(
            Item.external_id,
            Candidate.system_id,
            Rating.criterion_id,
            Rating.number,
            Rating.option_id,
            Rating.missing,
            Explanation.reasons,
            Explanation.text,
            Explanation.words,
            Slot.set_aside,
        )
        .join(Assignment, Assignment.id == Rating.assignment_id)
        .join(Item, Item.id == Assignment.item_id)
        .outerjoin(Slot, (Slot.assignment_id == Rating.assignment_id) & (Slot.position == Rating.position))
        .outerjoin(Candidate, Candidate.id == Slot.candidate_id)
        .outerjoin(Explanation, Explanation.rating_id == Rating.id)
        .where(Assignment.person_id == pseudonym_id)
    )
    return sorted(map(tuple, session.execute(rows)), key=repr)


# What is given out


def test_a_workbook_holds_no_system_file_id_or_formula(desk, sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        lead, annotator = add_person(session, "lead", Role.lead), add_person(session, "ann")
        items = [
            ItemDraft(
                external_id="plumbum-17.csv",
                context_text=FORMULA,
                context_turns=(),
                candidates=tuple(
                    CandidateDraft(name, f"{sign}cmd {n}", None)
                    for n, (name, sign) in enumerate(zip(SYSTEMS, "+-@", strict=True))
                ),
                meta={"source": "plumbum-17.csv"},
                extra_texts={},
                row=1,
            )
        ]
        study = lifecycle.create_study(session, lifecycle.StudyPlan(title="=1+1"), SMALL_RUBRIC, items, lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        join(session, study, annotator)
        made = workbooks.make(session, study, annotator.pseudonym, 1, lead.pseudonym)
        data = workbooks.file_of(session, study, made.id)
        tokens = session.execute(select(Assignment.token)).scalars().all()
        candidates = session.execute(select(Candidate.sha256)).scalars().all()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = "\n".join(archive.read(name).decode() for name in archive.namelist())
    assert not [word for word in (*SYSTEMS, "17.csv", *tokens, *candidates, "System 1") if word in content]
    sheet = Sheet(data)
    assert sheet.get(0, "context") == f"'{FORMULA}"
    cells = [cell for page in sheet.book for row in page.iter_rows() for cell in row if cell.value is not None]
    assert not [cell for cell in cells if cell.data_type == "f" or str(cell.value)[0] in "=+-@\t"]
    assert len(cells) > 20


def test_only_answer_cells_are_editable_and_have_lists(desk):
    *_, sheet = desk(1, rubric=WITH_LISTS)
    page, hidden = sheet.sheet, sheet.book["Triptych"]
    # without a font in the file a program chooses its own
    assert {cell.font.name for row in page.iter_rows() for cell in row} == {"Calibri"}
    open_keys = {key for key, column in sheet.keys.items() if not page.cell(4, column).protection.locked}
    assert open_keys == {key for key in sheet.keys if key.partition(":")[0] in {"rating", "reasons", "words"}} | {
        "aside",
        "leave_out",
        "note",
    }
    assert page.protection.sheet and page.freeze_panes == "C4" and hidden.sheet_state == "veryHidden"
    assert page.column_dimensions["A"].hidden and page.row_dimensions[1].hidden
    lists = {}
    for rule in page.data_validations.dataValidation:
        if rule.type == "list":
            cells = hidden[rule.formula1.split("!")[1].replace("$", "")]
            lists[next(iter(rule.sqref.ranges)).min_col] = [row[0].value for row in cells]
    assert lists[sheet.keys["rating:fluency"]] == ["1 – Poor", "3 – Good", 1, 2, 3]
    assert lists[sheet.keys["rating:verdict"]] == ["Accept", "Reject", "Cannot say"]
    every_set = ["A", "B", "C", "A, B", "A, C", "B, C", "A, B, C"]
    assert lists[sheet.keys["rating:winner"]] == [*every_set, "none of them"]
    assert lists[sheet.keys["rating:share"]] == [0, 10, 20]
    assert "It is wrong; It is rude" in lists[sheet.keys["reasons:verdict"]]
    guidelines = [cell.value for row in sheet.book["Guidelines"].iter_rows() for cell in row]
    assert "How well the response reads." in guidelines


def test_a_workbook_states_what_the_consent_page_does(desk):
    session, study, _, _, _ = desk(1)
    ethics = {"approval": "EK 12/26", "stored_until": "2036-01-31", "complaints": "ombud@example.org"}
    study.settings = {"ethics": ethics}
    session.flush()
    (line,) = workbooks.listed(session, study)

    page = Sheet(workbooks.file_of(session, study, line.id)).book["Guidelines"]

    stated = {"Approved": "EK 12/26", "Data are stored until": "2036-01-31", "Complaints": "ombud@example.org"}
    assert stated.items() <= dict(page.iter_rows(max_col=2, values_only=True)).items()


@pytest.mark.long
def test_the_items_of_a_workbook_are_reserved_and_balanced(engine, desk):
    session, study, lead, (first, second), _ = desk(4, engine, count=3, raters_per_item=1)
    reserved = session.scalars(select(Assignment).where(Assignment.origin == Origin.workbook)).all()
    assert {assignment.state for assignment in reserved} == {"reserved"} and len(
        {assignment.item_id for assignment in reserved}
    ) == 3
    assert all(
        assignment.expires_at > clock.now() + timedelta(days=1000) and assignment.design_hash for assignment in reserved
    )
    places = select(Candidate.system_id, Slot.position, func.count()).join(Slot).group_by("system_id", "position")
    assert max(n for *_, n in session.execute(places)) <= 2  # of 3

    here = assignments.current(session, study, first)
    assert here.item_id not in {assignment.item_id for assignment in reserved}
    assert assignments.current(session, study, second) == NoItem.nothing_free
    submit(session, study, first, full_answers())
    assert assignments.current(session, study, second) == NoItem.none_left
    with pytest.raises(Conflict, match="no item left"):
        workbooks.make(session, study, second.pseudonym, 5, lead.pseudonym)
    assert workbooks.cancel(session, study, workbooks.listed(session, study)[-1].id, lead.pseudonym) == 3


def test_a_cancelled_workbook_frees_its_items_and_is_refused(desk):
    session, study, lead, (first, _), sheet = desk(2, raters_per_item=1)
    (line,) = workbooks.listed(session, study)
    assert (line.pseudonym, line.items, line.done, line.state) == (first.pseudonym, 2, 0, "given out")

    assert workbooks.cancel(session, study, line.id, lead.pseudonym) == 2

    assert session.scalars(select(Item.taken).where(Item.purpose == "main")).all() == [0, 0]
    assert workbooks.listed(session, study)[0].state == "cancelled"
    for taking in (
        lambda: workbooks.check(session, study, read_filled(sheet.fill().saved())),
        lambda: workbooks.file_of(session, study, line.id),
        lambda: workbooks.cancel(session, study, line.id, lead.pseudonym),
    ):
        with pytest.raises(Conflict, match="was cancelled on"):
            taking()
    again = workbooks.make(session, study, first.pseudonym, 1, lead.pseudonym)
    assert again.items == 1
    assert isinstance(assignments.current(session, study, first), reservations.Assigned)


def test_a_workbook_takes_up_an_expired_assignment(sqlite_engine, make_study, monkeypatch):
    with database.writing(sqlite_engine) as session:
        study, lead, (who, _) = make_study(session, items=1)
        before = assigned(session, study, who)
        draft: dict[str, Any] = {
            "assignment": before.token,
            "version": 1,
            "pen": "a-tab-of-theirs",
            "seq": 1,
            "base": 0,
            "draft": {},
        }
        drafts.save_draft(session, who, annotations.read_message(drafts.DraftMessage, draft))
        later = clock.now() + timedelta(hours=5)
        monkeypatch.setattr(clock, "now", lambda: later)
        workbooks.make(session, study, who.pseudonym, 1, lead.pseudonym)
        stored = session.scalars(select(Assignment).execution_options(populate_existing=True)).all()
        assert [(assignment.id, assignment.origin, assignment.state) for assignment in stored] == [
            (before.id, "workbook", "reserved")
        ]
        assert assignments.current(session, study, who) == NoItem.none_left


def test_a_workbook_respects_exclusions_and_limits(desk):
    session, study, lead, (first, second), _ = desk(4, count=1, items_per_annotator=2)
    assert workbooks.make(session, study, first.pseudonym, 9, lead.pseudonym).items == 1
    with pytest.raises(Conflict, match="2 items that this study allows"):
        workbooks.make(session, study, first.pseudonym, 1, lead.pseudonym)
    with pytest.raises(NotFound):
        workbooks.make(session, study, "P-nobody", 1, lead.pseudonym)
    with pytest.raises(NotAllowed, match="1 to 300"):
        workbooks.make(session, study, second.pseudonym, 0, lead.pseudonym)
    session.scalars(select(Membership).where(Membership.person_id == second.person_id)).one().excluded_at = clock.now()
    session.flush()
    with pytest.raises(NotAllowed, match="was excluded"):
        workbooks.make(session, study, second.pseudonym, 1, lead.pseudonym)
    assert workbooks.make_for_new(session, study, "Dr Expert", 2, lead.pseudonym).items == 2
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    with pytest.raises(StudyNotOpen):
        workbooks.make(session, study, first.pseudonym, 1, lead.pseudonym)


def test_a_text_longer_than_a_cell_makes_no_workbook(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, (who, _) = make_study(session, items=1)
        session.scalars(select(Item)).one().context = "x" * 32_001
        with pytest.raises(ImportRefused, match="Item 1 of this workbook has a text of more than 32,000 characters"):
            workbooks.make(session, study, who.pseudonym, 1, lead.pseudonym)


# What comes back


def on_the_web(session, study, who, drafts_by_item: dict[int, dict]) -> None:
    """Submits on the web, item by item, what a workbook's drafts say about the same responses."""
    for _ in drafts_by_item:
        here = assignments.current(session, study, who)
        theirs, shown = slots(session, assignment_on(session, here.item_id, "workbook").id), slots(session, here.id)
        same = {LETTERS[shown.index(candidate)]: LETTERS[place] for place, candidate in enumerate(theirs)}
        answers = {}
        for part in ("ratings", "explanations", "set_aside"):
            values = drafts_by_item[here.item_id][part]
            answers[part] = {letter: values[was] for letter, was in same.items() if was in values}
        winners = drafts_by_item[here.item_id]["ratings"]["item"]["winner"]
        answers["ratings"]["item"] = {"winner": [letter for letter, was in same.items() if was in winners]}
        submit(session, study, who, answers)


def slots(session, assignment_id: int) -> list[int]:
    candidates = select(Slot.candidate_id).where(Slot.assignment_id == assignment_id).order_by(Slot.position)
    return list(session.scalars(candidates))


def assignment_on(session, item_id: int, origin: str) -> Assignment:
    own = select(Assignment).where(Assignment.item_id == item_id, Assignment.origin == origin)
    return session.scalars(own.execution_options(populate_existing=True)).one()


def test_workbook_and_web_store_the_same_rows(desk):
    session, study, lead, (first, second), sheet = desk(2, rubric=WITH_BEST)
    sheet.fill(fluency="3 – Good")
    for row, key, value in (
        (1, "rating:fluency", "1,0 "),
        (1, "rating:verdict", " reject"),
        (1, "reasons:verdict", "It is rude; it is wrong."),
        (1, "words:verdict", "not in order"),
        (2, "rating:fluency", None),
        (2, "rating:verdict", None),
        (2, "aside", "It is blank"),
        (0, "rating:winner", "a and B"),
        (3, "rating:winner", "B"),
        (3, "note", "Thanks"),
    ):
        sheet.put(row, key, value)

    done = workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym)

    assert (done.stored, done.unchanged) == (2, 0)
    handed_in = session.scalars(select(Assignment).where(Assignment.origin == "workbook")).all()
    on_the_web(session, study, second, {assignment.item_id: assignment.draft for assignment in handed_in})
    by_workbook, on_web = rating_rows(session, first.person_id), rating_rows(session, second.person_id)
    assert by_workbook == on_web
    assert len(by_workbook) == 18
    assert sorted(filter(None, (assignment.note for assignment in handed_in))) == ["Thanks"]
    assert progress.of_work(session, study, first).done == 2
    assert workbooks.listed(session, study)[0].state == "handed in"
    assert verify(session, study).differences == ()


def test_best_is_chosen_among_responses_not_set_aside(desk):
    session, study, lead, _, sheet = desk(2, rubric=WITH_BEST)
    sheet.fill()
    for row in range(2, 6):  # one response of the first item, all of the second
        sheet.put(row, "aside", "It is blank")
    sheet.put(0, "rating:winner", "C")
    findings = workbooks.check(session, study, read_filled(sheet.saved())).findings
    assert [(finding.what, finding.right) for finding in findings if finding.severity == "error"] == [
        ("'C' is not on the scale.", "the best response, or several: A, B")
    ]

    sheet.put(0, "rating:winner", "B")
    assert workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym).stored == 2


@pytest.mark.long
@pytest.mark.parametrize("key", sorted(shipped_rubrics()))
def test_a_workbook_of_each_shipped_rubric_can_be_stored(sqlite_engine, key):
    path = next(path for path in demo.DEMO.iterdir() if path.stem == key)
    study_round = Round.expert if key == "mental_health_qa" else Round.main
    with database.writing(sqlite_engine) as session:
        lead, who = add_person(session, "lead", Role.lead), add_person(session, "ann")
        items = read_items(path.read_bytes(), path.name).items[:1]
        plan = lifecycle.StudyPlan(title="Shipped", round=study_round)
        study = lifecycle.create_study(session, plan, shipped_rubrics()[key].read_text(), items, lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        join(session, study, who)
        made = workbooks.make(session, study, who.pseudonym, 1, lead.pseudonym)
        sheet = Sheet(workbooks.file_of(session, study, made.id))
        rubric = lifecycle.design_of(session, study).rubric
        asked = rubric.asked(study_round)
        for row in range(len(sheet.rows)):
            for n, criterion in enumerate(asked):
                options = getattr(criterion.scale, "options", None) or criterion.scale.points
                sheet.put(row, f"rating:{criterion.key}", options[(row + n) % len(options)].title or row % 3)
                if f"words:{criterion.key}" in sheet.keys:
                    sheet.put(row, f"words:{criterion.key}", "some words about it")
        stored = workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym)

        assert stored.stored == 1
        expected = len(asked) * sum(len(item.candidates) for item in items)
        assert len(rating_rows(session, who.person_id)) == expected
        if key == "mental_health_qa":
            assert [sheet.sheet.cell(3, c).value for k, c in sheet.keys.items() if k.startswith("extra:")]


@pytest.mark.parametrize("text", ["#N/A", "#DIV/0!", "before\uffff after\ufffe"])
def test_a_text_that_spreadsheets_cannot_hold_comes_back(sqlite_engine, text):
    """Error words are read as nothing, and XML lacks two characters: the whole workbook was refused for good."""
    items = [replace(item, context_text=text) for item in draft_items(2)]
    items[0] = replace(items[0], candidates=(replace(items[0].candidates[0], text=text), *items[0].candidates[1:]))
    with database.writing(sqlite_engine) as session:
        lead, who = add_person(session, "lead", Role.lead), add_person(session, "ann")
        plan = lifecycle.StudyPlan(title="Spreadsheets")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, items, lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        join(session, study, who)
        made = workbooks.make(session, study, who.pseudonym, 2, lead.pseudonym)
        sheet = Sheet(workbooks.file_of(session, study, made.id)).fill()
        assert text.translate({0xFFFE: None, 0xFFFF: None}) in [sheet.get(row, "text") for row in range(6)]
        assert workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym).stored == 2


def test_control_characters_of_a_rubric_spoil_no_workbook(desk):
    """XML lacks them: the prompts of a question's cells could not be read, nor the rest of the file."""
    words = {
        "Poor": "Po\\eor",
        "Accept": "Acc\\uffffept",
        "Fluency": "Flu\\eency",
        "How well the response reads.": "How\\e",
    }
    rubric = SMALL_RUBRIC
    for word, odd in words.items():
        rubric = rubric.replace(f": {word}", f': "{odd}"')
    session, study, lead, _, sheet = desk(1, rubric=rubric)
    data = sheet.fill("1 – Poor").saved()
    assert workbooks.take_back(session, study, read_filled(data), lead.pseudonym).stored == 1
    assert numbers_of(session, "fluency") == [1, 1, 1]


def test_errors_name_row_and_column_and_nothing_is_stored(desk):
    session, study, lead, _, sheet = desk(2)
    sheet.fill()
    for row, key, value in (
        (0, "rating:fluency", 4),
        (1, "rating:fluency", None),
        (2, "rating:verdict", "Perhaps"),
        (3, "rating:verdict", "Reject"),
        (4, "rating:verdict", "Reject"),
        (4, "reasons:verdict", "It is green"),
        (5, "words:verdict", "an explanation nobody asked for"),
    ):
        sheet.put(row, key, value)
    data = sheet.saved()
    returned = workbooks.check(session, study, read_filled(data))

    rows = sheet.rows
    assert [(row, column, what) for row, column, what in errors(returned)] == [
        (rows[0], "Fluency", "'4' is not on the scale."),
        (rows[1], "Fluency", "This is not answered."),
        (rows[2], "Verdict", "'Perhaps' is not on the scale."),
        (rows[3], "Verdict: in your words", "Verdict, Response A: tick a reason or write one."),
        (rows[4], "Verdict: reasons", "'It is green' is not among the reasons for this answer."),
    ]
    assert returned.findings[0].right == "1 – Poor, 2, 3 – Good"
    assert returned.findings[4].right.startswith("It is wrong; It is rude")
    assert [(finding.row, finding.what[:23]) for finding in returned.findings if finding.severity == "warning"] == [
        (rows[5], "This will not be stored")
    ]
    with pytest.raises(ImportRefused, match="nothing was stored"):
        workbooks.take_back(session, study, read_filled(data), lead.pseudonym)
    assert session.execute(select(func.count()).select_from(Rating)).scalar_one() == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("cells", "column", "what"),
    [
        ({(1, "note"): "One.", (2, "note"): "Two."}, "Note to the lead", "asked once per item, but rows 5, 6 differ"),
        ({(0, "note"): "x" * 10_001}, "Note to the lead", "has 10,001 characters; at most 10,000 can"),
        ({(0, "note"): "x" * 10_001, (0, "leave_out"): LEFT_OUT}, "Note to the lead", "has 10,001 characters"),
        ({(0, "words:verdict"): "x" * 10_001}, "Verdict: in your words", f"at text: {TOO_LONG}."),
        ({(0, "words:verdict"): None}, "Verdict: in your words", "Verdict, Response A: write an explanation."),
        ({(0, "leave_out"): LEFT_OUT}, "Leave the item out", "not be stored: what else is filled in for this item"),
        ({(0, "leave_out"): "It is green"}, "Leave the item out", "'It is green' is no such reason."),
        ({(1, "aside"): "It is green"}, "Cannot rate this response", "'It is green' is no such reason."),
        ({(1, "context"): "Which?"}, "Context", "The text is not the one of item 1: Which?"),
        ({(0, "rating:fluency"): "2 - Good"}, "Fluency", "'2 - Good' is not on the scale."),
        (
            {(0, "rating:verdict"): "Reject", (0, "reasons:verdict"): "It is wrong"},
            "Verdict: in your words",
            "This will not be stored: only the reasons are asked for.",
        ),
    ],
)
def test_a_cell_that_cannot_be_stored_is_named(desk, cells, column, what):
    session, study, *_, sheet = desk(1, rubric=WITH_REASONS_ALONE)
    for merged in list(sheet.fill().sheet.merged_cells.ranges):
        sheet.sheet.unmerge_cells(str(merged))
    for row in range(3):
        sheet.put(row, "words:verdict", "Because it is.")
    sheet.put(0, "rating:winner", "A")
    for (row, key), value in cells.items():
        sheet.put(row, key, value)

    findings = workbooks.check(session, study, read_filled(sheet.saved())).findings

    assert [finding.what for finding in findings if finding.column == column and what in finding.what]


def test_an_item_handed_in_and_emptied_stays_as_it_is(desk):
    session, study, lead, _, sheet = desk(1)
    workbooks.take_back(session, study, read_filled(sheet.fill().saved()), lead.pseudonym)
    returned = workbooks.check(session, study, read_filled(sheet.fill(None, None).saved()))
    assert (returned.ok, returned.messages) == (True, ())
    assert [finding.what for finding in returned.findings] == [workbooks.NOTHING_NEW]
    (line,) = workbooks.listed(session, study)
    with pytest.raises(Conflict, match="handed in; there is nothing to release"):
        workbooks.cancel(session, study, line.id, lead.pseudonym)


def test_a_closed_study_takes_no_workbook_back(desk):
    session, study, lead, _, sheet = desk(1)
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    with pytest.raises(StudyNotOpen, match="The study is closed. Open it again, then upload the workbook."):
        workbooks.take_back(session, study, read_filled(sheet.fill().saved()), lead.pseudonym)


def test_a_percentage_is_read_as_displayed(desk):
    session, study, lead, _, sheet = desk(1, rubric=WITH_OPTIONAL)
    sheet.fill()
    cells = [sheet.sheet.cell(row, sheet.keys["rating:share"]) for row in sheet.rows]
    for cell, value, shown_as in zip(cells, (1, 0.29, 50), ("0%", '0.0"of"%', '0"%"'), strict=True):
        cell.value, cell.number_format = value, shown_as  # as the programs save a typed 100%

    workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym)

    assert numbers_of(session, "share") == [100, 29, 50]


def test_a_percentage_on_another_scale_is_refused(desk):
    session, study, *_, sheet = desk(1, rubric=WITH_OPTIONAL)
    cell = sheet.fill().sheet.cell(sheet.rows[1], sheet.keys["rating:fluency"])
    cell.value, cell.number_format = 2, "0%"

    returned = workbooks.check(session, study, read_filled(sheet.saved()))

    assert errors(returned) == [(sheet.rows[1], "Fluency", "'200%' is not on the scale.")]


@pytest.mark.parametrize(("value", "kind"), [("=1+2", "f"), ("#N/A", "e")])
def test_an_answer_that_was_not_computed_is_an_error(desk, value, kind):
    session, study, *_, sheet = desk(1, rubric=WITH_OPTIONAL)
    for key in ("rating:share", "note", "number"):
        cell = sheet.fill().sheet.cell(sheet.rows[0], sheet.keys[key])
        cell.value, cell.data_type = value, kind

    returned = workbooks.check(session, study, read_filled(sheet.saved()))

    unread = "This cell holds an error, or a formula that was never computed."
    assert errors(returned) == [(sheet.rows[0], "Share right", unread), (sheet.rows[0], "Note to the lead", unread)]


@pytest.mark.parametrize(("first", "last"), [((0, "share"), (2, "share")), ((0, "verdict"), (0, "share"))])
def test_merged_answers_are_errors(desk, first, last):
    session, study, *_, sheet = desk(1, rubric=WITH_OPTIONAL)
    places = [sheet.sheet.cell(sheet.rows[row], sheet.keys[f"rating:{key}"]) for row, key in (first, last)]
    sheet.fill().sheet.merge_cells(f"{places[0].coordinate}:{places[1].coordinate}")

    returned = workbooks.check(session, study, read_filled(sheet.saved()))

    fault = f"The cells {places[0].coordinate}:{places[1].coordinate} are merged, so all but the first are empty."
    assert (sheet.rows[0], sheet.sheet.cell(3, places[0].column).value, fault) in errors(returned)


def test_a_doubled_column_is_refused(desk):
    session, study, *_, sheet = desk(1)
    page, column, copy = sheet.fill().sheet, sheet.keys["rating:fluency"], sheet.sheet.max_column + 1
    for row in (1, 3, *sheet.rows):
        page.cell(row, copy).value = page.cell(row, column).value

    with pytest.raises(ImportRefused, match="Columns of this workbook are repeated: F, "):
        workbooks.check(session, study, read_filled(sheet.saved()))


def test_a_doubled_sheet_is_refused(desk):
    session, study, *_, sheet = desk(1)
    sheet.book.copy_worksheet(sheet.fill().sheet).title = "Ratings (2)"

    with pytest.raises(ImportRefused, match=r"Several sheets .*: Ratings, Ratings \(2\)"):
        workbooks.check(session, study, read_filled(sheet.saved()))


def test_rows_may_be_sorted_but_not_changed_otherwise(desk):
    session, study, _, _, sheet = desk(2)
    sheet.fill()
    sheet.sheet.unmerge_cells("C4:C6")
    page, (a, b, c, d, *_) = sheet.sheet, sheet.rows
    whole = {row: [page.cell(row, n).value for n in range(1, page.max_column + 1)] for row in sheet.rows}

    def rearranged(*changes: tuple[int, list]) -> workbooks.Returned:
        for row, values in {**whole, **dict(changes)}.items():
            for n, value in enumerate(values, 1):
                if type(page.cell(row, n)).__name__ != "MergedCell":
                    page.cell(row, n).value = value
        return workbooks.check(session, study, read_filled(sheet.saved()))

    text = sheet.keys["text"] - 1
    swapped = rearranged((a, whole[b]), (b, whole[a]))
    assert swapped.ok
    assert "another order" in swapped.findings[0].what
    texts_only = rearranged(
        *((x, [*whole[x][:text], whole[y][text], *whole[x][text + 1 :]]) for x, y in ((b, d), (d, b)))
    )
    assert [what for *_, what in errors(texts_only)] == [
        "The row is that of item 1, Response B, the text that of item 2, Response A.",
        "The row is that of item 2, Response A, the text that of item 1, Response B.",
    ]
    changed = rearranged((b, [*whole[b][:text], "Written again", *whole[b][text + 1 :]]))
    assert "is not the one of item 1, Response B: Written again" in errors(changed)[0][2]
    doubled = rearranged((b, whole[a]))
    assert [what for *_, what in errors(doubled)] == [
        "The row of item 1, Response B, is missing.",
        f"This row is repeated: it is also row {a}.",
    ]
    made_up = rearranged((c, [None, *whole[c][1:]]))
    assert "This row has answers, but is no row of this workbook." in {what for *_, what in errors(made_up)}
    foreign = rearranged((c, ["0123456789abcdef.00.A", *whole[c][1:]]))
    assert "This row belongs to another workbook." in {what for *_, what in errors(foreign)}


def test_a_workbook_of_another_installation_is_refused_with_a_reason(desk, make_study):
    session, study, lead, _, sheet = desk(1)
    other, other_lead, _ = make_study(session, items=1, title="Another")
    plain = Book()
    plain.active.append(["triptych workbook 1", "rating:fluency"])
    file = io.BytesIO()
    plain.save(file)
    for data, words in (
        (b"PK\x03\x04 no zip", "not an Excel workbook"),
        (OPEN_DOCUMENT, r"OpenDocument spreadsheet .* Excel workbook \(.xlsx\)"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Excel"),
        (b"1,What?,A,Because.,2\n", "A table as text"),
        (bytes(MAX_UPLOAD + 2**20), "The file has 21 MB; at most 20 MB can be read."),
        (file.getvalue(), "no workbook|not a workbook"),
    ):
        with pytest.raises(ImportRefused, match=words):
            workbooks.check(session, study, read_filled(data))
    with pytest.raises(ImportRefused, match="belongs to another study"):
        workbooks.check(session, other, read_filled(sheet.fill().saved()))
    sheet.book["Triptych"]["B1"] = "0" * 16
    with pytest.raises(ImportRefused, match="not made here"):
        workbooks.check(session, study, read_filled(sheet.saved()))
    del sheet.book["Triptych"]
    sheet.sheet["A1"] = None
    with pytest.raises(ImportRefused, match="no workbook|not a workbook"):
        read_filled(sheet.saved())


def test_the_same_workbook_twice_stores_only_changes(desk):
    session, study, lead, (first, _), sheet = desk(3)
    sheet.fill()
    for row in (6, 7, 8):
        sheet.put(row, "rating:fluency", None)
        sheet.put(row, "rating:verdict", None)
    assert workbooks.check(session, study, read_filled(sheet.saved())).only_unfinished
    once = workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym, partly=True)
    number = events.last_number(session, study.id)
    again = workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym, partly=True)
    assert (once.stored, again.stored, again.unchanged) == (2, 0, 2)
    assert again.receipt == once.receipt
    assert events.last_number(session, study.id) == number

    sheet.put(0, "rating:fluency", 3)
    sheet.put(6, "leave_out", "Ignore this question: It asks nothing")
    third = workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym)
    handed_in = session.scalars(
        select(Assignment).order_by(Assignment.id).execution_options(populate_existing=True)
    ).all()
    assert (third.stored, third.receipt == once.receipt) == (2, False)
    assert [(assignment.state, assignment.version, assignment.reason) for assignment in handed_in] == [
        ("submitted", 3, None),
        ("submitted", 2, None),
        ("ignored", 2, "empty"),
    ]
    resubmit(session, first, handed_in[1], full_answers(fluency=1))
    sheet.put(3, "rating:fluency", 3)
    returned = workbooks.check(session, study, read_filled(sheet.saved()))
    assert (returned.ok, returned.messages, returned.unchanged) == (True, (), 2)
    assert [finding.what for finding in returned.findings if "in the browser" in finding.what]


def test_a_change_that_waits_in_the_browser_too_is_stored(desk):
    """It was taken for stored: the workbook equalled the browser's draft, which nobody had submitted."""
    session, study, lead, (first, _), sheet = desk(1)
    sheet.fill()
    workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym)
    work = session.scalars(select(Assignment)).one()
    changed = {letter: {**given, "fluency": 1} for letter, given in present(work.draft)["ratings"].items()}
    draft = {**present(work.draft), "ratings": changed}
    fields = {"assignment": work.token, "version": work.version, "pen": "tab-of-anna", "active_seconds": 3}
    message = drafts.DraftMessage(**fields, base=work.draft_seq, seq=work.draft_seq + 1, draft=draft)
    assert drafts.save_draft(session, first, message) == message.seq
    session.expire_all()
    for row in range(3):
        sheet.put(row, "rating:fluency", 1)
    returned = workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym)
    assert (returned.stored, returned.unchanged) == (1, 0)
    assert numbers_of(session, "fluency") == [1, 1, 1]


def test_without_consent_in_the_workbook_nothing_is_stored(desk, monkeypatch):
    session, study, lead, (first, _), _ = desk(1)
    study.settings = {"consent": {"text": "I take part of my own free will."}}
    session.flush()
    (line,) = workbooks.listed(session, study)
    sheet = Sheet(workbooks.file_of(session, study, line.id)).fill()
    assert "Do you agree" in errors(workbooks.check(session, study, read_filled(sheet.saved())))[0][1]
    assert sheet.agree("i agree") == f"I take part of my own free will.\n\n{AFTER_WITHDRAWAL['keep']}"
    assert workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym).stored == 1
    own = select(Membership).where(Membership.person_id == first.person_id)
    assert session.scalars(own).one().consented_at is not None


@pytest.mark.long
@pytest.mark.parametrize(
    "changed", [{"text": "My texts are published."}, {"after_withdrawal": "keep"}, {"sharing": "texts"}]
)
@pytest.mark.parametrize("hidden", [True, False])
def test_a_workbook_agrees_to_no_other_text_than_its_own(desk, changed, hidden):
    """An archive published texts of somebody who had agreed that nothing is."""
    session, study, lead, (first, _), _ = desk(1)
    promised = {"text": "I take part.", "after_withdrawal": "delete", "sharing": "nothing"}
    study.settings = {"consent": promised}
    session.flush()
    (line,) = workbooks.listed(session, study)
    sheet = Sheet(workbooks.file_of(session, study, line.id)).fill()
    sheet.agree()
    if not hidden:  # as some programs save it
        del sheet.book["Triptych"]
    study.settings = {"consent": promised | changed}
    session.flush()

    (error,) = errors(workbooks.check(session, study, read_filled(sheet.saved())))

    assert "has changed since the download" in error[2]
    with pytest.raises(ImportRefused):
        workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym)
    study.settings = {"consent": promised}
    session.flush()
    assert workbooks.take_back(session, study, read_filled(sheet.saved()), lead.pseudonym).stored == 1


@pytest.mark.parametrize("leaving", ["excluded", "refused"])
@pytest.mark.parametrize("then", ["handed in", "cancelled"])
def test_the_web_repeats_no_item_of_a_workbook_given_up(desk, leaving, then):
    """People who came back got its items a second time, and the file could be neither stored nor cancelled."""
    session, study, lead, (first, _), sheet = desk(3, count=2)
    (line,) = workbooks.listed(session, study)
    if leaving == "excluded":
        exclusions.exclude(session, study, first.pseudonym, "by mistake", lead.pseudonym)
        exclusions.reinstate(session, study, first.pseudonym, "sorry", lead.pseudonym)
    else:
        design.amend(session, study, design.Parts(settings={"consent": {"text": "New."}}), "asked now", lead.pseudonym)
        onboarding.refuse(session, study, first)
        exclusions.let_in(session, study, first.pseudonym, "by mistake", lead.pseudonym)
        joining.consent(session, study, first, settings_of(study).consent.version)

    submit(session, study, first)  # the third item
    assert isinstance(assignments.current(session, study, first), NoItem)
    if then == "handed in":
        assert workbooks.take_back(session, study, read_filled(sheet.fill().saved()), lead.pseudonym).stored == 2
    else:
        assert workbooks.cancel(session, study, line.id, lead.pseudonym) == 2
        for _ in range(2):
            submit(session, study, first)

    assert [item.taken for item in session.scalars(select(Item))] == [1, 1, 1]
    events.write_pending(session)
    assert verify(session, study).holds


SCALES = st.one_of(
    st.integers(2, 7).map(
        lambda n: Likert(kind="likert", points=tuple({"value": v / 2, "title": f"Step {v}"} for v in range(n)))
    ),
    st.sampled_from([NumberScale(kind="number", low=0, high=10, step=0.5), Best(kind="best", none_option=True)]),
    st.just(Choice(kind="choice", options=({"key": "dont_know", "title": "I don't know"}, {"key": "b", "title": "B"}))),
)


@settings(max_examples=60)
@given(SCALES, st.data())
def test_a_cell_means_the_same_however_it_is_written(scale, data):
    def check(cell: str):
        return value_in(scale, cell, "ABC")

    if isinstance(scale, Likert):
        point = data.draw(st.sampled_from(scale.points))
        for cell in (
            f"{point.value:g}",
            f"{point.value:.1f}".replace(".", ","),
            label(point.value, point.title),
            point.title.upper(),
            f" {point.value:g} - {point.title} ",
            f"{point.value:.1f}: {point.title}",
        ):
            assert check(cell) == point.value
        assert label(point.value, point.title) in right_for(scale, "ABC")
        off_the_scale = f"{point.value:g} – Step 99"
    elif isinstance(scale, NumberScale):
        value = data.draw(st.integers(0, 20)) / 2
        assert check(f"{value:.2f}".replace(".", ",")) == value
        off_the_scale = "0,3"
    elif isinstance(scale, Choice):
        assert check("i DON’T  know ") == check("dont_know") == "dont_know"
        off_the_scale = "I know"
    else:
        assert check("c, A") == check("A & C") == check("AC") == ["A", "C"]
        assert check("None of them") == []
        off_the_scale = "D"
    with pytest.raises(InvalidAnnotation):
        check(off_the_scale)


@pytest.mark.parametrize(
    "titles",
    [("No", "Yes"), ("A", "a"), ("10 m2", "10 m²"), ("-", "–"), ("=1+1", "Don’t know")],
)
def test_an_answer_picked_from_the_list_is_stored(titles):
    """The last of several options that can be spelt alike, or named like another one's key, was stored."""
    options = [{"key": key, "title": title} for key, title in zip(("yes", "no"), titles, strict=True)]
    scale = Choice(kind="choice", options=options)
    assert [value_in(scale, safe_text(title), "AB") for title in titles] == ["yes", "no"]


@pytest.mark.parametrize("titles", [("much worse", "the same", "much better"), ("1", "2", "3")])
def test_a_point_picked_from_the_list_is_stored(titles):
    """Points below zero have a ' in the list, and were refused."""
    points = [{"value": value, "title": title} for value, title in zip((-2, 0, 2), titles, strict=True)]
    scale = Likert(kind="likert", points=points)
    assert [value_in(scale, safe_text(label(p.value, p.title)), "AB") for p in scale.points] == [-2, 0, 2]


def test_reasons_picked_from_the_list_are_stored():
    """An entry of two reasons, one of which has a semicolon, was refused."""
    texts = {"off_topic": "It is off topic; see rule 3", "wrong": "rude", "rude": "wrong"}
    ask = Ask(reasons=[{"key": key, "text": text, "tag": key} for key, text in texts.items()])
    assert explanation_in(ask, "It is off topic; see rule 3; rude", "")["reasons"] == ["off_topic", "wrong"]
    assert explanation_in(ask, "wrong", "")["reasons"] == ["rude"]


def test_a_name_of_several_answers_is_refused():
    scale = Choice(kind="choice", options=[{"key": "upper", "title": "Ａ"}, {"key": "lower", "title": "ａ"}])
    numbered = Likert(kind="likert", points=[{"value": 0, "title": "1"}, {"value": 1, "title": "2"}])
    for each, cell in ((scale, "A"), (numbered, "1")):
        with pytest.raises(InvalidAnnotation, match="several"):
            value_in(each, cell, "AB")
