"""Files of ratings in which very many values belong together: each is looked at a few times, not once for each other.

Some megabytes, which a zip holds in kilobytes, took hours; Python holds the interpreter, so all annotators would wait.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import PurePosixPath
from unittest.mock import Mock

import pytest
from helpers.studies import add_person

from triptych.errors import ImportRefused
from triptych.exchange import import_ratings
from triptych.formats.changes import differences
from triptych.formats.model import MAX_GROUPS, MAX_KINDS, MAX_PROBLEMS, MAX_SYSTEMS, Findings, ItemFile
from triptych.formats.ratings import archives, levels, potato, proposal, read_files, read_ratings
from triptych.formats.ratings import assemble as assembling
from triptych.formats.ratings.assemble import Assembled, assemble
from triptych.formats.ratings.model import FinishedRatings, Gathering, ImportedNote
from triptych.formats.ratings.roles import Duplicates
from triptych.storage.database import writing
from triptych.storage.models import Role
from triptych.study.lifecycle import StudyPlan
from triptych.study.settings import settings_of

MANY = 500
LONG = "item_id,system,annotator,criterion,value\n"
EACH_SYSTEM = [f"i,s{system},anna,c{key},4\n" for system in range(MAX_SYSTEMS) for key in range(10)]


class CountedPlace(str):
    """A place in a list that counts how often it is looked up."""

    __slots__ = ()
    lookups = 0

    def __hash__(self) -> int:
        CountedPlace.lookups += 1
        return str.__hash__(self)


def test_lists_beside_each_other_are_joined_in_few_lookups():
    place = f"{levels.POSITION} 1"
    rows, more = ([{place: CountedPlace(f"#{n}"), name: 1} for n in range(MANY)] for name in ("fluency", "adequacy"))

    joined = levels._joined([rows, more], {place: None})

    assert [sorted(row) for row in joined] == [["adequacy", "fluency", place]] * MANY
    assert CountedPlace.lookups <= 10 * MANY


def test_a_long_text_beside_a_list_counts_in_each_row():
    """A megabyte took one gigabyte: each rating had a copy of the explanation."""
    votes = [{"annotator": f"a{n}", "fluency": 3} for n in range(MANY)]
    for long in ({"explanation": 10**6 * "x"}, {"reasons": ["rude"] * 10**5}, {"context": 10**5 * "[1, 2, 3] "}):
        with pytest.raises(ImportRefused, match="rows of more than 200,000,000 characters"):
            read_ratings(json.dumps({"item_id": "i", **long, "votes": votes}).encode(), "x.json")


def test_many_judges_are_not_compared_with_people(monkeypatch):
    read = Mock()
    monkeypatch.setattr(proposal, "_proposed", read)
    people = table(["i,s,anna,c,4\n"]).ratings
    judges = [replace(people[0], kind="judge", annotator=f"j{n}") for n in range(proposal.MAX_NAMES)]

    with pytest.raises(ImportRefused, match="There are 500 judges; scores of at most 499"):
        proposal.propose([*people, *judges])
    assert not read.called


def test_many_lists_of_one_path_are_refused():
    of = {"a" + ".b" * n: {"b" + ".b" * (200 - n): [1, 2]} for n in range(200)} | {"id": "i"}
    with pytest.raises(ImportRefused, match="make 201 columns; at most 200"):
        read_ratings(json.dumps({"annotator": "anna", "of": of}).encode(), "x.json")


class CountedSystem(str):
    """A system's name that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedSystem.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def table(rows: list[str]) -> FinishedRatings:
    return read_ratings((LONG + "".join(rows)).encode(), "ratings.csv")


def assembled(file: FinishedRatings, duplicates: Duplicates = "error") -> Assembled:
    asked = import_ratings.asked_as_proposed("Imported", [file], import_ratings.proposed([file]))
    CountedSystem.compared = 0
    return assemble([file], asked, duplicates=duplicates)


def test_a_later_rating_replaces_one_without_comparing_all():
    file = table([*EACH_SYSTEM, *(row.replace(",4", ",2") for row in EACH_SYSTEM)])
    counted = replace(file, ratings=[replace(r, system=CountedSystem(r.system)) for r in file.ratings])

    (work,) = assembled(counted, "last").works

    assert [rating.number for rating in work.ratings] == [2.0] * len(EACH_SYSTEM)
    assert CountedSystem.compared <= 20 * len(EACH_SYSTEM)


def test_notes_find_their_rating_without_comparing_all():
    file = table(EACH_SYSTEM)
    notes = [
        ImportedNote(f.item, CountedSystem(f.system), f.annotator, f.kind, f.row, name=f"{f.criterion}_why", text="So.")
        for f in file.ratings
    ]

    (work,) = assembled(replace(file, notes=notes)).works

    assert {rating.explanation for rating in work.ratings} == {"So."}
    assert CountedSystem.compared <= 20 * len(EACH_SYSTEM)


def test_a_thousand_ratings_of_a_unit_are_read_and_refused():
    result = assembled(table(["i,s,anna,c,4\n"] * 1001), "repeats")

    assert [work.of for work in result.works[:3]] == ["", "repeat", "repeat2"]
    assert result.works[-1].of == "repeat1000"
    assert [str(problem) for problem in result.problems if "repeat" in str(problem)] == [
        "Row 4: 'anna' rated item 'i' more than twice; an annotation can be repeated once. Remove the others, or "
        "choose that the first or the last one counts. … and 998 more of this kind.",
        "1,000 rating(s) repeat an earlier one by the same annotator; they count as repeats.",
    ]


