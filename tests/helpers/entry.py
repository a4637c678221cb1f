"""Open studies with an entry test or gold items, and answers to the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine
from sqlmodel import Session

from helpers.check_items import check_item
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, join
from triptych.annotate import entry_test
from triptych.storage.database import writing
from triptych.storage.models import Study, StudyState
from triptych.study import lifecycle
from triptych.study.check_items import add_check_items, sorted_out
from triptych.study.persons import Who
from triptych.study.settings import Codes, StudySettings, stored

QUESTIONS = """
entry_test:
  title: Two questions
  pass_percent: 100
  attempts: 2
  study_page: [{title: What counts, text: Read this first.}]
  questions:
    - key: one
      text: "First?"
      options: [{key: a, title: Alpha}, {key: b, title: Beta}]
      answer: b
      reason: Because of b.
    - key: two
      text: "Second?"
      options: [{key: a, title: Alpha}, {key: b, title: Beta}]
      answer: a
      reason: Because of a.
"""

RIGHT = {"one": "b", "two": "a"}

CODES = Codes(finished="DONE1", failed_test="FAIL1", screened_out="OUT1")


@contextmanager
def open_studies(engine: Engine) -> Iterator[Callable[..., Any]]:
    """make(rubric, gold items, settings) → (session, study, annotator) of an open study."""
    with writing(engine) as session:

        def making(
            rubric: str = SMALL_RUBRIC, gold: int = 0, items: int = 3, **settings: Any
        ) -> tuple[Session, Study, Who]:
            study = lifecycle.create_study(
                session, lifecycle.StudyPlan(title="S", seed="s"), rubric, draft_items(items), "lead"
            )
            study.settings = stored(StudySettings(codes=CODES, **settings))
            reference = "fluency = 3 ± 1 (As agreed.); verdict = accept|unsure"
            drafts = [check_item(n, "gold", reference) for n in range(gold)]
            add_check_items(session, study, sorted_out(drafts)[1], "lead")
            lifecycle.set_state(session, study, StudyState.open, "lead")
            return session, study, join(session, study, add_person(session, "ann"))

        yield making
        session.rollback()
        session.info.clear()  # what was recorded is not to be written either


def answer_all(session: Session, study: Study, who: Who, answers: Mapping[str, str] = RIGHT) -> None:
    """Answers the questions of the entry test, and hands it in."""
    for question, option in answers.items():
        entry_test.answer(session, study, who, question, option)
    entry_test.hand_in(session, study, who)
