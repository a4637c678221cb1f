"""The forms of a study's settings, section by section. Each returns the changes and their reason."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.shell import state
from components.shell.choices import choose
from components.study.study_form import ACCESS, PRESENTATIONS, ROUNDS
from triptych.annotate.entry_test import GOLD_ATTEMPTS, GOLD_PERCENT
from triptych.rubric.model import Rubric
from triptych.stats.numbers import counted
from triptych.storage.models import Study, StudyState
from triptych.study.design import LONGEST_REASON, Parts
from triptych.study.lifecycle import LONGEST_TITLE, MOST_RATERS
from triptych.study.settings import EXPERTISE, LONGEST_TEXT, StudySettings, settings_of

WITHDRAWAL = {"keep": "Their ratings stay, without their name", "delete": "Their ratings are deleted"}
ITEM_ORDERS = {
    "finish": "Finish items first: agreement is known early",
    "cover": "Cover all items first: each has a rating before any has a second",
}
# settings shown by each form
FORM_FIELDS = {
    "basics": ("items_per_annotator", "reservation_minutes", "item_order", "overlap"),
    "path": ("consent", "instructions", "content_note", "contact", "entry"),
    "panel": ("codes", "panel", "pay", "recruitment", "expertise"),
    "checks": ("checks",),
    "preregistration": ("preregistration",),
}
PROOFS = {"none": "None", "secret": "A secret in the link", "signature": "A signature of each id"}
PROOF_HELP = "Without one, anybody who knows the address can invent ids. What the panel needs stands on *Overview*."
# setting → its label, the least and the greatest number
CHECK_RULES = {
    "attention_every": ("An attention check every … items", 0, None),
    "gold_every": ("A gold item every … items", 0, None),
    "repeat_percent": ("Repeats, % of the items", 0, 50),
    "repeats_at_least": ("Minimum repeats", 0, None),
    "repeat_distance": ("Minimum items between the two", 1, None),
}
NOTE_HELP = "Shown before the first item; a button shows it again later."
ENTRY = {"none": "No test", "questions": "The questions of the rubric", "gold": "Gold items, rated like any other"}


@dataclass(frozen=True)
class DesignRequest:
    """Changes to a design, and the reason, which a launched study needs."""

    parts: Parts
    reason: str


def is_draft(study: Study) -> bool:
    return study.state == StudyState.draft


def form_key(study: Study, section: str) -> str:
    """A key that changes with the stored values of the section, so that its fields then show the new values."""
    values: list[Any] = [study.settings.get(name) for name in FORM_FIELDS[section]]
    if section == "basics":
        values += [study.title, study.raters_per_item, study.access, study.round, study.presentation]
    return f"{section}-{study.slug}-{hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]}"


def finish(study: Study, key: str, parts: Parts, pressed: bool = False) -> DesignRequest | None:
    """The end of a form: what it asks for once the lead saves it, or `pressed` another button; None before."""
    reason = reason_for(study, key)
    stored = state.form_button(save_label(study), f"{key}-stored", type="primary")
    return DesignRequest(parts, reason) if stored or pressed else None


def reason_for(study: Study, key: str) -> str:
    """Ask why a launched study changes; "" for a draft."""
    if is_draft(study):
        return ""
    label = "Reason for this change (dated, and printed in reports)"
    return st.text_input(label, max_chars=LONGEST_REASON, key=f"{key}-reason").strip()


def save_label(study: Study) -> str:
    return "Save" if is_draft(study) else "Amend the design"


def basics(study: Study) -> DesignRequest | None:
    """Title, numbers of annotators, access, round, presentation, limits and overlap."""
    current, key, frozen = settings_of(study), form_key(study, "basics"), not is_draft(study)
    with st.form(key, border=False):
        title = st.text_input("Title", study.title, max_chars=LONGEST_TITLE, help="Annotators see it.", key=f"{key}-t")
        left, right = st.columns(2)
        least = study.raters_per_item if frozen else 1
        help_text = "It can only grow after launch." if frozen else None
        raters = left.number_input(
            "Annotators per item", least, MOST_RATERS, study.raters_per_item, help=help_text, key=f"{key}-raters"
        )
        access = choose("Who may take part", ACCESS, f"{key}-access", study.access, right)
        study_round = choose("Round", ROUNDS, f"{key}-round", study.round, left, disabled=frozen)
        label, place = "Responses appear", f"{key}-ways"
        presentation = choose(label, PRESENTATIONS, place, study.presentation, right, disabled=frozen)
        label, place = "Order of items", f"{key}-item-order"
        item_order = choose(label, ITEM_ORDERS, place, current.item_order, disabled=frozen)
        settings = _limits(current, key) | {"item_order": item_order} | _overlap(current, key, frozen)
        settings |= _item_groups(current, key)
        return finish(study, key, Parts(title.strip(), raters, access, study_round, presentation, settings))


def _limits(current: StudySettings, key: str) -> dict[str, Any]:
    left, right = st.columns(2)
    limit = left.number_input(
        "Most items for one annotator", 1, None, current.items_per_annotator, placeholder="No limit", key=f"{key}-limit"
    )
    minutes = right.number_input(
        "Minutes an item stays reserved",
        5,
        60 * 24 * 14,
        current.reservation_minutes,
        help="After this time without activity, the item goes to somebody else. Work that comes in late is kept.",
        key=f"{key}-minutes",
    )
    return {"items_per_annotator": limit, "reservation_minutes": minutes}


def _overlap(current: StudySettings, key: str, frozen: bool) -> dict[str, Any]:
    """A subset with more annotators than the rest."""
    st.caption(
        "With one annotator per item, agreement cannot be computed. Give a random part of the items, which is assigned "
        "first, more annotators than the rest: at least 30 items, or a fifth of all."
    )
    left, right = st.columns(2)
    items = left.number_input(
        "Items with more annotators", 0, None, current.overlap.items, disabled=frozen, key=f"{key}-overlap"
    )
    label, key = "Annotators for each of them", f"{key}-overlap-raters"
    raters = right.number_input(label, 1, MOST_RATERS, current.overlap.raters, disabled=frozen, key=key)
    return {"overlap": {"items": items, "raters": raters}}


def _item_groups(current: StudySettings, key: str) -> dict[str, Any]:
    """The field of the items file that says which items belong together."""
    help_text = (
        "Turns of one dialogue or questions on one passage are not independent. Name the field of the items file that "
        "is the same for items that belong together; intervals and tests then treat each group as one item."
    )
    field = st.text_input("Field that groups items", current.group_field, max_chars=500, help=help_text, key=f"{key}-g")
    return {"group_field": field}


def path(study: Study, rubric: Rubric) -> DesignRequest | None:
    """Consent, instructions, content note, contact, entry test: what comes before the first item."""
    current, key = settings_of(study), form_key(study, "path")
    with st.form(key, border=False):
        settings = {
            "consent": _consent(current, key),
            "instructions": long_text(
                "Instructions besides the rubric's own", current.instructions, f"{key}-instructions"
            ),
            "content_note": long_text("Content note", current.content_note, f"{key}-note", NOTE_HELP),
            "contact": st.text_input("Contact for questions", current.contact, max_chars=500, key=f"{key}-contact"),
            "entry": _entry(current, rubric, key),
        }
        return finish(study, key, Parts(settings=settings))


def _consent(current: StudySettings, key: str) -> dict[str, str]:
    text = long_text("Consent", current.consent.text, f"{key}-consent", "If this is empty, annotators are not asked.")
    label, after = "If somebody withdraws", current.consent.after_withdrawal
    chosen = choose(label, WITHDRAWAL, f"{key}-withdrawal", after, help="The consent text should state this.")
    return {"text": text, "after_withdrawal": chosen}


def long_text(label: str, current: str, key: str, help_text: str | None = None) -> str:
    return st.text_area(label, current, height=140, max_chars=LONGEST_TEXT, help=help_text, key=key)


def _entry(current: StudySettings, rubric: Rubric, key: str) -> dict[str, Any]:
    """The test before the first item, if the rubric has questions or the study gold items."""
    test = rubric.entry_test
    if test is None:
        questions = "This rubric has no entry questions."
    else:
        tries = counted(test.attempts, "attempt")
        questions = (
            f"The rubric has {counted(len(test.questions), 'entry question')}: {test.pass_percent} % to pass, {tries}."
        )
    gold_rules = f"A test of gold items: {GOLD_PERCENT} %, {GOLD_ATTEMPTS} attempts."
    st.caption(f"{questions} {gold_rules} Leave the numbers empty to use these.")
    columns = st.columns(4)
    kind = choose("Entry test", ENTRY, f"{key}-kind", current.entry.kind, columns[0])
    own: Any = {"placeholder": "As above"}
    percent = columns[1].number_input("Percent to pass", 1, 100, current.entry.pass_percent, key=f"{key}-pass", **own)
    attempts = columns[2].number_input("Attempts", 1, 10, current.entry.attempts, key=f"{key}-attempts", **own)
    gold = columns[3].number_input("Gold items in the test", 1, 50, current.entry.gold_items, key=f"{key}-gold")
    return {"kind": kind, "pass_percent": percent, "attempts": attempts, "gold_items": gold}


def panel(study: Study) -> DesignRequest | None:
    """Completion codes, the panel's address, pay, recruitment."""
    current, key = settings_of(study), form_key(study, "panel")
    with st.form(key, border=False):
        codes, fill = _codes(current, key)
        settings = {
            "codes": codes,
            "panel": _address(current, key),
            "pay": _pay(current, key),
            "recruitment": _recruitment(current, key),
            "expertise": _expertise(current, key),
        }
        return finish(study, key, Parts(settings=settings, new_codes=fill), fill)


