"""Exports: what each format holds, who may have it, and that a blind study stays blind outside."""

import asyncio
import io
import json
import uuid
import zipfile
from hashlib import sha256
from pathlib import PurePosixPath
from xml.etree import ElementTree

import pandas as pd
import pytest
import yaml
from helpers.downloads import get
from helpers.exports import FORMULA, HALF_POINTS, annotate, opened, rejecting, table, unzipped
from helpers.studies import SYSTEMS, add_person, draft_items, full_answers, join, sure
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update
from starlette.applications import Starlette
from streamlit.testing.v1 import AppTest

from triptych import clock
from triptych.annotate import annotations
from triptych.annotate.annotations import SubmitMessage
from triptych.errors import NotAllowed, NotFound
from triptych.exchange import exports, underway
from triptych.exchange.underway import Underway
from triptych.formats.model import CandidateDraft, ItemDraft, TurnDraft
from triptych.formats.ratings_csv import HIGHLIGHTS_HEADER, RATINGS_HEADER
from triptych.formats.writers import FORMATS, task
from triptych.formats.writers.model import EVERYTHING, ExportOptions
from triptych.formats.writers.tables import ANNOTATIONS_HEADER, COLUMNS, ITEMS_HEADER
from triptych.people import accounts, joining, roster
from triptych.privacy import withdrawal
from triptych.storage import database, events
from triptych.storage.models import Assignment, AssignmentState, Event, Membership, Role, System
from triptych.study import lifecycle
from triptych.study.settings import changed, settings_of, stored
from triptych.web import export


def fluency(**by_system):
    """Answers that give each system this fluency and accept it."""
    return lambda at: {
        "ratings": {letter: {"fluency": by_system.get(name, 2), "verdict": "accept"} for name, letter in at.items()}
    }


def lines(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.decode().split("\n") if line]


@pytest.fixture
def filled(sqlite_engine, make_study):
    """(session, study, lead, annotators): two annotators, three annotations, one with highlight and explanations."""
    with database.writing(sqlite_engine) as session:
        study, lead, people = make_study(session, title="Export me")
        annotate(session, study, people[0], rejecting("plumbum"))
        annotate(session, study, people[0], fluency(plumbum=3, stannum=1))
        annotate(session, study, people[1], fluency(plumbum=1, stannum=3))
        database.commit(session)
        yield session, study, lead, people


@pytest.fixture
def dialogues(sqlite_engine):
    """(session, study): a study of dialogues with half points, one annotation in it."""
    items = [
        ItemDraft(
            external_id="d1",
            context_text=None,
            context_turns=(TurnDraft("usr", "Hi 😀"), TurnDraft("sys", "Hello"), TurnDraft("usr", "Help?")),
            candidates=tuple(CandidateDraft(name, f"Reply of {name}", None) for name in ("one", "two")),
            meta={"domain": "esc"},
            extra_texts={},
            row=1,
        )
    ]
    with database.writing(sqlite_engine) as session:
        study, (person,) = opened(session, HALF_POINTS, items)
        annotate(
            session,
            study,
            person,
            lambda at: {
                "ratings": {
                    at["one"]: {"warmth": 1.5, "quality": 80},
                    at["two"]: {"warmth": 0.5, "quality": 40.5},
                    "item": {"winner": [at["one"]], "clear": "y"},
                }
            },
        )
        yield session, study


@pytest.mark.long
@pytest.mark.parametrize("key", FORMATS)
def test_every_export_names_its_design_and_last_event(filled, key):
    session, study, _, people = filled
    files = unzipped(session, study, key)
    readme, codebook = files["README.md"].decode(), json.loads(files["codebook.json"])
    assert study.design_hash in readme
    assert f"| last event | {study.event_number} |" in readme
    assert study.event_hash in readme
    assert codebook["last_event"] == {"number": study.event_number, "hash": study.event_hash}
    assert [criterion["key"] for criterion in codebook["criteria"]] == ["fluency", "verdict"]
    assert {row["annotator"] for row in table(files["annotations.csv"])} == {who.pseudonym for who in people}
    assert set(files) - {"README.md", "codebook.json", "annotations.csv"}


