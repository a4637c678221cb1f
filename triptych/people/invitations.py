"""Inviting people to a study: one by one, from a list, as annotators or as leads.

A list is a CSV file with a line per person: name, and if wanted e-mail address and role. It is read completely, then
looked at, then everybody on it is invited or nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlmodel import Session

from triptych.errors import ImportRefused, NotAllowed
from triptych.formats.decode import decode, refuse_other_content
from triptych.formats.model import Findings, Problem
from triptych.formats.tables import Cells, parse
from triptych.people import accounts, roster
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Membership, Person, Role, Study
from triptych.study import lifecycle

COLUMNS = ("name", "email", "role")
HEADINGS = {"e-mail": "email", "mail": "email", "e-mail address": "email", "email address": "email"}
DELIMITERS = ",;\t"
MAX_GUESTS = 1000
MAX_EMAIL_CHARACTERS = 200
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


@dataclass(frozen=True)
class Guest:
    """One line of a list."""

    row: int
    name: str
    email: str | None
    role: Role


@dataclass(frozen=True)
class GuestList:
    """A list that was read, with everything that is wrong with it, by row."""

    guests: tuple[Guest, ...]
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        return bool(self.guests) and not any(problem.severity == "error" for problem in self.problems)


@dataclass(frozen=True)
class Invited:
    """Somebody who was invited, and the secret of their link; it is not stored and cannot be shown again."""

    name: str
    email: str | None
    role: Role
    pseudonym: str
    secret: str


def read_list(session: Session, study: Study, data: bytes) -> GuestList:
    """The people on a CSV list, compared with each other and with the people in the study.

    Raises ImportRefused for a file that is no text at all.
    """
    refuse_other_content(data)
    findings = Findings()
    rows = _filled(decode(data), findings)
    if len(rows) > MAX_GUESTS:
        findings.error(f"The list has {len(rows):,} lines; at most {MAX_GUESTS:,} people can be invited at once.")
        return GuestList((), findings.finish())
    columns, rows = _columns(rows, findings)
    guests = tuple(_guests(rows, columns, findings))
    _find_doubles(guests, findings)
    _find_known(session, study, guests, findings)
    if not guests and not findings.has_errors:
        findings.error("The list is empty. Write a line for each person: name, e-mail address, role.")
    return GuestList(guests, findings.finish())


def _filled(text: str, findings: Findings) -> list[Cells]:
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    return [row for row in parse(text, delimiter, findings) if any(cell.strip() for cell in row[1])]


def _columns(rows: list[Cells], findings: Findings) -> tuple[list[str], list[Cells]]:
    """What each column means, and the rows below the header, if there is one."""
    header = [HEADINGS.get(cell.strip().casefold(), cell.strip().casefold()) for cell in rows[0][1]] if rows else []
    if "name" not in header:
        return list(COLUMNS), rows
    for name in header:
        if name not in COLUMNS:
            findings.note(f"The column '{name}' is left out: nothing of it is stored.")
    return header, rows[1:]


def _guests(rows: Sequence[Cells], columns: Sequence[str], findings: Findings) -> Iterator[Guest]:
    for row, cells in rows:
        extra = [cell for cell in cells[len(columns) :] if cell.strip()]
        if extra:
            findings.error(f"There are {len(cells)} cells, but {len(columns)} columns.", row)
            continue
        fields = {name: cell.strip() for name, cell in zip(columns, cells, strict=False)}
        guest = _guest(row, fields, findings)
        if guest is not None:
            yield guest


def _guest(row: int, fields: dict[str, str], findings: Findings) -> Guest | None:
    email, role = fields.get("email", ""), fields.get("role", "").casefold() or Role.annotator
    try:
        name = accounts.read_name(fields.get("name", ""))
    except NotAllowed as refusal:
        findings.error(str(refusal), row, "name")
        return None
    if email and not _is_address(email):
        findings.error(f"'{email}' is no e-mail address.", row, "email")
    if role not in list(Role):
        findings.error(f"'{role}' is no role; write annotator or lead, or leave it empty.", row, "role")
        return None
    return Guest(row, name, email or None, Role(role))


def _is_address(email: str) -> bool:
    return len(email) <= MAX_EMAIL_CHARACTERS and EMAIL.fullmatch(email) is not None


def _find_doubles(guests: Sequence[Guest], findings: Findings) -> None:
    names: dict[str, int] = {}
    emails: dict[str, int] = {}
    for guest in guests:
        first = names.setdefault(accounts.folded(guest.name), guest.row)
        if first != guest.row:
            findings.error(
                f"'{guest.name}' is in row {first} already. Two people of one name need a surname or an initial.",
                guest.row,
                "name",
            )
        first = emails.setdefault(accounts.folded(guest.email), guest.row) if guest.email else guest.row
        if first != guest.row:
            findings.error(f"'{guest.email}' is in row {first} already.", guest.row, "email")


def _find_known(session: Session, study: Study, guests: Sequence[Guest], findings: Findings) -> None:
    """Errors for people in the study: a new link is issued on purpose, because it ends the old one."""
    members = select(Person.name, Person.email, Person.pseudonym).join(Membership, Membership.person_id == Person.id)
    rows = session.execute(members.where(Membership.study_id == study.id)).all()
    names = {accounts.folded(row.name): row.pseudonym for row in rows if row.name}
    emails = {accounts.folded(row.email): row.pseudonym for row in rows if row.email}
    leads = select(Person.name, Person.passcode_hash.is_not(None)).where(Person.role == Role.lead)
    has_account = {accounts.folded(name): able for name, able in session.execute(leads.where(Person.name.is_not(None)))}
    for guest in guests:
        pseudonym = names.get(accounts.folded(guest.name)) or emails.get(
            accounts.folded(guest.email) if guest.email else ""
        )
        if pseudonym:
            findings.error(f"Takes part already, as {pseudonym}. Issue a new link for this person instead.", guest.row)
        elif guest.role == Role.lead and accounts.folded(guest.name) in has_account:
            when = "instead" if has_account[accounts.folded(guest.name)] else "as soon as they have chosen a passcode"
            findings.error(f"There is a lead called {guest.name} already. Add this lead by name {when}.", guest.row)


def invite_all(session: Session, study: Study, guests: Sequence[Guest], actor: str) -> list[Invited]:
    """Invites everybody on the list, each with a personal link good for 90 days, or nobody.

    Raises ImportRefused, with a line for each person who cannot be invited, and NotAllowed for a closed study.
    """
    study = lifecycle.lock(session, study.id)
    findings = Findings()
    _find_doubles(guests, findings)
    _find_known(session, study, guests, findings)
    if findings.has_errors:
        raise ImportRefused("\n".join(map(str, findings.finish())))
    return [_invite(session, study, guest, actor) for guest in guests]


def invite_one(session: Session, study: Study, name: str, email: str, role: Role, actor: str) -> Invited:
    """Invites one person. Raises NotAllowed for an unusable name or address, ImportRefused for a member."""
    if email.strip() and not _is_address(email.strip()):
        raise NotAllowed(f"'{email.strip()}' is no e-mail address.")
    study = lifecycle.lock(session, study.id)
    guest = Guest(1, accounts.read_name(name), email.strip() or None, role)
    findings = Findings()
    _find_known(session, study, [guest], findings)
    if findings.has_errors:
        raise ImportRefused(f"{guest.name}: {findings.finish()[0].message}")
    return _invite(session, study, guest, actor)


def _invite(session: Session, study: Study, guest: Guest, actor: str) -> Invited:
    person = accounts.new_person(session, guest.role, name=guest.name, email=guest.email)
    if guest.role == Role.lead:
        roster.enrol_lead(session, study, person, actor)
    else:
        accounts.enrol(session, study, person.id, person.pseudonym)
    events.record(session, study.id, EventKind.invited, actor, subject=person.pseudonym)
    secret = accounts.issue_link(session, study, person.id)
    return Invited(guest.name, guest.email, guest.role, person.pseudonym, secret)
