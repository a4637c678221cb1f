"""A study from a script on the data folder: made of a DataFrame, run, read, judged; what is refused and why."""

from __future__ import annotations

import csv
import errno
import io
import re
import socket
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from http.client import HTTPResponse
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from helpers.present import present
from helpers.ratings import submit
from helpers.studies import SMALL_RUBRIC, SYSTEMS, full_answers
from helpers.turns import turns_held
from sqlalchemy import select

import triptych as tt
from triptych.cli.study import list_studies
from triptych.exchange import judge_scores
from triptych.exchange.judge_scores import JudgeScore
from triptych.operations import verify
from triptych.people import accounts
from triptych.reports import build
from triptych.results.frame.upkeep import frame_of
from triptych.scripting import calls, connection, messages, numbers
from triptych.scripting.asking import of_home
from triptych.storage import database
from triptych.storage.database import reading, writing
from triptych.storage.models import Event, EventDetail, Item, Person, Study
from triptych.study import design
from triptych.study.lint import linter
from triptych.study.persons import Who

ITEMS = pd.DataFrame(
    [
        {"item_id": f"q{n}", "context": f"Question {n}?"}
        | {f"cand:{name}": f"Answer {n} {name[0]}" for name in SYSTEMS}
        for n in range(1, 7)
    ]
)


@pytest.fixture
def home(tmp_path: Path, sqlite_engine) -> Path:
    """The data folder of an app that is not running, with one lead."""
    with writing(sqlite_engine) as session:
        accounts.create_lead(session, "Ada", "correct horse battery")
    return tmp_path


@pytest.fixture
def client(home):
    with tt.open(home) as client:
        yield client


@pytest.fixture
def study(client) -> tt.StudyClient:
    return client.create_study("Answers", SMALL_RUBRIC, ITEMS, raters_per_item=2, no_consent="A test.")


def rate(engine, study: tt.StudyClient, people: list[str], times: int = 3) -> None:
    """These annotators rate, as in their browsers."""
    with writing(engine) as session:
        row = session.scalars(select(Study).where(Study.slug == study.name)).one()
        for pseudonym in people:
            person = session.scalars(select(Person).where(Person.pseudonym == pseudonym)).one()
            who = Who(person.id, pseudonym, person.role, person.name, 0)
            for number in range(times):
                submit(session, row, who, full_answers(fluency=1 + number % 3))


def running(client, study, engine) -> pd.DataFrame:
    study.launch()
    invited = study.invite(["Ben", "Carla"])
    rate(engine, study, list(invited["pseudonym"]))
    return invited


def test_a_study_of_a_frame_is_launched_paused_and_listed(client, study):
    assert study.facts.state == "draft"
    assert (study.launch().state, study.pause().state, study.reopen().state) == ("open", "paused", "open")

    listed = client.studies()
    assert listed[["study", "items", "expected", "blind"]].values.tolist() == [["answers", 6, 12, True]]
    assert client.study("answers").facts == study.refresh()
    assert repr(study) == "<Study answers: open, 0 of 12 annotations>"
    assert repr(client) == f"<Triptych http://127.0.0.1:8501, for {client.asking.lead}, read and write>"


def test_retired_items_are_not_listed_as_items_to_rate(client, study, sqlite_engine):
    study.launch()
    with writing(sqlite_engine) as session:
        row = session.scalars(select(Study)).one()
        design.amend(session, row, design.Parts(retire=("q1", "q2")), "Not needed.", "Ada")

    assert study.refresh().items == 4
    assert list_studies().lines == ["answers\tmain\topen\t4 items\tAnswers"]


