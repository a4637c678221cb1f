"""The content of a report besides the numbers, without what a blind study must hide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Row, Select, func, select
from sqlmodel import Session

from triptych.annotate import entry_test
from triptych.annotate.entry_test import EntryTest
from triptych.results.frame.counted import mostly_ignored
from triptych.results.frame.highlights import highlights_of
from triptych.results.pay import PayMeter, meter_of, rate_of
from triptych.results.quality import Standing, standings_counted
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.warnings import Finding
from triptych.rubric.model import Rubric
from triptych.stats.numbers import counted
from triptych.stats.undefined import Undefined
from triptych.storage.events import EventKind
from triptych.storage.models import (
    FINISHED,
    RATED,
    Assignment,
    Candidate,
    EntryAttempt,
    Event,
    Highlight,
    Item,
    Kind,
    Membership,
    Origin,
    Person,
    PlannedItem,
    Purpose,
    Role,
    Study,
    System,
)
from triptych.study import design, lifecycle
from triptych.study.design import Amendment
from triptych.study.settings import EntryRules, Pay, StudySettings, settings_of

MADE_ELSEWHERE = {Origin.imported, Origin.judge}
ANNOTATION_FACTS = ("origin", "text_view", "arrangement", "language")
EXCLUSIONS_HEADER = ("what", "which", "when", "who", "reason", "annotations", "in the numbers")


@dataclass(frozen=True)
class Exclusion:
    """An annotator, judge or item that was or could be excluded. who: pseudonym of the person who decided."""

    what: str
    which: str
    when: datetime | None
    who: str
    reason: str
    annotations: int
    counted: bool


@dataclass(frozen=True)
class BeforeWork:
    """Of how many people with ratings that count, how many did the training, and how many passed the entry test.

    test: as it is set; None without one. earlier: tests before amendments of it, as in `_until`. finished: people who
    finished a try at it; admitted: those of them who passed.
    """

    annotators: int
    trained: int
    passed: int
    test: EntryTest | None
    finished: int
    admitted: int
    earlier: str = ""

    @property
    def tested(self) -> str:
        """The entry test and how many passed it, in words; empty where there is none and nobody took one."""
        if not self.finished:
            return f"An entry test of {_asked(self.test)}, which nobody took." if self.test else ""
        passed = f"{self.admitted} of {counted(self.finished, 'person', 'people')} who took it passed"
        among = f", among them {self.who(self.passed)}" if self.passed else ""
        test = f"An entry test of {_in_words(self.test)}" if self.test else "No entry test at the end"
        return f"{test}{self.earlier}: {passed}{among}."

    def who(self, count: int) -> str:
        """So many of the annotators, in words."""
        return "all annotators" if count == self.annotators else f"{count} of {counted(self.annotators, 'annotator')}"


def _asked(test: EntryTest) -> str:
    return counted(test.items, "gold item" if test.kind == "gold" else "question")


def _in_words(test: EntryTest | None) -> str:
    return f"{_asked(test)}, with {test.percent} % to pass" if test else "none"


@dataclass(frozen=True)
class Facts:
    """Facts about a study for its report.

    as_of: time of the last event. origins: how annotations were made; counted_origins: number of those that count, by
    origin; planned: whether items were assigned by a plan. has_texts: whether any candidate has a text.

    outputs: visible name of a system → number of items with a rating of its response or, if only items are rated, with
    its response. settings: how annotators were recruited, the preregistration, the lead's answers for the datasheet.
    pay: pay, or why it is unknown. before_work: training and entry test. amendments: oldest first. standings: results
    of checks of each annotator whose ratings count.

    Numbers of annotations that count, where known: text_views by the format of texts, arrangements by the arrangement
    of responses, languages by the page's language. mark_units: number of their highlights by the unit of their
    selection. caveats: the most serious first.
    """

    study: Study
    settings: StudySettings
    as_of: datetime
    blind: bool
    origins: frozenset[str]
    counted_origins: dict[str, int]
    planned: bool
    has_texts: bool
    text_views: dict[str, int]
    rubric: Rubric
    outputs: dict[str, int]
    items: int
    exclusions: tuple[Exclusion, ...]
    pay: PayMeter | Undefined
    before_work: BeforeWork
    amendments: tuple[Amendment, ...]
    standings: tuple[Standing, ...]
    arrangements: dict[str, int]
    languages: dict[str, int]
    mark_units: dict[str, int]
    caveats: tuple[Finding, ...] = ()

    @property
    def elsewhere(self) -> bool:
        """Whether all annotations that count were made elsewhere, such as judges' scores."""
        return bool(self.counted_origins) and self.counted_origins.keys() <= MADE_ELSEWHERE

    @property
    def partly_elsewhere(self) -> str:
        """How many of the annotations that count were imported, in words; "" if all that count were, or none."""
        imported, every = self.counted_origins.get(Origin.imported, 0), sum(self.counted_origins.values())
        return f"{imported:,} of {every:,} annotations" if imported and not self.elsewhere else ""

    @property
    def paid_before(self) -> str:
        """In brackets, the pay per item before each amendment of it; "" where it was never amended."""
        if isinstance(self.pay, Undefined):
            return ""

        def rate(pay: object) -> str:
            was = Pay.model_validate(pay)
            return "not stated" if was.per_item is None else rate_of(was)

        return _until(self.amendments, "pay", rate, rate_of(self.pay.pay))

    @property
    def raters_before(self) -> str:
        """In brackets, the annotators per item before each amendment that added some."""
        return _until(self.amendments, "raters_per_item", str, str(self.study.raters_per_item))

    @property
    def plan_before(self) -> str:
        """In brackets, whether items were assigned according to a plan before an amendment that stored or ended one."""
        return _until(self.amendments, "plan", lambda plan: _by_plan(plan.get("lines")), _by_plan(self.planned))


