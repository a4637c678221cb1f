"""Duplicating a study: as a separate copy, or as the next round of the same series. Ratings are never copied."""

from __future__ import annotations

from sqlalchemy import select
from sqlmodel import Session

from triptych.formats.model import ItemDraft
from triptych.rubric.model import Rubric
from triptych.storage import events
from triptych.storage.events import EventKind
from triptych.storage.models import CHECK_PURPOSES, JsonObject, Round, Study
from triptych.study import contents, copies, lifecycle
from triptych.study.lifecycle import StudyPlan
from triptych.study.persons import Who
from triptych.study.settings import Codes, Preregistration, changed, settings_of, stored


def duplicate(
    session: Session, study: Study, title: str, who: Who, *, next_round: Round | None = None, with_items: bool = True
) -> Study:
    """A new draft of this lead with the same rubric, settings and, optionally, items.

    With `next_round` it belongs to the same series, otherwise to a new one. Completion codes are new, so that
    a panel can distinguish the rounds; the preregistration is not copied, because it was declared for other data.
    Raises NotAllowed for anybody but a lead or an unusable title, and Conflict if the series has such a round.
    """
    lifecycle.refuse_others(who)
    events.write_pending(session)  # the copy's log names the first event of its original
    lifecycle.refuse_unusable(title, study.raters_per_item)
    if next_round is not None:
        lifecycle.refuse_taken(session, study.series, next_round)
        lifecycle.refuse_silent(lifecycle.design_of(session, study).rubric, next_round)
    plan = StudyPlan(
        title=title.strip(),
        raters_per_item=study.raters_per_item,
        access=study.access,
        round=next_round or study.round,
        presentation=study.presentation,
        series=study.series if next_round is not None else None,
    )
    yaml = lifecycle.rubric_text(session, study)
    items: list[ItemDraft] = contents.stored_items(session, study) if with_items else []
    copy = lifecycle.create_study(session, plan, yaml, items, who.pseudonym, who.person_id)
    copy.settings = _settings(study, lifecycle.design_of(session, study).rubric, plan.round)
    if with_items:
        _copy_checks(session, study, copy)
    session.flush()
    originals = [*copies.originals(session, study), copies.first_event(session, study)]
    new = {"from": study.slug, "originals": originals, "items": len(items)}
    events.record(session, copy.id, EventKind.study_copied, who.pseudonym, new=new)
    return copy


def free_rounds(session: Session, study: Study) -> list[Round]:
    """The rounds that the study's series does not have yet."""
    taken = set(session.scalars(select(Study.round).where(Study.series == study.series)))
    return [each for each in Round if each not in taken]


def _settings(study: Study, rubric: Rubric, study_round: Round) -> JsonObject:
    """The copied settings; those that the rubric defines per round are the new round's."""
    settings = settings_of(study)
    codes = Codes().filled() if settings.codes != Codes() else Codes()
    before, after = lifecycle.start_of(rubric, study.round), lifecycle.start_of(rubric, study_round)
    given = {name: part for name, part in after.items() if getattr(settings, name) == before[name]}
    # groups consist of people, who are not copied
    return stored(changed(study, codes=codes, preregistration=Preregistration(), annotator_groups={}, **given))


def _copy_checks(session: Session, study: Study, copy: Study) -> None:
    """Copy gold and attention items with their references."""
    for purpose in CHECK_PURPOSES:
        contents.write_items(session, copy, contents.stored_items(session, study, purpose), purpose)
    contents.number_systems(session, copy)
    contents.write_references(session, copy, contents.references_of(session, study, *CHECK_PURPOSES))
