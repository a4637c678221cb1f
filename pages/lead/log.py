"""The event log of one study, its integrity check and the capsule."""

import streamlit as st

from components.shell import backups, log_table, state
from components.shell.choices import in_tabs
from components.shell.study_choice import chosen_study
from triptych.operations import verify
from triptych.stats.numbers import counted
from triptych.storage.database import see_one_state
from triptych.study import lifecycle, log

CHECK_HINT = "Replays the log and compares it with every stored row."


def event_section() -> None:
    """The log, filtered and paged."""
    kinds, people = state.read(log.occurring, study)
    filters = log_table.choose_filters(kinds, people, slug)
    _, count = state.read(log.listed, study, filters, count=0)
    if not count:
        st.info("No event matches these filters. Clear one of them to see more.")
        return
    start = log_table.choose_page(count, slug)
    page_entries, _ = state.read(log.listed, study, filters, start, log_table.PAGE_ROWS)
    st.text(f"{counted(count, 'event')}{' with these filters' if filters != log.EventFilters() else ''}, newest first.")
    picked = log_table.log_table(page_entries, slug)
    if picked:
        log_table.changes(picked)


def integrity() -> None:
    """The last event of the log, and its check, which reads everything and therefore runs on request."""
    log_table.head(study.event_number, study.event_hash)
    if state.button("Check everything now", f"check-{slug}", help=CHECK_HINT):
        with state.reading() as session:
            see_one_state(session)
            log_table.verdict(verify.verify(session, lifecycle.led_by(session, who, slug)))


who = state.require("lead")
with chosen_study(who) as (session, study):
    slug = study.slug
sections = {"Events": event_section, "Integrity check": integrity, "Capsule": lambda: backups.capsule(study)}
in_tabs(sections, f"log-section-{slug}")
