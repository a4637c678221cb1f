"""The page that adds a whole study from its capsule, as a lead sees it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from helpers.capsules import rebuilt
from helpers.ratings import submit
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join
from helpers.study_pages import button, stored
from streamlit.testing.v1 import AppTest

from triptych.operations import capsule
from triptych.storage import database
from triptych.storage.models import StudyState
from triptych.study import lifecycle
from triptych.web.session import web_engine


@pytest.fixture
def file(tmp_path: Path, ready_sqlite: Path) -> Path:
    """The capsule of an open study of another installation, with one annotation."""
    (tmp_path / "other.db").write_bytes(ready_sqlite.read_bytes())
    engine = database.open_engine(f"sqlite:///{tmp_path / 'other.db'}")
    with database.writing(engine) as session:
        plan = lifecycle.StudyPlan(title="From elsewhere")
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), "L-1")
        lifecycle.set_state(session, study, StudyState.open, "L-1")
        submit(session, study, join(session, study, add_person(session, "ann")), full_answers())
        slug = study.slug
    path = tmp_path / "study.zip"
    path.write_bytes(b"".join(capsule.pieces(engine, slug)))
    engine.dispose()
    return path


def imported(page: AppTest, file: Path) -> str:
    """What the app says of the import of a file."""
    page.file_uploader(key="capsule").upload(file.name, file.read_bytes()).run()
    button(page, "Import").click().run()
    assert not page.exception
    (message,) = [success.value for success in page.success] or [error.value for error in page.error]
    return str(message).replace("\\", "")  # escaped Markdown


@pytest.mark.long
def test_a_capsule_becomes_a_study_of_its_importer_once(visit, lead, file):
    text = imported(visit(lead, "import_study.py"), file)

    assert "The study was imported. 1 annotator" in text
    assert "It was open and is now paused." in text
    with database.reading(web_engine()) as session:
        assert [line.study.title for line in lifecycle.lines_for_lead(session, lead)] == ["From elsewhere"]

    assert "This study already exists here" in imported(visit(lead, "import_study.py"), file)
    assert len(stored()) == 1


def test_a_changed_or_foreign_file_is_refused_in_words(visit, lead, file, tmp_path):
    changed = tmp_path / "changed.zip"
    rebuilt(file, changed, {"rubric.yaml": b"key: another"})
    assert "rubric.yaml in changed.zip was changed" in imported(visit(lead, "import_study.py"), changed)

    foreign = tmp_path / "foreign.zip"
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("items.csv", "item_id,context")
    assert "foreign.zip is not a study capsule" in imported(visit(lead, "import_study.py"), foreign)
    assert stored() == []
