"""One long cell of a file takes no longer than its length: a pattern that tries each place twice would stall everybody.

Python holds the interpreter while it matches, so all annotators would wait. Each cell took minutes before.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.worksheet.cell_range import MultiCellRange

from triptych.errors import ImportRefused, InvalidAnnotation
from triptych.exchange.import_ratings import proposed
from triptych.formats import read_items, values
from triptych.formats.joined import join_files
from triptych.formats.model import LONGEST_MESSAGE
from triptych.formats.ratings import read_files
from triptych.formats.texts.text_format import looks_formatted
from triptych.formats.workbook.columns import explanation_in, value_in
from triptych.formats.workbook.writing import WorkbookContents, WorkbookItem, write_book
from triptych.people import invitations
from triptych.rubric.files import read_shipped
from triptych.rubric.scales import Ask, Likert, Point
from triptych.storage.database import writing
from triptych.study import check_items, plans
from triptych.study.lint.candidates import grouped_ids
from triptych.study.lint.giveaways import systems_named

LONG = 100_000
SECONDS = 5.0
GUESTS = f"a{' ' * LONG}b\n"
MARKS = "a" + "\u0300\u0316" * 16_000  # as long as a cell may be
ITEMS = f'id,context,cand:a,cand:b\n1,x,"[{" " * LONG}]",z\n'


@contextmanager
def quick() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < SECONDS


def test_cells_of_a_workbook_are_merged_without_comparing_all(monkeypatch):
    """A workbook of 300 items with texts of several rows took a minute of the processor."""
    compared: list[int] = []
    compare = MultiCellRange.__contains__

    def count(ranges: MultiCellRange, cells: object) -> bool:
        compared.append(len(ranges.ranges))
        return compare(ranges, cells)

    monkeypatch.setattr(MultiCellRange, "__contains__", count)
    rubric = read_shipped()["rrgen"][1]
    items = [WorkbookItem(f"{number}", "Good room.", (), ("word " * 1000, "Thanks.")) for number in range(20)]
    data = write_book(WorkbookContents("token", "S", "P", rubric, "main", (), items, ""))

    merged = load_workbook(io.BytesIO(data))["Ratings"].merged_cells.ranges
    of_an_item = len(merged) // len(items)
    assert of_an_item > 1 and max(compared) <= of_an_item + 1


def test_a_long_line_of_guests_is_read_at_once(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, _ = make_study(session, annotators=0)
        with quick():
            invitations.read_list(session, study, GUESTS.encode())


def test_lines_of_many_guests_take_no_memory(sqlite_engine, make_study):
    """A thousand such lines, when a list could have them, took two gigabytes and 13 seconds."""
    many = "".join(f"group {number} x 9999\n" for number in range(invitations.MAX_GUESTS))
    with writing(sqlite_engine) as session:
        study, _, _ = make_study(session, annotators=0)
        guests = invitations.read_list(session, study, many.encode())

    assert len(guests.guests) == invitations.MAX_GUESTS + 1
    assert not guests.ok


def test_a_long_answer_in_a_workbook_is_read_at_once():
    """Normalising combining marks takes time by the square of their number, for each such cell again."""
    points = tuple(Point(value=number) for number in range(1, 6))
    with quick():
        for _ in range(5):
            with pytest.raises(InvalidAnnotation):
                value_in(Likert(kind="likert", points=points), MARKS, "ABC")


def test_a_long_list_of_reasons_is_read_at_once():
    ask = Ask(reasons=[{"key": "rude", "text": "It is rude", "tag": "rude"}])
    with quick(), pytest.raises(InvalidAnnotation, match="is not among the reasons") as refusal:
        explanation_in(ask, "a;" * 30 * LONG, "")
    assert len(str(refusal.value)) < 2000


def test_a_long_name_of_a_criterion_is_refused_at_once():
    rows = "".join(f"1,s,p,{number}{MARKS},1\n" for number in range(20))
    with quick(), pytest.raises(ImportRefused, match="at most 2,000 can be read"):
        proposed(read_files(f"item_id,system,annotator,criterion,value\n{rows}".encode(), "ratings.csv"))


def test_a_long_name_in_a_plan_is_read_at_once(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, _ = make_study(session)
        with quick():
            plans.read(session, study, ("annotator,item_id\n" + f"{MARKS},1\n" * 20).encode(), "plan.csv")


def test_thousands_of_criteria_are_refused_at_once():
    """The column of somebody's comments may be called criterion."""
    rows = "".join(f"1,s,p,a comment of some length: {number},1\n" for number in range(20_000))
    files = read_files(f"item_id,system,annotator,criterion,value\n{rows}".encode(), "ratings.csv")
    with quick(), pytest.raises(ImportRefused, match="20,000 different criteria"):
        proposed(files)


def test_a_long_cell_of_items_is_read_at_once():
    with quick():
        assert read_items(ITEMS.encode(), "items.csv").ok


