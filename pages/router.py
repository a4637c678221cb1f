"""The entry script: who is asking, and which pages therefore exist."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from components.shell import live, state
from components.shell.entrance import LOGO
from components.sign_in import account
from triptych.people import accounts
from triptych.storage.database import DatabaseAway
from triptych.study.persons import Who

PAGES_OF_ANNOTATORS = {
    "": [
        ("annotator/my_work.py", "My work"),
        ("annotator/annotate.py", "Annotate"),
        ("annotator/my_data.py", "My data"),
    ]
}
# by menu; pages without a heading are always in view, the first as the start page
PAGES_OF_LEADS = {
    "": [("lead/studies.py", "Studies")],
    "New": [
        ("lead/new_study.py", "New study"),
        ("lead/import_ratings.py", "Import ratings"),
        ("lead/planner.py", "Planner"),
    ],
    "Study": [
        ("lead/study.py", "Overview"),
        ("lead/design.py", "Design"),
        ("lead/preview.py", "Preview"),
        ("lead/dry_run.py", "Dry run"),
        ("lead/people.py", "People"),
        ("lead/workbooks.py", "Workbooks"),
        ("lead/log.py", "Log"),
    ],
    "Results": [
        ("lead/results.py", "Results"),
        ("lead/quality.py", "Quality"),
        ("lead/items.py", "Items"),
        ("lead/ratings.py", "Ratings"),
        ("lead/report.py", "Report"),
    ],
}
# a lead may annotate too
ALL_PAGES = {**PAGES_OF_LEADS, "My work": PAGES_OF_ANNOTATORS[""]}
# a bookmark opens the sign-in page for somebody signed out, and its own page after the sign-in
BOOKMARKS = [Path(path).stem for pages in ALL_PAGES.values() for path, _ in pages][1:]


def entrance(who: Who | None) -> tuple[str, str] | None:
    """The page that an arrival or a link in the address asks for, with its title."""
    if state.arrival():
        return "everyone/arriving.py", "Welcome"
    if "join" in st.query_params:
        return "everyone/personal_link.py", "Personal link"
    if "setup" in st.query_params and who is None:
        return "everyone/setup.py", "Set up"
    with state.reading() as session:
        comes_from_panel = accounts.panel_study(session, st.query_params.to_dict())
    if comes_from_panel:
        return "everyone/panel.py", "Welcome"
    return None


def pages_of(who: Who) -> dict[str, list[st.Page]]:
    """The pages this person may open, the first as the start page; no other page exists for them."""
    allowed = ALL_PAGES if who.role == "lead" else PAGES_OF_ANNOTATORS
    start, first = allowed[""][0]
    pages = {menu: [st.Page(path, title=title) for path, title in of if path != start] for menu, of in allowed.items()}
    # the start page has the bare address, and its own name as well
    by_name = st.Page(start, title=first, visibility="hidden")
    return {**pages, "": [st.Page(start, title=first, default=True, url_path="start"), *pages[""], by_name]}


def show() -> None:
    """Show the requested page, if this person may open it."""
    who = state.identify()
    door = entrance(who)
    if who is None or door:
        path, title = door or ("everyone/sign_in.py", "Sign in")
        aliases = [st.Page(path, title=title, url_path=name, visibility="hidden") for name in BOOKMARKS]
        st.navigation([st.Page(path, title=title, default=True), *aliases], position="hidden").run()
    else:
        page = st.navigation(pages_of(who), position="top")
        st.logo(str(LOGO), size="large")
        account(who.pseudonym)
        state.turn_to(page.url_path)
        page.run()


st.set_page_config(page_title="Triptych", page_icon=str(LOGO), layout="wide")
try:
    show()
except DatabaseAway as away:
    state.say(str(away), "warning")
    live.follow(state.database_answers, False)
