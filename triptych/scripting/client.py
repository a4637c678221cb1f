"""`import triptych as tt`: studies, items, ratings and results in a script or a notebook, as pandas DataFrames.

What is in `triptych.__all__` and described in docs/scripting.md stays as it is: a name is removed, or changes its
meaning, in a minor version at the earliest, and only after a minor version in which its use warns (DeprecationWarning)
and CHANGELOG names what replaces it. Columns may be added at the end at any time.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, cast

import pandas as pd

from triptych.errors import ImportRefused
from triptych.formats.writers.tables import NUMBERS, TRUE_OR_FALSE, WHOLE
from triptych.scripting.connection import Connection, as_upload, by_token, to_home
from triptych.scripting.messages import (
    MAX_SCORES,
    Asking,
    CreatedStudy,
    DryRunNumbers,
    Judged,
    PersonalLinks,
    ReportFacts,
    Reports,
    Results,
    Studies,
    StudyFacts,
    TableRows,
    Zip,
)

ROWS_AT_ONCE = 1000
LOCAL_APP = "http://127.0.0.1:8501"
SCORE_COLUMNS = ("item_id", "system", "criterion", "value", "explanation")
GUEST_COLUMNS = ("name", "email", "group")
PathLike = str | os.PathLike[str]


def connect(url: str, token: str) -> Client:
    """A running app, with a token that a lead made on the page Account.

    Raises SignedOut for a token that is unknown, revoked or expired, DatabaseUnavailable where no app answers.
    """
    return Client(by_token(url, token))


def open(home: PathLike | None = None, lead: str = "", url: str = LOCAL_APP) -> Client:  # noqa: A001 (tt.open)
    """The app's data folder on this computer, whether the app is running or not.

    home: as TRIPTYCH_HOME, whose own value counts where it is left out. lead: the name of the lead that the script
    acts; not needed where there is one lead. url: where personal links lead, while the app is not running. Then the
    app cannot start until `close`, or the end of a `with`. Raises NotFound, UnsafeDatabase.
    """
    return Client(to_home(None if home is None else Path(home), lead, url))


class Client:
    """All studies of a lead, or the one that a token is for. Use it in a `with`, or `close` it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        try:
            self.asking = cast(Asking, connection.call("asking"))
        except BaseException:
            connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Triptych {self._connection.url}, for {self.asking.lead}, {' and '.join(self.asking.scopes)}>"

    def close(self) -> None:
        """Lets the app start again on a data folder that was opened."""
        self._connection.close()

    def studies(self) -> pd.DataFrame:
        """The studies, newest first, a row for each; their short names are in the column `study`."""
        facts: list[StudyFacts] = []
        after: str | None = ""
        while after is not None:
            page = cast(Studies, self._connection.call("studies", after=after))
            facts.extend(page.studies)
            after = page.next
        return pd.DataFrame([fact.model_dump(mode="json") for fact in facts], columns=list(StudyFacts.model_fields))

    def study(self, name: str) -> StudyClient:
        """The study of this short name. Raises NotFound."""
        facts = cast(StudyFacts, self._connection.call("study", study=name))
        return StudyClient(self._connection, facts)

    def create_study(
        self,
        title: str,
        rubric: PathLike,
        items: PathLike | pd.DataFrame,
        *,
        roles: Mapping[str, str] | None = None,
        raters_per_item: int = 3,
        access: Literal["invited", "open", "panel"] = "invited",
        round: Literal["pilot", "main", "expert", "crowd"] = "main",  # noqa: A002 (as everywhere in Triptych)
        items_per_annotator: int | None = None,
        consent: str = "",
        no_consent: str = "",
    ) -> StudyClient:
        """A new draft study. Nothing is made if a row has an error.

        rubric: the key of a shipped rubric, a file, or YAML. items: a file of any format that the app reads, or a
        DataFrame with the columns of such a file: `item_id`, `context`, and a column `cand:NAME` for each system, or
        long, with `system` and `text`. roles: column → role, for columns with other names. consent: the text that
        annotators agree to; no_consent: why none is asked. Raises ImportRefused, InvalidRubric, NotAllowed.
        """
        created = self._connection.call(
            "create_study",
            title=title,
            rubric=_rubric_text(rubric),
            items=_upload(items),
            roles=dict(roles or {}),
            raters_per_item=raters_per_item,
            access=access,
            round=round,
            items_per_annotator=items_per_annotator,
            consent=consent,
            no_consent=no_consent,
        )
        return StudyClient(self._connection, cast(CreatedStudy, created))


