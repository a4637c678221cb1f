"""Who rates what, in which order: never too many on an item, orders balanced and repeatable."""

import multiprocessing
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta

import pytest
from helpers.annotations import submission, submitting
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, func, insert, select
from sqlalchemy.exc import IntegrityError

from triptych import clock
from triptych.annotate import annotations, assignments, desk, exclusions, reservations
from triptych.annotate.assignments import NoItem
from triptych.annotate.candidate_order import balanced_order, candidate_order
from triptych.annotate.reservations import Assigned
from triptych.storage import database
from triptych.storage.database import reading, writing
from triptych.storage.models import Assignment, AssignmentState, Candidate, Item, Person, Slot, Study, StudyState
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.study import lifecycle
from triptych.study.persons import Who

RESERVING_SECONDS = 180.0  # for a busy machine; a few seconds are enough for an idle one


def work_through(session, study, who, at_most: int = 1000) -> list[Assigned]:
    done: list[Assigned] = []
    while len(done) < at_most and isinstance(work := assignments.current(session, study, who), Assigned):
        annotations.submit(session, who, submission(work, f"submission-{work.id}"))
        done.append(work)
    return done


@pytest.mark.long
def test_the_same_item_stays_until_it_is_done(engine, make_study):
    with writing(engine) as session:
        study, _, (who, _) = make_study(session)

        first = assignments.current(session, study, who)

        assert assignments.current(session, study, who).id == first.id


def test_nobody_sees_an_item_twice_and_everything_is_seen(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session, items=7)

        done = work_through(session, study, who)

        assert len({work.item_id for work in done}) == 7
        assert assignments.current(session, study, who) is NoItem.finished


def enlarged(session, study: Study) -> list[int]:
    """Adds 3,000 items, each rated once, by thirty people more; returns those."""
    new = {"kind": "human", "role": "annotator", "created_at": clock.now()}
    session.connection().execute(insert(Person), [new | {"pseudonym": f"more-{n}"} for n in range(30)])
    item = {"context": "", "purpose": "main", "meta": {}, "extra_texts": {}, "taken": 1, "priority": 0}
    item |= {"study_id": study.id, "retired": False, "sha256": "", "raters": 3}
    session.connection().execute(insert(Item), [item | {"external_id": f"more-{n}", "rank": n} for n in range(3_000)])
    done = {"study_id": study.id, "purpose": "main", "origin": "web", "state": "submitted"}
    done |= {"reserved_at": clock.now(), "expires_at": clock.now(), "submitted_at": clock.now()}
    done |= {"active_seconds": 1, "draft_seq": 0, "version": 1}
    people = session.scalars(select(Person.id).where(Person.pseudonym.like("more-%"))).all()
    items = session.scalars(select(Item.id).where(Item.external_id.like("more-%"))).all()
    rows = [{"item_id": item, "person_id": people[n % 30], "token": f"token-{n}"} for n, item in enumerate(items)]
    session.connection().execute(insert(Assignment), [done | row for row in rows])
    return people


@pytest.mark.long
def test_on_postgresql_a_submission_scans_no_whole_table(postgres_engine, make_study):
    with writing(postgres_engine) as session:
        study, _, (who, _) = make_study(session)
        enlarged(session, study)
        first = desk.lay(session, study, who).view
    with postgres_engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    sent = []
    event.listen(postgres_engine, "before_cursor_execute", lambda *arguments: sent.append(arguments[2:4]))

    with writing(postgres_engine) as session:
        desk.act(session, session.get_one(Study, study.id), who, submitting(first, "submission-1"))

    with postgres_engine.connect() as connection:
        plans = [
            "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars())
            for statement, parameters in list(sent)
            if isinstance(parameters, dict)
        ]
    assert len(plans) > 5
    assert not [plan for plan in plans if "Seq Scan on item" in plan or "Seq Scan on assignment" in plan]


