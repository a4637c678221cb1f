"""An annotation is checked against the rubric before a byte of it is stored."""

from __future__ import annotations

import pytest
from helpers.present import present
from helpers.studies import SMALL_RUBRIC, full_answers

from triptych.errors import InvalidAnnotation
from triptych.rubric.answers import (
    DraftExplanation,
    check_answers,
    check_draft,
    check_explanation,
    complete_in_turn,
    parse_answers,
)
from triptych.rubric.files import parse_rubric

RUBRIC = parse_rubric(SMALL_RUBRIC)


def check(answers: dict):
    return check_answers(RUBRIC, "main", 3, parse_answers(answers))


def with_change(**change) -> dict:
    answers = full_answers()
    answers["ratings"]["B"].update(change)
    return answers


def test_a_complete_annotation_gives_one_row_per_slot_and_criterion():
    rows = check(full_answers()).ratings

    assert [(r.position, r.criterion) for r in rows] == [(p, c) for c in ("fluency", "verdict") for p in (0, 1, 2)]
    assert {r.number for r in rows if r.criterion == "fluency"} == {2.0}
    assert {r.option for r in rows if r.criterion == "verdict"} == {"accept"}


def test_an_option_marked_missing_becomes_a_row_marked_missing():
    rows = check(with_change(verdict="unsure")).ratings

    assert [(r.position, r.option) for r in rows if r.missing] == [(1, "unsure")]


@pytest.mark.parametrize("name", ["0.3333333", "0.1234567890123456", "0.00001", "-10000000000000000"])
def test_a_point_with_many_digits_can_be_explained(name):
    """The browser names it 0.3333333, for which 0.333333 was looked up: what the point asks for was missing."""
    point = f"{{value: {name}, ask: {{free_text: required}}}}"
    rubric = parse_rubric(SMALL_RUBRIC.replace("{value: 1, title: Poor}", point))
    answers = with_change(fluency=float(name)) | {
        "explanations": {"B": {"fluency": {name: {"reasons": [], "text": "not good at all"}}}}
    }
    rows = check_answers(rubric, "main", 3, parse_answers(answers)).ratings
    assert [row.text for row in rows if row.number == float(name)] == ["not good at all"]


def test_a_required_criterion_that_is_not_answered_is_named():
    answers = full_answers()
    del answers["ratings"]["C"]["fluency"]

    with pytest.raises(InvalidAnnotation, match="Fluency is not answered for Response C"):
        check(answers)


def test_a_response_set_aside_needs_no_answers():
    answers = full_answers("AC") | {"set_aside": {"B": "blank"}}

    checked = check(answers)

    assert checked.set_aside == {1: "blank"}
    assert [(r.position, r.missing, r.number, r.option) for r in checked.ratings if r.position == 1] == [
        (1, True, None, None),
        (1, True, None, None),
    ]


def test_an_option_with_reasons_needs_a_reason_or_a_text():
    with pytest.raises(InvalidAnnotation, match="Verdict, Response B: tick a reason or write one"):
        check(with_change(verdict="reject"))


@pytest.mark.parametrize("text, words", [("short", 1), ("one two three four five six seven eight nine ten eleven", 11)])
def test_word_limits_count_the_free_text(text: str, words: int):
    answers = with_change(verdict="reject")
    answers["explanations"] = {"B": {"verdict": {"reject": {"reasons": ["wrong"], "text": text}}}}

    with pytest.raises(InvalidAnnotation, match=f"has {words} words; 2 to 10"):
        check(answers)


TEXT = SMALL_RUBRIC.replace("{value: 3, title: Good}", "{value: 3, title: Good, ask: {free_text: required}}")


@pytest.mark.parametrize(
    ("rubric", "key", "value", "draft", "refusal"),
    [
        (RUBRIC, "verdict", "reject", DraftExplanation(reasons=["odd"]), "Verdict, Response A: odd is not among the"),
        (parse_rubric(TEXT), "fluency", 3.0, DraftExplanation(text=" "), "Fluency, Response A: write an explanation"),
    ],
)
def test_an_explanation_fits_what_its_answer_asks(rubric, key, value, draft, refusal):
    criterion = rubric.criterion(key)
    with pytest.raises(InvalidAnnotation, match=refusal):
        check_explanation(rubric, criterion, "A", present(criterion.scale.ask_for(value)), draft)


@pytest.mark.parametrize(
    ("of_second", "complete"),
    [
        ({"ratings": {"B": {"fluency": 2, "verdict": "accept"}}}, 2),
        ({"ratings": {"B": {"fluency": 2}}}, 1),
        ({"ratings": {"B": {"fluency": 2, "verdict": "reject"}}}, 1),  # without a reason
        ({"set_aside": {"B": "blank"}}, 2),
    ],
)
def test_responses_are_complete_in_turn_up_to_a_gap(of_second, complete):
    ratings = {"A": {"fluency": 1, "verdict": "unsure"}, **of_second.pop("ratings", {})}
    assert complete_in_turn(RUBRIC, "main", 3, parse_answers({"ratings": ratings, **of_second})) == complete


def test_two_chinese_characters_are_a_word_for_limits():
    answers = with_change(verdict="reject")
    for text in ("与病人的担忧不符。", "语气轻松，与病人的担忧不符"):
        answers["explanations"] = {"B": {"verdict": {"reject": {"reasons": [], "text": text}}}}
        check(answers)


