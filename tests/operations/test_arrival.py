"""A study is added to a database with others, where its log still proves it."""

from __future__ import annotations

import json
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from helpers.busy import annotated, come_in, make_busy
from helpers.capsules import rebuilt, with_arrivals, with_event, with_log, with_sql
from helpers.check_items import check_item
from helpers.postgres_databases import wait_for_a_lock
from helpers.present import present
from helpers.ratings import resubmit, submit
from helpers.ratings_import import read
from helpers.replaced_statements import CANCELLED, TERMINATED, replaced
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join, sure
from sqlalchemy import Engine, func, select
from sqlmodel import Session

from triptych.errors import Conflict, ImportRefused
from triptych.exchange import exports, import_ratings
from triptych.formats import read_items
from triptych.formats.ratings.assemble import assemble
from triptych.operations import arrival, capsule, earlier_head, verify
from triptych.operations.arrival import Arrived
from triptych.people import accounts
from triptych.privacy import erasure, personal_data
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import build_frame
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.files import text_hash
from triptych.storage import database, events
from triptych.storage.database import reading, writing
from triptych.storage.events import EventKind
from triptych.storage.models import (
    Candidate,
    Comment,
    Event,
    EventDetail,
    Item,
    Login,
    Membership,
    Person,
    Purpose,
    Role,
    RubricText,
    Study,
    StudyState,
)
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.study import contents as contents_of
from triptych.study import copies, lifecycle
from triptych.study.check_items import add_check_items, sorted_out
from triptych.study.duplicate import duplicate
from triptych.study.persons import Who
from triptych.study.settings import Checks, StudySettings, settings_of, stored

PASSCODE = "a long passcode 42"
SLUG = "a-busy-study"


def home(path: Path, ready: Path) -> Engine:
    path.write_bytes(ready.read_bytes())
    return database.open_engine(f"sqlite:///{path}")


def lead_of(engine: Engine, name: str) -> Who:
    with writing(engine) as session:
        lead = accounts.create_lead(session, name, PASSCODE)
        return Who(lead.id, lead.pseudonym, lead.role, lead.name, 0)


def exported(engine: Engine, slug: str, path: Path) -> Path:
    path.write_bytes(b"".join(capsule.pieces(engine, slug)))
    return path


def faults(engine: Engine) -> dict[str, str]:
    """Study → what `verify` says of it, nothing where it holds."""
    with reading(engine) as session:
        verdicts = [verify.verify(session, study) for study in session.scalars(select(Study))]
    return {verdict.slug: "" if verdict.holds else verdict.sentence for verdict in verdicts}


def hashes(session: Session, slug: str) -> list[str]:
    log = select(Event.hash).join(Study, Study.id == Event.study_id).where(Study.slug == slug)
    return list(session.scalars(log.order_by(Event.number)))


@dataclass
class Journey:
    """A study's way: made at first, brought to second, where others of the same names were."""

    first: Engine
    second: Engine
    file: Path
    arrived: Arrived
    lead: Who


@pytest.fixture(scope="module")
def journey(tmp_path_factory, ready_sqlite) -> Iterator[Journey]:
    folder = tmp_path_factory.mktemp("homes")
    first, second = (home(folder / f"{name}.db", ready_sqlite) for name in ("first", "second"))
    make_busy(first)
    with writing(second) as session:
        plan = lifecycle.StudyPlan(title="A busy study")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), "L-1")
        lifecycle.set_state(session, study, StudyState.open, "L-1")
        for name in ("first", "second"):
            submit(session, study, join(session, study, add_person(session, name)), full_answers())
    file, lead = exported(first, SLUG, folder / "study.zip"), lead_of(second, "Dr New")
    yield Journey(first, second, file, capsule.import_study(file, second, lead), lead)
    for engine in (first, second):
        engine.dispose()


@pytest.mark.long
def test_the_study_holds_beside_another_of_its_name(journey):
    assert faults(journey.second) == {SLUG: "", f"{SLUG}-2": ""}
    with reading(journey.first) as here, reading(journey.second) as there:
        assert hashes(there, f"{SLUG}-2")[: len(hashes(here, SLUG))] == hashes(here, SLUG)


def test_people_arrive_without_logins_under_pseudonyms_of_their_own(journey):
    renamed = journey.arrived.renamed
    assert set(renamed) == {"P-first", "P-second"}
    with reading(journey.second) as session:
        study = lifecycle.by_slug(session, f"{SLUG}-2")
        seats = select(Person, Membership.role).join(Membership).where(Membership.study_id == study.id)
        people = {person.pseudonym: (role, person.passcode_hash is not None) for person, role in session.execute(seats)}
        assert people.pop(journey.lead.pseudonym) == (Role.lead, True)
        assert set(people.values()) == {(Role.annotator, False)}
        assert set(renamed.values()) < set(people)
        assert set(session.scalars(select(Comment.author))) > {renamed["P-first"]}
        assert session.scalars(select(func.count(Login.id))).one() == 0
        assert (study.state, journey.arrived.paused) == (StudyState.paused, True)


