"""What several test files share: desk."""

from __future__ import annotations

from helpers.studies import full_answers
from triptych.people import accounts
from triptych.storage.models import Person


def submitting(view, name: str, answers: dict | None = None) -> dict:
    return {
        "kind": "submit",
        "assignment": view.work.token,
        "version": view.work.version,
        "pen": "pen-of-tab-one",
        "submission": name,
        "base": view.work.draft_seq,
        "answers": answers or full_answers(),
        "active_seconds": 3,
    }


def login_of(session, who) -> str:
    return accounts.use_ticket(session, accounts.issue_sign_in_ticket(session, session.get_one(Person, who.person_id)))