def test_an_export_says_what_it_holds_of_leavers(filled):
    session, study, lead, people = filled
    withdrawal.withdraw(session, study, people[0].pseudonym, lead.pseudonym)

    files = unzipped(session, study, "csv")

    assert people[0].pseudonym in files["ratings.csv"].decode()
    assert "Their ratings are, unless the consent text promised to delete them." in files["README.md"].decode()


@pytest.mark.parametrize("key", ["csv", "huggingface"])
@pytest.mark.parametrize(
    ("sharing", "sentence"),
    [
        ("nothing", "0 of 2 annotators agreed to the publication of their individual ratings, 0 of these also"),
        ("ratings", "2 of 2 annotators agreed to the publication of their individual ratings, 0 of these also"),
        ("texts", ""),
    ],
)
def test_an_export_says_who_agreed_to_its_publication(filled, key, sharing, sentence):
    session, study, _, people = filled
    study.settings = stored(changed(study, consent={"text": "Agree?", "sharing": sharing}))
    session.flush()
    for who in people:
        joining.consent(session, study, who, settings_of(study).consent.version)

    readme = unzipped(session, study, key)["README.md"].decode()

    assert sentence in readme
    assert ("study archive" in readme) == bool(sentence)


@pytest.mark.long
@pytest.mark.parametrize("key", FORMATS)
def test_the_same_state_of_a_study_makes_the_same_bytes(filled, key):
    session, study, *_ = filled
    once, again = (b"".join(exports.export_zip(session, study, key, ExportOptions())) for _ in range(2))
    assert once == again


def readable(name: str, data: bytes) -> str:
    if name.endswith(".parquet"):
        return pd.read_parquet(io.BytesIO(data)).to_json(date_format="iso")
    return data.decode()


@pytest.mark.long
@pytest.mark.parametrize("key", FORMATS)
def test_an_export_names_systems_only_after_the_unblinding(filled, key):
    session, study, lead, _ = filled
    blind = "".join(f"{name} {readable(name, data)}" for name, data in unzipped(session, study, key).items())
    assert not [name for name in SYSTEMS if name in blind]
    assert "System 1" in blind
    lifecycle.unblind(session, study, sure(lead))
    named = "".join(readable(name, data) for name, data in unzipped(session, study, key).items())
    assert all(name in named for name in SYSTEMS)


@pytest.mark.long
def test_no_file_is_named_by_a_user(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, title="../../etc/passwd\\ \u202e evil", items=1)
        session.execute(update(System).where(System.name == "ferrum").values(name="../../ferrum"))
        annotate(session, study, people[0], lambda at: full_answers("".join(at.values())))
        for key in FORMATS:
            data = b"".join(exports.export_zip(session, study, key, ExportOptions()))
            names = zipfile.ZipFile(io.BytesIO(data)).namelist()
            parts = {part for name in names for part in PurePosixPath(name).parts}
            assert not {part for part in parts if ".." in part or not part.isascii()}
            assert {name.split("/")[0] for name in names} == {f"{study.slug}-{key}"}


def test_every_column_of_every_table_is_explained_in_the_codebook():
    named = {*RATINGS_HEADER, *HIGHLIGHTS_HEADER, *ITEMS_HEADER, *ANNOTATIONS_HEADER}
    assert named == set(COLUMNS)


def test_exports_mark_surplus_and_exclusion_and_omit_withdrawn_work(filled):
    session, study, _, people = filled
    own = select(Assignment).where(Assignment.state == AssignmentState.submitted).order_by(Assignment.id)
    first, second, third = session.scalars(own)
    first.state, second.state = AssignmentState.surplus, AssignmentState.withdrawn
    of_second = Membership.person_id == people[1].person_id
    gone = {"excluded_at": clock.now(), "excluded_reason": "too fast"}
    session.execute(update(Membership).where(of_second).values(**gone))
    session.flush()
    rows = {int(row["annotation"]): row for row in table(unzipped(session, study, "potato")["annotations.csv"])}
    assert set(rows) == {first.id, third.id}
    assert (rows[first.id]["state"], rows[first.id]["excluded"]) == ("surplus", "0")
    assert (rows[third.id]["excluded"], rows[third.id]["exclusion_reason"]) == ("1", "too fast")
    marked = {row["annotator"]: row for row in table(unzipped(session, study, "csv")["ratings.csv"])}
    assert (marked[people[0].pseudonym]["surplus"], marked[people[1].pseudonym]["excluded"]) == ("1", "1")


