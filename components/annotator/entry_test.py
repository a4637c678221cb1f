"""The entry test on screen: a page to study, one page of questions, and the result."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from components.annotator.consent import sections
from components.shell.entrance import READING, column
from components.shell.state import plain
from triptych.annotate.entry_test import AnsweredQuestion, Outcome, Question, Sheet
from triptych.stats.numbers import counted


def prepare(sheet: Sheet, on_start: Callable[[], None]) -> None:
    """What the test asks, the page to study before it, and the result of the previous attempt."""
    tasks = counted(sheet.asked, "question" if sheet.test.kind == "questions" else "item")
    pass_mark = f"{sheet.test.percent} % of the answers must be right to take part"
    tries = "one attempt" if sheet.test.attempts == 1 else f"{sheet.test.attempts} attempts"
    with column(plain(sheet.title), f"The test has {tasks}; {pass_mark}. You have {tries}.", READING):
        if sheet.last:
            st.warning(f"{_reached(sheet.last)} You may try again.")
            explained(sheet.last)
        sections(sheet.study_page)
        if sheet.study_page:
            st.caption("You cannot open this page again once the test has begun.")
        st.button("Try again" if sheet.last else "Start the test", type="primary", on_click=on_start)


def field(sheet: Sheet, question: str) -> str:
    """The name of a question's widget."""
    return f"entry-test-{sheet.number}-{question}"


def ask(sheet: Sheet, on_answer: Callable[[str], None], on_hand_in: Callable[[], None]) -> None:
    """The questions; each answer is stored when it is chosen, so a reload loses none."""
    with column(plain(sheet.title), "Every answer is saved as soon as you choose it.", READING):
        for number, question in enumerate(sheet.questions, 1):
            _ask(sheet, number, question, on_answer)
        answered = sum(question.given is not None for question in sheet.questions)
        st.caption(f"{answered} of {len(sheet.questions)} answered. After handing in you cannot change them.")
        st.button("Hand in", type="primary", on_click=on_hand_in)


def _ask(sheet: Sheet, number: int, question: Question, on_answer: Callable[[str], None]) -> None:
    titles = dict(question.options)
    keys = list(titles)
    with st.container(gap="xsmall"):
        st.text(f"{number}. {question.text}")
        # our own label: a screen reader would spell out the marks that escape Markdown in the question's text
        st.radio(
            f"Question {number}",
            keys,
            index=None if question.given is None else keys.index(question.given),
            format_func=lambda key: plain(titles[key]),
            key=field(sheet, question.key),
            on_change=on_answer,
            args=(question.key,),
            label_visibility="collapsed",
        )


def passed(outcome: Outcome, on_start: Callable[[], None]) -> None:
    """The result of a passed test, with reasons, before the first item."""
    with column("Test passed", _reached(outcome), READING):
        st.button("Start with the items", type="primary", on_click=on_start)
        explained(outcome)


def failed(outcome: Outcome) -> None:
    """The score under the ending, and what may be shown of the answers."""
    st.write(_reached(outcome))
    explained(outcome)


def explained(outcome: Outcome) -> None:
    """Every answer, with the right one and its reason where they may be shown."""
    for answer in outcome.answers:
        with st.container(border=True, gap="xxsmall"):
            _explain(answer)


def _explain(answer: AnsweredQuestion) -> None:
    st.badge("right" if answer.correct else "not right", color="green" if answer.correct else "orange")
    st.text(answer.text)
    given = f"Your answer: {answer.given}"
    st.text(given if answer.correct or not answer.right else f"{given}\nRight answer: {answer.right}")
    if answer.reason:
        st.caption(plain(answer.reason))


def _reached(outcome: Outcome) -> str:
    return f"{outcome.right} of {outcome.asked} right, {outcome.percent} %; {outcome.needed} % were needed."
