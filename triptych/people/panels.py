"""People from a panel: the study that their address leads to, their ids, and joining."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select
from sqlmodel import Session

from triptych.errors import NotAllowed
from triptych.languages.language import _
from triptych.people import passcodes, places
from triptych.people.accounts import new_person
from triptych.people.joining import enrol, is_member, refuse_unless_open
from triptych.people.names import tidied
from triptych.people.shared_accounts import OPENS_OTHERS, opens_studies_of_others
from triptych.storage.models import Access, PanelIdentity, Person, Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of

LONGEST_PANEL_ID = 200
WITHDRAWN = "withdrawn "  # before what is left of an id


def panel_study(session: Session, parameters: Mapping[str, str]) -> Study | None:
    """The study that a panel's address leads to: it names a panel study and carries a participant id."""
    slug = parameters.get("study", "")
    carries_an_id = slug.isprintable() and len(parameters) > 1
    query = select(Study).where(Study.slug == slug, Study.access == Access.panel)
    study = session.scalars(query).first() if slug and carries_an_id else None
    return study if study and settings_of(study).panel.id_param in parameters else None


def came_from_panel(session: Session, who: Who) -> bool:
    """Whether a panel sent this person: they joined for one study and are offered no other."""
    identity = select(PanelIdentity.id).where(PanelIdentity.person_id == who.person_id)
    return session.scalars(identity).first() is not None


def mark_of_panel_id(study_id: int, external_id: str) -> str:
    """The part of a panel id that is kept after a withdrawal: a hash that recognises the person in this study only."""
    return f"{WITHDRAWN}{passcodes.secret_hash(f'{study_id} {external_id}')}"


def panels_of(study: Study, panel: str) -> tuple[str, str]:
    """The names under which ids of this panel are stored: for this study alone, and before decision 72 for several.

    A panel's own name has no line end, so no other study can have a panel of the first name.
    """
    return f"{panel}\n{study.slug}", panel


def _identity_on_panel(session: Session, study: Study, panel: str, external_id: str) -> PanelIdentity | None:
    """The identity behind this id in this study; None for somebody who has come to other studies only."""
    panels, ids = panels_of(study, panel), (mark_of_panel_id(study.id, external_id), external_id)
    query = select(PanelIdentity).where(PanelIdentity.panel.in_(panels), PanelIdentity.external_id.in_(ids))
    known = sorted(session.scalars(query), key=lambda each: (panels.index(each.panel), ids.index(each.external_id)))
    own = (each for each in known if each.panel == panels[0] or is_member(session, study, each.person_id))
    return next(own, None)


def panel_person(session: Session, study: Study, external_id: str) -> int | None:
    """The person with this id on the study's panel, who joined it before."""
    if not external_id.isprintable():
        return None
    identity = _identity_on_panel(session, study, settings_of(study).panel.name, external_id)
    return identity.person_id if identity else None


def join_from_panel(
    session: Session, study: Study, panel: str, external_id: str, session_id: str, proof: str = ""
) -> Person:
    """The person with this id on this panel, now a member of the study; the id is another person in each study.

    Somebody who withdrew returns as the same person. Raises NotAllowed if the study takes nobody from a panel, if the
    id is unusable or lacks the required proof, and for an account in studies of other leads; StudyNotOpen for a
    newcomer, and StudyFull.
    """
    if study.access != Access.panel:
        raise NotAllowed(_("This study has no panel."))
    if not 0 < len(external_id) <= LONGEST_PANEL_ID or not external_id.isprintable():
        raise NotAllowed(
            _("The panel's address carries no usable participant id. Open the study from the panel again.")
        )
    places.refuse_without_proof(study, external_id, proof)
    lifecycle.lock(session, study.id)  # so that one person cannot join twice at the same time
    identity = _identity_on_panel(session, study, panel, external_id)
    person = session.get(Person, identity.person_id) if identity else None
    if person is not None and person.disabled_at is not None:
        raise NotAllowed(_("This account is disabled. Write to the study's contact on the panel."))
    if person is not None and opens_studies_of_others(session, study, person.id):
        raise NotAllowed(_(OPENS_OTHERS))
    if person is None or not is_member(session, study, person.id):
        refuse_unless_open(study)
    if study.state == StudyState.open:
        places.refuse_if_full(session, study, person.id if person else None)
    if person is None or identity is None:
        person = new_person(session, Role.annotator)
        own_panel, _former = panels_of(study, panel)
        identity = PanelIdentity(person_id=person.id, panel=own_panel, external_id=external_id)
        session.add(identity)
    if identity.external_id == external_id:
        identity.session_id = tidied(session_id)[:LONGEST_PANEL_ID]
    session.flush()
    enrol(session, study, person.id, person.pseudonym)
    return person