@pytest.mark.filterwarnings("ignore:Title is more than 31 characters")
@pytest.mark.parametrize("name", ["." * LONG, "'a" * LONG], ids=["dots", "quotes"])
def test_a_long_name_of_a_sheet_is_quoted_at_once(name):
    """A workbook of five kilobytes: problems of one kind are found by what differs between their sentences."""
    made, book = io.BytesIO(), Workbook()
    for cells in (["id", "context", "cand:a", "cand:b"], ["1", "x", "y", "z"]):
        book.active.append(cells)
    book.create_sheet(name).sheet_state = "hidden"
    book.save(made)

    with quick():
        problems = read_items(made.getvalue(), "items.xlsx").problems

    (hidden,) = (problem for problem in problems if problem.message.startswith("Hidden sheets were left out"))
    assert len(hidden.message) == LONGEST_MESSAGE + 1


def test_a_long_reference_of_a_check_is_read_at_once():
    item = read_items(f'id,context,cand:a,purpose,reference\n1,x,y,gold,"a = {" " * LONG}("\n'.encode(), "items.csv")
    with quick(), pytest.raises(ImportRefused, match="the reference cannot be read"):
        check_items.sorted_out(item.items)


@pytest.mark.parametrize("reference", ["fluency A = 2;" * 3, "[[],[],[]]"], ids=["text", "JSON"])
def test_references_of_all_check_items_have_a_limit(monkeypatch, reference):
    """Twenty megabytes of them took 1.1 gigabytes and 12 seconds, each time that the file was read."""
    monkeypatch.setattr(check_items, "MAX_PARTS", 4)
    rows = "".join(f'{number},x,y,gold,"{reference}"\n' for number in range(2))
    file = read_items(f"id,context,cand:a,purpose,reference\n{rows}".encode(), "items.csv")
    with pytest.raises(ImportRefused, match="more than 4 parts in all"):
        check_items.sorted_out(file.items)


def test_wrong_references_are_named_up_to_a_number():
    """A page showed twelve megabytes of sentences."""
    rows = "".join(f"{number},x,y,gold,{number}\n" for number in range(300))
    file = read_items(f"id,context,cand:a,purpose,reference\n{rows}".encode(), "items.csv")
    with pytest.raises(ImportRefused, match="and 200 more$") as refusal:
        check_items.sorted_out(file.items)
    assert len(str(refusal.value).splitlines()) == 101


@pytest.mark.long
def test_unfinished_links_are_searched_for_markdown_at_once():
    """Half a minute for a file of 20 megabytes, in which the interpreter was held."""
    with quick():
        assert not looks_formatted("[a](" * 40 * LONG)


def test_letters_are_searched_for_a_long_name_at_once():
    """Each place of the text may begin the name: minutes for two megabytes."""
    with quick():
        assert systems_named("a" * 100 * LONG, ["a" * 500, "a" * 200]) == []


def test_long_ids_are_searched_for_groups_at_once():
    ids = [f"{number}{'-' * 490}x" for number in range(5000)]
    with quick():
        assert grouped_ids(ids) == []


@pytest.mark.parametrize(
    ("read", "head", "row"),
    [
        (read_items, "item_id,context,cand:a", "1,c,"),
        (read_files, "item_id,annotator,fluency,response", "1,anna,3,"),
        (read_files, "id,context,response_a,annotator,annotation_id,lead_time,fluency_a", "1,x,y,anna,7,3,"),
        (read_files, "HITId,WorkerId,Answer.taskAnswers", "1,anna,"),
    ],
    ids=["items", "ratings", "Label Studio", "Mechanical Turk"],
)
def test_json_in_cells_counts_in_all(monkeypatch, read, head, row):
    """Twelve megabytes of empty lists took 400, and 13 seconds."""
    monkeypatch.setattr(values, "MAX_PARTS", 30)
    cell = f'"[{",".join(10 * ["[]"])}]"'
    with pytest.raises(ImportRefused, match="more than 30 parts in all"):
        read(f"{head}\n{row}{cell}\n{row}{cell}\n".encode(), "x.csv")


def test_a_long_list_of_imported_reasons_is_refused():
    """Nine megabytes took 280: each reason was an object."""
    with pytest.raises(ImportRefused, match="are more than 100, for one rating"):
        read_files(f"item_id,annotator,fluency,reasons\n1,anna,3,{'aa;' * 101}\n".encode(), "ratings.csv")


@pytest.mark.long
def test_many_systems_are_not_listed_for_each_item():
    """Two thousand of each, 120 kilobytes, took 7 seconds; 99,000 took hours."""
    first = {"item_id": "all", "candidates": dict.fromkeys(map(str, range(30_000)), "x")}
    others = [{"item_id": str(number), "candidates": {"0": "x"}} for number in range(30_000)]
    with quick():
        file = read_items(json.dumps([first, *others]).encode(), "items.json")
    assert any("30,000 systems; at most 50" in str(problem) for problem in file.problems)


def test_many_files_are_not_compared_with_each_other():
    """400 files of 100 items took 9 seconds."""
    file = b'[{"item_id": "1", "context": "c", "text": "x"}]'
    with pytest.raises(ImportRefused, match="51 files were chosen; at most 50"):
        join_files([(f"{number}.json", file, f"system {number}") for number in range(51)])