def test_ratings_of_an_unblinded_lead_are_marked_in_exports(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, people = make_study(session, items=3, raters_per_item=3)
        own_row = join(session, study, lead)
        annotate(session, study, own_row, fluency())
        lifecycle.unblind(session, study, sure(lead))
        late = [annotate(session, study, who, fluency()) for who in (own_row, *people)][0]
        roster.enrol_lead(session, study, accounts.create_lead(session, "Ada", "passcode of a lead"), lead.pseudonym)
        session.flush()
        roster.remove_lead(session, study, lead.pseudonym, sure(lead))  # knew the names all the same
        events.write_pending(session)
        rows = table(unzipped(session, study, "potato")["annotations.csv"])
        typed = pd.read_parquet(io.BytesIO(unzipped(session, study, "parquet")["data/annotations.parquet"]))
    assert [row["annotation"] for row in rows if row["after_unblinding"] != "0"] == [str(late.id)]
    assert typed.loc[typed["after_unblinding"], "annotation"].tolist() == [late.id]
    assert len(rows) == len(typed) == 4


def test_formulas_are_disarmed_in_csv_but_not_in_parquet(filled):
    session, study, *_ = filled
    assert {row["explanation"] for row in table(unzipped(session, study, "csv")["ratings.csv"])} == {"", f"'{FORMULA}"}
    typed = pd.read_parquet(io.BytesIO(unzipped(session, study, "parquet")["data/ratings.parquet"]))
    assert set(typed["explanation"]) == {"", FORMULA}
    assert FORMULA in unzipped(session, study, "label-studio")["tasks.json"].decode().replace("\\", "")


def test_parquet_columns_have_their_types_and_carry_the_seal(filled):
    session, study, *_ = filled
    files = unzipped(session, study, "parquet")
    typed = pd.read_parquet(io.BytesIO(files["data/ratings.parquet"]))
    assert str(typed["submitted_at"].dtype).endswith("UTC]")
    assert typed["missing"].dtype == bool
    assert [list(reasons) for reasons in typed["reasons"] if len(reasons)] == [["wrong", "rude"]]
    import pyarrow.parquet as pq

    seal = pq.read_schema(io.BytesIO(files["data/items.parquet"])).metadata
    assert seal[b"design_hash"].decode() == study.design_hash
    assert seal[b"last_event_hash"].decode() == study.event_hash


def test_a_dataset_card_names_a_file_for_every_config(filled):
    session, study, *_ = filled
    files = unzipped(session, study, "huggingface")
    front = yaml.safe_load(files["README.md"].decode().split("---\n")[1])
    configs = {config["config_name"]: config["data_files"] for config in front["configs"]}
    assert set(configs) == {"ratings", "items", "annotations", "highlights"}
    assert set(configs.values()) <= set(files)
    assert len(pd.read_parquet(io.BytesIO(files[configs["items"]]))) == 12


def test_no_readme_or_card_contains_the_studys_title(filled):
    session, study, *_ = filled
    study.title = "<img src=x> [look](https://elsewhere.example)"
    for key in FORMATS:
        assert b"elsewhere" not in unzipped(session, study, key)["README.md"], key


def test_an_export_of_a_study_without_any_annotation_is_whole(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, *_ = make_study(session)
        for key in FORMATS:
            assert "README.md" in unzipped(session, study, key)


def test_batches_and_blocks_lose_nothing(filled, monkeypatch):
    session, study, *_ = filled
    before = list(exports.read_finished(session, study).items(EVERYTHING))
    monkeypatch.setattr(exports, "BATCH", 1)
    assert list(exports.read_finished(session, study).items(EVERYTHING)) == before
    assert [item.item_id for item in before] == [item.external_id for item in draft_items(4)]


def test_an_export_reads_on_only_when_its_bytes_are_taken(filled, monkeypatch):
    session, study, *_ = filled
    monkeypatch.setattr(exports, "BATCH", 1)
    read = []
    whole = exports._complete

    def counted(session, batch, *rest):
        read.extend(batch)
        return whole(session, batch, *rest)

    monkeypatch.setattr(exports, "_complete", counted)
    monkeypatch.setattr("triptych.formats.writers.writing.BLOCK_CHARACTERS", 1)
    pieces = exports.export_zip(session, study, "trl", ExportOptions())
    next(pieces)
    assert len(read) < 4
    assert len(list(pieces)) > 4


# The event log


def test_the_exported_log_keeps_superseded_values_and_its_chain(filled):
    session, study, lead, people = filled
    work = session.scalars(select(Assignment).order_by(Assignment.id)).first()
    message = SubmitMessage(
        kind="submit", assignment=work.token, version=work.version, pen="pen-of-a-tab", base=work.draft_seq,
        submission=uuid.uuid4().hex, answers=full_answers(fluency=3),
    )  # fmt: skip
    annotations.submit(session, people[0], message)
    lifecycle.unblind(session, study, sure(lead))
    log = lines(unzipped(session, study, "events")["events.jsonl"])
    assert [event["number"] for event in log] == list(range(1, study.event_number + 1))
    edited = next(event for event in log if event["kind"] == "annotation edited")
    assert FORMULA in json.dumps(edited["old"]).replace("\\", "")
    assert FORMULA not in json.dumps(edited["new"]).replace("\\", "")
    fields = [column.name for column in Event.__table__.columns if column.name not in ("id", "at")]
    assert all([*event][: len(fields)] == fields for event in log)  # the same bytes in every process
    names = ("at", "study_id", "number", "actor", "kind", "assignment_id", "subject", "digest", "previous_hash")
    previous = ""
    for event in log:
        assert event["previous_hash"] == previous
        previous = sha256("\x1f".join(str(event[name]) for name in names).encode()).hexdigest()
        assert event["hash"] == previous
        if event["salt"]:
            values = json.dumps([event["old"], event["new"]], sort_keys=True, ensure_ascii=False)
            digest = sha256((event["salt"] + values + (event["rows_sha256"] or "")).encode()).hexdigest()
            assert event["digest"] == digest
    assert previous == study.event_hash


def test_a_blind_studys_log_hides_the_order_but_no_rating(filled):
    session, study, *_ = filled
    log = lines(unzipped(session, study, "events")["events.jsonl"])
    assert {event["kind"] for event in log if event["withheld"]} == {"reserved"}
    assert all(event["new"]["ratings"] for event in log if event["kind"] == "submitted")


# TRL


def pairs_of(session, study, **options):
    return lines(unzipped(session, study, "trl", **options)["pairs.jsonl"])


def test_a_pair_prefers_the_higher_mean_among_raters_of_both(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, people = make_study(session, items=1)
        annotate(session, study, people[0], fluency(plumbum=3, stannum=1, ferrum=2))
        annotate(session, study, people[1], fluency(plumbum=2, stannum=1, ferrum=3))
        lifecycle.unblind(session, study, sure(lead))
        pair_of = {(row["chosen_system"], row["rejected_system"]): row for row in pairs_of(session, study)}
        assert {pair: (row["margin"], row["n_annotators"]) for pair, row in pair_of.items()} == {
            ("plumbum", "stannum"): (1.5, 2),
            ("ferrum", "stannum"): (1.5, 2),
        }
        row = pair_of["plumbum", "stannum"]
        assert row["prompt"] == "Question number 1?"
        assert (row["chosen"][-1], row["rejected"][-1], row["criterion"]) == ("p", "s", "fluency")


def test_ties_within_the_margin_are_dropped_and_counted(filled):
    session, study, *_ = filled
    assert len(pairs_of(session, study)) == 6
    files = unzipped(session, study, "trl", margin=1.0)
    assert [row["margin"] for row in lines(files["pairs.jsonl"])] == [2.0, 2.0]
    readme = files["README.md"].decode()
    assert "2 pairs, one per item" in readme
    assert "7 pairs were dropped as ties: their means differ by no more than the margin of 1." in readme


def test_accept_and_reject_become_the_unpaired_form_by_majority(filled):
    session, study, lead, _ = filled
    lifecycle.unblind(session, study, sure(lead))
    rows = lines(unzipped(session, study, "trl")["unpaired.jsonl"])
    rejected = [(row["system"], row["n_annotators"], row["share_positive"]) for row in rows if not row["label"]]
    assert rejected == [("plumbum", 1, 0.0)]
    assert len(rows) == 9
    assert {type(row["completion"]) for row in rows} == {str}


def test_pairs_hold_the_chosen_criterion_only(dialogues):
    session, study = dialogues
    assert {row["criterion"] for row in pairs_of(session, study)} == {"warmth", "quality", "winner"}
    assert {row["criterion"] for row in pairs_of(session, study, criterion="quality")} == {"quality"}


def test_excluded_annotators_prefer_nothing(filled):
    session, study, _, people = filled
    session.execute(update(Membership).where(Membership.role == Role.annotator).values(excluded_at=clock.now()))
    assert pairs_of(session, study) == []


def test_the_last_speaker_of_a_dialogue_becomes_the_user(dialogues):
    session, study = dialogues
    row = pairs_of(session, study, criterion="quality")[0]
    assert [(message["role"], message["content"]) for message in row["prompt"]] == [
        ("user", "Hi 😀"),
        ("assistant", "Hello"),
        ("user", "Help?"),
    ]
    assert row["chosen"] == [{"role": "assistant", "content": "Reply of one"}]
    assert row["margin"] == 39.5


# Tools


def test_viewer_scores_are_positive_when_the_first_is_higher(dialogues):
    session, study = dialogues
    lifecycle.unblind(session, study, sure("P-lead"))
    (example,) = json.loads(unzipped(session, study, "llm-comparator")["system-1-and-2.json"])["examples"]
    first_is_one = example["output_text_a"].endswith("one")
    shares = [(0.75 - 0.25), (0.8 - 0.405), (1 - 0)]
    assert example["score"] == pytest.approx((1 if first_is_one else -1) * 1.5 * sum(shares) / 3, abs=1e-6)
    assert example["custom_fields"]["n_annotators"] == 1
    assert sorted(example["custom_fields"]["winner"]) == [0, 1]
    assert example["tags"] == ["esc"]
    assert len(example["individual_rater_scores"]) == 1


@pytest.mark.parametrize("key", ["trl", "llm-comparator"])
def test_files_of_preferences_state_that_higher_counts_as_better(filled, key):
    session, study, *_ = filled
    assert "Where lower is better on a criterion, " in unzipped(session, study, key)["README.md"].decode()


@pytest.mark.parametrize("study_of", ["filled", "dialogues"])
def test_every_label_studio_answer_has_its_control_in_the_config(request, study_of):
    session, study, *_ = request.getfixturevalue(study_of)
    files = unzipped(session, study, "label-studio")
    config = ElementTree.fromstring(files["labelling_config.xml"].decode())
    controls = {tag.get("name"): tag.get("toName") for tag in config.iter() if tag.get("toName")}
    objects = {tag.get("name"): tag.get("value") for tag in config.iter("Text")}
    results = [
        (result["from_name"], result["to_name"], labelled["data"])
        for labelled in json.loads(files["tasks.json"])
        for annotation in labelled["annotations"]
        for result in annotation["result"]
    ]
    assert len(results) > 5
    for control, about, data in results:
        assert controls[control] == about
        assert objects[about].removeprefix("$") in data


def test_hostile_titles_stay_text_in_the_labelling_config(sqlite_engine):
    title = '"\\"/><script>alert(1)</script>\\e\\uffff"'  # XML cannot contain its last two characters
    rubric = HALF_POINTS.replace("title: Warmth", f"title: {title}")
    with database.writing(sqlite_engine) as session:
        study, _ = opened(session, rubric, draft_items(1))
        config = ElementTree.fromstring(unzipped(session, study, "label-studio")["labelling_config.xml"].decode())
    assert not list(config.iter("script"))
    assert '"/><script>alert(1)</script>' in [header.get("value") for header in config.iter("Header")]


def test_argilla_doubles_half_points_and_turns_long_scales_into_text(dialogues):
    session, study = dialogues
    files = unzipped(session, study, "argilla")
    (record,) = json.loads(files["records.json"])
    values = {name: [answer["value"] for answer in answers] for name, answers in record["responses"].items()}
    assert sorted(values["warmth_a"] + values["warmth_b"]) == [1, 3]
    assert sorted(values["quality_a"] + values["quality_b"]) == ["40.5", "80"]
    assert values["clear"] == ["y"]
    questions = {q["name"]: q["settings"] for q in json.loads(files["settings.json"])["questions"]}
    assert set(values) <= set(questions)
    assert [option["value"] for option in questions["warmth_a"]["options"]] == [0, 1, 2, 3, 4]
    readme = files["README.md"].decode()
    assert "`warmth` are doubled" in readme
    assert "`quality` are texts" in readme
    assert "winner" not in readme


def test_argilla_users_are_uuids_listed_in_a_file(filled):
    session, study, _, people = filled
    files = unzipped(session, study, "argilla")
    users = {row["user_id"]: row["annotator"] for row in table(files["users.csv"])}
    given_by = {a["user_id"] for r in json.loads(files["records.json"]) for q in r["responses"].values() for a in q}
    assert {users[str(uuid.UUID(user))] for user in given_by} == {who.pseudonym for who in people}


# Dialogues as one text, offsets


TURNS = st.lists(st.builds(TurnDraft, st.text(max_size=5), st.text(min_size=1, max_size=8)), min_size=1, max_size=4)


@given(turns=TURNS, data=st.data())
def test_spans_of_turns_keep_their_words_in_the_whole_dialogue(turns, data):
    n = data.draw(st.integers(0, len(turns) - 1))
    start = data.draw(st.integers(0, len(turns[n].text) - 1))
    text, starts = task.flat(CandidateDraft("System 1", None, tuple(turns)))
    assert text[starts[n] + start :].startswith(turns[n].text[start:])


# Who may have it


@pytest.fixture
def ask(engine, make_study, monkeypatch):
    """(ask, study, lead, annotator): ask(who, path) → the answer to this person (None: nobody is signed in)."""
    with database.writing(engine) as session:
        study, lead, people = make_study(session, items=2)
        annotate(session, study, people[0], rejecting("ferrum"))
    app = Starlette(routes=export.EXPORT_ROUTES)
    monkeypatch.setattr(export, "web_engine", lambda: engine)

    def asking(who, path):
        monkeypatch.setattr(export, "current_login", lambda request: who)
        path, _, query = path.partition("?")

        async def with_query(scope, receive, send):
            await app({**scope, "query_string": query.encode()}, receive, send)

        return asyncio.run(get(with_query, path))

    return asking, study, lead, people[0]


def test_only_the_lead_of_the_study_gets_an_export(ask, engine):
    asking, study, lead, annotator = ask
    with database.writing(engine) as session:
        stranger = add_person(session, "another lead", Role.lead)
    path = f"/export/{study.slug}/trl.zip"
    answers = [asking(who, path) for who in (None, annotator, stranger, lead)]
    assert [answer.status_code for answer in answers] == [401, 403, 404, 200]
    assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}
    assert answers[-1].headers["content-type"] == "application/zip"
    assert answers[-1].headers["content-disposition"] == f'attachment; filename="{study.slug}-trl.zip"'
    with zipfile.ZipFile(io.BytesIO(b"".join(answers[-1].pieces))) as archive:
        assert archive.testzip() is None


def test_an_unknown_export_is_refused_with_a_reason(ask):
    asking, study, lead, _ = ask
    refused = {
        "people.zip": (404, "There is no format 'people'"),
        "trl.zip?margin=much": (400, "The margin is a number of 0 or more"),
        "trl.zip?margin=-1": (400, "The margin is a number of 0 or more"),
        "trl.zip?margin=nan": (400, "The margin is a number of 0 or more"),
        "trl.zip?criterion=beauty": (404, "The study has no criterion 'beauty'; it has fluency, verdict."),
    }
    for path, (status, words) in refused.items():
        answer = asking(lead, f"/export/{study.slug}/{path}")
        assert (answer.status_code, answer.text.startswith(words)) == (status, True), path
    assert asking(lead, f"/export/{study.slug}/trl.zip?margin=0.5&criterion=fluency").status_code == 200


def test_a_core_caller_is_refused_before_any_row_is_read(filled):
    session, study, *_ = filled
    with pytest.raises(NotFound):
        exports.export_zip(session, study, "docx", ExportOptions())
    with pytest.raises(NotAllowed):
        exports.export_zip(session, study, "trl", ExportOptions(margin=float("inf")))


def test_who_waits_sees_each_file_and_how_far_it_is(filled):
    session, study, *_ = filled
    bar, seen = Underway(), []
    for _ in exports.export_zip(session, study, "csv", ExportOptions(), bar):
        seen.append((bar.file, bar.share))
    names = list(dict.fromkeys(name for name, _ in seen))
    assert names[0] == "ratings.csv"
    assert names[-3:] == ["annotations.csv", "codebook.json", "README.md"]
    assert max(share for name, share in seen if name == "ratings.csv") == 1
    assert bar.has_ended
    assert bar.is_whole


def test_a_download_that_is_left_is_not_called_complete(filled):
    session, study, *_ = filled
    underway.ask(7, study.slug)
    bar = underway.begin(7, study.slug)
    pieces = exports.export_zip(session, study, "csv", ExportOptions(), bar)
    next(pieces)
    pieces.close()
    assert underway.newest(7, study.slug) is bar
    assert bar.has_ended
    assert not bar.is_whole


def test_the_beginning_of_each_text_file_is_shown(filled):
    session, study, *_ = filled
    first = dict(exports.first_lines(session, study, "csv", ExportOptions()))
    assert first["ratings.csv"].splitlines()[0].startswith("study")
    assert all(len(lines.splitlines()) <= exports.FIRST_LINES for lines in first.values())
    assert "README.md" not in first


# The menu


def drawn_menu():
    from components.results.study_tools import export_menu
    from triptych.storage.models import Study

    export_menu(
        Study(slug="esc-1", series="", title="", rubric_id=0, seed="", unblinded_at=None), {"fluency": "Fluency"}, 1
    )


def test_the_menu_asks_for_the_options_of_the_format():
    app = AppTest.from_function(drawn_menu, default_timeout=30).run()
    assert app.get("link_button")[0].proto.url == "export/esc-1/csv.zip"
    app.selectbox[0].set_value("trl").run()
    app.number_input[0].set_value(0.5)
    app.selectbox[1].set_value("fluency").run()
    assert app.get("link_button")[0].proto.url == "export/esc-1/trl.zip?criterion=fluency&margin=0.5"
    assert ["study archive" in app.caption[0].value, "System 1, 2" in app.caption[1].value] == [True, True]
    app.selectbox[0].set_value("events").run()
    assert len(app.caption) == 1
    assert not app.exception


def test_an_export_holds_few_items_at_a_time(sqlite_engine, make_study, monkeypatch):
    """Each of their annotations may hold hundreds of highlights."""
    read, batches = exports.with_texts, []

    def counted(session, batch, *names):
        batches.append(len(batch))
        return read(session, batch, *names)

    monkeypatch.setattr(exports, "with_texts", counted)
    with database.writing(sqlite_engine) as session:
        study, _, _ = make_study(session, items=100)
        exported = list(exports.read_finished(session, study).items(EVERYTHING))

    assert sum(batches) == len(exported) >= 100
    assert max(batches) <= 50
