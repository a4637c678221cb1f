"""The types of requests and answers, from which the OpenAPI document is made."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, ValidationError

from triptych.errors import first_mistake
from triptych.people.invitations import MAX_GUESTS
from triptych.people.tokens import Scope
from triptych.storage.models import Access, Round, StudyState

MAX_ROWS = 5000
MAX_SCORES = 2000  # SQLite has one turn to write, and each item scored is stored as an annotation
MAX_TEXT_CHARACTERS = 10_000
Cursor = Annotated[str, Field(max_length=200, description="`next` from the previous page; empty for the first page")]
Limit = Annotated[int, Field(ge=1, le=MAX_ROWS)]
Slug = Annotated[str, Field(max_length=200, description="the study's short name, as in its address")]
Line = Annotated[str, Field(max_length=500)]


class ScriptMessage(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def what_does_not_fit(error: ValidationError) -> str:
    """The first error in a request and its place."""
    return f"The request does not fit at {first_mistake(error, 'the request')}."


# Requests


class NoFields(ScriptMessage):
    """A request without fields."""


class StudiesPage(ScriptMessage):
    after: Cursor = ""
    limit: Limit = 100


class OfStudy(ScriptMessage):
    study: Slug


class TablePage(OfStudy):
    """One page of a table. limit: the number of items, of annotations with all their ratings, or of highlights."""

    after: Annotated[str, Field(pattern=r"^\d{0,18}$", description="`next` of the page before")] = ""
    limit: Limit = 500

    @property
    def number(self) -> int:
        return int(self.after or 0)


class FileContent(ScriptMessage):
    """An uploaded file; the ending of its name determines the format."""

    name: Line
    content: Annotated[Base64Bytes, Field(description="the bytes in Base64")]


class NewStudy(ScriptMessage):
    """rubric: the key of a shipped rubric, or YAML. roles: column → role, for columns whose names do not show it."""

    title: Line
    rubric: Annotated[str, Field(max_length=200_000)]
    items: FileContent
    roles: dict[Line, Line] = {}
    raters_per_item: int = 3
    access: Access = Access.invited
    round: Round = Round.main
    items_per_annotator: int | None = None
    consent: Annotated[str, Field(max_length=20_000, description="what annotators agree to before they begin")] = ""
    no_consent: Annotated[Line, Field(description="why consent is not asked")] = ""


class NewState(OfStudy):
    """open launches a draft, or opens a paused study. A study is closed in the app, which asks for the passcode."""

    state: Literal["open", "paused"]


class NewGuest(ScriptMessage):
    name: Line = ""
    email: Line = ""
    group: Line = ""


GUEST_COLUMNS = tuple(NewGuest.model_fields)


class Guests(OfStudy):
    people: Annotated[list[NewGuest], Field(min_length=1, max_length=MAX_GUESTS)]


class Pseudonyms(OfStudy):
    people: Annotated[list[Annotated[str, Field(max_length=40)]], Field(min_length=1, max_length=MAX_GUESTS)]


class Score(ScriptMessage):
    """One value of a judge. system: its name in the study's items; omit it for a criterion about the item."""

    item_id: Line
    system: Line | None = None
    criterion: Line
    value: bool | float | Line
    explanation: Annotated[str, Field(max_length=MAX_TEXT_CHARACTERS)] = ""


class Scores(OfStudy):
    """All scores of a judge for some items; a judge scores an item only once."""

    judge: Annotated[str, Field(min_length=1, max_length=80)]
    scores: Annotated[list[Score], Field(min_length=1, max_length=MAX_SCORES)]


class DryRunRequest(OfStudy):
    """items: at most this many of the study's. gap: from worst to best system, as a share of a scale's width."""

    annotators: int = 5
    items: int = 50
    gap: Annotated[float, Field(ge=0, le=1)] = 0.25
    seed: int = 1


class OfReport(OfStudy):
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


# Answers


class Asking(ScriptMessage):
    """Who calls, and what they may do. study: the only study of a token; expires_at: of a token."""

    lead: str
    scopes: list[Scope]
    study: str | None
    expires_at: datetime | None
    version: str


class StudyFacts(ScriptMessage):
    """items: those to rate, without retired ones; done: finished annotations; expected: places of these items."""

    study: str
    title: str
    state: StudyState
    round: Round
    access: Access
    items: int
    annotators: int
    done: int
    expected: int
    blind: bool
    demo: bool


class Studies(ScriptMessage):
    studies: list[StudyFacts]
    next: str | None


class CreatedStudy(StudyFacts):
    """warnings: about the file and the rubric; the study was created nevertheless."""

    warnings: list[str]


class TableRows(ScriptMessage):
    """Rows of a table, and where the next page starts; null on the last page."""

    columns: list[str]
    rows: list[list[Any]]
    next: str | None


class Results(ScriptMessage):
    """event_number: the last event of the log that the numbers include."""

    event_number: int
    blind: bool
    columns: list[str]
    rows: list[list[Any]]


class DryRunNumbers(ScriptMessage):
    """sentence: how much of the simulated gaps the analysis found. Rows are as in the results."""

    sentence: str
    annotations: int
    columns: list[str]
    rows: list[list[Any]]


class PersonalLink(ScriptMessage):
    """link: the part after the app's address. It is shown once; a repeated answer has null."""

    pseudonym: str
    link: str | None


class PersonalLinks(ScriptMessage):
    people: list[PersonalLink]


class Judged(ScriptMessage):
    judge: Annotated[str, Field(description="the judge's pseudonym")]
    items: int
    ratings: int


class ReportFacts(ScriptMessage):
    sha256: str
    event_number: int
    event_hash: str
    made_at: datetime
    made_by: str
    bytes: int


class Reports(ScriptMessage):
    reports: list[ReportFacts]


class Zip(ScriptMessage):
    """A file; by HTTP only its bytes."""

    content: bytes
