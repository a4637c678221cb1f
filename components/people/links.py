"""New personal links. They are shown until the lead has copied them, since they are not stored."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.shell import addresses, state
from components.shell.choices import choose
from triptych.formats.long_csv import write_csv
from triptych.people.invitations import Invited
from triptych.people.letters import letter
from triptych.stats.numbers import counted
from triptych.storage.models import Study

NEW_LINKS, SHOWN = "links made", "new-links"
ONCE_HINT = (
    "Copy or send them now: they are not stored and cannot be shown again after you reload this page. Each is valid "
    "for 90 days, a viewer's for as long as you chose."
)
HEADER = ("name", "email", "role", "group", "pseudonym", "link", "subject", "text")


def form_name(slug: str) -> str:
    """The common name of a study's invitation forms, for `numbered`."""
    return f"invite-{slug}"


def show_links(slug: str, *invited: Invited | None) -> None:
    """Run the page again with new links before the others, if there are any: scrolls to them, and empties the forms.

    Call it directly after the command (see `state.keep`).
    """
    new = [(slug, person) for person in invited if person]
    if new:
        state.keep(NEW_LINKS, [*new, *state.recall(NEW_LINKS, [])])
        state.renew(form_name(slug))
        state.show_next(SHOWN)
        st.rerun()


def links(study: Study) -> None:
    """All links created in this tab and not dismissed: mail text and address of one, a file of all."""
    shown = [invited for slug, invited in state.recall(NEW_LINKS, []) if slug == study.slug]
    if not shown:
        return
    with st.container(border=True, key=SHOWN):
        st.header(counted(len(shown), "new personal link"), anchor=False)
        st.caption(ONCE_HINT)
        _link_and_mail(study, shown)
        if len(shown) > 1:
            _all(study, shown)
        if state.button("Dismiss these links", f"dismiss-links-{study.slug}"):
            others = [(slug, one) for slug, one in state.recall(NEW_LINKS, []) if slug != study.slug]
            state.keep(NEW_LINKS, others)
            st.rerun()


def _link_and_mail(study: Study, shown: Sequence[Invited]) -> None:
    names = {at: _title(invited) for at, invited in enumerate(shown)}
    at = choose("Link of", names, f"link-of-{len(shown)}") if len(shown) > 1 else 0
    if len(shown) == 1:
        st.text(f"Personal link of {names[0]}")
    address = addresses.personal_address(shown[at].secret)
    mail = letter(study, shown[at], address)
    st.code(address, language=None, wrap_lines=True)
    with st.expander("E-mail text to copy"):
        st.code(f"{mail.subject}\n\n{mail.text}", language=None, wrap_lines=True)
    if mail.to:
        st.link_button("Write e-mail", mail.mailto, icon=":material/mail:", help="Opens a draft in your mail program.")


def _title(invited: Invited) -> str:
    return (
        f"{invited.pseudonym} · {invited.name or invited.email}" if invited.name or invited.email else invited.pseudonym
    )


def _all(study: Study, shown: Sequence[Invited]) -> None:
    """A table on screen, and a CSV file for a mail merge."""
    rows = []
    for invited in shown:
        address = addresses.personal_address(invited.secret)
        mail = letter(study, invited, address)
        facts = (invited.name, invited.email or "", invited.role, invited.group, invited.pseudonym, address)
        rows.append((*facts, mail.subject, mail.text))
    columns = ["Name", "E-mail", "Role", "Group", "Pseudonym", "Link"]
    st.dataframe(pd.DataFrame([row[: len(columns)] for row in rows], columns=columns), hide_index=True, key="links")
    # no download button: Streamlit would serve these secrets to anyone with the address of the file
    with st.expander("CSV for a mail merge"):
        st.code("".join(write_csv(rows, HEADER)), language=None, height=160)
