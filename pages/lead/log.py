"""The event log of one study, its integrity check, backups and the capsule."""

import streamlit as st

from components.shell import backups, log_table, state
from components.shell.study_choice import chosen_study
from triptych.errors import TriptychError
from triptych.operations import backup, verify
from triptych.stats.numbers import counted
from triptych.storage import events
from triptych.study import lifecycle


def event_section() -> None:
    """The log, filtered and paged."""
    with state.reading() as session:
        kinds, people = events.occurring(session, study)
    filters = log_table.choose_filters(kinds, people, slug)
    with state.reading() as session:
        _, count = events.listed(session, study, filters, count=0)
    if not count:
        st.info("No event matches these filters.")
        return
    start = log_table.choose_page(count, slug)
    with state.reading() as session:
        page_entries, _ = events.listed(session, study, filters, start, log_table.PAGE_ROWS)
    st.text(
        f"{counted(count, 'event')}{' with these filters' if filters != events.EventFilters() else ''}, newest first."
    )
    picked = log_table.log_table(page_entries, slug)
    if picked:
        log_table.changes(picked)


def integrity() -> None:
    """Head of the log; the check reads everything, so it runs on request only."""
    log_table.head(study.event_number, study.event_hash)
    if st.button("Check everything now", help="Replays the log and compares it with every stored row."):
        with state.reading() as session:
            log_table.verdict(verify.verify(session, lifecycle.led_by(session, who, slug)))


def backup_section() -> None:
    """Backups, restoring one, and the study's capsule."""
    if backups.make_button():
        run(lambda: f"{backup.make(state.engine()).name} was created.")
    stored = backup.listed()
    backups.backup_table(stored, slug)
    with state.reading() as session:
        allowed, heads = backup.may_restore(session, who), backup.heads_of(session)
    chosen = backups.choose_restore(stored, allowed, heads, who)
    if chosen:
        run(lambda: backups.restored(backup.restore_as(state.engine(), chosen, who)))
    st.subheader("Study capsule", anchor=False)
    backups.capsule(study)


def run(command) -> None:
    """Run a command on the whole database, outside of a session's transaction."""
    try:
        with st.spinner("This may take a moment."):
            state.say(command(), "success")
    except TriptychError as refusal:
        state.say(str(refusal))


SECTIONS = {"Events": event_section, "Integrity check": integrity, "Backup and capsule": backup_section}

who = state.require("lead")
with chosen_study(who, "Log") as (session, study):
    slug = study.slug
tabs = st.tabs(list(SECTIONS), key=f"log-section-{slug}", on_change="rerun")
for tab, draw in zip(tabs, SECTIONS.values(), strict=True):
    if tab.open:
        with tab:
            draw()
