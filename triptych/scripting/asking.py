"""Who is calling from a script, and which studies they may access."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlmodel import Session

from triptych.errors import NotAllowed, NotFound
from triptych.people import accounts
from triptych.people.tokens import Bearer, Scope
from triptych.storage.models import Person, Role, Study
from triptych.study import lifecycle
from triptych.study.persons import Who

SCOPES_OF_HOME = frozenset({Scope.read, Scope.write})  # nobody gave a passcode


@dataclass(frozen=True)
class Asker:
    """A lead whose script asks, and what it may do. bearer: the token that it sent, None on the data folder itself."""

    who: Who
    scopes: frozenset[Scope]
    bearer: Bearer | None = None

    @property
    def study_id(self) -> int | None:
        return self.bearer.study_id if self.bearer else None


def of_token(bearer: Bearer) -> Asker:
    return Asker(bearer.who, bearer.scopes, bearer)


def of_home(session: Session, name: str) -> Asker:
    """The lead of a script that has the data folder: the one of this name, or the only one.

    Raises NotFound.
    """
    if name:
        lead = accounts.lead_called(session, name)
        if lead is None:
            raise NotFound(f"There is no lead called {name!r} who can sign in.")
    else:
        able = (Person.role == Role.lead) & Person.passcode_hash.is_not(None) & Person.disabled_at.is_(None)
        leads = session.scalars(select(Person).where(able).limit(2)).all()
        if len(leads) != 1:
            many = "several leads; say which one the script acts for" if leads else "no lead yet; create one in the app"
            raise NotFound(f'Here are {many}: open(home, lead="…").' if leads else f"There is {many}.")
        lead = leads[0]
    return Asker(Who(lead.id, lead.pseudonym, lead.role, lead.name, 0), SCOPES_OF_HOME)


def refuse_without(asker: Asker, scope: Scope) -> None:
    """Raises NotAllowed."""
    if scope not in asker.scopes:
        raise NotAllowed(f"This needs a token that may {scope}; this one may {', '.join(sorted(asker.scopes))}.")


def studies_of(session: Session, asker: Asker) -> list[Study]:
    """The studies that the asker may mean, newest first."""
    led = lifecycle.for_lead(session, asker.who)
    return [study for study in led if asker.study_id in (None, study.id)]


def study_of(session: Session, asker: Asker, slug: str) -> Study:
    """The study. Raises NotFound, whether it does not exist, is someone else's, or the token is for another one."""
    study = lifecycle.led_by(session, asker.who, slug)
    if asker.study_id not in (None, study.id):
        raise NotFound(f"You do not lead a study called {slug!r}.")
    return study
