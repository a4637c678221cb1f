"""A rubric as a lead checks it: what is asked, and with which answers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from triptych.rubric.model import Criterion, Rubric
from triptych.rubric.scales import Ask, Best, Choice, Likert, Scale


def rubric_preview(rubric: Rubric, criteria: Sequence[Criterion]) -> None:
    """The criteria of one round, in order, with definition and answers. All texts are shown unformatted."""
    st.text(rubric.summary)
    for criterion in criteria:
        with st.container(border=True):
            left, right = st.columns([2, 5])
            left.text(criterion.title)
            about = "about each response" if criterion.about == "candidate" else "about the item"
            need = "" if criterion.required else ", may be left out"
            left.caption(f"{criterion.scale.kind}, {criterion.scale.level} level, {about}{need}")
            right.text(criterion.question or criterion.definition)
            right.text("\n".join(answers_of(criterion.scale)))
    if rubric.highlights:
        st.text("Highlights: " + ", ".join(label.title for label in rubric.highlights))


def answers_of(scale: Scale) -> list[str]:
    """One line per answer, as annotators read it, with the explanation it asks for."""
    if isinstance(scale, Likert):
        return [_line(f"{point.value:g}  {point.title}", point.ask) for point in scale.points]
    if isinstance(scale, Choice):
        return [_line(f"·  {option.title}", option.ask) for option in scale.options]
    if isinstance(scale, Best):
        return ["The best response, ties allowed" + (", or none of them" if scale.none_option else "")]
    ends = [f"{scale.low:g} {scale.low_title}".strip(), f"{scale.high:g} {scale.high_title}".strip()]
    return [f"{' to '.join(ends)}, in steps of {scale.step:g} {scale.unit}".strip()]


def _line(answer: str, ask: Ask | None) -> str:
    if ask is None:
        return answer.rstrip()
    explanations = ["a reason"] if ask.reasons else []
    explanations += ["their own words"] if ask.free_text == "required" else []
    return f"{answer.rstrip()}  (asks for {' and '.join(explanations)})"