def test_a_lead_learns_what_changed_on_the_way(journey):
    called, people, renamed, paused = capsule.notes_on(journey.arrived)

    assert called == "It was called a-busy-study; a study or a series here already has that name."
    assert people.startswith("4 annotators: pseudonyms only")
    assert f"P-first is {journey.arrived.renamed['P-first']}" in renamed
    assert paused == "It was open and is now paused."


def test_an_earlier_head_and_an_export_still_prove_it(journey):
    with reading(journey.second) as session:
        heads = earlier_head.read(str(journey.file))
        assert {head.slug for head in heads} == {SLUG}
        assert all(earlier_head.compare(session, head).holds for head in heads)
        study = lifecycle.by_slug(session, f"{SLUG}-2")
        previous = ""
        for event in exports._events(session, study):
            assert event["previous_hash"] == previous
            previous = event["hash"]
            row = {**event, "at": session.scalars(select(Event.at).where(Event.hash == previous)).one()}
            assert events.chain_hash(row) == previous


@pytest.mark.long
def test_it_goes_on_and_travels_again(journey, tmp_path, ready_sqlite):
    third = home(tmp_path / "third.db", ready_sqlite)
    with writing(journey.second) as session:
        study = lifecycle.by_slug(session, f"{SLUG}-2")
        lifecycle.set_state(session, study, StudyState.open, journey.lead.pseudonym)
        come_in(session, study, "new")
        erasure.erase(session, study, journey.arrived.renamed["P-first"], sure(journey.lead))
    assert set(faults(journey.second).values()) == {""}

    with writing(third) as session:
        for name in ("new", "second", "third"):
            add_person(session, name)
    arrived = capsule.import_study(
        exported(journey.second, f"{SLUG}-2", tmp_path / "again.zip"), third, lead_of(third, "Dr Third")
    )

    assert set(arrived.renamed) == {"P-new", "P-third"}
    assert faults(third) == {f"{SLUG}-2": ""}
    with reading(third) as session:
        assert all(earlier_head.compare(session, head).holds for head in earlier_head.read(str(journey.file)))
    third.dispose()


def test_a_change_in_the_new_home_is_still_named(journey):
    with reading(journey.second) as session:
        study = lifecycle.by_slug(session, f"{SLUG}-2")
        number = f"(SELECT min(id) FROM assignment WHERE study_id = {study.id} AND state = 'submitted')"
        session.connection().exec_driver_sql(
            f"UPDATE rating SET number = 1 WHERE number = 2 AND assignment_id = {number}"
        )
        assert "the log says 2" in verify.verify(session, study).sentence
        session.rollback()


def test_the_same_study_comes_once(journey):
    with pytest.raises(Conflict, match=f"already exists here, as {SLUG}-2"):
        capsule.import_study(journey.file, journey.second, journey.lead)


@pytest.mark.long
def test_it_arrives_in_postgresql_and_travels_on(journey, postgres_engine, make_study, tmp_path, ready_sqlite):
    """Its tables have no spare types: numbers grow, sequences go on, and what SQLite stored as text is a time."""
    with writing(postgres_engine) as session:
        make_study(session)
        add_person(session, "first")
    lead = lead_of(postgres_engine, "Dr Elephant")

    arrived = capsule.import_study(journey.file, postgres_engine, lead)

    assert "P-first" in arrived.renamed
    with writing(postgres_engine) as session:
        study = lifecycle.by_slug(session, arrived.slug)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        come_in(session, study, "new")
    assert faults(postgres_engine) == {arrived.slug: "", "a-small-study": ""}
    with reading(postgres_engine) as session:
        assert all(earlier_head.compare(session, head).holds for head in earlier_head.read(str(journey.file)))
    with pytest.raises(Conflict, match="already exists here"):
        capsule.import_study(journey.file, postgres_engine, lead)
    last = home(tmp_path / "last.db", ready_sqlite)
    capsule.import_study(exported(postgres_engine, arrived.slug, tmp_path / "back.zip"), last, lead_of(last, "Dr Last"))
    assert faults(last) == {arrived.slug: ""}
    last.dispose()


@pytest.mark.long
def test_earlier_copies_of_a_renamed_person_are_listed(journey, tmp_path, ready_sqlite, monkeypatch):
    """The file has them under another pseudonym, which belongs to somebody else here."""
    monkeypatch.setenv("TRIPTYCH_HOME", str(tmp_path))
    engine = home(tmp_path / "triptych.db", ready_sqlite)
    with writing(engine) as session:
        add_person(session, "first")
    lead = lead_of(engine, "Dr New")
    (tmp_path / "study.zip").write_bytes(journey.file.read_bytes())
    arrived = capsule.import_study(tmp_path / "study.zip", engine, lead)
    name = arrived.renamed["P-first"]

    with writing(engine) as session:
        study = lifecycle.by_slug(session, arrived.slug)
        erasure.erase(session, study, name, sure(lead))
    with reading(engine) as session:
        study = lifecycle.by_slug(session, arrived.slug)
        assert [(copy.name, copy.holds) for copy in erasure.copies(session, study, lead)] == [("study.zip", (name,))]
    engine.dispose()


