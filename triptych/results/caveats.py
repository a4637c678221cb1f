"""What readers of the results should know, most serious first: one list for the results page, reports and the
datasheet. `warnings` has the findings in the ratings; this module adds those about how the ratings were made, from the
log and the times.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.orm import aliased
from sqlmodel import Session

from triptych.results.annotators import speed_flag, speeds_of
from triptych.results.design_caveats import one_at_a_time, unequal_sets, unequal_work, unevenly_missing, ungrouped
from triptych.results.frame.table import Filters
from triptych.results.frame.upkeep import unblinding
from triptych.results.judges import excluded_judges, judges_in, sides
from triptych.results.quality import standings_counted
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.texts import texts_of
from triptych.results.unfilled import unfilled
from triptych.results.verdicts import names_of
from triptych.results.warnings import Finding, findings
from triptych.stats.analysis.contrasts import TestedDifference
from triptych.stats.analysis.judges import judge_differences
from triptych.stats.diagnostics import Speed
from triptych.stats.numbers import counted, signed_words, written
from triptych.stats.undefined import Undefined
from triptych.storage.events import CAME_IN, EventKind
from triptych.storage.models import (
    RATED,
    Assignment,
    AssignmentState,
    Event,
    EventDetail,
    Kind,
    Membership,
    Purpose,
    Study,
    System,
    annotators_part,
)
from triptych.study import design
from triptych.study.annotator_groups import first_annotations, late_groups
from triptych.study.copies import earlier_runs

CEILING_SHARE = 0.5  # share of the answers at one end of a scale from which it has a ceiling
MIN_POINTS = 3  # points of a scale that can have a ceiling
USED_SHARE = 0.95  # share of the ratings below which a comparison leaves out too many
LARGE_SHARE = 0.1  # share of annotations above which surplus or excluded ones can change a result
ANSWERED = (*CAME_IN, EventKind.annotation_edited)

# kind of event: (weight, what is counted, the rest of the sentence)
MENTIONED: dict[EventKind, tuple[int, str, str]] = {
    EventKind.commented: (30, "comment", "between leads and annotators about items"),
    EventKind.annotation_edited: (48, "change", "of submitted annotations, made by their annotators"),
    EventKind.design_amended: (58, "amendment", "of the design after launch"),
    EventKind.entry_test_failed: (
        58,
        "failed attempt",
        "at the entry test, whose right answers chose who rates; results are about people like those who passed",
    ),
    EventKind.entry_test_waived: (42, "waiver", "for annotators who did not pass the entry test"),
    EventKind.restored_from_backup: (
        44,
        "restoration",
        "from a backup: anything stored after it is missing, except who opened results or unblinded",
    ),
    EventKind.withdrew: (46, "withdrawal", "of annotators, whose texts were deleted"),
    EventKind.person_erased: (46, "erasure", "of people, whose texts were deleted"),
    EventKind.workbook_handed_in: (36, "workbook", "filled in outside the app, where time is not measured"),
}


def caveats(session: Session, study: Study, analysis: StudyAnalysis) -> tuple[Finding, ...]:
    """The complete list of findings, most serious first."""
    in_ratings = findings(analysis)
    texts = texts_of(session, study)
    speeds = speeds_of(analysis.frame, analysis.scope, texts)
    listed = (
        *in_ratings,
        *ungrouped(analysis, texts),
        *unevenly_missing(analysis),
        *one_at_a_time(analysis),
        *unequal_work(analysis),
        *unequal_sets(analysis),
        *_speed(speeds),
        *_checks(session, study, analysis),
        *_unrated(session, study, analysis),
        *_share_used(analysis),
        *_ceilings(analysis),
        *_left_out(analysis, any(finding.kind == "exclusions" for finding in in_ratings)),
        *_decided_by_excluded(session, study),
        *_judges_left_out(analysis),
        *_favoured_by_judges(analysis),
        *_surplus(analysis),
        *_by_leads(analysis),
        *_unblinding(session, study, analysis),
        *_edited_after_look(session, study),
        *_edited_after_comment(session, study),
        *_deleted(session, study),
        *_grouped_late(session, study, analysis),
        *_items_grouped_late(session, study),
        *_imported(session, study),
        *_repeated(session, study),
        *_unfilled(session, study),
        *_logged(session, study),
    )
    return tuple(sorted(listed, key=lambda finding: -finding.weight))


def _speed(speeds: Collection[Speed] | Undefined) -> Iterator[Finding]:
    """Annotations that were too fast for the texts to be read, and their annotators."""
    if isinstance(speeds, Undefined) or not speeds:
        return
    unread, timed = sum(speed.unread for speed in speeds), sum(speed.n for speed in speeds)
    if unread:
        verb = "was" if unread == 1 else "were"
        sentence = f"{unread:,} of {counted(timed, 'timed annotation')} {verb} faster than anyone can read the item."
        yield Finding(84 if unread > LARGE_SHARE * timed else 47, "speed", sentence)
    for speed in speeds:
        if flag := speed_flag(speed):
            filters = Filters(annotators=frozenset({str(speed.annotator)}))
            yield Finding(46, "speed", f"{speed.annotator}: {flag}", filters)


def _checks(session: Session, study: Study, analysis: StudyAnalysis) -> Iterator[Finding]:
    """Included annotators who are flagged by hidden checks."""
    for annotator, standing in standings_counted(session, study, analysis):
        for flag in standing.flags:
            yield Finding(49, "checks", f"{annotator}: {flag}", Filters(annotators=frozenset({annotator})))


def _unrated(session: Session, study: Study, analysis: StudyAnalysis) -> Iterator[Finding]:
    """Systems without a rating, where other systems have ratings."""
    systems = select(System.blind_code).where(System.study_id == study.id).order_by(System.blind_code)
    unrated = [code for code in session.scalars(systems) if code not in analysis.systems]
    if unrated and analysis.systems:
        names = names_of(analysis, unrated)
        yield Finding(68, "unrated", f"No response of {names} was rated: nothing here compares {names}.")


def _share_used(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Comparisons that are based on only a part of the ratings."""
    shares: dict[str, float] = {}
    for contrast in analysis.contrasts:
        if not isinstance(contrast.difference, Undefined):
            used = contrast.difference.share_used
            shares[contrast.criterion] = min(used, shares.get(contrast.criterion, 1.0))
    listed = [f"{analysis.title(key)} {written(share, 'share')}" for key, share in shares.items() if share < USED_SHARE]
    if listed:
        sentence = (
            "Some comparisons are based on only a part of the ratings; the smallest share of two systems' ratings is: "
        )
        yield Finding(66, "share used", f"{sentence}{', '.join(listed)}.")


