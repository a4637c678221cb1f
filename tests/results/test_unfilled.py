"""Places that nobody present can fill are said, with what to do."""

from __future__ import annotations

import pytest
from helpers.present import present
from helpers.ratings import exclude, set_aside, submit
from sqlalchemy import insert, select

from triptych import clock
from triptych.results.unfilled import unfilled
from triptych.storage import database
from triptych.storage.models import Assignment, Item, Kind, Person, PlannedItem, StudyState
from triptych.study.settings import changed, stored


@pytest.fixture
def session(engine):
    with database.writing(engine) as session:
        yield session


def test_a_place_that_everybody_rated_or_skipped_is_said(session, make_study):
    study, _, (first, second) = make_study(session, items=1, annotators=2, raters_per_item=2)
    assert unfilled(session, study) is None
    submit(session, study, first)
    assert unfilled(session, study) is None
    set_aside(session, study, second, "skip", "unclear")
    places = present(unfilled(session, study))
    assert (places.places, places.missing, places.present) == (1, 1, 2)
    assert places.sentence.startswith(
        f"1 missing annotation of 1 item ({places.items[0]}) cannot be made by current annotators: all 2"
    )
    assert "Invite 1 more annotator, or retire the item under Setup, Items." in places.sentence


def test_a_place_that_somebody_has_not_seen_can_be_filled(session, make_study):
    study, _, people = make_study(session, items=1, annotators=3, raters_per_item=2)
    submit(session, study, people[0])
    set_aside(session, study, people[1], "skip", "unclear")
    assert unfilled(session, study) is None
    exclude(session, study, people[2])
    assert present(unfilled(session, study)).present == 2


def test_having_rated_another_item_fills_no_place(session, make_study):
    study, _, people = make_study(session, items=3, annotators=2, raters_per_item=2)
    submit(session, study, people[0])
    submit(session, study, people[1])
    assert unfilled(session, study) is None


def test_annotators_who_reached_their_limit_fill_nothing(session, make_study):
    study, _, people = make_study(session, items=2, annotators=1, raters_per_item=1)
    study.settings = stored(changed(study, items_per_annotator=1))
    session.flush()
    submit(session, study, people[0])
    places = present(unfilled(session, study))
    assert places.present == 0
    assert "every annotator is done, has stopped or was left out" in places.sentence


def test_a_study_that_is_not_open_has_no_such_place(session, make_study):
    study, _, people = make_study(session, items=1, annotators=1, raters_per_item=2)
    submit(session, study, people[0])
    assert unfilled(session, study) is not None
    study.state = StudyState.closed
    assert unfilled(session, study) is None


def test_nothing_is_said_before_the_first_person_joins(session, make_study):
    study, _, people = make_study(session, items=1, annotators=1, raters_per_item=2)
    session.get_one(Person, people[0].person_id).kind = Kind.simulated
    assert unfilled(session, study) is None


def test_a_place_outside_the_plan_is_said(session, make_study):
    study, _, (first, second) = make_study(session, items=2, annotators=2, raters_per_item=2)
    ours, theirs = session.scalars(select(Item).where(Item.study_id == study.id).order_by(Item.id))
    pairs = ((first, ours), (first, theirs), (second, ours))
    for rank, (who, item) in enumerate(pairs):
        session.add(PlannedItem(study_id=study.id, person_id=who.person_id, item_id=item.id, rank=rank))
    session.flush()
    assert unfilled(session, study) is None
    submit(session, study, first)
    submit(session, study, first)
    assert present(unfilled(session, study)).items == (theirs.external_id,)
    exclude(session, study, second)
    assert present(unfilled(session, study)).items == (ours.external_id, theirs.external_id)


def test_work_grows_in_proportion_to_what_was_rated(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        few, many = (_steps(session, _rated_by_all_but_one(session, make_study, items)) for items in (50, 200))
    assert many < 8 * few


def _rated_by_all_but_one(session, make_study, items):
    study, _, people = make_study(session, items=items, annotators=8, raters_per_item=8)
    done = {"study_id": study.id, "purpose": "main", "origin": "web", "state": "submitted", "version": 1}
    done |= {name: clock.now() for name in ("reserved_at", "expires_at", "submitted_at")}
    numbers = session.scalars(select(Item.id).where(Item.study_id == study.id)).all()
    pairs = [{"item_id": item, "person_id": who.person_id} for item in numbers for who in people[:-1]]
    rows = [done | pair | {"token": f"{study.id}-{n}"} for n, pair in enumerate(pairs)]
    session.connection().execute(insert(Assignment), rows)
    return study


def _steps(session, study):
    """Steps of SQLite's virtual machine, in tens."""
    steps: list[None] = []
    connection = session.connection().connection.driver_connection
    connection.set_progress_handler(lambda: steps.append(None), 10)
    assert unfilled(session, study) is None
    connection.set_progress_handler(None, 10)
    return len(steps)