class StudyClient:
    """One study. `facts` are as of the last call that gave them; `refresh` asks again.

    warnings: about the items and the rubric, of a study that was made a moment ago.
    """

    def __init__(self, connection: Connection, facts: StudyFacts) -> None:
        self._connection, self.facts = connection, facts
        self.warnings: list[str] = facts.warnings if isinstance(facts, CreatedStudy) else []

    def __repr__(self) -> str:
        return f"<Study {self.name}: {self.facts.state}, {self.facts.done} of {self.facts.expected} annotations>"

    @property
    def name(self) -> str:
        """The short name, as in the study's address."""
        return self.facts.study

    def refresh(self) -> StudyFacts:
        """Update state, counts and whether the study is blind."""
        self.facts = cast(StudyFacts, self._call("study"))
        return self.facts

    # Reading

    def items(self) -> pd.DataFrame:
        """A row for each candidate of each item; in a blind study systems are called System 1, System 2, …"""
        return self._table("items")

    def ratings(self) -> pd.DataFrame:
        """A row for each value, with the columns of ratings.csv."""
        return _typed(self._table("ratings"))

    def highlights(self) -> pd.DataFrame:
        """A row for each highlight, with the columns of highlights.csv."""
        return _typed(self._table("highlights"))

    def results(self, part: str = "") -> pd.DataFrame:
        """Every number of the results page and of a report made now: its value, the ends of its interval, its text.

        part: of these numbers alone, such as `systems`, `contrasts` or `agreement`. Where a number is not defined,
        the text says why. The log notes that results were opened.
        """
        results = cast(Results, self._call("results"))
        numbers = _numbers(results.rows, results.columns)
        return numbers[numbers["part"] == part].reset_index(drop=True) if part else numbers

    # Running

    def dry_run(self, annotators: int = 5, items: int = 50, gap: float = 0.25, seed: int = 1) -> pd.DataFrame:
        """The results that simulated annotators would give, with the columns of `results`; nothing is stored.

        gap: from the worst system to the best, as a share of a scale's width. What was planted and found again is in
        `attrs["sentence"]` of the table.
        """
        done = cast(DryRunNumbers, self._call("dry_run", annotators=annotators, items=items, gap=gap, seed=seed))
        numbers = _numbers(done.rows, done.columns)
        numbers.attrs["sentence"] = done.sentence
        return numbers

    def launch(self) -> StudyFacts:
        """Freezes the design and opens the study. Raises Conflict with what still stops it."""
        return self._set_state("open")

    def reopen(self) -> StudyFacts:
        """Opens a paused study."""
        return self._set_state("open")

    def pause(self) -> StudyFacts:
        """Nobody gets a new item; what is on screen may be submitted for 30 minutes."""
        return self._set_state("paused")

    def invite(self, people: Iterable[str] | pd.DataFrame) -> pd.DataFrame:
        """Invites annotators, all of them or nobody; returns a row for each, with pseudonym and personal link.

        people: names, or a DataFrame with some of the columns name, email and group. Links are shown once and not
        stored: `new_links` makes others.
        """
        guests = _guests(people)
        links = cast(PersonalLinks, self._call("invite", people=guests))
        invited = pd.DataFrame(guests, columns=list(GUEST_COLUMNS))
        invited["pseudonym"] = [link.pseudonym for link in links.people]
        invited["link"] = self._addresses(links)
        return invited

    def new_links(self, pseudonyms: Iterable[str]) -> pd.DataFrame:
        """New personal links for these annotators; the earlier ones stop working."""
        links = cast(PersonalLinks, self._call("new_links", people=list(pseudonyms)))
        people = [link.pseudonym for link in links.people]
        return pd.DataFrame({"pseudonym": people, "link": self._addresses(links)})

    def append_scores(self, judge: str, scores: pd.DataFrame | Sequence[Mapping[str, Any]]) -> Judged:
        """Adds the scores of a judge (a model), all of them or none; an item is scored once by a judge.

        scores: item_id, system (as `items` calls it), criterion, value, and explanation if there is one; a row for
        each value. They are shown as a judge's, and count in the results where a lead counts judges.
        """
        rows = _records(scores, SCORE_COLUMNS)
        if len(rows) > MAX_SCORES:
            raise ImportRefused(
                f"These are {len(rows):,} scores; append at most {MAX_SCORES:,} at a time, grouped by item."
            )
        return cast(Judged, self._call("append_scores", judge=judge, scores=rows))

    def unblind(self) -> StudyFacts:
        """Permanently show the names of the systems to all leads; needs a token that may unblind."""
        self.facts = cast(StudyFacts, self._call("unblind"))
        return self.facts

    # Reports

    def report(self, path: PathLike) -> ReportFacts:
        """Makes a report of the study as it is now, and writes its zip file."""
        made = cast(ReportFacts, self._call("make_report"))
        Path(path).write_bytes(self.report_file(made.sha256))
        return made

    def reports(self) -> pd.DataFrame:
        """The reports that were made, newest first."""
        reports = cast(Reports, self._call("reports")).reports
        return pd.DataFrame([report.model_dump() for report in reports], columns=list(ReportFacts.model_fields))

    def report_file(self, sha256: str) -> bytes:
        """The zip file of a report as it was frozen."""
        return cast(Zip, self._call("report_file", sha256=sha256)).content

    def _call(self, name: str, **fields: Any) -> Any:
        return self._connection.call(name, study=self.name, **fields)

    def _set_state(self, state: str) -> StudyFacts:
        self.facts = cast(StudyFacts, self._call("set_state", state=state))
        return self.facts

    def _table(self, name: str) -> pd.DataFrame:
        """All pages of a table."""
        rows: list[list[Any]] = []
        after: str | None = ""
        while after is not None:
            page: TableRows = self._call(name, after=after, limit=ROWS_AT_ONCE)
            rows.extend(page.rows)
            after = page.next
        return pd.DataFrame(rows, columns=page.columns)

    def _addresses(self, links: PersonalLinks) -> list[str | None]:
        url = self._connection.url
        return [None if person.link is None else f"{url}{person.link}" for person in links.people]


