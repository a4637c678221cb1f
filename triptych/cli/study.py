"""`triptych study`: studies without the browser, through the functions that the pages use."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlmodel import Session

from triptych import settings
from triptych.cli import files as files_of
from triptych.cli import ratings
from triptych.cli.data import COMMAND_LINE
from triptych.cli.opening import alone, passcode, to_read, written
from triptych.cli.output import Reply, for_people
from triptych.cli.people import acting_lead
from triptych.errors import NotAllowed
from triptych.formats.ratings.roles import Duplicates
from triptych.formats.texts.text_format import proposals
from triptych.operations import capsule as capsules
from triptych.operations.arrival import Arrived
from triptych.people.names import read_name
from triptych.rubric.files import parse_rubric
from triptych.stats.numbers import counted
from triptych.storage import database, host, outputs, schema
from triptych.storage.models import Access, Round, Study, StudyState
from triptych.study import launch, lifecycle, saved_setting
from triptych.study.persons import Who
from triptych.study.settings import Formats

if TYPE_CHECKING:
    from triptych.archive.make import Archive, ArchiveChoice

READ_THEM = "Review them, delete the rows that must not be published, and pass the file to --release."
NOTHING_WRITTEN = "Nothing was written. Add --write to create the study."


def list_studies() -> Reply:
    """List the studies, one line or object each."""
    with database.reading(to_read()) as session:
        lines = lifecycle.lines_of(session, session.scalars(select(Study).order_by(Study.id)).all())
    keys = ("slug", "title", "round", "state", "access", "raters_per_item", "event_number", "event_hash")
    studies = [{key: getattr(line.study, key) for key in keys} | {"item_count": line.items} for line in lines]
    rows = [
        f"{study['slug']}\t{study['round']}\t{study['state']}\t{counted(study['item_count'], 'item')}\t{study['title']}"
        for study in studies
    ]
    return Reply(rows, {"studies": studies})


def create(
    lead: str,
    title: str,
    rubric: str,
    files: Sequence[str],
    mapping: str | None,
    raters: int,
    most: int | None,
    access: str,
    round: str,
    markdown: Sequence[str],
    encoding: str | None,
    write: bool,
) -> Reply:
    """Check files of items; with `write`, create a draft study from them."""
    plan = lifecycle.usual_plan(
        title=title,
        raters_per_item=raters,
        access=Access(access),
        round=Round(round),
        items_per_annotator=most,
        formats=Formats.model_validate(dict.fromkeys(markdown, "markdown")),
    )
    lifecycle.refuse_unusable_plan(plan)
    text = files_of.rubric_text(rubric)
    file = files_of.items_from(files, encoding, mapping)
    asked = parse_rubric(text, rubric)
    lifecycle.refuse_silent(asked, plan.round)
    questions = len(asked.asked(plan.round))
    problems = [str(problem) for problem in file.problems]
    values = {"items": len(file.items), "systems": len(file.systems), "questions": questions, "problems": problems}
    size = f"{counted(len(file.items), 'item')} of {counted(len(file.systems), 'system')}"
    lines = [*problems, f"{size}, {counted(questions, 'question')} each."]
    lines += [
        f"{field}: {proposal.marked} of {counted(proposal.texts, 'text')} look like Markdown (--markdown)."
        for field, proposal in proposals(file.items).items()
        if proposal.format != getattr(plan.formats, field)
    ]
    if not file.ok:
        return Reply(lines, values, 2)
    study = _made(write, lead, lambda session, who: lifecycle.create_from_file(session, plan, text, file, who))
    if study is None:
        return Reply([*lines, NOTHING_WRITTEN], {**values, "study": None})
    launching = f"{settings.program()} {shlex.join(['study', 'set-state', lead, study.slug, 'open'])}"
    consent = "Write its consent text under Setup, or add --no-consent REASON."
    lines += [f"The draft study {study.slug} was created. {consent}", f"Launch it: {launching}"]
    return Reply(lines, {**values, "study": study.slug})


def import_ratings(
    lead: str,
    title: str,
    files: Sequence[str],
    judge: Sequence[str],
    items: str | None,
    mapping: str | None,
    mapping_out: str | None,
    duplicates: Duplicates | None,
    rubric: str | None,
    positive: Sequence[str],
    encoding: str | None,
    write: bool,
) -> Reply:
    """Check finished ratings from elsewhere; with `write`, create a closed study from them."""
    from triptych.exchange import import_ratings as ratings_import  # numpy, which no other command here needs

    plan = lifecycle.StudyPlan(title=title)
    lifecycle.refuse_unusable_plan(plan)
    roles = ratings.mapping_in(mapping, duplicates)
    with for_people():
        read_in = ratings.ratings_with_roles(files, judge, roles, mapping_out, encoding)
    assembled = ratings.assembled_from(plan.title, read_in, items, rubric, positive, roles.duplicates, encoding)
    problems, summary = list(map(str, assembled.problems)), list(assembled.summary())
    values = {"problems": problems, "summary": summary, "study": None}
    if not assembled.ok:
        return Reply([*problems, *summary], values, 2)
    study = _made(write, lead, lambda session, who: ratings_import.import_ratings(session, plan, assembled, who))
    done = f"The study {study.slug} was created." if study else NOTHING_WRITTEN
    return Reply([*problems, *summary, done], {**values, "study": study and study.slug})


def _made(write: bool, lead: str, make: Callable[[Session, Who], Study]) -> Study | None:
    """The study created for the lead; None without `write`."""
    return written(lambda session: make(session, acting_lead(session, lead))) if write else None


def set_state(lead: str, study: str, state: str, no_consent: str | None) -> Reply:
    """Launch, open, pause or close a study of this lead."""
    changed = written(lambda session: _set_state(session, lead, study, StudyState(state), no_consent))
    return Reply([f"{changed.slug} is {state}."], {"study": changed.slug, "state": state})


def _set_state(session: Session, lead: str, slug: str, state: StudyState, no_consent: str | None) -> Study:
    who = acting_lead(session, lead)
    study = lifecycle.led_by(session, who, slug)
    if no_consent:
        path = "consent.not_needed"
        saved_setting.write(session, study, path, no_consent, saved_setting.value_of(study, path), who.pseudonym)
    if study.state == StudyState.draft and state == StudyState.open:
        # in one transaction: the command has the database to itself
        launch.launch(session, study, who.pseudonym, launch.check(session, study))
    else:
        lifecycle.set_state(session, study, state, who.pseudonym)
    return study


def export(study: str, file: str) -> Reply:
    """Write one study to a file."""
    with for_people():
        files_of.write(file, capsules.pieces(to_read(), study))
    return files_of.reply(file, f"The study is in {file}.", study=study)


def archive(
    study: str, folder: str | None, licence: str | None, blind: bool, list_texts: str | None, release: str | None
) -> Reply:
    """Write a finished study as static pages, or list the annotators' texts that could be in them."""
    from triptych.archive import make  # numpy, which no other command here needs

    if list_texts is not None:
        with database.reading(to_read()) as session:
            database.see_one_state(session)
            texts, count = make.texts_to_read(session, lifecycle.by_slug(session, study), blind)
        files_of.write(list_texts, [texts])
        return files_of.reply(list_texts, f"{counted(count, 'text')}. {READ_THEM}", study=study, texts=count)
    if folder is None or licence is None:
        raise NotAllowed(
            "Name a new folder, and the licence of the item texts: --licence CC-BY-4.0; none leaves them out."
        )
    outputs.refuse_used_folder(Path(folder))
    read = None if release is None else files_of.read(release)
    stated = "" if licence.strip().casefold() == "none" else licence.strip()
    choice = make.ArchiveChoice(stated, blind, read)
    with ExitStack() as prepared:
        made, put_in_place = written(lambda session: _archived(session, study, choice, folder, prepared))
        put_in_place()
    lines = [f"{counted(len(made.files), 'file')} in {folder}; open index.html. Archive {made.sha256}."]
    values = {"study": study, "folder": folder, "files": len(made.files), "sha256": made.sha256}
    return Reply([*lines, *filter(None, [made.caution])], {**values, "caution": made.caution})


