"""An item as annotators will see it, before there are assignments: the workbench's own view, without routes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from triptych.annotate.blinding import Routes, SeenProgress, SeenStudy, View, Work, rubric_in, seen_unstored
from triptych.formats.model import CandidateDraft, ItemDraft
from triptych.rubric.model import Rubric
from triptych.storage.models import Round, Study
from triptych.study.contents import training_draft
from triptych.study.settings import USUAL_UNIT, Formats, StudySettings, settings_of, stored

NOWHERE = Routes(draft="", renew="", act="", items="")
SAMPLE = ("This is a sample response.", "This is another one, a little longer.", "And this is a third.")
MAX_ITEMS = 200


def name_of(view: View) -> str:
    """A name that differs between views, so that the workbench starts again after any change."""
    return hashlib.sha256(view.model_dump_json().encode()).hexdigest()[:12]


def samples(rubric: Rubric, items: Sequence[ItemDraft]) -> list[ItemDraft]:
    """Items for the preview: the study's own, otherwise the rubric's training items, otherwise an invented one."""
    if items:
        return list(items)
    if rubric.training:
        return [training_draft(item) for item in rubric.training]
    candidates = tuple(CandidateDraft(f"sample {number}", text) for number, text in enumerate(SAMPLE, 1))
    return [ItemDraft("sample", "This is what the responses answer to.", (), candidates, {}, {}, 1)]


def study_to_be(rubric: Rubric, formats: Formats) -> Study:
    """A study as its rubric proposes it, for a preview before it is created; not in the database."""
    nothing: Any = {"slug": "", "series": "", "rubric_id": 0, "seed": ""}
    settings = stored(StudySettings(formats=formats, mark_unit=USUAL_UNIT))
    return Study(title=rubric.title, round=Round.main, presentation=rubric.presentation, settings=settings, **nothing)


def view_of(study: Study, rubric: Rubric, items: Sequence[ItemDraft], place: int) -> View:
    """The blinded view of the item at this place (from 0), with candidates in the order of the draft.

    Without routes, the workbench sends and stores nothing.
    """
    item, settings = items[place], settings_of(study)
    context = item.context_turns or item.context_text or ""
    return View(
        study=SeenStudy(
            title=study.title,
            formats=settings.formats,
            arrangement=settings.arrangement,
            mark_unit=settings.mark_unit,
        ),
        work=Work(
            token=f"preview-{place}",
            version=1,
            draft_seq=0,
            store_key="preview.preview",
            state="reserved",
            purpose="main",
            active_seconds=0,
            can_go_back=False,
            receipt=None,
            number=place + 1,
            outcome="",
            reason="",
        ),
        progress=SeenProgress(done=place, total=len(items), minutes_left=None),
        rubric=rubric_in(rubric, study),
        item=seen_unstored(rubric, study.round, item, context, item.extra_texts),
        draft=None,
        routes=NOWHERE,
    )
