"""A lead's tokens for scripts: created and shown once, listed with their last use, revoked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pandas as pd
import streamlit as st

from components.shell import state
from components.shell.choices import ASKED, choose, choose_for_act
from components.shell.words import moment
from triptych import clock
from triptych.people import tokens
from triptych.people.tokens import MAX_NAME_CHARACTERS, Scope
from triptych.stats.numbers import counted
from triptych.storage.models import Study, Token
from triptych.study.persons import Certainty, Who

NEW_TOKEN, FORM = "token made", "new-token"
WHAT = (
    "Scripts and notebooks use a token to read and run your studies. It gives programs access to your account: protect "
    "it like a passcode, and keep it out of repositories."
)
CANNOT = (
    "No token can erase someone, restore a backup, remove a lead, close a study or create a token. Changing your "
    "passcode revokes all your tokens."
)
# equally long, so that the box keeps its height and nothing else comes under a second click
WILL_BE_BELOW, IS_BELOW = "Your token appears once, below this box.", "Your new token is shown below this box."
ONCE = "Copy it now: it is not stored and cannot be shown again after you reload this page."
ALL = "All my studies"
WRITE_HELP = "Creates, launches and pauses studies, invites people, adds judges' scores, makes reports."
UNBLIND_HELP = "Permanently shows the names of the systems of one study to all its leads."
REVOKED = "The token is revoked."
DEFAULT_LIFE = timedelta(days=30)


def made_token() -> None:
    """Show a token created in this tab until the lead dismisses it."""
    secret = state.recall(NEW_TOKEN)
    if not secret:
        return
    with st.container(border=True, key="new-token-shown"):
        st.subheader("Your new token", anchor=False)
        st.caption(ONCE)
        # no download button: Streamlit would serve the token to anyone with the address of the file
        st.code(secret, language=None, wrap_lines=True)
        if state.button("Dismiss this token", "dismiss-token"):
            state.forget(NEW_TOKEN)
            st.rerun()


def token_list(made: Sequence[tuple[Token, str | None]], who: Who) -> None:
    """List the tokens with scope, expiry and last use, and a button to revoke each."""
    if not made:
        st.text("You have no token.")
        return
    rows = [
        {
            "Name": token.name,
            "May": ", ".join(tokens.scopes_of(token)),
            "Studies": title or ALL,
            "Last used": moment(token.used_at) if token.used_at else "never",
            "Valid until": "expired" if token.expires_at <= clock.now() else moment(token.expires_at),
            "Made": moment(token.created_at),
        }
        for token, title in made
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="tokens")
    with st.popover("Revoke a token"):
        st.text("Scripts that use it will be refused from now on.")
        names = {token.id: f"{token.name}, made {moment(token.created_at)}" for token, _ in made}
        revoked = choose_for_act("Token", names, "revoked")
        if revoked is not None and state.button("Revoke it", f"revoke-token-{revoked}", type="primary"):
            state.run_command(tokens.revoke, who, revoked, done=REVOKED)
            st.rerun()


def new_token(studies: Sequence[Study], who: Who) -> None:
    """The form for a token. One that may unblind applies to one study and requires the passcode."""
    key = state.numbered(FORM)
    with st.popover("New token"):
        st.text(IS_BELOW if state.recall(NEW_TOKEN) else WILL_BE_BELOW)  # the box stays open over the token
        name = st.text_input(
            "What it is for", max_chars=MAX_NAME_CHARACTERS, placeholder="Nightly judge", key=f"{key}-name"
        )
        writes = st.checkbox("May write", help=WRITE_HELP, key=f"{key}-write")
        unblinds = st.checkbox("May unblind", help=UNBLIND_HELP, key=f"{key}-unblind")
        by_slug = {study.slug: study for study in studies}
        names = {slug: study.title for slug, study in by_slug.items()}
        slug = choose(
            "Study" if unblinds else "Studies", names if unblinds else {"": ALL, **names}, f"{key}-study-{unblinds}"
        )
        lives = {life: f"{counted(life.days, 'day')}" for life in tokens.LIVES}
        life = choose("Valid for", lives, f"{key}-life", DEFAULT_LIFE)
        is_fresh = not unblinds or state.passcode_is_fresh(who)
        passcode = "" if is_fresh else st.text_input(ASKED, type="password", key=f"{key}-passcode")
        if state.button("Make the token", f"{key}-make-{slug}", type="primary"):
            scopes = {Scope.read, *([Scope.write] if writes else []), *([Scope.unblind] if unblinds else [])}
            _make(who, name, life, scopes, by_slug.get(slug or ""), passcode)


def _make(who: Who, name: str, life: timedelta, scopes: set[Scope], study: Study | None, passcode: str) -> None:
    certainty: Certainty | None = None
    if Scope.unblind in scopes:
        certainty = state.certainty(who, passcode)
        if certainty is None:
            state.show_messages()
            return
    secret = state.run_command(tokens.make, who, name, life, scopes, study, certainty)
    if secret is None:
        state.show_messages()
        return
    state.keep(NEW_TOKEN, secret)
    state.renew(FORM)
    st.rerun()
