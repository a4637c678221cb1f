"""The page on which a lead decides everything about a study, and the preview of what annotators will see."""

from __future__ import annotations

import json
from datetime import date

import pytest
from helpers.results_pages import words
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, join
from helpers.study_pages import SECRET_TEXT, button, interrupt_once, labels, press, rendered_markdown
from helpers.turns import turns_held

from components.shell import state
from components.study import sections
from triptych.formats import read_items
from triptych.storage import database
from triptych.storage.models import Role, StudyState
from triptych.study import design, lifecycle, pairing, plans, saved_setting
from triptych.study.design import Parts
from triptych.study.lint import linter
from triptych.study.settings import settings_of
from triptych.study.system_names import mark_of
from triptych.web.session import web_engine

TWO_SYSTEMS = b"item_id,context,cand:plumbum,cand:stannum\n007,Why?,Because of it.,Never you mind.\n"


@pytest.fixture
def draft(lead):
    with database.writing(web_engine()) as session:
        plan = lifecycle.StudyPlan(title="A study", seed="fixed")
        return lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), lead.pseudonym, lead.person_id)


@pytest.fixture
def section(visit, lead):
    """section(study, name) → the design page with that tab open."""

    def opened(study, name: str):
        return visit(lead, "design.py", study=study.slug, section=name)

    return opened


def field(app, kind: str, label: str):
    return next(element for element in app.get(kind) if element.label.startswith(label))


def now(study):
    with database.reading(web_engine()) as session:
        return lifecycle.by_slug(session, study.slug)


def store(app, kind: str, label: str, value):
    """Types into a field and leaves it; the app's tester closes the page's sections then."""
    field(app, kind, label).set_value(value).run()
    assert not app.exception


def write(study, path, value):
    """As another lead does at the same time."""
    with database.writing(web_engine()) as session:
        seen = saved_setting.value_of(lifecycle.by_slug(session, study.slug), path)
        saved_setting.write(session, study, path, value, seen, "P-ben")


@pytest.mark.long
def test_every_part_of_a_draft_is_edited_and_kept(section, draft):
    for place, kind, label, value in (
        ("Study", "text_input", "Title", SECRET_TEXT),
        ("Study", "date_input", "Data are stored", date(2030, 1, 31)),
        ("Who rates what", "number_input", "Annotators per item", 1),
        ("Who rates what", "number_input", "Items with more", 2),
        ("Who rates what", "number_input", "Pay for one", 0.35),
        ("Who rates what", "text_area", "Rules that the panel", "over 18\nno bots\n"),
        ("Who rates what", "selectbox", "Who may take part", "panel"),
        ("Before the first item", "text_area", "Consent", "I agree."),
        ("Before the first item", "selectbox", "If someone", "delete"),
        ("Checks", "number_input", "Repeats, %", 5),
        ("Preregistration", "selectbox", "Primary criterion", "fluency"),
    ):
        store(section(draft, place), kind, label, value)
    press(section(draft, "Panel and pay"), "Generate missing codes")
    app = section(draft, "Preregistration")

    study, design_settings = now(draft), settings_of(now(draft))
    assert (study.title, study.raters_per_item, design_settings.overlap.items) == (SECRET_TEXT, 1, 2)
    assert (design_settings.consent.text, design_settings.consent.after_withdrawal) == ("I agree.", "delete")
    assert (str(design_settings.pay.per_item), design_settings.checks.repeat_percent) == ("0.35", 5)
    assert design_settings.codes.finished and design_settings.codes.failed_test
    assert (str(design_settings.ethics.stored_until), study.access) == ("2030-01-31", "panel")
    assert design_settings.recruitment.eligibility == ("over 18", "no bots")
    assert "Primary criterion: Fluency" in app.code[0].value
    assert "evil" not in rendered_markdown(app)


@pytest.mark.long
@pytest.mark.parametrize(
    ("amount", "stored"), [(0.375, "0.375"), (0.3, "0.30"), (1e-5, "0.00001"), (1234.5675, "1234.5675")]
)
def test_pay_is_stored_and_shown_as_entered(section, draft, amount, stored):
    store(section(draft, "Who rates what"), "number_input", "Pay for one", amount)

    pay = field(section(draft, "Who rates what"), "number_input", "Pay for one")
    assert str(settings_of(now(draft)).pay.per_item) == stored
    assert pay.value == amount
    assert pay.proto.format % pay.value == stored


