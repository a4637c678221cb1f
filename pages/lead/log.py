"""The event log of one study, its integrity check, backups and the capsule."""

import streamlit as st

from components.shell import backups, log_table, state
from components.shell.study_choice import choose_study
from triptych.errors import TriptychError
from triptych.operations import backup, verify
from triptych.stats.numbers import counted
from triptych.storage import events
from triptych.study import lifecycle


def entries() -> None:
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
        shown, _ = events.listed(session, study, filters, start, log_table.PAGE)
    st.text(f"{counted(count, 'event')}{' with these filters' if filters != events.Filters() else ''}, newest first.")
    picked = log_table.log_table(shown, slug)
    if picked:
        log_table.changes(picked)


def whole() -> None:
    """Head of the log; the check reads everything, so it runs on request only."""
    log_table.head(study.event_number, study.event_hash)
    if st.button("Check everything now", help="Replays the log and compares it with every stored row."):
        with state.reading() as session:
            log_table.verdict(verify.verify(session, lifecycle.led_by(session, who, slug)))


def safe() -> None:
    """Backups, restoring one, and the study's capsule."""
    if backups.make_button():
        attempt(lambda: f"{backup.make(state.engine()).name} was created.")
    found = backup.listed()
    backups.backup_table(found, slug)
    with state.reading() as session:
        allowed = backup.may_restore(session, who)
    chosen = backups.choose_restore(found, allowed)
    if chosen:
        attempt(lambda: backups.restored(backup.restore_as(state.engine(), chosen, who)))
    st.subheader("Study capsule", anchor=False)
    backups.capsule(study)


def attempt(command) -> None:
    """Run a command on the whole database, outside of a session's transaction."""
    try:
        with st.spinner("This may take a moment."):
            state.say(command(), "success")
    except TriptychError as refusal:
        state.say(str(refusal))


SECTIONS = {"Events": entries, "Integrity check": whole, "Backup and capsule": safe}

who = state.require("lead")
st.title("Log", anchor=False)
with state.reading() as session:
    mine = lifecycle.for_lead(session, who)
slug = choose_study(mine)
with state.reading() as session:
    study = lifecycle.led_by(session, who, slug)
state.show_messages()
tabs = st.tabs(list(SECTIONS), key=f"log-section-{slug}", on_change="rerun")
for tab, draw in zip(tabs, SECTIONS.values(), strict=True):
    if tab.open:
        with tab:
            draw()
