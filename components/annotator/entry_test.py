"""The entry test on screen: a page to study, one page of questions, and the result."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from components.annotator.consent import sections
from components.shell.entrance import READING, column
from components.shell.state import plain
from triptych.annotate.entry_test import AnsweredQuestion, Outcome, Question, Sheet
from triptych.languages.language import _, ngettext


def prepare(sheet: Sheet, on_start: Callable[[], None]) -> None:
    """What the test contains, the page to study before it, and the result of the previous attempt."""
    if sheet.test.kind == "questions":
        tasks = ngettext("The test has {count} question.", "The test has {count} questions.", sheet.asked)
    else:
        tasks = ngettext("The test has {count} item.", "The test has {count} items.", sheet.asked)
    pass_mark = _("To take part, {percent} % of the answers must be right.", percent=sheet.test.percent)
    tries = ngettext("You have one attempt.", "You have {count} attempts.", sheet.test.attempts)
    with column(plain(sheet.title), f"{tasks} {pass_mark} {tries}", READING):
        if sheet.last:
            st.warning(" ".join((_reached(sheet.last), _("You may try again."))))
            explained(sheet.last)
        sections(sheet.study_page)
        if sheet.study_page:
            st.caption(_("You cannot open this page again once the test has begun."))
        st.button(_("Try again") if sheet.last else _("Start the test"), type="primary", on_click=on_start)


def field(sheet: Sheet, question: str) -> str:
    """The key of a question's widget."""
    return f"entry-test-{sheet.number}-{question}"


def ask(sheet: Sheet, on_answer: Callable[[str], None], on_hand_in: Callable[[], None]) -> None:
    """The questions. Each answer is stored as soon as it is chosen, so that a reload loses nothing."""
    with column(plain(sheet.title), _("Every answer is saved as soon as you choose it."), READING):
        for number, question in enumerate(sheet.questions, 1):
            _ask(sheet, number, question, on_answer)
        answered = sum(question.given is not None for question in sheet.questions)
        st.caption(
            _(
                "{done} of {total} answered. After handing in you cannot change them.",
                done=answered,
                total=len(sheet.questions),
            )
        )
        st.button(_("Hand in"), type="primary", on_click=on_hand_in)


def _ask(sheet: Sheet, number: int, question: Question, on_answer: Callable[[str], None]) -> None:
    titles = dict(question.options)
    keys = list(titles)
    with st.container(gap="xsmall"):
        st.text(f"{number}. {question.text}")
        # a label of our own: screen readers would spell out the characters that escape Markdown in the question's text
        st.radio(
            _("Question {number}", number=number),
            keys,
            index=None if question.given is None else keys.index(question.given),
            format_func=lambda key: plain(titles[key]),
            key=field(sheet, question.key),
            on_change=on_answer,
            args=(question.key,),
            label_visibility="collapsed",
        )


def passed(outcome: Outcome, on_start: Callable[[], None]) -> None:
    """The result of a passed test, with the explained answers, and the button to the first item."""
    with column(_("Test passed"), _reached(outcome), READING):
        st.button(_("Start with the items"), type="primary", on_click=on_start)
        explained(outcome)


def failed(outcome: Outcome) -> None:
    """The score, and the answers if they may be shown."""
    st.write(_reached(outcome))
    explained(outcome)


def explained(outcome: Outcome) -> None:
    """Each answer, with the right one and its reason."""
    for answer in outcome.answers:
        with st.container(border=True, gap="xxsmall"):
            _explain(answer)


def _explain(answer: AnsweredQuestion) -> None:
    st.badge(_("right") if answer.correct else _("not right"), color="green" if answer.correct else "orange")
    st.text(answer.text)
    given = _("Your answer: {answer}", answer=answer.given)
    right = _("Right answer: {answer}", answer=answer.right)
    st.text(given if answer.correct else f"{given}\n{right}")
    if answer.reason:
        st.caption(plain(answer.reason))


def _reached(outcome: Outcome) -> str:
    return _(
        "{right} of {asked} right, {percent} %; {needed} % were needed.",
        right=outcome.right,
        asked=outcome.asked,
        percent=outcome.percent,
        needed=outcome.needed,
    )
