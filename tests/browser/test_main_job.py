"""The main job: from a file of items, through three annotators' browsers, to live results and the CSV."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from helpers import browser
from helpers.browser import afresh, expect, radio, select_text, settled
from helpers.main_job import Page, download, make_lead, make_study, next_item, squeezed, take_part, texts
from helpers.studies import PUBLIC_DATA, ROOT
from sqlalchemy import select

from bench.server import free_port, running_app
from triptych.rubric.files import (
    shipped_rubrics,
)
from triptych.storage.database import open_engine, reading
from triptych.storage.models import Person

pytestmark = pytest.mark.browser
chromium = browser.chromium
WORD = re.compile(r"\w+(?:['’.]\w+)*")
# a click in the first half second counts as the second one of a double click on Submit; each click ends the run before
GO_ON = "() => { const button = document.querySelector('[data-tw-continue]'); button?.click(); return !button; }"


@dataclass
class Entered:
    """What one annotator entered in their browser: (item text, response text, criterion) → value."""

    name: str
    ratings: dict[tuple[str, str, str], str] = field(default_factory=dict)
    highlights: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def annotate(
    page: Page, entered: Entered, criteria: list[str], values: list[str], seed: int, turns: bool = False
) -> None:
    """Rates every response of the item on screen, differently each time, and submits."""
    context, shown = texts(page, turns)
    item = "\n".join(shown.values()) if turns else context
    for place, (letter, text) in enumerate(shown.items()):
        for number, criterion in enumerate(criteria):
            value = values[(seed + place * 3 + number * 2) % len(values)]
            radio(page, f"{letter}:{criterion}", value).dispatch_event("click")
            entered.ratings[item, text, criterion] = value
    next_item(page, lambda: page.locator("[data-tw-submit]").click())


def highlight(page: Page, entered: Entered, slot: str, start: int, end: int, label: str) -> None:
    tab = page.locator(f'.tw-tab[data-slot="{slot}"]')
    if tab.is_visible():  # long texts begin one at a time
        tab.click()
    text = page.locator(f'[data-tw-text="{slot}"]').text_content()
    select_text(page, slot, start, end)
    page.locator(f'[data-tw-label="{label}"]').first.click()
    expect(page.locator(f'[data-tw-text="{slot}"] mark').first).to_be_visible()
    for word in WORD.finditer(text):  # the rest of a word that the selection cuts
        start = word.start() if word.start() < start < word.end() else start
        end = word.end() if word.start() < end < word.end() else end
    entered.highlights.append((text, text[start:end].strip()))


def skip(page: Page, entered: Entered) -> None:
    entered.skipped.append(texts(page)[0])
    page.locator("[data-tw-skip]").click()
    dialog = page.locator('[data-tw-dialog="skip"]')
    dialog.locator("input[value=unclear]").check()
    next_item(page, lambda: dialog.get_by_role("button", name="Skip this item").click())


def compare(rows: list[dict[str, str]], items: list[dict], people: list[Entered], who: dict[str, str]) -> None:
    """Every rating entered is in the CSV and nothing else is; texts lead from the screen to item and system."""
    texts = {
        (who[row["annotator"]], row["item_id"], row["system"], row["criterion"]): row["option"]
        or f"{float(row['value']):g}"
        for row in rows
        if row["purpose"] == "main"
    }
    where = {squeezed(text): (item["item_id"], system) for item in items for system, text in responses(item).items()}
    expected = {
        (person.name, *where[squeezed(text)], criterion): value
        for person in people
        for (_, text, criterion), value in person.ratings.items()
    }
    assert texts == expected


def with_highlights(tmp_path: Path) -> Path:
    """The mental-health rubric as a lab would extend it: two highlight labels, no entry test."""
    text = shipped_rubrics()["mental_health_qa"].read_text()
    own = tmp_path / "own.yaml"
    own.write_text(text + "\nhighlights:\n  - {key: helpful, title: Helpful}\n  - {key: harmful, title: Harmful}\n")
    return own


def posts() -> Path:
    """Posts with three answers each: real ones where they are on this machine, or those of the demo study."""
    real = PUBLIC_DATA / "real" / "ems_3.jsonl"
    return real if real.exists() else ROOT / "data" / "demo" / "mental_health_qa.jsonl"


def conversations(folder: Path) -> Path:
    """Whole conversations as items: real ones where they are on this machine, or those of the demo study."""
    real = PUBLIC_DATA / "real" / "esconv_contexts.jsonl"
    if real.exists():
        return real
    speakers = {"usr": "seeker", "sys": "supporter"}
    demo = (ROOT / "data" / "demo" / "esc_dialogue.jsonl").read_text().splitlines()
    turns = [candidate["turns"] for line in demo for candidate in json.loads(line)["candidates"]]
    items = [
        {"item_id": f"talk-{n}", "context": [turn | {"speaker": speakers[turn["speaker"]]} for turn in talk]}
        for n, talk in enumerate(turns)
    ]
    path = folder / "conversations.jsonl"
    path.write_text("".join(f"{json.dumps(item)}\n" for item in items))
    return path


def responses(item: dict) -> dict[str, str]:
    """System → text, from either way to write candidates."""
    candidates = item["candidates"]
    return candidates if isinstance(candidates, dict) else {each["system"]: each["text"] for each in candidates}


@pytest.fixture(scope="module")
def port() -> int:
    """One address for the servers of both tests: the browser has compiled the app's scripts for the second one."""
    return free_port()