@pytest.mark.long
def test_every_field_reaches_the_browser_with_its_value(section, draft):
    """Not a moment later: a click in between would store the first option of the list instead."""
    write(draft, "consent.after_withdrawal", "delete")
    way_in = section(draft, "Before the first item")
    for label, first in (("If someone", 1), ("Entry test", 1)):
        sent = field(way_in, "selectbox", label).proto
        assert (sent.set_value, sent.default) == (False, first)
    sent = field(section(draft, "Who rates what"), "number_input", "Annotators per item").proto
    assert (sent.set_value, sent.default) == (False, draft.raters_per_item)


def test_a_setting_missing_in_its_list_is_no_change(section, draft):
    write(draft, "language", "xx")
    app = section(draft, "Study")
    assert field(app, "selectbox", "Language of annotators").value is None
    assert "changed this" not in words(app)


@pytest.mark.long
def test_a_name_to_pass_over_is_listed_without_its_system(section, draft, lead):
    """The texts are of the lead who guesses a name: its system's number would show which system has it."""
    texts = b"item_id,context,cand:x,cand:y\nguess,What?,Well ferrum says so.,Well stannum and ferrum say so.\n"
    with database.writing(web_engine()) as session:
        parts = design.Parts(items=read_items(texts, "guess.csv"))
        design.amend(session, lifecycle.by_slug(session, draft.slug), parts, "", lead.pseudonym)
    box = field(section(draft, "Items"), "multiselect", "Systems whose name")
    assert len(box.options) == 2
    assert all(f"{n}. The name of a system is in" in option for n, option in enumerate(box.options, 1))

    box.select(box.options[0]).run()
    again = field(section(draft, "Items"), "multiselect", "Systems whose name")
    assert settings_of(now(draft)).common_names == tuple(again.value) == (mark_of("ferrum"),)
    assert again.options == box.options


@pytest.mark.long
def test_margins_groups_and_early_results_are_set_before_launch(section, draft):
    store(section(draft, "Who rates what"), "text_input", "Field that groups items", "dialogue")
    store(section(draft, "Preregistration"), "number_input", "Fluency", 0.3)
    store(section(draft, "Preregistration"), "selectbox", "If results are opened", 0.0)
    app = section(draft, "Preregistration")
    declaration = settings_of(now(draft)).preregistration
    assert settings_of(now(draft)).group_field == "dialogue"
    assert (declaration.margins, declaration.interim_bound) == ({"fluency": 0.3}, 0)
    assert "Practically equal within, in scale points (shares from 0 to 1): Fluency ±0.3" in app.code[0].value
    assert "estimates are shown without tests" in app.code[0].value


@pytest.mark.long
def test_a_refused_text_stays_in_its_field_with_a_reason(section, draft):
    app = section(draft, "Study")
    store(app, "text_input", "Title", " ")
    assert field(app, "text_input", "Title").value == " "
    assert "Not saved" in app.error[0].value
    assert now(draft).title == "A study"


@pytest.mark.long
def test_what_another_lead_stored_is_shown_and_chosen_from(section, draft):
    app = section(draft, "Study")
    write(draft, "contact", "ben@lab.example")
    app.session_state[f"section-{draft.slug}-Study"] = True
    store(app, "text_input", "Contact", "anna@lab.example")
    assert "P-ben changed this at" in words(app)
    assert settings_of(now(draft)).contact == "ben@lab.example"
    app.session_state[f"section-{draft.slug}-Study"] = True
    press(app, "Save my version")
    assert settings_of(now(draft)).contact == "anna@lab.example"

    write(draft, "contact", "lab@lab.example")
    app.session_state[f"section-{draft.slug}-Study"] = True
    app.run()
    app.session_state[f"section-{draft.slug}-Study"] = True
    press(app, "Take it")
    assert field(app, "text_input", "Contact").value == "lab@lab.example"


@pytest.mark.long
def test_undo_and_redo_are_there_after_a_reload(section, draft):
    store(section(draft, "Study"), "text_input", "Contact", "anna@lab.example")
    press(section(draft, "Study"), "Undo")
    assert settings_of(now(draft)).contact == ""
    press(section(draft, "Study"), "Redo")
    assert settings_of(now(draft)).contact == "anna@lab.example"