RATED = """annotator,item_id,system,criterion,value,excluded
first,i1,s1,fluency,1,1
first,i1,s2,fluency,2,1
second,i1,s1,fluency,1,0
second,i1,s2,fluency,2,0
"""


@pytest.mark.long
def test_a_renamed_annotators_exclusion_still_counts_at_the_closing(tmp_path, ready_sqlite):
    """The planned annotation that the exclusion left open was counted as received."""
    items = read_items(b"id,context,candidate:s1,candidate:s2\ni1,c,one,other\n", "items.csv")
    files = [read(RATED)]
    ratings = assemble(files, import_ratings.asked_as_proposed("Moved", files, import_ratings.proposed(files)), items)
    engine, there = (home(tmp_path / name, ready_sqlite) for name in ("first.db", "second.db"))
    lead, new_lead = lead_of(engine, "Dr Lead"), lead_of(there, "Dr New")
    with writing(engine) as session:
        plan = lifecycle.StudyPlan(title="Moved", raters_per_item=2)
        study = import_ratings.import_ratings(session, plan, ratings, lead, stays_open=True)
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        lifecycle.unblind(session, study, sure(lead))
        excluded = build_frame(session, study).work.query("excluded")["annotator"].item()
    with writing(there) as session:
        other = add_person(session, "other")
        session.get_one(Person, other.person_id).pseudonym = excluded

    arrived = capsule.import_study(exported(engine, "moved", tmp_path / "study.zip"), there, new_lead)

    with reading(there) as session:
        study = lifecycle.by_slug(session, arrived.slug)
        state = StudyAnalysis(build_frame(session, study), Counted(), {}).collection
    assert [*arrived.renamed] == [excluded]
    assert (state.planned, state.filled) == (2, 1)
    engine.dispose()
    there.dispose()


HOSTILE = {
    "UPDATE person SET pseudonym = 'P-' || char(10) || 'x' WHERE pseudonym = 'P-first'": "pseudonym",
    "UPDATE person SET pseudonym = '1' WHERE pseudonym = 'P-first'": "pseudonym",
    "DELETE FROM event WHERE number > 3": "missing",
    "UPDATE study SET settings = '{\"pay\": 3}'": "failed verification",
    "UPDATE assignment SET draft = '[1]'": "valid dictionary or instance of Answers",
    "DROP TABLE highlight": "has the table .highlight. in a form",
    "UPDATE event SET id = -id; UPDATE event_detail SET event_id = -event_id": "number -",
}


@pytest.mark.long
@pytest.mark.parametrize("put_in", HOSTILE)
def test_a_hostile_file_leaves_nothing_behind(journey, tmp_path, ready_sqlite, put_in):
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    lead = lead_of(fresh, "Dr Fresh")
    before = contents(fresh)
    with pytest.raises(ImportRefused, match=HOSTILE[put_in]):
        capsule.import_study(with_sql(journey.file, tmp_path, put_in), fresh, lead)
    assert contents(fresh) == before
    fresh.dispose()


AGAIN = {"state": "submitted", "at": "2026-01-01T00:00:00+00:00", "seconds": 1}
ODD_VALUES = [
    (EventKind.study_archived, {}),
    (EventKind.study_archived, {"folder": 5, "sha256": []}),
    (EventKind.results_opened, [1]),
    (EventKind.results_opened, {"planned": "6", "annotations": 1}),
    (EventKind.ratings_imported, {"joined": [], "left_out": {"first": "1"}}),
    (EventKind.ratings_imported, {"joined": [], "excluded": [["P-1"]]}),
    (EventKind.ratings_imported, {"joined": [], "left_out": {"first": 10**4299}}),
    (EventKind.consented, {"version": []}),
    (EventKind.consented, {"version": "1", "sharing": []}),
    (EventKind.consented, {"version": "1", "after_withdrawal": "burn"}),
    (EventKind.withdrew, {"ratings": "delete", "filled_places": "2"}),
    (EventKind.withdrew, {"ratings": "delete", "filled_places": -2}),
    (EventKind.withdrew, {"ratings": "delete", "filled_places": 10**4299}),
    (EventKind.study_copied, {"originals": [5]}),
    (EventKind.study_copied, {"from": {}}),
    (EventKind.study_open, {"repeats": {"launched": "1", "opened": 0, "unknown": 0}}),
    (EventKind.reminded, {"deep": json.loads("[" * 350 + "]" * 350)}),
    (EventKind.check_answered_again, "later"),
    (EventKind.check_answered_again, {"later": 5}),
    (EventKind.check_answered_again, {"later": AGAIN | {"at": "yesterday"}}),
    (EventKind.check_answered_again, {"later": AGAIN | {"state": []}}),
    (EventKind.check_answered_again, {"later": AGAIN | {"seconds": "1"}}),
    (EventKind.check_answered_again, {"later": AGAIN | {"note": 5}}),
    (EventKind.check_answered_again, {"later": AGAIN | {"ratings": [[0, "taste", 3, None, False, [], ""]]}}),
    (EventKind.check_answered_again, {"later": AGAIN | {"ratings": [[0, "verdict", None, "burn", False, [], ""]]}}),
]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "new"), ODD_VALUES)
def test_a_log_with_values_that_stop_an_erasure_is_refused(journey, tmp_path, ready_sqlite, kind, new):
    """Hashes and rows are right; results, exports, or lists of copies to delete, would end in an error for good."""
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    lead = lead_of(fresh, "Dr Fresh")
    with pytest.raises(ImportRefused, match="cannot belong to a study"):
        capsule.import_study(with_event(journey.file, tmp_path, kind, new), fresh, lead)
    fresh.dispose()


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new"),
    [({}, {"retired": 5}), ({}, {"reason": None}), ({"plan": [5]}, {}), ({"consent": {"after_withdrawal": "x"}}, {})],
)
def test_an_amendment_with_values_that_no_program_wrote_is_refused(journey, tmp_path, ready_sqlite, old, new):
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    lead = lead_of(fresh, "Dr Fresh")
    amended = Event.kind == EventKind.design_amended
    with reading(journey.first) as session:
        query = select(EventDetail.new).join(Event, Event.id == EventDetail.event_id).where(amended)
        sealed = session.scalars(query.order_by(Event.number.desc())).first()
    forged = with_event(journey.file, tmp_path, EventKind.design_amended, {**present(sealed), **new}, old)
    with pytest.raises(ImportRefused, match="cannot belong to a study"):
        capsule.import_study(forged, fresh, lead)
    fresh.dispose()


