"""The entry script: who is asking, and which pages therefore exist."""

from __future__ import annotations

import streamlit as st

from components import live, state
from components.entrance import LOGO
from components.sign_in import account
from triptych import people
from triptych.database import DatabaseAway
from triptych.people import Who

PAGES_OF_ANNOTATORS = [("annotator/my_work.py", "My work"), ("annotator/annotate.py", "Annotate")]
PAGES_OF_LEADS = [
    ("lead/studies.py", "Studies"),
    ("lead/new_study.py", "New study"),
    ("lead/import_ratings.py", "Import ratings"),
    ("lead/study.py", "Study"),
    ("lead/results.py", "Results"),
    ("lead/ratings.py", "Ratings"),
    ("lead/report.py", "Report"),
]
# a bookmark of somebody who was signed out leads to the sign-in page, and after it to where it points
BOOKMARKS = ["my_work", "annotate", "new_study", "import_ratings", "study", "results", "ratings", "report"]


def entrance(who: Who | None) -> tuple[str, str] | None:
    """The page that an arrival or a link in the address asks for."""
    if state.arrival():
        return "everyone/arriving.py", "Welcome"
    if "join" in st.query_params:
        return "everyone/personal_link.py", "Personal link"
    if "setup" in st.query_params and who is None:
        return "everyone/setup.py", "Set up"
    with state.reading() as session:
        from_panel = people.panel_study(session, st.query_params.to_dict())
    if from_panel:
        return "everyone/panel.py", "Welcome"
    return None if who else ("everyone/sign_in.py", "Sign in")


def pages_of(who: Who) -> list[st.Page]:
    """What this person may open, the first as the start page; anything else does not exist for her."""
    allowed = [*(PAGES_OF_LEADS if who.role == "lead" else []), *PAGES_OF_ANNOTATORS]
    (start, first), *others = allowed
    # the start page lies at the bare address, and is found by its name as well
    by_name = st.Page(start, title=first, visibility="hidden")
    return [
        st.Page(start, title=first, default=True, url_path="start"),
        *(st.Page(path, title=title) for path, title in others),
        by_name,
    ]


def show() -> None:
    """The page that is asked for, if this person may open it."""
    who = state.identify()
    way_in = entrance(who)
    if way_in:
        path, title = way_in
        aliases = [st.Page(path, title=title, url_path=name, visibility="hidden") for name in BOOKMARKS]
        st.navigation([st.Page(path, title=title, default=True), *aliases], position="hidden").run()
    else:
        page = st.navigation(pages_of(who), position="top")
        st.logo(str(LOGO), size="large")
        account(who.pseudonym)
        page.run()


st.set_page_config(page_title="Triptych", page_icon=str(LOGO), layout="wide")
try:
    show()
except DatabaseAway as away:
    state.say(str(away), "warning")
    live.follow(state.database_answers, False)
