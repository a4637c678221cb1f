"""Protocol 4 in both rounds: an expert's workbook, then a panel with an entry test, each with its own results."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from helpers import browser
from helpers.browser import afresh, expect, radio, settled
from helpers.main_job import (
    download,
    launch,
    make_lead,
    next_item,
    open_section,
    squeezed,
    texts,
    type_consent,
    uploader,
)
from helpers.present import present
from helpers.studies import ROOT
from openpyxl import load_workbook

from bench.server import Server, running_app
from triptych.rubric.files import read_shipped
from triptych.rubric.model import Rubric

pytestmark = [pytest.mark.browser, pytest.mark.long]
chromium = browser.chromium
Page = Any
# (item, system, criterion) → point
Ratings = dict[tuple[str, str, str], int]

FILE = ROOT / "data" / "demo" / "mental_health_qa.jsonl"
ITEMS = [json.loads(line) for line in FILE.read_text().splitlines()]
SOURCE = {squeezed(text): (item["item_id"], system) for item in ITEMS for system, text in item["candidates"].items()}
EXPERT = ["relevance", "empathy", "specificity", "usefulness"]
CROWD = [*EXPERT, "personal_tone"]
CONSENT = "You rate answers to posts about mental health, for pay, and may stop at any time."
BACK = "https://panel.example/back?cc={code}"
SYSTEMS = list(ITEMS[0]["candidates"])
BEST_FIRST = {"expert": SYSTEMS, "crowd": SYSTEMS[::-1]}


@cache
def rubric() -> Rubric:
    return read_shipped()["mental_health_qa"][1]


def opinion(round_: str, item: str, system: str, criterion: str) -> int:
    """What the one annotator of a round gives: the rounds disagree about which system is best."""
    number = [item["item_id"] for item in ITEMS].index(item) + CROWD.index(criterion)
    place = BEST_FIRST[round_].index(system)
    return 4 - place + (number + place) % 3 - 1


def summary_sentence(round_: str) -> str:
    """The sentence about best and worst system that a results page must show for this round alone."""
    best, _, worst = BEST_FIRST[round_]
    opinions = [[opinion(round_, item["item_id"], system, "relevance") for item in ITEMS] for system in (best, worst)]
    return f"{best} is higher than {worst} by {(sum(opinions[0]) - sum(opinions[1])) / len(ITEMS):.2f}"


def choose(page: Page, label: str, option: str) -> None:
    browser.choose(page.get_by_label(label, exact=True), option)


def make_expert_round(page: Page, server: Server) -> str:
    """The study of the first round, from the file to a draft; returns its slug."""
    page.goto(f"{server.url}/new_study")
    choose(page, "Rubric", rubric().title)
    uploader(page, "Items").set_input_files(FILE)
    expect(page.get_by_text("The file was read without errors")).to_be_visible()
    page.wait_for_selector(".tw[data-token]")  # the first items are drawn: nothing moves from here
    choose(page, "Who may take part", "Invited")
    choose(page, "Round", "Expert")
    page.get_by_label("Title", exact=True).fill("Answers")
    page.get_by_label("Annotators per item", exact=True).fill("1")
    page.get_by_label("Annotators per item", exact=True).press("Enter")
    page.get_by_role("button", name="Create the study").click()
    expect(page.get_by_role("button", name="Launch …")).to_be_visible()
    return page.url.split("study=")[1]


def make_workbook(page: Page, server: Server, slug: str, path: Path) -> None:
    """A workbook for a new person, downloaded to `path`."""
    page.goto(f"{server.url}/workbooks?study={slug}")
    page.get_by_label("Name", exact=True).fill("Dr Expert")
    page.get_by_label("Name", exact=True).press("Enter")
    page.get_by_role("button", name="Make a workbook").click()
    expect(page.get_by_text(f"contains {len(ITEMS)} items")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    download.value.save_as(path)


def fill(path: Path) -> Ratings:
    """Fills every cell in as an expert would: the names of points, and bare numbers; returns what was entered."""
    book = load_workbook(path)
    sheet = book["Ratings"]
    columns = {cell.value: cell.column for cell in sheet[1]}
    assert "rating:personal_tone" not in columns
    assert "Treatment suggestions" in [cell.value for row in sheet.iter_rows(max_row=3) for cell in row]
    titles = {
        criterion.key: {point.value: point.title for point in criterion.scale.points} for criterion in rubric().criteria
    }
    entered: Ratings = {}
    for row in range(4, sheet.max_row + 1):
        source = SOURCE[squeezed(sheet.cell(row, columns["text"]).value)]
        for number, criterion in enumerate(EXPERT):
            point = opinion("expert", *source, criterion)
            answer = point if number % 2 else titles[criterion][point]
            sheet.cell(row, columns[f"rating:{criterion}"]).value = answer
            entered[*source, criterion] = point
    book.save(path)
    return entered


def take_back(page: Page, path: Path) -> None:
    uploader(page, "Filled workbook").set_input_files(path)
    expect(page.get_by_text(f"Everything is correct. {len(ITEMS)} items can be stored.")).to_be_visible()
    page.get_by_role("button", name="Store the answers").click()
    expect(page.get_by_text(f"{len(ITEMS)} items of ")).to_be_visible()


def make_crowd_round(page: Page, server: Server, slug: str) -> str:
    """The next round, from the first: panel, consent, codes, launched; returns the panel's address."""
    page.goto(f"{server.url}/setup?study={slug}")
    page.get_by_role("button", name="Duplicate").click()
    choose(page, "Duplicate as", "Next round: Crowd")
    # the boxes below are others for every choice, and for a moment both are there
    expect(page.get_by_label("The copy's title", exact=True).first).to_have_value("Answers")
    settled(page)
    page.get_by_text("With its items").click()
    expect(page.get_by_role("checkbox", name="With its items")).to_be_checked()
    settled(page)
    page.get_by_role("button", name="Make the draft").click()
    expect(page.get_by_text("1 annotator per item · crowd round")).to_be_visible()
    settled(page)
    open_section(page, "Who rates what")
    choose(page, "Who may take part", "Panel")
    back = page.get_by_label(re.compile("^Return address"))
    back.fill(BACK)
    # the texts before are on their way while the next ones are typed
    page.get_by_role("button", name="Generate missing codes").click()
    expect(page.get_by_label("Did not consent", exact=True)).not_to_be_empty()
    expect(back).to_have_value(BACK)
    type_consent(page, CONSENT)
    page.get_by_role("button", name="Launch the study").click()
    expect(page.get_by_text("The study is open.")).to_be_visible()
    page.get_by_role("link", name="People", exact=True).click()
    return page.locator("[data-testid=stCode]").filter(has_text="PROLIFIC_PID").inner_text().strip()


