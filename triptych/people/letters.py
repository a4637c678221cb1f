"""What a lead writes to somebody with a personal link; a lead sends it, never the app."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from triptych.people.invitations import Invited
from triptych.storage.models import Role, Study
from triptych.study.settings import settings_of

OPENING = {
    (Role.annotator, False): "you are invited to take part in a study: {title}.",
    (Role.annotator, True): "this is a reminder of a study in which you take part: {title}.",
    (Role.lead, False): "you are invited to lead a study: {title}.",
    (Role.viewer, False): "you are invited to look at the results of a study: {title}.",
}
EARLIER = " The link that you had before works until you first use this one."


@dataclass(frozen=True)
class Letter:
    """One mail as plain text."""

    to: str
    subject: str
    text: str

    @property
    def mailto(self) -> str:
        """An address that opens the mail program with everything filled in (RFC 6068)."""
        body = self.text.replace("\n", "\r\n")
        return f"mailto:{quote(self.to, safe='@')}?subject={quote(self.subject, safe='')}&body={quote(body, safe='')}"


def letter(study: Study, invited: Invited, address: str) -> Letter:
    """The mail with somebody's personal link. address: the link."""
    kind, contact = (invited.role, invited.reminder), settings_of(study).contact
    parts = (
        f"Hello {invited.name}," if invited.name else "Hello,",
        OPENING[kind].format(title=study.title),
        f"Your personal link:\n{address}",
        f"It is for you alone and valid for {invited.days} days.{EARLIER * invited.reminder}",
        f"Questions: {contact}" if contact else "",
    )
    subject = f"{'Reminder' if invited.reminder else 'Your personal link'}: {study.title}"
    return Letter(invited.email or "", " ".join(subject.split()), "\n\n".join(filter(None, parts)))