def test_only_the_explanation_of_the_chosen_option_counts():
    answers = with_change(verdict="accept")
    answers["explanations"] = {"B": {"verdict": {"reject": {"reasons": ["wrong"], "text": "not good enough"}}}}

    assert all(not r.reasons and not r.text for r in check(answers).ratings)


@pytest.mark.parametrize(
    "draft",
    [
        [],
        "text",
        {"ratings": []},
        {"ratings": {"D": {"fluency": 1}}},
        {"ratings": {"AB": {"fluency": 1}}},
        {"ratings": {"A": {"fluency": 9}}},
        {"ratings": {"A": {"fluency": "2"}}},
        {"ratings": {"A": {"fluency": True}}},
        {"ratings": {"A": {"fluency": None}}},
        {"ratings": {"A": {"verdict": "maybe"}}},
        {"ratings": {"A": {"system": 1}}},
        {"ratings": {"A": {"fluency": float("nan")}}},
        {"highlights": [{"slot": "A", "start": 5, "end": 5, "label": "good"}]},
        {"highlights": [{"slot": "A", "start": -1, "end": 5, "label": "good"}]},
        {"highlights": [{"slot": "A", "start": 0.5, "end": 5, "label": "good"}]},
        {"highlights": [{"slot": "A", "start": 0, "end": 5, "label": "ugly"}]},
        {"highlights": [{"slot": "item", "start": 0, "end": 5, "label": "good"}]},
        {"set_aside": {"A": "because"}},
        {"explanations": {"A": {"verdict": {"reject": {"reasons": "wrong"}}}}},
        {"note": 5},
        {"surprise": 1},
    ],
)
def test_a_draft_no_honest_browser_sends_is_refused(draft):
    with pytest.raises(InvalidAnnotation):
        check_draft(RUBRIC, "main", 3, parse_answers(draft))


def test_more_highlights_than_an_item_can_have_are_counted():
    mark = {"slot": "A", "turn": None, "start": 0, "end": 5, "label": "good"}
    check_draft(RUBRIC, "main", 3, parse_answers({"highlights": [mark] * 200}))
    with pytest.raises(InvalidAnnotation, match="can have 200 highlights, and this one has 203"):
        check_draft(RUBRIC, "main", 3, parse_answers({"highlights": [mark] * 203}))


def test_an_unfinished_draft_is_welcome():
    check_draft(RUBRIC, "main", 3, parse_answers({"ratings": {"A": {"fluency": 1}}, "note": "see the second sentence"}))


BEST = """
key: best
title: Best
summary: One question.
instructions: Pick.
criteria:
  - {key: winner, title: Winner, definition: The best one., about: item, scale: {kind: best}}
"""


def test_best_gives_a_row_of_0_or_1_per_slot():
    answers = parse_answers({"ratings": {"item": {"winner": ["A", "C"]}}})

    rows = check_answers(parse_rubric(BEST), "main", 3, answers).ratings

    assert [(r.position, r.number) for r in rows] == [(0, 1.0), (1, 0.0), (2, 1.0)]


BEST_OR_ASIDE = parse_rubric(
    f"{BEST}set_aside_response: {{title: Leave out, reasons: [{{key: blank, title: Blank}}]}}\n"
)


@pytest.mark.parametrize(
    ("chosen", "aside", "rows"),
    [
        (["A"], "B", [(1.0, False), (None, True), (0.0, False)]),
        (["A"], "ABC", [(None, True)] * 3),
        (None, "ABC", [(None, True)] * 3),
    ],
)
def test_a_response_set_aside_is_missing_among_the_best(chosen, aside, rows):
    ratings = {} if chosen is None else {"item": {"winner": chosen}}
    answers = parse_answers({"ratings": ratings, "set_aside": dict.fromkeys(aside, "blank")})

    stored = check_answers(BEST_OR_ASIDE, "main", 3, answers).ratings

    assert [(row.number, row.missing) for row in stored] == rows


def test_a_response_that_is_set_aside_cannot_be_the_best():
    answers = parse_answers({"ratings": {"item": {"winner": ["B"]}}, "set_aside": {"B": "blank"}})

    with pytest.raises(InvalidAnnotation, match="Winner: Response B is set aside"):
        check_answers(BEST_OR_ASIDE, "main", 3, answers)


@pytest.mark.parametrize("chosen", [[], ["A", "A"], ["D"], "A", [1]])
def test_best_needs_at_least_one_response_that_exists_each_once(chosen):
    with pytest.raises(InvalidAnnotation):
        check_answers(parse_rubric(BEST), "main", 3, parse_answers({"ratings": {"item": {"winner": chosen}}}))


def test_the_best_must_be_chosen_unless_it_is_optional():
    unanswered = parse_answers({})
    with pytest.raises(InvalidAnnotation, match="Winner is not answered"):
        check_answers(parse_rubric(BEST), "main", 3, unanswered)
    optional = parse_rubric(BEST.replace("about: item,", "about: item, required: false,"))
    assert check_answers(optional, "main", 3, unanswered).ratings == ()


def test_an_optional_comment_may_be_left_empty():
    asking = SMALL_RUBRIC.replace("{value: 3, title: Good}", "{value: 3, title: Good, ask: {free_text: optional}}")
    criterion = parse_rubric(asking).criterion("fluency")
    ask = present(criterion.scale.ask_for(3.0))
    for text in ("", "Very good."):
        draft = DraftExplanation(text=text)
        assert check_explanation(parse_rubric(asking), criterion, "A", ask, draft) == ([], text)