def _archived(
    session: Session, slug: str, choice: ArchiveChoice, folder: str, prepared: ExitStack
) -> tuple[Archive, Callable[[], None]]:
    """Write the files before the log is stored, so that an unwritable folder leaves no event in it.

    They are put in place afterwards, so that no archive is without its event: erasures list archives from the log.
    """
    from triptych.archive import make

    database.see_one_state(session)
    name = host.logged_name(Path(folder).resolve())
    made = make.archive_study(session, lifecycle.by_slug(session, slug), choice, name, COMMAND_LINE)
    with for_people():
        return made, prepared.enter_context(outputs.prepared_folder(Path(folder), made.files))


def import_study(file: str, lead: str) -> Reply:
    """Add a study from its file to this database."""
    engine = database.open_engine(settings.database_url())
    with alone(engine), files_of.on_disk(file) as path:
        schema.migrate(engine)
        with database.reading(engine) as session:
            who = acting_lead(session, lead)
        arrived = capsules.import_study(path, engine, who)
    return _arrived(arrived, who.name or lead)


def open_capsule(file: str, lead: str) -> Reply:
    """Open a study from its file in an empty database, with a new lead."""
    engine = database.open_engine(settings.database_url())
    secret = passcode("Passcode of the new lead: ")
    with alone(engine):
        arrived = capsules.open_capsule(Path(file), engine, lead, secret)
    return _arrived(arrived, read_name(lead))


def _arrived(arrived: Arrived, lead: str) -> Reply:
    values = {"study": arrived.slug, "events": arrived.events, "hash": arrived.hash, "lead": lead}
    lines = [
        f"The study {arrived.slug} was imported with {counted(arrived.events, 'event')}, and {lead} leads it.",
        *capsules.notes_on(arrived),
    ]
    return Reply(lines, {**values, "former_name": arrived.former_slug, "renamed": dict(arrived.renamed)})
