"""`triptych report`: reports as files."""

from __future__ import annotations

from pathlib import Path

from triptych.cli import files
from triptych.cli.opening import to_read
from triptych.cli.output import Reply, for_people, note
from triptych.reports.build import build_report
from triptych.stats.numbers import counted
from triptych.storage import database, outputs
from triptych.study import lifecycle


def make(study: str, folder: str) -> Reply:
    """Write the current report of a study to a folder, or as a zip to standard output."""
    with database.reading(to_read()) as session:
        database.see_one_state(session)
        led = lifecycle.by_slug(session, study)
        if folder not in files.STANDARD_STREAM:
            outputs.refuse_used_folder(Path(folder))
        report = build_report(session, led, tell=lambda share, doing: note(f"{share:4.0%}  {doing} …"))
    with for_people():
        if folder in files.STANDARD_STREAM:
            files.write(folder, [report.zip])
        else:
            outputs.write_folder(Path(folder), report.files)
    return files.reply(
        folder,
        f"{counted(len(report.files), 'file')}. Snapshot {report.sha256}.",
        f"Last event {report.event_number}, hash {report.event_hash}.",
        study=study,
        files=len(report.files),
        snapshot=report.sha256,
        event=report.event_number,
        hash=report.event_hash,
    )
