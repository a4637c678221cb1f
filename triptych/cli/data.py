"""`triptych data`: exports, backups, moves and checks of the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sqlalchemy import make_url, select
from sqlmodel import Session

from triptych import settings
from triptych.cli import files
from triptych.cli.opening import alone, to_read, written
from triptych.cli.output import Reply, for_people, note
from triptych.errors import NotFound
from triptych.operations import backup as backups
from triptych.operations import earlier_head as earlier
from triptych.operations import move as moving
from triptych.operations import verify as verifying
from triptych.privacy.backup_facts import Head
from triptych.stats.numbers import counted
from triptych.storage import database, foreign_parts, schema
from triptych.storage.models import Study
from triptych.storage.unreadable import UNREADABLE, reading_apart, unreadable
from triptych.study import lifecycle

COMMAND_LINE = "command line"
SEEN_BY_ALL = (
    "Everyone on this computer can see this address, with its password, in the process list. Leave the password out "
    "and use PGPASSWORD or ~/.pgpass."
)


def export(study: str, format: str, file: str) -> Reply:
    """Write a study's data in a format."""
    with database.reading(to_read()) as session, for_people():
        files.write(file, _exported(session, study, format))
    return files.reply(file, f"Written to {file}.", study=study, format=format)


def _exported(session: Session, slug: str, name: str) -> Iterator[bytes]:
    """A study's data in a format; `name` may also be the table "ratings" or "highlights", as CSV. Raises NotFound."""
    # numpy and the writers take a second to import, which no other command needs
    from triptych.exchange import exports
    from triptych.exchange.csv_files import CSV_FILES, csv_file
    from triptych.formats.writers.model import ExportOptions

    database.see_one_state(session)
    study = lifecycle.by_slug(session, slug)
    if name in CSV_FILES:
        return csv_file(session, study, name)
    return exports.export_zip(session, study, name, ExportOptions(0, None))


def backup() -> Reply:
    """Make a backup; the reply names the last event of each study."""
    made = backups.make(to_read())
    lines = [f"{made.path} ({made.size:,} bytes)", *_lines_of(made.heads)]
    return Reply(lines, {"file": str(made.path), "bytes": made.size, "studies": _values_of(made.heads)})


def restore(file: str) -> Reply:
    """Restore the database from a backup."""
    engine = database.open_engine(settings.database_url())
    with alone(engine), files.on_disk(file) as path:
        restored = backups.restore(engine, path, COMMAND_LINE, alone=True)
    again = "withdrew, or was erased or removed, after this backup and is back: repeat that."
    lines = [f"Restored {restored.name}. The previous state is in {restored.before or 'no file: it was empty'}."]
    lines.append("Everyone has to sign in again, and scripts need new tokens.")
    lines += [*_lines_of(restored.heads), *(f"{pseudonym} {again}" for pseudonym in restored.again)]
    lines += [f"Rows of the backup differ from their log. {sentence}" for sentence in restored.differing]
    if restored.is_access_unread:
        lines.append(
            "Damage of the previous state hides whose access was revoked since this backup, and who withdrew or was "
            "erased or removed: repeat that."
        )
    before = str(restored.before) if restored.before else None
    values = {"before": before, "studies": _values_of(restored.heads), "again": list(restored.again)}
    damage = {"differing": list(restored.differing), "access_unread": restored.is_access_unread}
    return Reply(lines, {"restored": restored.name, **values, **damage})


def _lines_of(heads: Sequence[Head]) -> list[str]:
    return [f"{head.slug}: last event {head.number}, hash {head.hash}" for head in heads]


def _values_of(heads: Sequence[Head]) -> list[dict[str, str | int]]:
    return [{"study": head.slug, "event": head.number, "hash": head.hash} for head in heads]


def move(target: str, study: Sequence[str]) -> Reply:
    """Copy the database, or some of its studies, to another database."""
    old = database.open_engine(settings.database_url())
    new = database.open_engine(settings.full_address(target))
    if new.url.password:
        note(SEEN_BY_ALL)
    note("Copying, then reading every row back.")
    with alone(old):
        file = Path(new.url.database or "") if new.dialect.name == "sqlite" else None
        tables = moving.move_to_file(old, file, study) if file else moving.move(old, new, study)
    moved = [table for table in tables if table.rows]
    lines = [f"{part.table}: {counted(part.rows, 'row')}, the same in both ({part.digest[:12]})." for part in moved]
    lines.append(f"Every event chain is valid. Start the app with TRIPTYCH_DATABASE_URL={new.url!r}.")
    return Reply(lines, {"tables": [{"table": part.table, "rows": part.rows} for part in moved]})


def migrate() -> Reply:
    """Migrate the database to this program's schema."""
    written(lambda _: None)
    return Reply([f"The database is at version {schema.HEAD}."], {"version": schema.HEAD})


def verify(against: str | None) -> Reply:
    """Compare every study with its event log, and with the last events in an earlier file."""
    heads = earlier.read(against) if against else []
    with database.reading(to_read()) as session:
        database.see_one_state(session)
        if parts := foreign_parts.unsafe_to_read(session.connection()):
            return _verified(parts, {"unreadable": parts}, holds=False)
        try:
            with reading_apart(session.connection()):
                studies = session.scalars(select(Study).order_by(Study.id)).all()
        except UNREADABLE:
            places = list(unreadable(session.connection()))
            if not places:
                raise
            return _verified(places, {"unreadable": places}, holds=False)
        verdicts = []
        for number, study in enumerate(studies, 1):
            note(f"Checking {study.slug}, {number} of {len(studies)} …")
            verdicts.append(verifying.verify(session, study))
        comparisons = [earlier.compare(session, head) for head in heads]
    if not verdicts:
        raise NotFound("There is no study in this database, so nothing was checked.")
    lines = [f"{verdict.slug}: {verdict.sentence}" for verdict in verdicts]
    lines += [comparison.sentence for comparison in comparisons]
    holds = all(verdict.holds for verdict in verdicts) and all(comparison.holds for comparison in comparisons)
    values = {
        "studies": [
            {"study": verdict.slug, "holds": verdict.holds, "sentence": verdict.sentence} for verdict in verdicts
        ],
        "against": [{"holds": comparison.holds, "sentence": comparison.sentence} for comparison in comparisons],
    }
    return _verified(lines, values, holds)


def _verified(lines: list[str], values: Mapping[str, object], holds: bool) -> Reply:
    """A verdict with the database that it is about, which the environment names."""
    name = repr(make_url(settings.database_url()))
    return Reply([*lines, f"Checked: {name}."], {"holds": holds, **values, "database": name}, 0 if holds else 1)
