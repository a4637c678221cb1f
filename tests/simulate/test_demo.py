"""The demo studies: present at a first start, marked, filled by simulated annotators, deleted for good."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.database_files import copied, files_of
from helpers.ratings import assigned
from helpers.studies import ROOT, add_person, count_items, draft_items
from sqlalchemy import func, select

from triptych.annotate import assignments, onboarding
from triptych.operations import verify
from triptych.people import accounts, joining
from triptych.privacy import deletion, erasure
from triptych.rubric.files import shipped_rubrics
from triptych.simulate import demo
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Assignment,
    EntryAttempt,
    Event,
    Explanation,
    Highlight,
    Item,
    Kind,
    Membership,
    Origin,
    Person,
    Purpose,
    Rating,
    Role,
    Study,
)
from triptych.storage.wiping import Wiped
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of


@pytest.fixture(scope="module")
def loaded_once(module_engine):
    demo.load_demo(module_engine)
    with module_engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return database.sqlite_path(str(module_engine.url))


@pytest.fixture
def loaded(loaded_once, tmp_path):
    with copied(loaded_once, tmp_path) as engine:
        yield engine


def demo_studies(session) -> list[Study]:
    return list(session.scalars(select(Study).where(Study.demo).order_by(Study.id)))


def demo_of(session, key: str) -> Study:
    return session.scalars(select(Study).where(Study.seed == f"demo {key}")).one()


@pytest.mark.long
def test_there_is_one_demo_study_for_each_shipped_rubric(loaded):
    with database.reading(loaded) as session:
        demos = demo_studies(session)

        assert {lifecycle.design_of(session, study).rubric.key for study in demos} == set(shipped_rubrics())
        assert {(study.access, study.raters_per_item) for study in demos} == {("open", 3)}
        assert [study.state for study in demos] == ["open", "open", "closed", "open"]
        assert all(study.item_count >= 12 for study in demos)


def test_the_log_of_every_demo_study_proves_its_rows(loaded):
    with database.reading(loaded) as session:
        assert all(verify.verify(session, study).holds for study in demo_studies(session))


def test_the_finished_demo_study_has_all_annotations_and_a_declaration(loaded):
    with database.reading(loaded) as session:
        study = demo_of(session, demo.FINISHED)
        line, declared = lifecycle.line_of(session, study), settings_of(study).preregistration

        assert (line.done, line.expected, line.annotators) == (42, 42, 6)
        assert set(declared.criteria) == set(lifecycle.design_of(session, study).criteria)
        assert declared.primary_criterion in declared.criteria


def test_one_demo_study_has_every_step_before_the_first_item(loaded):
    with database.reading(loaded) as session:
        study = demo_of(session, demo.STEP_BY_STEP)
        steps = onboarding.way_in(session, study)
        attempts = session.scalars(select(EntryAttempt)).all()
        members = session.scalars(select(Membership).where(Membership.study_id == study.id)).all()

    assert [step.split(" ")[1] for step in steps] == ["consent", "instructions", "training", "entry", "first"]
    assert len(members) == len(attempts) == 2
    assert all(member.consented_at and member.instructions_read_at for member in members)
    assert all(attempt.passed and attempt.right == attempt.asked == 7 for attempt in attempts)


def test_one_demo_study_is_imported_and_goes_on(loaded):
    with database.writing(loaded) as session:
        study = demo_of(session, demo.IMPORTED)
        line = lifecycle.line_of(session, study)
        origins = set(session.scalars(select(Assignment.origin).where(Assignment.study_id == study.id)))
        kinds = session.scalars(select(Event.kind).where(Event.study_id == study.id)).all()
        guest, _ = joining.join_open_study(session, study, "Kim")
        work = assigned(session, study, Who(guest.id, guest.pseudonym, guest.role, guest.name, 0))

    assert (line.done, line.expected) == (26, 39)
    assert origins == {Origin.simulated}
    assert EventKind.ratings_imported in kinds
    assert work.purpose == Purpose.main


def test_loading_twice_makes_nothing_twice(loaded):
    assert demo.load_demo(loaded) == 0
    with database.reading(loaded) as session:
        assert len(demo_studies(session)) == len(shipped_rubrics())


@pytest.mark.long
def test_removed_demo_studies_leave_nothing_and_do_not_return(engine):
    demo.load_demo(engine)
    with database.writing(engine) as session:
        assert deletion.delete_demo(session) == len(shipped_rubrics())

    assert demo.load_demo(engine) == 0
    with database.reading(engine) as session:
        for table in (Study, Item, Assignment, Rating, Highlight, Explanation, Person):
            assert session.execute(select(func.count()).select_from(table)).scalar_one() == 0, table


@pytest.mark.long
def test_deleting_the_demo_deletes_people_who_only_tried_it(engine, make_study):
    demo.load_demo(engine)
    with database.writing(engine) as session:
        own, lead, (anna, _) = make_study(session)
        study = demo_studies(session)[0]
        guest, _ = joining.join_open_study(session, study, "Wilhelmina Zauberberg")
        assignments.current(session, study, Who(guest.id, guest.pseudonym, guest.role, guest.name, 0))
        for who in (anna, lead):
            joining.enrol(session, study, who.person_id, who.pseudonym)
        accounts.create_lead(session, "Dr Lead", "a long passcode 42")

    with database.writing(engine) as session:
        deletion.delete_demo(session)
    assert erasure.wipe(engine) == Wiped.done

    assert b"Zauberberg" not in files_of(engine)
    with database.reading(engine) as session:
        assert {anna.name, lead.name, "Dr Lead"} <= set(session.scalars(select(Person.name)))
        assert verify.verify(session, session.get_one(Study, own.id)).holds


def test_removing_the_demo_leaves_every_other_study_as_it_was(loaded, make_study):
    with database.writing(loaded) as session:
        own, lead, _ = make_study(session)
        deletion.delete_demo(session)

    with database.reading(loaded) as session:
        assert [study.slug for study in lifecycle.for_lead(session, lead)] == [own.slug]
        assert count_items(session, own) == len(draft_items(4))
        assert events.first_broken(session, own.id) is None


@pytest.mark.long
def test_two_processes_that_start_together_load_it_once(engine):
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(demo.load_demo, [engine, engine]))

    assert sorted(counts) == [0, len(shipped_rubrics())]


def test_one_demo_study_is_half_done(loaded):
    with database.reading(loaded) as session:
        half_done = demo_of(session, demo.HALF_DONE)
        of_study = Assignment.study_id == half_done.id
        work = list(session.scalars(select(Assignment).where(of_study, Assignment.submitted_at.is_not(None))))

        assert {assignment.origin for assignment in work} == {Origin.simulated}
        assert {assignment.state for assignment in work} == {"submitted", "skipped", "ignored"}
        assert 0.4 <= len(work) / (half_done.item_count * 3) <= 0.7
        assert all(assignment.active_seconds > 0 for assignment in work)
        assert session.execute(select(func.count()).select_from(Highlight)).scalar_one() > 0


def test_simulated_annotators_begin_items_in_the_order_of_their_work(loaded):
    with database.reading(loaded) as session:
        main = Assignment.purpose == Purpose.main, Assignment.submitted_at.is_not(None), Study.demo
        query = select(Assignment.study_id, Assignment.person_id, Assignment.reserved_at).join(Study).where(*main)
        work = session.execute(query.order_by(*query.selected_columns[:2], Assignment.submitted_at)).all()

        assert work
        assert work == sorted(work)


def test_only_simulated_annotators_work_in_demo_studies(loaded):
    with database.reading(loaded) as session:
        assert set(session.scalars(select(Person.kind))) == {Kind.simulated}
        assert set(session.scalars(select(Assignment.origin))) == {Origin.simulated}


def test_simulated_annotators_who_leave_free_their_items(loaded):
    with database.reading(loaded) as session:
        finished = select(Assignment.item_id).where(
            Assignment.state.in_(["submitted", "ignored"]), Assignment.purpose == Purpose.main
        )
        done = Counter(session.scalars(finished))

        assert all(item.taken == done[item.id] for item in session.scalars(select(Item)))


def test_every_lead_sees_the_demo_studies_which_have_no_lead(loaded):
    with database.writing(loaded) as session:
        lead = add_person(session, "new", Role.lead)

        assert all(study.demo for study in lifecycle.for_lead(session, lead))
        assert len(lifecycle.for_lead(session, lead)) == len(shipped_rubrics())


@pytest.mark.long
def test_loading_the_demo_imports_no_slow_library():
    code = "import sys, triptych.simulate.demo; print({'pandas', 'openpyxl', 'scipy', 'plotly'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)

    assert done.stdout.strip() == "set()"
