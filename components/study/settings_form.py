"""The forms of a study's settings, section by section. Each returns the changes and their reason."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import streamlit as st

from components.shell import state
from components.study.study_form import ACCESS, PRESENTATIONS, ROUNDS
from triptych.annotate.entry_test import GOLD_ATTEMPTS, GOLD_PERCENT
from triptych.rubric.model import Rubric
from triptych.stats.numbers import counted
from triptych.storage.models import Study, StudyState
from triptych.study.design import LONGEST_REASON, Parts
from triptych.study.lifecycle import LONGEST_TITLE, MOST_RATERS
from triptych.study.settings import EXPERTISE, LONGEST_TEXT, StudySettings, settings_of

WITHDRAWAL = {"keep": "Their ratings stay, without their name", "delete": "Their ratings are deleted"}
# settings shown by each form
SHOWN = {
    "basics": ("items_per_annotator", "reservation_minutes", "overlap"),
    "path": ("consent", "instructions", "content_note", "contact", "entry"),
    "panel": ("codes", "panel", "pay", "recruitment", "expertise"),
    "checks": ("checks",),
    "preregistration": ("preregistration",),
}
ENTRY = {"none": "No test", "questions": "The questions of the rubric", "gold": "Gold items, rated like any other"}


@dataclass(frozen=True)
class Wanted:
    """Changes to a design, and the reason, which a launched study needs."""

    parts: Parts
    reason: str


def is_draft(study: Study) -> bool:
    return study.state == StudyState.draft


def form_key(study: Study, section: str) -> str:
    """A key that changes with the stored values of the section, so that its fields then show the new values."""
    shown: list[Any] = [study.settings.get(name) for name in SHOWN[section]]
    if section == "basics":
        shown += [study.title, study.raters_per_item, study.access, study.round, study.presentation]
    return f"{section}-{study.slug}-{hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:8]}"


def finish(study: Study, key: str) -> str | None:
    """The end of a form: the reason once the lead saves it ("" for a draft), None before."""
    reason = reason_for(study, key)
    return reason if state.form_button(keep_label(study), f"{key}-stored", type="primary") else None


def reason_for(study: Study, key: str) -> str:
    """Ask why a launched study changes; "" for a draft."""
    if is_draft(study):
        return ""
    label = "Reason for this change (dated, and printed in reports)"
    return st.text_input(label, max_chars=LONGEST_REASON, key=f"{key}-reason").strip()


def keep_label(study: Study) -> str:
    return "Save" if is_draft(study) else "Amend the design"


def basics(study: Study) -> Wanted | None:
    """Title, numbers of annotators, access, round, presentation, limits and overlap."""
    now, key, frozen = settings_of(study), form_key(study, "basics"), not is_draft(study)
    with st.form(key, border=False):
        title = st.text_input("Title", study.title, max_chars=LONGEST_TITLE, help="Annotators see it.", key=f"{key}-t")
        left, right = st.columns(2)
        least = study.raters_per_item if frozen else 1
        help_text = "It can only grow after launch." if frozen else None
        raters = left.number_input(
            "Annotators per item", least, MOST_RATERS, study.raters_per_item, help=help_text, key=f"{key}-raters"
        )
        access = right.selectbox(
            "Who may take part", list(ACCESS), list(ACCESS).index(study.access), ACCESS.get, key=f"{key}-access"
        )
        study_round = left.selectbox(
            "Round", list(ROUNDS), list(ROUNDS).index(study.round), ROUNDS.get, disabled=frozen, key=f"{key}-round"
        )
        ways = list(PRESENTATIONS)
        shown = {"format_func": PRESENTATIONS.__getitem__, "disabled": frozen, "key": f"{key}-ways"}
        presentation = right.selectbox("Responses appear", ways, ways.index(study.presentation), **shown)
        settings = _limits(now, key) | _overlap(now, key, frozen)
        reason = finish(study, key)
    if reason is None:
        return None
    parts = Parts(title.strip(), raters, access, study_round, presentation, settings)
    return Wanted(parts, reason)


def _limits(now: StudySettings, key: str) -> dict[str, Any]:
    left, right = st.columns(2)
    limit = left.number_input(
        "Most items for one annotator", 1, None, now.items_per_annotator, placeholder="No limit", key=f"{key}-limit"
    )
    minutes = right.number_input(
        "Minutes an item stays reserved",
        5,
        60 * 24 * 14,
        now.reservation_minutes,
        help="After this time without activity, the item goes to somebody else. Work that comes in late is kept.",
        key=f"{key}-minutes",
    )
    return {"items_per_annotator": limit, "reservation_minutes": minutes}


def _overlap(now: StudySettings, key: str, frozen: bool) -> dict[str, Any]:
    """A subset with more annotators than the rest."""
    st.caption(
        "With one annotator per item, agreement cannot be computed. Give a random part of the items, which is assigned "
        "first, more annotators than the rest: at least 30 items, or a fifth of all."
    )
    left, right = st.columns(2)
    items = left.number_input(
        "Items with more annotators", 0, None, now.overlap.items, disabled=frozen, key=f"{key}-overlap"
    )
    raters = right.number_input(
        "Annotators for each of them", 1, MOST_RATERS, now.overlap.raters, disabled=frozen, key=f"{key}-overlap-raters"
    )
    return {"overlap": {"items": items, "raters": raters}}


def path(study: Study, rubric: Rubric) -> Wanted | None:
    """Consent, instructions, content note, contact, entry test: what comes before the first item."""
    now, key = settings_of(study), form_key(study, "path")
    with st.form(key, border=False):
        consent = long_text(
            "Consent", now.consent.text, f"{key}-consent", "If this is empty, annotators are not asked."
        )
        kept = st.selectbox(
            "If somebody withdraws",
            list(WITHDRAWAL),
            list(WITHDRAWAL).index(now.consent.after_withdrawal),
            WITHDRAWAL.get,
            help="The consent text should state this.",
            key=f"{key}-withdrawal",
        )
        instructions = long_text("Instructions besides the rubric's own", now.instructions, f"{key}-instructions")
        note = long_text(
            "Content note",
            now.content_note,
            f"{key}-note",
            "Shown before the first item; a button shows it again later.",
        )
        contact = st.text_input("Contact for questions", now.contact, max_chars=500, key=f"{key}-contact")
        entry = _entry(now, rubric, key)
        reason = finish(study, key)
    if reason is None:
        return None
    settings = {
        "consent": {"text": consent, "after_withdrawal": kept},
        "instructions": instructions,
        "content_note": note,
        "contact": contact,
        "entry": entry,
    }
    return Wanted(Parts(settings=settings), reason)


def long_text(label: str, now: str, key: str, help_text: str | None = None) -> str:
    return st.text_area(label, now, height=140, max_chars=LONGEST_TEXT, help=help_text, key=key)


def _entry(now: StudySettings, rubric: Rubric, key: str) -> dict[str, Any]:
    """The test before the first item, if the rubric has questions or the study gold items."""
    test = rubric.entry_test
    if test is None:
        asked = "This rubric has no entry questions."
    else:
        tries = counted(test.attempts, "attempt")
        asked = (
            f"The rubric has {counted(len(test.questions), 'entry question')}: {test.pass_percent} % to pass, {tries}."
        )
    gold = f"A test of gold items: {GOLD_PERCENT} %, {GOLD_ATTEMPTS} attempts."
    st.caption(f"{asked} {gold} Leave the numbers empty to use these.")
    columns = st.columns(4)
    kind = columns[0].selectbox(
        "Entry test", list(ENTRY), list(ENTRY).index(now.entry.kind), ENTRY.get, key=f"{key}-kind"
    )
    own = {"placeholder": "As above"}
    percent = columns[1].number_input("Percent to pass", 1, 100, now.entry.pass_percent, key=f"{key}-pass", **own)
    attempts = columns[2].number_input("Attempts", 1, 10, now.entry.attempts, key=f"{key}-attempts", **own)
    gold = columns[3].number_input("Gold items in the test", 1, 50, now.entry.gold_items, key=f"{key}-gold")
    return {"kind": kind, "pass_percent": percent, "attempts": attempts, "gold_items": gold}


def panel(study: Study) -> Wanted | None:
    """Completion codes, the panel's address, pay, recruitment."""
    now, key = settings_of(study), form_key(study, "panel")
    with st.form(key, border=False):
        codes, fill = _codes(now, key)
        address = _address(now, key)
        pay = _pay(now, key)
        st.subheader("Recruitment", anchor=False)
        how = long_text("How people were found, in the words of a paper", now.recruitment.how, f"{key}-how")
        rules = "\n".join(now.recruitment.eligibility)
        label = "Rules that the panel enforces, one per line (approval rate, earlier tasks, country …)"
        rules = st.text_area(label, rules, height=110, key=f"{key}-rules")
        expertise = _expertise(now, key)
        reason = reason_for(study, key)
        stored = state.form_button(keep_label(study), f"{key}-stored", type="primary")
    if not stored and not fill:
        return None
    settings = {
        "codes": codes,
        "panel": address,
        "pay": pay,
        "recruitment": {"how": how, "eligibility": [line for line in map(str.strip, rules.splitlines()) if line]},
        "expertise": expertise,
    }
    return Wanted(Parts(settings=settings, new_codes=fill), reason)


