"""What several test files share: main job."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import Any

from bench.server import Server
from helpers.browser import expect

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


def texts(page: Page, judged_turns: bool = False) -> tuple[str, dict[str, str]]:
    """Context and letter → response, as the browser shows them."""
    context = "" if judged_turns else page.locator(".tw-context").inner_text()
    found = page.evaluate(TEXTS)
    together: dict[str, list[str]] = {}
    for place, text in found:
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
