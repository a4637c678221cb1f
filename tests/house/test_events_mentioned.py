"""What moves a number is mentioned to readers of results, or says nothing against it: events, flags, settings."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

import triptych
from triptych.results.caveats import BEFORE_RATINGS, FLAGS, IN_METHODS, MENTIONED, NOT_MENTIONED, SETTINGS
from triptych.results.frame.model import Counted
from triptych.storage.events import EventKind
from triptych.study.settings import Preregistration, StudySettings

ROOT = Path(triptych.__file__).parent
FLAGGING = {"flagged", "flags", "alarm"}


def sources(*folders: str) -> list[ast.Module]:
    return [ast.parse(path.read_text(encoding="utf-8")) for name in folders for path in (ROOT / name).rglob("*.py")]


def flagging_classes() -> set[str]:
    """Classes with a field or property that flags somebody or something."""
    classes = set()
    for node in (node for module in sources("stats", "results", "annotate") for node in ast.walk(module)):
        if isinstance(node, ast.ClassDef):
            names = {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
            names |= {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            classes |= {node.name} if names & FLAGGING else set()
    return classes


def finding_kinds() -> set[str]:
    """Second argument of every Finding that is made."""
    calls = (node for module in sources("results") for node in ast.walk(module) if isinstance(node, ast.Call))
    made = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Finding"]
    return {str(call.args[1].value) for call in made if isinstance(call.args[1], ast.Constant)}


def test_every_kind_of_event_is_mentioned_or_declared_irrelevant():
    assert sorted([*MENTIONED, *NOT_MENTIONED]) == sorted(EventKind)
    assert all(NOT_MENTIONED.values())


def test_every_kind_of_flag_is_mentioned():
    assert flagging_classes() == {*FLAGS}
    assert {kind for kinds in FLAGS.values() for kind in kinds.split(", ")} <= finding_kinds()


def test_every_setting_and_filter_is_mentioned_or_declared_irrelevant():
    names = {*StudySettings.model_fields} - {"preregistration"}
    names |= {f"preregistration.{name}" for name in Preregistration.model_fields}
    names |= {f"scope.{field.name}" for field in fields(Counted)}
    assert names == {*SETTINGS}
    mentioned = {*SETTINGS.values()} - {BEFORE_RATINGS, IN_METHODS}
    kinds = {kind for words in mentioned for kind in words.split(", ")}
    assert kinds <= finding_kinds()


def test_only_a_restore_records_the_event_of_a_restore():
    """With it, acts of removed leads are let into the log: `events._refuse_removed_leads`."""
    recorders = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        for given in [*call.args, *(keyword.value for keyword in call.keywords)]
        if isinstance(given, ast.Attribute) and given.attr == "restored_from_backup"
    }
    assert recorders == {"operations/backup.py"}