def codes(page: Page, server: Server, slug: str) -> dict[str, str]:
    page.goto(f"{server.url}/setup?study={slug}&section=Panel and pay")
    settled(page)
    labels = {"finished": "Finished", "failed": "Did not pass the entry test", "declined": "Did not consent"}
    return {name: page.get_by_label(label, exact=True).input_value() for name, label in labels.items()}


def sent_by_the_panel(page: Page, address: str, person: str) -> None:
    """A person sent by the panel: they agree, read, and reach the page before the test."""
    page.goto(address.replace("{{%PROLIFIC_PID%}}", person).replace("{{%SESSION_ID%}}", f"visit-{person}"))
    expect(page.get_by_text(CONSENT)).to_be_visible()
    page.get_by_role("button", name="I agree").click()
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("Abandonment: the people I rely on")).to_be_visible()


def sit_the_test(page: Page, right: int) -> None:
    """Answers so many of the ten questions right, the others wrong, and hands in."""
    page.get_by_role("button", name="Start the test").click()
    for place, question in enumerate(rubric().entry_test.questions):
        fitting = [option.title for option in question.options if (option.key == question.answer) == (place < right)]
        group = page.get_by_role("radiogroup", name=f"Question {place + 1}", exact=True)
        group.get_by_text(fitting[0], exact=True).click()
    expect(page.get_by_text("10 of 10 answered")).to_be_visible()
    page.get_by_role("button", name="Hand in").click()


