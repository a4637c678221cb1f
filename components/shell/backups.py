"""Backups of the whole database and the capsule of one study, for a lead."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.shell.choices import choose
from components.shell.state import form_button
from components.shell.words import NONE, moment
from triptych.operations.backup import Backup, Restored
from triptych.storage.models import Study

CONTENT_NOTE = (
    "A backup holds the whole database at the moment you press the button: every study, including names. Everybody can "
    "go on working meanwhile, and everything saved before is in it."
)
RESTORE_NOTE = (
    "The backup replaces the database. What was saved since is no longer in it; a backup of the present state is made "
    "first. Annotators at work may have to reload, and you may have to sign in again. Every study's log records the "
    "restore."
)
COMMAND_NOTE = (
    "You can restore a backup on this page only with SQLite, and if you lead every study. Otherwise the administrator "
    "stops the app and runs:"
)
CAPSULE_NOTE = (
    "One file with all of this study: its own database, rubric, codebook and hashes. It opens on another machine with "
    "python -m triptych open-capsule. It contains people by pseudonym only, and systems by name."
)


def make_button() -> bool:
    """Whether the lead wants a backup now."""
    st.text(CONTENT_NOTE)
    return st.button("Back up now", icon=":material/backup:")


def backup_table(backups: Sequence[Backup], slug: str) -> None:
    """The backups in the folder, and this study's last event in each."""
    if not backups:
        st.text("There is no backup yet.")
        return
    rows = []
    for made in backups:
        number = next((head.number for head in made.heads if head.slug == slug), None)
        rows.append(
            {
                "Made": moment(made.at),
                "File": made.name,
                "Size": f"{made.size / 2**20:.1f} MB",
                "Last event of this study": NONE if number is None else str(number),
            }
        )
    st.dataframe(rows, hide_index=True, key="backups")
    st.text("The backups are in this folder of the computer that runs Triptych. Copy them to another computer.")
    st.code(str(backups[0].path.parent), language=None, wrap_lines=True)


def choose_restore(backups: Sequence[Backup], allowed: bool) -> str | None:
    """The backup to restore, once the lead has ticked the confirmation."""
    with st.expander("Restore a backup", key="go-back"):
        if not allowed:
            st.text(COMMAND_NOTE)
            st.code("python -m triptych restore FILE", language=None)
            return None
        st.text(RESTORE_NOTE)
        names = {made.name: f"{moment(made.at)} ({made.name})" for made in backups if made.path.suffix == ".db"}
        if not names:
            st.text("There is no backup yet.")
            return None
        with st.form("restore", border=False):
            chosen = choose("Backup", names, "backup")
            sure = st.checkbox("Replace the database of all studies with this backup")
            sent = form_button("Restore this backup", "restore")
    return chosen if sent and sure else None


def restored(result: Restored) -> str:
    """The message after a restore."""
    previous = f" The state before is in {result.before.name}." if result.before else ""
    people = ", ".join(result.again)
    again = f" Withdrawn or erased since, and in it again: {people}. Withdraw or erase them again." if people else ""
    return f"The database was restored from {result.name}.{previous}{again}"


def capsule(study: Study) -> None:
    """The link to the study's capsule; only after unblinding, for it names the systems."""
    st.text(CAPSULE_NOTE)
    if study.unblinded_at is None:
        st.text("This study is blind. Unblind it on its results page first.")
        return
    st.link_button("Download the capsule", f"capsule/{study.slug}.zip", icon=":material/download:")
