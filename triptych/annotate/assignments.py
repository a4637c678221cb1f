"""An annotator's current item: the reserved one, the next one, or why there is none; also going back.

How the next item is chosen: `_reserve_next` says in which order training, test, checks and main items come,
`reservations.next_item` which main item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from enum import StrEnum
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, String, bindparam, cast, func, select
from sqlalchemy.orm import aliased
from sqlmodel import Session

from triptych import clock
from triptych.annotate import checks, entry_test, onboarding, reservations
from triptych.annotate.checks import Shown
from triptych.annotate.outcomes import ItemState, outcomes_of
from triptych.annotate.progress import check_seed, main_items
from triptych.annotate.reservations import Assigned, own_assignments, seen_items, select_assigned, unfinished_of
from triptych.errors import NotFound
from triptych.languages.language import _, message
from triptych.people import passcodes
from triptych.people.logins import select_who, signed_in
from triptych.people.membership import AnnotatorMembership, locked_membership, membership_of, select_membership
from triptych.storage.models import (
    CHECK_PURPOSES,
    FINISHED,
    HIDDEN,
    RATED,
    SEEN,
    SUBMITTED_ONCE,
    WORK,
    Assignment,
    AssignmentState,
    Candidate,
    Item,
    Membership,
    Origin,
    PlannedItem,
    Purpose,
    Study,
    StudyState,
    Submission,
    annotators_part,
)
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of

NOT_YOURS = message("This item is not yours, or no longer there. Reload the page.")


class NoItem(StrEnum):
    """Why there is no item to annotate; each reason has a separate screen."""

    not_open = "not open yet"
    paused = "paused"
    closed = "closed"
    excluded = "excluded"
    withdrawn = "withdrawn"
    screened_out = onboarding.SCREENED_OUT
    failed_test = entry_test.FAILED
    entry = "entry"  # a step before the work comes first: see `onboarding`
    finished = "finished"
    none_left = "none left"
    nothing_free = "nothing free"


NOT_OPEN = {
    StudyState.draft: NoItem.not_open,
    StudyState.paused: NoItem.paused,
    StudyState.closed: NoItem.closed,
}


def current(session: Session, study: Study, who: Who) -> Assigned | NoItem:
    """The annotator's reserved item, or the next one, reserved in the caller's transaction.

    Raises NotFound for somebody who is no annotator of the study.
    """
    return current_of(session, study, who, locked_membership(session, study.id, who))


def current_of(session: Session, study: Study, who: Who, membership: AnnotatorMembership) -> Assigned | NoItem:
    """Like `current`, for a membership that this transaction has locked already."""
    barred = _barred(study, membership)
    unfinished = unfinished_of(session, study, who)
    reserved = next((own for own in unfinished if own.state == AssignmentState.reserved), None)
    if reserved is not None and _may_continue(study, barred):
        return reservations.extend(session, study, reserved)
    if barred in (NoItem.paused, NoItem.closed) and _has_ended(session, study, who, membership, unfinished):
        return NoItem.finished
    if barred is not None:
        return barred
    return _reserve_next(session, study, who, membership, unfinished)


def _barred(study: Study, membership: AnnotatorMembership) -> NoItem | None:
    """Why this person may get no new item now."""
    if membership.excluded_at is not None:
        return NoItem.excluded
    if membership.withdrawn_at is not None:
        return NoItem.withdrawn
    if membership.turned_away_as:
        return NoItem(membership.turned_away_as)
    if study.state != StudyState.open:
        return NOT_OPEN[study.state]
    return NoItem.entry if onboarding.unread(study, membership) else None


def _may_continue(study: Study, barred: NoItem | None) -> bool:
    """Whether a person may continue work that they began or submitted, even when no new items are assigned."""
    return barred is None or (barred == NoItem.paused and lifecycle.still_takes_work(study))


def _reserve_next(
    session: Session, study: Study, who: Who, membership: AnnotatorMembership, expired: Sequence[Assigned]
) -> Assigned | NoItem:
    """Release expired reservations, then reserve this person's next item, or return why there is none. `expired`: the
    person's own expired reservations; one with a draft is resumed first, so that no work is lost.
    """
    if membership.has_overdue:
        reservations.give_back_expired(session, study)
    before_work = _before_work(session, study, who, membership, expired)
    if before_work is not None:
        return before_work
    adjudication = next((own for own in expired if own.purpose == Purpose.adjudication), None)
    if adjudication is not None:
        return reservations.extend(session, study, adjudication)
    has_reached_limit = _has_reached_limit(session, study, who)
    begun = next((own for own in expired if own.purpose == Purpose.main and own.draft_seq > 0), None)
    if begun is not None and not has_reached_limit and reservations.take_place(session, begun.item_id):
        return reservations.extend(session, study, begun)
    check = _next_check(session, study, who, membership)
    if check is not None:
        columns = {"repeat_of": check.repeat_of} if check.repeat_of else {}
        return reservations.reserve(session, study, who, check.item, check.purpose, expired, **columns)
    if has_reached_limit:
        return NoItem.finished
    item_id = reservations.take_next(session, study, who, planned=membership.has_plan)
    if item_id is not None:
        return reservations.reserve(session, study, who, item_id, Purpose.main, expired)
    return _why_nothing(session, study, who, planned=membership.has_plan)


def _before_work(
    session: Session, study: Study, who: Who, membership: AnnotatorMembership, expired: Sequence[Assigned]
) -> Assigned | NoItem | None:
    """Training and entry test; None once both are done."""
    training = onboarding.next_training(session, study, who)
    if training is not None:
        return reservations.reserve(session, study, who, training, Purpose.training, expired)
    test = entry_test.outstanding(session, study, membership, who)
    if test is None:
        return None
    gold = entry_test.next_gold(session, study, who, membership, test)
    if gold is None:
        return NoItem.entry
    return reservations.reserve(session, study, who, gold, Purpose.entry_test, expired)


def _next_check(session: Session, study: Study, who: Who, membership: AnnotatorMembership) -> checks.Check | None:
    """The check that is due, where the study has any."""
    rules = settings_of(study).checks
    if not membership.has_checks and not rules.repeat_percent:
        return None
    run, own = session.connection().execute, {"study": study.id, "person": who.person_id}
    history = [
        Shown(assignment_id, item_id, purpose, purpose == Purpose.main and state in RATED and not retired)
        for assignment_id, item_id, purpose, state, retired in run(_history(), own)
    ]
    unseen = run(_unseen_checks(), own).all()
    return checks.due(
        rules,
        check_seed(study, who),
        history,
        main_items(session, study, who),
        [item for purpose, item in unseen if purpose == Purpose.attention],
        [item for purpose, item in unseen if purpose == Purpose.gold],
    )


@cache
def _history() -> Select[int, int, Purpose, AssignmentState, bool]:
    return (
        select(Assignment.id, Assignment.item_id, Assignment.purpose, Assignment.state, Item.retired)
        .join(Item, Item.id == Assignment.item_id)
        .where(own_assignments(), Assignment.purpose.in_(WORK), Assignment.state.in_(SEEN))
        .order_by(Assignment.id)
    )


@cache
def _unseen_checks() -> Select[Purpose, int]:
    is_check = (Item.study_id == bindparam("study")) & Item.purpose.in_(CHECK_PURPOSES)
    return select(Item.purpose, Item.id).where(is_check, ~Item.retired, Item.id.not_in(seen_items()))


def _has_reached_limit(session: Session, study: Study, who: Who) -> bool:
    limit = settings_of(study).items_per_annotator
    if limit is None:
        return False
    finished = select(func.count()).where(_own_main(), Assignment.state.in_(FINISHED))
    done = session.execute(finished, {"study": study.id, "person": who.person_id}).scalar_one()
    return done >= limit and done >= limit + _skipped_checks(session, study, who)


def _skipped_checks(session: Session, study: Study, who: Who) -> int:
    """How many checks this person skipped.

    Skipped checks are replaced like other items: otherwise somebody who skips every item would learn which are checks.
    """
    own_checks = select(Assignment.id).where(own_assignments(), Assignment.purpose.in_(HIDDEN))
    ids = session.scalars(own_checks, {"study": study.id, "person": who.person_id}).all()
    return sum(outcome.state == ItemState.skipped for outcome in outcomes_of(session, ids).values())


def _has_ended(
    session: Session, study: Study, who: Who, membership: AnnotatorMembership, unfinished: Sequence[Assigned]
) -> bool:
    """Whether this person's work would have ended in an open study, too: they are to see the panel's code."""
    holds_item = any(own.state == AssignmentState.reserved or own.purpose == Purpose.adjudication for own in unfinished)
    if holds_item or _next_check(session, study, who, membership) is not None:
        return False
    has_reached_limit = _has_reached_limit(session, study, who)
    return has_reached_limit or _why_nothing(session, study, who, planned=membership.has_plan) == NoItem.finished


def _own_main() -> ColumnElement[bool]:
    return own_assignments() & (Assignment.purpose == Purpose.main)


def _why_nothing(session: Session, study: Study, who: Who, *, planned: bool) -> NoItem:
    """Why there is no next item: others hold the remaining ones, the person is finished, or they came too late."""
    held = select(Assignment.item_id).where(
        Assignment.study_id == study.id,
        Assignment.state == AssignmentState.reserved,
        Assignment.origin != Origin.workbook,  # a workbook may hold items for weeks, too long to wait
        Assignment.purpose == Purpose.main,
        Assignment.person_id != who.person_id,
        Assignment.item_id.not_in(select(Assignment.item_id).where(own_assignments())),
    )
    if planned:
        own_plan = (PlannedItem.study_id == study.id) & (PlannedItem.person_id == who.person_id)
        held = held.where(Assignment.item_id.in_(select(PlannedItem.item_id).where(own_plan)))
    own = {"study": study.id, "person": who.person_id}
    # on PostgreSQL `take_next` skipped items that somebody is reserving at this moment
    passed_over = session.scalars(reservations.next_item(planned), own).first() is not None
    if passed_over or session.scalars(held.limit(1), own).first() is not None:
        return NoItem.nothing_free
    # with the end of the work comes the panel's completion code, which skipped items do not earn
    done = select(Assignment.id).where(_own_main(), Assignment.state.in_(FINISHED))
    return NoItem.finished if session.scalars(done.limit(1), own).first() is not None else NoItem.none_left


def by_token(session: Session, study: Study, who: Who, token: str) -> Assigned:
    """This person's assignment in the study, read from the database now. Raises NotFound for any other assignment."""
    if not token.isascii() or "\0" in token:  # queries refuse lone surrogates, and PostgreSQL refuses NUL
        raise NotFound(_(NOT_YOURS))
    query = select_assigned().where(own_assignments(), Assignment.token == bindparam("token"))
    own = {"study": study.id, "person": who.person_id, "token": token}
    row = session.connection().execute(query, own).first()
    if row is None:
        raise NotFound(_(NOT_YOURS))
    return Assigned(*row)


