"""The linter: what it finds before launch, how grave it is, and what it leaves in peace."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.studies import SMALL_RUBRIC, draft_items
from sqlmodel import Session

from triptych.errors import ImportRefused
from triptych.formats.model import CandidateDraft, ItemDraft, TurnDraft
from triptych.rubric.files import EMPTY_RUBRIC, parse_rubric
from triptych.study import checklist, lifecycle
from triptych.study.lint import linter
from triptych.study.lint.findings import LintFinding
from triptych.study.lint.giveaways import systems_named
from triptych.study.pairing import PlanLine
from triptych.study.settings import Formats, changed, stored
from triptych.study.system_names import mark_of

RUBRIC = parse_rubric(SMALL_RUBRIC)
SENTENCES = [
    "You could call them before the weekend and ask what they need.",
    "Perhaps a walk by the river would help you to clear your head.",
    "There is no hurry, so take the time that you want for this.",
    "A short letter says more than a long talk on the telephone.",
]

RATED_EXAMPLE = """
worked_example:
  candidates: [{{text: {text}}}]
  references: [{{criterion: fluency, value: 1, reason: It is long.}}]
"""


def item(n: int, *texts: str | None, context: str | None = None, systems: str = "abcdef") -> ItemDraft:
    named = zip((f"sys-{letter}" for letter in systems), texts, strict=False)
    candidates = tuple(CandidateDraft(system, text) for system, text in named)
    return ItemDraft(f"i{n}", context or f"Question {n}?", (), candidates, {}, {}, n + 1)


def sound(count: int = 12) -> list[ItemDraft]:
    return [item(n, *(f"{SENTENCES[(n + k) % 4]} That is number {n}-{k}." for k in range(3))) for n in range(count)]


def lint(items: list[ItemDraft], **more) -> list[LintFinding]:
    return linter.lint(RUBRIC, items, more.pop("training", ()), **more)


def only(findings: list[LintFinding], words: str) -> LintFinding:
    fitting = [finding for finding in findings if words in finding.text]
    assert len(fitting) == 1, findings
    return fitting[0]


def test_sound_items_give_no_finding() -> None:
    assert lint(sound()) == []
    assert lint([]) == []


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("A fine text.", None, "Another one."), "1 item without a candidate of every system"),
        (("A fine text.",), "1 item without a candidate of every system"),
        ((), "1 item without a candidate of every system"),
        (("A fine text.", " \n", "Another one."), "1 candidate without a text"),
    ],
)
def test_a_missing_or_empty_candidate_blocks_the_launch(texts: tuple[str | None, ...], words: str) -> None:
    finding = only(lint([*sound(), item(99, *texts)]), words)
    assert (finding.severity, finding.blocking, finding.items, finding.rows) == ("grave", True, ("i99",), (100,))


def test_a_conversation_of_blank_turns_is_empty() -> None:
    blank = CandidateDraft("sys-a", None, (TurnDraft("usr", " "), TurnDraft("sys", "")))
    items = [
        replace(draft, candidates=(blank, *draft.candidates[1:])) if n == 3 else draft
        for n, draft in enumerate(sound())
    ]
    assert only(lint(items), "without a text").items == ("i3",)


def test_items_whose_systems_differ_may_have_fewer_candidates() -> None:
    items = [item(n, "One text.", "Two texts.", systems="abcdef"[n:]) for n in range(4)] + [item(9, "Alone here.")]
    finding = only(lint(items), "fewer candidates")
    assert (finding.severity, finding.blocking, finding.items) == ("warning", False, ("i9",))


def test_systems_with_equal_texts_are_grave() -> None:
    same = [item(n, "x" * n + " end.", "X" * n + " end. ", f"Other {n}.") for n in range(1, 9)]
    assert only(lint(same), "have the same text in 8 of 8").severity == "grave"
    finding = only(lint([*sound(), item(50, "Quite the same.", "Quite the same.", "No.")]), "of the same text")
    assert (finding.severity, finding.items) == ("warning", ("i50",))


def test_a_systems_repeated_text_is_reported_once() -> None:
    items = [item(n, "I am sorry to hear that.", *SENTENCES[1:3]) for n in range(1)] + sound()
    canned = [*items, *(item(60 + n, "I am sorry to hear that.", f"Well {n}.", f"Good {n}.") for n in range(4))]
    assert only(lint(canned), "the same text for 5 items").items == ("i0", "i60", "i61", "i62", "i63")


def test_repeated_items_are_grave_shared_contexts_a_note() -> None:
    twice = [*sound(), replace(sound()[4], external_id="again", row=70)]
    finding = only(lint(twice), "in the file more than once")
    assert (finding.severity, finding.items) == ("grave", ("i4", "again"))
    shared = [*sound(), item(80, "One.", "Two.", "Three.", context="Question 4?")]
    assert only(lint(shared), "share their context").severity == "note"


def test_ids_that_look_like_groups_are_a_note() -> None:
    ids = [f"dialogue-{n // 2}-turn-{n % 2}" for n in range(12)]
    finding = only(lint([replace(draft, external_id=name) for draft, name in zip(sound(), ids, strict=True)]), "groups")
    assert finding.text == "Ids look like 6 groups of items, such as dialogue-0."
    assert finding.severity == "note"


def test_training_items_among_the_main_ones_are_grave() -> None:
    by_context = only(lint(sound(), training=[item(1, "Something else entirely.")]), "among the training")
    by_text = only(lint(sound(), training=[replace(sound()[7], context_text="Other?")]), "among the training")
    assert (by_context.items, by_text.items, by_text.severity) == (("i1",), ("i7",), "grave")


@pytest.mark.parametrize(
    ("text", "words", "severity"),
    [
        ("As an AI language model, I cannot feel this.", "calls itself an AI", "grave"),
        ("I was trained by OpenAI to help.", "calls itself an AI", "grave"),
        ("Ask sys a again tomorrow, please.", "The name of 'sys-a' is in 1 text of 'sys-a'", "grave"),
        ("That is all.<|im_end|>", "prompt template", "grave"),
        ("[/INST] That is all.", "prompt template", "grave"),
        ("That is <b>all</b> of it &amp; more.", "HTML", "warning"),
        ("That is **all** of it.", "Markdown", "warning"),
        ("That is all.\nUser: and now?", "the name of a speaker", "warning"),
        ("```\nprint(1)\n", "is not closed", "warning"),
        ("And then you could go to the", "1 text ends in the middle", "warning"),
        ("You could take a walk by the river in the week", "1 text ends in the middle", "warning"),
    ],
)
def test_revealing_or_uncleaned_texts_are_reported(text: str, words: str, severity: str) -> None:
    finding = only(lint([*sound(), item(77, text, "A fine text.", "Another one.")]), words)
    assert (finding.severity, finding.items, finding.blocking) == (severity, ("i77",), False)


@pytest.mark.parametrize(
    "text",
    [
        "2 < 3 and 5 > 4, as R&D says.",
        "The aim is clear: said and done.",
        "Use `x` and ```y``` as you like.",
        "I have said as a friend that we model languages by hand.",
        "They said 'wait'",
        "Take care 🙂",
    ],
)
def test_ordinary_texts_are_left_in_peace(text: str) -> None:
    findings = lint([*sound(), item(77, text, "A fine text.", "Another one.")])
    assert not [finding for finding in findings if finding.severity != "note"]


def test_a_systems_family_name_counts_unless_contexts_use_the_word() -> None:
    items = [
        replace(draft, candidates=tuple(replace(c, system="GPT4-ft") for c in draft.candidates[:1]))
        for draft in sound()
    ]
    leaking = replace(items[2], candidates=(CandidateDraft("GPT4-ft", "I am GPT, glad to help."),))
    assert only(lint([*items, leaking]), "The name of 'GPT4-ft'").severity == "grave"
    about = [replace(draft, context_text=f"What is GPT, asked {draft.external_id}?") for draft in [*items, leaking]]
    assert not [finding for finding in lint(about) if "The name of" in finding.text]


def test_a_systems_name_in_further_texts_and_fields_is_reported() -> None:
    first, second, *others = sound()
    planted = replace(first, extra_texts={"Notes": "Generated by SYS-A at noon."})
    in_texts = only(lint([planted, second, *others]), "The name of 'sys-a' is in the further texts of 1 item")
    assert (in_texts.severity, in_texts.items) == ("grave", ("i0",))
    planted = replace(second, meta={"model_file": "/data/sys-a-v2.jsonl"})
    in_fields = only(lint([first, planted, *others]), "The name of 'sys-a' is in the meta fields of 1 item")
    assert (in_fields.severity, in_fields.items) == ("warning", ("i1",))


@pytest.mark.parametrize("name", ["q1-SYS-A", "sys-a_q1", "sys_a:1"])
def test_a_systems_name_in_ids_is_reported(name: str) -> None:
    first, *others = sound()
    in_ids = only(lint([replace(first, external_id=name), *others]), "The name of 'sys-a' is in the ids of 1 item")
    assert (in_ids.severity, in_ids.items) == ("warning", (name,))


def talk(n: int, before: str, speaker: str) -> ItemDraft:
    candidate = CandidateDraft("gpt4-ft", None, (TurnDraft("usr", "What now?"), TurnDraft(speaker, SENTENCES[n % 4])))
    return ItemDraft(f"i{n}", None, (TurnDraft(before, f"Question {n}?"),), (candidate,), {}, {}, n + 1)


@pytest.mark.parametrize(("before", "speaker"), [("usr", "GPT4-ft"), ("usr", "gpt4_ft"), ("gpt4-ft", "sys")])
def test_a_speaker_with_the_name_of_a_system_is_grave(before: str, speaker: str) -> None:
    finding = only(
        lint([*(talk(n, "usr", "sys") for n in range(3)), talk(7, before, speaker)]), "A speaker has the name"
    )
    assert (finding.severity, finding.items) == ("grave", ("i7",))


def test_a_speaker_with_a_rubric_title_is_not_reported() -> None:
    titled = parse_rubric(f"{SMALL_RUBRIC}speakers: [{{names: [gpt4-ft], title: Supporter, side: right}}]\n")
    assert not [
        finding for finding in linter.lint(titled, [talk(7, "usr", "gpt4-ft")], ()) if "A speaker" in finding.text
    ]


def test_a_title_with_the_name_of_a_system_is_grave() -> None:
    titled = parse_rubric(f"{SMALL_RUBRIC}speakers: [{{names: [sys], title: GPT4 FT, side: right}}]\n")
    assert only(linter.lint(titled, [talk(7, "usr", "sys")], ()), "A speaker has the name").severity == "grave"


def test_a_word_that_also_speaks_in_contexts_is_no_name() -> None:
    (candidate,) = talk(7, "usr", "counselor").candidates
    items = [replace(talk(7, "counselor", "counselor"), candidates=(replace(candidate, system="counselor"),))]
    assert not [finding for finding in lint(items) if "counselor" in finding.text]


def test_a_system_cut_at_a_maximum_length_is_reported() -> None:
    def cut(n: int) -> CandidateDraft:
        return CandidateDraft("sys-c", (f"{n} " + "word after " * 30)[:199] + "x")

    items = [replace(draft, candidates=(*draft.candidates[:2], cut(n))) for n, draft in enumerate(sound())]
    finding = only(lint(items), "'sys-c' stops at 200 characters")
    assert (finding.severity, len(finding.items)) == ("warning", 12)


def test_missing_punctuation_counts_only_where_other_systems_have_it() -> None:
    bare = [item(n, *(f"{s.rstrip('.')} {n}{k}" for k, s in enumerate(SENTENCES[:3]))) for n in range(10)]
    assert not [finding for finding in lint(bare) if "punctuation" in finding.text]
    one_bare = [
        replace(draft, candidates=(*sound()[n].candidates[:2], draft.candidates[2])) for n, draft in enumerate(bare)
    ]
    assert only(lint(one_bare), "100% of the texts of 'sys-c' end without")


def test_much_longer_systems_and_single_outlying_texts_are_reported() -> None:
    items = [
        replace(draft, candidates=(*draft.candidates[:2], CandidateDraft("sys-c", f"{draft.candidates[2].text} " * 3)))
        for draft in sound(20)
    ]
    assert "'sys-c' is typically" in only(lint(items), "times as long").text
    odd = only(lint([*sound(20), item(90, "No.", SENTENCES[0], SENTENCES[1])]), "far shorter or longer")
    assert (odd.severity, odd.items) == ("note", ("i90",))


def test_a_disconnected_plan_blocks_and_names_its_parts() -> None:
    items = sound(4)
    plan = [PlanLine("A-1", "i0"), PlanLine("A-2", "i0"), PlanLine("A-3", "i1"), PlanLine("A-3", "i2")]
    findings = lint(items, plan=plan)
    assert findings[0].blocking
    assert "2 parts that share no item: A-3; A-1, A-2" in findings[0].text
    assert only(findings, "without an annotator").items == ("i3",)
    assert not lint(items, plan=[PlanLine("A-1", f"i{n}") for n in range(4)])


@pytest.mark.parametrize(
    ("raters", "overlap", "count"), [(1, 0, True), (1, 2, False), (2, 0, False)], ids=["one", "overlap", "two"]
)
def test_annotators_who_would_share_no_item_are_a_warning(sqlite_engine, raters, overlap, count) -> None:
    with Session(sqlite_engine) as session:
        plan = lifecycle.StudyPlan(title="Alone", raters_per_item=raters)
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, sound(4), "L-1")
        study.settings = stored(changed(study, overlap={"items": overlap, "raters": 3}))
        sharing = [
            finding
            for finding in linter.lint_study(session, study)
            if "no two annotators share an item" in finding.text
        ]
    assert [(finding.severity, finding.blocking) for finding in sharing] == [("warning", False)] * count


def test_blocking_findings_come_first_and_five_are_open() -> None:
    texts = ["<br>", "**b** x", "<|im_end|>", "User: x", "```", "As an AI model"]
    items = [*sound(), *(item(70 + n, f"{text} well.", "", "Another.") for n, text in enumerate(texts))]
    findings = lint(items)
    shown, folded = linter.gravest_first(findings)
    assert (len(shown), shown[0].blocking, len(shown) + len(folded)) == (5, True, len(findings))
    assert {finding.severity for finding in folded} <= {"warning", "note"}


def test_a_stored_study_is_linted_under_blind_names(sqlite_engine, make_study) -> None:
    items = [
        replace(draft, candidates=(CandidateDraft("plumbum", "Plumbum says so."), *draft.candidates[1:]))
        for draft in draft_items(3)
    ]
    with Session(sqlite_engine) as session:
        study, lead, _ = make_study(session, items=1)
        plan = lifecycle.StudyPlan(title="Another", seed="s")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, items, lead.pseudonym, lead.person_id)
        finding = only(linter.lint_study(session, study), "The name of")
        assert "plumbum" not in finding.text.casefold()
        assert finding.text.startswith("The name of a system ")
        assert finding.items == ("item-1", "item-2", "item-3")
        assert not any(finding.passages for finding in linter.lint_study(session, study))


def test_a_reference_to_an_unknown_criterion_is_refused_at_upload() -> None:
    """The preview called such a file sound, and the study was refused when it was created."""
    check = replace(item(70, "Yes.", "No."), meta={"purpose": "gold", "reference": "warmth A = 5"})
    with pytest.raises(ImportRefused, match=r"name warmth, but .* add them under Setup, Items"):
        linter.lint_file(RUBRIC, [*sound(), check], Formats())


def test_a_finding_about_texts_has_its_passage() -> None:
    long = "One says that this works well enough for all of us, and as an AI model I think that it always did so."
    findings = linter.lint_file(RUBRIC, [*sound(), item(70, long, "Say <br> this.", "Another.")], Formats())
    assert only(findings, "calls itself").passages == (
        "…is works well enough for all of us, and as an AI model I think that it always did so.",
    )
    assert only(findings, "HTML").passages == ("Say <br> this.",)


def test_a_name_that_is_a_common_word_is_passed_over(sqlite_engine) -> None:
    items = [
        replace(draft, candidates=(CandidateDraft("plumbum", "Plumbum says so."), *draft.candidates[1:]))
        for draft in draft_items(3)
    ]
    with Session(sqlite_engine) as session:
        plan = lifecycle.StudyPlan(title="Lead", common_names=(mark_of("plumbum"),))
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, items, "L-1")
        assert not [point for point in checklist.points(session, study) if "The name of" in point.text]
        study.settings = {}
        (point,) = (point for point in checklist.points(session, study) if "The name of" in point.text)
        assert point.finding and point.finding.name_mark == mark_of("plumbum")


@pytest.mark.parametrize(
    ("title", "rubric", "settings", "section", "place"),
    [
        ("Is sys-a better?", "", {}, "Study", "title"),
        ("S", "", {"instructions": "Sys-A is long."}, "Before the first item", "instructions"),
        ("S", "", {"content_note": "sys-a swears."}, "Before the first item", "content note"),
        ("S", "", {"consent": {"text": "We test sys-a."}}, "Before the first item", "consent text"),
        ("S", "guidelines: [{title: How, text: sys-a is long.}]\n", {}, "Rubric", "rubric"),
        ("S", RATED_EXAMPLE.format(text="sys-a is long."), {}, "Rubric", "rubric"),
        ("S", "translations: [{text: Fluency, into: {de: Ist sys-a gut?}}]\n", {}, "Rubric", "rubric"),
    ],
)
def test_a_systems_name_in_texts_around_items_is_reported(sqlite_engine, title, rubric, settings, section, place):
    """Annotators would know that the system takes part; the checklist looked at the items only."""
    with Session(sqlite_engine) as session:
        study = lifecycle.create_study(session, lifecycle.StudyPlan(title="S"), SMALL_RUBRIC + rubric, sound(), "L-1")
        study.title, study.settings = title, settings

        (point,) = (point for point in checklist.points(session, study) if "name of a system is" in point.text)

        assert (point.section, point.mark, point.stops) == (section, checklist.Mark.doubtful, False)
        assert point.text == f"The name of a system is in the {place}."
        study.settings = {**study.settings, "common_names": [mark_of("sys-a")]}
        assert not [point for point in checklist.points(session, study) if "name of a system is" in point.text]


def test_a_systems_name_in_the_short_name_stays_reported(sqlite_engine) -> None:
    """A title was changed as the checklist advised; its name stayed in the address of every annotator's page."""
    with Session(sqlite_engine) as session:
        plan = lifecycle.StudyPlan(title="Is Sys-A better?")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, sound(), "L-1")
        study.title = "Which is better?"

        (point,) = (point for point in checklist.points(session, study) if "name of a system is" in point.text)

        assert point.text == "The name of a system is in the study's short name."


