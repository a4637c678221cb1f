"""The questions of the datasheet (HEDS) that only the lead can answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from components.shell import state
from components.shell.state import plain
from triptych.rubric.model import Criterion
from triptych.study.heds_answers import LONGEST, Answer, Sheet, asked
from triptych.study.heds_questions import FORM, SECTIONS, SheetQuestion

NOTE = (
    "These go into heds.json and heds.md. What is known from the study is filled in; an answer here overrides it. All "
    "questions are optional."
)


def heds_form(criteria: Sequence[Criterion], sheet: Sheet, key: str) -> tuple[Sheet, Sheet] | None:
    """All questions with the answers so far; when the lead saves them, returns the answers, and those that they saw.

    The fields keep their content, whatever others store. So the second sheet is remembered while the form is drawn, and
    the caller enters there what is stored later.
    """
    st.text(NOTE)
    st.caption(f"The form with its explanations: {FORM}")
    titles = {criterion.key: criterion.title for criterion in criteria}
    answers: Sheet = {}
    every = asked(list(criteria))
    fields = {(question.number, criterion): f"{key}-{question.number}-{criterion}" for question, criterion in every}
    memory, nothing = f"heds-seen-{key}", object()
    if state.recall(next(iter(fields.values())), nothing) is nothing:
        state.forget(memory)
    with st.form(f"heds-{key}", border=False):
        for section, questions in groupby(every, key=lambda pair: pair[0].number[0]):
            with st.expander(f"{section} {SECTIONS[section]}"):
                for criterion, ones in groupby(questions, key=lambda pair: pair[1]):
                    if criterion:
                        st.markdown(f"**{plain(titles[criterion])}**")
                    for question, _ in ones:
                        place = question.number, criterion
                        answers[place] = _ask(question, sheet.get(place, Answer()), fields[place])
        sent = state.form_button("Save these answers", f"heds-{key}", type="primary")
    # what the fields show, since a tab whose session ended sends them as they were
    seen: Sheet = state.recall(memory) or {**answers}
    state.remember(memory, seen)
    return (answers, seen) if sent else None


def _ask(question: SheetQuestion, now: Answer, key: str) -> Answer:
    """One question: a line of text, or options with a line for details."""
    label = f"{question.number} {question.words}"
    if question.kind == "text":
        return Answer(text=st.text_input(label, now.text, max_chars=LONGEST, key=key).strip())
    left, right = st.columns([3, 2])
    with left:
        chosen = _options(question, label, now, key)
    text = right.text_input("Details", now.text, max_chars=LONGEST, key=f"{key}-more")
    return Answer(chosen, text.strip())


def _options(question: SheetQuestion, label: str, now: Answer, key: str) -> tuple[int, ...]:
    """The numbers of the chosen options, from 1."""
    numbers = range(1, len(question.options) + 1)

    def name(number: int) -> str:
        return question.options[number - 1]

    if question.kind == "several":
        before = [number for number in now.chosen if number in numbers]
        return tuple(st.multiselect(label, numbers, before, format_func=name, key=key))
    place = now.chosen[0] - 1 if now.chosen else None
    chosen = st.selectbox(label, numbers, place, format_func=name, placeholder="Not answered", key=key)
    return () if chosen is None else (chosen,)
