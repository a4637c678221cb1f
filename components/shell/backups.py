"""Backups of the whole database and the capsule of one study, for a lead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from components.shell import state
from components.shell.choices import certain, choose_for_act
from components.shell.words import NONE, moment
from triptych import clock, settings
from triptych.operations.backup import Backup, Restored, folder
from triptych.operations.backup_schedule import MAX_KEPT, Schedule, ScheduleState
from triptych.privacy.backup_facts import Head
from triptych.stats.numbers import counted
from triptych.storage.models import Study
from triptych.study.persons import Certainty, Who

CONTENT_NOTE = (
    "A backup contains the whole database at that moment: every study, including names. Everyone can continue working, "
    "and everything saved before is included."
)
EVERY = {0: "Never", 24: "Every day", 168: "Every week"}  # hours
SCHEDULE_NOTE = (
    "For the whole installation, while the app runs; a missed backup is made when the app starts. Beyond the number to "
    "keep, the oldest scheduled backup is deleted; manual backups are never deleted."
)
RESTORE_NOTE = (
    "The backup replaces the database. Anything saved since is lost from it; a backup of the current state is made "
    "first. Everyone has to sign in again, scripts need new tokens, and personal links revoked since remain revoked. "
    "Studies unblinded since remain unblinded. Every study's log records the restore."
)
COMMAND_NOTE = (
    "You can restore a backup on this page only with SQLite, and if you lead every study. Otherwise the administrator "
    "stops the app and runs:"
)
CAPSULE_NOTE = (
    "One file with the whole study: its own database, rubric, codebook and hashes. Use “Import a whole study” on the "
    "page New study to add it to another installation. It contains people's pseudonyms only, and system names."
)


def make_button() -> bool:
    """A button; whether the lead requests a backup now."""
    st.text(CONTENT_NOTE)
    return state.button("Back up now", "back-up", icon=":material/backup:")


def last_backup(backups: Sequence[Backup], schedule: ScheduleState) -> None:
    """Time and size of the last backup, when the next is due, and why one failed."""
    if schedule.failure:
        st.warning(f"The last scheduled backup failed. {schedule.failure}")
    last = f"{moment(backups[0].at)}, {_size(backups[0])}" if backups else "none yet"
    due = schedule.due
    following = "" if due is None else f" Next: {moment(due)}." if due > clock.now() else " Next: within minutes."
    st.text(f"Last backup: {last}.{following}")


def choose_schedule(now: Schedule, store: Callable[[str, int], None]) -> None:
    """Choose how often the app makes backups automatically, and how many it keeps.

    store: called with the part of the schedule that the lead changed, and its value.
    """
    st.header("By itself", anchor=False)

    def change(part: str, key: str) -> None:
        store(part, int(state.recall(key)))

    with st.container(horizontal=True):
        key, hours = "backup-every", now.every_hours
        names = EVERY if hours in EVERY else {hours: f"Every {hours} hours", **EVERY}
        options: Any = {"options": list(names), "format_func": names.__getitem__, "key": key, "width": 240}
        if not state.change_shown(key, hours):
            options["index"] = list(names).index(hours)
        every = st.selectbox("Make a backup", on_change=change, args=("every_hours", key), **options)
        key = "backups-kept"
        first = {} if state.change_shown(key, now.kept) else {"value": now.kept}
        bounds: Any = {"min_value": 1, "max_value": MAX_KEPT, "key": key, "width": 240, **first}
        kept = st.number_input("Scheduled backups kept", on_change=change, args=("kept", key), **bounds)
    if (every, kept) != (now.every_hours, now.kept):
        st.rerun()  # shows what is stored: a tab whose session ended sent the fields as they were
    st.caption(SCHEDULE_NOTE)


def backup_table(backups: Sequence[Backup], slug: str) -> None:
    """The backups in the folder, with this study's last event in each."""
    st.text("They are in this folder of the computer that runs Triptych. Copy them to another computer.")
    st.code(str(folder()), language=None, wrap_lines=True)
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
                "Size": _size(made),
                "Last event of this study": NONE if number is None else str(number),
            }
        )
    st.dataframe(rows, hide_index=True, key="backups")


def _size(made: Backup) -> str:
    return f"{made.size / 2**20:.1f} MB"


def choose_restore(
    backups: Sequence[Backup], allowed: bool, heads: Sequence[Head], who: Who
) -> tuple[str, Certainty] | None:
    """The backup to restore, once the lead has confirmed. `heads`: the current last event of every study."""
    with st.expander("Restore a backup", key="go-back"):
        if not allowed:
            st.text(COMMAND_NOTE)
            st.code(f"{settings.program()} data restore FILE", language=None)
            return None
        by_name = {made.name: made for made in backups if made.path.suffix == ".db"}
        if not by_name:
            st.text("There is no backup yet.")
            return None
        names = {name: f"{moment(made.at)} ({name})" for name, made in by_name.items()}
        chosen = choose_for_act("Backup", names, "backup")
        if chosen is None:
            return None
        losses = f"{_losses(by_name[chosen], heads)} {RESTORE_NOTE}"
        certainty = certain(who, "Restore this backup", losses, f"restore-{chosen}")
    return (chosen, certainty) if certainty else None


def _losses(made: Backup, heads: Sequence[Head]) -> str:
    """What a restore deletes: later events, and studies created later."""
    then = {head.slug: head.number for head in made.heads}
    since = [head.number - then.get(head.slug, 0) for head in heads]
    new = sum(head.slug not in then for head in heads)
    changed = counted(sum(number > 0 for number in since), "study", "studies")
    events = counted(sum(max(number, 0) for number in since), "event")
    return f"This loses {events} since then in {changed}, {new} of them created since."


def restored(result: Restored) -> str:
    """The message after a restore."""
    previous = f" The previous state is in {result.before.name}." if result.before else ""
    people = ", ".join(result.again)
    again = f" Back although they withdrew, were erased or removed since: {people}. Do that again." if people else ""
    differing = f" Some rows differ from their log. {' '.join(result.differing)}" if result.differing else ""
    return f"The database was restored from {result.name}.{previous}{again}{differing}"


def capsule(study: Study) -> None:
    """The link to the study's capsule; only after unblinding, since a capsule names the systems."""
    st.text(CAPSULE_NOTE)
    if study.unblinded_at is None:
        st.text("This study is blind. Unblind it on its results page first.")
        return
    st.link_button("Download the capsule", f"capsule/{study.slug}.zip", icon=":material/download:")