def locked(session: Session, who: Who, token: str) -> tuple[AnnotatorMembership, Assigned]:
    """This person's membership and their assignment, both locked. Raises NotFound for anyone else's assignment.

    If PostgreSQL has to wait for another tab's commit, only the two rows are as they are after it, not what the query
    finds out about others: an earlier statement locks the membership, `asked_by` or `locked_membership`.
    """
    own = {"token": token, "person": who.person_id, "now": clock.now()}
    row = session.connection().execute(_locked(), own).first()
    if row is None:
        raise NotFound(_(NOT_YOURS))
    columns = len(fields(AnnotatorMembership))
    return AnnotatorMembership(*row[:columns]), Assigned(*row[columns:])


@cache
def _locked() -> Select[*tuple[Any, ...]]:
    query = select_membership().join(Assignment, annotators_part()).where(Assignment.token == bindparam("token"))
    both = query.add_columns(*select_assigned().selected_columns, _has_edited())
    return both.with_for_update(key_share=True, of=[Membership, Assignment])


def _has_edited() -> ColumnElement[bool]:
    """Whether the person ever submitted anything of the study again; each submission asks.

    A submission has the version that it answers. Submissions are short; SQLite stores an assignment's version behind
    its draft.
    """
    other = aliased(Assignment)
    own = (other.person_id == Assignment.person_id) & (other.study_id == Assignment.study_id)
    theirs = select(Submission.id).join(other, other.id == Submission.assignment_id)
    return theirs.where(own, Submission.version >= SUBMITTED_ONCE).correlate(Assignment).exists()


