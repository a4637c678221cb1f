"""Ids and names of systems that look alike, turn the text around them or are no names at all."""

from __future__ import annotations

import json
import unicodedata

import pytest
from helpers.studies import SMALL_RUBRIC, add_person, join

from triptych.errors import Conflict, ImportRefused, NotAllowed
from triptych.exchange.import_ratings import asked_as_proposed, proposed
from triptych.formats import read_items
from triptych.formats.joined import join_files
from triptych.formats.model import ItemFile
from triptych.formats.names import MAX_NAME_CHARACTERS, seen_as
from triptych.formats.ratings import read_files
from triptych.formats.ratings.assemble import assemble
from triptych.people import joining
from triptych.storage.database import writing
from triptych.storage.models import Access, Role
from triptych.study import design, lifecycle, plans

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
ALIKE = {
    "another composition": (COMPOSED, DECOMPOSED),
    "zero-width space": ("gpt-5", "gpt\u200b-5"),
    "joiner": ("gpt-5", "gpt-5\u200d"),
    "soft hyphen": ("gpt-5", "gpt\u00ad-5"),
    "variation selector": ("gpt-5", "gpt-5\ufe0f"),
    "filler": ("gpt-5", "gpt-5\u3164"),
    "no-break space": ("gpt 5", "gpt\u00a05"),
}
BIDI = [chr(code) for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]


def items_of(*pairs: tuple[str, str]) -> bytes:
    """Items as (id, system), each with a text of its own and one of a system that all share."""
    lines = [{"item_id": name, "context": "c", "candidates": {system: "t", "base": "u"}} for name, system in pairs]
    return "\n".join(map(json.dumps, lines)).encode()


def read(*pairs: tuple[str, str]) -> ItemFile:
    return read_items(items_of(*pairs), "items.jsonl")


def errors(file: ItemFile) -> str:
    return "\n".join(str(problem) for problem in file.problems if problem.severity == "error")


@pytest.mark.parametrize("names", ALIKE.values(), ids=ALIKE)
def test_ids_that_look_alike_are_refused_with_both_places(names: tuple[str, str]):
    file = read((names[0], "a"), (names[1], "a"))

    assert not file.ok
    assert "Row 2" in errors(file)
    assert "(row 1)" in errors(file)


@pytest.mark.parametrize("names", ALIKE.values(), ids=ALIKE)
def test_systems_that_look_alike_are_refused_with_both_places(names: tuple[str, str]):
    file = read(("1", names[0]), ("2", names[1]))

    assert "Row 2: the system" in errors(file)
    assert "(row 1)" in errors(file)


@pytest.mark.parametrize("control", BIDI, ids=lambda control: f"{ord(control):04X}")
def test_ids_and_systems_hold_no_bidi_control(control: str):
    assert f"U+{ord(control):04X}" in errors(read((f"a{control}b", "s")))
    assert f"U+{ord(control):04X}" in errors(read(("1", f"a{control}b")))


def test_ids_and_systems_of_100000_characters_are_refused_in_short():
    for file in (read(("x" * 100_000, "s")), read(("1", "x" * 100_000))):
        assert "100,000 characters" in errors(file)
        assert len(errors(file)) < 1000
    assert read(("x" * MAX_NAME_CHARACTERS, "s")).ok


def test_an_id_of_invisible_characters_only_is_refused():
    assert "only invisible characters" in errors(read(("\u200b", "s")))


def test_letters_that_differ_stay_different():
    assert read(("café", "s"), ("cafe", "s"), ("ﬁ", "s"), ("fi", "s")).ok
    assert seen_as("می\u200cخواهم") == seen_as("میخواهم")


@pytest.mark.parametrize("value", ["true", "7", "-1.5", '"7"', '"TRUE"', '"1e3"'])
def test_a_candidate_that_is_only_a_number_gets_a_note(value: str):
    line = f'{{"item_id": "1", "context": "c", "candidates": {{"a": {value}, "b": "text 7"}}}}'
    file = read_items(line.encode(), "items.jsonl")

    assert file.ok
    assert "1 candidate(s) are only a number" in "\n".join(map(str, file.problems))


def test_ids_that_look_alike_in_two_files_name_both():
    files = [("a.csv", f"item_id,text\n{COMPOSED},x\n".encode(), "a")]
    files.append(("b.csv", f"item_id,text\n{DECOMPOSED},y\n".encode(), "b"))
    text = errors(join_files(files))

    assert "b.csv" in text
    assert "(row 2 of 'a.csv')" in text