def _expertise(now: StudySettings, key: str) -> str:
    place = list(EXPERTISE).index(now.expertise)
    help_text = "How much worse a judge model may be than one annotator: experts 0.2, skilled 0.15, a crowd 0.1."
    given = {"format_func": EXPERTISE.__getitem__, "help": help_text, "key": f"{key}-expertise"}
    return st.selectbox("The annotators are", list(EXPERTISE), place, **given)


def _codes(now: StudySettings, key: str) -> tuple[dict[str, str], bool]:
    """The three codes, and whether new ones are wanted for those that are empty."""
    st.subheader("Completion codes", anchor=False)
    st.caption("Annotators take a code back to the panel; each ending has its own. An empty code is not shown.")
    titles = {"finished": "Finished", "failed_test": "Did not pass the entry test", "screened_out": "Did not consent"}
    fields = zip(st.columns(3), titles.items(), strict=True)
    given = {
        name: column.text_input(title, getattr(now.codes, name), max_chars=64, key=f"{key}-{name}")
        for column, (name, title) in fields
    }
    return given, state.form_button("Make codes for the empty ones", f"{key}-new-codes")


def _address(now: StudySettings, key: str) -> dict[str, str]:
    st.subheader("The panel's address", anchor=False)
    columns = st.columns(3)
    address = {
        "name": columns[0].text_input("Name of the panel", now.panel.name, max_chars=40, key=f"{key}-panel"),
        "id_param": columns[1].text_input("Parameter with the person's id", now.panel.id_param, key=f"{key}-id"),
        "session_param": columns[2].text_input("Parameter of the session", now.panel.session_param, key=f"{key}-ses"),
    }
    label = "Address to go back to; {code} is replaced by the completion code"
    address["return_url"] = st.text_input(
        label, now.panel.return_url, max_chars=500, placeholder="https://…?cc={code}", key=f"{key}-back"
    )
    return address


