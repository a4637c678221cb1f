"""What a viewer sees of a study: annotators as Annotator 1, 2, …, and their texts only if a lead allows it. The order
is that of joining, so an annotator's number never changes. Only this module maps numbers to annotators; everything that
a viewer's page shows passes through it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sqlalchemy import select
from sqlmodel import Session

from triptych.results import item_review
from triptych.results.adjudication import FinalValue
from triptych.results.frame.highlights import HighlightedItem, Passage
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.upkeep import frame_of, with_annotators_called
from triptych.results.item_review import FINAL, Look, ReviewLine
from triptych.results.warnings import Finding
from triptych.storage.models import Item, Membership, Person, Role, Study
from triptych.study.system_names import system_names

PSEUDONYM = "[AL]-[0-9A-Z]{5}"
SOMEBODY = "a lead"


@dataclass(frozen=True)
class Watched:
    """frame: without pseudonyms. numbers: pseudonym → what is shown instead. explained: explanations are shown.

    alike: names of systems and ids of items that look like pseudonyms.
    """

    frame: Frame
    numbers: Mapping[str, str]
    explained: bool
    alike: frozenset[str]

    def sentence(self, text: str) -> str:
        """The text without pseudonyms."""
        return self._pseudonyms.sub(lambda match: self._shown(match[0]), text)

    def _shown(self, name: str) -> str:
        return self.numbers.get(name) or (name if name in self.alike else SOMEBODY)

    def words(self, text: str) -> str:
        """What an annotator wrote, or a lead who may quote them: without pseudonyms, and only if a lead allows it."""
        return self.sentence(text) if self.explained else ""

    @cached_property
    def _pseudonyms(self) -> re.Pattern[str]:
        others = [re.escape(name) for name in self.numbers if not re.fullmatch(PSEUDONYM, name)]
        ours = rf"(?<![0-9A-Za-z]){PSEUDONYM}(?![0-9A-Za-z])"  # Chinese has no spaces, and Markdown underscores
        return re.compile("|".join([*(rf"\b{name}\b" for name in others), ours]))

    def findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings without pseudonyms and without links to ratings."""
        return [replace(f, sentence=self.sentence(f.sentence), examples=None) for f in findings]

    def lines(self, lines: Iterable[ReviewLine]) -> list[ReviewLine]:
        """The items without pseudonyms in the reasons for taking them out, which reports print."""
        return [replace(line, retired=self._retired(line.retired)) for line in lines]

    def look(self, session: Session, study: Study, item: str, counted: Counted) -> Look:
        """The item as a viewer reads it: no notes to the lead, no reasons. Raises NotFound."""
        look = item_review.look(session, study, self.frame, item, counted)
        final, retired = look.final and self.final(look.final), self._retired(look.retired)
        return replace(look, texts=self.texts(look.texts), remarks=(), final=final, retired=retired)

    def _retired(self, reason: str | None) -> str | None:
        return reason and self.sentence(reason)

    def texts(self, item: HighlightedItem) -> HighlightedItem:
        """The item's texts with highlights of Annotator 1, 2, …"""
        candidates = (
            replace(candidate, passages=tuple(map(self._passage, candidate.passages))) for candidate in item.candidates
        )
        return replace(item, context=tuple(map(self._passage, item.context)), candidates=tuple(candidates))

    def _passage(self, passage: Passage) -> Passage:
        spans = (
            replace(span, annotator=self._name(span.annotator), comment=self.words(span.comment))
            for span in passage.spans
        )
        return replace(passage, spans=tuple(spans))

    def final(self, final: FinalValue) -> FinalValue:
        """The final value with who decided it as a viewer may know."""
        return replace(final, by=self._name(final.by), reason=self.words(final.reason))

    def _name(self, pseudonym: str) -> str:
        return pseudonym if pseudonym == FINAL else self.numbers.get(pseudonym, SOMEBODY)


_watched: dict[int, tuple[Frame, Watched]] = {}


def watched(session: Session, study: Study) -> Watched:
    """What viewers see of the study, up to date with the session's view of the event log."""
    frame = frame_of(session, study)
    source, latest = _watched.get(study.id, (None, None))
    if latest is None or source is not frame:
        latest = _of(session, study, frame)
        if study.event_number >= frame.number:  # else the session sees an older state than the frame's
            _watched[study.id] = frame, latest
    return latest


def watched_frame(session: Session, study: Study) -> Frame:
    """The study's frame without pseudonyms. Conclusions are found again by this function, so it is no lambda."""
    return watched(session, study).frame


def _of(session: Session, study: Study, frame: Frame) -> Watched:
    joined = (
        select(Person.pseudonym)
        .join(Membership, Membership.person_id == Person.id)
        .where(Membership.study_id == study.id, Membership.role == Role.annotator)
        .order_by(Membership.joined_at, Person.id)
    )
    everybody = dict.fromkeys([*session.scalars(joined), *frame.work["annotator"].cat.categories])
    numbers = {pseudonym: f"Annotator {place}" for place, pseudonym in enumerate(everybody, 1)}
    renamed = with_annotators_called(frame, numbers, "watched")
    ids = session.scalars(select(Item.external_id).where(Item.study_id == study.id))
    alike = frozenset(filter(re.compile(PSEUDONYM).fullmatch, [*ids, *system_names(session, study).values()]))
    view = Watched(replace(renamed, watched=True), numbers, frame.settings.viewers_read_explanations, alike)
    for column in ("explanation", "reasons"):
        texts = renamed.ratings[column].map(view.words)
        view.frame.ratings[column] = texts.astype(renamed.ratings[column].dtype.name)
    groups = renamed.settings.annotator_groups
    groups.update({name: view.sentence(group) for name, group in groups.items()})
    return view