def _recruitment(current: StudySettings, key: str) -> dict[str, Any]:
    st.subheader("Recruitment", anchor=False)
    how = long_text("How people were found, in the words of a paper", current.recruitment.how, f"{key}-how")
    label = "Rules that the panel enforces, one per line (approval rate, earlier tasks, country …)"
    rules = st.text_area(label, "\n".join(current.recruitment.eligibility), height=110, key=f"{key}-rules")
    return {"how": how, "eligibility": lines_of(rules)}


def lines_of(text: str) -> list[str]:
    """The lines of a text that are not empty, each once."""
    return list(dict.fromkeys(line for line in map(str.strip, text.splitlines()) if line))


def _expertise(current: StudySettings, key: str) -> str:
    help_text = "How much worse a judge model may be than one annotator: experts 0.2, skilled 0.15, a crowd 0.1."
    return choose("The annotators are", EXPERTISE, f"{key}-expertise", current.expertise, help=help_text)


def _codes(current: StudySettings, key: str) -> tuple[dict[str, str], bool]:
    """The three codes, and whether new ones are wanted for those that are empty."""
    st.subheader("Completion codes", anchor=False)
    st.caption("Annotators take a code back to the panel; each ending has its own. An empty code is not shown.")
    titles = {"finished": "Finished", "failed_test": "Did not pass the entry test", "screened_out": "Did not consent"}
    fields = zip(st.columns(3), titles.items(), strict=True)
    codes = {
        name: column.text_input(title, getattr(current.codes, name), max_chars=64, key=f"{key}-{name}")
        for column, (name, title) in fields
    }
    return codes, state.form_button("Make codes for the empty ones", f"{key}-new-codes")


