"""Simulated answers fit whatever rubric they are made for."""

from __future__ import annotations

from functools import cache
from random import Random
from statistics import fmean

import pytest
from helpers.present import present
from helpers.studies import SMALL_RUBRIC
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.rubric.answers import check_answers, parse_answers
from triptych.rubric.files import parse_rubric, read_shipped, shipped_rubrics
from triptych.rubric.model import LETTERS, Rubric
from triptych.simulate.annotators import SimulatedCandidate, generate_answers
from triptych.storage.models import Round

EVERY_KIND = """
key: every_kind
title: Every kind
summary: Each scale and each way of asking.
instructions: Judge.
criteria:
  - {key: slider, title: Slider, definition: A number., scale: {kind: number, low: 0, high: 1, step: 0.05}}
  - {key: extra, title: Extra, definition: May be left out., required: false, scale: {kind: number, low: 1, high: 3}}
  - key: pilot_only
    title: Pilot only
    definition: Asked in the pilot.
    rounds: [pilot]
    scale: {kind: likert, points: [{value: 0, ask: {free_text: required}}, {value: 0.5, sparing: true}, {value: 1}]}
  - key: fit
    title: Fit
    definition: No option is positive.
    scale:
      kind: choice
      options:
        - {key: left, title: Left, ask: {free_text: none, reasons: [{key: a, text: A, tag: a}]}}
        - {key: right, title: Right, ask: {free_text: required, reasons: [{key: b, text: B, tag: b}]}}
  - {key: item_note, title: Item, definition: About the item., about: item, scale: {kind: number, low: 1, high: 5}}
  - {key: best, title: Best, definition: Pick., about: item, scale: {kind: best}}
  - {key: best_or_none, title: Best, definition: Pick., about: item, scale: {kind: best, none_option: true}}
explanation: {min_words: 20, max_words: 25}
highlights: [{key: good, title: Good}]
set_aside_response: {title: Set aside, reasons: [{key: blank, title: Blank}]}
"""
OWN = {"small": SMALL_RUBRIC, "every_kind": EVERY_KIND}

qualities = st.floats(-50, 50)
turns = st.lists(st.text(max_size=20), min_size=1, max_size=4).map(tuple)
candidates = st.lists(
    st.one_of(
        st.builds(SimulatedCandidate, qualities, text=st.text(max_size=40)),
        st.builds(SimulatedCandidate, qualities, turns=turns),
    ),
    min_size=1,
    max_size=6,
)


@cache
def rubric_called(key: str) -> Rubric:
    """One of this file, or a shipped one."""
    return parse_rubric(OWN[key]) if key in OWN else read_shipped()[key][1]


@pytest.mark.parametrize("key", [*shipped_rubrics(), *OWN])
@settings(max_examples=60, deadline=None)
@given(study_round=st.sampled_from(Round), shown=candidates, seed=st.integers(), severity=st.floats(-2, 2))
def test_every_simulated_annotation_passes_the_check_that_real_ones_pass(
    key: str, study_round: str, shown: list[SimulatedCandidate], seed: int, severity: float
):
    rubric = rubric_called(key)
    context = (None, [("Guest", "The room was cold.")])
    draft = generate_answers(rubric, study_round, shown, Random(seed), severity, context)

    checked = check_answers(rubric, study_round, len(shown), parse_answers(draft))

    for position, span in checked.highlights:
        marked = SimulatedCandidate(0, None, ("The room was cold.",)) if position is None else shown[position]
        text = marked.text if span.turn is None else present(marked.turns)[span.turn]
        assert span.end <= len(present(text))
        assert present(text)[span.start : span.end].strip()


def test_the_same_generator_state_gives_the_same_answers():
    shown = [SimulatedCandidate(0.5, text="one two three"), SimulatedCandidate(-0.5, text="four five six")]

    first, second = (generate_answers(rubric_called("dialogue_response"), "main", shown, Random(7)) for _ in range(2))

    assert first == second


def mean_fluency(quality: float, severity: float) -> float:
    rng, rubric = Random(1), rubric_called("rrgen")
    drafts = [generate_answers(rubric, "main", [SimulatedCandidate(quality)], rng, severity) for _ in range(100)]
    return fmean(draft["ratings"]["A"]["fluency"] for draft in drafts if draft["ratings"])


def test_better_candidates_get_higher_values():
    assert mean_fluency(1, 0) > mean_fluency(-1, 0) + 2
    assert mean_fluency(0, 0.5) < mean_fluency(0, 0) < mean_fluency(0, -0.5)


def test_simulated_numbers_reach_the_high_end_of_their_scale():
    """A dry run failed: -0.6 + 12 * 0.1 is more than 0.6."""
    scale = "kind: number, low: -0.6, high: 0.6, step: 0.1"
    rubric = parse_rubric(
        f"key: r\ntitle: R\nsummary: S.\ninstructions: I.\n"
        f"criteria: [{{key: mood, title: Mood, definition: Of it., scale: {{{scale}}}}}]\n"
    )

    draft = generate_answers(rubric, "main", [SimulatedCandidate(50)], Random(1))

    assert draft["ratings"]["A"]["mood"] == 0.6


def test_explanations_say_themselves_that_they_are_simulated():
    rubric = rubric_called("every_kind")
    shown = [SimulatedCandidate(0, text=letter) for letter in LETTERS]

    draft = generate_answers(rubric, "pilot", shown, Random(3))

    texts = [
        explanation["text"]
        for at in draft["explanations"].values()
        for kind in at.values()
        for explanation in kind.values()
    ]
    assert any(texts)
    assert all(text.startswith("Simulated text") for text in texts if text)
