"""The tables. The database enforces whatever it can: keys, uniqueness, states, ranges.

SQLModel table classes validate nothing, so every rule here is a constraint; what SQL cannot say (values on a step,
quotes that equal their slice, limits per item over several tables) is checked in one place in the core.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias

from sqlalchemy import (
    JSON,
    CheckConstraint,
    ColumnElement,
    DateTime,
    Enum,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    SQLColumnExpression,
    Table,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.orm import registry
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field, SQLModel

JsonObject: TypeAlias = dict[str, Any]  # from a JSON column or a message; its fields are narrowed where each is read


class Base(SQLModel, registry=registry()):
    """Our own registry: a reload of this module then makes new tables instead of failing."""

    __table__: ClassVar[Table]
    model_config = {"defer_build": True}  # rows are not validated, so pydantic need not build validators


class Numbered(Base):
    """A table whose rows get their numbers from the database."""

    id: int = Field(default=None, primary_key=True)


class Utc(TypeDecorator[datetime]):
    """Times in UTC that keep their zone on SQLite too, which stores none."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: object) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: object) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Kind(StrEnum):
    human = "human"
    judge = "judge"
    simulated = "simulated"


class Role(StrEnum):
    annotator = "annotator"
    lead = "lead"
    viewer = "viewer"


PREFIX = {Role.annotator: "A", Role.lead: "L", Role.viewer: "V"}  # of pseudonyms


class StudyState(StrEnum):
    draft = "draft"
    open = "open"
    paused = "paused"
    closed = "closed"


class Access(StrEnum):
    open = "open"
    invited = "invited"
    panel = "panel"


class Round(StrEnum):
    pilot = "pilot"
    main = "main"
    expert = "expert"
    crowd = "crowd"


class Purpose(StrEnum):
    main = "main"
    training = "training"
    entry_test = "entry_test"
    attention = "attention"
    gold = "gold"
    repeat = "repeat"
    adjudication = "adjudication"


BEFORE_WORK = (Purpose.training, Purpose.entry_test)
CHECK_PURPOSES = (Purpose.attention, Purpose.gold)  # of items that only check their annotators
HIDDEN = (*CHECK_PURPOSES, Purpose.repeat)
WORK = (Purpose.main, *HIDDEN)  # which annotators cannot tell apart


class AssignmentState(StrEnum):
    reserved = "reserved"
    submitted = "submitted"
    surplus = "surplus"
    skipped = "skipped"
    ignored = "ignored"
    expired = "expired"
    withdrawn = "withdrawn"


RATED = (AssignmentState.submitted, AssignmentState.surplus)
FINISHED = (*RATED, AssignmentState.ignored)
SEEN = (*FINISHED, AssignmentState.skipped)
UNFINISHED = (AssignmentState.reserved, AssignmentState.expired)
# finished states that fill one of the item's places, unless the annotator is excluded
IN_PLACE = (AssignmentState.submitted, AssignmentState.ignored)


class Origin(StrEnum):
    web = "web"
    workbook = "workbook"
    imported = "import"
    judge = "judge"
    simulated = "simulated"


class TextView(StrEnum):
    """How an annotator saw the texts: as they were written, formatted, or some of each."""

    written = "written"
    formatted = "formatted"
    mixed = "mixed"


def one_of(column: str, kinds: type[StrEnum]) -> CheckConstraint:
    """Constraint: the column contains one of the enum's values."""
    values = ", ".join(f"'{kind.value}'" for kind in kinds)
    return CheckConstraint(f"{column} IN ({values})", name=f"ck_{column}_known")


def key(target: str, *, nullable: bool = False, index: bool = True) -> Any:
    """A foreign key; the row is deleted with its parent."""
    return Field(foreign_key=target, nullable=nullable, index=index, ondelete="CASCADE")


def named(kinds: type[StrEnum], **options: Any) -> Any:
    """A column of an enum's values, stored as text."""
    values = Enum(kinds, native_enum=False, length=None, values_callable=list)
    return Field(sa_type=values, **options)