def _ceilings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Criteria whose answers are mostly at one end of the scale, where differences cannot show."""
    for result in analysis.criteria:
        if result.share or 0 < len(result.points) < MIN_POINTS:
            continue
        numbers = analysis.ratings_of(result.criterion.key).number
        answers = numbers[~np.isnan(numbers)]
        for end, value in zip(("lowest", "highest"), result.ends, strict=True):
            count = int((answers == value).sum())
            if count > CEILING_SHARE * len(answers):
                share = written(count / len(answers), "share")
                sentence = (
                    f"{result.criterion.title}: {share} of the answers are the {end} point of the scale, so "
                    f"differences beyond it are not visible."
                )
                yield Finding(62, "ceiling", sentence, Filters(criteria=frozenset({result.criterion.key})))


def _left_out(analysis: StudyAnalysis, decisive: bool) -> Iterator[Finding]:
    """How many annotations are by excluded annotators, and whether these count.

    decisive: whether they change the outcome of a comparison, which another finding reports.
    """
    work = analysis.frame.work
    work = work[work["state"].isin(RATED) & (work["kind"] != Kind.judge)]
    excluded = work[work["excluded"]]
    if excluded.empty:
        return
    people = counted(int(excluded["annotator"].nunique()), "excluded annotator")
    verbs = ("counts here", "is left out") if len(excluded) == 1 else ("count here", "are left out")
    counts = verbs[not analysis.scope.with_excluded]
    has_tests = any(contrast.is_tested for contrast in analysis.contrasts)
    changes = "; this changes no conclusion about systems" if has_tests and not decisive else ""
    sentence = f"{counted(len(excluded), 'annotation')} of {people} {counts}{changes}."
    weight = 64 if len(excluded) > LARGE_SHARE * len(work) else 38
    yield Finding(weight, "excluded", sentence, Filters(marks=frozenset({"excluded"})))


def _decided_by_excluded(session: Session, study: Study) -> Iterator[Finding]:
    """Final values by annotators who were excluded; they stay in the means with final values."""
    excluded = Membership.excluded_at.is_not(None)
    finals = (
        select(func.count(), func.count().filter(excluded))
        .select_from(Assignment)
        .outerjoin(Membership, annotators_part())
    )
    decided = Assignment.purpose == Purpose.adjudication, Assignment.state == AssignmentState.submitted
    of, count = session.execute(finals.where(Assignment.study_id == study.id, *decided)).one()
    if count:
        items = f"{count} of {counted(of, 'item')}"
        sentence = f"Final values of {items} are by excluded annotators, and stay in the means with final values."
        yield Finding(63, "excluded finals", sentence)


def _judges_left_out(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Judges that were tried and excluded, which may have done worse than the others."""
    excluded = excluded_judges(analysis.frame)
    if excluded:
        every = counted(len(judges_in(analysis.frame)), "judge model")
        verb = "was" if len(excluded) == 1 else "were"
        sentence = (
            f"{len(excluded)} of {every} {verb} excluded, perhaps because of the scores. The comparison of judges with "
            "annotators has all of them."
        )
        yield Finding(64, "excluded judges", sentence)