def test_items_with_the_fewest_raters_come_first(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (anna, ben) = make_study(session, items=6)
        done = work_through(session, study, anna, at_most=3)

        held = assignments.current(session, study, anna)
        untouched = {w.item_id for w in work_through(session, study, ben, at_most=2)}

        assert untouched.isdisjoint({w.item_id for w in done} | {held.item_id})


def test_an_item_takes_no_more_raters_than_planned(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=3, annotators=4, raters_per_item=2)

        for who in people:
            work_through(session, study, who)

        taken = session.execute(select(Assignment.item_id, func.count()).group_by(Assignment.item_id)).all()
        assert [n for _, n in taken] == [2, 2, 2]
        first, *_, last = (assignments.current(session, study, who) for who in people)
        assert (first, last) == (NoItem.finished, NoItem.none_left)


def test_the_database_itself_refuses_one_rater_too_many(engine, make_study):
    with writing(engine) as session:
        make_study(session, items=1, raters_per_item=1)

    with pytest.raises(IntegrityError, match="ck_never_over_assigned"), writing(engine) as session:
        session.scalars(select(Item)).one().taken = 2


def test_nothing_is_free_while_others_hold_the_remaining_items(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (anna, ben) = make_study(session, items=1, raters_per_item=1)
        assignments.current(session, study, anna)

        assert assignments.current(session, study, ben) is NoItem.nothing_free


def test_an_expired_reservation_is_free_at_the_next_request(sqlite_engine, make_study, monkeypatch):
    real = clock.now
    with writing(sqlite_engine) as session:
        study, _, (anna, ben) = make_study(session, items=1, raters_per_item=1)
        first = assignments.current(session, study, anna)
        monkeypatch.setattr(clock, "now", lambda: real() + timedelta(minutes=31))

        assert assignments.current(session, study, ben).item_id == first.item_id


def test_a_reservation_in_use_is_extended(sqlite_engine, make_study, monkeypatch):
    real = clock.now
    with writing(sqlite_engine) as session:
        study, _, (anna, ben) = make_study(session, items=1, raters_per_item=1)
        first = assignments.current(session, study, anna)
        monkeypatch.setattr(clock, "now", lambda: real() + timedelta(minutes=20))
        assert reservations.renew(session, anna, first.token)
        monkeypatch.setattr(clock, "now", lambda: real() + timedelta(minutes=40))

        assert assignments.current(session, study, ben) is NoItem.nothing_free


def test_the_limit_per_annotator_ends_their_work(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session, items=5, items_per_annotator=2)

        assert len(work_through(session, study, who)) == 2


def test_back_walks_own_items_and_forward_returns(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        earlier, later = work_through(session, study, who, at_most=2)
        held = assignments.current(session, study, who)

        assert assignments.neighbour(session, study, who, held.token, -1) == later.token
        assert assignments.neighbour(session, study, who, later.token, -1) == earlier.token
        assert assignments.neighbour(session, study, who, earlier.token, -1) == earlier.token
        assert assignments.neighbour(session, study, who, earlier.token, 1) == later.token
        assert assignments.neighbour(session, study, who, later.token, 1) is None


def test_submitted_items_can_be_reopened_while_the_study_takes_work(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, (who, other) = make_study(session, items=2)
        earlier, later = work_through(session, study, who)
        assert assignments.changeable(session, study, other) is None
        assert assignments.changeable(session, study, who) == later.token
        assert assignments.changeable(session, study, who, earlier.token) == earlier.token
        assert assignments.changeable(session, study, who, "of somebody else") is None
        lifecycle.set_state(session, study, StudyState.paused, lead.pseudonym)
        assert assignments.changeable(session, study, who) == later.token
        study.paused_at -= lifecycle.TAKEN_AFTER_PAUSING
        assert assignments.changeable(session, study, who) is None
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        assert assignments.changeable(session, study, who) is None
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        exclusions.exclude(session, study, who.pseudonym, "a test", lead.pseudonym)

        assert assignments.changeable(session, study, who, earlier.token) is None


def submit_next(engine, slug: str, person: Who, seed: int) -> Assigned | NoItem:
    """Submits the person's next item; returns it, or why there is none."""
    with writing(engine) as session:
        study = session.scalars(select(Study).where(Study.slug == slug)).one()
        work = assignments.current(session, study, person)
        if isinstance(work, Assigned):
            annotations.submit(session, person, submission(work, f"submission-{seed}-{work.id}"))
        return work


def reserve_all(url: str, slug: str, person: Who, seed: int) -> list[int]:
    """One process that works through the study without the server's file lock; the ids of the items it submitted.

    Like a page, it tries again when others hold the last places, and when the database does not answer: SQLite does
    not queue processes, so that one of sixteen can wait in vain for longer than its busy timeout. The app has one
    process on SQLite.
    """
    engine = database.open_engine(url)
    items: list[int] = []
    end = time.monotonic() + RESERVING_SECONDS
    while time.monotonic() < end:
        try:
            work = submit_next(engine, slug, person, seed)
        except DatabaseUnavailable:
            continue
        if isinstance(work, Assigned):
            items.append(work.item_id)
        elif work != NoItem.nothing_free:
            return items
    raise AssertionError(f"{person.pseudonym} was not done after {RESERVING_SECONDS:.0f} s; submitted: {items}")


@pytest.mark.long
def test_sixteen_processes_never_over_assign(engine, make_study, monkeypatch):
    with writing(engine) as session:
        study, _, people = make_study(session, items=12, annotators=16, raters_per_item=3)
    url = engine.url.render_as_string(hide_password=False)

    # sixteen processes that share one import; the forking server has not our sys.path
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(16, mp_context=processes) as pool:
        jobs = [pool.submit(reserve_all, url, study.slug, who, n) for n, who in enumerate(people)]
        taken = Counter(item for job in jobs for item in job.result())

    assert set(taken.values()) == {3}
    with reading(engine) as session:
        assert set(session.scalars(select(Item.taken))) == {3}


def shown_at(session) -> list[tuple[int, int, int, str]]:
    """Item, person, position and system of every candidate that was shown."""
    rows = session.execute(
        select(Assignment.item_id, Assignment.person_id, Slot.position, Candidate.text)
        .join(Slot, Slot.assignment_id == Assignment.id)
        .join(Candidate, Candidate.id == Slot.candidate_id)
    )
    return [(item, person, position, text[-1]) for item, person, position, text in rows]


@pytest.mark.long
def test_positions_are_balanced_for_annotators_and_items(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=30, annotators=3)
        for who in people:
            work_through(session, study, who)
        rows = shown_at(session)
    by_person = Counter((person, position, system) for _, person, position, system in rows)
    by_item = Counter((item, position, system) for item, _, position, system in rows)

    assert max(by_person.values()) - min(by_person.values()) <= 6
    squares = Counter(item for (item, _, _), n in by_item.items() if n == 1)
    assert sum(n == 9 for n in squares.values()) >= 0.9 * 30


def test_positions_are_balanced_for_an_items_only_annotator(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=60, annotators=1, raters_per_item=1)
        work_through(session, study, people[0])
        shown = Counter((position, system) for _, _, position, system in shown_at(session))

    assert max(shown.values()) - min(shown.values()) <= 3


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 3, 4])
def test_an_item_tells_little_about_the_order_of_the_next(count):
    """With full balance no system came twice at one place within as many items as there are systems."""
    systems, repeated, items = list(range(count)), 0, 24 * count
    for annotator in range(40):
        shown: Counter[tuple[int, int]] = Counter()
        before: tuple[int, ...] = ()
        for item in range(items):
            order = balanced_order(systems, shown, Counter(), f"seed|{annotator}|{item}")
            shown.update((system, place) for place, system in enumerate(order))
            repeated += item % count == 1 and order[0] == before[0]
            before = order
        assert max(shown.values()) - min(shown.values()) <= 3

    assert repeated / (40 * 24) > 0.6 / count


def test_other_annotators_items_do_not_move_an_order(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (anna, ben) = make_study(session, items=12)
        items = session.scalars(select(Item.id).where(Item.study_id == study.id)).all()
        before = {item: candidate_order(session, study, ben, item, None) for item in items}
        work_through(session, study, anna, at_most=6)
        of_anna = set(session.scalars(select(Assignment.item_id)))

        after = {item: candidate_order(session, study, ben, item, None) for item in items}

        assert {item for item in items if before[item] != after[item]} <= of_anna


def test_a_repeat_avoids_its_first_order_where_that_one_balances(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session)
        first = assignments.current(session, study, who)
        assert isinstance(first, Assigned)
        session.get_one(Assignment, first.id).state = AssignmentState.expired  # its order counts for nobody
        session.flush()
        same = candidate_order(session, study, who, first.item_id, None)
        shown = select(Slot.candidate_id).where(Slot.assignment_id == first.id).order_by(Slot.position)
        assert same == tuple(session.scalars(shown))

        assert candidate_order(session, study, who, first.item_id, first.id) != same


def test_orders_that_tie_depend_on_the_studys_secret_seed(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, _, (who, _) = make_study(session, items=12)
        items = session.scalars(select(Item.id).where(Item.study_id == study.id)).all()

        def orders(seed: str) -> list[tuple[int, ...]]:
            study.seed = seed
            return [candidate_order(session, study, who, item, None) for item in items]

        assert orders("one") == orders("one")
        assert orders("one") != orders("another")


@pytest.mark.long
@given(st.integers(1, 6), st.text(max_size=8), st.randoms())
def test_an_order_is_a_reproducible_permutation(m: int, seed: str, random):
    systems = list(range(10, 10 + m))
    counts = Counter({(s, p): random.randint(0, 5) for s in systems for p in range(m)})

    order = balanced_order(systems, counts, counts, seed)

    assert sorted(order) == list(range(m))
    assert balanced_order(systems, counts, counts, seed) == order


@given(st.text(max_size=8))
def test_a_system_that_always_came_first_comes_first_no_more(seed: str):
    always_first = Counter({(7, 0): 5})

    assert balanced_order([7, 8, 9], always_first, Counter(), seed)[0] != 0
