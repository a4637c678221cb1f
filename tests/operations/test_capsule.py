"""A capsule carries a whole study to another machine, without who its people are, and shows if it was changed."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from types import SimpleNamespace

import pytest
from helpers.annotations import annotate_with_everything
from helpers.capsules import rebuilt, with_sql
from helpers.ratings import append_scores
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, join, sure
from sqlalchemy import select, update

from triptych.errors import Conflict, ImportRefused, NotAllowed, NotFound, UnsafeDatabase
from triptych.operations import backup, capsule, verify
from triptych.storage import database, schema, wiping
from triptych.storage.database import reading, writing
from triptych.storage.models import (
    Assignment,
    Membership,
    PanelIdentity,
    Person,
    Rating,
    Role,
    Setting,
    Study,
    StudyState,
)
from triptych.study import lifecycle

PASSCODE = "a long passcode 42"


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """(engine, slug): a database with two studies, one of them with two annotations by people with names."""
    engine = database.open_engine(f"sqlite:///{tmp_path_factory.mktemp('origin') / 'triptych.db'}")
    schema.migrate(engine)
    with writing(engine) as session:
        for title in ("Another study", "The study"):
            study = lifecycle.create_study(
                session, lifecycle.StudyPlan(title=title), SMALL_RUBRIC, draft_items(3), "L-1"
            )
            lifecycle.set_state(session, study, StudyState.open, "L-1")
            for name in ("ann", "ben"):
                who = join(session, study, add_person(session, f"{name}-{study.id}"))
                session.get_one(Person, who.person_id).name = f"Mrs {name.title()}"
                annotate_with_everything(session, study, who)
        session.get_one(Person, who.person_id).email = "her@address.example"
        session.add(PanelIdentity(person_id=who.person_id, panel="prolific", external_id="WHO-SHE-IS"))
    yield engine, study.slug
    engine.dispose()


@pytest.fixture(scope="module")
def packed(origin, tmp_path_factory):
    """The capsule of the second study."""
    path = tmp_path_factory.mktemp("packed") / "study.zip"
    path.write_bytes(b"".join(capsule.pieces(*origin)))
    return path


@pytest.fixture
def elsewhere(tmp_path):
    engine = database.open_engine(f"sqlite:///{tmp_path / 'elsewhere.db'}")
    yield engine
    engine.dispose()


def test_a_capsule_opens_elsewhere_with_ratings_and_log(origin, packed, elsewhere):
    here_engine, slug = origin
    opened = capsule.open_capsule(packed, elsewhere, "Dr New", PASSCODE)

    with reading(elsewhere) as there, reading(here_engine) as here:
        study = there.scalars(select(Study)).one()
        assert (study.slug, study.event_number) == (slug, opened.events)
        assert verify.verify(there, study).holds
        ratings = select(Rating.number).join(Assignment, Assignment.id == Rating.assignment_id).order_by(Rating.id)
        mine, theirs = (
            session.scalars(ratings.join(Study, Study.id == Assignment.study_id).where(Study.slug == slug)).all()
            for session in (here, there)
        )
        assert len(theirs) == 12
        assert mine == theirs
        lead = there.scalars(select(Person).where(Person.name == "Dr New")).one()
        roles = there.scalars(select(Membership.role).where(Membership.person_id == lead.id)).all()
        assert roles == [Role.lead]


def test_a_capsule_lists_its_contents_and_holds_no_names(origin, packed):
    with zipfile.ZipFile(packed) as archive:
        files = {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist()}
    assert set(files) == {"study.db", "rubric.yaml", "codebook.json", "README.md", "manifest.json"}
    assert json.loads(files["manifest.json"])["study"]["slug"] == origin[1]
    assert [criterion["key"] for criterion in json.loads(files["codebook.json"])["criteria"]] == ["fluency", "verdict"]
    assert b"key: small" in files["rubric.yaml"]
    everything = b"".join(files.values())
    assert not [word for word in (b"WHO-SHE-IS", b"her@address", b"Mrs ", b"Another study") if word in everything]


@pytest.mark.long
def test_a_judge_is_recognised_after_a_capsule(sqlite_engine, make_study, elsewhere, tmp_path):
    with writing(sqlite_engine) as session:
        study, lead, (somebody, _) = make_study(session)
        judge, slug = append_scores(session, study, lead, "some-model"), study.slug
        session.get_one(Person, somebody.person_id).name = "Mrs Ann"
    (tmp_path / "study.zip").write_bytes(b"".join(capsule.pieces(sqlite_engine, slug)))
    changed = with_sql(tmp_path / "study.zip", tmp_path, "UPDATE person SET name = char(10) || name")
    capsule.open_capsule(changed, elsewhere, "Dr New", PASSCODE)

    with writing(elsewhere) as session:
        names = session.scalars(select(Person.name).where(Person.name.is_not(None)).order_by(Person.name)).all()
        assert names == ["Dr New", "some-model"]
        study = lifecycle.by_slug(session, slug)
        with pytest.raises(Conflict, match=f"{judge} has scored item-"):
            append_scores(session, study, lead, "some-model")


def test_it_opens_into_an_empty_database_only(packed, origin):
    with pytest.raises(UnsafeDatabase, match="not empty"):
        capsule.open_capsule(packed, origin[0], "Dr New", PASSCODE)


def test_a_lead_with_an_unusable_passcode_opens_nothing(packed, elsewhere):
    with pytest.raises(NotAllowed):
        capsule.open_capsule(packed, elsewhere, "Dr New", "short")
    assert schema.stored_version(elsewhere) is None


@pytest.mark.parametrize("name", ["rubric.yaml", "study.db"])
def test_a_file_changed_afterwards_is_named(packed, elsewhere, tmp_path, name):
    rebuilt(packed, tmp_path / "bad.zip", {name: b"something else"})
    with pytest.raises(ImportRefused, match=f"{name} in bad.zip was changed"):
        capsule.open_capsule(tmp_path / "bad.zip", elsewhere, "Dr New", PASSCODE)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 2, "licence": "CC-BY-4.0"}, r"bad\.zip was made by a newer version of Triptych\. Update this one"),
        ({"schema_version": "9999"}, r"bad\.zip was made by a newer version of Triptych\. Update this one"),
        ({"study": {"slug": "other"}}, "The study in the capsule is not the one that its manifest names"),
    ],
)
def test_a_manifest_of_another_version_or_study_is_named(packed, elsewhere, tmp_path, change, sentence):
    with zipfile.ZipFile(packed) as archive:
        name = next(name for name in archive.namelist() if name.endswith("manifest.json"))
        manifest = json.loads(archive.read(name)) | change
    rebuilt(packed, tmp_path / "bad.zip", {"manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(ImportRefused, match=sentence):
        capsule.open_capsule(tmp_path / "bad.zip", elsewhere, "Dr New", PASSCODE)


def test_a_changed_row_with_a_corrected_manifest_is_detected(packed, elsewhere, tmp_path):
    with zipfile.ZipFile(packed) as archive:
        files = {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist()}
    stored = tmp_path / "study.db"
    stored.write_bytes(files["study.db"])
    with sqlite3.connect(stored) as connection:
        connection.execute("UPDATE rating SET number = 1 WHERE number = 2")
    connection.close()
    manifest = json.loads(files["manifest.json"])
    manifest["sha256"]["study.db"] = backup.file_hash(stored)
    change = {"study.db": stored.read_bytes(), "manifest.json": json.dumps(manifest).encode()}
    rebuilt(packed, tmp_path / "bad.zip", change)

    with pytest.raises(ImportRefused, match="failed verification.*the log says 2"):
        capsule.open_capsule(tmp_path / "bad.zip", elsewhere, "Dr New", PASSCODE)


@pytest.mark.parametrize("content", [b"", b"PK no zip", None])
def test_what_is_no_capsule_is_refused_in_a_sentence(elsewhere, tmp_path, content):
    bad = tmp_path / "bad.zip"
    if content is None:
        zipfile.ZipFile(bad, "w").close()
    else:
        bad.write_bytes(content)
    with pytest.raises(ImportRefused, match=r"bad\.zip is not a study capsule"):
        capsule.open_capsule(bad, elsewhere, "Dr New", PASSCODE)


@pytest.mark.parametrize(
    "put_in",
    [
        "UPDATE study SET settings = '{'",
        "UPDATE study SET created_at = 'nonsense'",
        "UPDATE study SET settings = replace(hex(zeroblob(50000)), '0', '[')",
        "UPDATE alembic_version SET version_num = '0000'",
        "UPDATE alembic_version SET version_num = '0001'",
        "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'x' WHERE name = 'rating'",
    ],
)
def test_a_database_with_nonsense_is_refused_in_a_sentence(packed, elsewhere, tmp_path, put_in):
    with pytest.raises(ImportRefused, match=r"changed\.zip holds no study that can be read"):
        capsule.open_capsule(with_sql(packed, tmp_path, put_in), elsewhere, "Dr New", PASSCODE)


def test_a_damaged_stream_is_refused_in_a_sentence(packed, elsewhere, tmp_path):
    content = bytearray(packed.read_bytes())
    with zipfile.ZipFile(packed) as archive:
        place = archive.infolist()[0].header_offset + 30 + len(archive.namelist()[0])
    content[place : place + 40] = b"\xff" * 40
    (tmp_path / "bad.zip").write_bytes(content)

    with pytest.raises(ImportRefused, match=r"bad\.zip is not a study capsule"):
        capsule.open_capsule(tmp_path / "bad.zip", elsewhere, "Dr New", PASSCODE)


@pytest.mark.parametrize(("member", "free"), [("manifest.json", 2**50), ("study.db", 2**20)])
def test_what_would_fill_the_disk_is_not_unpacked(packed, elsewhere, tmp_path, monkeypatch, member, free):
    """25 MB of zeros, which take 25 kB in the zip."""
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, bytes(25_000_000) if name.endswith(member) else old.read(name))
    monkeypatch.setattr(capsule.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))

    with pytest.raises(ImportRefused, match="is not a study capsule|too large, or there is no room"):
        capsule.open_capsule(tmp_path / "bomb.zip", elsewhere, "Dr New", PASSCODE)


def test_an_unknown_or_blind_study_is_refused(origin):
    engine, slug = origin
    with pytest.raises(NotFound):
        b"".join(capsule.pieces(engine, "nowhere"))
    with writing(engine) as session:
        study = lifecycle.by_slug(session, slug)
        with pytest.raises(NotAllowed, match="Unblind the study first"):
            capsule.check_request(study)
        lifecycle.unblind(session, study, sure("L-1"))
        capsule.check_request(study)


ACCOUNT = "kind, role, pseudonym, name, passcode_hash, created_at"


@pytest.mark.parametrize(
    "put_in",
    [
        f"INSERT INTO person ({ACCOUNT}) SELECT kind, 'lead', 'L-X', 'Eve', 'x', created_at FROM person LIMIT 1",
        "UPDATE person SET role = 'lead', name = 'Eve', passcode_hash = 'x', identity = 'eve' "
        "WHERE id = (SELECT max(id) FROM person)",
        "INSERT INTO setting (key, value) VALUES ('Eve', '1')",
    ],
)
def test_no_account_or_setting_comes_in_with_a_capsule(packed, elsewhere, tmp_path, put_in):
    """Its maker would sign in as a lead."""
    capsule.open_capsule(with_sql(packed, tmp_path, put_in), elsewhere, "Dr New", PASSCODE)

    with reading(elsewhere) as session:
        known = Person.name.is_not(None) | Person.passcode_hash.is_not(None) | Person.identity.is_not(None)
        named = select(Person.name).where(known)
        assert session.scalars(named).all() == ["Dr New"]
        assert session.scalars(select(Setting)).all() == []


@pytest.mark.parametrize(
    "put_in",
    [
        "CREATE TRIGGER t AFTER INSERT ON person BEGIN UPDATE rating SET number = 1; END",
        "ALTER TABLE rating RENAME TO true_rating; CREATE VIEW rating AS SELECT * FROM true_rating",
    ],
)
def test_a_capsule_that_changes_itself_is_refused(packed, elsewhere, tmp_path, put_in):
    with pytest.raises(ImportRefused, match="which this program never creates"):
        capsule.open_capsule(with_sql(packed, tmp_path, put_in), elsewhere, "Dr New", PASSCODE)


def test_a_capsule_of_an_unfinished_file_is_not_delivered(origin, monkeypatch):
    """A full disk: the last close moves nothing from the log into the file, and reports no error."""
    readers = []

    def with_reader(copy, tables):
        readers.append(sqlite3.connect(database.sqlite_path(str(copy.url))))
        readers[0].execute("SELECT 1 FROM study").fetchall()
        with writing(copy) as session:
            session.execute(update(Study).values(title="The study"))
        return []

    monkeypatch.setattr(wiping, "wipe", with_reader)
    with pytest.raises(UnsafeDatabase, match="the disk of the data folder is full"):
        b"".join(capsule.pieces(*origin))
    readers[0].close()
