"""Changes of a rubric's text by the form: nothing is lost, and what was not changed stays as it was written."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import yaml
from helpers.present import present
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from triptych.errors import InvalidRubric
from triptych.rubric import yaml_text
from triptych.rubric.edits import is_same, matched
from triptych.rubric.files import read_rubric, read_sheet, rewritten, shipped_rubrics
from triptych.rubric.yaml_text import InvalidYaml

TEXTS = {key: read_rubric(path) for key, path in shipped_rubrics().items()}
COMMENTED = """\
# the rubric of our lab
key: small
title: Small   # seen by nobody
summary: One question.
# read by annotators

instructions: >-
  Read,
  then judge.
# what is judged
criteria:
  # the first
  - key: good
    title: 'Good'
    definition: |-
      Is it good?
      Or not?
    # the scale
    scale: &usual
      kind: likert
      points:
        # low
        - {value: 1, title: Bad}  # rarely
        # high
        - {value: 2, title: Good}
  # the second
  - key: fine
    title: Fine
    definition: Is it fine?
    scale: *usual
# which passages
highlights:
  - key: claim
    title: A claim
# the end
"""
words = st.text(max_size=12) | st.text(alphabet="ab \n:#'\"-é>|yes", max_size=160)
leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-3, 3) | words
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=8
)


def containers(value: Any) -> list[Any]:
    """Every mapping and list in a value, itself first."""
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    below = [container for part in parts for container in containers(part)]
    return [value, *below] if isinstance(value, dict | list) else below


def edit(draw: Any, value: Any) -> None:
    """One change at random: remove, replace, add, move or copy."""
    place = draw(st.sampled_from(containers(value)))
    if isinstance(place, dict):
        key = draw(st.sampled_from([*place, "note", "added"]))
        if draw(st.booleans()) and key in place:
            del place[key]
        else:
            place[key] = draw(trees)
        return
    kind = draw(st.sampled_from(["add", "remove", "move", "copy"]))
    at = draw(st.integers(0, max(len(place) - 1, 0)))
    if kind == "add" or not place:
        place.insert(at, draw(trees))
    elif kind == "copy":
        place.insert(at, copy.deepcopy(place[at]))
    else:
        part = place.pop(at)
        if kind == "move":
            place.insert(draw(st.integers(0, len(place))), part)


@pytest.mark.long
@pytest.mark.parametrize("key", sorted(TEXTS))
def test_a_shipped_rubric_comes_back_letter_by_letter(key):
    text = TEXTS[key]
    assert yaml_text.dump(yaml_text.load(text), text) == text
    assert rewritten(text, read_sheet(text).value) == text


# few, as a shipped rubric with its translations takes seconds; for the same reason nothing is made smaller
@pytest.mark.long
@settings(max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=st.data())
def test_any_change_of_the_form_comes_back_without_loss(data):
    text = data.draw(st.sampled_from([COMMENTED, *TEXTS.values()]))
    value = copy.deepcopy(read_sheet(text).value)
    for _ in range(data.draw(st.integers(1, 4))):
        edit(data.draw, value)
    changed = rewritten(text, value)
    assert is_same(yaml_text.read(changed), value)
    assert is_same(yaml_text.read(rewritten(changed, read_sheet(text).value)), read_sheet(text).value)


@pytest.mark.long
@given(st.dictionaries(words, trees, max_size=4))
@settings(deadline=None)
def test_any_data_that_is_written_is_read_again(data):
    assert is_same(yaml_text.read(yaml_text.write(data)), data)


@given(st.dictionaries(st.text(alphabet="abyno:#-1. ", max_size=12), st.text(alphabet="yesNOn:#-1. ", max_size=12)))
@example({"": "1:30"})
def test_words_that_are_written_are_words_to_other_readers(data):
    assert yaml.safe_load(yaml_text.write({f"k{key}": value for key, value in data.items()})) == {
        f"k{key}": value for key, value in data.items()
    }


def changed(act: Any, text: str = COMMENTED) -> str:
    value = copy.deepcopy(read_sheet(text).value)
    act(value)
    return rewritten(text, value)


def test_no_comment_is_lost_in_a_move():
    def swap(value):
        value["criteria"].reverse()

    lines = changed(swap).splitlines()
    assert lines.index("  - key: fine") < lines.index("  - key: good")
    assert lines[lines.index("highlights:") - 1] == "# which passages"
    assert all(changed(swap).count(comment) == 1 for comment in re.findall("#.*", COMMENTED))


def test_a_changed_text_leaves_every_other_line_alone():
    def rename(value):
        value["criteria"][0]["title"] = "Very good"
        value["instructions"] = "Read."

    expected = COMMENTED.replace("'Good'", "'Very good'").replace(">-\n  Read,\n  then judge.", "Read.")
    assert changed(rename) == expected


def test_a_new_key_comes_before_the_next_comment():
    def note(value):
        value["criteria"][1]["required"] = False
        value["criteria"][1]["note"] = "Look twice."

    assert "    note: Look twice.\n    required: false\n    scale: *usual\n# which passages" in changed(note)


def test_changing_a_repeated_part_leaves_its_other_places_alone():
    def rename(value):
        value["criteria"][1]["scale"]["points"][0]["title"] = "Poor"

    def rename_first(value):
        value["criteria"][0]["scale"]["points"][0]["title"] = "Poor"

    for act, titles in ((rename, ["Bad", "Poor"]), (rename_first, ["Poor", "Bad"])):
        criteria = yaml_text.read(changed(act))["criteria"]
        assert [criterion["scale"]["points"][0]["title"] for criterion in criteria] == titles


def test_a_part_moved_to_the_front_keeps_its_comment():
    def reverse(value):
        value["criteria"][0]["scale"]["points"].reverse()

    alone = COMMENTED.replace("scale: *usual", "scale: {kind: best}\n    about: item")
    assert "        # low\n        # high\n        - {value: 2, title: Good}" in changed(reverse, alone)


def test_keys_that_a_criterion_takes_over_become_its_own():
    def ask(value):
        value["criteria"][1]["required"] = True

    text = COMMENTED.replace("  - key: good", "  - <<: &usually {required: false}\n    key: good")
    text = text.replace("  - key: fine", "  - <<: *usually\n    key: fine")
    good, fine = yaml_text.read(changed(ask, text))["criteria"]
    assert (good["required"], fine["required"]) == (False, True)


def test_a_part_of_a_list_is_recognised_by_its_key():
    a, b, c = {"key": "a"}, {"key": "b"}, {"key": "c"}
    assert matched([a, b], [b, a]) == [1, 0]
    assert matched([a, b], [{"key": "b", "title": "New"}, c]) == [1, None]
    assert matched([1, 2], [1, 3]) == [0, 1]


def test_mistakes_are_at_their_line_with_a_cure():
    text = COMMENTED.replace("title: Bad}", "titel: Bad}").replace("kind: likert", "kind: likart", 1)
    kind, _ = read_sheet(text).mistakes  # the scale is repeated
    assert (kind.place, kind.cure) == ("Criterion “Good”", ("likart", "likert"))
    assert "likart" in text.splitlines()[present(kind.line) - 1]
    text = COMMENTED.replace("title: Bad}", "titel: Bad}")
    first, second = read_sheet(text).mistakes
    assert first.line == second.line
    assert "titel" in text.splitlines()[present(first.line) - 1]
    assert first.place == "Criterion “Good”, point 1"
    assert first.cure == ("titel", "title")


@pytest.mark.parametrize("text", ["a: !!python/object/apply:os.getcwd []", "a: !own x", "a: !!set {x}", "[[]]: x"])
def test_only_plain_data_are_read(text):
    with pytest.raises(InvalidYaml):
        yaml_text.read(text)


def test_repeated_parts_count_each_time():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{name}: &{name} [{', '.join(['*' + before] * 10)}]" for before, name in zip("abcdefg", "bcdefgh", strict=True)
    ]
    with pytest.raises(InvalidYaml, match="more than 200,000"):
        yaml_text.read("\n".join(lines))
    with pytest.raises(InvalidRubric, match="50,000 keys and values"):
        rewritten("\n".join(lines), {})