def _address(current: StudySettings, key: str) -> dict[str, Any]:
    st.subheader("The panel's address", anchor=False)
    columns = st.columns(3)
    address: dict[str, Any] = {
        "name": columns[0].text_input("Name of the panel", current.panel.name, max_chars=40, key=f"{key}-panel"),
        "id_param": columns[1].text_input("Parameter with the person's id", current.panel.id_param, key=f"{key}-id"),
        "session_param": columns[2].text_input(
            "Parameter of the session", current.panel.session_param, key=f"{key}-ses"
        ),
    }
    label = "Address to go back to; {code} is replaced by the completion code"
    address["return_url"] = st.text_input(
        label, current.panel.return_url, max_chars=500, placeholder="https://…?cc={code}", key=f"{key}-back"
    )
    return address | _places(current, key)


def _places(current: StudySettings, key: str) -> dict[str, Any]:
    """How many people may come, and what shows that the panel sent them."""
    panel, columns = current.panel, st.columns(4)
    proof = choose("Proof in the address", PROOFS, f"{key}-proof", panel.proof, columns[0], help=PROOF_HELP)
    return {
        "proof": proof,
        "proof_param": columns[1].text_input("Parameter of the proof", panel.proof_param, key=f"{key}-proof-param"),
        "most_people": columns[2].number_input(
            "Most people", 1, 100_000, panel.most_people, key=f"{key}-most", placeholder="1.5 × needed"
        ),
        "free_after_minutes": columns[3].number_input(
            "Minutes until a first answer", 5, 60 * 24 * 14, panel.free_after_minutes, key=f"{key}-free"
        ),
    }


def _pay(current: StudySettings, key: str) -> dict[str, Any]:
    st.subheader("Pay", anchor=False)
    columns = st.columns(3)
    per_item = _money(columns[0], "Pay for one item", current.pay.per_item, f"{key}-pay")
    currency = columns[1].text_input("Currency", current.pay.currency, max_chars=3, key=f"{key}-currency")
    floor = _money(columns[2], "Least pay per hour", current.pay.floor_per_hour, f"{key}-floor")
    return {"per_item": per_item, "currency": currency.strip().upper(), "floor_per_hour": floor}


def _money(column: DeltaGenerator, label: str, current: Decimal | None, key: str) -> str | None:
    """An amount to the cent, as text: a float could be rounded."""
    value = None if current is None else float(current)
    amount = column.number_input(label, 0.0, None, value, 0.01, "%.2f", placeholder="Not set", key=key)
    return None if amount is None else f"{amount:.2f}"


def check_rules(study: Study, gold: int, attention: int) -> DesignRequest | None:
    """How often checks come among the items. `gold`, `attention`: numbers of such items."""
    current, key = settings_of(study).checks, form_key(study, "checks")
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
        rules = {
            name: columns[place % 3].number_input(label, least, most, getattr(current, name), key=f"{key}-{name}")
            for place, (name, (label, least, most)) in enumerate(CHECK_RULES.items())
        }
        st.caption("0 means none.")
        return finish(study, key, Parts(settings={"checks": rules}))
