"""The language for a person: their own choice, otherwise the study's, otherwise the browser's."""

from __future__ import annotations

from sqlalchemy import select
from sqlmodel import Session

from triptych.errors import NotAllowed
from triptych.languages import language
from triptych.storage.models import Person, Study
from triptych.study.persons import Who
from triptych.study.settings import settings_of


def choose(session: Session, who: Who, code: str) -> None:
    """Store a person's choice. Raises NotAllowed for an unknown language."""
    if code not in language.codes():
        raise NotAllowed(f"There is no language {code!r}; there are {', '.join(language.codes())}.")
    session.get_one(Person, who.person_id).language = code


def carry(session: Session, person: Person, code: str | None) -> None:
    """Store the language that someone chose before they signed in."""
    if code in language.codes():
        session.get_one(Person, person.id).language = code


def of_person(session: Session, person_id: int | None, study: Study | None, browser: str | None) -> str:
    """The code of an available language. browser: its Accept-Language."""
    own = session.scalar(select(Person.language).where(Person.id == person_id)) if person_id is not None else None
    chosen = own or (settings_of(study).language if study else "")
    return chosen if chosen in language.codes() else language.accepted(browser)
