"""Signing in with a passcode or a return code.

Hashing is slow, so it runs between short transactions and never within one. Wrong tries are counted per account:
separately for each browser that has signed in to it before, and together for all other browsers.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from triptych.errors import NotAllowed
from triptych.languages.language import _, message
from triptych.people import accounts, identities, joining, links, logins, passcodes
from triptych.people.tokens import Bearer, Scope
from triptych.storage.database import reading, writing
from triptych.storage.models import Person, Study
from triptych.study import lifecycle
from triptych.study.persons import Certainty, Who


@dataclass(frozen=True)
class Browser:
    """A browser's id, and the people who signed in with it."""

    id: str = ""
    people: tuple[int, ...] = ()


UNKNOWN = Browser()
WRONG_PASSCODE = message("This name and passcode do not match.")
WRONG_CODE = message("This name and return code do not match in this study.")
log = logging.getLogger("triptych.people")


def lead(engine: Engine, name: str, passcode: str, browser: Browser = UNKNOWN) -> Person:
    """The lead with this name and passcode. Raises NotAllowed, also when tries come too fast."""
    with reading(engine) as session:
        person = accounts.lead_called(session, name)
    people = [person] if person else []
    return _checked(engine, accounts.lead_account(name), people, passcode, browser, _(WRONG_PASSCODE))


def identified(engine: Engine, identity: str) -> Person:
    """The person identified by the single sign-on proxy. Raises NotAllowed if nobody here has this identity."""
    with reading(engine) as session:
        person = identities.identified(session, identity)
    if person is None:
        raise NotAllowed(_(identities.UNKNOWN, identity=identity))
    log.info("Someone signs in by single sign-on.")
    return person


def returning(engine: Engine, study: Study, name: str, code: str, browser: Browser = UNKNOWN) -> Person:
    """The annotator with this name and return code. Raises NotAllowed, also when tries come too fast."""
    with reading(engine) as session:
        people = [person for person in joining.called(session, study, name) if person.disabled_at is None]
    account, typed_code = accounts.study_account(study.id, name), passcodes.read_return_code(code)
    return _checked(engine, account, people, typed_code, browser, _(WRONG_CODE))


def certain(
    engine: Engine, who: Who, typed_at: datetime | None, passcode: str, browser: Browser = UNKNOWN
) -> Certainty:
    """The proof for an irreversible action: the passcode, typed at `typed_at` recently or now. Raises as `lead`."""
    with reading(engine) as session:
        is_fresh = logins.passcode_is_fresh(session, who, typed_at)
    if not is_fresh:
        _confirmed(engine, who, passcode, browser)
    return Certainty(who)


def proved_by(bearer: Bearer) -> Certainty:
    """The proof given when this token was created, if it may unblind. Raises NotAllowed for any other token."""
    if Scope.unblind not in bearer.scopes or bearer.study_id is None:
        raise NotAllowed("This token may not unblind. A lead can create one that may on the page Account.")
    return Certainty(bearer.who)


def _confirmed(engine: Engine, who: Who, passcode: str, browser: Browser) -> Person:
    """The lead who is signed in, who gives their passcode again. Raises as `lead`."""
    with reading(engine) as session:
        person = session.get_one(Person, who.person_id)
    account = accounts.lead_account(person.name)
    return _checked(engine, account, [person], passcode, browser, "This is not your passcode.")


def change_passcode(engine: Engine, who: Who, passcode: str, new: str, browser: Browser = UNKNOWN) -> Person:
    """Replace a lead's passcode and end all their logins; returns the person, who can be signed in again.

    Raises as `lead`, and NotAllowed for an unusable passcode.
    """
    person = _confirmed(engine, who, passcode, browser)
    hashed = passcodes.hash_passcode(new)
    with writing(engine) as session:
        logins.refuse_if_changed(session, person)
        return accounts.reset_passcode(session, person.name or "", hashed)


def _checked(
    engine: Engine, account: str, people: Sequence[Person], secret: str, browser: Browser, refusal: str
) -> Person:
    """The person among these with this secret; without any person the check takes as long."""
    is_known = any(person.id in browser.people for person in people)
    count = f"{account} in {browser.id}" if is_known else account
    with writing(engine) as session:
        passcodes.begin_try(session, count)
    hashes = [person.passcode_hash for person in people] or [None]
    matches = [passcodes.fits(stored, secret) for stored in hashes]
    if True not in matches:
        raise NotAllowed(refusal)
    person = people[matches.index(True)]
    with writing(engine) as session:
        logins.refuse_if_changed(session, person)
        passcodes.forget_tries(session, count)
    return person


def newcomer(engine: Engine, slug: str, name: str) -> tuple[Person, str]:
    """As `joining.join_open_study`."""
    code = passcodes.new_return_code()
    with writing(engine) as session:
        return joining.join_open_study(session, lifecycle.by_slug(session, slug), name, code)


def first_lead(engine: Engine, secret: str, name: str, passcode: str) -> Person:
    """As `accounts.use_setup_ticket`."""
    with reading(engine) as session:
        accounts.check_setup_ticket(session, secret)
    hashed = passcodes.hash_passcode(passcode)
    with writing(engine) as session:
        return accounts.use_setup_ticket(session, secret, name, hashed)


def invited_lead(engine: Engine, secret: str, passcode: str) -> Person:
    """As `links.accept_as_lead`."""
    with reading(engine) as session:
        links.invited(session, secret)
    hashed = passcodes.hash_passcode(passcode)
    with writing(engine) as session:
        return links.accept_as_lead(session, secret, hashed)
