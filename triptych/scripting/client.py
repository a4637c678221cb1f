"""`import triptych as tt`: studies, items, ratings and results in a script or a notebook, as pandas DataFrames.

The names in `triptych.__all__`, described in docs/scripting.md, are stable: a name is removed or changes its meaning
only in a minor version, and only after a minor version in which its use warns (DeprecationWarning) and CHANGELOG names
the replacement. Columns may be added at the end at any time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, cast

import pandas as pd

from triptych.errors import ImportRefused
from triptych.formats.columns import Type
from triptych.formats.writers.tables import COLUMNS
from triptych.scripting.connection import Connection, as_upload, by_token, to_home
from triptych.scripting.messages import (
    GUEST_COLUMNS,
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
from triptych.storage import outputs

ROWS_AT_ONCE = 1000
LOCAL_APP = "http://127.0.0.1:8501"
SCORE_COLUMNS = ("item_id", "system", "criterion", "value", "explanation")
PathLike = str | os.PathLike[str]


def connect(url: str, token: str) -> Client:
    """Connect to a running app with a token that a lead created on the page Account.

    Raises SignedOut for a token that is unknown, revoked or expired, DatabaseUnavailable if no app responds.
    """
    return Client(by_token(url, token))


def open(home: PathLike | None = None, lead: str = "", url: str = LOCAL_APP) -> Client:
    """Open the app's data folder on this computer, whether the app is running or not.

    home: the folder, as in TRIPTYCH_HOME, which is the default. lead: the name of the lead on whose behalf the script
    acts; may be omitted if there is only one. url: the address in personal links while the app is not running; the app
    then cannot start until `close` or the end of a `with` block. Raises NotFound, UnsafeDatabase.
    """
    return Client(to_home(None if home is None else Path(home), lead, url))


class Client:
    """All studies of a lead, or the one study of a token. Use it in a `with` block, or call `close`."""

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
        """Close the connection; on a data folder, the app can start again."""
        self._connection.close()

    def studies(self) -> pd.DataFrame:
        """The studies, one row each, newest first. The column `study` has their short names."""
        facts: list[StudyFacts] = []
        after: str | None = ""
        while after is not None:
            page = cast(Studies, self._connection.call("studies", after=after))
            facts.extend(page.studies)
            after = page.next
        return pd.DataFrame([fact.model_dump(mode="json") for fact in facts], columns=list(StudyFacts.model_fields))

    def study(self, name: str) -> StudyClient:
        """The study with this short name. Raises NotFound."""
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
        round: Literal["pilot", "main", "expert", "crowd"] = "main",
        items_per_annotator: int | None = None,
        consent: str = "",
        no_consent: str = "",
    ) -> StudyClient:
        """Create a draft study. Nothing is created if a row has an error.

        rubric: the key of a shipped rubric, a file, or YAML text. items: a file in any format that the app reads, or a
        DataFrame with the columns of such a file: `item_id`, `context`, and a column `cand:NAME` per system, or in long
        form `system` and `text`. roles: column → role, for columns with other names. consent: the text that annotators
        agree to; no_consent: the reason why none is needed. Raises ImportRefused, InvalidRubric, NotAllowed.
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
    """One study. `facts` is as of the last call that returned it; `refresh` updates it.

    `warnings` is about the items and the rubric of a study that was just created.
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
        """One row per candidate of each item; in a blind study systems are called System 1, System 2, …"""
        return self._table("items")

    def ratings(self) -> pd.DataFrame:
        """One row per value, with the columns of ratings.csv."""
        return _typed(self._table("ratings"))

    def highlights(self) -> pd.DataFrame:
        """One row per highlight, with the columns of highlights.csv."""
        return _typed(self._table("highlights"))

    def results(self, part: str = "") -> pd.DataFrame:
        """All numbers of the results page and of a report made now: value, ends of the interval, text.

        part: return only these, such as `systems`, `contrasts` or `agreement`. For an undefined number, the text gives
        the reason. The log records that results were viewed.
        """
        results = cast(Results, self._call("results"))
        numbers = _numbers(results.rows, results.columns)
        return numbers[numbers["part"] == part].reset_index(drop=True) if part else numbers

    # Running

    def dry_run(self, annotators: int = 5, items: int = 50, gap: float = 0.25, seed: int = 1) -> pd.DataFrame:
        """The results of simulated annotators, with the columns of `results`; nothing is stored.

        gap: from the worst to the best system, as a share of a scale's width. `attrs["sentence"]` of the table states
        how much of the simulated gaps the analysis found.
        """
        done = cast(DryRunNumbers, self._call("dry_run", annotators=annotators, items=items, gap=gap, seed=seed))
        numbers = _numbers(done.rows, done.columns)
        numbers.attrs["sentence"] = done.sentence
        return numbers

    def launch(self) -> StudyFacts:
        """Freeze the design and open the study. Raises Conflict with what must be done first."""
        return self._set_state("open")

    def reopen(self) -> StudyFacts:
        """Open a paused study."""
        return self._set_state("open")

    def pause(self) -> StudyFacts:
        """Pause the study: nobody gets a new item, but items on screen may be submitted for 30 minutes."""
        return self._set_state("paused")

    def invite(self, people: Iterable[str] | pd.DataFrame) -> pd.DataFrame:
        """Invite annotators, all of them or nobody. Returns one row each, with pseudonym and personal link.

        people: names, or a DataFrame with some of the columns name, email and group. Links are shown once and not
        stored; `new_links` creates others.
        """
        guests = _guests(people)
        links = cast(PersonalLinks, self._call("invite", people=guests))
        invited = pd.DataFrame(guests, columns=list(GUEST_COLUMNS))
        invited["pseudonym"] = [link.pseudonym for link in links.people]
        invited["link"] = self._addresses(links)
        return invited

    def new_links(self, pseudonyms: Iterable[str]) -> pd.DataFrame:
        """Create new personal links for these annotators; their earlier links stop working."""
        links = cast(PersonalLinks, self._call("new_links", people=list(pseudonyms)))
        people = [link.pseudonym for link in links.people]
        return pd.DataFrame({"pseudonym": people, "link": self._addresses(links)})

    def append_scores(self, judge: str, scores: pd.DataFrame | Sequence[Mapping[str, object]]) -> Judged:
        """Add the scores of a judge (a model), all of them or none; a judge scores an item only once.

        scores: one row per value, with item_id, system (as in `items`), criterion, value, and optionally explanation.
        They are shown as a judge's, and count in the results if the lead counts judges.
        """
        rows = _records(scores, SCORE_COLUMNS)
        if len(rows) > MAX_SCORES:
            raise ImportRefused(
                f"These are {len(rows):,} scores; append at most {MAX_SCORES:,} at a time, grouped by item."
            )
        return cast(Judged, self._call("append_scores", judge=judge, scores=rows))

    def unblind(self) -> StudyFacts:
        """Permanently show the names of the systems to all leads; the token needs the scope to unblind."""
        self.facts = cast(StudyFacts, self._call("unblind"))
        return self.facts

    # Reports

    def report(self, path: PathLike) -> ReportFacts:
        """Make a report of the study's current state and write its zip file. Raises NotAllowed, OSError."""
        made = cast(ReportFacts, self._call("make_report"))
        outputs.write(Path(path), [self.report_file(made.sha256)])
        return made

    def reports(self) -> pd.DataFrame:
        """The stored reports, newest first."""
        reports = cast(Reports, self._call("reports")).reports
        return pd.DataFrame([report.model_dump() for report in reports], columns=list(ReportFacts.model_fields))

    def report_file(self, sha256: str) -> bytes:
        """The zip file of a stored report, unchanged."""
        return cast(Zip, self._call("report_file", sha256=sha256)).content

    def _call(self, name: str, **fields: object) -> Any:
        return self._connection.call(name, study=self.name, **fields)

    def _set_state(self, state: str) -> StudyFacts:
        self.facts = cast(StudyFacts, self._call("set_state", state=state))
        return self.facts

    def _table(self, name: str) -> pd.DataFrame:
        """All pages of a table."""
        rows: list[list[object]] = []
        after: str | None = ""
        while after is not None:
            page: TableRows = self._call(name, after=after, limit=ROWS_AT_ONCE)
            rows.extend(page.rows)
            after = page.next
        return pd.DataFrame(rows, columns=page.columns)

    def _addresses(self, links: PersonalLinks) -> list[str | None]:
        url = self._connection.url
        return [None if person.link is None else f"{url}{person.link}" for person in links.people]


