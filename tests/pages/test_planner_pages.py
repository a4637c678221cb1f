"""The lead's Planner and Dry run pages, run as Streamlit runs them."""

from __future__ import annotations

import random

import pytest
from helpers.ratings import submit
from helpers.reports import some_answers
from helpers.results_pages import words
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers
from helpers.study_pages import button

from components.shell import state
from triptych.simulate import planner, recovery
from triptych.storage import database
from triptych.storage.models import Role
from triptych.study import design, lifecycle
from triptych.study.settings import changed, settings_of, stored
from triptych.web.session import web_engine


def metric(app, label: str) -> str:
    return next(element.value for element in app.metric if element.label == label)


def slide(app, label: str, value):
    app = next(element for element in app.slider if element.label == label).set_value(value).run()
    assert not app.exception
    return app


def press_run(app, **sliders: int):
    """The dry run with these sliders, which are in a form."""
    for label, value in sliders.items():
        next(element for element in app.slider if element.label == label.replace("_", " ")).set_value(value)
    app = next(button for button in app.button if button.label == "Run").click().run()
    assert not app.exception
    return app


@pytest.mark.long
def test_the_planner_works_without_a_study(visit):
    with database.writing(web_engine()) as session:
        lead = add_person(session, "lead", Role.lead)
    app = visit(lead, "planner.py")
    assert [metric(app, label) for label in ("Annotations", "Hours in total", "Cost")] == ["300", "7.5", "90 USD"]
    before = float(metric(app, "Chance to show it").split()[0])
    app = slide(app, "Annotators in total", 30)
    assert float(metric(app, "Chance to show it").split()[0]) > before
    assert app.get("plotly_chart")
    app = slide(slide(app, "Annotators per item", 5), "Annotators in total", 3)
    assert "5 raters per item need 5 annotators" in app.info[0].value
    assert not app.get("plotly_chart")


def plan_of(app) -> list[int]:
    labels = ("Items", "Annotators per item", "Items that all of them rate, %")
    return [next(element.value for element in app.slider if element.label == label) for label in labels]


@pytest.mark.long
@pytest.mark.parametrize(
    ("items", "raters", "overlap", "planned", "annotations"),
    [
        (740, 1, 148, [740, 3, 20], "1036"),
        (503, 2, 0, [503, 2, 100], "1006"),
        (3000, 1, 0, [2000, 1, 100], "2000"),
    ],
)
def test_a_study_is_planned_or_the_reason_shown(
    visit,
    make_study,
    items,
    raters,
    overlap,
    planned,
    annotations,
):
    with database.writing(web_engine()) as session:
        study, lead, _ = make_study(session, items=items, annotators=0, raters_per_item=raters)
        study.settings = stored(changed(study, overlap={"items": overlap, "raters": 3}))
    app = visit(lead, "planner.py", study=study.slug)
    assert plan_of(app) == planned
    assert metric(app, "Annotations") == annotations
    assert ("The study has 3,000 items; the planner takes 10 to 2,000." in words(app)) == (items == 3000)


def test_retired_items_are_not_to_rate(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, _ = make_study(session, items=14)
        design.amend(session, study, design.Parts(retire=("item-1", "item-2")), "Not needed.", lead.pseudonym)
    assert "12 items to rate" in words(visit(lead, "design.py", study=study.slug, section="Items"))
    assert plan_of(visit(lead, "planner.py", study=study.slug)) == [12, 3, 100]
    run = visit(lead, "dry_run.py", study=study.slug)
    assert [slider.max for slider in run.slider if slider.label == "Items at most"] == [12]


@pytest.mark.long
def test_a_plan_is_solved_and_handed_to_the_preregistration(visit, monkeypatch):
    monkeypatch.setattr(state, "DOUBLE_CLICK_SECONDS", 0)
    with database.writing(web_engine()) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="Planned")
        draft = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(20), lead.pseudonym, lead.person_id)
        shape = planner.shape_of(session, draft)
        systems, criteria = shape.systems, shape.criteria
    app = visit(lead, "planner.py", study=draft.slug)
    numbers = {box.label: box.value for box in app.number_input}
    assert (numbers["Systems"], numbers["Deciding criteria"]) == (len(systems), criteria)
    margin = next(box for box in app.number_input if box.label.startswith("Practically equal"))
    app = margin.set_value(0.5).run()
    assert "Chance to show equal systems practically equal within ±0.5" in words(app)
    app = button(app, "Items for a chance of 80 %").click().run()
    assert "items" in words(app) and not app.exception
    app = button(app, "Annotators for a chance of 80 %").click().run()
    assert "annotators" in words(app) and not app.exception
    contrast = next(box for box in app.selectbox if box.label == "Contrast to declare")
    app = contrast.set_value("System 2 against System 1").run()
    app = button(app, "Use this plan in the preregistration").click().run()
    assert not app.exception
    with database.reading(web_engine()) as session:
        declaration = settings_of(lifecycle.by_slug(session, draft.slug)).preregistration
    tests = criteria * len(systems) * (len(systems) - 1) // 2
    assert f"(System 2 against System 1) with p adjusted by Holm over {tests} tests" in declaration.sample
    assert declaration.primary_contrast == "System 2 against System 1"
    assert declaration.margins == {"fluency": 0.5}  # the verdict is not on this scale
    assert "within ±0.5 points count as practically equal" in declaration.sample

    margin = next(box for box in app.number_input if box.label.startswith("Practically equal"))
    app = button(margin.set_value(0.0).run(), "Use this plan in the preregistration").click().run()
    with database.reading(web_engine()) as session:
        declaration = settings_of(lifecycle.by_slug(session, draft.slug)).preregistration
    assert declaration.margins == {}
    assert "practically equal" not in declaration.sample


