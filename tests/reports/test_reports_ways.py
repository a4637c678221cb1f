"""How a report is made, stored and delivered: the store, the address, the command line, the lead's page."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import zipfile

import pytest
from helpers.downloads import get
from helpers.ratings import append_scores, submit
from helpers.reports import again, numbers, report_of
from helpers.results_pages import words
from helpers.studies import ROOT, add_person, full_answers
from sqlalchemy import inspect, select, text, update
from starlette.applications import Starlette

from triptych.annotate import exclusions
from triptych.cli import main as command_line
from triptych.errors import NotFound
from triptych.people import invitations, links, viewers
from triptych.privacy import withdrawal
from triptych.reports import snapshot
from triptych.results import adjudication
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.judges import margin
from triptych.storage import database, schema
from triptych.storage.models import Assignment, Highlight, Item, Kind, Person, Role, Study
from triptych.study import design, heds_answers, lifecycle
from triptych.study.design import Parts
from triptych.study.persons import Who
from triptych.study.settings import Recruitment, changed, stored
from triptych.web import export
from triptych.web.session import web_engine


def rated(engine, make_study):
    """(study, lead, annotators) with two annotations."""
    with database.writing(engine) as session:
        study, lead, people = make_study(session, items=1, title="Freeze me")
        for who, fluency in zip(people, (3, 2), strict=True):
            submit(session, study, who, full_answers(fluency=fluency))
    return study, lead, people


def freeze(engine, study, scope=None):
    """Makes a report and stores it, as the page does."""
    report = report_of(engine, study, scope)
    with database.writing(engine) as session:
        snapshot.keep(session, lifecycle.by_slug(session, study.slug), report, "P-lead")
    return report


@pytest.mark.long
def test_a_snapshot_stays_the_same_when_the_study_continues(engine, make_study):
    study, _, people = rated(engine, make_study)
    first = freeze(engine, study)
    again = freeze(engine, study)
    with database.writing(engine) as session:
        heds_answers.store(session, study, {("5.1", ""): heds_answers.Answer(text="None")}, {}, "P-lead")
    second = freeze(engine, study, Counted(annotators=frozenset({people[0].pseudonym})))

    with database.reading(engine) as session:
        study = lifecycle.by_slug(session, study.slug)
        listed = snapshot.listed(session, study)
        assert [frozen.sha256 for frozen in listed] == [second.sha256, first.sha256]
        assert (again.sha256, snapshot.newest(session, study)) == (first.sha256, second.sha256)
        assert snapshot.file_of(session, study, first.sha256) == first.zip
        assert listed[0].counted == Counted(annotators=frozenset({people[0].pseudonym}))
        assert (listed[1].event_number, listed[1].made_by, listed[1].size) == (
            first.event_number,
            "P-lead",
            len(first.zip),
        )
        with pytest.raises(NotFound, match="no such report"):
            snapshot.file_of(session, study, "0" * 64)


def test_an_amendment_is_printed_with_its_reason(sqlite_engine, make_study):
    engine = sqlite_engine
    study, lead, _ = rated(engine, make_study)
    with database.writing(engine) as session:
        parts = Parts(settings={"content_note": "Rude words."})
        assert design.amend(session, study, parts, "They are editors.", lead.pseudonym)
        (amendment,) = design.amendments(session, study)
    assert (amendment.parts, amendment.reason) == (("content note",), "They are editors.")
    assert "They are editors." in report_of(engine, study).files["methods.txt"].decode()


def test_the_kind_of_annotators_decides_the_margin_of_judges(sqlite_engine, make_study):
    study, _, _ = rated(sqlite_engine, make_study)
    with database.writing(sqlite_engine) as session:
        study = session.get_one(Study, study.id)
        before = margin(frame_of(session, study))
        study.settings = stored(changed(study, expertise="expert"))
    assert (before, json.loads(report_of(sqlite_engine, study).files["codebook.json"])["epsilon"]) == (0.15, 0.2)


def test_a_report_names_counted_kinds_and_removed_items(sqlite_engine, make_study):
    engine = sqlite_engine
    with database.writing(engine) as session:
        study, _, people = make_study(session, items=2, annotators=3)
        for who in people * 2:
            submit(session, study, who)
        session.get_one(Person, people[2].person_id).kind = Kind.judge
        session.execute(update(Item).where(Item.external_id == "item-1").values(retired=True, retired_reason="a twin"))
    report = report_of(engine, study)
    methods = report.files["methods.txt"].decode()
    who = "2 annotators (human) rated responses of 3 systems to 2 of 2 items (1 of them taken out of the study)"
    assert who in methods
    assert "2 (human)." in report.files["heds.md"].decode()


@pytest.mark.long
def test_how_excluded_annotators_worked_is_in_no_report(sqlite_engine, make_study):
    study, lead, people = rated(sqlite_engine, make_study)
    ways = (("de", "one_at_a_time", "letters"), ("en", "side_by_side", "words"))
    with database.writing(sqlite_engine) as session:
        for who, (language, arrangement, unit) in zip(people, ways, strict=True):
            own = session.scalars(select(Assignment).where(Assignment.person_id == who.person_id)).one()
            own.language, own.arrangement = language, arrangement
            session.add(Highlight(assignment_id=own.id, position=0, start=0, end=3, quote="", label="good", unit=unit))
    before = report_of(sqlite_engine, study).files["methods.txt"].decode()
    assert "German in 50 % (1)" in before and "one at a time (1) or side by side (1)" in before
    assert "by letters (1) and by whole words (1)" in before

    with database.writing(sqlite_engine) as session:
        exclusions.exclude(session, study, people[0].pseudonym, "Too fast.", lead.pseudonym)
    files = report_of(sqlite_engine, study).files
    methods = files["methods.txt"].decode()
    assert "German" not in methods and "letters" not in methods
    for name in ("methods.txt", "heds.md"):
        assert "shown side by side, without the names of their systems" in files[name].decode()


def test_systems_of_removed_items_count_as_rated(sqlite_engine, make_study):
    study, _, _ = rated(sqlite_engine, make_study)
    with database.writing(sqlite_engine) as session:
        session.execute(update(Item).values(retired=True, retired_reason="unclear"))
    report = report_of(sqlite_engine, study)
    assert " rated responses of 3 systems to " in report.files["methods.txt"].decode()
    assert "0 items. Outputs per system: ." not in report.files["heds.md"].decode()
    assert "Outputs per system: System 1: " in report.files["heds.md"].decode()


@pytest.mark.long
def test_a_report_of_judges_alone_claims_no_blind_people(sqlite_engine, make_study):
    """It called them annotators, with the plan and the balanced order of the people who do not count."""
    study, lead, _ = rated(sqlite_engine, make_study)
    with database.writing(sqlite_engine) as session:
        study = session.get_one(Study, study.id)
        study.settings = stored(changed(study, recruitment=Recruitment(how="By mail.")))
        append_scores(session, study, lead, "one-model")
    files = report_of(sqlite_engine, study, Counted(kinds=frozenset({"judge"}))).files
    methods = files["methods.txt"].decode()
    assert methods.startswith("1 judge model rated responses of 3 systems to 1 of 1 item. They judged")
    assert "`1 item. Outputs per system" in files["heds.md"].decode()
    assert "collected elsewhere" in methods and "without the names" not in methods and "By mail" not in methods
    assert "in a balanced order" not in files["heds.md"].decode()
    assert "No ratings by people are counted" in files["report.html"].decode()
    both = report_of(sqlite_engine, study, Counted(kinds=frozenset({"human", "judge"}))).files["methods.txt"].decode()
    assert both.startswith("2 annotators (human) and 1 judge model rated responses of 3 systems to 1 of 1 item; 3")


def test_a_report_counts_excluded_judges_apart_from_annotators(sqlite_engine, make_study, tmp_path, monkeypatch):
    study, lead, _ = rated(sqlite_engine, make_study)
    with database.writing(sqlite_engine) as session:
        for judge in ("one-model", "other-model"):
            tried = append_scores(session, study, lead, judge)
        exclusions.exclude(session, study, tried, "Not good.", lead.pseudonym)
    report = report_of(sqlite_engine, study)
    sentence = "1 of 2 judge models was excluded, perhaps because of the scores"
    assert sentence in report.files["report.html"].decode() and sentence in report.files["methods.txt"].decode()
    assert "left out" not in report.files["methods.txt"].decode()
    assert report.files["exclusions.csv"].decode().splitlines()[1].startswith(f"judge,{tried},")
    assert {row["system"] for row in numbers(report) if row["part"] == "judges"} >= {tried}
    assert again(report, tmp_path, monkeypatch) == []


def test_a_report_says_that_an_exclusion_s_reason_was_deleted(sqlite_engine, make_study):
    study, lead, (tried, *_) = rated(sqlite_engine, make_study)
    with database.writing(sqlite_engine) as session:
        exclusions.exclude(session, study, tried.pseudonym, "Too fast.", lead.pseudonym)
        withdrawal.withdraw(session, study, tried.pseudonym, tried.pseudonym)
    files = report_of(sqlite_engine, study).files
    for name in ("report.html", "heds.md"):
        assert f"annotator {tried.pseudonym}: the reason was deleted" in files[name].decode()
    assert ",the reason was deleted," in files["exclusions.csv"].decode()


def test_a_report_is_given_to_the_study_s_lead_only(sqlite_engine, make_study, monkeypatch):
    study, lead, people = rated(sqlite_engine, make_study)
    with database.writing(sqlite_engine) as session:
        stranger = add_person(session, "another lead", Role.lead)
    app = Starlette(routes=export.EXPORT_ROUTES)
    monkeypatch.setattr(export, "web_engine", lambda: sqlite_engine)

    def ask(who, path=f"/report/{study.slug}.zip"):
        monkeypatch.setattr(export, "current_login", lambda request: who)
        return asyncio.run(get(app, path))

    assert [ask(who).status_code for who in (None, people[0], stranger, lead)] == [401, 403, 404, 404]
    report = freeze(sqlite_engine, study)
    assert [ask(who).status_code for who in (None, people[0], stranger)] == [401, 403, 404]
    answer = ask(lead)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    assert f"{study.slug}-report-{report.sha256[:12]}.zip" in answer.headers["content-disposition"]
    assert answer.headers["cache-control"] == "no-store"
    assert b"".join(answer.pieces) == report.zip


def test_one_command_writes_the_whole_report(make_study, tmp_path):
    study, *_ = rated(web_engine(), make_study)
    folder = tmp_path / "new" / "folder"
    command = [sys.executable, "-m", "triptych", "report", "make", study.slug, str(folder)]
    # a date for builds, which stops NumPy and matplotlib unless it is one, stops no report
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "no date"}

    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stderr
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {"results.tex", "report.html", "heds.json", "analysis.py", "stats/undefined.py"} <= written
    assert f"{len(written)} files. Snapshot " in ended.stdout
    shares = [int(line.partition("%")[0]) for line in ended.stderr.splitlines() if line.endswith("…")]
    assert shares[0] == 0
    assert shares == sorted(set(shares))


def test_the_command_says_that_a_study_is_not_there(tmp_path, capsys):
    web_engine()  # there is a database, with no such study
    assert command_line.main(["report", "make", "nowhere", str(tmp_path)]) == 2
    assert "There is no study called 'nowhere'." in capsys.readouterr().err


@pytest.mark.long
def test_a_lead_makes_a_report_with_one_click(visit, make_study):
    study, lead, _ = rated(web_engine(), make_study)
    app = visit(lead, "report.py", study=study.slug)
    assert "None yet." in words(app)

    next(button for button in app.button if button.label == "Make a report").click().run()

    assert not app.exception
    with database.reading(web_engine()) as session:
        (made,) = snapshot.listed(session, lifecycle.by_slug(session, study.slug))
        content = snapshot.file_of(session, study, made.sha256)
    assert made.sha256 in [block.value for block in app.code]
    assert made.made_by == lead.pseudonym
    assert any(name.endswith("/report.html") for name in zipfile.ZipFile(io.BytesIO(content)).namelist())


@pytest.mark.long
def test_datasheet_answers_go_into_the_next_report(visit, make_study):
    study, lead, _ = rated(web_engine(), make_study)
    app = visit(lead, "report.py", study=study.slug)
    label = "5.1 Which ethics committee approved the experiment?"
    next(box for box in app.text_input if box.label == label).set_value("The board of *this* place")
    next(button for button in app.button if button.label == "Save these answers").click().run()

    assert not app.exception
    assert "1 of 43 questions answered" in [block.label for block in app.expander][1]
    again = visit(lead, "report.py", study=study.slug)
    assert next(box for box in again.text_input if box.label == label).value == "The board of *this* place"
    report = freeze(web_engine(), study)
    sheet = json.loads(report.files["heds.json"])
    assert sheet["heds-ethics-review_body"]["data"] == {"": "The board of *this* place"}


def test_a_database_of_the_first_release_keeps_its_rows(tmp_path):
    engine = database.open_engine(f"sqlite:///{tmp_path / 'old.db'}")
    schema.create_version(engine, "0003")
    assert not inspect(engine).has_table("comment")
    with database.writing(engine) as session:
        columns = "kind, role, pseudonym, name, created_at"
        session.execute(text(f"INSERT INTO person ({columns}) VALUES ('human', 'lead', 'L-1', 'Ada', '2026-01-01')"))

    schema.migrate(engine)

    assert (schema.stored_version(engine), inspect(engine).has_table("comment")) == (schema.HEAD, True)
    with database.reading(engine) as session:
        assert session.scalars(select(Person.name)).all() == ["Ada"]
    assert len(list(tmp_path.glob(f"old-before-{schema.HEAD}-*.db"))) == 1
    engine.dispose()


def test_viewers_read_a_blind_report_without_pseudonyms(make_study, monkeypatch):
    """And without the leads' reasons, unless they may read explanations, which leads quote."""
    study, lead, people = rated(web_engine(), make_study)
    with database.writing(web_engine()) as session:
        exclusions.exclude(session, study, people[0].pseudonym, "as said:\n<b>blue", lead.pseudonym)
        judge = append_scores(session, study, lead, "some-model")
        exclusions.exclude(session, study, judge, "against what was said: green", lead.pseudonym)
        adjudication.record(session, study, "item-1", {(1, "fluency"): 2}, "as said: purple", lead, None)
        secret = invitations.invite_one(session, study, "Hana", "", Role.viewer, lead.pseudonym).secret
        person = links.invited(session, secret)
    viewer = Who(person.id, person.pseudonym, person.role, person.name, 0)
    report = freeze(web_engine(), study)
    app = Starlette(routes=export.EXPORT_ROUTES)

    def read(who):
        monkeypatch.setattr(export, "current_login", lambda request: who)
        return asyncio.run(get(app, f"/report/{study.slug}/{report.sha256}.html"))

    pages = {who: read(who) for who in (lead, viewer)}
    assert people[0].pseudonym in pages[lead].text
    reasons = ("blue", "green", "purple")
    assert all(reason in pages[lead].text for reason in reasons)
    page = pages[viewer].text
    assert "annotator Annotator 1" in page and "System 1" in page
    hidden = [*(who.pseudonym for who in (lead, *people)), "plumbum", "stannum", "ferrum", "Zinnober"]
    assert [words for words in (*hidden, *reasons) if words in page] == []
    with database.writing(web_engine()) as session:
        viewers.let_read_explanations(session, study, True, lead.pseudonym)
    assert all(reason in read(viewer).text for reason in reasons)
    for answer in pages.values():
        assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"
