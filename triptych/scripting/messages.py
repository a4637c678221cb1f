"""What scripts send and are answered: the types behind the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, ValidationError

from triptych.people.tokens import Scope
from triptych.storage.models import Access, Round, StudyState

MAX_ROWS = 5000
MAX_SCORES = 20_000
MAX_TEXT_CHARACTERS = 10_000
Cursor = Annotated[str, Field(max_length=200, description="`next` from the previous page; empty for the first page")]
Limit = Annotated[int, Field(ge=1, le=MAX_ROWS)]
Slug = Annotated[str, Field(max_length=200, description="the study's short name, as in its address")]
Line = Annotated[str, Field(max_length=500)]


class ScriptMessage(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def what_does_not_fit(error: ValidationError) -> str:
    """The first thing that is wrong in a request, and where."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "the request"
    return f"The request does not fit at {place}: {first['msg']}."


# Requests


class NoFields(ScriptMessage):
    """A request without fields."""


class StudiesPage(ScriptMessage):
    after: Cursor = ""
    limit: Limit = 100


class OfStudy(ScriptMessage):
    study: Slug


class TablePage(OfStudy):
    """limit: items, annotations with all their ratings, or highlights."""

    after: Annotated[str, Field(pattern=r"^\d{0,18}$", description="`next` of the page before")] = ""
    limit: Limit = 500

    @property
    def number(self) -> int:
        return int(self.after or 0)


class FileContent(ScriptMessage):
    """A file as an upload has it; the ending of its name gives the format."""

    name: Line
    content: Annotated[Base64Bytes, Field(description="the bytes in Base64")]


class NewStudy(ScriptMessage):
    """rubric: the key of a shipped rubric, or the YAML of one. roles: column → role, where names do not say it."""

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
    """open launches a draft, and opens a paused study. A study is closed in the app, which asks for the passcode."""

    state: Literal["open", "paused"]


class NewGuest(ScriptMessage):
    name: Line = ""
    email: Line = ""
    group: Line = ""


class Guests(OfStudy):
    people: Annotated[list[NewGuest], Field(min_length=1, max_length=1000)]


class Pseudonyms(OfStudy):
    people: Annotated[list[Annotated[str, Field(max_length=40)]], Field(min_length=1, max_length=1000)]


class Score(ScriptMessage):
    """One value of a judge. system: as the study's items name it; left out for a criterion about the item."""

    item_id: Line
    system: Line | None = None
    criterion: Line
    value: bool | float | Line
    explanation: Annotated[str, Field(max_length=MAX_TEXT_CHARACTERS)] = ""


class Scores(OfStudy):
    """All that a judge gives for some items; an item is scored once by a judge."""

    judge: Annotated[str, Field(min_length=1, max_length=80)]
    scores: Annotated[list[Score], Field(min_length=1, max_length=MAX_SCORES)]


class DryRunRequest(OfStudy):
    """items: at most so many of the study's. gap: from the worst system to the best, as a share of a scale's width."""

    annotators: int = 5
    items: int = 50
    gap: Annotated[float, Field(ge=0, le=1)] = 0.25
    seed: int = 1


class OfReport(OfStudy):
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


# Answers


class Asking(ScriptMessage):
    """Who asks, and what they may do. study: the one study that a token is for; expires_at: of a token."""

    lead: str
    scopes: list[Scope]
    study: str | None
    expires_at: datetime | None
    version: str


class StudyFacts(ScriptMessage):
    """done, expected: finished annotations, of the places that all items have."""

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
    """warnings: about the file and the rubric; none of them kept the study from being made."""

    warnings: list[str]


class TableRows(ScriptMessage):
    """Rows of a table, and where the next page begins; None on the last."""

    columns: list[str]
    rows: list[list[Any]]
    next: str | None


class Results(ScriptMessage):
    """event_number: the last event of the log that is in the numbers."""

    event_number: int
    blind: bool
    columns: list[str]
    rows: list[list[Any]]


class DryRunNumbers(ScriptMessage):
    """sentence: how much of what was planted the analysis found again. The rows are as those of the results."""

    sentence: str
    annotations: int
    columns: list[str]
    rows: list[list[Any]]


class PersonalLink(ScriptMessage):
    """link: what follows the app's address; it is shown once, and null in a repeated answer."""

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
    """A file; by HTTP its bytes alone."""

    content: bytes