@pytest.mark.parametrize(("width", "shown"), [(1, r"0\.1"), (0.1, r"0\.01"), (0.01, r"0\.001")])
def test_differences_on_narrow_scales_are_planned(visit, width, shown):
    scale = f"scale: {{kind: number, low: 0, high: {width}, step: {width / 100:g}}}"
    rubric = (
        "key: narrow\ntitle: Narrow\nsummary: S.\ninstructions: I.\n"
        f"criteria:\n  - {{key: share, title: Share, definition: D., {scale}}}\n"
    )
    with database.writing(web_engine()) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title="Narrow")
        draft = lifecycle.create_study(session, plan, rubric, draft_items(20), lead.pseudonym, lead.person_id)
    app = visit(lead, "planner.py", study=draft.slug)
    assert not app.exception
    assert f"A difference of {shown} would show" in words(app)


def test_a_study_with_ratings_offers_its_own_scatter(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=3)
        rng = random.Random(4)
        for who in people * 3:
            submit(session, study, who, some_answers(rng))
    app = visit(lead, "planner.py", study=study.slug)
    basis = next(box for box in app.selectbox if box.label == "How much ratings scatter")
    assert basis.options[0] == "As in Fluency (main round)"
    assert "points (the scale has 2 from end to end)" in " ".join(element.label for element in app.slider)
    assert "only 2 annotators rated both systems of some pair" in words(app)


def test_a_pilot_of_equal_answers_offers_presets_and_says_why(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=3)
        for who in people * 3:
            submit(session, study, who, full_answers())
    app = visit(lead, "planner.py", study=study.slug)
    basis = next(box for box in app.selectbox if box.label == "How much ratings scatter")
    assert basis.options == ["High: annotators often differ", "Low: annotators mostly agree"]
    assert "there are too few yet, or their differences are all equal." in words(app)


def test_a_dry_run_reports_without_naming_systems(visit, make_study, monkeypatch):
    monkeypatch.setattr(recovery, "ANSWER_COUNT", 100)
    with database.writing(web_engine()) as session:
        study, lead, _ = make_study(session, items=6)
    app = visit(lead, "dry_run.py", study=study.slug)
    assert not app.dataframe
    text = words(press_run(app, Simulated_annotators=5))
    assert "5 simulated annotators made 18 annotations of 6 items" in text
    assert "Ranking of systems" in text
    assert "Krippendorff" in text
    assert not any(name in text for name in ("plumbum", "stannum", "ferrum"))


def test_impossible_recipes_and_studies_without_items_are_reported(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, _ = make_study(session, items=3)
        plan = lifecycle.StudyPlan(title="Empty")
        empty = lifecycle.create_study(session, plan, SMALL_RUBRIC, [], lead.pseudonym, lead.person_id)
    app = visit(lead, "dry_run.py", study=study.slug)
    app = press_run(app, Simulated_annotators=2, Answering_at_random=2)
    assert "Not every annotator can be careless" in app.error[0].value
    app = visit(lead, "dry_run.py", study=empty.slug)
    assert "needs at least two items" in words(app)