def _numbers(rows: list[list[Any]], columns: list[str]) -> pd.DataFrame:
    numbers = pd.DataFrame(rows, columns=columns)
    for column in ("value", "low", "high"):
        numbers[column] = pd.to_numeric(numbers[column])
    return numbers


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """The columns with the types that the Parquet export gives them."""
    for column in table.columns:
        if column in TRUE_OR_FALSE:
            table[column] = table[column].astype(bool)
        elif column in WHOLE:
            table[column] = table[column].astype("Int64")
        elif column in NUMBERS:
            table[column] = pd.to_numeric(table[column])
        elif column == "submitted_at":
            table[column] = pd.to_datetime(table[column], utc=True)
        elif column == "reasons":
            table[column] = [keys.split(";") if keys else [] for keys in table[column]]
    return table


def _rubric_text(rubric: PathLike) -> str:
    """The key of a shipped rubric, or YAML text; for a file, its text."""
    text = os.fspath(rubric)
    is_file = not isinstance(rubric, str) or ("\n" not in text and text.endswith((".yaml", ".yml")))
    return Path(text).read_text(encoding="utf-8") if is_file else text


def _upload(items: PathLike | pd.DataFrame) -> dict[str, str]:
    if not isinstance(items, pd.DataFrame):
        return as_upload(os.fspath(items), Path(items).read_bytes())
    with io.StringIO() as lines:
        items.to_json(lines, orient="records", lines=True, force_ascii=False, date_format="iso")
        return as_upload("items.jsonl", lines.getvalue().encode())


def _guests(people: Iterable[str] | pd.DataFrame) -> list[dict[str, Any]]:
    if isinstance(people, pd.DataFrame):
        return _records(people, GUEST_COLUMNS)
    if isinstance(people, str):
        raise ImportRefused("Pass a list of names, not a single string.")
    return [{"name": name} for name in people]


def _records(table: pd.DataFrame | Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows as JSON values; empty cells are omitted. Raises ImportRefused for other columns."""
    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(list(table))
    others = [str(column) for column in frame.columns if column not in columns]
    if others:
        raise ImportRefused(f"Unknown columns: {', '.join(others)}. Known are {', '.join(columns)}.")
    return [{name: value for name, value in row.items() if not _is_empty(value)} for row in _plain(frame)]


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows with Python's own values, which JSON knows."""
    rows = frame.astype(object).to_dict("records")
    return [{str(name): getattr(value, "item", lambda v=value: v)() for name, value in row.items()} for row in rows]


def _is_empty(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)