@pytest.mark.long
def test_linter_findings_are_shown_before_launch_as_items_change(section, draft):
    app = section(draft, "Items")
    next(element for element in app.file_uploader).upload("items.csv", TWO_SYSTEMS).run()
    app.session_state[f"section-{draft.slug}-Items"] = True
    press(app, "Store these items")
    assert now(draft).item_count == 4
    app = section(draft, "Launch")
    assert "without a candidate of every system" in words(app)
    assert button(app, "Launch the study").disabled

    app = section(draft, "Items")
    field(app, "text_area", "Ids of the items").set_value("007")
    press(app, "Remove these items")
    app = section(draft, "Launch")
    assert button(app, "Launch the study").disabled
    store(section(draft, "Before the first item"), "text_input", "Or: why consent", "Staff try it.")
    assert not button(section(draft, "Launch"), "Launch the study").disabled


def test_an_interrupted_launch_is_done(section, draft, monkeypatch):
    write(draft, "consent.not_needed", "Staff try it.")
    app = section(draft, "Launch")
    interrupt_once(monkeypatch)
    press(app, "Launch the study")
    assert now(draft).state == StudyState.open


def test_a_launch_keeps_nobody_waiting_while_texts_are_read(section, draft, monkeypatch):
    write(draft, "consent.not_needed", "Staff try it.")
    app = section(draft, "Launch")
    held = turns_held(monkeypatch, linter, "lint")
    press(app, "Launch the study")

    assert now(draft).state == StudyState.open
    assert held == [False]


@pytest.mark.long
def test_only_a_draft_promises_to_save_typed_text(section, draft):
    def hint():
        drawn = [element.proto.json for element in section(draft, "Launch").get("bidi_component")]
        texts = [json.loads(json.loads(data)["text"]) for data in drawn if data and "text" in json.loads(data)]
        return next(status["hint"] for status in texts if "savedAt" in status)

    write(draft, "consent.not_needed", "Staff try it.")
    assert hint() == "Every field is saved as you type"
    press(section(draft, "Launch"), "Launch the study")
    assert hint() == ""


@pytest.mark.long
def test_changing_a_launched_study_needs_a_reason(section, draft):
    write(draft, "consent.not_needed", "Staff try it.")
    press(section(draft, "Launch"), "Launch the study")
    first = now(draft)
    assert (first.state, len(first.design_hash)) == (StudyState.open, 64)

    app = section(draft, "Who rates what")
    assert field(app, "number_input", "Annotators per item").disabled
    app.session_state[f"section-{draft.slug}-Who-rates-what"] = True
    field(app, "text_input", "Amend").set_value("too few").run()
    app.session_state[f"section-{draft.slug}-Who-rates-what"] = True
    assert field(app, "selectbox", "Order of items").disabled
    store(app, "number_input", "Annotators per item", 5)
    app = section(draft, "Launch")

    assert now(draft).raters_per_item == 5
    assert app.code[0].value == now(draft).design_hash != first.design_hash
    assert "too few" in words(app)
    assert "Use this rubric" not in labels(section(draft, "Rubric"))
    assert "Nothing was preregistered before launch." in words(section(draft, "Plan and preregistration"))


@pytest.mark.long
def test_a_proposed_plan_for_the_members_is_stored(section, draft):
    with database.writing(web_engine()) as session:
        join(session, lifecycle.by_slug(session, draft.slug), add_person(session, "ann"))
    app = section(draft, "Plan")
    press(app, "Propose a balanced plan")
    app.session_state[f"section-{draft.slug}-Who-rates-what"] = True
    press(app, "Save this plan")
    with database.reading(web_engine()) as session:
        lines = pairing.lines_of(session, lifecycle.by_slug(session, draft.slug))
    assert [(line.annotator, line.item_id) for line in lines if line.item_id == "item-1"] == [("P-ann", "item-1")]

    press(section(draft, "Plan"), "Remove the plan")
    assert "Remove the plan" not in labels(section(draft, "Plan"))


@pytest.mark.long
def test_plans_are_proposed_and_read_without_a_turn_to_write(section, draft, monkeypatch):
    with database.writing(web_engine()) as session:
        join(session, lifecycle.by_slug(session, draft.slug), add_person(session, "ann"))
    held = turns_held(monkeypatch, plans, "_roster")
    app = section(draft, "Plan")
    press(app, "Propose a balanced plan")
    app = section(draft, "Plan")
    app.file_uploader[-1].upload("plan.csv", b"annotator,item_id\nP-ann,item-1\n").run()

    assert (len(held) > 1, set(held)) == (True, {False})


