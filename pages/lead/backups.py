"""Backups of the whole installation: scheduled or on request, and restoring one."""

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
chosen = backups.choose_schedule(schedule.schedule)
if chosen != schedule.schedule:
    state.run_command(backup_schedule.set_schedule, chosen, done="The schedule is saved.")
    st.rerun()
st.header("Backups made", anchor=False)
backups.backup_table(stored, study.slug)
with state.reading() as session:
    allowed, heads = backup.may_restore(session, who), backup.heads_of(session)
restoring = backups.choose_restore(stored, allowed, heads, who)
if restoring:
    run(lambda: backups.restored(backup.restore_as(state.engine(), *restoring)))