@pytest.mark.long
def test_a_study_with_a_check_answered_again_arrives(tmp_path, ready_sqlite):
    first, fresh = (home(tmp_path / f"{name}.db", ready_sqlite) for name in ("first", "fresh"))
    with writing(first) as session:
        study = lifecycle.create_study(session, lifecycle.StudyPlan(title="S"), SMALL_RUBRIC, draft_items(3), "L-1")
        study.settings = stored(StudySettings(checks=Checks(gold_every=2)))
        add_check_items(session, study, sorted_out([check_item(1, "gold", "fluency = 3")])[1], "L-1")
        lifecycle.set_state(session, study, StudyState.open, "L-1")
        who = join(session, study, add_person(session, "first"))
        works = [submit(session, study, who, full_answers()) for _ in range(4)]
        check = next(work for work in works if work.purpose == Purpose.gold)
        mark = {"slot": "B", "start": 0, "end": 3, "label": "good"}
        resubmit(session, who, check, annotated() | {"highlights": [mark]})

    arrived = capsule.import_study(exported(first, "s", tmp_path / "study.zip"), fresh, lead_of(fresh, "Dr Fresh"))

    with reading(fresh) as session:
        again = select(Event.id).where(Event.kind == EventKind.check_answered_again)
        assert session.scalars(again).all()
        assert personal_data.of_member(session, lifecycle.by_slug(session, arrived.slug), who.pseudonym)
    for engine in (first, fresh):
        engine.dispose()


def test_a_file_makes_no_study_that_all_leads_lead(tmp_path, ready_sqlite):
    """A demo study belongs to every lead, so its file would open an installation's own study to all of them."""
    first, fresh = (home(tmp_path / f"{name}.db", ready_sqlite) for name in ("first", "fresh"))
    with writing(first) as session:
        plan = lifecycle.StudyPlan(title="A demo study", demo=True)
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), "L-1")
    lead = lead_of(fresh, "Dr Fresh")

    with pytest.raises(ImportRefused, match="a demo study"):
        capsule.import_study(exported(first, study.slug, tmp_path / "demo.zip"), fresh, lead)

    with reading(fresh) as session:
        assert lifecycle.for_lead(session, lead) == []
    for engine in (first, fresh):
        engine.dispose()


@pytest.mark.parametrize("name", ["f\u0456rst", "first ", 'x"; filename="y'])
def test_a_pseudonym_that_looks_like_anothers_is_refused(tmp_path, ready_sqlite, name):
    first, fresh = (home(tmp_path / f"{name}.db", ready_sqlite) for name in ("first", "fresh"))
    with writing(first) as session:
        plan = lifecycle.StudyPlan(title="A study")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), "L-1")
        lifecycle.set_state(session, study, StudyState.open, "L-1")
        join(session, study, add_person(session, name))
    lead = lead_of(fresh, "Dr Fresh")

    with pytest.raises(ImportRefused, match="the pseudonym 'P-"):
        capsule.import_study(exported(first, study.slug, tmp_path / "study.zip"), fresh, lead)

    for engine in (first, fresh):
        engine.dispose()


def made(session: Session, title: str) -> tuple[Study, Who]:
    """A study with one annotation, and its annotator."""
    study = lifecycle.create_study(session, lifecycle.StudyPlan(title=title), SMALL_RUBRIC, draft_items(3), "L-1")
    lifecycle.set_state(session, study, StudyState.open, "L-1")
    who = join(session, study, add_person(session, title))
    submit(session, study, who)
    return study, who


