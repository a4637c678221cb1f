"""Current notices for a lead: the study is complete, a place cannot be filled, or someone is flagged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from sqlmodel import Session

from triptych.participants.participant import Participant
from triptych.people import shared_accounts
from triptych.results.progress import Overview
from triptych.results.unfilled import unfilled
from triptych.stats.numbers import counted
from triptych.storage.models import Study, StudyState

MAX_NAMED = 3  # people in a notice
SHUT_OUT = (
    "This study's links do not let in {annotators}, because of another study that they take part in, and that a lead "
    "of this study does not lead. Let the same people lead both studies."
)


class LeadNotice(NamedTuple):
    """about: a key for each statement, so that e-mails are not repeated; for a person, their pseudonym."""

    kind: Literal["success", "warning"]
    sentence: str
    about: tuple[str, ...]


def notices(session: Session, study: Study, view: Overview, people: Sequence[Participant]) -> Iterator[LeadNotice]:
    """The current notices, about the study first."""
    if view.done >= view.expected > 0 and study.state != StudyState.closed:
        places = "The one place is" if view.expected == 1 else f"All {view.expected:,} places are"
        yield LeadNotice("success", f"{places} filled: the study is complete and can be closed.", ("done",))
    if open_places := unfilled(session, study):
        yield LeadNotice("warning", open_places.sentence, ("open places",))
    if shut_out := len(shared_accounts.shut_out(session, study)):
        yield LeadNotice("warning", SHUT_OUT.format(annotators=counted(shut_out, "annotator")), ("other leads",))
    flagged = [person for person in people if person.is_flagged]
    if flagged:
        named = " ".join(f"{person.pseudonym}: {' '.join(person.flags)}" for person in flagged[:MAX_NAMED])
        more = f" {len(flagged) - MAX_NAMED} more are in the table." if len(flagged) > MAX_NAMED else ""
        verb = "is" if len(flagged) == 1 else "are"
        sentence = f"{counted(len(flagged), 'person', 'people')} {verb} flagged. {named}{more}"
        yield LeadNotice("warning", sentence, tuple(person.pseudonym for person in flagged))
