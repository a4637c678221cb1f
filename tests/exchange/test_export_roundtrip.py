"""Out and in again: every rating and every highlight comes back as it went."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import openpyxl
import pytest
from helpers.exports import FORMULA, HALF_POINTS, annotate, opened, rejecting, table, unzipped
from helpers.present import present
from helpers.studies import draft_items, full_answers

from triptych.exchange import exports
from triptych.exchange.import_ratings import asked_as_proposed, asked_by, proposed
from triptych.formats.model import CandidateDraft, ItemDraft, TurnDraft
from triptych.formats.ratings import read_files, read_ratings
from triptych.formats.ratings.assemble import assemble
from triptych.formats.writers.argilla import factor_of
from triptych.formats.writers.model import MAIN_WORK, ExportOptions
from triptych.storage import database

EVERY_KIND = HALF_POINTS.replace(
    "highlights:",
    """  - key: verdict
    title: Verdict
    definition: Would you send it?
    scale:
      kind: choice
      options:
        - {key: accept, title: Accept, positive: true}
        - key: reject
          title: Reject
          ask: {reasons: [{key: wrong, text: Wrong, tag: error}, {key: rude, text: Rude, tag: tone}]}
        - {key: unsure, title: Cannot say, missing: true}
set_aside_response: {title: Cannot rate, reasons: [{key: blank, title: Blank}]}
highlights:""",
).replace("title: Good passage}", "title: Good passage}, {key: evidence, title: Evidence, marked_in: context}")
TITLES = {"usr": "Seeker", "sys": "Helper"}
TEXT = "Well 😀, \"no\", 'yes'; <b>👩‍👩‍👧</b>\n=1+1 of "


def items() -> list[ItemDraft]:
    """Two items of texts, with everything that offsets and files stumble over."""
    return [
        ItemDraft(
            external_id=f"00{n}",
            context_text=None,
            context_turns=(TurnDraft("usr", "Hi 😀"), TurnDraft("sys", "Yes?")),
            candidates=tuple(CandidateDraft(name, f"{TEXT}{name} {n}", None) for name in ("one", "two", "three")),
            meta={},
            extra_texts={},
            row=n,
        )
        for n in (1, 2)
    ]


def answers_of(number: int):
    """Everything an annotator may give, different for each number."""

    def answers(at):
        mark = {"turn": None, "label": "good", "comment": "+ so so", "unit": "words"}
        return {
            "ratings": {
                at["one"]: {"warmth": 0.5 * number, "quality": 0, "verdict": "accept"},
                at["two"]: {"warmth": 2, "quality": 40.5, "verdict": "reject"},
                "item": {"winner": [at["one"], at["two"]], "clear": "n"},
            },
            "explanations": {
                at["two"]: {"verdict": {"reject": {"reasons": ["wrong", "rude"], "text": f"{FORMULA} 😀\n{number}"}}}
            },
            "highlights": [
                {"slot": at["one"], "start": 5, "end": 6, **mark},
                {"slot": at["two"], "start": TEXT.index("=1"), "end": len(TEXT) + number, **mark},
                {"slot": "context", "start": number % 2, "end": 4, **mark, "turn": number % 2, "label": "evidence"},
            ],
            "set_aside": {at["three"]: "blank"},
        }

    return answers


@pytest.fixture
def study_of_all(sqlite_engine):
    """(session, study): two items, two annotators, every kind of scale."""
    with database.writing(sqlite_engine) as session:
        study, people = opened(session, EVERY_KIND, items(), annotators=2)
        for number, who in enumerate((*people, *people)):
            annotate(session, study, who, answers_of(number))
        yield session, study


def stored_ratings(session, study, with_missing: bool = False) -> set[tuple]:
    """(item, system or None, annotator, criterion, value as text) of everything rated; "" where it was set aside."""
    rated = set()
    for item in exports.read_finished(session, study).items(MAIN_WORK):
        for work in item.annotations:
            places = [(None, work.about_item), *((slot.system, slot.ratings) for slot in work.slots)]
            rated |= {
                (item.item_id, system, work.annotator, r.criterion, r.option or ("" if r.missing else f"{r.number:g}"))
                for system, ratings in places
                for r in ratings
            }
    valued = {rating for rating in rated if rating[-1]}
    assert (len(valued), len(rated)) == (4 * 9, 4 * 13)
    return rated if with_missing else valued


def stored_highlights(session, study, one_text: bool = True) -> set[tuple]:
    """(item, system or None, annotator, label, start, end, quote): code points; one_text: a context's turns are one."""
    marks = set()
    for item in exports.read_finished(session, study).items(MAIN_WORK):
        texts = {candidate.system: candidate.text for candidate in item.candidates}
        starts = (8, 21) if one_text else (0, 0)  # "Seeker: Hi 😀" and "Helper: Yes?"
        for work in item.annotations:
            for slot, m in work.highlights:
                text = texts[slot.system] if slot else item.turns[present(m.turn)].text
                assert m.quote == present(text)[m.start : m.end]
                shift = 0 if slot else starts[present(m.turn)]
                start, end = present(m.start) + shift, present(m.end) + shift
                system = slot.system if slot else None
                marks.add((item.item_id, system, work.annotator, m.label, start, end, m.quote))
    assert len(marks) == 12
    return marks