def count_up(engine: Engine, number: int) -> None:
    """Gives the newest row of every table but the rubric's this number, from which SQLite goes on."""
    with closing(sqlite3.connect(str(engine.url.database))) as connection, connection:
        for name in {table.name for table in arrival.NUMBERED} - {"rubric"}:
            connection.execute(f'UPDATE "{name}" SET id = ? WHERE id = (SELECT max(id) FROM "{name}")', [number])


@pytest.mark.long
@pytest.mark.parametrize("first", [3, 2**31 - 10_000])
def test_numbers_go_on_where_those_here_end(tmp_path, ready_sqlite, first):
    """Near the end of what PostgreSQL can count, a file would have used up the numbers of everybody's rows."""
    away, fresh = (home(tmp_path / f"{name}.db", ready_sqlite) for name in ("away", "fresh"))
    with writing(away) as session:
        made(session, "before")
    count_up(away, first + 100)
    with writing(away) as session:
        slug = made(session, "numbers")[0].slug
    lead = lead_of(fresh, "Dr Fresh")

    capsule.import_study(exported(away, slug, tmp_path / "numbers.zip"), fresh, lead)

    with reading(fresh) as session:
        assert max(session.scalar(select(func.max(table.c.id))) or 0 for table in arrival.NUMBERED) < 200
        assert len(build_frame(session, lifecycle.by_slug(session, slug)).ratings) == 6
    assert faults(fresh) == {slug: ""}
    again = home(tmp_path / "again.db", ready_sqlite)
    capsule.import_study(exported(fresh, slug, tmp_path / "again.zip"), again, lead_of(again, "Dr Again"))
    assert faults(again) == {slug: ""}
    for engine in (away, fresh, again):
        engine.dispose()


def test_numbers_far_apart_are_refused(tmp_path, ready_sqlite):
    away, fresh = (home(tmp_path / f"{name}.db", ready_sqlite) for name in ("away", "fresh"))
    with writing(away) as session:
        study, who = made(session, "numbers")
        made(session, "between")
    count_up(away, 2 * arrival.LARGEST_SPAN)
    with writing(away) as session:
        submit(session, session.get_one(Study, study.id), who)
    lead = lead_of(fresh, "Dr Fresh")
    with pytest.raises(ImportRefused, match="row numbers are too far apart"):
        capsule.import_study(exported(away, study.slug, tmp_path / "numbers.zip"), fresh, lead)
    for engine in (away, fresh):
        engine.dispose()


def test_an_import_leaves_numbers_for_the_rows_of_others(journey, tmp_path, ready_sqlite):
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    lead = lead_of(fresh, "Dr Fresh")
    with writing(fresh) as session:
        made(session, "before")
    count_up(fresh, arrival.LARGEST_NUMBER - 10)
    with pytest.raises(ImportRefused, match="into a new database"):
        capsule.import_study(journey.file, fresh, lead)
    with writing(fresh) as session:
        made(session, "after")
    fresh.dispose()


def contents(engine: Engine) -> list[tuple[str, int | None]]:
    with reading(engine) as session:
        return [(table.name, session.scalar(select(func.count()).select_from(table))) for table in capsule.move.TABLES]


def test_a_bomb_is_refused_before_it_fills_the_disk(journey, tmp_path, monkeypatch):
    monkeypatch.setattr(capsule, "LARGEST", 1_000_000)
    monkeypatch.setattr(capsule, "LARGEST_UPLOADED", 1_000_000)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(journey.file) as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, b"\0" * 50_000_000 if name.endswith("study.db") else old.read(name))
    with pytest.raises(ImportRefused, match="is too large"):
        capsule.import_study(bomb, journey.second, journey.lead)
    with pytest.raises(ImportRefused, match="is too large"), bomb.open("rb") as file:
        capsule.uploaded(file, bomb.name).__enter__()
    monkeypatch.setattr(capsule, "MAX_UPLOAD", bomb.stat().st_size - 1)
    with pytest.raises(ImportRefused, match="study import"), bomb.open("rb") as file:
        capsule.uploaded(file, bomb.name).__enter__()


def test_a_page_adds_no_study_that_stalls_annotators(journey, monkeypatch):
    """Nobody else writes while rows are added, some 50 µs each; a command has the database to itself."""
    monkeypatch.setattr(capsule, "MAX_ROWS_UPLOADED", 100)
    with (
        pytest.raises(ImportRefused, match=r"rows; up to 100 are added here\..*study import"),
        journey.file.open("rb") as file,
    ):
        capsule.uploaded(file, journey.file.name).__enter__()


