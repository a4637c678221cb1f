"""Who decides on final values reads responses in an order drawn for each item, and so does their browser."""

from __future__ import annotations

import pytest
from helpers.ratings import submit
from helpers.studies import full_answers

from triptych.storage import database
from triptych.web.session import web_engine

ITEMS = 3


@pytest.fixture
def rated(make_study):
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=ITEMS)
        for who in people:
            for _ in range(ITEMS):
                submit(session, study, who, full_answers())
    return study, lead


def test_no_field_of_a_decision_tells_the_system(visit, rated):
    """The key of a field, which becomes a class in the page, held the number of the response's system."""
    study, lead = rated
    keys = []
    for place in range(ITEMS):
        item = f"item-{place + 1}"
        app = visit(lead, "items.py", study=study.slug, look=item)
        fields = [box for box in app.selectbox if "Response" in box.label]
        keys.append([box.key.replace(item, "") for box in fields])

    assert len(keys[0]) == 6
    assert all(of_item == keys[0] for of_item in keys)
