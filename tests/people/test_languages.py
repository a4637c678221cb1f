"""Which language a person reads: their own choice, else the study's, else the browser's."""

from __future__ import annotations

import pytest
from helpers.studies import add_person, open_study
from sqlmodel import Session

from triptych.errors import NotAllowed
from triptych.languages.language import accepted
from triptych.people import languages
from triptych.storage.models import Person


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("de-CH,de;q=0.9,en;q=0.8", "de"),
        ("pl, es;q=0.5", "es"),
        ("en;q=0.1, zh-Hans-CN", "zh"),
        ("pl", "en"),
        ("de;q=0, fr;q=0.1", "fr"),
        ("de;q=0.0", "en"),
        (None, "en"),
    ],
)
def test_the_first_accepted_language_that_there_is_counts(header, code):
    assert accepted(header) == code


def test_choice_counts_before_study_and_study_before_browser(sqlite_engine):
    with Session(sqlite_engine) as session:
        study, who = open_study(session, "languages")
        person = add_person(session, "Anna")
        assert languages.of_person(session, person.person_id, study, "fr-FR") == "fr"
        study.settings = {**study.settings, "language": "ar"}
        assert languages.of_person(session, person.person_id, study, "fr-FR") == "ar"
        assert languages.of_person(session, None, None, "fr-FR") == "fr"
        languages.choose(session, person, "zh")
        assert languages.of_person(session, person.person_id, study, "fr-FR") == "zh"
        with pytest.raises(NotAllowed):
            languages.choose(session, person, "tlh")
        other = session.get_one(Person, who.person_id)
        languages.carry(session, other, None)
        assert other.language is None
        languages.carry(session, other, "de")
        assert other.language == "de"
