"""The lead on whose behalf a script calls, and the studies that the script may access."""

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

SCOPES_OF_HOME = frozenset({Scope.read, Scope.write})  # no passcode was entered, so no unblinding


@dataclass(frozen=True)
class Asker:
    """A lead whose script calls, and what it may do. `bearer` is its token; None on the data folder itself."""

    who: Who
    scopes: frozenset[Scope]
    bearer: Bearer | None = None

    @property
    def study_id(self) -> int | None:
        return self.bearer.study_id if self.bearer else None


def of_home(session: Session, name: str) -> Asker:
    """The lead of a script that uses the data folder: the one named, or the only one if `name` is "".

    Raises NotFound if there is no such lead, or several without a name.
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
    """Raises NotAllowed if the token does not have this scope."""
    if scope not in asker.scopes:
        raise NotAllowed(f"This needs a token that may {scope}; this one may {', '.join(sorted(asker.scopes))}.")


def studies_of(session: Session, asker: Asker) -> list[Study]:
    """The studies that the asker may access, newest first."""
    led = lifecycle.for_lead(session, asker.who)
    return [study for study in led if asker.study_id in (None, study.id)]


def study_of(session: Session, asker: Asker, slug: str) -> Study:
    """The study. Raises NotFound if it does not exist, belongs to another lead, or the token is for another study."""
    study = lifecycle.led_by(session, asker.who, slug)
    if asker.study_id not in (None, study.id):
        raise NotFound(f"You do not lead a study called {slug!r}.")
    return study
