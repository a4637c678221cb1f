"""An annotator's browser receives the blinded view and nothing else."""

from __future__ import annotations

import json

import pytest
from helpers.ratings import assigned
from helpers.studies import SYSTEMS, add_person, join
from pydantic import ValidationError
from sqlalchemy import delete, select, update

from triptych.annotate import blinding
from triptych.annotate.blinding import View, Work
from triptych.formats.model import CandidateDraft, ItemDraft, TurnDraft
from triptych.preview import views
from triptych.rubric.files import parse_rubric, read_rubric, read_shipped, shipped_rubrics
from triptych.rubric.model import LETTERS
from triptych.storage.database import writing
from triptych.storage.models import Candidate, Item, Slot, StudyState
from triptych.study import lifecycle

PATHS = {
    "study.title", "study.formats.context", "study.formats.responses", "study.formats.extra_texts",
    "study.arrangement", "study.mark_unit", "study.longest_words",
    "work.token", "work.version", "work.draft_seq", "work.store_key", "work.state", "work.purpose",
    "work.active_seconds", "work.can_go_back", "work.receipt", "work.number", "work.outcome", "work.reason",
    "progress.done", "progress.total", "progress.minutes_left",
    "item.context.title",
    "item.context.text", "item.context.turns", "item.context.stars", "item.context.facts", "item.context.extra_texts",
    "item.candidates.letter", "item.candidates.text", "item.candidates.turns", "draft", "notice", "feedback",
    "routes.act",
    "routes.draft", "routes.renew", "routes.items",
}  # fmt: skip
CRITERION_PATHS = {
    "key", "title", "question", "definition", "note", "about", "required", "examples", "examples.context",
    "examples.context.speaker", "examples.context.text", "examples.candidates.text", "examples.candidates.rating",
    "examples.candidates.reason", "scale.kind", "scale.low", "scale.high", "scale.step", "scale.unit",
    "scale.low_title", "scale.high_title", "scale.none_option", "scale.sparing_note", "scale.points.value",
    "scale.points.title", "scale.points.definition", "scale.points.sparing", "scale.points.ask",
    "scale.points.ask.free_text", "scale.points.ask.reasons.key", "scale.points.ask.reasons.text",
    "scale.options.key", "scale.options.title", "scale.options.definition", "scale.options.apart",
    "scale.options.ask", "scale.options.ask.free_text", "scale.options.ask.reasons", "scale.options.ask.reasons.key",
    "scale.options.ask.reasons.text",
}  # fmt: skip
OTHER_SCALES = """
key: other
title: Other scales
summary: Short.
instructions: Rate.
criteria:
  - {key: length, title: Length, definition: How long., scale: {kind: number, low: 0, high: 100}}
  - {key: winner, title: Winner, definition: The best., about: item, scale: {kind: best}}
  - key: warmth
    title: Warmth
    definition: How warm.
    rounds: [main]
    examples: [{candidates: [{text: Yes., rating: low, reason: Short.}]}]
    scale:
      kind: likert
      points: [{value: 1, ask: {reasons: [{key: cold, text: Cold, tag: tone}], free_text: none}}, {value: 2}]
"""


def see(session, study, who) -> View:
    assignment = assigned(session, study, who)
    return blinding.view(session, study, lifecycle.design_of(session, study).rubric, assignment, who)


def paths(value, at: str = "") -> set[str]:
    if isinstance(value, dict) and value:
        return set().union(*(paths(v, f"{at}.{k}" if at else k) for k, v in value.items()))
    if isinstance(value, list) and value:
        return set().union(*(paths(v, at) for v in value))
    return {at}


def test_the_view_has_exactly_the_fields_of_the_contract(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)

        seen = json.loads(see(session, study, who).model_dump_json(exclude={"rubric"}))

    assert paths(seen) == PATHS