def test_paths_and_links_in_a_zip_reach_no_file(journey, tmp_path):
    evil = tmp_path / "evil.zip"
    rebuilt(journey.file, evil, {})
    link = zipfile.ZipInfo("../../rubric.yaml")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(evil, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(ImportRefused, match=r"rubric\.yaml in evil\.zip was changed"):
        capsule.import_study(evil, journey.second, journey.lead)


def test_an_author_of_comments_takes_no_pseudonym_in_use(journey, tmp_path):
    """A file's maker could have written its log so that a lead of this installation asks things in it."""
    other = with_sql(journey.file, tmp_path, f"UPDATE comment SET author = '{journey.lead.pseudonym}'")
    with zipfile.ZipFile(other) as archive:
        member = next(name for name in archive.namelist() if name.endswith("study.db"))
        (tmp_path / "study.db").write_bytes(archive.read(member))
    source = database.open_engine(f"sqlite:///{tmp_path / 'study.db'}")
    with source.connect() as old, reading(journey.second) as session:
        assert journey.lead.pseudonym in arrival._renamed(session, old)
    source.dispose()


@pytest.mark.long
@pytest.mark.parametrize("instead", [CANCELLED, TERMINATED], ids=["cancelled", "terminated"])
def test_a_database_that_stops_answering_refutes_no_study(postgres_engine, journey, instead):
    lead = lead_of(postgres_engine, "Ada")
    with replaced(postgres_engine, "snapshot.file", instead), pytest.raises(DatabaseUnavailable):
        capsule.import_study(journey.file, postgres_engine, lead)

    assert faults(postgres_engine) == {}


def test_a_row_that_postgresql_cannot_hold_brings_nothing(postgres_engine, journey, tmp_path):
    file = with_log(journey.file, tmp_path, "UPDATE comment SET text = 'a' || char(0) || 'b'")
    with pytest.raises(ImportRefused, match=r"cannot belong to a study: .* NUL \(0x00\).*\. Nothing was imported\."):
        capsule.import_study(file, postgres_engine, lead_of(postgres_engine, "Ada"))

    assert faults(postgres_engine) == {}


@pytest.mark.long
def test_a_study_arrives_while_an_annotator_submits(postgres_engine, make_study, journey):
    """Each waited for a table that the other held, until PostgreSQL ended one of them."""
    lead = lead_of(postgres_engine, "Ada")
    with writing(postgres_engine) as session:
        study, _, (anna, _) = make_study(session)
    with ThreadPoolExecutor(1) as threads, writing(postgres_engine) as session:
        submit(session, session.get_one(Study, study.id), anna)  # the study's row is written at the commit
        arriving = threads.submit(capsule.import_study, journey.file, postgres_engine, lead)
        wait_for_a_lock(session, arriving)
        database.commit(session)

    assert arriving.result().slug == SLUG
    assert not any(faults(postgres_engine).values())


@pytest.mark.long
def test_a_study_arrives_while_one_of_its_name_is_created(postgres_engine, make_study, journey, monkeypatch):
    """With a rubric that is here already, the new study's name was chosen before the arrival took it."""
    lead = lead_of(postgres_engine, "Ada")
    with writing(postgres_engine) as session:
        make_study(session)
    rename, creating = arrival._renamed, []

    def create() -> str:
        with writing(postgres_engine) as session:
            plan = lifecycle.StudyPlan(title="A busy study")
            return lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(1), "L", lead.person_id).slug

    def create_meanwhile(*args: Any) -> dict[str, str]:
        creating.append(threads.submit(create))
        with reading(postgres_engine) as session:
            wait_for_a_lock(session, creating[0])
        return rename(*args)

    monkeypatch.setattr(arrival, "_renamed", create_meanwhile)
    with ThreadPoolExecutor(1) as threads:
        arrived = capsule.import_study(journey.file, postgres_engine, lead)

    assert (arrived.slug, creating[0].result()) == (SLUG, f"{SLUG}-2")


def test_a_study_arrives_once_from_two_imports(postgres_engine, journey):
    """Alembic, which makes the tables to compare with, mixed up both files."""
    lead = lead_of(postgres_engine, "Ada")
    together = Barrier(2)

    def bring(_: int) -> str:
        together.wait()
        try:
            return capsule.import_study(journey.file, postgres_engine, lead).slug
        except Conflict:
            return ""

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(bring, range(2))) == ["", SLUG]


