"""The frame above every lead page: the study named in the address, its places, and links to other pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from components.shell import places, state
from components.shell.choices import choose
from components.shell.entrance import LOGO
from components.shell.guides import address_of
from components.shell.study_choice import facts_of, titles_of
from components.shell.tour import stop_box
from triptych.storage.models import Study
from triptych.study import lifecycle
from triptych.study.lifecycle import StudyLine
from triptych.study.persons import Who

FOLDER = Path(__file__).parent
STUDIES, HELP = "lead/studies.py", "lead/help.py"
BEYOND = {"New study": "lead/new_study.py", "My work": "annotator/my_work.py", "Account": "lead/account.py"}
GUIDE = "guide-leads"
_marks = st.components.v2.component(
    "triptych.frame",
    css=(FOLDER / "frame.css").read_text(encoding="utf-8"),
    js=(FOLDER / "frame.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def frame(who: Who, path: str, title: str, corner: Callable[[], None]) -> None:
    """Draw the frame of the page with this address.

    `title` is the first part of the browser tab's title; `corner` draws the account menu.
    """
    place = places.place_of(path)
    may_have_none = path in places.WITHOUT_STUDY
    studies = _studies(who, may_have_none) if place or may_have_none else []
    with st.container(key="frame"):
        with st.container(key="frame-bar", horizontal=True, vertical_alignment="center"):
            st.image(LOGO, width=26, alt="")
            st.page_link(STUDIES, label="Studies")
            line = _study(studies)
            with st.container(key="frame-beyond", horizontal=True, vertical_alignment="center", width="content"):
                for label, page in BEYOND.items():
                    st.page_link(page, label=label)
                st.page_link(HELP, label="Help", query_params=_address(line))
                corner()
        if line:
            with st.container(key="frame-places", horizontal=True):
                for name, screens in places.PLACES.items():
                    _place(name, screens, place is not None and name == place[0], line)
        of_place = places.PLACES[place[0]][0].path if place else path
        title_of_study = line.study.title if line else ""
        where = {"path": path, "place": of_place, "study": title_of_study}
        _marks(data={**where, "shown": state.take(state.SHOWN_NEXT, "")}, key="frame-marks")
    if place:
        _heading(*place, line)
    if place and line:
        stop_box(place[1].page, line.study)
    if line:
        title = f"{title} · {line.study.title}"
    st.set_page_config(page_title=f"{title} · Triptych")


def _place(name: str, screens: Sequence[places.Screen], is_current: bool, line: StudyLine) -> None:
    """The link to a place. When it is hovered or focused, links to its other screens appear below."""
    with st.container(key=f"place-{name}", width="content", gap=None):
        st.page_link(screens[0].page, label=name, query_params=_address(line))
        if not is_current and len(screens) > 1:  # those of the current place are next to the heading
            with st.container(key=f"screens-{name}", width="content", gap="xsmall"):
                for screen in screens[1:]:
                    st.page_link(screen.page, label=screen.name, query_params=_address(line))


def _studies(who: Who, may_have_none: bool) -> Sequence[Study]:
    """The lead's studies. If the address must name a study and does not, redirects to the only study or to the list."""
    studies = state.read(lifecycle.for_lead, who)
    if not may_have_none and "study" not in st.query_params:
        if len(studies) != 1:
            st.switch_page(STUDIES)
        st.query_params["study"] = studies[0].slug
    return studies


def _study(studies: Sequence[Study]) -> StudyLine | None:
    """The study in the address, in a box to switch to another, and its state; None without such a study."""
    titles, requested = titles_of(studies), st.query_params.get("study")
    if requested not in titles:
        return None
    # a key per address: otherwise the box would keep a study that the address no longer names
    chosen = choose("Study", titles, f"study-{requested}", requested, label_visibility="collapsed", width=320)
    if chosen != requested:
        st.query_params.from_dict({"study": chosen})
    line = state.read(lifecycle.line_of, next(study for study in studies if study.slug == chosen))
    st.text(facts_of(line), width="content")
    return line


def _heading(place: str, screen: places.Screen, line: StudyLine | None) -> None:
    """The page's only heading of level 1, the other screens of its place, and a link to the guide."""
    with st.container(key="heading", horizontal=True, vertical_alignment="center"):
        st.title(places.title_of(place, screen), anchor=False, width="content")
        if line and len(places.PLACES[place]) > 1:
            for other in places.PLACES[place]:
                st.page_link(other.page, label=other.name, query_params=_address(line))
        st.page_link(
            HELP,
            label="About this page",
            icon=":material/help:",
            query_params={**_address(line), **address_of(GUIDE, screen.section)},
        )


def _address(line: StudyLine | None) -> dict[str, str]:
    return {"study": line.study.slug} if line else {}
