"""Inviting people to a study: one by one, from a list, as annotators, leads or viewers.

A list is a CSV file, or typed, with a line per person: name, e-mail address, group of annotators and role, all of them
optional. `crowd × 5` are five people without a name. It is read completely, then everybody on it is invited or nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from sqlalchemy import select
from sqlmodel import Session

from triptych.errors import ImportRefused, NotAllowed
from triptych.formats.decode import decode, refuse_other_content
from triptych.formats.model import Findings, Problem
from triptych.formats.tables import Cells, parse
from triptych.people import accounts, joining, links, roster, viewers
from triptych.people.names import folded, read_name
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import Membership, Person, Role, Study
from triptych.study import annotator_groups, lifecycle
from triptych.study.settings import settings_of

COLUMNS = ("name", "email", "group", "role")
HEADINGS = {"e-mail": "email", "mail": "email", "e-mail address": "email", "email address": "email"}
# people without a name, and their group
SEVERAL = re.compile(r"(?P<group>[^,;\t]{0,200}?)\s*[×x*]\s*(?P<count>\d{1,4})")
DELIMITERS = ",;\t"
NAMESAKES = " Two people with the same name need a surname or an initial."
MAX_GUESTS = 200  # each takes some milliseconds of the turn to write, for which annotators' drafts wait
MAX_EMAIL_CHARACTERS = 200
MAX_GROUP_CHARACTERS = 60
ADDRESS_PART = r'[^@\s()<>\[\]:;,"\\]+'  # without what means something else in a header
EMAIL = re.compile(rf"(?!.*=\?){ADDRESS_PART}@{ADDRESS_PART}\.{ADDRESS_PART}")  # "=?" begins an encoded text


@dataclass(frozen=True)
class Guest:
    """Somebody on a list. name: empty for a person who is known by their pseudonym; group: of annotators, or empty."""

    row: int
    name: str
    email: str | None
    role: Role
    group: str = ""


@dataclass(frozen=True)
class GuestList:
    """A list that was read, with all its problems by row."""

    guests: tuple[Guest, ...]
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        return bool(self.guests) and not any(problem.severity == "error" for problem in self.problems)


@dataclass(frozen=True)
class Invited:
    """Somebody who was invited or reminded, with the secret of their link, which is shown once and not stored.

    days: validity of the link.
    """

    name: str
    email: str | None
    role: Role
    pseudonym: str
    secret: str
    group: str = ""
    reminder: bool = False
    days: int = links.INVITATION_LIFE.days


def read_list(session: Session, study: Study, data: bytes) -> GuestList:
    """The people on a CSV list, checked against each other and against the people in the study.

    Raises ImportRefused for a file that is not text.
    """
    refuse_other_content(data)
    findings = Findings()
    columns, rows = _columns(_filled(decode(data), findings), findings)
    if len(rows) > MAX_GUESTS:
        findings.error(
            f"The list has {len(rows):,} lines; at most {MAX_GUESTS:,} people can be invited at once. Split it."
        )
        return GuestList((), findings.finish())
    guests = tuple(islice(_guests(rows, columns, findings), MAX_GUESTS + 1))  # a line may mean thousands
    if len(guests) > MAX_GUESTS:
        findings.error(
            f"These are more than {MAX_GUESTS:,} people; at most {MAX_GUESTS:,} can be invited at once. Split the list."
        )
    _find_doubles(guests, findings)
    _find_known(session, study, guests, findings)
    if not guests and not findings.has_errors:
        findings.error("The list is empty. Write a line for each person: name, e-mail address, group.")
    return GuestList(guests, findings.finish())


def _filled(text: str, findings: Findings) -> list[Cells]:
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    return [row for row in parse(text, delimiter, findings) if any(cell.strip() for cell in row[1])]


def _columns(rows: list[Cells], findings: Findings) -> tuple[list[str], list[Cells]]:
    """The meaning of each column, and the rows below the header; no columns if there is no header."""
    header = [HEADINGS.get(cell.strip().casefold(), cell.strip().casefold()) for cell in rows[0][1]] if rows else []
    if "name" not in header and not {"email", "group"} <= {*header}:
        return [], rows
    for name in header:
        if name not in COLUMNS:
            findings.note(f"The column '{name}' is ignored and not stored.")
    return header, rows[1:]


def _guests(rows: Sequence[Cells], columns: Sequence[str], findings: Findings) -> Iterator[Guest]:
    for row, cells in rows:
        several = None if columns else SEVERAL.fullmatch(" ".join(cells).strip())
        if several:
            yield from [Guest(row, "", None, Role.annotator, several["group"])] * int(several["count"])
            continue
        in_row = columns or _columns_of(cells)
        extra = [cell for cell in cells[len(in_row) :] if cell.strip()]
        if extra:
            findings.error(f"There are {len(cells)} cells, but {len(in_row)} columns.", row)
            continue
        fields = {name: cell.strip() for name, cell in zip(in_row, cells, strict=False)}
        guest = _guest(row, fields, findings)
        if guest is not None:
            yield guest


def _columns_of(cells: Sequence[str]) -> list[str]:
    """The meaning of a row's cells without a header: name, address, then group or role; the name may be missing."""
    columns = ["name", "email"] if not is_address(cells[0].strip()) else ["email"]
    last = cells[len(columns)].strip().casefold() if len(cells) > len(columns) else ""
    return [*columns, *(("role",) if last in list(Role) else ("group", "role"))]


