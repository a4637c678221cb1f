"""One item across its annotators: everything that they answered, and nothing that would unblind."""

from __future__ import annotations

import pytest
from helpers.analyses import look_at
from helpers.frames import likert_rubric, make_frame
from helpers.ratings import exclude, set_aside, submit
from helpers.studies import SMALL_RUBRIC, full_answers, sure
from sqlalchemy import update

from triptych.results import adjudication, item_review
from triptych.results.frame.model import Counted
from triptych.storage.database import reading, writing
from triptych.storage.models import Item, Study
from triptych.study import lifecycle


@pytest.fixture
def lab(sqlite_engine, make_study):
    """Three annotators of two items: they differ on the first; one ignores, one skips the second."""
    with writing(sqlite_engine) as session:
        study, lead, people = make_study(session, items=2, annotators=3)
        first, second, third = people
        answers = full_answers(fluency=3)
        answers["ratings"]["A"]["verdict"] = "reject"
        answers["explanations"] = {"A": {"verdict": {"reject": {"reasons": ["wrong"], "text": "not at all"}}}}
        answers["highlights"] = [{"slot": "A", "start": 0, "end": 6, "label": "good"}]
        item = session.get_one(Item, submit(session, study, first, answers | {"note": "see me"}).item_id).external_id
        set_aside(session, study, second, "ignore", "empty")
        other = full_answers(fluency=1)
        del other["ratings"]["B"]
        submit(session, study, second, other | {"set_aside": {"B": "blank"}})
        submit(session, study, third, full_answers(fluency=1))
        session.execute(update(Item).where(Item.external_id != item).values(retired=True, retired_reason="a doublet"))
    return study, lead, people, item


def lines_and_look(engine, study, item=None, counted=Counted()):
    with reading(engine) as session:
        return look_at(session, session.get_one(Study, study.id), item, counted)


def test_items_are_listed_with_the_most_disputed_first(sqlite_engine, lab):
    study, _, _, item = lab
    lines, _ = lines_and_look(sqlite_engine, study)
    assert {line.item for line in lines} == {"item-1", "item-2"}
    assert [line.score is not None for line in lines] == sorted(
        (line.score is not None for line in lines), reverse=True
    )
    by_item = {line.item: line for line in lines}
    assert by_item[item].notes == 1
    other = next(line for line in lines if line.item != item)
    assert other.retired == "a doublet"
    assert sum(line.ignored for line in lines) == 1


def test_a_review_shows_all_answers_in_the_rubrics_words(sqlite_engine, lab):
    study, _, people, item = lab
    _, look = lines_and_look(sqlite_engine, study, item)
    own = look.ratings[look.ratings["Annotator"] == people[0].pseudonym]
    assert set(own["Fluency"]) == {"3"}
    assert sorted(own["Verdict"]) == ["Accept", "Accept", "Reject"]
    (stated,) = look.explained
    assert (stated.annotator, stated.reasons, stated.text) == (people[0].pseudonym, ("It is wrong",), "not at all")
    assert ("note to the lead", "see me") in {(each.what, each.text) for each in look.remarks}
    assert sum(len(p.spans) for candidate in look.texts.candidates for p in candidate.passages) == 1
    assert [candidate.system for candidate in look.texts.candidates] == ["Response 1", "Response 2", "Response 3"]
    everything = f"{look}{look.ratings.to_string()}"
    assert not [name for name in ("plumbum", "stannum", "ferrum") if name in everything]


def test_reasons_for_ignoring_and_setting_aside_are_shown(sqlite_engine, lab):
    study, _, people, item = lab
    looks = [lines_and_look(sqlite_engine, study, name)[1] for name in ("item-1", "item-2")]
    reported = {(each.annotator, each.what.split()[0], each.text) for look in looks for each in look.remarks}
    assert (people[1].pseudonym, "ignored", "It asks nothing") in reported
    assert (people[1].pseudonym, "set", "It is blank") in reported
    assert "not rated" in {value for look in looks for value in look.ratings["Fluency"]}


def test_the_final_value_follows_the_ratings_of_its_response(sqlite_engine, lab):
    study, lead, _, item = lab
    with writing(sqlite_engine) as session:
        adjudication.record(session, study, item, {(1, "fluency"): 2, (1, "verdict"): "unsure"}, "two of three", lead)
    lines, look = lines_and_look(sqlite_engine, study, item)
    row = look.ratings[look.ratings["Annotator"] == item_review.FINAL].iloc[0]
    name = next(question.about for question in look.questions if question.code == 1)
    assert (row["Response"], row["Fluency"], row["Verdict"]) == (name, "2", "Cannot say")
    assert {line.item: line.final for line in lines}[item] == "recorded"


def test_excluded_annotators_are_hidden_until_asked_for(sqlite_engine, lab):
    study, _, people, item = lab
    with writing(sqlite_engine) as session:
        exclude(session, study, people[0])
        lifecycle.unblind(session, study, sure("P-lead"))
    _, look = lines_and_look(sqlite_engine, study, item)
    assert people[0].pseudonym not in set(look.ratings["Annotator"])
    assert not look.explained
    _, look = lines_and_look(sqlite_engine, study, item, Counted(with_excluded=True))
    assert people[0].pseudonym in set(look.ratings["Annotator"])


def test_no_system_can_be_recognised_while_one_decides(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, _ = make_study(session, items=8)
        lifecycle.unblind(session, study, sure(lead))
    orders, texts = set(), set()
    for n in range(1, 9):
        _, look = lines_and_look(sqlite_engine, study, f"item-{n}")
        orders.add(tuple(question.code for question in look.questions if question.criterion.key == "fluency"))
        texts.add(str(look))
    assert len(orders) > 1
    assert not [name for name in ("plumbum", "stannum", "ferrum", "System") for text in texts if name in text]


def test_answers_to_the_best_response_are_words_without_a_median():
    best = "  - {key: best, title: Best, definition: d, about: item, scale: {kind: best}}\n"
    rubric = likert_rubric() + best
    given = [{"annotator": f"P-{n}", "item": "i", "system": 1, "criterion": "best", "value": n} for n in (0, 1)]
    frame = make_frame(rubric, given)
    _, question = item_review.questions(frame, frame.ratings, {1: "Response 1"})
    assert [value.text for value in question.values] == ["not best", "best"]
    assert question.median is None


@pytest.mark.parametrize(
    "values, majority, median",
    [
        ((3, 3, 1), 3, None),
        ((3, 1), None, 2),
        ((3, 3, 1, 1), None, 2),
        ((3,), None, 3),  # one person is no majority
        ((), None, None),
        (("accept", "accept", "reject"), "accept", None),
        (("accept", "reject"), None, None),
    ],
)
def test_only_a_majority_is_filled_in(values, majority, median):
    key = "verdict" if values and isinstance(values[0], str) else "fluency"
    part = "option" if key == "verdict" else "value"
    given = [{"annotator": f"P-{n}", "item": "i", "system": 1, "criterion": key, part: v} for n, v in enumerate(values)]
    frame = make_frame(SMALL_RUBRIC, given or [{"annotator": "P", "item": "i", "system": 1, "criterion": "verdict"}])
    asked = item_review.questions(frame, frame.ratings, {1: "Response 1"})
    question = next(question for question in asked if question.criterion.key == key)
    assert (question.majority, question.median) == (majority, median)
    assert question.is_disputed == (bool(values) and majority is None)
    if majority is not None:
        assert [value.is_far for value in question.values] == [value != majority for value in values]