def _by_plan(planned: object) -> str:
    return "according to a plan" if planned else "without a plan"


def _until(amendments: Sequence[Amendment], setting: str, in_words: Callable[[Any], str], now: str) -> str:
    """In brackets, what a setting was before each amendment of it; "" where its words never changed."""
    after, parts = now, list[str]()
    for amendment in reversed(amendments):
        if setting in amendment.before:
            words = in_words(amendment.before[setting] or {})  # a setting that was never set is not stored
            if words != after:
                parts.insert(0, f"{words} until {amendment.at:%Y-%m-%d %H:%M} UTC")
            after = words
    return f" ({'; '.join(parts)})" if parts else ""


def _outputs(analysis: StudyAnalysis, shown: dict[int, int]) -> dict[str, int]:
    """Visible name of a system → number of items. shown: system → its candidates, without those of retired items."""
    pairs = [np.stack([of.system, of.item], axis=1)[of.system > 0] for of in analysis.ratings]
    rated = Counter(np.unique(np.concatenate(pairs), axis=0)[:, 0].tolist()) if pairs else Counter()
    counts = rated or Counter(shown)
    return {analysis.names[code]: counts[code] for code in sorted({*shown, *analysis.systems})}


def _before_work(
    session: Session, study: Study, analysis: StudyAnalysis, rubric: Rubric, amendments: Sequence[Amendment]
) -> BeforeWork:
    """Who rates in workbooks does neither training nor test."""
    work = select(Assignment.person_id).where(Assignment.study_id == study.id)
    trained = work.where(Assignment.purpose == Purpose.training, Assignment.state.in_(FINISHED))
    made_here = work.add_columns(Assignment.id).where(Assignment.origin.not_in(MADE_ELSEWHERE))
    of_people = {*analysis.work.loc[analysis.work["kind"] == Kind.human, "assignment"].tolist()}
    tries = select(Membership.person_id).join(EntryAttempt).where(Membership.study_id == study.id)
    passed = tries.where(EntryAttempt.passed.is_(True))
    ends = Event.kind.in_((EventKind.entry_test_failed, EventKind.entry_test_passed))
    outcomes = select(Event.subject, Event.kind).where(Event.study_id == study.id, ends)
    finished = session.execute(outcomes.distinct()).all()  # with attempts that a withdrawal deleted
    annotators = {person_id for person_id, number in session.execute(made_here) if number in of_people}
    test = entry_test.asked_of(session, study)

    def test_in_words(rules: object) -> str:
        return _in_words(entry_test.test_by(EntryRules.model_validate(rules), study, rubric.entry_test))

    return BeforeWork(
        len(annotators),
        len(annotators.intersection(session.scalars(trained))),
        len(annotators.intersection(session.scalars(passed))),
        test,
        len({pseudonym for pseudonym, _ in finished}),
        sum(kind == EventKind.entry_test_passed for _, kind in finished),
        _until(amendments, "entry", test_in_words, _in_words(test)),
    )