@pytest.mark.parametrize(
    ("system", "text", "is_named"),
    [
        ("claude-3-opus", "I am Claude.", True),
        ("Llama-2-7b", "I am Llama.", True),
        ("orca", "I am Orca.", True),
        ("gpt4", "I am GPT4.", True),
        ("model_a", "That model_a here.", False),
        ("model1", "The model1 of this.", False),
    ],
)
def test_only_numbered_or_lettered_systems_may_be_named(system: str, text: str, is_named: bool) -> None:
    assert systems_named(text, [system]) == [system] * is_named


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("Ask sol-miro.", True),
        ("Solmiro", True),
        ("xsol miro, sol miro", True),
        ("xsol-miro", False),
        ("sol-mirox _sol miro", False),
        ("sol-miro2, solxmiro", False),
        ("我觉得sol-miro更好", True),
        ("sol miro가 좋다", True),
        ("ésol-miroé", False),
        ("sol-miroạ", False),
    ],
)
def test_a_systems_name_is_found_as_a_whole_word(text: str, is_named: bool) -> None:
    assert systems_named(text, ["sol-miro"]) == ["sol-miro"] * is_named


def test_the_checklist_of_the_initial_rubric_asks_for_questions(sqlite_engine) -> None:
    with Session(sqlite_engine) as session:
        study = lifecycle.create_study(session, lifecycle.StudyPlan(title="New"), EMPTY_RUBRIC, [], "L-1")
        (line,) = [line for line in checklist.points(session, study) if line.section == checklist.SetupSection.rubric]
    assert line.text == "The rubric has only the initial question about quality."


def test_a_scale_too_narrow_for_two_decimals_is_reported(sqlite_engine) -> None:
    narrow = "  - {key: share, title: Share, definition: D., scale: {kind: number, low: 0, high: 0.01, step: 0.001}}\n"
    with Session(sqlite_engine) as session:
        plan = lifecycle.StudyPlan(title="S")
        rubric = SMALL_RUBRIC.replace("criteria:\n", f"criteria:\n{narrow}")
        study = lifecycle.create_study(session, plan, rubric, sound(), "L-1")

        (point,) = (point for point in checklist.points(session, study) if "wide" in point.text)

    assert point.text == "Share: the scale is only 0.01 wide."
    assert (point.mark, point.stops) == (checklist.Mark.doubtful, False)