def _pay(now: StudySettings, key: str) -> dict[str, Any]:
    st.subheader("Pay", anchor=False)
    columns = st.columns(3)
    per_item = _money(columns[0], "Pay for one item", now.pay.per_item, f"{key}-pay")
    currency = columns[1].text_input("Currency", now.pay.currency, max_chars=3, key=f"{key}-currency")
    floor = _money(columns[2], "Least pay per hour", now.pay.floor_per_hour, f"{key}-floor")
    return {"per_item": per_item, "currency": currency.strip().upper(), "floor_per_hour": floor}


def _money(place: Any, label: str, now: Decimal | None, key: str) -> str | None:
    """An amount to the cent, as text: a float could be rounded."""
    value = None if now is None else float(now)
    found = place.number_input(label, 0.0, None, value, 0.01, "%.2f", placeholder="Not set", key=key)
    return None if found is None else f"{found:.2f}"


def check_rules(study: Study, gold: int, attention: int) -> Wanted | None:
    """How often checks come among the items. `gold`, `attention`: numbers of such items."""
    now, key = settings_of(study).checks, form_key(study, "checks")
    st.text(f"This study has {attention} attention and {gold} gold items.")
    st.caption(
        "They come in a file like any other items, with a field purpose (attention or gold) and a field reference that "
        "says what is accepted, for example: fluency A = 6 ± 1; verdict B = accept. To annotators they look like any "
        "other item. Repeats are items that an annotator gets a second time, in a new order."
    )
    if not is_draft(study):
        st.caption("You can still add more of them under Items, with a reason; annotators get them from then on.")
    with st.form(key, border=False):
        columns = st.columns(3)
        every = columns[0].number_input(
            "An attention check every … items", 0, None, now.attention_every, key=f"{key}-a"
        )
        gold_every = columns[1].number_input("A gold item every … items", 0, None, now.gold_every, key=f"{key}-g")
        percent = columns[2].number_input("Repeats, % of the items", 0, 50, now.repeat_percent, key=f"{key}-r")
        least = columns[0].number_input("Minimum repeats", 0, None, now.repeats_at_least, key=f"{key}-least")
        apart = columns[1].number_input("Minimum items between the two", 1, None, now.repeat_distance, key=f"{key}-far")
        st.caption("0 means none.")
        reason = finish(study, key)
    if reason is None:
        return None
    rules = {
        "attention_every": every,
        "gold_every": gold_every,
        "repeat_percent": percent,
        "repeats_at_least": least,
        "repeat_distance": apart,
    }
    return Wanted(Parts(settings={"checks": rules}), reason)