def test_cells_of_a_frame_arrive_as_they_are(client):
    cells = pd.DataFrame(
        {
            "item_id": ["a", "b"],
            "context": [
                [{"speaker": "A", "text": "Ü?", "at": float("nan")}],
                np.array([{"speaker": "B", "text": "No."}], object),
            ],
            "meta:exact": [1 / 3, 1e-17],
            "meta:gap": [2.5, None],
            "meta:day": pd.to_datetime(["2026-01-02", None]),
            "meta:price": [Decimal("0.10"), Decimal(7)],
        }
    )
    columns = cells.assign(**{f"cand:{name}": name[:1] for name in SYSTEMS})
    items = client.create_study("Cells", SMALL_RUBRIC, columns, no_consent="A test.").items()

    first, last = items.groupby("item_id")["meta"].first()
    assert first == {"exact": "0.3333333333333333", "gap": "2.5", "day": "2026-01-02T00:00:00", "price": "0.10"}
    assert last == {"exact": "1e-17", "price": "7"}
    with pytest.raises(tt.ImportRefused, match="same name"):
        client.create_study("Twice", SMALL_RUBRIC, pd.concat([columns, columns], axis=1))


def test_items_are_read_from_a_file(client, tmp_path):
    path = tmp_path / "items.csv"
    ITEMS.to_csv(path, index=False)
    study = client.create_study("Of a file", SMALL_RUBRIC, path)
    assert set(study.items()["item_id"]) == set(ITEMS["item_id"])


def test_tables_have_the_values_of_the_study(client, study, sqlite_engine):
    invited = running(client, study, sqlite_engine)
    items, ratings = study.items(), study.ratings()

    assert sorted(items["item_id"].unique()) == [f"q{n}" for n in range(1, 7)]
    assert set(items["system"]) == {"System 1", "System 2", "System 3"}
    assert set(ratings["annotator"]) == set(invited["pseudonym"])
    assert len(ratings) == 2 * 3 * 3 * 2  # people, items, responses, criteria
    assert str(ratings["submitted_at"].dtype).startswith("datetime64")
    assert ratings["missing"].dtype == bool
    assert study.highlights().empty


def test_every_link_is_shown_once_and_leads_to_the_app(client, study):
    study.launch()
    invited = study.invite(pd.DataFrame([{"name": "Ben", "group": "expert"}, {"name": "Carla", "email": "c@lab.test"}]))

    assert all(link.startswith("http://127.0.0.1:8501/?join=") for link in invited["link"])
    assert list(study.new_links(invited["pseudonym"][:1])["link"]) != list(invited["link"][:1])
    with pytest.raises(tt.ImportRefused, match="Already takes part"):
        study.invite(["Ben"])
    with pytest.raises(tt.ImportRefused, match="not a single string"):
        study.invite("Dan")


def test_a_page_goes_on_where_the_last_one_ended(client, study, sqlite_engine):
    running(client, study, sqlite_engine)
    with reading(sqlite_engine) as session:
        asker = of_home(session, "")
        for name in ("items", "ratings"):
            read = calls.BY_NAME[name].read
            assert read is not None
            pages, after = [], ""
            while after is not None:
                page = read(session, asker, messages.TablePage(study=study.name, after=after, limit=2))
                pages.append(page.rows)
                after = page.next
            assert len(pages) == 3
            assert sum(pages, []) == read(session, asker, messages.TablePage(study=study.name)).rows


def test_results_are_the_numbers_of_a_report(client, study, sqlite_engine, tmp_path):
    running(client, study, sqlite_engine)
    made = study.report(tmp_path / "report.zip")
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        name = next(name for name in archive.namelist() if name.endswith("/results.csv"))
        printed = list(csv.DictReader(io.StringIO(archive.read(name).decode("utf-8-sig"))))
    values = {tuple(row[c] for c in ("part", "criterion", "system", "baseline", "statistic")): row for row in printed}

    numbers = study.results()
    place = ("systems", "fluency", "System 1", "", "mean")
    mean = numbers.set_index(["part", "criterion", "system", "baseline", "statistic"]).loc[place]
    assert mean["value"] == pytest.approx(float(values[place]["value"]))
    assert mean["low"] == pytest.approx(float(values[(*place[:4], "interval low")]["value"]))
    with_intervals = numbers.dropna(subset=["low", "high"])
    assert (with_intervals["low"] <= with_intervals["high"]).all()
    for row in with_intervals.itertuples():
        where = (row.part, row.criterion, row.system, row.baseline)
        name = "interval" if row.statistic == "mean" else row.statistic
        assert float(values[(*where, f"{name} low")]["value"]) == pytest.approx(row.low)
    assert not numbers["statistic"].str.contains(r" (?:low|high)$").any()
    contrast = numbers[numbers["part"] == "contrasts"].set_index("statistic")
    assert list(contrast.loc["these annotators", "value"]) == list(contrast.loc["difference", "value"])
    alike = contrast.loc["annotators like these"]
    assert (alike["low"].isna() & alike["text"].str.startswith("No interval: ")).all()
    assert set(study.results("agreement")["part"]) == {"agreement"}
    assert list(study.reports()["sha256"]) == [made.sha256]