ODD = [
    ("item", "raters", "4611686018427387904"),
    ("item", "priority", "-9223372036854775808"),
    ("explanation", "words", "2147483648"),
    ("system", "blind_code", "9223372036854775000"),
    ("system", "blind_code", "0"),
    ("reference", "accepted", "'another'"),
    ("reference", "position", "3"),
    ("membership", "turned_away_as", "'another'"),
    ("study", "item_count", "2147483647"),
    ("study", "presentation", "'upside_down'"),
    ("study", "created_at", "'0001-01-01 00:00:00.000000'"),
    ("study", "unblinded_at", "created_at"),  # and its log has no such event
    ("assignment", "submitted_at", "'9999-12-31 23:59:59.999999'"),
    ("assignment", "arrangement", "'upside_down'"),
    ("assignment", "active_seconds", "1e308"),
    ("rating", "number", "9e999"),
    ("rating", "number", "1e308"),
    ("explanation", "reasons", "'5'"),
    ("explanation", "reasons", "'[[1], 2]'"),
    ("highlight", "label", "'another'"),
    ("highlight", "unit", "'pages'"),
    ("study", "design_hash", "'x` |' || char(10) || '# Results'"),
    ("assignment", "design_hash", "'x'"),
    ("assignment", "language", "'en' || char(10) || 'System 1 is best'"),
    ("item", "meta", """'{"year": 1e400}'"""),
    ("item", "meta", "'[]'"),
    ("system", "blind_code", "2147483640"),
    ("system", "name", "printf('%.*c', 300000, 'x')"),
    ("criterion", "key", "'another'"),
    ("criterion", "kind", "'another'"),
    ("option", "key", "'=1'"),
]
ODD_ROWS = [
    *(f"UPDATE {table} SET {name} = {value} WHERE id = (SELECT min(id) FROM {table})" for table, name, value in ODD),
    "INSERT INTO system (study_id, name, blind_code) WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n "
    "WHERE i < 300) SELECT study.id, i, i FROM study, n",
    """UPDATE study SET settings = '{"pay": {"per_item": "1E+900000000"}}'""",
    """UPDATE study SET settings = '{"items_per_annotator": "7"}'""",
    *(
        f"""UPDATE study SET settings = '{{"heds": {answers}}}'"""
        for answers in (
            '{"2.4": [[400], "x"]}',
            '{"1.1.1": [[], 5]}',
            '{"2.4": 5}',
            '{"2.4": [["1"], "x"]}',
            '{"2.4": [[1, 1], "x"]}',
        )
    ),
    "UPDATE rating SET number = 1, option_id = NULL WHERE option_id IS NOT NULL",
    "UPDATE rating SET number = NULL, option_id = (SELECT min(id) FROM option) WHERE number IS NOT NULL",
    "UPDATE turn SET position = 7 WHERE position = 1",
    "UPDATE highlight SET turn = 9, quote = ''",
    "UPDATE study SET title = printf('%.*c', 1000, 'x')",
    "UPDATE study SET slug = printf('%.*c', 1000, 'x')",
    "UPDATE study SET series = printf('%.*c', 1000, 'x')",
    "UPDATE rating SET position = NULL WHERE id = (SELECT min(id) FROM rating)",
    "DELETE FROM highlight; UPDATE slot SET position = position + 900; UPDATE rating SET position = position + 900",
]


@pytest.mark.long
@pytest.mark.parametrize("change", ODD_ROWS)
def test_rows_that_no_page_or_report_knows_are_refused(journey, tmp_path, ready_sqlite, change):
    """Such a study arrived, with a log that proved it; its pages, or all lists of studies, ended in an error."""
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    lead = lead_of(fresh, "Dr Fresh")
    with pytest.raises(ImportRefused, match="cannot belong to a study"):
        capsule.import_study(with_log(journey.file, tmp_path, change), fresh, lead)
    fresh.dispose()


def with_rubric(change: Callable[[str], str], home_of: Engine) -> str:
    """The SQL that gives the only study this change of its rubric, with the right hash."""
    with reading(home_of) as session:
        changed = change(session.scalars(select(RubricText.yaml)).one())
    quoted = changed.replace("'", "''")
    return f"UPDATE rubric SET yaml = '{quoted}', sha256 = '{text_hash(changed)}'"


def test_a_study_that_asks_nothing_is_refused(journey, tmp_path, ready_sqlite):
    """Its page Items ended in an error."""
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    lead = lead_of(fresh, "Dr Fresh")
    silent = partial(re.sub, "(?m)^(    definition: )", r"    rounds: [pilot]\n\1")
    emptied = "; ".join(f"DELETE FROM {name}" for name in ("explanation", "rating", "option", "reference", "criterion"))
    change = f"{emptied}; {with_rubric(silent, journey.first)}"
    with pytest.raises(ImportRefused, match="asks nothing in a main round"):
        capsule.import_study(with_log(journey.file, tmp_path, change), fresh, lead)
    fresh.dispose()


def test_a_study_of_too_many_criteria_is_refused(journey, tmp_path, ready_sqlite):
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    lead = lead_of(fresh, "Dr Fresh")
    rest = "definition: D, rounds: [pilot], scale: {kind: likert, points: [{value: 1}, {value: 2}]}"
    more = "".join(f"  - {{key: k{n}, title: T{n}, {rest}}}\n" for n in range(50))
    change = with_rubric(lambda yaml: yaml.replace("criteria:\n", f"criteria:\n{more}"), journey.first)
    with pytest.raises(ImportRefused, match="52 criteria; a rubric has at most 50"):
        capsule.import_study(with_log(journey.file, tmp_path, change), fresh, lead)
    fresh.dispose()


@pytest.mark.long
def test_a_refused_study_leaves_no_design_behind(journey, tmp_path, ready_sqlite):
    """The next one that gets its number may have its seed and times: people saw the rubric of the refused one."""
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    lead = lead_of(fresh, "Dr Fresh")
    forged = with_rubric(lambda yaml: yaml.replace("    definition: ", "    definition: Forged. "), journey.first)
    change = f"{forged}; UPDATE assignment SET draft = '[1]'"
    with pytest.raises(ImportRefused, match="cannot belong to a study"):
        capsule.import_study(with_log(journey.file, tmp_path, change), fresh, lead)
    arrived = capsule.import_study(journey.file, fresh, lead)

    with reading(fresh) as session:
        rubric = lifecycle.design_of(session, lifecycle.by_slug(session, arrived.slug)).rubric
    assert not [each.key for each in rubric.criteria if each.definition.startswith("Forged")]
    fresh.dispose()


