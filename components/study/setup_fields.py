"""The settings of a study, section by section, with their labels and help texts."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from components.shell.state import button, plain
from components.study.saved_field import (
    SettingsSheet,
    capitals,
    choice,
    day,
    lines,
    long_text,
    money,
    number,
    several,
    short_text,
)
from components.study.study_form import ACCESS, PRESENTATIONS, ROUNDS
from components.study.text_formats import FIELD_LABELS, FORMAT_NAMES
from triptych.annotate.entry_test import GOLD_ATTEMPTS, GOLD_PERCENT
from triptych.languages import language
from triptych.results.criterion import variable_of
from triptych.rubric.model import Rubric
from triptych.stats.analysis.collection import INTERIM
from triptych.stats.numbers import counted, written
from triptych.storage.models import Access
from triptych.study import preregistration
from triptych.study.lifecycle import LONGEST_TITLE, MOST_RATERS
from triptych.study.lint.findings import LintFinding
from triptych.study.settings import EXPERTISE, settings_of

LONGEST_MINUTES = 60 * 24 * 14
WITHDRAWAL = {"keep": "Their ratings stay, without their name", "delete": "Their ratings are deleted"}
SHARING = {
    "not_asked": "Do not ask: an archive contains results only",
    "nothing": "Only results over all annotators",
    "ratings": "Ratings and highlights, without names",
    "texts": "Ratings, highlights and their texts, without names",
}
SHARING_HELP = (
    "Stated below the consent text: what a published archive of the study contains about each annotator, that anyone "
    "may read it, and for how long. Anyone who agreed to an earlier text is asked again."
)
ARRANGEMENTS = {
    "choice": "Annotators choose; long texts begin one at a time",
    "side_by_side": "Side by side wherever there is room",
    "one_at_a_time": "One at a time",
}
ARRANGEMENT_HELP = (
    "How several responses share the window, unless they are shown in succession. Stored with each annotation. If "
    "lines would have fewer than 45 letters, responses are shown one at a time."
)
MARK_UNITS = {"words": "Whole words", "letters": "Letters"}
MARK_UNIT_HELP = (
    "What a selection by mouse or touch is extended to before it is highlighted. Annotators may switch next to the "
    "labels; the keyboard always marks by letters. The unit is stored with each highlight."
)
LANGUAGES = {"": "That of their browser", **{code: language.language(code).english for code in language.codes()}}
LANGUAGE_HELP = (
    "Annotators may choose another one, which is remembered. The language shown is stored with each annotation. "
    "Nobody has validated the translations of the app and of the shipped rubrics."
)
ITEM_ORDERS = {
    "finish": "Finish items first, so that agreement is known early",
    "cover": "Cover all items first, so that each is rated once before any is rated twice",
}
PROOFS = {"none": "None", "secret": "A secret in the link", "signature": "A signature of each id"}
PROOF_HELP = "Without one, anyone who knows the address can invent ids. *People* shows what the panel needs."
ENTRY = {"none": "No test", "questions": "The questions of the rubric", "gold": "Gold items, rated like any other"}
EARLY = "If results are opened before the planned annotations are in"
BOUNDS = {
    INTERIM: "Clear only with an adjusted p below 0.001",
    INTERIM / 10: "Clear only with an adjusted p below 0.0001",
    0.0: "Estimates without tests",
}
GROUP_HELP = (
    "Turns of one dialogue or questions on one passage are not independent. Name the field of the items file that has "
    "the same value for related items; intervals and tests then treat each group as one item."
)
OVERLAP_NOTE = (
    "With one annotator per item, agreement cannot be computed. Give a random subset of the items, which is assigned "
    "first, more annotators than the rest: at least 30 items, or a fifth of all."
)
CONSENT_HELP = (
    "What the study is for, what is stored (ratings, times, no name), how long, who can read it, the pay, and what "
    "happens to the ratings of someone who withdraws."
)
CHECKS_NOTE = (
    "They are rows of the items file with a field purpose (attention or gold) and a field reference with the accepted "
    "answers, for example: fluency A = 6 ± 1; verdict B = accept. To annotators they look like any other item. Repeats "
    "are items that an annotator gets a second time, in a new order. 0 means none."
)
MARGINS_NOTE = (
    "Practically equal: the largest difference in scale points (of shares, from 0 to 1) that would not matter to "
    "you. Equality is tested from five annotators on. Empty: it is not tested."
)


def study_itself(sheet: SettingsSheet) -> None:
    """Title and kind of the study, and details required by ethics committees."""
    sheet.draw(
        short_text("title", "Title", LONGEST_TITLE, help="Annotators see it."),
        [choice("round", "Round", ROUNDS), choice("presentation", "Responses appear", PRESENTATIONS)],
        [choice(f"formats.{field}", f"{label} are", FORMAT_NAMES) for field, label in FIELD_LABELS.items()],
        choice("language", "Language of annotators' pages", LANGUAGES, help=LANGUAGE_HELP),
        [
            choice("arrangement", "On the screen", ARRANGEMENTS, help=ARRANGEMENT_HELP),
            choice("mark_unit", "Highlights are marked by", MARK_UNITS, help=MARK_UNIT_HELP),
        ],
        [
            short_text("ethics.approval", "Ethics approval: committee and number"),
            day("ethics.stored_until", "Data are stored until"),
        ],
        [short_text("contact", "Contact for questions"), short_text("ethics.complaints", "Who receives complaints")],
    )


def common_names(sheet: SettingsSheet, findings: Iterable[LintFinding]) -> None:
    """Which names of systems are common words, if texts have any, by what is found and not by the systems' numbers:
    the texts may be of a lead who guesses a name.
    """
    found: dict[str, str] = {}
    for finding in findings:
        if mark := finding.name_mark:
            found[mark] = f"{found[mark]} {finding.text}" if mark in found else f"{len(found) + 1}. {finding.text}"
    if found:
        label = "Systems whose name is a common word in these texts"
        sheet.draw(several("common_names", label, found, help="The checklist passes over these names."))


def assignment(sheet: SettingsSheet) -> None:
    """How many people rate an item, in which order, and how they are recruited and paid."""
    least = 1 if sheet.is_draft else sheet.study.raters_per_item
    sheet.draw(
        [
            number("raters_per_item", "Annotators per item", least, MOST_RATERS, help="It can only grow after launch."),
            number("items_per_annotator", "Most items for one annotator", 1, value=None, placeholder="No limit"),
        ],
        [
            choice("item_order", "Order of items", ITEM_ORDERS),
            number(
                "reservation_minutes",
                "Minutes an item is reserved",
                5,
                LONGEST_MINUTES,
                help="After this time without activity, the item goes to someone else. Late work is kept.",
            ),
        ],
        short_text("group_field", "Field that groups items", help=GROUP_HELP),
    )
    st.caption(OVERLAP_NOTE)
    sheet.draw(
        [
            number("overlap.items", "Items with more annotators", 0),
            number("overlap.raters", "Annotators for each of them", 1, MOST_RATERS),
        ]
    )
    st.header("Who takes part", anchor=False)
    sheet.draw([choice("access", "Who may take part", ACCESS), choice("expertise", "The annotators are", EXPERTISE)])
    sheet.draw([money("pay.per_item", "Pay for one item"), capitals("pay.currency", "Currency", 3)])
    sheet.draw(
        money("pay.floor_per_hour", "Minimum pay per hour"),
        long_text("recruitment.how", "How people were recruited, as a paper would describe it"),
        lines("recruitment.eligibility", "Rules that the panel enforces, one per line (approval rate, country …)"),
    )


def panel(sheet: SettingsSheet) -> bool:
    """Codes and addresses of a panel; whether the lead requests codes for the empty fields."""
    if sheet.study.access != Access.panel:
        return False
    st.header("The panel", anchor=False)
    sheet.draw(
        short_text(
            "panel.return_url",
            "Return address; {code} is replaced by the completion code",
            placeholder="https://…?cc={code}",
        ),
        [
            short_text("panel.name", "Name of the panel", 40),
            short_text("panel.id_param", "Parameter with the person's id", 41),
            short_text("panel.session_param", "Parameter of the session", 41),
        ],
        [
            choice("panel.proof", "Proof in the address", PROOFS, help=PROOF_HELP),
            short_text("panel.proof_param", "Parameter of the proof", 41),
            number("panel.most_people", "Most people", 1, 100_000, value=None, placeholder="1.5 × needed"),
            number("panel.free_after_minutes", "Minutes until a first answer", 5, LONGEST_MINUTES),
        ],
    )
    st.caption("Annotators take a code back to the panel; each outcome has its own. An empty code is not shown.")
    sheet.draw(
        [
            short_text("codes.finished", "Finished", 64),
            short_text("codes.failed_test", "Did not pass the entry test", 64),
            short_text("codes.screened_out", "Did not consent", 64),
        ]
    )
    return button("Generate missing codes", f"codes-{sheet.study.slug}")


def way_in(sheet: SettingsSheet, rubric: Rubric) -> None:
    """Consent, instructions, content note, entry test."""
    sheet.draw(
        long_text("consent.text", "Consent", help=CONSENT_HELP),
        [
            short_text(
                "consent.not_needed", "Or: why consent is not asked", help="The log and reports contain the reason."
            ),
            choice("consent.after_withdrawal", "If someone withdraws", WITHDRAWAL),
        ],
        choice("consent.sharing", "What is published of each annotator", SHARING, help=SHARING_HELP),
        long_text("instructions", "Instructions in addition to the rubric's own"),
        long_text("content_note", "Content note", help="Shown before the first item; a button opens it again later."),
    )
    test = rubric.entry_test
    questions = "This rubric has no entry questions."
    if test is not None:
        tries, asked = counted(test.attempts, "attempt"), counted(len(test.questions), "entry question")
        questions = f"The rubric has {asked}: {test.pass_percent} % to pass, {tries}."
    gold_rules = f"A test of gold items: {GOLD_PERCENT} %, {GOLD_ATTEMPTS} attempts."
    st.caption(f"{questions} {gold_rules} Leave the numbers empty to use these.")
    sheet.draw(
        [
            choice("entry.kind", "Entry test", ENTRY),
            number("entry.pass_percent", "Percent to pass", 1, 100, value=None, placeholder="As above"),
            number("entry.attempts", "Attempts", 1, 10, value=None, placeholder="As above"),
            number("entry.gold_items", "Gold items in the test", 1, 50),
        ]
    )


def check_rules(sheet: SettingsSheet, gold: int, attention: int) -> None:
    """How often checks occur among the items. `gold`, `attention`: number of such items."""
    st.text(f"This study has {attention} attention and {gold} gold items.")
    st.caption(CHECKS_NOTE)
    sheet.draw(
        [
            number("checks.attention_every", "An attention check every … items", 0),
            number("checks.gold_every", "A gold item every … items", 0),
            number("checks.repeat_percent", "Repeats, % of the items", 0, 50),
        ],
        [
            number("checks.repeats_at_least", "Minimum repeats", 0),
            number("checks.repeat_distance", "Minimum items between the two", 1),
        ],
    )


def declaration(sheet: SettingsSheet, rubric: Rubric) -> None:
    """The fields of the preregistration, and the preregistration as a text."""
    study, now = sheet.study, settings_of(sheet.study).preregistration
    label, address = "Planner: how many items and annotators", {"study": study.slug}
    st.page_link("lead/planner.py", label=label, icon=":material/insights:", query_params=address)
    asked = rubric.asked(study.round)
    titles = {criterion.key: plain(criterion.title) for criterion in asked}
    bounds = {now.interim_bound: f"Clear only with an adjusted p below {written(now.interim_bound, 'bound')}"} | BOUNDS
    contrast = "Primary contrast: which systems, which difference, which test"
    margins = [
        number(f"preregistration.margins.{criterion.key}", plain(criterion.title), 0.01, value=None, step=0.05)
        for criterion in asked
        if not variable_of(criterion).not_comparable
    ]
    if sheet.is_draft:
        sheet.draw(
            several("preregistration.criteria", "Criteria that will be reported", titles),
            [
                choice("preregistration.primary_criterion", "Primary criterion", {"": "None", **titles}),
                short_text("preregistration.primary_contrast", contrast),
            ],
            long_text("preregistration.sample", "Items and annotators: how many, and why"),
            long_text("preregistration.stop_rule", "When collection stops"),
            long_text("preregistration.exclusions", "Who and what will be excluded from the results"),
            lines("preregistration.slices", "Fields of the items file whose values are compared, one per line"),
            choice("preregistration.interim_bound", EARLY, bounds),
        )
        st.caption(MARGINS_NOTE)
        sheet.draw(*(margins[place : place + 3] for place in range(0, len(margins), 3)))
    if now.declared:
        st.caption("As a text, for a registry such as OSF")
        st.code(preregistration.as_text(study, rubric, now), language=None, wrap_lines=True)
    elif not sheet.is_draft:
        st.text("Nothing was preregistered before launch.")


def trial(sheet: SettingsSheet) -> None:
    """The pages on which a lead tries the study out."""
    st.text("Rate an item yourself, or let simulated annotators fill a copy. Nothing is stored.")
    label, address = "See it as annotators will", {"study": sheet.study.slug}
    with st.container(horizontal=True):
        st.page_link("lead/preview.py", label=label, icon=":material/visibility:", query_params=address)
        st.page_link("lead/dry_run.py", label="Dry run", icon=":material/science:", query_params=address)