@pytest.mark.long
def test_reading_results_is_logged_as_a_look(client, study, sqlite_engine):
    running(client, study, sqlite_engine)
    study.results()
    study.results()

    with reading(sqlite_engine) as session:
        assert list(session.scalars(select(Event.kind).where(Event.kind == "results opened"))) == ["results opened"]


@pytest.mark.long
@pytest.mark.parametrize(("module", "name"), [(numbers, "read"), (build, "build_report")])
def test_a_look_counts_no_annotation_that_came_after_it(
    client, study, sqlite_engine, tmp_path, monkeypatch, module, name
):
    """While a script's numbers are computed, the app brings the study's frame up to date for somebody else."""
    pseudonyms = list(running(client, study, sqlite_engine)["pseudonym"])
    compute = getattr(module, name)

    def while_somebody_submits(session, row):
        computed = compute(session, row)
        rate(sqlite_engine, study, pseudonyms, 1)
        with reading(sqlite_engine) as another:
            frame_of(another, another.get_one(Study, row.id))
        return computed

    monkeypatch.setattr(module, name, while_somebody_submits)
    if module is build:
        study.report(tmp_path / "report.zip")
    else:
        study.results()

    with reading(sqlite_engine) as session:
        opened = select(EventDetail.new).join(Event, Event.id == EventDetail.event_id)
        assert present(session.scalars(opened.where(Event.kind == "results opened")).one())["annotations"] == 6


def test_a_dry_run_stores_nothing(client, study, sqlite_engine):
    numbers = study.dry_run(annotators=3, items=6)

    assert "planted effects" in numbers.attrs["sentence"]
    assert not numbers[numbers["part"] == "systems"].empty
    assert study.refresh().done == 0
    assert study.ratings().empty


# Judges


def scores(study: tt.StudyClient, items: list[str] | None = None) -> pd.DataFrame:
    """A judge's scores of all candidates, or of those of some items."""
    shown = study.items()
    shown = shown[shown["item_id"].isin(items)] if items else shown
    return shown[["item_id", "system"]].assign(criterion="fluency", value=2)


def test_a_judge_is_appended_and_the_log_holds(client, study, sqlite_engine):
    running(client, study, sqlite_engine)
    study.results()
    first = study.append_scores("some-model", scores(study, ["q1", "q2"]))
    again = study.append_scores("some-model", scores(study, ["q3"]))

    assert (first.items, first.ratings, again.judge) == (2, 6, first.judge)
    judged = study.ratings().query("annotator_kind == 'judge'")
    assert set(judged["annotator"]) == {first.judge}
    assert len(judged) == 9
    assert not study.results("judges").empty
    with reading(sqlite_engine) as session:
        row = session.scalars(select(Study).where(Study.slug == study.name)).one()
        assert verify.verify(session, row).sentence.startswith("The log of")
        assert set(session.scalars(select(Item.taken).where(Item.study_id == row.id))) <= {0, 1, 2}
    assert study.refresh().done == 6  # a judge fills no place