@pytest.mark.parametrize(("text", "words"), [("语" * 800, 400), ("four words of English", 4)])
def test_the_longest_response_counts_scripts_without_spaces(engine, make_study, text, words):
    with writing(engine) as session:
        study, _, (who, _) = make_study(session)
        session.execute(update(Candidate).values(text=text))

        assert see(session, study, who).study.longest_words == words


@pytest.mark.parametrize("positions", [(1, 2, 3), (2, 4, 5), ()])
def test_imported_ratings_show_their_item_wherever_their_slots_begin(engine, make_study, positions):
    """Files count places from one, too, and ratings about the item alone come without any slot."""
    with writing(engine) as session:
        study, _, (who, _) = make_study(session)
        assignment = assigned(session, study, who)
        as_given_out = blinding.seen_item(session, lifecycle.design_of(session, study).rubric, "main", assignment)
        slots = session.scalars(select(Slot).where(Slot.assignment_id == assignment.id).order_by(Slot.position)).all()
        moved = [(slot.candidate_id, place) for slot, place in zip(slots, positions, strict=False)]
        session.execute(delete(Slot).where(Slot.assignment_id == assignment.id))
        session.expunge_all()
        session.add_all(
            Slot(assignment_id=assignment.id, candidate_id=candidate, position=place) for candidate, place in moved
        )
        session.flush()

        seen = blinding.seen_item(session, lifecycle.design_of(session, study).rubric, "main", assignment)

    assert seen.context == as_given_out.context is not None
    assert [candidate.letter for candidate in seen.candidates] == [LETTERS[place] for place in positions]
    assert [candidate.text for candidate in seen.candidates] == [
        candidate.text for candidate in as_given_out.candidates
    ][: len(positions)]


