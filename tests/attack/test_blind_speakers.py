"""A speaker whose name in the file is a system's has the rubric's title wherever the study is blind."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from helpers.exports import opened, unzipped
from helpers.ratings import submit
from helpers.studies import SMALL_RUBRIC, full_answers, sure
from sqlalchemy import select

from triptych.archive.make import ArchiveChoice, archive_study
from triptych.formats.model import CandidateDraft, ItemDraft, TurnDraft
from triptych.formats.writers import FORMATS
from triptych.people.tokens import Scope
from triptych.results.frame.highlights import highlights_of_item
from triptych.results.frame.model import Counted
from triptych.scripting import tables
from triptych.scripting.asking import Asker
from triptych.scripting.messages import TablePage
from triptych.storage.database import writing
from triptych.storage.events import write_pending
from triptych.storage.models import Person, Role, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who

SYSTEMS = ("stannum", "ferrum")
TITLED = f"{SMALL_RUBRIC}speakers: [{{names: [stannum, ferrum], title: Assistant}}]\njudged: conversation\n"


def talk(number: int) -> ItemDraft:
    """An item whose candidates are conversations, and whose context has a speaker of this name, too."""
    responses = [
        CandidateDraft(name, None, (TurnDraft("user", "Hello"), TurnDraft(name, f"Reply {number} {place} as asked.")))
        for place, name in enumerate(SYSTEMS)
    ]
    return ItemDraft(f"talk-{number}", None, (TurnDraft("stannum", "Welcome"),), tuple(responses), {}, {}, number)


@pytest.fixture
def spoken(sqlite_engine):
    """(session, study, lead) of a blind study with a rated item."""
    with writing(sqlite_engine) as session:
        study, (person,) = opened(session, TITLED, [talk(1), talk(2)])
        submit(session, study, person, full_answers("AB"))
        write_pending(session)
        lead = session.scalars(select(Person).where(Person.role == Role.lead)).one()
        yield session, study, Who(lead.id, lead.pseudonym, Role.lead, lead.name, 0)


def words(files: dict[str, bytes]) -> str:
    """All that readers of these files see."""
    return "".join(
        pd.read_parquet(io.BytesIO(data)).to_json(date_format="iso") if name.endswith(".parquet") else data.decode()
        for name, data in files.items()
    )


@pytest.mark.parametrize("key", [key for key in FORMATS if key not in ("trl", "events")])
def test_speakers_have_titles_in_blind_exports(spoken, key):
    session, study, lead = spoken
    blind = words(unzipped(session, study, key))
    assert "Assistant" in blind
    assert not [name for name in SYSTEMS if name in blind]

    lifecycle.unblind(session, study, sure(lead))
    assert "ferrum" in words(unzipped(session, study, key))


def test_speakers_have_titles_on_pages_and_in_scripts(spoken):
    session, study, lead = spoken
    shown = highlights_of_item(session, study, "talk-1", Counted())
    of_responses = [[passage.speaker for passage in response.passages] for response in shown.candidates]
    assert of_responses == [["user", "Assistant"]] * 2
    assert [passage.speaker for passage in shown.context] == ["Assistant"]

    rows = tables.items(session, Asker(lead, frozenset({Scope.read})), TablePage(study=study.slug)).rows
    assert rows[0][1] == "Assistant: Welcome"
    assert all(row[3].startswith("user: Hello\nAssistant: Reply") for row in rows)


@pytest.mark.long
def test_speakers_have_titles_in_a_blind_archive(spoken):
    session, study, lead = spoken
    lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
    lifecycle.unblind(session, study, sure(lead))
    files = archive_study(session, study, ArchiveChoice("CC0", blind=True), "given", lead.pseudonym).files
    blind = words(files)
    assert "Assistant: Reply 1" in blind
    assert not [name for name in SYSTEMS if name in blind]