def explanations(session, study) -> set[tuple]:
    return {
        (item.item_id, slot.system, work.annotator, rating.explanation, rating.reasons)
        for item in exports.read_finished(session, study).items(MAIN_WORK)
        for work in item.annotations
        for slot in work.slots
        for rating in slot.ratings
        if rating.explanation
    }


def explained(ratings) -> set[tuple]:
    """The same of what is about to be imported."""
    return {
        (work.item, rating.system, work.annotator, rating.explanation, rating.reasons)
        for work in ratings.works
        for rating in work.ratings
        if rating.explanation
    }


def read_back(data: bytes, name: str):
    read = read_ratings(data, name)
    assert read.ok, read.problems
    return read


def plain(value: str) -> str:
    """A number without what a file adds to it: 2.0 is 2."""
    try:
        return f"{float(value):g}"
    except ValueError:
        return value


def given_ratings(read) -> set[tuple]:
    return {(r.item, r.system, r.annotator, r.criterion, plain(r.value)) for r in read.ratings}


def given_highlights(read) -> set[tuple]:
    """With offsets turned to code points, cut out of the texts that the same file brought."""
    spans = set()
    for m in read.highlights:
        text = read.texts[m.item, m.system]
        units = text.encode("utf-16-le")
        unit = 2 if m.utf16 else None
        start, end = (len(units[: at * 2].decode("utf-16-le")) if unit else at for at in (m.start, m.end))
        spans.add((m.item, m.system, m.annotator, m.label, start, end, text[start:end]))
        assert m.quote in (None, text[start:end])
    return spans


def download(session, study, key) -> bytes:
    return b"".join(exports.export_zip(session, study, key, ExportOptions()))


@pytest.mark.parametrize("key", ["csv", "parquet", "huggingface"])
def test_an_export_of_tables_is_imported_from_its_zip(study_of_all, key):
    session, study = study_of_all
    ratings, highlights = read_files(download(session, study, key), "export.zip")
    assert ratings.ok
    assert highlights.ok
    assert given_ratings(ratings) == stored_ratings(session, study, with_missing=True)
    assembled = assemble((ratings, highlights), asked_by(EVERY_KIND, (ratings, highlights)))
    assert not assembled.problems
    assert explained(assembled) == explanations(session, study)
    read = [(work, mark) for work in assembled.works for mark in work.highlights]
    marks = {(work.item, m.system, work.annotator, m.label, m.start, m.end, m.quote) for work, m in read}
    assert marks == stored_highlights(session, study, one_text=False)
    assert {mark.turn for _, mark in read if mark.system is None} == {0, 1}
    assert {(mark.comment, mark.unit) for _, mark in read} == {("+ so so", "words")}
    assert {(item.external_id, c.text) for item in assembled.items for c in item.candidates} == {
        (item.external_id, c.text) for item in items() for c in item.candidates
    }
    titled = tuple(TurnDraft(TITLES[turn.speaker], turn.text) for turn in items()[0].context_turns)
    assert all(item.context_turns == titled for item in assembled.items)  # the study is blind
    assert [item.meta for item in assembled.items] == [item.meta for item in items()]
    made = asked_as_proposed("Again", (ratings, highlights), proposed((ratings, highlights))).rubric
    assert {label.key: label.marked_in for label in made.highlights} == {"good": "candidate", "evidence": "context"}


@pytest.mark.parametrize("key", ["csv", "parquet", "huggingface"])
def test_an_export_without_highlights_is_imported_from_its_zip(sqlite_engine, make_study, key):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=1)
        annotate(session, study, people[0], lambda at: full_answers())
        (ratings,) = read_files(download(session, study, key), "export.zip")
    assert ratings.ok
    assert ratings.ratings
    assert [problem.severity for problem in ratings.problems if "no rows" in problem.message] == ["note"]


def test_evidence_beside_a_system_is_an_error(study_of_all):
    session, study = study_of_all
    (ratings, highlights) = read_files(download(session, study, "csv"), "export.zip")
    highlights.highlights = [replace(mark, system="System 1") for mark in highlights.highlights]
    (problem,) = assemble((ratings, highlights), asked_by(EVERY_KIND, (ratings, highlights))).problems[:1]
    assert "'evidence' is marked in the context, but its row names a system" in problem.message


