"""The lead's Quality page, run as Streamlit runs it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from helpers.ratings import submit
from helpers.results_pages import words
from helpers.studies import full_answers
from helpers.study_pages import press

from triptych import clock
from triptych.results.frame.upkeep import frame_of
from triptych.storage import database, events
from triptych.storage.models import Membership, Role, Round, Study
from triptych.study.design import Parts, amend
from triptych.study.settings import changed, stored
from triptych.web.session import web_engine


@pytest.fixture
def lab(make_study):
    """(study, lead, annotators) in the app's own database; three people rated two items, one of them upside down."""
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=2, annotators=3)
        for n in range(2):
            for who, fluency in zip(people, (3, 3, 1), strict=True):
                submit(session, study, who, full_answers("ABC", fluency=fluency, verdict="unsure" if n else "accept"))
    return study, lead, people


def set_pay(study, **pay) -> None:
    with database.writing(web_engine()) as session:
        here = session.get_one(Study, study.id)
        here.settings = stored(changed(here, pay={"per_item": Decimal("0.10"), "currency": "EUR", **pay}))


@pytest.mark.long
def test_an_annotator_is_excluded_compared_both_ways_and_reinstated(visit, lab):
    study, lead, people = lab
    out = people[2].pseudonym
    app = visit(lead, "quality.py", study=study.slug)
    assert "Nobody is excluded." in words(app)
    assert "With them" not in words(app)

    box = {widget.label: widget for widget in app.selectbox}
    box["Annotator"].set_value(out)
    app = press(app, "Exclude")
    assert "Give a reason" in app.error[0].value
    {widget.label: widget for widget in app.selectbox}["Annotator"].set_value(out)
    app.text_input[0].set_value("Upside down ![x](http://evil.example)")
    app = press(app, "Exclude")
    text = words(app)
    assert f"{out} (excluded)" in text and "Upside down" in text and "With them" in text
    with database.reading(web_engine()) as session:
        *_, last, look = events.since(session, study.id, 0)
        assert frame_of(session, study).work["excluded"].sum() == 2
    assert (last.kind, last.actor, last.subject) == ("annotator excluded", lead.pseudonym, out)
    assert look.kind == "results opened"

    {widget.label: widget for widget in app.selectbox}["Excluded annotator"].set_value(out)
    app.text_input[-1].set_value("It was the scale")
    app = press(app, "Reinstate")
    assert "Nobody is excluded." in words(app)


def test_a_criterion_that_many_cannot_answer_is_reported(visit, lab):
    study, lead, _ = lab
    text = words(visit(lead, "quality.py", study=study.slug))

    assert "Verdict: 50 % of the answers are marked missing" in text
    assert "to the rubric, not to the annotators" in text
    assert "System" not in text


def test_changed_pay_is_said_where_the_last_rate_is_used(visit, lab):
    study, lead, _ = lab
    set_pay(study, floor_per_hour=Decimal("20"))
    assert "last rate" not in words(visit(lead, "quality.py", study=study.slug))
    with database.writing(web_engine()) as session:
        pay = {"per_item": "0.50", "currency": "EUR", "floor_per_hour": "20"}
        amend(session, session.get_one(Study, study.id), Parts(settings={"pay": pay}), "More pay.", lead.pseudonym)
    text = words(visit(lead, "quality.py", study=study.slug))
    assert "The pay was changed after launch" in text and "At this rate, nobody earns less than EUR 20.00" in text


@pytest.mark.long
def test_pay_uses_live_times_then_pilot_then_a_guess(visit, lab, make_study):
    study, lead, people = lab
    set_pay(study, floor_per_hour=Decimal("20"))
    app = visit(lead, "quality.py", study=study.slug)
    assert "EUR 12.00" in [metric.value for metric in app.metric]
    assert "3 of 3 annotators earn less than EUR 20.00 per hour" in app.warning[0].value.replace("\\", "")
    assert "Not included: attention, gold and repeated items" in words(app)

    with database.writing(web_engine()) as session:
        session.get_one(Study, study.id).round = Round.pilot
        main, other, _ = make_study(session, title="Main", series=study.series)
        session.add(Membership(study_id=main.id, person_id=lead.person_id, role=Role.lead, joined_at=clock.now()))
    set_pay(main)
    app = visit(other, "quality.py", study=main.slug)  # who does not lead the pilot
    app.number_input[0].set_value(36).run()
    assert "At 36 seconds per item, EUR 0.10 per item comes to EUR 10.00 per hour." in words(app)
    app = visit(lead, "quality.py", study=main.slug)
    assert "30 active seconds per item in the pilot" in words(app)
    assert not app.number_input


def test_an_empty_study_explains_itself_and_strangers_get_nothing(visit, make_study):
    with database.writing(web_engine()) as session:
        study, lead, _ = make_study(session, annotators=0)
        _, other, _ = make_study(session, title="Hers")
    text = words(visit(lead, "quality.py", study=study.slug))
    assert "Nobody has annotated anything yet." in text
    assert "No pay per item is set." in text

    app = visit(other, "quality.py", study=study.slug)
    assert "You do not lead a study with this address" in app.error[0].value
    assert not app.dataframe and not app.button
