"""The linter: runs all checks on item drafts, a file or a stored study; the most serious findings come first.

Only three findings prevent a launch: a missing candidate, an empty one, and a plan that splits into unconnected parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import select
from sqlmodel import Session

from triptych.formats.model import ItemDraft
from triptych.rubric.model import Rubric
from triptych.storage.models import CHECK_PURPOSES, Study, System
from triptych.study import contents, lifecycle, pairing
from triptych.study.check_items import require_criteria, sorted_out
from triptych.study.lint.candidates import doubled, empty, groups_in_ids, identical, missing, repeated, trained_on
from triptych.study.lint.findings import SEVERITIES, LintFinding
from triptych.study.lint.giveaways import own_names, speaks_of_itself
from triptych.study.lint.leftovers import leftovers
from triptych.study.lint.lengths import cut_off, lengths
from triptych.study.lint.material import Material
from triptych.study.lint.plan_gaps import plan_gaps
from triptych.study.pairing import PlanLine
from triptych.study.settings import Formats, formats_of
from triptych.study.system_names import system_names

MAX_SHOWN = 5


def lint(
    rubric: Rubric,
    items: Sequence[ItemDraft],
    training: Sequence[ItemDraft],
    plan: Sequence[PlanLine] | None = None,
    names: Mapping[str, str] | None = None,
    most_raters: int | None = None,
    *,
    formatted: bool = False,
) -> list[LintFinding]:
    """All findings, most serious first.

    training: items that annotators see besides the main items and the rubric's worked examples, such as checks; plan:
    the lines of an explicit plan; names: system → the name to be shown; most_raters, formatted: as in `Material`.
    """
    all_training = [*map(contents.training_draft, rubric.training), *training]
    material = Material(items, all_training, plan or (), names or {}, rubric.speaker_titles, most_raters, formatted)
    findings = [finding for check in CHECKS for finding in check(material)]
    return sorted(findings, key=lambda f: (not f.blocking, SEVERITIES.index(f.severity), -len(f.items)))


def lint_study(session: Session, study: Study) -> list[LintFinding]:
    """The findings about a stored study, with systems named as its leads may see them, and without passages."""
    shown = system_names(session, study)
    systems = session.scalars(select(System).where(System.study_id == study.id))
    checks = [item for purpose in CHECK_PURPOSES for item in contents.stored_items(session, study, purpose)]
    findings = lint(
        lifecycle.design_of(session, study).rubric,
        contents.stored_items(session, study, by_number=True),
        checks,
        pairing.lines_of(session, study),
        {system.name: shown[system.blind_code] for system in systems},
        max(pairing.raters_of(session, study).values(), default=None),
        formatted=formats_of(study).responses == "markdown",
    )
    return [replace(finding, passages=()) for finding in findings]


def lint_file(rubric: Rubric, items: Sequence[ItemDraft], formats: Formats) -> list[LintFinding]:
    """The findings about a file that was read without errors, before a study is created from it.

    Raises ImportRefused where a check item does not fit the rubric.
    """
    main, checks = sorted_out(items)
    require_criteria(rubric, checks)
    formatted = formats.responses == "markdown"
    return lint(rubric, main, [check.item for check in checks], formatted=formatted)


def gravest_first(findings: Sequence[LintFinding]) -> tuple[list[LintFinding], list[LintFinding]]:
    """(findings to show at once, findings to fold): at once up to five, plus all that block the launch."""
    cut = max(MAX_SHOWN, sum(finding.blocking for finding in findings))
    shown = [finding for finding in findings[:cut] if finding.severity != "note"]
    return shown, list(findings[len(shown) :])


Check = Callable[[Material], Iterator[LintFinding]]
CHECKS: tuple[Check, ...] = (
    missing,
    empty,
    plan_gaps,
    trained_on,
    own_names,
    speaks_of_itself,
    doubled,
    groups_in_ids,
    identical,
    repeated,
    leftovers,
    cut_off,
    lengths,
)