def has_value(column: SQLColumnExpression[object], *kinds: StrEnum) -> ColumnElement[bool]:
    """Condition that an enum column has one of these values, written into the text of the statement.

    As parameters, they would cost processor time in each execution, and PostgreSQL would plan for any value: it assumes
    that all purposes are equally frequent, and reads all items to find the next one.
    """
    values: list[ColumnElement[object]] = [literal_column(repr(str(kind))) for kind in kinds]
    condition: ColumnElement[bool] = column == values[0] if len(values) == 1 else column.in_(values)
    return condition


def when(*, nullable: bool = False, index: bool = False) -> Any:
    return Field(default=None, sa_type=Utc, nullable=nullable, index=index)


def at_slot(name: str) -> ForeignKeyConstraint:
    """Foreign key: (assignment, position) is a slot; a null position is about the item."""
    return ForeignKeyConstraint(
        ["assignment_id", "position"], ["slot.assignment_id", "slot.position"], ondelete="CASCADE", name=name
    )


def partial_index(name: str, *columns: str, where: str, unique: bool = True) -> Index:
    """An index over the rows for which the condition holds."""
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


class Person(Numbered, table=True):
    """Together with panel_identity, the only table with identifiers; everything else uses the pseudonym."""

    __table_args__ = (one_of("kind", Kind), one_of("role", Role))
    kind: Kind = named(Kind, default=Kind.human)
    role: Role = named(Role, default=Role.annotator)
    pseudonym: str = Field(unique=True)
    name: str | None = None
    email: str | None = None
    passcode_hash: str | None = None
    created_at: datetime = when()
    disabled_at: datetime | None = when(nullable=True)
    language: str | None = None
    identity: str | None = Field(default=None, index=True, unique=True)  # the person's id in single sign-on


class PanelIdentity(Numbered, table=True):
    """A person's id on a panel."""

    __tablename__ = "panel_identity"
    __table_args__ = (UniqueConstraint("panel", "external_id"),)
    person_id: int = key("person.id")
    panel: str
    external_id: str
    session_id: str = ""


class Login(Numbered, table=True):
    """One signed-in browser. The cookie holds the secret, this row its hash."""

    person_id: int = key("person.id")
    secret_hash: str = Field(unique=True)
    created_at: datetime = when()
    expires_at: datetime = when()
    revoked_at: datetime | None = when(nullable=True)


class TicketKind(StrEnum):
    sign_in = "sign_in"
    setup = "setup"


class Ticket(Numbered, table=True):
    """A one-time secret, used to exchange a checked passcode for a cookie or to create the first lead account."""

    __table_args__ = (one_of("kind", TicketKind),)
    kind: TicketKind = named(TicketKind)
    person_id: int | None = key("person.id", nullable=True)
    secret_hash: str = Field(unique=True)
    expires_at: datetime = when()
    used_at: datetime | None = when(nullable=True)


class Token(Numbered, table=True):
    """The credential of a lead's script: the script has the secret, this row its hash. Revoking deletes the row.

    Every token may read; study_id: the only study that it is valid for, None for all studies of the lead.
    """

    __table_args__ = (CheckConstraint("NOT may_unblind OR study_id IS NOT NULL", name="ck_unblinds_one_study"),)
    person_id: int = key("person.id")
    study_id: int | None = key("study.id", nullable=True)
    name: str
    secret_hash: str = Field(unique=True)
    may_write: bool = False
    may_unblind: bool = False
    created_at: datetime = when()
    expires_at: datetime = when()
    used_at: datetime | None = when(nullable=True)


class StoredAnswer(Numbered, table=True):
    """The stored reply to a script's request with an idempotency key, so that a repeated request acts once."""

    __tablename__ = "stored_answer"
    __table_args__ = (UniqueConstraint("person_id", "key"),)
    person_id: int = key("person.id", index=False)
    key: str
    request_hash: str
    answer: JsonObject = Field(sa_type=JSON)
    stored_at: datetime = when(index=True)


