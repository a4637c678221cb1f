"""A study with signed-in annotators, created in a home folder before its server starts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlmodel import Session

from bench.client import Annotator
from bench.server import ROOT
from triptych import settings
from triptych.annotate import onboarding
from triptych.formats import read_items
from triptych.formats.model import ItemDraft
from triptych.people import accounts, joining, logins
from triptych.rubric.files import parse_rubric, read_shipped
from triptych.rubric.model import Rubric
from triptych.storage import database, schema
from triptych.storage.models import Access, Person, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import EntryRules, StudySettings, stored
from triptych.web.session import COOKIE, cookie_value

RUBRIC = ROOT / "rubrics" / "rrgen.yaml"
TEXTS = ROOT / "data" / "demo" / "rrgen.jsonl"


@dataclass(frozen=True)
class World:
    """One open study, and the cookies (name → value) of each annotator and of the lead."""

    home: Path
    slug: str
    rubric: Rubric
    cookies: tuple[dict[str, str], ...]
    lead: dict[str, str]

    def annotator(self, url: str, number: int, seed: int | None = None) -> Annotator:
        """The client of annotator `number` on the server at `url`."""
        return Annotator(url, self.slug, self.rubric, self.cookies[number], number if seed is None else seed)


@contextmanager
def _led(home: Path) -> Iterator[tuple[Session, Person]]:
    """A new database with a lead in this home."""
    home.mkdir(parents=True, exist_ok=True)
    with _at_home(home):
        engine = database.open_engine(settings.database_url())
        schema.migrate(engine)
        with database.writing(engine) as session:
            yield session, accounts.create_lead(session, "Bench", "a passcode for benchmarks only")
        engine.dispose()


def build_world(home: Path, items: int = 200, annotators: int = 1, raters: int = 3) -> World:
    """A study with the hotel and restaurant rubric (5 criteria × 3 responses), side by side, on repeated demo texts."""
    with _led(home) as (session, lead):
        plan = lifecycle.StudyPlan(
            title="Bench", raters_per_item=raters, access=Access.invited, presentation="side_by_side", seed="bench"
        )
        study = lifecycle.create_study(session, plan, RUBRIC.read_text(), _items(items), lead.pseudonym, lead.id)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        cookies = tuple(_join(session, study, f"Annotator {n}") for n in range(annotators))
        leads = _sign_in(session, lead)
        slug = study.slug
    return World(home, slug, parse_rubric(RUBRIC.read_text()), cookies, leads)


def _length(item: ItemDraft) -> int:
    """Characters of the longest response."""
    return max(
        len(response.text or "") + sum(len(turn.text) for turn in response.turns or ()) for response in item.candidates
    )


def build_shipped(home: Path, annotators: int) -> dict[str, World]:
    """By rubric: a study for each shipped rubric with one item, the longest of its demo, in its own presentation."""
    worlds = {}
    with _led(home) as (session, lead):
        cookie = _sign_in(session, lead)
        for key, (text, rubric) in read_shipped().items():
            file = TEXTS.with_name(f"{key}.jsonl")
            item = max(read_items(file.read_bytes(), file.name).items, key=_length)
            plan = lifecycle.StudyPlan(title=key, raters_per_item=annotators, access=Access.invited, seed="bench")
            study = lifecycle.create_study(session, plan, text, [item], lead.pseudonym, lead.id)
            study.settings = stored(StudySettings(entry=EntryRules(kind="none")))
            lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
            cookies = tuple(_join(session, study, f"{key} {n}") for n in range(annotators))
            worlds[key] = World(home, study.slug, rubric, cookies, cookie)
    return worlds


@contextmanager
def _at_home(home: Path) -> Iterator[None]:
    """Within this context, settings such as the cookie secret are those of a server in this home."""
    before = os.environ.get("TRIPTYCH_HOME")
    os.environ["TRIPTYCH_HOME"] = str(home)
    try:
        yield
    finally:
        del os.environ["TRIPTYCH_HOME"]
        if before is not None:
            os.environ["TRIPTYCH_HOME"] = before


def _items(count: int) -> Sequence[ItemDraft]:
    texts = read_items(TEXTS.read_bytes(), TEXTS.name).items
    return [replace(texts[n % len(texts)], external_id=f"item-{n}") for n in range(count)]


def _join(session: Session, study: lifecycle.Study, name: str) -> dict[str, str]:
    """The cookie of an invited annotator who has read the instructions."""
    person = joining.annotator_called(session, study, name)
    who = Who(person.id, person.pseudonym, person.role, person.name, 0)
    onboarding.read_instructions(session, study, who, onboarding.wording_of(study))
    return _sign_in(session, person)


def _sign_in(session: Session, person: Person) -> dict[str, str]:
    ticket = logins.issue_sign_in_ticket(session, person)
    return {COOKIE: cookie_value(logins.use_ticket(session, ticket))}