def test_a_score_that_fits_nothing_is_refused_with_its_place(client, study):
    study.launch()
    fitting = scores(study, ["q1"])
    for column, value, message in (
        ("item_id", "q99", "Score 1: the study has no item 'q99'."),
        ("system", "plumbum", "has no response of 'plumbum'; it has System 1, System 2, System 3"),
        ("criterion", "charm", "no criterion 'charm'"),
        ("value", 9, "'9.0' does not fit the scale of 'Fluency'"),
    ):
        wrong = fitting.assign(**{column: [value, *fitting[column][1:]]})
        with pytest.raises(tt.ImportRefused, match=message):
            study.append_scores("some-model", wrong)
    study.append_scores("some-model", fitting)
    with pytest.raises(tt.Conflict, match="has scored q1 before"):
        study.append_scores("Some-Model", fitting)
    with pytest.raises(tt.ImportRefused, match="Unknown columns: model"):
        study.append_scores("other", fitting.assign(model="x"))


def test_scores_are_read_before_the_turn_to_write(client, study, monkeypatch):
    """Annotators of all studies could store nothing for twenty seconds while 20,000 scores were read and stored."""
    study.launch()
    held = turns_held(monkeypatch, judge_scores, "assemble")
    study.append_scores("some-model", scores(study, ["q1"]))

    assert held == [False]


def test_a_launch_reads_texts_before_the_turn_to_write(study, monkeypatch):
    held = turns_held(monkeypatch, linter, "lint")
    study.launch()

    assert held == [False]


def test_a_call_stores_few_scores_at_a_time(client, study):
    study.launch()
    many = pd.concat([scores(study, ["q1"])] * 700)

    with pytest.raises(tt.ImportRefused, match="append at most 2,000 at a time"):
        study.append_scores("some-model", many)
    with pytest.raises(tt.ImportRefused, match="scores: List should have at most 2000 items"):
        client._connection.call("append_scores", study=study.name, judge="x", scores=many.to_dict("records"))