def _favoured_by_judges(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Systems that a judge places clearly higher, against another one, than the annotators do."""
    if not judges_in(analysis.frame):
        return
    both = sides(analysis.frame, analysis.scope, analysis.ratings)
    largest: dict[tuple[str, str], TestedDifference] = {}
    for judge, of in judge_differences(*both, analysis.collection.bound):
        if of.p_holm is not None and of.p_holm < of.bound:
            place = judge, of.criterion
            largest[place] = max(largest.get(place, of), of, key=lambda each: each.distance)
    for (judge, criterion), of in largest.items():
        higher, lower = analysis.name(of.higher), analysis.name(of.lower)
        size = signed_words(of.distance, of.share).lstrip("+")
        few = _few_annotators(of)
        rest = "; other annotators may differ." if few else f". In the place of an annotator it would favour {higher}."
        sentence = (
            f"{analysis.title(criterion)}: {judge} places {higher} higher against {lower} than "
            f"{few or 'the annotators do'}, by {size} on the same responses{rest}"
        )
        yield Finding(65, "favoured by a judge", sentence)


def _few_annotators(of: TestedDifference) -> str:
    """The annotators of a difference that is tested for them only; empty where others like them are meant."""
    if of.p is not None or isinstance(of.difference, Undefined):
        return ""
    count = of.difference.annotators
    return "this annotator does" if count == 1 else f"these {count} annotators do"


def _surplus(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Annotations beyond the planned number per item."""
    surplus = int((analysis.work["state"] == AssignmentState.surplus).sum())
    if surplus:
        verb = "is" if surplus == 1 else "are"
        sentence = f"{counted(surplus, 'annotation')} beyond the planned number per item {verb} included."
        weight = 52 if surplus > LARGE_SHARE * len(analysis.work) else 34
        yield Finding(weight, "surplus", sentence)


def _by_leads(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Annotations by people who lead the study or led it, and may know its systems without unblinding."""
    work = analysis.work
    own = work[work["annotator"].isin(analysis.frame.leads)]
    if len(own):
        people = own["annotator"].nunique()
        verb = "leads" if people == 1 else "lead"
        sentence = (
            f"{people} of {counted(analysis.n_annotators, 'annotator')} {verb} or led the study, with {len(own)} of "
            f"{counted(len(work), 'annotation')}: leads may know the systems without unblinding."
        )
        yield Finding(69, "leads", sentence)


def _unblinding(session: Session, study: Study, analysis: StudyAnalysis) -> Iterator[Finding]:
    """When the systems' names became known to leads, and which annotations came in or changed afterwards."""
    at = analysis.frame.unblinded_at
    if at is None:
        return
    number = unblinding(session, study)  # not its time: the clock may have been set back since
    edited = _edited_since(session, study, number)
    came_in = select(Event.assignment_id).where(Event.study_id == study.id, Event.kind.in_(ANSWERED))
    came_in = came_in.where(Event.number > number)
    since = set(session.scalars(came_in)) - set(edited)
    after = int(analysis.work["assignment"].isin(since).sum())
    sentence = (
        f"Leads have known the names of the systems since {at:%Y-%m-%d %H:%M} UTC; {counted(after, 'annotation')} came "
        f"in afterwards, and {counted(len(edited), 'change')} of earlier ones."
    )
    yield Finding(83 if edited else 57 if after else 22, "unblinded", sentence)


def _edited_since(session: Session, study: Study, number: int) -> Sequence[int | None]:
    """The assignment of each change after this event of an annotation that had come in before."""
    earlier = aliased(Event)
    came_in = exists().where(
        earlier.study_id == study.id,
        earlier.kind.in_(ANSWERED),
        earlier.assignment_id == Event.assignment_id,
        earlier.number <= number,
    )
    changes = select(Event.assignment_id).where(Event.study_id == study.id, Event.kind == EventKind.annotation_edited)
    return session.scalars(changes.where(Event.number > number, came_in)).all()


def _edited_after_look(session: Session, study: Study) -> Iterator[Finding]:
    """Changes of annotations after somebody had opened the results."""
    looked = select(func.min(Event.number)).where(Event.study_id == study.id, Event.kind == EventKind.results_opened)
    first = session.scalars(looked).one()
    edited = _count(session, study, EventKind.annotation_edited, Event.number > first) if first else 0
    if edited:
        sentence = f"{counted(edited, 'change')} of submitted annotations after the results had first been opened."
        yield Finding(59, "edited after a look", sentence)


def _edited_after_comment(session: Session, study: Study) -> Iterator[Finding]:
    """Changes of an annotation after a lead had asked about it."""
    comment = aliased(Event)
    asked = exists().where(
        comment.study_id == study.id,
        comment.kind == EventKind.commented,
        comment.assignment_id == Event.assignment_id,
        comment.number < Event.number,
    )
    edited = _count(session, study, EventKind.annotation_edited, asked)
    if edited:
        sentence = f"{counted(edited, 'change')} of submitted annotations after a lead had asked about them."
        yield Finding(60, "edited after a comment", sentence)


def _deleted(session: Session, study: Study) -> Iterator[Finding]:
    """People whose ratings were deleted when they withdrew; a lead can do it for them."""
    query = select(Event.actor, Event.subject, EventDetail.new).join(EventDetail, EventDetail.event_id == Event.id)
    departures = session.execute(query.where(Event.study_id == study.id, Event.kind == EventKind.withdrew))
    deleted = [(actor, subject) for actor, subject, new in departures if (new or {}).get("ratings") == "delete"]
    if deleted:
        by_leads = sum(actor != subject for actor, subject in deleted)
        by_whom = f", {by_leads} of them by a lead" if by_leads else ""
        people = counted(len(deleted), "annotator")
        terms = "as stated in the consent text they agreed to or, without one, in the settings at launch"
        yield Finding(74, "deleted", f"{people} withdrew{by_whom}. Their ratings were deleted, {terms}.")


def _grouped_late(session: Session, study: Study, analysis: StudyAnalysis) -> Iterator[Finding]:
    """Groups of annotators that may have been made from their ratings."""
    late = late_groups(session, study) if analysis.groups else None
    if late:
        erased = " Groups that were set before an erasure count as late: the log no longer has them."
        sentence = (
            f"{counted(late.annotators, 'annotator')} {'was' if late.annotators == 1 else 'were'} put into a group, or "
            f"out of one, with or after their first annotation (last change: {late.at:%Y-%m-%d}): tests of groups "
            "hold only if groups were not chosen by the ratings."
        )
        yield Finding(94, "groups set late", sentence + erased * late.is_erased)


def _items_grouped_late(session: Session, study: Study) -> Iterator[Finding]:
    """Groups of items that were changed by an amendment when annotations were in."""
    amended = [amendment for amendment in design.amendments(session, study) if "group_field" in amendment.after]
    first = min(first_annotations(session, study).values(), default=math.inf) if amended else math.inf
    late = [amendment for amendment in amended if amendment.number > first]
    if late:
        fields = [side.get("group_field") or "none" for side in (late[0].before, late[-1].after)]
        sentence = (
            f"The field that groups items was changed from {fields[0]} to {fields[1]} when annotations were in "
            f"({late[-1].at:%Y-%m-%d}): intervals and tests depend on it, and results may have been known."
        )
        yield Finding(86, "groups declared late", sentence)


def _imported(session: Session, study: Study) -> Iterator[Finding]:
    """Ratings that were collected elsewhere, and those of the files that were left out."""
    query = select(EventDetail.new).join(Event, Event.id == EventDetail.event_id)
    imports = session.scalars(query.where(Event.study_id == study.id, Event.kind == EventKind.ratings_imported)).all()
    if not imports:
        return
    sentences = ["Ratings were made elsewhere and imported: how they were collected is unknown."]
    for counted_one in ("first", "last"):
        left_out = sum((new or {}).get("left_out", {}).get(counted_one, 0) for new in imports)
        if left_out:
            was = "was" if left_out == 1 else "were"
            sentences.append(
                f"{counted(left_out, 'further rating')} in the files {was} left out: where an annotator rated the same "
                f"twice, the {counted_one} rating counts, as a lead chose."
            )
    yield Finding(63, "imported", " ".join(sentences))


def _repeated(session: Session, study: Study) -> Iterator[Finding]:
    """Earlier studies with items of this one, which may repeat them until a difference is clear."""
    runs = earlier_runs(session, study)
    if runs.launched:
        items = counted(runs.items, "item") if runs.items else "items"
        sentence = (
            f"This study repeats {items} of {counted(runs.launched, 'earlier study', 'earlier studies')}; results of "
            f"{runs.opened} were opened before its launch."
        )
        yield Finding(60, "repeated", sentence)
    if runs.unknown:
        studies = counted(runs.unknown, "study", "studies")
        sentence = (
            f"This study was copied with its items from {studies} of another database; "
            "whether results were opened there before its launch is not known."
        )
        yield Finding(60, "repeated", sentence)


def _unfilled(session: Session, study: Study) -> Iterator[Finding]:
    """Places that none of the present annotators can fill."""
    if places := unfilled(session, study):
        yield Finding(67, "unfilled", places.sentence)


def _logged(session: Session, study: Study) -> Iterator[Finding]:
    """Findings from the number of events of each kind."""
    query = select(Event.kind, func.count()).where(Event.study_id == study.id, Event.kind.in_(MENTIONED))
    counts = dict(map(tuple, session.execute(query.group_by(Event.kind))))
    for kind, (weight, noun, rest) in MENTIONED.items():
        if kind in counts:
            yield Finding(weight, kind.value, f"In the log: {counted(counts[kind], noun)} {rest}.")


def _count(session: Session, study: Study, kind: EventKind, *conditions: ColumnElement[bool]) -> int:
    query = select(func.count()).select_from(Event).where(Event.study_id == study.id, Event.kind == kind, *conditions)
    return session.scalars(query).one()