class FailedSignIn(Numbered, table=True):
    """Failed attempts per account, for the rate limit; the account is stored as a hash."""

    __tablename__ = "failed_sign_in"
    account_hash: str = Field(index=True)
    at: datetime = when()


class Setting(Base, table=True):
    """A fact about this database, for example that the demo studies were loaded once."""

    key: str = Field(primary_key=True)
    value: str


DEMO_LOADED = "demo_loaded"  # a key of Setting


class RubricText(Numbered, table=True):
    """The YAML as loaded; a new text is a new row."""

    __tablename__ = "rubric"
    key: str
    sha256: str = Field(unique=True)
    yaml: str
    loaded_at: datetime = when()


class Study(Numbered, table=True):
    """One evaluation. Event number and hash are the head of its event chain; writing an event locks this row."""

    __table_args__ = (
        UniqueConstraint("series", "round"),
        one_of("state", StudyState),
        one_of("access", Access),
        one_of("round", Round),
        CheckConstraint("raters_per_item >= 1", name="ck_raters_per_item"),
    )
    slug: str = Field(unique=True)
    series: str
    round: Round = named(Round, default=Round.main)
    title: str
    state: StudyState = named(StudyState, default=StudyState.draft)
    access: Access = named(Access, default=Access.open)
    demo: bool = False
    rubric_id: int = Field(foreign_key="rubric.id")
    presentation: str = "side_by_side"
    raters_per_item: int = 3
    settings: JsonObject = Field(default_factory=dict, sa_type=JSON)
    seed: str
    item_count: int = 0
    design_hash: str | None = None
    created_at: datetime = when()
    opened_at: datetime | None = when(nullable=True)
    paused_at: datetime | None = when(nullable=True)
    unblinded_at: datetime | None = when(nullable=True)
    event_number: int = 0
    event_hash: str = ""


class StoredCriterion(Numbered, table=True):
    """A criterion of an opened study, written from its rubric so that ratings can point at it."""

    __tablename__ = "criterion"
    __table_args__ = (UniqueConstraint("study_id", "key"), CheckConstraint("about IN ('candidate', 'item')"))
    study_id: int = key("study.id")
    position: int
    key: str
    title: str
    kind: str
    level: str
    about: str
    low: float | None = None
    high: float | None = None
    step: float | None = None


class Option(Numbered, table=True):
    __table_args__ = (UniqueConstraint("criterion_id", "key"),)
    criterion_id: int = key("criterion.id")
    position: int
    key: str
    title: str
    missing: bool = False


class Membership(Numbered, table=True):
    """A person's part in a study; a lead of it may be one of its annotators, too."""

    __table_args__ = (UniqueConstraint("study_id", "person_id", "role"), one_of("role", Role))
    study_id: int = key("study.id")
    person_id: int = key("person.id")
    role: Role = named(Role, default=Role.annotator)
    joined_at: datetime = when()
    consent_version: str | None = None
    consented_at: datetime | None = when(nullable=True)
    instructions_read_at: datetime | None = when(nullable=True)
    instructions_version: str | None = None
    turned_away_at: datetime | None = when(nullable=True)
    turned_away_as: str | None = None
    withdrawn_at: datetime | None = when(nullable=True)
    excluded_at: datetime | None = when(nullable=True)
    excluded_reason: str | None = None


class EntryAttempt(Numbered, table=True):
    """One try at the entry test; the questions answered so far are rows of `test_answer`."""

    __tablename__ = "entry_attempt"
    __table_args__ = (
        UniqueConstraint("membership_id", "number"),
        CheckConstraint("(passed IS NULL) = (finished_at IS NULL)", name="ck_attempt_finished"),
        CheckConstraint('"right" BETWEEN 0 AND asked', name="ck_right_of_asked"),
    )
    membership_id: int = key("membership.id", index=False)
    number: int
    started_at: datetime = when()
    finished_at: datetime | None = when(nullable=True)
    asked: int
    right: int = 0
    passed: bool | None = None