@pytest.mark.parametrize("turns", [[[1, 2]], ["ab"], {}])
def test_a_response_of_turns_without_texts_is_refused(journey, tmp_path, ready_sqlite, turns):
    """Results, the preview and annotators' pages ended in an error, although all hashes were right."""
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    lead = lead_of(fresh, "Dr Fresh")
    with reading(journey.first) as session:
        item = session.scalars(select(Item).where(Item.external_id == "item-2")).one()
        responses = session.scalars(select(Candidate).where(Candidate.item_id == item.id).order_by(Candidate.id)).all()
        texts = [[None, turns], *([each.text, each.turns] for each in responses[1:])]
        about = contents_of.content_hash([item.context, [], item.extra_texts, texts])
        of_first = contents_of.content_hash(texts[0])
        change = (
            f"UPDATE item SET sha256 = '{about}' WHERE id = {item.id}; UPDATE candidate SET text = NULL, "
            f"turns = '{json.dumps(turns)}', sha256 = '{of_first}' WHERE id = {responses[0].id}"
        )
    with pytest.raises(ImportRefused, match="cannot belong to a study"):
        capsule.import_study(with_log(journey.file, tmp_path, change), fresh, lead)
    fresh.dispose()


def test_a_study_arrives_with_its_datasheet(journey, tmp_path, ready_sqlite):
    """Also with answers to questions of another version."""
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    answers = {"2.4": [[1], "five systems"], "4.1.1 fluency": [[2], ""], "99.9": [[7], "x"], "1.1.1": [[], "y" * 5000]}
    change = f"UPDATE study SET settings = '{json.dumps({'heds': answers})}'"
    arrived = capsule.import_study(with_log(journey.file, tmp_path, change), fresh, lead_of(fresh, "Dr Fresh"))
    with reading(fresh) as session:
        assert settings_of(lifecycle.by_slug(session, arrived.slug)).heds == answers
    fresh.dispose()


@pytest.mark.long
def test_a_study_with_an_older_draft_arrives(journey, tmp_path, ready_sqlite):
    """Version 0.1.0 stored up to a thousand highlights of an item."""
    fresh = home(tmp_path / "fresh.db", ready_sqlite)
    draft = {"highlights": [{"slot": "A", "start": 0, "end": 1, "label": "quote"}] * 1000}
    change = f"UPDATE assignment SET draft = '{json.dumps(draft)}'"
    arrived = capsule.import_study(with_log(journey.file, tmp_path, change), fresh, lead_of(fresh, "Dr Fresh"))

    assert arrived.slug == SLUG
    fresh.dispose()


def test_a_log_of_many_arrivals_is_never_played(journey, tmp_path, monkeypatch):
    """At each, the numbers and names of all later ones are put together, while nobody else can write."""
    file = with_arrivals(journey.file, tmp_path, 21)
    monkeypatch.setattr(verify, "verify", None)
    with pytest.raises(ImportRefused, match="imported more than 20 times"):
        capsule.import_study(file, journey.second, journey.lead)


@pytest.mark.long
@pytest.mark.parametrize("logged_before", [False, True])
def test_earlier_runs_of_a_moved_study_are_in_its_log(tmp_path, ready_sqlite, monkeypatch, logged_before):
    """After the move, none of their results counted as opened; logged_before: by a version that did not log them."""
    old, fresh = (home(tmp_path / f"{name}.db", ready_sqlite) for name in ("old", "fresh"))
    lead, there = lead_of(old, "Dr Old"), lead_of(fresh, "Dr Fresh")
    if logged_before:
        monkeypatch.setattr(copies, "to_log", lambda *of: {})
    with writing(old) as session:
        plan = lifecycle.StudyPlan(title="Run")
        first = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), lead.pseudonym, lead.person_id)
        lifecycle.set_state(session, first, StudyState.open, lead.pseudonym)
        events.record(session, first.id, EventKind.results_opened, lead.pseudonym)
        study = duplicate(session, first, "Run", lead)
        events.write_pending(session)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        for each in (first, study):
            lifecycle.unblind(session, each, sure(lead))
        events.write_pending(session)
        assert copies.earlier_runs(session, study) == copies.EarlierRuns(launched=1, opened=1, unknown=0, items=2)
    with writing(fresh) as session:
        plan = lifecycle.StudyPlan(title="Run")  # of the same short name
        stranger = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(2), there.pseudonym, there.person_id)
        assert stranger.slug == first.slug

    moved = capsule.import_study(exported(old, study.slug, tmp_path / "run.zip"), fresh, there)

    with reading(fresh) as session:
        runs = copies.earlier_runs(session, lifecycle.by_slug(session, moved.slug))
    assert runs == (copies.EarlierRuns(0, 0, 1) if logged_before else copies.EarlierRuns(1, 1, 0, 2))
    for engine in (old, fresh):
        engine.dispose()
