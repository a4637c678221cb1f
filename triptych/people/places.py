"""Places of a panel study: how many people may be in it at once, and whether a panel's address is genuine.

Anybody can write an address with an invented participant id. So a study takes no more people than it needs, and the
panel can prove that an id is its own: with a secret in the link, or with a signature of each id.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
from datetime import UTC, timedelta
from typing import Any

from sqlalchemy import ColumnElement, exists, func, select
from sqlmodel import Session

from triptych import clock, settings
from triptych.errors import NotAllowed, StudyFull
from triptych.languages.language import _
from triptych.people.membership import takes_part
from triptych.storage.models import (
    Assignment,
    EntryAttempt,
    Item,
    Membership,
    Person,
    Purpose,
    Role,
    Study,
    TestAnswer,
)
from triptych.study.settings import settings_of

SPARE = 1.5  # people let in per place wanted: some of them give up
CLOCKS_DIFFER_SECONDS = 60  # a token may begin that much later than now: the panel's clock can be ahead
log = logging.getLogger("triptych.people")


def most_people(session: Session, study: Study) -> int:
    """How many people may hold a place: the setting, else 1.5 × as many as the items need."""
    of_study = settings_of(study)
    if of_study.panel.most_people:
        return of_study.panel.most_people
    main = (Item.study_id == study.id) & (Item.purpose == Purpose.main) & ~Item.retired
    ratings = session.execute(select(func.coalesce(func.sum(Item.raters), 0)).where(main)).scalar_one()
    wanted = -(-int(ratings) // (of_study.items_per_annotator or 1))
    return max(int(-(-wanted * SPARE // 1)), 1)


def people_with_a_place(session: Session, study: Study) -> int:
    """People in onboarding, at work or finished; not those who failed, left, or did not respond in time."""
    query = select(func.count()).select_from(Membership).join(Person, Person.id == Membership.person_id)
    return session.execute(query.where(_holds_a_place(study))).scalar_one()


def _holds_a_place(study: Study) -> ColumnElement[bool]:
    now, free_after = clock.now(), timedelta(minutes=settings_of(study).panel.free_after_minutes)
    oldest, newest = now - free_after, now + free_after  # a later time is from a clock that was ahead
    own = (Assignment.study_id == study.id) & (Assignment.person_id == Membership.person_id)
    # a draft may be empty, and the item goes to others when its time is over
    drafted = (Assignment.draft_seq > 0) & (Assignment.expires_at > oldest)
    answered = exists().where(own, Assignment.submitted_at.is_not(None) | drafted)
    begun = exists().where(TestAnswer.attempt_id == EntryAttempt.id)
    in_test = EntryAttempt.finished_at.is_not(None) | EntryAttempt.started_at.between(oldest, newest) | begun
    tested = exists().where(EntryAttempt.membership_id == Membership.id, in_test)
    return takes_part(study) & (Membership.joined_at.between(oldest, newest) | answered | tested)


def refuse_if_full(session: Session, study: Study, person_id: int | None) -> None:
    """Raises StudyFull if all places are taken and the person holds none (None: a new person).

    People who failed or left are not refused: they return for their code.
    """
    own = (Membership.study_id == study.id) & (Membership.role == Role.annotator) & (Membership.person_id == person_id)
    parts = select(takes_part(study), _holds_a_place(study)).select_from(Membership).join(Person).where(own)
    part = session.execute(parts).first()
    if part is not None and (part[1] or not part[0]):
        return
    most = most_people(session, study)
    if people_with_a_place(session, study) < most:
        return
    log.warning("Study %s: all %d places are taken; somebody from the panel was turned away.", study.slug, most)
    minutes = settings_of(study).panel.free_after_minutes
    raise StudyFull(
        _(
            "Thank you for coming. All places of this study are taken at the moment, so there is nothing to do, and "
            "nothing was stored about you. Places of people who do not begin become free after {minutes} minutes: "
            "open the study again from your panel later, or return it there.",
            minutes=minutes,
        )
    )


def key_of(study: Study) -> str:
    """The study's key for its panel; each proof has a different one, because participants can read the secret in a
    link.

    It changes with the server's secret.
    """
    text = f"panel {study.slug} {study.seed} {settings_of(study).panel.proof}".encode()
    return hmac.new(settings.cookie_secret().encode(), text, hashlib.sha256).hexdigest()[:32]


def refuse_without_proof(study: Study, external_id: str, proof: str) -> None:
    """Raises NotAllowed for an address that the panel did not make."""
    panel, key = settings_of(study).panel, key_of(study).encode()
    sent, name = proof.encode("utf-8", "surrogatepass"), external_id.encode("utf-8", "surrogatepass")
    match panel.proof:
        case "secret":
            is_genuine = hmac.compare_digest(sent, key)
        case "signature":
            ids = [claims.get("sub"), claims.get(panel.id_param)] if (claims := _claims(key, sent)) else []
            is_signed = hmac.compare_digest(sent, _signed(key, name).hex().encode())
            # the text of a token is signed with the same key, but is no id
            is_genuine = external_id in ids or (is_signed and not _is_text_of_token(name))
        case _:
            is_genuine = True
    if not is_genuine:
        raise NotAllowed(_("This address does not come from the study's panel. Open the study from the panel again."))


def _signed(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha256).digest()


def _claims(key: bytes, token: bytes) -> dict[str, Any]:
    """The claims of a valid JSON Web Token (RFC 7519) signed with HS256; nothing for any other text."""
    text, _, signature = token.rpartition(b".")
    try:
        header, claims = _header_and_claims(text)
        if header["alg"] == "HS256" and hmac.compare_digest(_decoded(signature), _signed(key, text)):
            now = clock.now().replace(tzinfo=UTC).timestamp()
            begins = float(claims.get("nbf", now)) - CLOCKS_DIFFER_SECONDS
            return dict(claims) if begins <= now < float(claims.get("exp", now + 1)) else {}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        pass  # invalid token
    return {}


def _is_text_of_token(name: bytes) -> bool:
    """Whether it is what the signature of a JSON Web Token signs."""
    try:
        return isinstance(_header_and_claims(name)[0], dict)
    except (ValueError, RecursionError):
        return False


def _header_and_claims(text: bytes) -> tuple[Any, Any]:
    header, claims = (json.loads(_decoded(part)) for part in text.split(b"."))
    return header, claims


def _decoded(part: bytes) -> bytes:
    return base64.b64decode(part + b"=" * (-len(part) % 4), altchars=b"-_", validate=True)