class TestAnswer(Numbered, table=True):
    """An answer to one question of an entry test."""

    __test__ = False  # pytest would collect a class of this name
    __tablename__ = "test_answer"
    __table_args__ = (UniqueConstraint("attempt_id", "question"),)
    attempt_id: int = key("entry_attempt.id", index=False)
    question: str
    option: str
    correct: bool
    answered_at: datetime = when()


class Invitation(Numbered, table=True):
    """A personal link; reusable until it expires or is issued again."""

    study_id: int = key("study.id")
    person_id: int = key("person.id")
    secret_hash: str = Field(unique=True)
    expires_at: datetime = when()
    revoked_at: datetime | None = when(nullable=True)


NEXT_ITEM = ("study_id", "purpose", "retired", "priority", "taken", "rank")  # columns that find it


class Item(Numbered, table=True):
    """A context and its candidates. `taken` counts places: live reservations and finished annotations."""

    __table_args__ = (
        UniqueConstraint("study_id", "external_id"),
        CheckConstraint("taken >= 0 AND taken <= raters", name="ck_never_over_assigned"),
        CheckConstraint("purpose IN ('main', 'training', 'gold', 'attention')", name="ck_item_purpose"),
        partial_index("ix_item_free", *NEXT_ITEM, where="taken < raters", unique=False),
        Index("ix_item_next", *NEXT_ITEM),
    )
    study_id: int = key("study.id", index=False)
    external_id: str
    purpose: Purpose = named(Purpose, default=Purpose.main)
    context: str = ""
    meta: JsonObject = Field(default_factory=dict, sa_type=JSON)
    extra_texts: JsonObject = Field(default_factory=dict, sa_type=JSON)
    sha256: str
    raters: int
    taken: int = 0
    priority: int = 0
    rank: int
    retired: bool = False
    retired_reason: str | None = None


class Turn(Numbered, table=True):
    """One turn of an item's context."""

    __table_args__ = (UniqueConstraint("item_id", "position"),)
    item_id: int = key("item.id", index=False)
    position: int
    speaker: str
    text: str


class System(Numbered, table=True):
    """What produces candidates; leads see `blind_code` as System 1, 2, … until unblinding."""

    __table_args__ = (UniqueConstraint("study_id", "name"), UniqueConstraint("study_id", "blind_code"))
    study_id: int = key("study.id", index=False)
    name: str
    blind_code: int


class Candidate(Numbered, table=True):
    """One system's output for one item: a text, or turns where a whole dialogue is judged."""

    __table_args__ = (UniqueConstraint("item_id", "system_id"),)
    item_id: int = key("item.id", index=False)
    system_id: int = key("system.id")
    text: str | None = None
    turns: list[list[str]] | None = Field(default=None, sa_type=JSON)
    sha256: str


class PlannedItem(Numbered, table=True):
    """A line of an explicit annotator–item plan; without any, items are given out automatically."""

    __tablename__ = "planned_item"
    __table_args__ = (UniqueConstraint("study_id", "person_id", "item_id"),)
    study_id: int = key("study.id", index=False)
    person_id: int = key("person.id", index=False)
    item_id: int = key("item.id", index=False)
    rank: int


class Workbook(Numbered, table=True):
    """A spreadsheet for one annotator; its token is hidden in the file. Its assignments refer to it."""

    study_id: int = key("study.id")
    person_id: int = key("person.id", index=False)
    token: str = Field(unique=True)
    made_at: datetime = when()
    returned_at: datetime | None = when(nullable=True)
    cancelled_at: datetime | None = when(nullable=True)


