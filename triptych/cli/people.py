"""`triptych people`: leads, annotators' links, and identities of single sign-on."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from sqlmodel import Session

from triptych import settings
from triptych.cli import files
from triptych.cli.opening import passcode, to_read, written
from triptych.cli.output import Reply
from triptych.errors import ImportRefused, NotAllowed, NotFound
from triptych.people import accounts, identities
from triptych.people.invitations import Invited, invite_all, invite_one, read_list
from triptych.storage.database import reading
from triptych.storage.models import Role
from triptych.study import lifecycle
from triptych.study.persons import Who


def acting_lead(session: Session, name: str) -> Who:
    """The lead of this name, as if signed in. Raises NotFound if there is none or the account is disabled."""
    lead = accounts.lead_called(session, name)
    if lead is None:
        make = f"{settings.program()} people add-lead NAME"
        raise NotFound(f"There is no lead called {name!r} who can sign in. Create one: {make}")
    return Who(lead.id, lead.pseudonym, lead.role, lead.name, 0)


def add_lead(name: str) -> Reply:
    """Create a lead account."""
    secret = passcode("Passcode: ")
    lead = written(lambda session: accounts.create_lead(session, name, secret))
    line = f"Sign in with the name {lead.name} and the passcode. Leads and annotators see {lead.pseudonym}."
    return Reply([line], {"name": lead.name, "pseudonym": lead.pseudonym})


def reset_passcode(name: str) -> Reply:
    """Set a new passcode for a lead."""
    secret = passcode("New passcode: ")
    lead = written(lambda session: accounts.reset_passcode(session, name, secret))
    return Reply([f"{lead.name} has a new passcode."], {"name": lead.name})


def identity(person: str | None, identity: str | None) -> Reply:
    """Set a person's identity for single sign-on, or remove it if it is None; without a person, list all."""
    if person is None:
        with reading(to_read()) as session:
            everybody = {known.pseudonym: known.identity for known in identities.everybody(session)}
        return Reply([f"{pseudonym}\t{known}" for pseudonym, known in everybody.items()], {"identities": everybody})
    pseudonym = written(lambda session: identities.give(session, person, identity).pseudonym)
    line = f"{pseudonym} signs in as {identity}." if identity else f"{pseudonym} no longer has an identity."
    return Reply([line], {"pseudonym": pseudonym, "identity": identity})


def invite(lead: str, study: str, names: Sequence[str], list: str | None, address: str, encoding: str | None) -> Reply:
    """Create a personal link for each person."""
    guests = written(lambda session: _invite(session, lead, study, names, list, encoding))
    link = f"{address.rstrip('/')}/?"
    people = [
        {"pseudonym": guest.pseudonym, "name": guest.name, "link": link + urlencode({"join": guest.secret})}
        for guest in guests
    ]
    return Reply(["\t".join(person.values()) for person in people], {"invited": people})


def _invite(
    session: Session, lead: str, slug: str, names: Sequence[str], guests: str | None, encoding: str | None
) -> list[Invited]:
    who = acting_lead(session, lead)
    study = lifecycle.led_by(session, who, slug)
    if bool(names) == bool(guests):
        raise NotAllowed("Name the people to invite, or pass a CSV file with --list.")
    if not guests:
        return [invite_one(session, study, name, "", Role.annotator, who.pseudonym) for name in names]
    guest_list = read_list(session, study, files.read(guests, encoding))
    if not guest_list.ok:
        raise ImportRefused(*map(str, guest_list.problems))
    return invite_all(session, study, guest_list.guests, who.pseudonym)
