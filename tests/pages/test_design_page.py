"""The page on which a lead decides everything about a study, and the preview of what annotators will see."""

from __future__ import annotations

import json

import pytest
from helpers.results_pages import words
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, join
from helpers.study_pages import SECRET_TEXT, button, interrupt_once, labels, rendered_markdown

from triptych.storage import database
from triptych.storage.models import Role, StudyState
from triptych.study import design, lifecycle, pairing
from triptych.study.settings import settings_of
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


def press(app, label: str):
    button(app, label).click().run()
    assert not app.exception
    return app


def test_every_part_of_a_draft_is_edited_and_kept(section, draft):
    app = section(draft, "Basics")
    field(app, "text_input", "Title").set_value(SECRET_TEXT)
    field(app, "number_input", "Annotators per item").set_value(1)
    field(app, "number_input", "Items with more").set_value(2)
    press(app, "Save")
    app = section(draft, "Annotators' path")
    field(app, "text_area", "Consent").set_value("I agree.")
    field(app, "selectbox", "If somebody").set_value("delete")
    press(app, "Save")
    app = section(draft, "Panel and pay")
    field(app, "number_input", "Pay for one").set_value(0.35)
    press(app, "Make codes for the empty ones")
    app = section(draft, "Checks")
    field(app, "number_input", "Repeats, %").set_value(5)
    press(app, "Save")
    app = section(draft, "Preregistration")
    field(app, "selectbox", "Primary criterion").set_value("fluency")
    press(app, "Save")

    study, design_settings = now(draft), settings_of(now(draft))
    assert (study.title, study.raters_per_item, design_settings.overlap.items) == (SECRET_TEXT, 1, 2)
    assert (design_settings.consent.text, design_settings.consent.after_withdrawal) == ("I agree.", "delete")
    assert (str(design_settings.pay.per_item), design_settings.checks.repeat_percent) == ("0.35", 5)
    assert design_settings.codes.finished and design_settings.codes.failed_test
    assert "Primary criterion: Fluency" in app.code[0].value
    assert "evil" not in rendered_markdown(app)


def test_margins_groups_and_early_results_are_set_before_launch(section, draft):
    app = section(draft, "Basics")
    field(app, "text_input", "Field that groups items").set_value("dialogue")
    press(app, "Save")
    app = section(draft, "Preregistration")
    field(app, "number_input", "Fluency").set_value(0.3)
    field(app, "selectbox", "Results that are opened").set_value(0.0)
    press(app, "Save")
    declaration = settings_of(now(draft)).preregistration
    assert settings_of(now(draft)).group_field == "dialogue"
    assert (declaration.margins, declaration.interim_bound) == ({"fluency": 0.3}, 0)
    assert "Practically equal within, in scale points (shares from 0 to 1): Fluency ±0.3" in app.code[0].value
    assert "estimates are shown without tests" in app.code[0].value


@pytest.mark.parametrize("label", ["Save", "Make codes for the empty ones"])
def test_a_click_is_handled_after_another_one_interrupted_its_run(section, draft, monkeypatch, label):
    app = section(draft, "Panel and pay")
    field(app, "text_input", "Address to go back").set_value("https://panel.example/{code}")
    interrupt_once(monkeypatch)

    press(app, label)

    assert settings_of(now(draft)).panel.return_url == "https://panel.example/{code}"


def test_editing_a_drafts_rubric_names_its_errors(section, draft):
    app = section(draft, "Rubric")
    app.text_area(key=f"rubric_text-{draft.slug}").set_value(SMALL_RUBRIC.replace("kind: likert", "kind: stars")).run()
    assert "`kind` must be one of" in words(app)
    assert "Use this rubric" not in labels(app)
    app.text_area(key=f"rubric_text-{draft.slug}").set_value(SMALL_RUBRIC.replace("Fluency", "Flow")).run()
    press(app, "Use this rubric")

    with database.reading(web_engine()) as session:
        rubric = lifecycle.design_of(session, lifecycle.by_slug(session, draft.slug)).rubric
    assert rubric.criterion("fluency").title == "Flow"


def test_linter_findings_are_shown_before_launch_as_items_change(section, draft):
    app = section(draft, "Items")
    next(element for element in app.file_uploader).upload("items.csv", TWO_SYSTEMS).run()
    press(app, "Save")
    assert now(draft).item_count == 4
    app = section(draft, "Launch")
    assert "without a candidate of every system" in app.error[0].value.replace("\\", "")
    assert button(app, "Launch the study").disabled

    app = section(draft, "Items")
    field(app, "text_area", "Ids of the items").set_value("007")
    press(app, "Save")
    app = section(draft, "Launch")
    assert not button(app, "Launch the study").disabled


def test_changing_a_launched_study_needs_a_reason(section, draft):
    press(section(draft, "Launch"), "Launch the study")
    first = now(draft)
    assert (first.state, len(first.design_hash)) == (StudyState.open, 64)

    app = section(draft, "Basics")
    assert field(app, "selectbox", "Round").disabled
    field(app, "number_input", "Annotators per item").set_value(5)
    press(app, "Amend the design")
    assert "needs a reason" in app.error[0].value
    field(app, "text_input", "Reason").set_value("too few")
    press(app, "Amend the design")
    app = section(draft, "Launch")

    assert now(draft).raters_per_item == 5
    assert app.code[0].value == now(draft).design_hash != first.design_hash
    assert "too few" in words(app)
    assert "Use this rubric" not in labels(section(draft, "Rubric"))


def test_a_proposed_plan_for_the_members_is_stored(section, draft):
    with database.writing(web_engine()) as session:
        join(session, lifecycle.by_slug(session, draft.slug), add_person(session, "ann"))
    app = section(draft, "Plan")
    press(app, "Propose a balanced plan")
    press(app, "Save this plan")
    with database.reading(web_engine()) as session:
        lines = pairing.lines_of(session, lifecycle.by_slug(session, draft.slug))
    assert [(line.annotator, line.item_id) for line in lines if line.item_id == "item-1"] == [("P-ann", "item-1")]

    press(section(draft, "Plan"), "Remove the plan")
    assert "Remove the plan" not in labels(section(draft, "Plan"))


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
    drawn = [json.loads(element.proto.json) for element in app.get("bidi_component")]
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


def test_typed_text_survives_a_change_in_another_section(section, draft):
    """A form's fields live in the browser for as long as they are drawn under the same name."""
    app = section(draft, "Annotators' path")
    consent = field(app, "text_area", "Consent").id
    app.session_state[f"design-{draft.slug}"] = "Basics"
    app.run()
    field(app, "text_input", "Title").set_value("Another title")
    next(element for element in app.button if element.label == "Save" and "basics" in element.form_id).click().run()

    assert now(draft).title == "Another title"
    assert field(app, "text_area", "Consent").id == consent