def _guest(row: int, fields: dict[str, str], findings: Findings) -> Guest | None:
    email, role = fields.get("email", ""), fields.get("role", "").casefold() or Role.annotator
    group = fields.get("group", "")
    try:
        name = read_name(fields.get("name", "")) if fields.get("name") or role == Role.lead else ""
    except NotAllowed as refusal:
        findings.error(str(refusal), row, "name")
        return None
    if not (name or email or group):
        findings.error("This line is empty: write a name, an e-mail address or a group.", row)
    if group and (role != Role.annotator or len(group) > MAX_GROUP_CHARACTERS):
        findings.error(
            f"'{group}' is not a group: only annotators have groups, with at most {MAX_GROUP_CHARACTERS} characters.",
            row,
        )
    if email and not is_address(email):
        findings.error(f"'{email}' is no e-mail address.", row, "email")
    if role not in list(Role):
        findings.error(f"'{role}' is not a role; write annotator, lead or viewer, or leave it empty.", row, "role")
        return None
    return Guest(row, name, email or None, Role(role), group)


def is_address(email: str) -> bool:
    """Whether this is one e-mail address, which a mail to it can name."""
    return len(email) <= MAX_EMAIL_CHARACTERS and EMAIL.fullmatch(email) is not None


def _find_doubles(guests: Sequence[Guest], findings: Findings) -> None:
    rows: dict[tuple[str, str], int] = {}
    for guest in guests:
        for column, text, advice in (("name", guest.name, NAMESAKES), ("email", guest.email, "")):
            first = rows.setdefault((column, folded(text)), guest.row) if text else guest.row
            if first != guest.row:
                findings.error(f"'{text}' is in row {first} already.{advice}", guest.row, column)


def _find_known(session: Session, study: Study, guests: Sequence[Guest], findings: Findings) -> None:
    """Errors for people who are in the study: they need a new link on purpose, since it ends the old one.

    People whose names leads do not see count as strangers.
    """
    members = select(Person, Membership).join(Membership, Membership.person_id == Person.id)
    rows = session.execute(members.where(Membership.study_id == study.id))
    named = [person for person, membership in rows if roster.is_named(study, membership)]
    names = {folded(person.name): person.pseudonym for person in named if person.name}
    emails = {folded(person.email): person.pseudonym for person in named if person.email}
    leads = select(Person.name, Person.passcode_hash.is_not(None)).where(Person.role == Role.lead)
    has_account = {folded(name): able for name, able in session.execute(leads.where(Person.name.is_not(None)))}
    for guest in guests:
        pseudonym = names.get(folded(guest.name)) or emails.get(folded(guest.email))
        if pseudonym:
            findings.error(f"Already takes part, as {pseudonym}. Issue a new link for this person instead.", guest.row)
        elif guest.role == Role.lead and folded(guest.name) in has_account:
            when = "instead" if has_account[folded(guest.name)] else "as soon as they have chosen a passcode"
            findings.error(f"There is already a lead called {guest.name}. Add this lead by name {when}.", guest.row)