def annotate_all(page: Page) -> Ratings:
    """Rates everything there is; returns what was entered."""
    entered: Ratings = {}
    for _ in ITEMS:
        assert "Treatment suggestions" not in page.locator(".tw").inner_text()
        for letter, text in texts(page)[1].items():
            source = SOURCE[squeezed(text)]
            for criterion in CROWD:
                entered[*source, criterion] = opinion("crowd", *source, criterion)
                radio(page, f"{letter}:{criterion}", entered[*source, criterion]).dispatch_event("click")
        next_item(page, lambda: page.locator("[data-tw-submit]").click())
    return entered


def results_of(page: Page, server: Server, slug: str, round_: str) -> list[dict[str, str]]:
    """Reads a round's results page, and gives the ratings behind it with the systems' names."""
    page.goto(f"{server.url}/results?study={slug}")
    expect(page.get_by_text(f"{len(ITEMS)} of {len(ITEMS)}").first).to_be_visible()
    settled(page)
    expect(page.get_by_role("heading", name="Personal tone")).to_have_count(int(round_ == "crowd"))
    page.get_by_role("button", name=re.compile("^Unblind")).click()
    page.get_by_text("I am sure").click()
    page.get_by_role("button", name="Show the system names").click()
    expect(page.get_by_text(re.compile("· Unblinded$"))).to_be_visible()
    expect(page.get_by_text(summary_sentence(round_)).first).to_be_visible()
    return download(page, server, slug, "ratings")


def ratings_in(rows: list[dict[str, str]]) -> Ratings:
    assert all(row["purpose"] == "main" for row in rows)
    values = {(row["item_id"], row["system"], row["criterion"]): int(float(row["value"])) for row in rows}
    assert len(values) == len(rows)
    return values


def test_both_rounds_from_a_file_to_results_that_never_mix(tmp_path: Path, chromium: Any, forked: Any):
    book = tmp_path / "workbook.xlsx"
    with running_app(tmp_path / "home", start=forked) as server:
        lead = chromium.new_context().new_page()
        make_lead(lead, server)
        first = make_expert_round(lead, server)
        lead.get_by_role("button", name="Launch …").click()
        launch(lead)
        make_workbook(lead, server, first, book)
        by_expert = fill(book)
        take_back(lead, book)

        address = make_crowd_round(lead, server, first)
        second = present(re.search(r"study=([\w-]+)", address))[1]
        code = codes(lead, server, second)
        page = chromium.new_context().new_page()
        sent_by_the_panel(page, address, "p-one")
        sit_the_test(page, right=7)
        expect(page.get_by_role("heading", name="Thank you for taking the test")).to_be_visible()
        way_back(page, code["failed"])
        page.goto(f"{server.url}/annotate?study={second}")
        expect(page.get_by_role("heading", name="Thank you for taking the test")).to_be_visible()
        page = afresh(page.context, server)
        sent_by_the_panel(page, address, "p-two")
        sit_the_test(page, right=8)
        page.get_by_role("button", name="Start with the items").click()
        by_crowd = annotate_all(page)
        expect(page.get_by_role("heading", name="All done")).to_be_visible()
        way_back(page, code["finished"])

        rows = {
            "expert": results_of(lead, server, first, "expert"),
            "crowd": results_of(lead, server, second, "crowd"),
        }

    assert len(set(code.values())) == 3
    assert len(by_expert) == len(ITEMS) * 3 * 4
    assert len(by_crowd) == len(ITEMS) * 3 * 5
    assert ratings_in(rows["expert"]) == by_expert
    assert ratings_in(rows["crowd"]) == by_crowd
    for name, ratings in rows.items():
        assert {row["round"] for row in ratings} == {name}
        assert len({row["annotator"] for row in ratings}) == 1
    hashes = [{row["design_hash"] for row in ratings} for ratings in rows.values()]
    assert [len(each) for each in hashes] == [1, 1]
    assert hashes[0] != hashes[1]


def way_back(page: Page, code: str) -> None:
    """The ending shows this code and leads back to the panel with it."""
    expect(page.get_by_text(code, exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Back to the panel")).to_have_attribute("href", BACK.format(code=code))