def _numbers(rows: Sequence[Sequence[object]], columns: list[str]) -> pd.DataFrame:
    numbers = pd.DataFrame(rows, columns=columns)
    for column in ("value", "low", "high"):
        numbers[column] = pd.to_numeric(numbers[column])
    return numbers


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the column types of the Parquet export."""
    for name in table.columns:
        kind = COLUMNS[name].type if name in COLUMNS else Type.text  # of a later version of the app
        if kind == Type.truth:
            table[name] = table[name].astype(bool)
        elif kind == Type.whole:
            table[name] = table[name].astype("Int64")
        elif kind == Type.number:
            table[name] = pd.to_numeric(table[name])
        elif kind == Type.time:
            table[name] = pd.to_datetime(table[name], utc=True)
        elif kind == Type.keys:
            table[name] = [keys.split(";") if keys else [] for keys in table[name]]
    return table


def _rubric_text(rubric: PathLike) -> str:
    """The key of a shipped rubric, or YAML text; for a file, its text."""
    text = os.fspath(rubric)
    is_file = not isinstance(rubric, str) or ("\n" not in text and text.endswith((".yaml", ".yml")))
    return Path(text).read_text(encoding="utf-8") if is_file else text


def _upload(items: PathLike | pd.DataFrame) -> dict[str, str]:
    if not isinstance(items, pd.DataFrame):
        return as_upload(os.fspath(items), Path(items).read_bytes())
    if not items.columns.is_unique:
        raise ImportRefused("Two columns have the same name.")
    # not `items.to_json`, which rounds to 10 or 15 decimals
    rows = json.loads(json.dumps(_rows(items), default=_plain), parse_constant=lambda _: None)
    return as_upload("items.jsonl", "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode())


def _guests(people: Iterable[str] | pd.DataFrame) -> list[dict[str, object]]:
    if isinstance(people, pd.DataFrame):
        return _records(people, GUEST_COLUMNS)
    if isinstance(people, str):
        raise ImportRefused("Pass a list of names, not a single string.")
    return [{"name": name} for name in people]


def _records(table: pd.DataFrame | Sequence[Mapping[str, object]], columns: Sequence[str]) -> list[dict[str, object]]:
    """The rows as JSON values; empty cells are omitted. Raises ImportRefused for unknown columns."""
    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(list(table))
    others = [str(column) for column in frame.columns if column not in columns]
    if others:
        raise ImportRefused(f"Unknown columns: {', '.join(others)}. Known are {', '.join(columns)}.")
    return [{name: value for name, value in row.items() if value is not None} for row in _rows(frame)]


def _rows(frame: pd.DataFrame) -> list[dict[str, object]]:
    """The rows, without NumPy's types; empty cells are None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): getattr(cell, "tolist", lambda own=cell: own)() for name, cell in row.items()} for row in rows]


def _plain(part: object) -> object:
    """A part of a cell that JSON cannot encode, as one that it can: arrays as lists, dates in ISO 8601."""
    return getattr(part, "tolist", getattr(part, "isoformat", part.__str__))()
