"""The entry script: identifies the person and registers the pages that they may open."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import streamlit as st

from components.shell import live, places, state
from components.shell.entrance import LOGO
from components.shell.frame import frame
from components.shell.line import say_unknown_address, watch_line
from components.shell.places import FORMER, PLACES
from components.sign_in import account, ahead
from triptych.languages.language import _, message
from triptych.people import panels
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.study.persons import Who

# the first is the start page
PAGES_OF_ANNOTATORS = [
    ("annotator/my_work.py", message("My work")),
    ("annotator/annotate.py", message("Annotate")),
    ("annotator/my_data.py", message("My data")),
]
# for the one study of a viewer; none of these pages can call a command that changes anything
PAGES_OF_VIEWERS = [("viewer/results.py", "Results"), ("viewer/items.py", "Items"), ("viewer/report.py", "Report")]
# besides a study's places
PAGES_OF_LEADS = [
    ("lead/studies.py", "Studies"),
    ("lead/new_study.py", "New study"),
    ("lead/import_ratings.py", "Import ratings"),
    ("lead/import_study.py", "Import a study"),
    ("lead/account.py", "Account"),
    ("lead/help.py", "Help"),
]


def pages_of(role: str) -> list[st.Page]:
    """The pages that people of this role may open, the start page first; no other page is registered."""
    # a lead may annotate too
    own = {
        "viewer": PAGES_OF_VIEWERS,
        "annotator": PAGES_OF_ANNOTATORS,
        "lead": [*PAGES_OF_LEADS, *PAGES_OF_ANNOTATORS],
    }[role]
    (start, first), *others = own
    # a link to a page uses its first address, so the start page has a name besides the bare address
    pages = [
        st.Page(start, title=_(first), visibility="hidden"),
        st.Page(start, title=_(first), default=True, url_path="start"),
    ]
    pages += [st.Page(path, title=_(title)) for path, title in others]
    if role != "lead":
        return pages
    screens = [(screen, places.title_of(place, screen)) for place, screens in PLACES.items() for screen in screens]
    pages += [st.Page(screen.page, title=title, url_path=screen.path) for screen, title in screens]
    return pages + [st.Page(partial(move_on, page), title="Moved", url_path=path) for path, page in FORMER.items()]


def move_on(page: str) -> None:
    """Redirect from an address of earlier versions to the page's current one."""
    st.switch_page(page, query_params=st.query_params.to_dict())


def entrance(who: Who | None) -> tuple[str, str] | None:
    """The page and title for a set-up, personal or panel link in the address."""
    if state.arrival():
        return "everyone/arriving.py", _("Welcome")
    if "join" in st.query_params:
        return "everyone/personal_link.py", _("Personal link")
    if "setup" in st.query_params and who is None:
        return "everyone/setup.py", "Set up"
    comes_from_panel = state.read(panels.panel_study, st.query_params.to_dict())
    if comes_from_panel:
        return "everyone/panel.py", _("Welcome")
    return None


def show(who: Who | None) -> None:
    """Show the requested page, if this person may open it."""
    door = entrance(who)
    if who is None or door:
        path, title = door or ("everyone/sign_in.py", _("Sign in"))
        # a bookmark opens the sign-in page when signed out, and its own page after the sign-in
        bookmarks = {page.url_path for page in pages_of("lead")} - {""}
        aliases = [st.Page(path, title=title, url_path=name, visibility="hidden") for name in sorted(bookmarks)]
        st.set_page_config(page_title=f"{title} · Triptych")
        doors = [st.Page(path, title=title, default=True, url_path="start"), *aliases]
        state.run_page(st.navigation(doors, position="hidden"), path)
        return
    is_lead = who.role == "lead"
    page = st.navigation(pages_of(who.role), position="hidden" if is_lead else "top")
    if page.url_path in FORMER:
        page.run()
    if is_lead:
        frame(who, page.url_path or "studies", page.title, lambda: account(who.pseudonym))
        ahead.begin()
    else:
        st.set_page_config(page_title=f"{page.title} · Triptych")
        st.logo(str(LOGO), size="large")
        account(who.pseudonym)
    say_unknown_address(page.url_path)
    state.run_page(page, page.url_path)


st.set_page_config(page_title="Triptych", page_icon=str(LOGO), layout="wide")
try:
    try:
        who = state.identify()
    finally:
        watch_line()
    with state.turn_of(who) if who else nullcontext():
        show(who)
except DatabaseUnavailable as error:
    state.say(str(error), "warning")
    live.follow(state.database_answers, False)