class Reference(Numbered, table=True):
    """The accepted answer to one criterion of a training, gold or attention item.

    accepted: a number, with a tolerance of `close`, or the keys of the accepted options, separated by `|`.
    """

    __table_args__ = (UniqueConstraint("item_id", "position", "criterion_id"),)
    item_id: int = key("item.id", index=False)
    position: int | None = None
    criterion_id: int = key("criterion.id")
    accepted: str
    close: float = 0
    reason: str


class Assignment(Numbered, table=True):
    """One item given to one annotator. The browser knows it by its token only.

    version: that of its next submission, which each message must name; `LAST_VERSION` is that of the last one. Other
    changes raise it, too, unless they give a new token, so that messages on their way are refused.
    """

    __table_args__ = (
        one_of("state", AssignmentState),
        one_of("purpose", Purpose),
        one_of("origin", Origin),
        CheckConstraint(
            "(state IN ('submitted', 'surplus', 'skipped', 'ignored')) = (submitted_at IS NOT NULL)"
            " OR state = 'withdrawn'",
            name="ck_submitted_has_time",
        ),
        CheckConstraint("(purpose = 'repeat') = (repeat_of IS NOT NULL)", name="ck_repeat_of"),
        partial_index(
            "ux_one_main_per_person",
            "item_id",
            "person_id",
            where="purpose IN ('main', 'training', 'gold', 'attention') AND state <> 'expired'",
        ),
        partial_index("ux_one_repeat", "repeat_of", where="repeat_of IS NOT NULL AND state <> 'expired'"),
        partial_index("ux_one_final_value", "item_id", where="purpose = 'adjudication'"),
        partial_index(
            "ux_one_live_reservation", "study_id", "person_id", where="state = 'reserved' AND origin = 'web'"
        ),
        Index("ix_assignment_expiry", "study_id", "state", "expires_at"),
        Index("ix_assignment_person", "person_id", "study_id", "submitted_at"),
    )
    token: str = Field(unique=True)
    study_id: int = key("study.id", index=False)
    item_id: int = key("item.id")
    person_id: int = key("person.id", index=False)
    purpose: Purpose = named(Purpose, default=Purpose.main)
    repeat_of: int | None = Field(default=None, foreign_key="assignment.id")
    origin: Origin = named(Origin, default=Origin.web)
    state: AssignmentState = named(AssignmentState, default=AssignmentState.reserved)
    reserved_at: datetime = when()
    expires_at: datetime = when()
    submitted_at: datetime | None = when(nullable=True)
    active_seconds: float = 0
    text_view: TextView | None = named(TextView, default=None, nullable=True)
    language: str | None = None
    reason: str | None = None
    note: str | None = None
    arrangement: str | None = None
    draft: JsonObject | None = Field(default=None, sa_type=JSON)
    draft_seq: int = 0
    pen: str | None = None
    version: int = 1
    design_hash: str | None = None
    workbook_id: int | None = Field(default=None, foreign_key="workbook.id")


LAST_VERSION = Assignment.version - 1
SUBMITTED_ONCE = 2  # version of an assignment with one submission


def annotators_part() -> ColumnElement[bool]:
    """Condition on Membership and Assignment: the annotator's part in the assignment's study."""
    own = (Membership.study_id == Assignment.study_id) & (Membership.person_id == Assignment.person_id)
    return own & has_value(Membership.role, Role.annotator)


class Slot(Base, table=True):
    """The place (0, 1, 2; A, B, C on screen) that a candidate has in one assignment."""

    __table_args__ = (UniqueConstraint("assignment_id", "candidate_id"),)
    assignment_id: int = Field(foreign_key="assignment.id", primary_key=True, ondelete="CASCADE")
    position: int = Field(primary_key=True)
    candidate_id: int = key("candidate.id")
    order_known: bool = True
    set_aside: str | None = None


class Submission(Base, table=True):
    """One submission from a browser, under an id chosen there: the same id always gets the same receipt."""

    id: str = Field(primary_key=True)
    assignment_id: int = key("assignment.id")
    version: int
    pen: str
    received_at: datetime = when()
    active_seconds: float = 0
    __table_args__ = (UniqueConstraint("assignment_id", "version"),)