def test_the_view_holds_no_system_id_or_metadata(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        for candidate in session.scalars(select(Candidate)):
            candidate.id = candidate.id + 7_000_000
        sent = see(session, study, who).model_dump_json()

    assert "Answer 1" in sent or "Answer 2" in sent or "Answer 3" in sent or "Answer 4" in sent
    assert not [secret for secret in (*SYSTEMS, "item-1", "item-2", "item-3", "item-4", "70000") if secret in sent]


@pytest.mark.long
def test_a_rubric_has_exactly_the_fields_of_the_contract():
    rubrics = [*(rubric for _, rubric in read_shipped().values()), parse_rubric(OTHER_SCALES)]

    sent = [blinding.seen_rubric(rubric, "main", rubric.presentation) for rubric in rubrics]

    assert set().union(*(paths(json.loads(json.dumps(each["criteria"]))) for each in sent)) == CRITERION_PATHS
    parts = {"wording", "untranslated", "presentation", "criteria", "worked_example"}
    assert {key for each in sent for key in each} == blinding.SEEN_AS_IT_IS | parts


def test_untranslated_texts_are_named_without_those_of_the_test():
    text = read_rubric(shipped_rubrics()["mental_health_qa"])
    text = text.replace("title: Relevance\n", "title: Fit\n", 1).replace(
        "reason: Expecting never", "reason: Never expecting", 1
    )
    rubric = parse_rubric(text).in_language("de")
    assert len(rubric.untranslated) == 2

    assert blinding.seen_rubric(rubric, "main", rubric.presentation)["untranslated"] == ["Fit"]


def test_a_field_that_is_not_in_the_contract_cannot_travel():
    with pytest.raises(ValidationError, match="system"):
        Work.model_validate(
            {
                "token": "t", "version": 1, "draft_seq": 0, "store_key": "k", "state": "reserved", "purpose": "main",
                "can_go_back": False, "receipt": None, "system": "plumbum",
            }
        )  # fmt: skip


def test_only_the_meta_fields_that_the_rubric_shows_reach_annotators(sqlite_engine):
    item = ItemDraft(
        external_id="x",
        context_text="A review",
        context_turns=(),
        candidates=(CandidateDraft("one", "Thanks", None),),
        meta={"stars": "4", "domain": "Hotel", "outcome": "secret"},
        extra_texts={},
        row=1,
    )
    yaml = shipped_rubrics()["rrgen"].read_text()
    with writing(sqlite_engine) as session:
        study = lifecycle.create_study(session, lifecycle.StudyPlan(title="Reviews"), yaml, [item], "lead")
        lifecycle.set_state(session, study, StudyState.open, "lead")
        seen = see(session, study, join(session, study, add_person(session, "ann")))

    assert seen.item.context.stars == 4
    assert [(fact.title, fact.value) for fact in seen.item.context.facts] == [("Domain", "Hotel")]
    assert "secret" not in seen.model_dump_json()


def test_speakers_are_named_on_screen_and_an_unknown_one_stays(sqlite_engine):
    turns = (TurnDraft("usr", "hello"), TurnDraft("sys", "hi"), TurnDraft("bystander", "hm"))
    item = ItemDraft("x", None, (), (CandidateDraft("unknown", None, turns),), {}, {}, 1)
    yaml = shipped_rubrics()["esc_dialogue"].read_text()
    with writing(sqlite_engine) as session:
        study = lifecycle.create_study(session, lifecycle.StudyPlan(title="Talks"), yaml, [item], "lead")
        lifecycle.set_state(session, study, StudyState.open, "lead")
        who = join(session, study, add_person(session, "ann"))
        session.execute(delete(Item).where(Item.purpose == "training"))
        seen = see(session, study, who)

    assert [turn.speaker for turn in seen.item.candidates[0].turns] == ["Seeker", "Supporter", "bystander"]
    assert seen.item.context is None


def test_the_store_key_is_another_for_another_person(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (first, second) = make_study(session)
        assignment = assigned(session, study, first)

    assert blinding.store_key(assignment.token, first) != blinding.store_key(assignment.token, second)
    assert first.pseudonym not in blinding.store_key(assignment.token, first)


def test_rubrics_of_changed_wordings_are_forgotten(sqlite_engine, make_study, monkeypatch):
    """Each change of a content note after launch left another copy in memory for good."""
    monkeypatch.setattr(blinding, "MAX_RUBRICS", 3)
    with writing(sqlite_engine) as session:
        study, _, _ = make_study(session)
        rubric = lifecycle.design_of(session, study).rubric
        for number in range(10):
            study.settings = {"content_note": f"Note {number}"}
            shown = blinding._cached_rubric(rubric, study, trained=False)

    assert shown["content_note"] == "Note 9"
    assert len(blinding._rubrics) <= 3


def test_studies_alike_but_for_their_contents_show_their_own(sqlite_engine, make_study):
    """A capsule can hold seed, times and hash of a study here: both were shown the rubric and layout of the one that
    was opened first.
    """
    with writing(sqlite_engine) as session:
        forged, _, (puppet, _) = make_study(session, rubric=OTHER_SCALES)
        session.execute(update(Candidate).values(text="Much longer than that of the other study, word after word."))
        study, _, (who, _) = make_study(session)
        for name in ("seed", "created_at", "design_hash"):
            setattr(forged, name, getattr(study, name))
        seen = [see(session, forged, puppet), see(session, study, who)]

    assert [view.rubric["title"] for view in seen] == ["Other scales", "Small rubric"]
    assert [view.study.longest_words for view in seen] == [11, 9]


def test_imported_responses_beyond_the_letters_have_numbers(sqlite_engine, make_study):
    """The preview of a study of imported ratings with more than six responses to an item ended in an error."""
    with writing(sqlite_engine) as session:
        study, *_ = make_study(session)
        rubric = lifecycle.design_of(session, study).rubric
        item = ItemDraft("item-1", "Well?", (), tuple(CandidateDraft(f"s{n}", "Well.") for n in range(7)), {}, {}, 1)
        shown = views.view_of(study, rubric, [item], 0).item

    assert "".join(candidate.letter for candidate in shown.candidates) == "ABCDEF7"