def test_systems_of_two_files_that_look_alike_are_refused():
    files = [(f"{n}.csv", b"item_id,text\n1,x\n", name) for n, name in enumerate((COMPOSED, DECOMPOSED))]

    assert "('0.csv')" in errors(join_files(files))


@pytest.mark.parametrize("column", ["item_id", "system"])
def test_ratings_of_lookalikes_are_refused_with_both_places(column: str):
    rows = [{"item_id": "1", "system": "s", "annotator": "p", "criterion": "good", "value": 1} for _ in range(2)]
    rows[0][column], rows[1][column] = COMPOSED, DECOMPOSED
    files = read_files(json.dumps(rows).encode(), "ratings.json")
    asked = asked_as_proposed("Imported", files, proposed(files))
    problems = "\n".join(map(str, assemble(files, asked).problems))

    assert "row 2 of ratings.json" in problems
    assert "row 1 of ratings.json" in problems


def test_added_items_that_look_like_stored_ones_are_refused(sqlite_engine):
    with writing(sqlite_engine) as session:
        lead, plan = add_person(session, "lead", Role.lead), lifecycle.StudyPlan(title="A study")
        stored = read((COMPOSED, COMPOSED))
        study = lifecycle.create_from_file(session, plan, SMALL_RUBRIC, stored, lead)
        for pair, message in (((DECOMPOSED, COMPOSED), "ids look like"), (("2", DECOMPOSED), "in several parts")):
            with pytest.raises(ImportRefused, match=message):
                design.amend(session, study, design.Parts(items=read(pair)), "", lead.pseudonym)
        study.unblinded_at = study.created_at
        with pytest.raises(ImportRefused, match=r"a system that looks like 'cafe\\u0301', but is written differently"):
            design.amend(session, study, design.Parts(items=read(("2", DECOMPOSED))), "", lead.pseudonym)


@pytest.fixture
def planned(sqlite_engine):
    """A session, and a study with an item and an annotator called café."""
    with writing(sqlite_engine) as session:
        lead, plan = add_person(session, "lead", Role.lead), lifecycle.StudyPlan(title="A study", raters_per_item=1)
        study = lifecycle.create_from_file(session, plan, SMALL_RUBRIC, read((COMPOSED, "a")), lead)
        join(session, study, add_person(session, COMPOSED))
        yield session, study


def plan_of(planned, annotator: str, item: str) -> plans.AssignmentPlan:
    session, study = planned
    return plans.read(session, study, f"annotator,item_id\n{annotator},{item}\n".encode(), "plan.csv")


@pytest.mark.parametrize("item", [DECOMPOSED, f"{COMPOSED}\u200b", f"caf\u200d{COMPOSED[-1]}"])
def test_a_planned_id_that_looks_like_an_item_names_both(planned, item: str):
    plan = plan_of(planned, COMPOSED, item)

    (problem,) = (str(problem) for problem in plan.problems if problem.severity == "error")
    assert "(row 2) looks the same as 'caf\\xe9' (an item of this study)" in problem


def test_an_id_of_a_plan_holds_no_bidi_control(planned):
    assert "U+202E" in "".join(map(str, plan_of(planned, COMPOSED, f"{COMPOSED}\u202e").problems))


@pytest.mark.parametrize("name", [COMPOSED, DECOMPOSED, f"{COMPOSED}\u200b"])
def test_a_name_in_a_plan_is_who_it_looks_like(planned, name: str):
    assert [line.annotator for line in plan_of(planned, name, COMPOSED).lines] == [f"P-{COMPOSED}"]


def test_a_planned_name_that_looks_like_two_people_is_refused(planned):
    session, study = planned
    join(session, study, add_person(session, DECOMPOSED))

    assert plans.AMBIGUOUS_PERSON in "".join(map(str, plan_of(planned, COMPOSED, COMPOSED).problems))


@pytest.mark.parametrize("name", ["Anna\ufe0f", "Anna\u3164", "Anna \u2800", "An\U000e0101na", "\u115f \u3164"])
def test_nobody_joins_under_a_name_that_looks_taken(sqlite_engine, make_study, name: str):
    """A lead would read two of one name, or none, and send a link or a passcode to the wrong one."""
    with writing(sqlite_engine) as session:
        study, *_ = make_study(session, access=Access.open)
        joining.join_open_study(session, study, "Anna")
        with pytest.raises((Conflict, NotAllowed)):
            joining.join_open_study(session, study, name)