@pytest.fixture(scope="module")
def contexts(chromium: Any) -> tuple[Any, Any]:
    """The browsers of the lead and of the annotators, who come one after the other."""
    return chromium.new_context(), chromium.new_context()


@pytest.mark.long
def test_posts_from_upload_to_results(tmp_path: Path, contexts: tuple[Any, Any], port: int, forked: Any):
    file = posts()
    items = [json.loads(line) for line in file.read_text().splitlines()]
    criteria = ["relevance", "empathy", "specificity", "usefulness", "personal_tone"]
    people = [Entered("Ada"), Entered("Ben"), Entered("Cleo")]
    with running_app(tmp_path / "home", port=port, start=forked) as server:
        lead = afresh(contexts[0], server)
        make_lead(lead, server)
        address = make_study(lead, server, file, "Real posts", with_highlights(tmp_path))
        slug = address.split("study=")[1]
        lead.goto(f"{server.url}/results?study={slug}")
        expect(lead.get_by_text(re.compile(f"0 of {3 * len(items)}")).first).to_be_visible()
        for seed, person in enumerate(people):
            page = afresh(contexts[1], server)
            take_part(page, address, person.name)
            if seed == 1:
                skip(page, person)
            highlight(page, person, "A", 3, 21, "helpful")
            highlight(page, person, "B", 0, 9, "harmful")
            for n in range(5):
                annotate(page, person, criteria, ["1", "2", "3", "4", "5"], seed * 7 + n)

        expect(lead.get_by_text(re.compile(f"15 of {3 * len(items)}")).first).to_be_visible()
        settled(lead)
        blind = download(lead, server, slug, "ratings")
        spans = download(lead, server, slug, "highlights")
        unblind(lead)
        named = download(lead, server, slug, "ratings")
        who = {pseudonym: name for name, pseudonym in pseudonyms(tmp_path / "home").items()}

    systems = {system for item in items for system in responses(item)}
    assert {row["system"] for row in blind}.isdisjoint(systems)
    assert {row["system"] for row in named} == systems
    compare(named, items, people, who)
    assert Counter((who[s["annotator"]], s["quote"]) for s in spans) == Counter(
        (person.name, quote) for person in people for _, quote in person.highlights
    )


def unblind(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Unblind")).click()
    page.get_by_text("I am sure").click()
    page.get_by_role("button", name="Show the system names").click()
    expect(page.get_by_text(re.compile("· Unblinded$"))).to_be_visible()


def pseudonyms(home: Path) -> dict[str, str]:
    with reading(open_engine(f"sqlite:///{home / 'triptych.db'}")) as session:
        return dict(session.execute(select(Person.name, Person.pseudonym)).all())


def test_conversations_are_judged_whole(tmp_path: Path, contexts: tuple[Any, Any], port: int, forked: Any):
    file = conversations(tmp_path)
    items = {json.loads(line)["item_id"]: json.loads(line) for line in file.read_text().splitlines()}
    criteria = ["informativeness", "comprehensibility", "helpfulness", "consistency", "coherence", "safety"]
    values = ["0", "0.5", "1", "1.5", "2", "2.5", "3"]
    people = [Entered("Ada"), Entered("Ben"), Entered("Cleo")]
    with running_app(tmp_path / "home", port=port, start=forked) as server:
        lead = afresh(contexts[0], server)
        make_lead(lead, server)
        address = make_study(lead, server, file, "Real talks", "Emotional-support conversations")
        slug = address.split("study=")[1]
        for seed, person in enumerate(people):
            page = afresh(contexts[1], server)
            take_part(page, address, person.name)
            finish_training(page, criteria)
            for n in range(5):
                annotate(page, person, criteria, values, seed * 5 + n, turns=True)
        rows = [row for row in download(lead, server, slug, "ratings") if row["purpose"] == "main"]
        who = {pseudonym: name for name, pseudonym in pseudonyms(tmp_path / "home").items()}

    spoken = {squeezed("".join(turn["text"] for turn in item["context"])): key for key, item in items.items()}
    stored = {(who[r["annotator"]], r["item_id"], r["criterion"]): f"{float(r['value']):g}" for r in rows}
    expected = {
        (person.name, spoken[squeezed(text)], criterion): value
        for person in people
        for (_, text, criterion), value in person.ratings.items()
    }
    assert len(expected) == 3 * 5 * 6
    assert stored == expected


def finish_training(page: Page, criteria: list[str]) -> None:
    """The worked example: rated, compared with its reference, left behind."""
    for criterion in criteria:
        radio(page, f"A:{criterion}", "2").dispatch_event("click")
    page.locator("[data-tw-submit]").click()
    page.wait_for_selector("[data-tw-continue]")
    next_item(page, lambda: page.wait_for_function(GO_ON, polling=700))
