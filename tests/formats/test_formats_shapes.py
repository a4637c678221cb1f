"""Files in the shapes in which rating sets are published: each comes in by the roles that are proposed."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from helpers.present import present

from triptych.errors import ImportRefused
from triptych.exchange import import_ratings
from triptych.formats import read_items
from triptych.formats.layout import ITEM_GROUP
from triptych.formats.model import ReadOptions
from triptych.formats.ratings import read_files
from triptych.formats.ratings.assemble import Assembled, assemble
from triptych.formats.ratings.model import in_group
from triptych.formats.ratings.roles import ColumnMapping, Duplicates, read_mapping

SHAPES = Path(__file__).parent / "shapes"
LISTED = [
    # files, items, systems, annotators, criteria, ratings
    pytest.param(["mturk_batch.csv"], 6, 3, 5, 4, 216, id="Mechanical Turk"),
    pytest.param(["mturk_batch.xlsx"], 6, 3, 5, 4, 216, id="the same as a workbook"),
    pytest.param(["sentences_with_responses.jsonl"], 10, 1, 3, 1, 30, id="nested sentences"),
    pytest.param(["by_annotator.json"], 8, 1, 3, 1, 24, id="by annotator"),
    pytest.param(["by_annotator_25_labels.json"], 60, 1, 3, 1, 180, id="25 labels"),
    pytest.param(["summaries.jsonl", "summaries_ratings.jsonl"], 4, 3, 3, 3, 108, id="texts and ratings by line"),
    pytest.param(["dialogs_with_lists.json"], 5, 3, 4, 4, 180, id="lists side by side"),
    pytest.param(["folder_per_system"], 6, 2, 6, 2, 48, id="a folder per system"),
    pytest.param(["ratings_with_reasons_for_na.csv"], 2, 2, 2, 1, 6, id="reasons for missing"),
]
BATCHES = ["mturk_batch.csv", "mturk_second_batch.csv"]


def assembled(names: list[str], duplicates: Duplicates = "error", groups: tuple[str, ...] = ("", "")) -> Assembled:
    files = [
        in_group(file, group)
        for name, group in zip(names, groups, strict=False)
        for path in (sorted((SHAPES / name).rglob("*.json")) or [SHAPES / name])
        for file in read_files(path.read_bytes(), path.relative_to(SHAPES).as_posix())
    ]
    assert all(file.ok for file in files)
    asked = import_ratings.asked_as_proposed("Shapes", files, import_ratings.proposed(files))
    return assemble(files, asked, duplicates=duplicates)


@pytest.mark.parametrize(("names", "items", "systems", "annotators", "criteria", "ratings"), LISTED)
def test_a_published_shape_is_read_as_its_makers_say(names, items, systems, annotators, criteria, ratings):
    result = assembled(names)
    counts = result.counts()
    assert result.ok, result.problems
    assert [counts[part] for part in ("items", "systems", "annotators")] == [items, systems, annotators]
    assert (len(result.asked.rubric.criteria), counts["ratings"]) == (criteria, ratings)


@pytest.mark.parametrize(("name", "items", "systems"), [
    ("wide_plain.csv", 4, ("gpt-4o", "llama-3", "mistral")),
    ("instruction_output_generator.json", 3, ("model-x", "model-y")),
    ("summaries.jsonl", 4, ("alpha-7b", "beta-13b", "gamma")),
])  # fmt: skip
def test_outputs_of_models_are_items_also_among_ratings(name, items, systems):
    data = (SHAPES / name).read_bytes()
    file = read_items(data, name)
    assert (file.ok, len(file.items), file.systems) == (True, items, systems)
    assert all(item.context_text for item in file.items)
    (among_ratings,) = read_files(data, name)
    assert among_ratings.items == file
    with pytest.raises(ImportRefused, match="items without ratings"):
        import_ratings.proposed([among_ratings])


def test_positions_in_a_list_are_the_systems_of_the_texts():
    result = assembled(["summaries.jsonl", "summaries_ratings.jsonl"])
    first = [
        present(r.number) for work in result.works if work.item == "1" for r in work.ratings if r.system == "beta-13b"
    ]
    assert {system for work in result.works for system in work.systems} == {"alpha-7b", "beta-13b", "gamma"}
    assert sorted(first) == sorted([5, 4, 3, 1, 3, 5, 5, 3, 5])


def test_sentences_keep_the_article_as_their_group():
    groups = [item.meta[ITEM_GROUP] for item in assembled(["sentences_with_responses.jsonl"]).items]
    assert groups == [str(number) for number in range(1, 6) for _ in range(2)]


def test_lists_side_by_side_belong_to_the_annotators_beside_them():
    result = assembled(["dialogs_with_lists.json"])
    work = next(work for work in result.works if (work.item, work.annotator) == ("1", "w4"))
    answers = {r.criterion: r.number for r in work.ratings if r.system == "Original Ground Truth"}
    assert answers == {"understandable": 0, "natural": 1, "uses_knowledge": 0, "overall": 4}


def test_yes_or_no_is_nominal_unless_said():
    levels = {c.title: c.scale.level for c in assembled(["dialogs_with_lists.json"]).asked.rubric.criteria}
    assert levels == {
        "Understandable": "nominal", "Natural": "ordinal", "Uses Knowledge": "nominal", "Overall": "ordinal",
    }  # fmt: skip


def test_a_reason_for_a_missing_value_is_kept():
    result = assembled(["ratings_with_reasons_for_na.csv"])
    reasons = {rating.explanation for work in result.works for rating in work.ratings if rating.missing}
    assert reasons == {"NA - nothing to recover from", "n/a: no error here", "not applicable (fine)"}
    assert sum(not rating.missing for work in result.works for rating in work.ratings) == 3


@pytest.mark.parametrize(("duplicates", "ratings", "annotations"), [
    ("first", 228, 30), ("last", 228, 30), ("repeats", 244, 34),
])  # fmt: skip
def test_what_a_second_batch_repeats_is_a_choice(duplicates: Duplicates, ratings: int, annotations: int):
    result = assembled(BATCHES, duplicates)
    assert result.ok
    assert (result.counts()["ratings"], len(result.works)) == (ratings, annotations)
    assert any(problem.message.startswith("16 rating(s)") for problem in result.problems)


def test_the_first_or_the_last_of_two_ratings_counts():
    def values(duplicates: Duplicates) -> list[float | None]:
        works = {(work.annotator, work.item): work for work in assembled(BATCHES, duplicates).works}
        return [
            r.number
            for key in sorted(works)
            for r in sorted(works[key].ratings, key=lambda r: (r.system or "", r.criterion))
        ]

    assert sum(a != b for a, b in zip(values("first"), values("last"), strict=True)) == 2  # both answers that differ


def test_a_repeated_batch_is_an_error_once_with_its_number():
    result = assembled(BATCHES)
    (error,) = [problem for problem in result.problems if problem.severity == "error"]
    assert "already" in error.message and error.more == 15


def test_the_same_ids_in_two_groups_are_different_annotators():
    result = assembled(["by_annotator.json", "by_annotator.json"], groups=("expert", "crowd"))
    assert result.counts()["annotators"] == 6
    assert set(result.annotator_groups.values()) == {"expert", "crowd"}
    assert result.annotator_groups["crowd/ann"] == "crowd"


def test_a_zip_of_folders_gives_each_its_system():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in (SHAPES / "folder_per_system").rglob("*.json"):
            archive.write(path, path.relative_to(SHAPES))
    files = read_files(packed.getvalue(), "all.zip")
    assert {rating.system for file in files for rating in file.ratings} == {"team-a", "team-b"}


def test_a_mapping_says_what_names_do_not():
    data = b"a,model,b,c\nq1,m,x,4\nq1,m,y,5\n"
    with pytest.raises(ImportRefused, match="item of a rating"):
        read_files(data, "plain.csv")
    mapping = read_mapping(ColumnMapping({"a": "item", "b": "annotator", "c": "value"}).to_json())
    (file,) = read_files(data, "plain.csv", roles=mapping.roles)
    assert [(r.item, r.system, r.annotator, r.criterion, r.value) for r in file.ratings] == [
        ("q1", "m", "x", "c", "4"),
        ("q1", "m", "y", "c", "5"),
    ]


@pytest.mark.parametrize(("text", "sentence"), [
    ("{", "is not JSON"),
    ("[]", "looks like this"),
    ('{"roles": {"a": "colour"}}', "'a' 'colour'; roles are item"),
    ('{"roles": {}, "duplicates": "mean"}', "'duplicates' is one of"),
])  # fmt: skip
def test_a_mapping_that_cannot_be_read_is_refused(text: str, sentence: str):
    with pytest.raises(ImportRefused, match=sentence):
        read_mapping(text)


def test_roles_of_items_are_the_leads_choice():
    data = b"id,prompt,short,long\n1,Why?,So,So it is\n2,How?,Thus,Like this\n"
    roles = (("id", "item"), ("prompt", "context"), ("short", "field"), ("long", "response"))
    (first, _) = read_items(data, "x.csv", ReadOptions(roles=roles)).items
    assert [c.system for c in first.candidates] == ["long"]
    assert first.meta == {"short": "So"}


def test_a_saved_mapping_is_plain_json():
    (file,) = read_files((SHAPES / "by_annotator.json").read_bytes(), "by_annotator.json")
    assert json.loads(ColumnMapping(file.roles, "last").to_json()) == {
        "roles": {"level 1": "annotator", "level 2": "item", "value": "value"},
        "duplicates": "last",
    }
