"""What moves a number is mentioned to readers of results, or says nothing against it: events, flags, settings."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

import triptych
from triptych.results.caveats import MENTIONED
from triptych.results.frame.model import Counted
from triptych.storage.events import EventKind
from triptych.study.settings import Preregistration, StudySettings

ROOT = Path(triptych.__file__).parent
FLAGGING = {"flagged", "flags", "alarm"}
# why no finding mentions a kind of event → names of these kinds
NOT_MENTIONED = {
    "A finding is derived from the ratings or from the study's state.": (
        "annotator_excluded annotator_reinstated annotators_grouped ignored imported ratings_imported results_opened "
        "simulated skipped study_closed study_copied study_open study_paused submitted surplus unblinded"
    ),
    "It belongs to preparing a study, before there are any numbers.": (
        "check_items_added datasheet_answered design_changed plan_stored reserved setting_changed setting_redone "
        "setting_undone study_created workbook_cancelled workbook_made"
    ),
    "It is about access, not about ratings.": (
        "account_disabled account_enabled consent_asked_again consent_refused consented entry_test_passed "
        "entry_test_started instructions_read invited joined lead_added lead_removed link_ended link_issued reminded "
        "token_made token_revoked viewer_added viewer_removed viewers_reading_changed"
    ),
    "It records what is stored and changes nothing.": "baseline person_baseline study_archived",
    "Final values and copies do not change the ratings that count.": (
        "copies_deleted final_value_asked_for final_value_changed final_value_recorded final_value_taken_back"
    ),
    "The first answer to a check counts and is not changed.": "check_answered_again",
    "It has the same ratings in another database, and its log still records their origin.": "study_arrived",
}
# class that flags an annotator or a criterion → the kinds of finding that mention it
FLAGS = {
    "AnnotatorAgreement": "annotator",
    "AnnotatorLook": "annotator",
    "Drift": "annotator",
    "FlaggedRate": "annotator, missing answers, checks",
    "Line": "annotator, speed, checks",
    "Speed": "speed",
    "Standing": "checks",
    "StraightLining": "annotator",
}
# setting or filter that changes what is computed → the kinds of finding that mention it
SETTINGS = {
    "annotator_groups": "groups, groups set late",
    "group_field": "groups not declared, groups declared late",
    "preregistration.interim_bound": "collection",
    "preregistration.stop_rule": "collection",
    "scope.kinds": "simulated, judge",
    "scope.with_excluded": "exclusions, excluded, excluded judges",
    "scope.with_ignored": "ignored items",
}
# why no finding mentions a setting or filter → their names
WITHOUT_FINDING = {
    "It is about how people work, not about numbers computed from their ratings.": (
        "checks codes common_names consent contact content_note entry ethics heds instructions item_order "
        "items_per_annotator overlap panel pay recruitment reservation_minutes viewers_read_explanations"
    ),
    "The methods text reports what was done with it.": (
        "arrangement mark_unit language expertise formats preregistration.criteria preregistration.exclusions "
        "preregistration.margins preregistration.primary_contrast preregistration.primary_criterion "
        "preregistration.sample preregistration.slices scope.annotators scope.field scope.value"
    ),
}


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
    not_mentioned = [EventKind[name] for names in NOT_MENTIONED.values() for name in names.split()]
    assert sorted([*MENTIONED, *not_mentioned]) == sorted(EventKind)


def test_every_kind_of_flag_is_mentioned():
    assert flagging_classes() == {*FLAGS}
    assert {kind for kinds in FLAGS.values() for kind in kinds.split(", ")} <= finding_kinds()


def test_every_setting_and_filter_is_mentioned_or_declared_irrelevant():
    names = {*StudySettings.model_fields} - {"preregistration"}
    names |= {f"preregistration.{name}" for name in Preregistration.model_fields}
    names |= {f"scope.{field.name}" for field in fields(Counted)}
    assert sorted([*SETTINGS, *" ".join(WITHOUT_FINDING.values()).split()]) == sorted(names)
    assert {kind for kinds in SETTINGS.values() for kind in kinds.split(", ")} <= finding_kinds()


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
