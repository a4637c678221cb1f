"""Backups of the whole installation: scheduled or on request, and restoring one."""

from dataclasses import replace

import streamlit as st

from components.shell import backups, state
from components.shell.study_choice import chosen_study
from triptych.errors import TriptychError
from triptych.operations import backup, backup_schedule


def run(command) -> None:
    """Run a command on the whole database, outside any session's transaction."""
    try:
        with st.spinner("This can take a moment."):
            state.say(command(), "success")
    except TriptychError as refusal:
        state.say(str(refusal))


def store_schedule(part: str, value: int) -> None:
    """Change one part of the schedule, and keep what another lead stored in the other one."""

    def command(session) -> None:
        state.led_study(session, who, study.slug)
        stored = backup_schedule.state_of(session).schedule
        backup_schedule.set_schedule(session, replace(stored, **{part: value}))

    state.run_command(command, done="The schedule is saved.")


who = state.require("lead")
with chosen_study(who) as (session, study):
    schedule = backup_schedule.state_of(session)
if backups.make_button():
    run(lambda: f"{backup.make(state.engine()).name} was created.")
try:
    stored = backup.listed()
except TriptychError as refusal:
    st.error(str(refusal))
    st.stop()
backups.last_backup(stored, schedule)
backups.choose_schedule(schedule.schedule, store_schedule)
st.header("Backups made", anchor=False)
backups.backup_table(stored, study.slug)
with state.reading() as session:
    allowed, heads = backup.may_restore(session, who), backup.heads_of(session)
restoring = backups.choose_restore(stored, allowed, heads, who)
if restoring:
    run(lambda: backups.restored(backup.restore_as(state.engine(), *restoring)))
