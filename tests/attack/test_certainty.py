"""Acts that cannot be undone, at a desk that its lead has left: each asks for the passcode again."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import pytest
from helpers.results_pages import words
from helpers.sign_in import field, press
from helpers.studies import ROOT
from sqlalchemy import select

from triptych.operations import backup
from triptych.people import accounts, logins, roster
from triptych.privacy import erasure
from triptych.storage.database import reading, writing
from triptych.storage.models import Membership, Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web.session import web_engine

PASSCODE = "correct horse battery"
ASKED = "Your passcode"
ACTS = {
    "unblind": ("results.py", "Show the system names"),
    "close": ("design.py", "Close the study"),
    "erase": ("people.py", "Erase {annotator}"),
    "remove": ("people.py", "Remove this lead"),
    "restore": ("backups.py", "Restore this backup"),
}


@pytest.fixture
def engine():
    return web_engine()


@pytest.fixture
def at_the_desk(engine, make_study) -> tuple[Study, Who, str]:
    """A study, its lead who signed in just now, and an annotator's pseudonym."""
    with writing(engine) as session:
        study, _, (anna, _) = make_study(session)
        ada = accounts.create_lead(session, "Ada", PASSCODE)
        roster.enrol_lead(session, study, ada, ada.pseudonym)
        who = logins.who_is(session, logins.use_ticket(session, logins.issue_sign_in_ticket(session, ada)))
    backup.make(engine)
    assert who is not None
    return study, who, anna.pseudonym


def opened(visit, act: str, study: Study, who: Who, annotator: str):
    page = visit(who, ACTS[act][0], study=study.slug)
    if ACTS[act][0] == "people.py":
        page.multiselect(key=f"chosen-{study.slug}").set_value([annotator]).run()
    if act == "remove":
        fellow = page.selectbox(key=f"fellow-{study.slug}")
        fellow.set_value(fellow.options[0].partition(" ")[0]).run()
    if act == "restore":
        page.selectbox(key="backup").set_value(backup.listed()[0].name).run()
    return page


def keys_of(page, act: str) -> list[str]:
    return [box.key for box in page.checkbox if str(box.key).startswith(f"certain-{act}")]


def done(engine, act: str, study: Study, annotator: str) -> bool:
    with reading(engine) as session:
        here = session.get_one(Study, study.id)
        match act:
            case "unblind":
                return here.unblinded_at is not None
            case "close":
                return here.state == StudyState.closed
            case "erase":
                return any(member.erased for member in roster.members_of(session, here))
            case "remove":
                leads = select(Membership).where(Membership.study_id == study.id, Membership.role == Role.lead)
                return len(session.scalars(leads).all()) < 2
            case _:
                return len(backup.listed()) > 1


def act_on(page, act: str, annotator: str, passcode: str | None):
    label = ACTS[act][1].format(annotator=annotator)
    key = keys_of(page, act)[0]
    page.checkbox(key=key).check()
    for asked in [text for text in page.text_input if text.label.startswith(ASKED)]:
        asked.input(passcode or "")
    return press(page, label)


@pytest.mark.long
@pytest.mark.parametrize("act", ACTS)
def test_it_asks_for_the_passcode_after_fifteen_minutes(visit, engine, at_the_desk, move_clock, act):
    study, who, annotator = at_the_desk
    move_clock(minutes=15, seconds=1)
    page = opened(visit, act, study, who, annotator)
    assert field(page, ASKED)

    for passcode in ("", "wrong wrong"):
        page = act_on(page, act, annotator, passcode)
        assert not page.exception
        assert not done(engine, act, study, annotator)
        assert "This is not your passcode." in words(page).replace("\\", "")
    page = act_on(page, act, annotator, PASSCODE)
    assert not page.exception
    assert done(engine, act, study, annotator)


@pytest.mark.long
@pytest.mark.parametrize("act", ACTS)
def test_right_after_the_sign_in_it_asks_for_certainty_only(visit, engine, at_the_desk, act):
    study, who, annotator = at_the_desk
    page = opened(visit, act, study, who, annotator)
    assert not [text for text in page.text_input if text.label.startswith(ASKED)]

    press(page, ACTS[act][1].format(annotator=annotator))
    assert not done(engine, act, study, annotator)
    act_on(page, act, annotator, None)
    assert done(engine, act, study, annotator)


@pytest.mark.long
def test_a_passcode_typed_for_one_act_counts_for_the_next(visit, engine, at_the_desk, move_clock):
    study, who, annotator = at_the_desk
    move_clock(minutes=20)
    page = act_on(opened(visit, "remove", study, who, annotator), "remove", annotator, "wrong wrong")
    page = act_on(page, "erase", annotator, PASSCODE)

    assert not [text for text in page.text_input if text.label.startswith(ASKED)]
    move_clock(minutes=16)
    assert field(page.run(), ASKED)


@pytest.mark.parametrize(
    "act, losses",
    [
        ("unblind", "Unblinding at 0 of 12 annotations."),
        ("close", "Closing at 0 of 12 annotations."),
        ("erase", "0 annotations of"),
        ("remove", "no longer see this study"),
        ("restore", "This loses 0 events since then in 0 studies"),
    ],
)
def test_it_says_what_will_be_lost(visit, at_the_desk, act, losses):
    study, who, annotator = at_the_desk

    assert losses in words(opened(visit, act, study, who, annotator))


def test_nothing_but_the_question_makes_the_proof():
    """The commands take it, so that no page and no command line leaves the question out."""
    makers = [
        str(path.relative_to(ROOT))
        for folder in ("triptych", "components", "pages")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"\bCertainty\(", path.read_text(encoding="utf-8"))
    ]
    takers: list[Callable[..., object]] = [lifecycle.unblind, erasure.erase, erasure.delete_copies]
    takers += [roster.remove_lead, backup.restore_as]

    assert makers == ["triptych/people/signing_in.py"]
    assert all("certainty" in inspect.signature(command).parameters for command in takers)