def facts_of(session: Session, study: Study, analysis: StudyAnalysis) -> Facts:
    """The facts at this moment."""
    main = (Item.study_id == study.id, Item.purpose == Purpose.main, ~Item.retired)
    shown = (
        select(System.blind_code, func.count())
        .join(Candidate, Candidate.system_id == System.id)
        .join(Item, Item.id == Candidate.item_id)
        .where(*main)
        .group_by(System.blind_code)
        .order_by(System.blind_code)
    )
    last = select(Event.at).where(Event.study_id == study.id).order_by(Event.number.desc()).limit(1)
    settings, counting = settings_of(study), {*analysis.work["assignment"].tolist()}
    rubric, amendments = lifecycle.design_of(session, study).rubric, tuple(design.amendments(session, study))
    annotations = _annotations(session, study)
    counts = {name: _counts(annotations, name, counting) for name in ANNOTATION_FACTS}
    return Facts(
        study=study,
        settings=settings,
        as_of=session.scalars(last).one(),
        blind=study.unblinded_at is None,
        origins=frozenset(str(row.origin) for row in annotations),
        counted_origins=counts["origin"],
        planned=_has(session, select(PlannedItem.id).where(PlannedItem.study_id == study.id)),
        has_texts=_has_texts(session, study),
        text_views=counts["text_view"],
        rubric=rubric,
        outputs=_outputs(analysis, dict(map(tuple, session.execute(shown)))),
        items=session.scalars(select(func.count()).select_from(Item).where(*main)).one(),
        exclusions=(*_annotators(session, study, analysis), *_items(session, study, analysis)),
        pay=meter_of(settings.pay, analysis.frame, analysis.scope.kinds),
        before_work=_before_work(session, study, analysis, rubric, amendments),
        amendments=amendments,
        standings=tuple(standing for _, standing in standings_counted(session, study, analysis)),
        arrangements=counts["arrangement"],
        languages=counts["language"],
        mark_units=_mark_units(session, study, counting),
    )


def _annotations(session: Session, study: Study) -> Sequence[Row[*tuple[object, ...]]]:
    """Of every annotation: its number, and how it was made."""
    columns = [getattr(Assignment, name) for name in ANNOTATION_FACTS]
    return session.execute(select(Assignment.id, *columns).where(Assignment.study_id == study.id)).all()


def _mark_units(session: Session, study: Study, counting: Collection[int]) -> dict[str, int]:
    rows = session.execute(highlights_of(study, Assignment.id, Highlight.unit).where(Highlight.unit.is_not(None)))
    return _counts(rows, "unit", counting)


def _counts(rows: Iterable[Row[*tuple[object, ...]]], column: str, counting: Collection[int]) -> dict[str, int]:
    """Number of annotations that count by a column's value, the most frequent first. counting: their numbers."""
    values = (getattr(row, column) for row in rows if row.id in counting)
    counts = Counter(str(value) for value in values if value is not None)
    return dict(sorted(counts.items(), key=lambda row: (-row[1], row[0])))


def _has(session: Session, query: Select[int]) -> bool:
    return session.scalars(query.limit(1)).first() is not None


def _has_texts(session: Session, study: Study) -> bool:
    with_text = (func.coalesce(Candidate.text, "") != "") | Candidate.turns.is_not(None)
    query = select(Candidate.id).join(Item, Item.id == Candidate.item_id).where(Item.study_id == study.id, with_text)
    return _has(session, query)


def _rated(analysis: StudyAnalysis) -> pd.DataFrame:
    """All annotations with ratings, whether these count or not."""
    return analysis.frame.work[analysis.frame.work["state"].isin(RATED)]


def _annotators(session: Session, study: Study, analysis: StudyAnalysis) -> list[Exclusion]:
    excluded = (
        select(Person.pseudonym, Person.kind, Membership.excluded_at, Membership.excluded_reason)
        .join(Person, Person.id == Membership.person_id)
        .where(Membership.study_id == study.id, Membership.role == Role.annotator, Membership.excluded_at.is_not(None))
    )
    deciders = select(Event.subject, Event.actor).where(
        Event.study_id == study.id, Event.kind == EventKind.annotator_excluded
    )
    who = dict(map(tuple, session.execute(deciders.order_by(Event.number))))
    work = _rated(analysis)["annotator"].astype(str).value_counts()
    return [
        Exclusion(
            "judge" if kind == Kind.judge else "annotator",
            name,
            when,
            who.get(name, ""),
            reason or "the reason was deleted",  # with their other texts; none is excluded without
            int(work.get(name, 0)),
            analysis.scope.with_excluded,
        )
        for name, kind, when, reason in sorted(map(tuple, session.execute(excluded)))
    ]


def _items(session: Session, study: Study, analysis: StudyAnalysis) -> list[Exclusion]:
    main = (Item.study_id == study.id, Item.purpose == Purpose.main)
    retired = select(Item.external_id, Item.retired_reason).where(*main, Item.retired)
    rows = _rated(analysis)
    of_counted_people = ~rows["excluded"] | analysis.scope.with_excluded  # others have rows of their own
    work = rows[rows["kind"].isin(analysis.scope.kinds) & of_counted_people]["item"].astype(str).value_counts()
    ignored = mostly_ignored(analysis.frame, analysis.scope)
    listed = [(item, "most annotators ignored it", analysis.scope.with_ignored) for item in sorted(ignored)]
    taken_out = sorted(map(tuple, session.execute(retired)))
    listed += [(item, reason or "taken out of the study", True) for item, reason in taken_out]
    return [
        Exclusion("item", item, None, "", reason, int(work.get(item, 0)), counted) for item, reason, counted in listed
    ]