@pytest.fixture
def planned(draft):
    """planned() → the stored items of Ann's plan; planned("item-1", …) stores another one, as another lead does."""
    with database.writing(web_engine()) as session:
        join(session, lifecycle.by_slug(session, draft.slug), add_person(session, "ann"))

    def store_or_read(*items: str) -> list[str]:
        with database.writing(web_engine()) as session:
            study = lifecycle.by_slug(session, draft.slug)
            if items:
                plans.store(session, study, [pairing.PlanLine("P-ann", item) for item in items], "L-bob", "")
            return [line.item_id for line in pairing.lines_of(session, study)]

    return store_or_read


@pytest.mark.long
def test_a_plan_changed_meanwhile_is_shown_before_it_is_saved(section, draft, planned):
    planned("item-1", "item-2")
    app = section(draft, "Plan")
    planned("item-3")
    press(app, "Save this plan")

    assert "Saved" not in words(app) + str([element.value for element in app.success])
    assert "The plan was changed meanwhile; it is shown above." in words(app).replace("\\", "")
    app.session_state[f"section-{draft.slug}-Who-rates-what"] = True
    press(app, "Save this plan")
    assert [element.value for element in app.success] == [state.plain("Saved.")]
    assert planned() == ["item-3"]
    assert "meanwhile" not in words(app)


def test_removing_a_plan_leaves_one_stored_meanwhile(section, draft, planned):
    planned("item-1")
    app = section(draft, "Plan")
    planned("item-3")
    press(app, "Remove the plan")
    assert planned() == ["item-3"]


@pytest.mark.long
def test_a_proposal_replaces_a_plan_stored_meanwhile_when_clicked_again(section, draft, planned):
    app = section(draft, "Plan")
    press(app, "Propose a balanced plan")
    planned("item-3")
    app.session_state[f"section-{draft.slug}-Who-rates-what"] = True
    press(app, "Save this plan")

    assert planned() == ["item-3"]
    assert "The plan was changed meanwhile. Saving replaces it with the lines above." in words(app).replace("\\", "")
    app.session_state[f"section-{draft.slug}-Who-rates-what"] = True
    press(app, "Save this plan")
    assert sorted(planned()) == ["item-1", "item-2", "item-3"]


@pytest.mark.long
def test_a_plan_with_errors_is_not_saved(section, draft):
    with database.writing(web_engine()) as session:
        join(session, lifecycle.by_slug(session, draft.slug), add_person(session, "ann"))
    app = section(draft, "Plan")
    app.file_uploader[0].upload("plan.csv", b"annotator,item_id\nP-ann,item-1\nnobody,item-2\n").run()
    assert "does not take part" in words(app)
    assert "Save this plan" not in labels(app)

    press(app, "Propose a balanced plan")
    assert "does not take part" not in words(app)
    press(app, "Save this plan")
    with database.reading(web_engine()) as session:
        assert len(pairing.lines_of(session, lifecycle.by_slug(session, draft.slug))) == 3


def test_the_preview_shows_a_real_item_and_cannot_submit(visit, lead, draft):
    app = visit(lead, "preview.py", study=draft.slug)
    app.selectbox(key=f"preview-item-{draft.slug}").set_value(1).run()
    drawn = [json.loads(element.proto.json) for element in app.get("bidi_component") if element.proto.json]
    shown = json.loads(next(data["view"] for data in drawn if "view" in data))

    assert shown["item"]["context"]["text"] == "Question number 2?"
    assert [candidate["letter"] for candidate in shown["item"]["candidates"]] == ["A", "B", "C"]
    assert set(shown["routes"].values()) == {""}
    assert "plumbum" not in json.dumps(shown)
    with database.reading(web_engine()) as session:
        assert design.item_lines(session, lifecycle.by_slug(session, draft.slug), 1)[0].external_id == "item-1"


def test_a_study_of_another_lead_is_not_found(visit, draft):
    with database.writing(web_engine()) as session:
        other = add_person(session, "other", Role.lead)
    app = visit(other, "design.py", study=draft.slug)

    assert not app.button


def test_findings_are_about_the_rubric_that_their_version_has(draft, lead):
    """Findings of the rubric before, read while another lead replaced it, stayed until the next change."""
    score = "{criterion: fluency, slot: A, value: 2, reason: It reads well.}"
    example = f"{{key: first, context: Question number 1?, candidates: [{{text: One.}}], references: [{score}]}}"
    with database.writing(web_engine()) as session:
        design.amend(session, now(draft), Parts(rubric_yaml=f"{SMALL_RUBRIC}training: [{example}]"), "", lead.pseudonym)
        version = saved_setting.material_number(session, draft)

    findings, _ = sections.checked(draft, version)

    assert "1 item also appear among the training or check items." in [finding.text for finding in findings]
