"""What a lead does in the browser, from the command line, through the same functions."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sqlmodel import Session

from triptych.errors import ImportRefused, NotAllowed, NotFound
from triptych.formats import ItemFile, ReadOptions, join_files, read_items
from triptych.formats.decode import recoded
from triptych.people import accounts
from triptych.people.invitations import Invited, invite_all, invite_one, read_list
from triptych.rubric.files import (
    read_rubric,
    shipped_rubrics,
)
from triptych.storage.models import Role, Study, StudyState
from triptych.study import launch, lifecycle
from triptych.study.persons import Who

STANDARD_OUTPUT = ("-", "/dev/stdout")


def acting_lead(session: Session, name: str) -> Who:
    """The lead of this name, as if signed in. Raises NotFound if there is none or the account is disabled."""
    lead = accounts.lead_called(session, name)
    if lead is None:
        raise NotFound(f"There is no lead called {name!r} who can sign in. Make one: python -m triptych add-lead NAME")
    return Who(lead.id, lead.pseudonym, lead.role, lead.name, 0)


def rubric_text(name: str) -> str:
    """The YAML of a rubric file, or of a shipped rubric by its key. Raises InvalidRubric."""
    return read_rubric(shipped_rubrics().get(name, Path(name)))


def read(path: str, encoding: str | None = None) -> bytes:
    """A file's bytes; a text that is not UTF-8 is read in the encoding that was confirmed. Raises ImportRefused."""
    try:
        data = Path(path).read_bytes()
        return recoded(data, encoding) if encoding else data
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror}.") from error


def items_from(files: Sequence[str], encoding: str | None = None, mapping: str | None = None) -> ItemFile:
    """Items of one file, or of several that are given as SYSTEM=FILE. Raises ImportRefused.

    mapping: a file that says what the columns are, for files whose names do not.
    """
    roles = _roles_in(mapping) if mapping else {}
    if len(files) == 1 and not _parted(files[0])[0]:
        return read_items(read(files[0], encoding), Path(files[0]).name, ReadOptions(roles=tuple(roles.items())))
    parted = [_parted(file) for file in files]
    if not all(system for system, _ in parted):
        raise ImportRefused("Of several files each holds the texts of one system: give them as SYSTEM=FILE.")
    return join_files([(Path(path).name, read(path, encoding), system) for system, path in parted])


def _roles_in(path: str) -> Mapping[str, str]:
    from triptych.formats.ratings.roles import read_mapping  # numpy takes half a second, which few commands need

    return read_mapping(read(path).decode("utf-8", "replace")).roles


def _parted(file: str) -> tuple[str, str]:
    """(system, path); a path that is there may hold a sign of equality itself."""
    system, _, path = file.partition("=")
    return (system, path) if path and not Path(file).exists() else ("", file)


def set_state(session: Session, lead: str, slug: str, state: StudyState) -> Study:
    """Launches, opens, pauses or closes a study of this lead. Raises NotFound, Conflict."""
    who = acting_lead(session, lead)
    study = lifecycle.led_by(session, who, slug)
    if study.state == StudyState.draft and state == StudyState.open:
        launch.launch(session, study, who.pseudonym)
    else:
        lifecycle.set_state(session, study, state, who.pseudonym)
    return study


def invite(
    session: Session, lead: str, slug: str, names: Sequence[str], guests: str | None, encoding: str | None = None
) -> list[Invited]:
    """Invites people by name, or everybody on a CSV list. Raises NotFound, NotAllowed, ImportRefused."""
    who = acting_lead(session, lead)
    study = lifecycle.led_by(session, who, slug)
    if bool(names) == bool(guests):
        raise NotAllowed("Name the people to invite, or a CSV file of them with --list.")
    if not guests:
        return [invite_one(session, study, name, "", Role.annotator, who.pseudonym) for name in names]
    guest_list = read_list(session, study, read(guests, encoding))
    if not guest_list.ok:
        raise ImportRefused("\n".join(map(str, guest_list.problems)))
    return invite_all(session, study, guest_list.guests, who.pseudonym)


def exported(session: Session, slug: str, name: str) -> Iterator[bytes]:
    """A study in a format, or one of the tables "ratings" and "highlights" as CSV. Raises NotFound."""
    # numpy and the writers take a second to import, which no other command needs
    from triptych.exchange import exports
    from triptych.formats.long_csv import write_csv
    from triptych.formats.ratings_csv import HIGHLIGHTS_HEADER, RATINGS_HEADER
    from triptych.formats.writers.model import ExportOptions
    from triptych.formats.writers.writing import in_blocks
    from triptych.results.frame.rows import export_highlights, export_ratings

    exports.see_one_state(session)
    study = lifecycle.by_slug(session, slug)
    if name == "ratings":
        return in_blocks(write_csv(export_ratings(session, study), RATINGS_HEADER))
    if name == "highlights":
        return in_blocks(write_csv(export_highlights(session, study), HIGHLIGHTS_HEADER))
    return exports.export_zip(session, study, name, ExportOptions(0, None))


def write(path: str, blocks: Iterable[bytes]) -> None:
    """Writes a file that is complete or absent; links are followed, "-" is standard output. Raises OSError.

    A device or a pipe is written to as it is.
    """
    if path in STANDARD_OUTPUT:
        sys.stdout.buffer.writelines(blocks)
        sys.stdout.buffer.flush()
        return
    if Path(path).exists() and not Path(path).is_file():
        with Path(path).open("wb") as stream:
            stream.writelines(blocks)
        return
    target = Path(path).resolve()
    # in a folder that others may write to, nobody has laid a link or a file of their own under this name before
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.writelines(blocks)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