def test_scores_of_a_design_amended_meanwhile_are_refused(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        checked = judge_scores.check(session, study, "model", [JudgeScore("item-1", "System 1", "fluency", 2)])
        study.design_hash = "of another design"
        with pytest.raises(tt.Conflict, match="amended a moment ago"):
            judge_scores.append(session, study, checked, lead.pseudonym)


def test_a_draft_takes_no_scores(client, study):
    with pytest.raises(tt.Conflict, match="Launch the study first"):
        study.append_scores("some-model", scores(study, ["q1"]))


def test_appending_takes_systems_by_name_only_after_the_unblinding(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        score = [JudgeScore("item-1", "plumbum", "verdict", "accept", "Fits.")]
        with pytest.raises(tt.ImportRefused, match="no response of 'plumbum'"):
            judge_scores.check(session, study, "model", score)
        study.unblinded_at = study.opened_at
        checked = judge_scores.check(session, study, "model", score)
        assert judge_scores.append(session, study, checked, lead.pseudonym).ratings == 1


# What a script on the data folder may not, and who it acts for


def test_the_data_folder_proves_no_passcode(client, study):
    study.launch()
    with pytest.raises(tt.NotAllowed, match="needs a token that may unblind"):
        study.unblind()


def test_an_error_in_the_items_makes_no_study(client):
    with pytest.raises(tt.ImportRefused, match="The items cannot be used"):
        client.create_study("Empty", SMALL_RUBRIC, pd.concat([ITEMS, ITEMS]))
    with pytest.raises(tt.InvalidRubric):
        client.create_study("No rubric", "key: [", ITEMS)
    assert client.studies().empty


def test_a_launch_says_what_stops_it(client):
    study = client.create_study("Without consent", SMALL_RUBRIC, ITEMS)
    with pytest.raises(tt.Conflict, match="consent text is empty"):
        study.launch()


def test_of_several_leads_the_script_names_one(home):
    with writing(database.open_engine(f"sqlite:///{home / 'triptych.db'}")) as session:
        accounts.create_lead(session, "Grace", "correct horse battery")
    with pytest.raises(tt.NotFound, match="several leads"):
        tt.open(home)
    with tt.open(home, lead="Grace") as client:
        assert client.asking.lead.startswith("L-")
        assert client.studies().empty
    with pytest.raises(tt.NotFound, match="no lead called"):
        tt.open(home, lead="Nobody")


def test_no_app_starts_on_a_folder_that_a_script_holds(home):
    engine = database.open_engine(f"sqlite:///{home / 'triptych.db'}")
    with tt.open(home), pytest.raises(Exception, match="Another Triptych is using"):
        database.lock_server(engine)
    lock = database.lock_server(engine)
    assert lock is not None
    with pytest.raises(tt.NotFound, match="not a running app"):
        tt.open(home)
    lock.close()


def test_a_folder_without_a_database_is_named(tmp_path):
    with pytest.raises(tt.NotFound, match="does not exist"):
        tt.open(tmp_path / "nowhere")


@pytest.mark.parametrize("url", ["annotate.example.org", "file:///etc/passwd", "http://"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(tt.NotAllowed, match="not the address of an app"):
        tt.connect(url, token="x")


@contextmanager
def answering(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server that gives these answers in turn, and the requests that it has read."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for answer in answers:
                connection, _ = listening.accept()
                with connection:
                    requests.append(connection.recv(2**16))
                    connection.sendall(answer)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", requests
        serving.join(10)


def answer_of(body: bytes, status: str = "200 OK", length: int | None = None) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


@pytest.mark.parametrize("broken", [answer_of(b"{}", length=1000), b"\0\0\r\n\r\n"])
def test_a_request_whose_answer_breaks_off_is_repeated(broken, monkeypatch):
    """It ended at once; run again by hand it has another key, and a study would be there twice."""
    monkeypatch.setattr(connection, "FIRST_WAIT_SECONDS", 0)
    made = answer_of(b'{"study": "answers", "url": "", "series": "answers", "problems": []}')
    with answering(broken, made) as (url, requests), suppress(tt.DatabaseUnavailable):
        connection.by_token(url, "x").call("create_study", title="Answers")

    keys = [re.findall(rb"(?i)idempotency-key: (\w+)", request) for request in requests]
    assert len(keys) == 2 and keys[0] and keys[0] == keys[1]


def test_a_client_waits_as_long_as_a_busy_app_asks(monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr(connection.time, "sleep", waits.append)
    monkeypatch.setattr(connection, "FIRST_WAIT_SECONDS", 0.25)
    busy = answer_of(b"{}", "503 Busy")
    in_a_while = busy.replace(b"Connection", b"Retry-After: 7\r\nConnection")
    answers = (busy, in_a_while, in_a_while.replace(b" 7", b" 999"), answer_of(b'{"studies": [], "next": null}'))
    with answering(*answers) as (url, _):
        connection.by_token(url, "x").call("studies")

    assert waits == [0.25, 7, connection.MAX_WAIT_SECONDS]


@pytest.mark.parametrize(
    "answer",
    [
        answer_of(b"<html>"),
        answer_of(b"[" * 100_000),
        answer_of(b"[" * 100_000, "400 Bad"),
        answer_of(b"{}", "400 Bad", length=1000),
        answer_of(b'{"refused": [], "message": 7}', "400 Bad"),
    ],
)
def test_what_triptych_never_answers_is_one_kind_of_error(answer):
    with answering(answer) as (url, _), pytest.raises(tt.TriptychError) as error:
        connection.by_token(url, "x").call("studies")
    assert str(error.value)


@pytest.mark.parametrize(("status", "tries"), [("200 OK", connection.TRIES), ("400 Bad", 1)])
def test_a_network_that_fails_while_reading_is_one_error(status, tries, monkeypatch):
    """A lost route is no ConnectionError, and urllib wraps only what fails before the answer."""
    monkeypatch.setattr(connection, "FIRST_WAIT_SECONDS", 0)
    monkeypatch.setattr(HTTPResponse, "read", Mock(side_effect=OSError(errno.EHOSTUNREACH, "No route to host")))
    with answering(*[answer_of(b"{}", status)] * tries) as (url, _), pytest.raises(tt.DatabaseUnavailable):
        connection.by_token(url, "x").call("studies")
