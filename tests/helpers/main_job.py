"""Steps of leads and annotators in a browser: an account, an upload, the next item, a download."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.server import Server
from helpers.browser import choose, expect, settled

Page = Any

TEXTS = "[...document.querySelectorAll('[data-tw-text]')].map((box) => [box.dataset.twText, box.textContent])"


def make_lead(page: Page, server: Server) -> None:
    page.goto(server.setup_link())
    page.get_by_label("Your name", exact=True).fill("Dr Lead")
    page.locator("input[type=password]").fill("a long passcode 42")
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()


def uploader(page: Page, label: str) -> Any:
    return page.get_by_role("region", name=re.compile(f"^{label}")).locator("input[type=file]")


def make_study(page: Page, server: Server, items: Path, title: str, rubric: Path | str, raters: int = 3) -> str:
    """Uploads the items, creates and opens the study; returns the address for annotators."""
    page.goto(f"{server.url}/new_study")
    choose(
        page.get_by_label("Rubric", exact=True), rubric if isinstance(rubric, str) else "A rubric file of my own (YAML)"
    )
    if isinstance(rubric, Path):
        uploader(page, "Rubric file").set_input_files(rubric)
        expect(page.get_by_text("2. Which items")).to_be_visible()
        settled(page)  # a file for a field that is still being drawn can be lost
    uploader(page, "Items").set_input_files(items)
    expect(page.get_by_text("The file was read without errors")).to_be_visible()
    page.get_by_label("Title", exact=True).fill(title)
    page.get_by_label("Annotators per item", exact=True).fill(str(raters))
    page.get_by_label("Annotators per item", exact=True).press("Enter")
    settled(page)  # a click while the page is redrawn below the pointer can be lost
    page.get_by_role("button", name="Create the study").click()
    page.get_by_role("button", name="Launch …").click()
    launch(page)
    expect(page.get_by_text("The study is open.")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("link", name="People", exact=True).click()
    address = page.locator("[data-testid=stCode]").filter(has_text="?study=").first
    return address.inner_text().strip()


def open_section(page: Page, name: str) -> None:
    """Goes to a section of Setup by the checklist, which opens it; a click on the section itself could close it."""
    page.get_by_role("button", name=name, exact=True).first.click()
    settled(page)


def type_consent(page: Page, text: str = "", reason: str = "") -> None:
    """A consent text, or why none is asked."""
    open_section(page, "Before the first item")
    page.get_by_label("Consent" if text else "Or: why consent is not asked", exact=True).fill(text or reason)
    saved_draft(page)


def saved_draft(page: Page) -> None:
    """Waits until the server has everything that was typed on Setup."""
    expect(page.locator(".triptych-saved")).to_have_text(re.compile(r"^Saved \d\d:\d\d$"))


def launch(page: Page) -> None:
    """Launches a draft of staff who try it out."""
    type_consent(page, reason="Staff try it.")
    page.get_by_role("button", name="Launch the study").click()
    expect(page.get_by_text("The study is open.")).to_be_visible()


def take_part(page: Page, address: str, name: str) -> None:
    """Joins a study by its address, up to the first item; the page is a stranger's."""
    page.goto(address)
    page.get_by_label("Your name", exact=True).fill(name)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name=re.compile("noted")).click()
    start = page.get_by_role("button", name="Start", exact=True)
    workbench = page.locator(".tw[data-token]")
    expect(start.or_(workbench).first).to_be_visible()
    if start.is_visible():
        page.get_by_label("I have read this").check()
        start.click()
    expect(workbench).to_be_visible()


def texts(page: Page, judged_turns: bool = False) -> tuple[str, dict[str, str]]:
    """Context and letter → response, as the browser shows them."""
    context = "" if judged_turns else page.locator(".tw-context").inner_text()
    texts = page.evaluate(TEXTS)
    together: dict[str, list[str]] = {}
    for place, text in texts:
        together.setdefault(place.split(":")[0], []).append(text)
    return context, {letter: "\n".join(parts) for letter, parts in together.items()}


def next_item(page: Page, act: Callable[[], None]) -> None:
    """Does something that ends in another item, or in the end screen."""
    token = page.locator(".tw").get_attribute("data-token")
    act()
    page.wait_for_function("(before) => document.querySelector('.tw')?.dataset.token !== before", arg=token, polling=20)


def download(page: Page, server: Server, slug: str, name: str) -> list[dict[str, str]]:
    answer = page.request.get(f"{server.url}/export/{slug}/{name}.csv")
    assert answer.status == 200
    return list(csv.DictReader(io.StringIO(answer.text())))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)