def test_a_spreadsheet_saved_as_xlsx_brings_every_rating_back(study_of_all):
    session, study = study_of_all
    header, *rows = csv.reader(io.StringIO(unzipped(session, study, "csv")["ratings.csv"].decode(), newline=""))
    numbers = {header.index(name) for name in ("position", "value", "version", "active_seconds")}
    book = openpyxl.Workbook()
    book.active.append(header)
    for row in rows:
        book.active.append([float(cell) if n in numbers and cell else cell for n, cell in enumerate(row)])
    saved = io.BytesIO()
    book.save(saved)
    assert given_ratings(read_back(saved.getvalue(), "ratings.xlsx")) == stored_ratings(session, study, True)


def test_label_studio_brings_every_rating_and_highlight_back(study_of_all):
    session, study = study_of_all
    read = read_back(unzipped(session, study, "label-studio")["tasks.json"], "tasks.json")
    # a best is asked letter by letter there, so it comes back as it is stored: 1 or 0 for each response
    assert given_ratings(read) == stored_ratings(session, study)
    assert given_highlights(read) == stored_highlights(session, study)
    assert {(mark.comment, mark.marked_by) for mark in read.highlights} == {("+ so so", None)}
    assert explained(assemble((read,), asked_by(EVERY_KIND, (read,)))) == explanations(session, study)


def test_argilla_brings_every_rating_and_highlight_back(study_of_all):
    session, study = study_of_all
    files = unzipped(session, study, "argilla")
    read = read_back(files["records.json"], "records.json")
    users = {row["user_id"]: row["annotator"] for row in table(files["users.csv"])}
    criteria = {c.key: c for c in exports.read_finished(session, study).criteria}
    factors = {key: factor_of(criterion.scale) or 1 for key, criterion in criteria.items()}
    back = {
        (item, system, users[who], criterion, plain(str(float(value) / factors[criterion]))
         if criteria[criterion].scale.kind != "choice" else value)
        for item, system, who, criterion, value in given_ratings(read)
    }  # fmt: skip
    assert back == stored_ratings(session, study)
    assert {(note.item, note.system, note.text) for note in read.notes if "why" in note.name} == {
        (item, system, text) for item, system, _, text, _ in explanations(session, study)
    }
    marks = {(item, system, users[who], *rest) for item, system, who, *rest in given_highlights(read)}
    assert marks == stored_highlights(session, study)


def test_a_potato_project_is_imported_from_its_zip(study_of_all):
    session, study = study_of_all
    (read,) = read_files(download(session, study, "potato"), "project.zip")
    assert read.ok
    assert given_ratings(read) == stored_ratings(session, study)
    assert {(m.item, m.system, m.annotator, m.label, m.start, m.end, m.quote) for m in read.highlights} == (
        stored_highlights(session, study)
    )
    assert explained(assemble((read,), asked_by(EVERY_KIND, (read,)))) == explanations(session, study)


@pytest.mark.parametrize("key", ["label-studio", "argilla", "potato"])
def test_a_question_about_a_single_responses_item_comes_back(sqlite_engine, key):
    rubric = "\n".join(line for line in HALF_POINTS.splitlines() if "key: winner" not in line)
    one_each = [replace(item, candidates=item.candidates[:1]) for item in items()]
    with database.writing(sqlite_engine) as session:
        study, people = opened(session, rubric, one_each, annotators=1)
        ratings = {"A": {"warmth": 1, "quality": 40}, "item": {"clear": "n"}}
        annotate(session, study, people[0], lambda at: {"ratings": ratings})
        (read,) = read_files(download(session, study, key), "export.zip")
    about = {(rating.system, rating.criterion) for rating in read.ratings}
    assert about == {("System 1", "warmth"), ("System 1", "quality"), (None, "clear")}


@pytest.mark.parametrize("key", ["label-studio", "argilla", "potato"])
def test_more_responses_than_letters_come_back(imported, key):
    """An import may compare up to fifty."""
    rows = [f"{item},s{system},ann,flu,{system % 5},text {system}" for item in (1, 2) for system in range(12)]
    files = [read_ratings("\n".join(["item_id,system,annotator,criterion,value,response", *rows]).encode(), "a.csv")]
    study, _, session = imported(assemble(files, asked_as_proposed("A", files, proposed(files))))
    (read,) = read_files(download(session, study, key), "export.zip")
    assert read.ok
    assert len(set(read.texts)) == len(given_ratings(read)) == len(rows)


def test_label_studio_returns_an_item_without_a_context(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=1)
        annotate(session, study, people[0], rejecting("stannum"))
        read = read_back(unzipped(session, study, "label-studio")["tasks.json"], "tasks.json")
        responses = {text for (_, system), text in read.texts.items() if system}
        assert responses == {c.text for c in draft_items(1)[0].candidates}
        assert len(read.ratings) == 6
