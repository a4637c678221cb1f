"""The rubrics in `rubrics/`: rules for every file, and the facts of the four protocols."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from helpers.present import present

from triptych.languages.language import codes
from triptych.rubric.files import json_schema, parse_rubric, read_rubric, read_shipped, shipped_rubrics
from triptych.rubric.model import Criterion, Rubric, StudyStart
from triptych.rubric.scales import Choice, ChoiceOption, Likert

FILES = shipped_rubrics()
SHIPPED = {"rrgen", "dialogue_response", "esc_dialogue", "mental_health_qa"}
NOT_COUNTED = {"examples", "worked_example", "training", "entry_test", "translations"}


def rubric(key: str) -> Rubric:
    return read_shipped()[key][1]


def by_key(key: str) -> dict[str, Criterion]:
    return {criterion.key: criterion for criterion in rubric(key).criteria}


def titles(key: str) -> list[str]:
    return [criterion.title for criterion in rubric(key).criteria]


def points(criterion: Criterion) -> list[tuple[float, str]]:
    assert isinstance(criterion.scale, Likert)
    return [(point.value, point.title) for point in criterion.scale.points]


def options(criterion: Criterion) -> list[ChoiceOption]:
    assert isinstance(criterion.scale, Choice)
    return list(criterion.scale.options)


# ---- every file


def lines_under(node: yaml.Node, names: set[str]) -> int:
    """Number of lines of a YAML file under keys of these names."""
    if isinstance(node, yaml.SequenceNode):
        return sum(lines_under(part, names) for part in node.value)
    if not isinstance(node, yaml.MappingNode):
        return 0
    return sum(
        value.end_mark.line - key.start_mark.line if key.value in names else lines_under(value, names)
        for key, value in node.value
    )


def test_the_four_protocols_are_shipped() -> None:
    assert set(FILES) >= SHIPPED


@pytest.mark.parametrize("key", FILES)
def test_a_shipped_file_carries_its_key_as_name(key: str) -> None:
    assert rubric(key).key == key


@pytest.mark.parametrize("key", sorted(SHIPPED))
def test_a_shipped_file_names_its_schema_for_editors(key: str) -> None:
    assert FILES[key].read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=schema.json\n")


@pytest.mark.parametrize("key", sorted(SHIPPED))
def test_a_shipped_rubric_is_whole_in_every_language(key: str) -> None:
    rubric = read_shipped()[key][1]
    for code in codes():
        other = rubric.in_language(code)
        assert not other.untranslated and other.wording == code
        assert [criterion.key for criterion in other.criteria] == [criterion.key for criterion in rubric.criteria]
        assert (other.title == rubric.title) == (code == "en")


def test_a_changed_text_loses_its_translation() -> None:
    rubric = read_shipped()["rrgen"][1]
    changed = parse_rubric(read_rubric(FILES["rrgen"]).replace("title: Fluency", "title: Good language", 1))
    assert changed.in_language("de").criterion("fluency").title == "Good language"
    assert changed.in_language("de").untranslated == {"Good language"}
    assert rubric.in_language("pl").wording == "en"


@pytest.mark.parametrize("key", FILES)
def test_the_core_of_a_shipped_file_is_under_150_lines(key: str) -> None:
    text = FILES[key].read_text(encoding="utf-8")
    assert len(text.splitlines()) - lines_under(present(yaml.compose(text, yaml.SafeLoader)), NOT_COUNTED) < 150


@pytest.mark.parametrize("key", FILES)
def test_the_schema_accepts_each_shipped_file(key: str) -> None:
    jsonschema.validate(yaml.safe_load(FILES[key].read_text(encoding="utf-8")), json.loads(json_schema()))


@pytest.mark.parametrize("key", FILES)
def test_every_worked_example_is_rated_with_an_existing_title(key: str) -> None:
    for criterion in rubric(key).criteria:
        named = [answer.title for answer in getattr(criterion.scale, "options", getattr(criterion.scale, "points", ()))]
        for example in criterion.examples:
            assert [candidate.rating for candidate in example.candidates if candidate.rating not in named] == []


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    """All runs of so many words, without case and punctuation."""
    words = re.findall(r"[a-z0-9']+", text.lower())
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


@pytest.mark.parametrize("key", sorted(SHIPPED))
def test_the_wording_shares_no_seven_words_with_a_task_sheet(key: str, shared: Path) -> None:
    sheets = list((shared / "protocols").glob("*.txt"))
    assert len(sheets) == 4
    own = runs(FILES[key].read_text(encoding="utf-8"), 7)
    copied = {" ".join(run) for sheet in sheets for run in own & runs(sheet.read_text(encoding="utf-8"), 7)}
    # names of scale points come from the sheet, where they may be in a row, too
    names = " ".join(title for criterion in rubric(key).criteria for title in point_titles(criterion)).lower()
    assert {run for run in copied if not set(run.split()) <= set(names.split()) | set("1234567")} == set()


def point_titles(criterion: Criterion) -> list[str]:
    return [point.title for point in getattr(criterion.scale, "points", ())]


# ---- rrgen


def test_rrgen_asks_four_seven_point_questions_and_a_verdict() -> None:
    names = ["Semantic relevance", "Fluency", "Sentiment appropriateness", "Domain accuracy", "Verdict"]
    assert titles("rrgen") == names
    for criterion in rubric("rrgen").criteria[:4]:
        assert points(criterion) == [
            (1, "Not at all"),
            (2, "Slightly"),
            (3, "More than slightly"),
            (4, "Partially"),
            (5, "More than partially"),
            (6, "Almost completely"),
            (7, "Completely"),
        ]
        assert criterion.scale.level == "ordinal"
        assert [point.value for point in criterion.scale.points if point.sparing] == [3, 5]


def test_rrgen_has_a_verdict_whose_positive_option_is_accept() -> None:
    verdict = rubric("rrgen").criteria[4]
    assert [(option.key, option.title, option.positive) for option in options(verdict)] == [
        ("accept", "Accept", True),
        ("reject", "Reject", False),
    ]
    assert verdict.about == "candidate"


def test_rrgen_has_two_reasons_to_set_aside_reviews_and_responses() -> None:
    loaded = rubric("rrgen")
    assert loaded.ignore_item is not None
    assert loaded.set_aside_response is not None
    assert loaded.ignore_item.title == "Ignore this review"
    assert [reason.key for reason in loaded.ignore_item.reasons] == ["nothing_to_answer", "unsuitable"]
    assert loaded.set_aside_response.reasons == loaded.ignore_item.reasons


def test_rrgen_shows_stars_domain_and_successive_responses() -> None:
    loaded = rubric("rrgen")
    assert (loaded.context.title, loaded.context.stars, loaded.context.show) == ("Review", "stars", ("domain",))
    assert (loaded.judged, loaded.presentation) == ("response", "succession")
    assert len(loaded.highlights) == 1


# ---- dialogue_response

THREE_WAYS = {
    "Appropriateness": ["Appropriate", "Not appropriate", "I don't know"],
    "Contextualization": ["Contextualized", "Not contextualized", "I don't know"],
    "Listening": ["Listening", "Not listening", "I don't know"],
    "Correctness": ["Correct", "Not correct", "I don't know"],
}
ASKED = {  # (criterion, option) -> tags of the ready-made reasons, free text; nothing is asked elsewhere
    ("Appropriateness", "Appropriate"): (["coherence"], "optional"),
    ("Appropriateness", "Not appropriate"): (["incoherence"], "optional"),
    ("Appropriateness", "I don't know"): ([], "required"),
    ("Contextualization", "Not contextualized"): (["genericness", "hallucination"], "optional"),
    ("Contextualization", "I don't know"): ([], "required"),
    ("Correctness", "Not correct"): (["grammaticality", "repetition"], "optional"),
    ("Correctness", "I don't know"): ([], "required"),
}


def test_dialogue_response_asks_four_three_way_questions_in_this_order() -> None:
    loaded = rubric("dialogue_response")
    asked = {criterion.title: [option.title for option in options(criterion)] for criterion in loaded.criteria}
    assert list(asked.items()) == list(THREE_WAYS.items())
    assert all(criterion.scale.level == "nominal" for criterion in loaded.criteria)


def test_i_dont_know_is_a_separate_answer() -> None:
    last = [options(criterion)[2] for criterion in rubric("dialogue_response").criteria]
    assert not any(
        option.missing for criterion in rubric("dialogue_response").criteria for option in options(criterion)
    )
    assert {option.key for option in last} == {"dont_know"}
    assert len({option.definition for option in last} - {""}) == 4


def test_the_first_option_alone_is_positive() -> None:
    for criterion in rubric("dialogue_response").criteria:
        assert [option.positive for option in options(criterion)] == [True, False, False]


def test_the_protocols_options_ask_for_explanations() -> None:
    titles = {
        (criterion.title, option.title): ([reason.tag for reason in option.ask.reasons], option.ask.free_text)
        for criterion in rubric("dialogue_response").criteria
        for option in options(criterion)
        if option.ask
    }
    assert titles == ASKED


def test_a_free_explanation_has_three_to_thirty_words() -> None:
    rule = rubric("dialogue_response").explanation
    assert (rule.min_words, rule.max_words) == (3, 30)


def test_the_lower_case_note_is_shown_at_correctness_only() -> None:
    notes = {criterion.key: criterion.note for criterion in rubric("dialogue_response").criteria if criterion.note}
    assert list(notes) == ["correctness"]
    assert "lower case" in notes["correctness"]


def test_every_dialogue_criterion_has_examples_for_three_options() -> None:
    for criterion in rubric("dialogue_response").criteria:
        assert {c.rating for example in criterion.examples for c in example.candidates} == set(
            THREE_WAYS[criterion.title]
        )
        for example in criterion.examples:
            assert len(example.context) >= 1
            assert 2 <= len(example.candidates) <= 3
            texts = [turn.text for turn in example.context] + [candidate.text for candidate in example.candidates]
            assert texts == [text.lower() for text in texts]


def test_speakers_are_psychologist_and_patient_side_by_side() -> None:
    loaded = rubric("dialogue_response")
    assert [(speaker.names, speaker.title, speaker.side) for speaker in loaded.speakers] == [
        (("A", "sys", "supporter"), "Psychologist", "left"),
        (("B", "usr", "seeker"), "Patient", "right"),
    ]
    shown = {
        turn.speaker for criterion in loaded.criteria for example in criterion.examples for turn in example.context
    }
    assert shown == {"Psychologist", "Patient"}
    assert (loaded.judged, loaded.presentation) == ("response", "side_by_side")


# ---- esc_dialogue

WHOLE_POINTS = {  # titles of 3, 2, 1, 0
    "Informativeness": [
        "Extremely informative",
        "Mostly informative",
        "Not very informative",
        "Not informative at all",
    ],
    "Comprehensibility": [
        "Fully comprehensible",
        "Moderate understanding",
        "Not very comprehensible",
        "Not understanding at all",
    ],
    "Helpfulness": ["Completely helpful", "Mostly helpful", "Somewhat helpful", "Not helpful"],
    "Consistency": ["Perfect consistency", "Mostly consistent", "Mostly inconsistent", "Complete inconsistency"],
    "Coherence": ["Fully coherent", "Mostly coherent", "Mostly incoherent", "Completely incoherent"],
    "Safety": ["Completely safe", "Mostly safe", "Mostly unsafe", "Completely unsafe"],
}


def test_esc_dialogue_judges_conversations_on_six_criteria_in_this_order() -> None:
    loaded = rubric("esc_dialogue")
    assert loaded.judged == "conversation"
    assert titles("esc_dialogue") == list(WHOLE_POINTS)


def test_esc_dialogue_has_half_points_and_describes_whole_ones() -> None:
    for criterion in rubric("esc_dialogue").criteria:
        assert [value for value, _ in points(criterion)] == [0, 0.5, 1, 1.5, 2, 2.5, 3]
        whole = [point for point in criterion.scale.points if point.value % 1 == 0]
        assert [point.title for point in reversed(whole)] == WHOLE_POINTS[criterion.title]
        assert all(point.definition for point in whole)
        assert not any(point.title or point.definition for point in criterion.scale.points if point.value % 1)
        assert criterion.scale.level == "ordinal"


def test_esc_dialogue_speaks_of_seeker_and_supporter() -> None:
    assert {speaker.title: speaker.names for speaker in rubric("esc_dialogue").speakers} == {
        "Seeker": ("usr", "seeker"),
        "Supporter": ("sys", "supporter"),
    }


def test_the_worked_example_is_a_whole_conversation_between_known_speakers() -> None:
    loaded = rubric("esc_dialogue")
    (item,) = loaded.training
    (candidate,) = item.candidates
    assert len(candidate.turns) >= 12
    assert {turn.speaker for turn in candidate.turns} == {"usr", "sys"}


def test_each_worked_example_has_a_reference_and_reason_per_criterion() -> None:
    references = rubric("esc_dialogue").training[0].references
    assert [(r.criterion, r.value) for r in references] == [
        ("informativeness", 3),
        ("comprehensibility", 2.5),
        ("helpfulness", 2),
        ("consistency", 3),
        ("coherence", 2),
        ("safety", 1.5),
    ]
    assert {(r.slot, r.close) for r in references} == {("A", 0.5)}


# ---- mental_health_qa

FIVE_POINTS = {
    "relevance": [
        "Not at all relevant",
        "Not relevant",
        "Marginally relevant",
        "Relevant",
        "Highly relevant",
    ],
    "empathy": [
        "Not at all empathetic",
        "Not empathetic",
        "Marginally empathetic",
        "Empathetic",
        "Highly empathetic",
    ],
    "specificity": ["Very general", "Somewhat general", "Marginally specific", "Specific", "Highly specific"],
    "usefulness": ["Not at all useful", "Not useful", "Marginally useful", "Useful", "Highly useful"],
    "personal_tone": ["Not at all personal", "Not personal", "Marginally personal", "Personal", "Highly personal"],
}


def test_mental_health_qa_has_five_named_points_per_criterion() -> None:
    assert titles("mental_health_qa") == ["Relevance", "Empathy", "Specificity", "Usefulness", "Personal tone"]
    criteria = by_key("mental_health_qa")
    assert list(criteria) == list(FIVE_POINTS)
    for key, names in FIVE_POINTS.items():
        assert points(criteria[key]) == list(enumerate(names, start=1))
        assert criteria[key].scale.level == "ordinal"


def test_personal_tone_is_asked_in_every_round_but_the_experts() -> None:
    loaded = rubric("mental_health_qa")
    for name in ("pilot", "main", "crowd"):
        assert [criterion.key for criterion in loaded.asked(name)] == list(FIVE_POINTS)
    assert [criterion.key for criterion in loaded.asked("expert")] == list(FIVE_POINTS)[:4]


@pytest.mark.parametrize(
    ("key", "ignored"),
    [
        ("relevance", ["concern", "sympathy"]),
        ("empathy", ["solve the problem", "therapeutic", "see a therapist"]),
        ("specificity", ["see a counselor"]),
    ],
)
def test_what_to_ignore_is_part_of_the_definition(key: str, ignored: list[str]) -> None:
    sentence = by_key("mental_health_qa")[key].definition.split("Ignore ")[1]
    assert [part for part in ignored if part not in sentence] == []


def test_mental_health_qa_shows_treatment_suggestions_and_a_content_note() -> None:
    loaded = rubric("mental_health_qa")
    assert loaded.context.extra_texts == ("Treatment suggestions",)
    assert "Stop for today" in loaded.content_note


def test_the_entry_test_asks_ten_questions_and_80_percent() -> None:
    test = rubric("mental_health_qa").entry_test
    assert test is not None
    assert (len(test.questions), test.pass_percent) == (10, 80)
    assert all(len(question.options) == 4 for question in test.questions)


def test_correct_entry_answers_are_ten_schemas_in_varied_places() -> None:
    questions = rubric("mental_health_qa").entry_test.questions
    assert len({question.answer for question in questions}) == 10
    places = [[option.key for option in question.options].index(question.answer) for question in questions]
    assert all(1 <= places.count(place) <= 4 for place in range(4))
    assert all(before != after for before, after in zip(places, places[1:], strict=False))


def test_the_study_page_defines_every_entry_test_option() -> None:
    test = rubric("mental_health_qa").entry_test
    page = "\n".join(section.text for section in test.study_page)
    offered = {option.title for question in test.questions for option in question.options}
    assert [title for title in sorted(offered) if f"{title}: " not in page] == []
    assert len(re.findall(r"^[A-Z][^.:]+: ", page, re.MULTILINE)) == 18


@pytest.mark.parametrize(
    ("key", "facts"),
    [
        ("rrgen", ["University of Zurich", "one order", "started its sliders at 0"]),
        (
            "dialogue_response",
            [
                "Mousavi, Roccabruna et al.",
                "2022.gem-1.12",
                "42 dialogues",
                "seven annotators",
                "one candidate at a time",
                "human ground truth",
                "Fleiss' kappa",
            ],
        ),
        ("esc_dialogue", ["FEEL", "half points", '"rater"']),
        (
            "mental_health_qa",
            [
                "Gollapalli, Ang and Ng",
                "EMNLP 2023",
                "22 questions",
                "USD 50",
                "98 %",
                "10,000",
                "80 %",
                "United States",
                "USD 0.60",
                "no scale points",
            ],
        ),
    ],
)
def test_source_says_who_ran_the_protocol_and_how(key: str, facts: list[str]) -> None:
    assert [fact for fact in facts if fact not in f"{rubric(key).source} {rubric(key).deviations}"] == []


@pytest.mark.parametrize("key", sorted(SHIPPED))
def test_a_shipped_rubric_says_where_its_wording_is_its_own(key: str) -> None:
    assert "worded for this file" in rubric(key).deviations


@pytest.mark.parametrize("key", sorted(SHIPPED))
def test_a_shipped_rubric_has_a_worked_example_with_reasons(key: str) -> None:
    example = rubric(key).worked_example
    assert example
    rated = [reference.criterion for reference in example.references]
    assert set(rated) == set(by_key(key)) if key != "esc_dialogue" else len(rated) >= 4


def test_a_new_study_begins_as_the_protocol_ran() -> None:
    assert rubric("dialogue_response").start_in("main").raters_per_item == 7
    qa = rubric("mental_health_qa")
    crowd, expert, main = (qa.start_in(name) for name in ("crowd", "expert", "main"))
    assert (crowd.pay_per_item, crowd.currency, len(crowd.eligibility.splitlines())) == (0.6, "USD", 3)
    assert (expert.raters_per_item, round((expert.pay_per_item or 0) * 22)) == (1, 50)
    assert main == StudyStart()
    assert qa.entry_test.asked_in("crowd")


def test_informativeness_is_about_descriptions_that_are_unclear_at_first() -> None:
    criterion = by_key("esc_dialogue")["informativeness"]
    assert "unclear at first" in criterion.definition.replace("unclearly at first", "unclear at first")
    assert all("unclear" in point.definition for point in criterion.scale.points if point.definition)


def test_safety_lists_the_sensitive_subjects() -> None:
    definition = by_key("esc_dialogue")["safety"].definition
    assert [word for word in ("medicine", "violence", "politics", "gender", "race") if word not in definition] == []


def test_the_sentence_about_dashed_points_names_them() -> None:
    for criterion in rubric("rrgen").criteria[:4]:
        assert "3 or 5" in criterion.scale.sparing_note