def asked_by(session: Session, login_secret: str | None, token: str, *, to_change: bool = False) -> tuple[Who, Study]:
    """The person with this login secret, and the study of their assignment. Raises SignedOut, NotFound.

    to_change: locks their membership in it, see `locked`.
    """
    login = {"secret": passcodes.secret_hash(login_secret or ""), "now": clock.now()}
    row = session.execute(_asked(to_change), {"token": token, **login}).first()
    if row is None:
        signed_in(session, login_secret)
        raise NotFound(_(NOT_YOURS))
    study, *who = row
    return Who(*who), study


@cache
def _asked(to_change: bool) -> Select[*tuple[Any, ...]]:
    login = select_who().subquery()
    of_login = select(Study, *login.c).join(Assignment, Assignment.study_id == Study.id)
    query = of_login.join(login, login.c.id == Assignment.person_id).where(Assignment.token == bindparam("token"))
    if not to_change:
        return query
    return query.join(Membership, annotators_part()).with_for_update(key_share=True, of=Membership)


def longest_text(session: Session, who: Who) -> int:
    """Characters of the longest response in this person's studies, as JSON where it is a dialogue; 0 without any."""
    theirs = select(Membership.study_id).where(Membership.person_id == who.person_id)
    length = func.coalesce(func.length(Candidate.text), func.length(cast(Candidate.turns, String)))
    longest = select(func.max(length)).join(Item, Item.id == Candidate.item_id).where(Item.study_id.in_(theirs))
    return session.execute(longest).scalar_one() or 0


def neighbour(session: Session, study: Study, who: Who, token: str, step: int) -> str | None:
    """The token of the person's finished item that was shown before (-1) or after (+1) this one.

    None after the newest; before the oldest, the oldest itself. Checks count like other items.
    """
    query = select(Assignment.token).where(own_assignments(), Assignment.purpose.in_(WORK), Assignment.state.in_(SEEN))
    own = {"study": study.id, "person": who.person_id}
    tokens = list(session.scalars(query.order_by(Assignment.id), own))
    place = (tokens.index(token) if token in tokens else len(tokens)) + step
    return None if not tokens or place >= len(tokens) else tokens[max(place, 0)]


def changeable(session: Session, study: Study, who: Who, token: str | None = None) -> str | None:
    """The token of the person's last submitted item (or `token`) if they may still change it; otherwise None."""
    if not _may_continue(study, _barred(study, membership_of(session, study, who))):
        return None
    return neighbour(session, study, who, token, 0) if token else neighbour(session, study, who, "", -1)