def test_ratings_of_too_many_systems_are_not_put_together(monkeypatch):
    read = Mock()
    monkeypatch.setattr(assembling._Builder, "add_rating", read)

    result = assembled(table([f"i,s{n},anna,c,4\n" for n in range(MAX_SYSTEMS + 1)]))

    assert [str(problem) for problem in result.problems] == ["The files name 51 systems; at most 50 can be compared."]
    assert not read.called


def test_systems_of_two_files_are_not_compared_with_each_other():
    """Two files of ten megabytes, uploaded one after the other, took hours."""
    files = [ItemFile("x", (), systems=tuple(CountedSystem(f"{n + more}") for n in range(MANY))) for more in (0, 1)]
    CountedSystem.compared = 0

    assert differences(*files) == ["0: no longer in it as a system.", f"{MANY}: new as a system."]
    assert CountedSystem.compared <= 10 * MANY


def test_mistakes_of_very_many_kinds_are_counted_together():
    """Each row wrong in its own way: a kilobyte for each."""
    findings = Findings()
    for number in range(MAX_KINDS + 100):
        findings.error(f"is {number * 'x'}.", number)

    findings.warning("is a remark.")
    assert len(findings.kinds) == MAX_KINDS + 1
    assert str(findings.finish()[-1]) == f"… and {MAX_KINDS + 101 - MAX_PROBLEMS} more."


def test_annotators_of_a_group_are_not_compared_with_each_other(sqlite_engine):
    rows = "".join(f"i,m,a{n},g{n % 2},c,4\n" for n in range(MANY))
    head = "item_id,system,annotator,annotator_group,criterion,value\n"
    ready = assembled(read_ratings(f"{head}{rows}".encode(), "ratings.csv"))
    groups: dict[str, str] = {CountedSystem(name): group for name, group in ready.annotator_groups.items()}
    with writing(sqlite_engine) as session:
        lead = add_person(session, "lead", Role.lead)
        CountedSystem.compared = 0
        plan = StudyPlan(title="Grouped", raters_per_item=1)
        study = import_ratings.import_ratings(session, plan, replace(ready, annotator_groups=groups), lead)
        assert len(settings_of(study).annotator_groups) == MANY

    assert CountedSystem.compared <= 10 * MANY


def test_a_group_for_each_annotator_is_refused():
    rows = "".join(f"i,m,a{n},g{n},c,4\n" for n in range(MAX_GROUPS + 1))
    head = "item_id,system,annotator,annotator_group,criterion,value\n"

    result = assembled(read_ratings(f"{head}{rows}".encode(), "ratings.csv"))

    assert any("21 groups of annotators; at most 20" in str(problem) for problem in result.problems)
    assert not result.ok


def zipped(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


def test_the_names_in_a_zip_are_read_a_few_times(monkeypatch):
    files = {f"{n}.csv": f"{LONG}i{n},s,anna,c,4\n" for n in range(100)} | {"items.csv": "item_id,cand:s\ni1,So.\n"}
    counted = Mock(wraps=PurePosixPath)
    monkeypatch.setattr(archives, "PurePosixPath", counted)

    ratings = read_files(zipped(files), "x.zip")

    assert len(ratings) == 100
    assert counted.call_count <= 30 * len(files)


def test_each_path_of_a_potato_project_is_read_once(monkeypatch):
    paths = [*(f"data/{n}.csv" for n in range(100)), "99.csv"]
    files = {f"p/data/{n}.csv": "id,text\nk1,x\n" for n in range(99, -1, -1)}
    config = json.dumps({"annotation_schemes": [], "data_files": paths}).encode()
    counted = Mock(wraps=PurePosixPath)
    monkeypatch.setattr(potato, "PurePosixPath", counted)
    data = {name: text.encode() for name, text in files.items()} | {"p/config.yaml": config}

    project = potato.read_project(data, Gathering("p.zip", "Potato project"))

    assert list(project.fields) == ["k1"]
    assert counted.call_count <= 10 * len(files)


def test_values_of_many_judges_are_counted_once():
    file = read_ratings((LONG + "".join(f"i,s,j{n},c,{n}\n" for n in range(MANY))).encode(), "x.csv", kind="judge")
    ratings = [replace(rating, value=CountedPlace(rating.value)) for rating in file.ratings]
    CountedPlace.lookups = 0

    (criterion,) = proposal.propose(ratings)

    assert len(criterion.values) == MANY
    assert CountedPlace.lookups <= 50 * MANY


def test_reasons_for_missing_values_are_not_compared_with_each_other():
    (criterion,) = proposal.propose(
        table([f"i{n},s,anna,c,{value}\n" for n in range(MANY) for value in (n, f"n/a: {n}")]).ratings
    )
    counted = replace(
        criterion,
        missing=tuple(map(CountedSystem, criterion.missing)),
        values={CountedSystem(value): number for value, number in criterion.values.items()},
    )
    CountedSystem.compared = 0

    assert (len(counted.missing), counted.unfit) == (MANY, [])
    assert CountedSystem.compared <= 10 * MANY


def test_too_many_criteria_are_refused_before_judges_are_compared(monkeypatch):
    compared = Mock()
    monkeypatch.setattr(proposal, "_apart", compared)
    with pytest.raises(ImportRefused, match="There are 501 different criteria"):
        proposal.propose(table([f"i,s,anna,c{n},4\n" for n in range(501)]).ratings)
    assert not compared.called
