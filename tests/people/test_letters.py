"""The mail that a lead sends with a personal link."""

from __future__ import annotations

from email.utils import parseaddr
from urllib.parse import parse_qs, urlsplit

import pytest

from triptych.people.invitations import Invited
from triptych.people.letters import letter
from triptych.storage.database import writing
from triptych.storage.models import Role, Study
from triptych.study.settings import changed, stored

LINK = "http://lab.test/?join=secret_1"


@pytest.fixture
def study(sqlite_engine, make_study) -> Study:
    with writing(sqlite_engine) as session:
        made = session.get_one(Study, make_study(session, title="Answers & more? 100 %")[0].id)
        made.settings = stored(changed(made, contact="ask@lab.test"))
        return made


def test_a_letter_holds_title_link_and_contact(study):
    text = letter(study, Invited("Mia", "m@x.example", Role.annotator, "A-1", "s"), LINK).text
    assert text.startswith("Hello Mia,\n\n")
    assert all(part in text for part in (study.title, LINK, "Questions: ask@lab.test"))
    assert "before" not in text


def test_a_reminder_says_what_becomes_of_the_earlier_link(study):
    mail = letter(study, Invited("", None, Role.annotator, "A-1", "s", reminder=True), LINK)
    assert mail.subject == "Reminder: Answers & more? 100 %"
    assert mail.text.startswith("Hello,\n")
    assert "works until you first use this one" in mail.text


def test_a_mail_program_reads_back_every_sign(study):
    mail = letter(study, Invited("Ö & ?", "a+b&cc=evil@x.example", Role.annotator, "A-1", "s"), LINK)
    parts = urlsplit(mail.mailto)
    fields = parse_qs(parts.query, strict_parsing=True)
    assert parts.scheme == "mailto"
    assert fields == {"subject": [mail.subject], "body": [mail.text.replace("\n", "\r\n")]}
    assert "&" not in parts.path
    assert parseaddr(mail.to)[1] == mail.to


def test_a_lead_is_invited_to_lead(study):
    assert "to lead a study" in letter(study, Invited("Ro", None, Role.lead, "L-1", "s"), LINK).text
