"""Who decides on final values reads responses in an order drawn for each item, and so does their browser."""

from __future__ import annotations

import pytest
from helpers.analyses import look_at
from helpers.ratings import submit
from helpers.ratings_import import read
from helpers.studies import SMALL_RUBRIC, full_answers

from triptych.exchange import import_ratings
from triptych.formats.ratings.assemble import assemble
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


@pytest.mark.long
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


def test_explanations_follow_no_order_of_a_file(imported):
    """Files that do not tell the order on screen list systems in the same order for each item."""
    rows = [f"item-{n},metal {number},anna,verdict,reject,It is not right" for n in range(1, 7) for number in range(11)]
    file = read("\n".join(["item_id,system,annotator,criterion,value,explanation", *rows]))
    study, _, session = imported(assemble([file], import_ratings.asked_by(SMALL_RUBRIC, [file])))

    looks = [look_at(session, study, f"item-{n}")[1] for n in range(1, 7)]

    in_order = [f"Response {place}" for place in range(1, 12)]
    assert all([each.system for each in look.explained] == in_order for look in looks)