def invite_all(session: Session, study: Study, guests: Sequence[Guest], actor: str) -> list[Invited]:
    """Invites everybody on the list, each with a personal link good for 90 days, or nobody.

    Raises ImportRefused, with a line for each person who cannot be invited, and NotAllowed for a closed study.
    """
    study = lifecycle.lock(session, study.id)
    findings = Findings()
    _find_doubles(guests, findings)
    _find_known(session, study, guests, findings)
    if findings.has_errors:
        raise ImportRefused(*map(str, findings.finish()))
    invited = [_invite(session, study, guest, actor) for guest in guests]
    by_pseudonym = {person.pseudonym: person.group for person in invited if person.group}
    annotator_groups.assign(session, study, by_pseudonym, actor)
    return invited


def invite_one(
    session: Session,
    study: Study,
    name: str,
    email: str,
    role: Role,
    actor: str,
    days: int = links.INVITATION_LIFE.days,
) -> Invited:
    """Invites one person by name, with a link good for so many days.

    Nobody who takes part in the study becomes its viewer, and no viewer takes part.
    Raises NotAllowed for an unusable name or address, ImportRefused for a member."""
    if email.strip() and not is_address(email.strip()):
        raise NotAllowed(f"'{email.strip()}' is no e-mail address.")
    study = lifecycle.lock(session, study.id)
    guest = Guest(1, read_name(name), email.strip() or None, role)
    findings = Findings()
    _find_known(session, study, [guest], findings)
    if findings.has_errors:
        raise ImportRefused(f"{guest.name}: {findings.finish()[0].message}")
    return _invite(session, study, guest, actor, days)


def remind(session: Session, study: Study, pseudonyms: Sequence[str], actor: str) -> list[Invited]:
    """A new link for each of these annotators, or for nobody; the earlier one works until the new one is used.

    Secrets are not stored, so an existing link cannot be sent again. Raises NotFound; NotAllowed for more than
    MAX_GUESTS, for somebody who cannot return, and for somebody in a study that this lead does not lead.
    """
    return _further_links(session, study, pseudonyms, actor, EventKind.reminded)


def renew(session: Session, study: Study, pseudonyms: Sequence[str], actor: str) -> list[Invited]:
    """A new link for each of these annotators, or for nobody; the earlier ones stop working. Raises as `remind`."""
    return _further_links(session, study, pseudonyms, actor, EventKind.link_issued)


def _further_links(
    session: Session, study: Study, pseudonyms: Sequence[str], actor: str, kind: EventKind
) -> list[Invited]:
    if len(pseudonyms) > MAX_GUESTS:
        raise NotAllowed(
            f"These are {len(pseudonyms):,} people; at most {MAX_GUESTS} can get a link at once. Select fewer."
        )
    groups, invited, is_reminder = settings_of(study).annotator_groups, [], kind == EventKind.reminded
    for pseudonym in sorted(pseudonyms):  # sorted, so that two leads lock people in the same order
        membership, person = roster.find(session, study, pseudonym)
        roster.refuse_link(session, study, membership, person, actor)
        if membership.excluded_at or membership.turned_away_as:
            raise NotAllowed(f"{pseudonym} is excluded or was turned away, so there is nothing to remind them of.")
        secret = links.issue_link(session, study, person.id, replaces=not is_reminder)
        events.record(session, study.id, kind, actor, subject=pseudonym)
        name, email = (person.name, person.email) if roster.is_named(study, membership) else (None, None)
        facts = (name or "", email, Role.annotator, pseudonym, secret, groups.get(pseudonym, ""))
        invited.append(Invited(*facts, reminder=is_reminder))
    return invited


def _invite(
    session: Session, study: Study, guest: Guest, actor: str, days: int = links.INVITATION_LIFE.days
) -> Invited:
    if guest.role == Role.lead:
        accounts.refuse_taken_lead(session, guest.name)
    person = accounts.new_person(session, guest.role, name=guest.name or None, email=guest.email)
    if guest.role == Role.lead:
        roster.enrol_lead(session, study, person, actor)
    elif guest.role == Role.viewer:
        viewers.enrol_viewer(session, study, person, actor)
    else:
        joining.enrol(session, study, person.id, person.pseudonym)
    events.record(session, study.id, EventKind.invited, actor, subject=person.pseudonym)
    secret = links.issue_link(session, study, person.id, life=timedelta(days=days))
    return Invited(guest.name, guest.email, guest.role, person.pseudonym, secret, guest.group, days=days)
