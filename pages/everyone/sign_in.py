"""Signing in: by name, with a return code, or as a lead."""

from __future__ import annotations

import streamlit as st

from components.shell import choices, state
from components.shell.entrance import column, continue_as
from components.shell.words import DEMO_NOTE
from triptych.errors import NotAllowed, NotFound, StudyNotOpen
from triptych.languages.language import _
from triptych.people import accounts, identities, joining, names, signing_in
from triptych.storage.models import Study, StudyState
from triptych.study import lifecycle


def choose(studies: list[Study], key: str) -> str | None:
    """The slug of the chosen study, if one is chosen; without a box if there is only one."""
    titles = {
        study.slug: _("{study} (closed)", study=study.title) if study.state == StudyState.closed else study.title
        for study in studies
    }
    if len(titles) == 1:
        st.text(*titles.values())
        return next(iter(titles))
    return choices.choose_for_act(_("Study"), titles, key, placeholder=_("Choose a study"))


def sent(label: str, key: str, studies: list[Study], slug: str | None) -> str | None:
    """A form's button, whose key names the only study; once it is clicked, returns the chosen study's slug."""
    clicked = state.form_button(label, f"{key}-{slug if len(studies) == 1 else ''}", type="primary", width="stretch")
    if clicked and slug is None:
        state.say(_("Choose a study first. If yours is not in the list, nobody can enter it at the moment."))
    return slug if clicked else None


def named(studies: list[Study]) -> list[Study]:
    """Only the study named by the link; all studies without one."""
    return [study for study in studies if linked in (None, study.slug)]


def why_closed() -> str:
    """Why the linked study accepts nobody new; empty if it does, or without a link."""
    if linked is None:
        return ""
    try:
        with state.reading() as session:
            joining.refuse_unless_for_all(lifecycle.by_slug(session, linked))
    except (NotFound, StudyNotOpen, NotAllowed) as refusal:
        return str(refusal)
    return ""


def take_part(studies: list[Study], why_not: str) -> None:
    if why_not:
        state.say(why_not, "info")
        return
    if not studies:
        st.write(_("No study is open to everybody at the moment. If you were invited, open your personal link."))
        return
    with st.form("take_part", border=False):
        slug = choose(studies, "join_study")
        if all(study.demo for study in studies):
            st.caption(_(DEMO_NOTE))
        name = st.text_input(_("Your name"), max_chars=names.LONGEST_NAME, autocomplete="name")
        st.caption(_("Only the lead of the study sees your name. In results you appear under a pseudonym."))
        if chosen := sent(_("Start"), "take_part", studies, slug):
            state.sign_in_by(lambda: signing_in.newcomer(state.engine(), chosen, name), chosen)


def come_back(studies: list[Study]) -> None:
    if not studies:
        st.write(_("There is no study to return to with a return code. If you were invited, open your personal link."))
        return
    with st.form("come_back", border=False):
        slug = choose(studies, "return_study")
        name = st.text_input(_("Your name in this study"), max_chars=names.LONGEST_NAME, autocomplete="name")
        code = st.text_input(_("Return code"), placeholder="XXXX-XXXX", max_chars=20, autocomplete="off")
        st.caption(_("Lost it? The lead of your study can send you a personal link."))
        if chosen := sent(_("Continue"), "come_back", studies, slug):
            study = next(study for study in studies if study.slug == chosen)
            state.sign_in_by(lambda: signing_in.returning(state.engine(), study, name, code, state.browser()), chosen)


def lead(has_lead: bool) -> None:
    if not has_lead:
        st.write(
            _("There is no lead account yet. Open the set-up link that the terminal printed when the app started.")
        )
        return
    with st.form("lead", border=False):
        name = st.text_input(_("Name"), max_chars=names.LONGEST_NAME, autocomplete="username")
        passcode = st.text_input(_("Passcode"), type="password", autocomplete="current-password")
        if state.form_button(_("Sign in"), "lead", type="primary", width="stretch"):
            state.sign_in_by(lambda: signing_in.lead(state.engine(), name, passcode, state.browser()))


linked = st.query_params.get("study") or None
why_not, identity = why_closed(), state.identity()
with state.reading() as session:
    open_now = named(lifecycle.open_to_all(session))
    launched = named(joining.studies_to_return_to(session))
    has_lead = accounts.has_lead(session)
    is_known = bool(identity) and identities.identified(session, identity) is not None

with column("Triptych", _("Read, compare and rate responses side by side.")):
    if state.was_signed_in():
        state.say(_("You were signed out, here or in another tab. Everything that was saved is safe."), "info")
    if identity and continue_as(identity, is_known):
        state.sign_in_by(lambda: signing_in.identified(state.engine(), identity))
    default_tab = None if open_now or why_not else _("Lead")
    first, second, third = st.tabs([_("Take part"), _("I have a return code"), _("Lead")], default=default_tab)
    with first:
        take_part(open_now, why_not)
    with second:
        come_back(launched)
    with third:
        lead(has_lead)
    state.show_messages()
    choices.choose_language(None)