class Rating(Numbered, table=True):
    """One value: slot × criterion (no slot: about the item). Untouched = no row; 0 is a value."""

    __table_args__ = (
        at_slot("fk_rating_slot"),
        UniqueConstraint("assignment_id", "position", "criterion_id"),
        partial_index("ux_rating_about_item", "assignment_id", "criterion_id", where="position IS NULL"),
        CheckConstraint("missing OR (number IS NOT NULL) <> (option_id IS NOT NULL)", name="ck_one_value"),
        # SQLite would silently store a numpy integer as a blob
        CheckConstraint("number IS NULL OR number = number + 0", name="ck_number_is_a_number"),
    )
    assignment_id: int = key("assignment.id", index=False)
    position: int | None = None
    criterion_id: int = key("criterion.id")
    number: float | None = None
    option_id: int | None = Field(default=None, foreign_key="option.id")
    missing: bool = False


class Explanation(Numbered, table=True):
    """Ready-made reasons and/or free text given for one rating."""

    rating_id: int = Field(foreign_key="rating.id", unique=True, ondelete="CASCADE")
    reasons: list[str] = Field(default_factory=list, sa_type=JSON)
    text: str = ""
    words: int = 0


class Highlight(Numbered, table=True):
    """A labelled span of a candidate, or of the item's context (no position): code points, end exclusive.

    turn: number of the turn in a dialogue. start, end: null for an imported quote that is not in the text. unit: words
    or letters, to which the selection was extended; null where not known.
    """

    __table_args__ = (
        at_slot("fk_highlight_slot"),
        ForeignKeyConstraint(["assignment_id"], ["assignment.id"], ondelete="CASCADE", name="fk_highlight_assignment"),
        CheckConstraint('(start IS NULL AND "end" IS NULL) OR (start >= 0 AND "end" > start)', name="ck_span_in_order"),
        Index("ix_highlight_assignment", "assignment_id"),
    )
    assignment_id: int
    position: int | None = None
    turn: int | None = None
    start: int | None = None
    end: int | None = None
    label: str
    quote: str
    comment: str = ""
    unit: str | None = None


class Comment(Numbered, table=True):
    """A lead's question about an annotation, or the annotator's answer; author: a pseudonym."""

    assignment_id: int = key("assignment.id")
    author: str
    at: datetime = when()
    text: str


class Event(Numbered, table=True):
    """Append only, one hash chain per study; values are in event_detail, where erasure can delete them."""

    __table_args__ = (UniqueConstraint("study_id", "number"), Index("ix_event_assignment", "assignment_id"))
    study_id: int = Field(foreign_key="study.id", ondelete="CASCADE")
    number: int
    at: datetime = when()
    actor: str
    kind: str
    assignment_id: int | None = Field(default=None, foreign_key="assignment.id", ondelete="SET NULL")
    subject: str = ""
    digest: str
    previous_hash: str
    hash: str


class EventDetail(Base, table=True):
    """The content of an event: old and new values for readers; `rows`, JSON as text, for `verify` alone (`rows`)."""

    __tablename__ = "event_detail"
    event_id: int = Field(foreign_key="event.id", primary_key=True, ondelete="CASCADE")
    salt: str
    old: JsonObject | None = Field(default=None, sa_type=JSON)
    new: JsonObject | None = Field(default=None, sa_type=JSON)
    rows: str | None = None


class Snapshot(Numbered, table=True):
    """A report, frozen at one event. The hash covers the report's content and is printed in all its files."""

    __table_args__ = (UniqueConstraint("study_id", "sha256"),)
    study_id: int = key("study.id", index=False)
    event_number: int
    event_hash: str
    scope: JsonObject = Field(default_factory=dict, sa_type=JSON)
    sha256: str
    made_at: datetime = when()
    made_by: str
    file: bytes = Field(sa_type=LargeBinary)
